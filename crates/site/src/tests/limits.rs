//! What is bounded: places, queues, time, output, events, broken runners, malformed messages, age.
//!
//! Time is paused, so that an hour passes at once.

use super::*;
use crate::{RetentionSection, Submission};
use agentsite_protocol::{Part, Period};
use agentsite_store::Upkeep;

#[tokio::test]
async fn a_full_queue_refuses_with_the_time_to_try_again() {
    let story = Story::begin().await;
    let agent = story.agent_with(
        "one",
        "[limits]\nconcurrency = 1\nqueue = 2",
        Arc::new(ScriptedRunner::new().hold()),
    );
    for _ in 0..3 {
        story.send(&agent, "x").await;
    }
    let error = story.try_send(&Caller::local(), &agent, story.says("x")).await.unwrap_err();
    let SiteError::Busy { retry_after, .. } = error else { panic!("{error}") };
    assert!(retry_after.as_secs() >= 1);
    assert_eq!(story.store.stats().await.unwrap().tasks, 3, "a refused task leaves nothing");
}

#[tokio::test]
async fn never_more_at_work_than_allowed() {
    let story = Story::begin().await;
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("three", "[limits]\nconcurrency = 3", runner.clone());
    for _ in 0..10 {
        story.send(&agent, "x").await;
    }
    runner.started(3).await;
    let view = story.site.agents().get(&Caller::local(), &agent).unwrap();
    assert_eq!((view.running, view.queued, runner.at_work()), (3, 7, 3));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_fails_and_names_the_limit() {
    let story = Story::begin().await;
    for runner in [ScriptedRunner::new().hold(), ScriptedRunner::new().stubborn()] {
        let runner = Arc::new(runner);
        let agent = story.agent_with("slow", "[limits]\ntimeout = \"1h\"", runner.clone());
        let task = story.ask(&agent, "x").await;
        assert_eq!(state(&task), TaskState::Failed);
        assert!(last_words(&task).contains("1h (limits.timeout)"), "{}", last_words(&task));
        runner.idle().await;
    }
}

#[tokio::test]
async fn a_run_that_talks_without_end_is_stopped() {
    let story = Story::begin().await;
    let runner = Arc::new(ScriptedRunner::new().talk(&"x".repeat(1000)));
    let agent = story.agent_with("loud", "[limits]\noutput = \"64KiB\"", runner.clone());
    let task = story.ask(&agent, "x").await;
    assert_eq!(state(&task), TaskState::Failed);
    assert!(last_words(&task).contains("64KiB"), "{}", last_words(&task));
    assert!(task.answer().len() < 200_000);
    runner.idle().await;
}

#[tokio::test]
async fn a_runner_that_breaks_down_fails_its_task_alone() {
    let story = Story::begin().await;
    let broken = story.agent("broken", ScriptedRunner::new().panic("a defect"));
    let task = story.ask(&broken, "x").await;
    assert_eq!(state(&task), TaskState::Failed);
    let echo = story.agent("echo", echo());
    assert_eq!(story.ask(&echo, "still here").await.answer(), "still here");
    assert_eq!(
        story.site.agents().get(&Caller::local(), &broken).unwrap().running,
        0,
        "its place is free again"
    );
}

#[tokio::test]
async fn malformed_messages_are_refused_with_what_to_do() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    type Spoil = Box<dyn Fn(&mut Message)>;
    let cases: Vec<(&str, Spoil)> = vec![
        ("no parts", Box::new(|m| m.parts.clear())),
        ("exactly one of", Box::new(|m| m.parts.push(Part::default()))),
        ("exactly one of", Box::new(|m| m.parts[0].url = Some("http://x".into()))),
        ("ROLE_USER", Box::new(|m| m.role = Role::Agent)),
        ("bytes of content", Box::new(|m| m.parts[0].text = Some("x".repeat(2 << 20)))),
    ];
    for (expected, spoil) in cases {
        let mut message = story.says("x");
        spoil(&mut message);
        let error = story.try_send(&Caller::local(), &agent, message).await.unwrap_err();
        assert!(matches!(error, SiteError::BadMessage(_)) && error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn finished_tasks_go_by_number_and_by_age_and_open_ones_stay() {
    let retention = RetentionSection { tasks: 3, age: Period::seconds(100), ..RetentionSection::default() };
    let story = Story::with(SiteSettings { retention, ..SiteSettings::default() }).await;
    let echo = story.agent("echo", echo());
    let asker = story.agent("asker", ScriptedRunner::new().ask("?"));
    let open = story.ask(&asker, "x").await;
    for _ in 0..5 {
        story.clock.advance(10);
        story.ask(&echo, "x").await;
    }
    assert_eq!(story.site.expire().await.unwrap(), 2);
    story.clock.advance(200_000);
    assert_eq!(story.site.expire().await.unwrap(), 3);
    assert!(story.site.tasks().get(&Caller::local(), open.head.id).await.is_ok());
    assert_eq!(story.store.stats().await.unwrap().tasks, 1);
}

#[tokio::test(start_paused = true)]
async fn a_called_agent_has_no_more_time_than_its_caller() {
    let story = Story::begin().await;
    let queue_of_one = "[limits]\nconcurrency = 1\ntimeout = \"10h\"";
    let runner = Arc::new(ScriptedRunner::new().hold());
    let slow = story.agent_with("slow", queue_of_one, runner.clone());
    story.send(&slow, "takes the only place").await;
    runner.started(1).await;
    // The concierge may take five minutes; what it asks for waits behind work of ten hours.
    let asked = story.ask(&story.site.agents().concierge(), "slow please").await;
    assert_eq!(state(&asked), TaskState::Failed);
    let filter = crate::TaskFilter { parent: Some(asked.head.id), ..Default::default() };
    let child = story.site.tasks().list(&Caller::local(), filter, None, 1).await.unwrap().items.remove(0);
    let child = story.site.tasks().watch(&Caller::local(), child.id, 0).await.unwrap().settled().await;
    assert!(child.head.state.is_terminal(), "it did not stay in the queue: {child:?}");
    assert_eq!(child.deadline, Some(asked.head.created_at.plus(std::time::Duration::from_secs(300))));
}

#[tokio::test]
async fn a_task_goes_when_the_time_its_caller_named_is_over() {
    let story = Story::begin().await;
    let echo = story.agent("echo", echo());
    let mut submission = Submission::from(story.says("hi"));
    submission.ttl = Some(Period::seconds(60));
    let Sent::Task(watch) = story.site.send(&Caller::local(), &echo, submission).await.unwrap() else {
        panic!("the agent answers with tasks")
    };
    let task = watch.settled().await;
    assert_eq!(task.expires_at(), Some(task.head.updated_at.plus(std::time::Duration::from_secs(60))));
    story.clock.advance(59_000);
    assert_eq!(story.site.expire().await.unwrap(), 0);
    story.clock.advance(1_000);
    assert_eq!(story.site.expire().await.unwrap(), 1);
    assert!(matches!(
        story.site.tasks().get(&Caller::local(), task.head.id).await,
        Err(crate::TaskError::NoSuchTask(_))
    ));
}

/// An agent made of a scripted model.
fn thinker(
    story: &Story,
    name: &str,
    runtime: &str,
    budget: &str,
    turns: Vec<agentsite_host::llm::ScriptedTurn>,
) -> (AgentName, Arc<agentsite_host::llm::ScriptedModel>) {
    use agentsite_host::llm::{LlmRunner, ScriptedModel};

    let text = format!(
        "name = \"{name}\"\ndescription = \"Thinks\"\nvisibility = \"public\"\n[runtime]\nkind = \"llm\"\n{runtime}\n[budget]\n{budget}\n"
    );
    let manifest = Manifest::read(&text).unwrap();
    let agentsite_host::Runtime::Llm(runtime) = &manifest.runtime else { panic!("an llm agent") };
    let model = Arc::new(ScriptedModel::new(turns));
    let log = agentsite_host::AgentLog::new(story.clock.clone());
    let egress = agentsite_client_for_tests();
    let runner = LlmRunner::with_model(runtime, &manifest, model.clone(), &egress, log).unwrap();
    story.site.agents().install_runner(manifest.clone(), runner);
    (manifest.name, model)
}

#[tokio::test]
async fn a_token_budget_covers_the_agents_that_a_message_reaches() {
    use agentsite_host::llm::ScriptedTurn;

    let story = Story::begin().await;
    let asks = |agent: &str| {
        ScriptedTurn::says([]).calls("c1", &format!("ask_{agent}"), r#"{"message":"write"}"#).costs(50, 10)
    };
    let says = |words| ScriptedTurn::says([words]).costs(400, 400);
    let (planner, planning) = thinker(
        &story,
        "planner",
        "tools = [\"agent:editor\"]",
        "tokens_per_task = 2000",
        vec![asks("editor"), asks("editor"), asks("editor"), says("never")],
    );
    // Neither of the two below has a limit that would stop it.
    let (_, _) = thinker(
        &story,
        "editor",
        "tools = [\"agent:writer\"]",
        "tokens_per_task = 0",
        vec![asks("writer"), says("edited"), asks("writer"), says("edited"), asks("writer"), says("edited")],
    );
    let (writer, writing) =
        thinker(&story, "writer", "", "tokens_per_task = 0", (0..5).map(|_| says("text")).collect());
    let task = story.ask(&planner, "a book").await;
    assert_eq!(state(&task), TaskState::Failed);
    assert!(last_words(&task).contains("agents/planner/agent.toml"), "{}", last_words(&task));
    let spent = planning.requests().len() * 60 + writing.requests().len() * 800;
    assert!(writing.requests().len() <= 2, "{spent} tokens were spent");
    // Alone, the one that was refused on the way has its own budget.
    assert_eq!(state(&story.ask(&writer, "a letter").await), TaskState::Completed);
}
