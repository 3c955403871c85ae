//! Calls of an agent that is a set of tools: answered at once within its limits, or handed back as tasks that
//! outlast everything.
//!
//! The set of tools is played; time is virtual.

use std::collections::BTreeMap;

use super::*;
use crate::{ToolTask, ToolTaskState};
use agentsite_protocol::{TaskId, TaskState as State};

/// Calls a tool that becomes a task.
async fn begun(kit: &Toolkit, name: &str, arguments: Value) -> ToolTask {
    match call(kit, TASKS, name, arguments).await.unwrap() {
        ToolOutcome::Task(task) => *task,
        ToolOutcome::Reply(reply) => panic!("{name}: {reply:?}"),
    }
}

/// The task once it has settled.
async fn settled(story: &Story, kit: &Toolkit, id: TaskId) -> ToolTask {
    story.site.tasks().watch(&Caller::local(), id, 0).await.unwrap().settled().await;
    kit.tasks().get(&Caller::local(), id).await.unwrap()
}

fn fault(called: Result<ToolOutcome, ToolkitError>) -> ToolFault {
    match called {
        Err(ToolkitError::Tool(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_is_answered_at_once_and_leaves_no_task() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    assert_eq!(result(&kit, "echo", json!({ "text": "hi" })).await.plain_text(), "hi");
    assert_eq!(result(&kit, "slow", json!({ "text": "no tasks" })).await.plain_text(), "no tasks");
    assert_eq!(
        story.site.tasks().list(&Caller::local(), Default::default(), None, 9).await.unwrap().items.len(),
        0
    );
    assert!(matches!(fault(call(&kit, PLAIN, "nothing", json!({})).await), ToolFault::NoSuchTool(_)));
    assert_eq!(kit.about().name, "bench");
}

#[tokio::test(start_paused = true)]
async fn limits_of_the_agent_bound_every_call() {
    let story = Story::begin().await;
    let agent = story.tools("[limits]\noutput = \"1KiB\"\ntimeout = \"5s\"\nconcurrency = 1\nqueue = 0");
    let kit = story.kit(&agent);
    let loud = fault(call(&kit, PLAIN, "loud", json!({})).await);
    assert!(loud.to_string().contains("limits.output"), "{loud}");
    let broken = fault(call(&kit, PLAIN, "panics", json!({})).await);
    assert!(broken.to_string().contains("broke down"), "{broken}");
    let (stuck, busy) =
        tokio::join!(call(&kit, PLAIN, "stuck", json!({})), call(&kit, PLAIN, "echo", json!({})));
    assert!(fault(stuck).to_string().contains("limits.timeout"));
    assert!(matches!(busy, Err(ToolkitError::Site(SiteError::Busy { .. }))), "the one place is taken");
    assert_eq!(result(&kit, "echo", json!({ "text": "free again" })).await.plain_text(), "free again");
}

#[tokio::test]
async fn a_call_that_is_given_up_frees_its_place() {
    let story = Story::begin().await;
    let agent = story.tools("[limits]\nconcurrency = 1");
    let kit = story.kit(&agent);
    let exchange = exchange(PLAIN);
    let cancel = exchange.cancel.clone();
    let (given_up, ()) =
        tokio::join!(kit.call(exchange, with("stuck", &json!({}))), async { cancel.cancel() });
    assert!(fault(given_up).to_string().contains("given up"));
    assert_eq!(result(&kit, "echo", json!({ "text": "next" })).await.plain_text(), "next");
}

#[tokio::test]
async fn a_stopping_site_takes_no_calls() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    story.site.stop().await;
    let refused = call(&kit, PLAIN, "echo", json!({})).await;
    assert!(matches!(refused, Err(ToolkitError::Site(SiteError::Stopping))));
}

#[tokio::test]
async fn a_client_that_follows_tasks_gets_one() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    let task = begun(&kit, "slow", json!({ "text": "kept" })).await;
    let done = settled(&story, &kit, task.id).await;
    assert_eq!(done.state, ToolTaskState::Done(ToolResult::text("kept")));
    assert_eq!(done.ttl, Some(story.site.settings().retention.age));
    let recorded = story.site.tasks().get(&Caller::local(), task.id).await.unwrap();
    assert_eq!((state(&recorded), recorded.answer().as_str()), (State::Completed, "kept"), "A2A sees it too");
}

#[tokio::test]
async fn a_failure_is_a_result_and_a_break_is_none() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    let failed = begun(&kit, "long", json!({})).await.id;
    let failed = settled(&story, &kit, failed).await;
    assert_eq!(failed.state, ToolTaskState::Done(ToolResult::error("it failed")));
    let broken = begun(&kit, "broken", json!({})).await.id;
    let broken = settled(&story, &kit, broken).await;
    assert_eq!(broken.state, ToolTaskState::Failed("it broke".into()));
}

#[tokio::test]
async fn a_client_that_cannot_follow_what_only_goes_as_a_task_is_told_what_it_needs() {
    let story = Story::begin().await;
    let agent = story.tools("");
    for tool in ["long", "gather"] {
        let ToolFault::NeedsAbility { capability, .. } =
            fault(call(&story.kit(&agent), FORMS, tool, json!({})).await)
        else {
            panic!("it needs tasks")
        };
        assert_eq!(capability, json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    }
}

#[tokio::test]
async fn questions_of_a_task_are_answered_one_by_one() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    let id = begun(&kit, "ask", json!({})).await.id;
    let ToolTaskState::Input(open) = settled(&story, &kit, id).await.state else { panic!("it asks") };
    assert_eq!(open.keys().collect::<Vec<_>>(), ["1.one", "1.two"]);
    let me = Caller::local();
    kit.tasks().update(&me, id, BTreeMap::from([("unknown".into(), form("x"))])).await.unwrap();
    kit.tasks().update(&me, id, BTreeMap::from([("1.one".into(), form("a"))])).await.unwrap();
    let ToolTaskState::Input(open) = kit.tasks().get(&me, id).await.unwrap().state else {
        panic!("it still asks")
    };
    assert_eq!(open.keys().collect::<Vec<_>>(), ["1.two"], "at once after the update");
    kit.tasks().update(&me, id, BTreeMap::from([("1.two".into(), form("b"))])).await.unwrap();
    assert_eq!(settled(&story, &kit, id).await.state, ToolTaskState::Done(ToolResult::text("a+b")));
    kit.tasks().update(&me, id, BTreeMap::from([("1.two".into(), form("late"))])).await.unwrap();
}

#[tokio::test]
async fn a_tool_may_ask_before_it_becomes_a_task() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    let ToolOutcome::Reply(Reply::Input(needed)) = call(&kit, TASKS, "gather", json!({})).await.unwrap()
    else {
        panic!("it asks first")
    };
    let round = Round { answers: [("one".to_owned(), form("Alice"))].into(), state: needed.state };
    let again = ToolCall { round, ..with("gather", &json!({})) };
    let ToolOutcome::Task(task) = kit.call(exchange(TASKS), again).await.unwrap() else {
        panic!("then a task")
    };
    assert_eq!(settled(&story, &kit, task.id).await.state, ToolTaskState::Done(ToolResult::text("Alice")));
}

#[tokio::test]
async fn tasks_and_their_questions_survive_a_crash() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    let done = begun(&kit, "slow", json!({ "text": "kept" })).await.id;
    let asking = begun(&kit, "ask", json!({})).await.id;
    let before = (settled(&story, &kit, done).await, settled(&story, &kit, asking).await);
    kit.tasks()
        .update(&Caller::local(), asking, BTreeMap::from([("1.one".into(), form("a"))]))
        .await
        .unwrap();

    let story = story.crash().await;
    let agent = story.tools("");
    story.site.start().await.unwrap();
    let kit = story.kit(&agent);
    assert_eq!(kit.tasks().get(&Caller::local(), done).await.unwrap(), before.0);
    let ToolTaskState::Input(open) = kit.tasks().get(&Caller::local(), asking).await.unwrap().state else {
        panic!("it still asks")
    };
    assert_eq!(open.len(), 1, "the first answer was kept");
    kit.tasks()
        .update(&Caller::local(), asking, BTreeMap::from([("1.two".into(), form("b"))]))
        .await
        .unwrap();
    assert_eq!(settled(&story, &kit, asking).await.state, ToolTaskState::Done(ToolResult::text("a+b")));
}

#[tokio::test]
async fn a_task_is_ended_once_and_ending_it_again_changes_nothing() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let kit = story.kit(&agent);
    let id = begun(&kit, "ask", json!({})).await.id;
    settled(&story, &kit, id).await;
    for _ in 0..2 {
        kit.tasks().cancel(&Caller::local(), id).await.unwrap();
        assert_eq!(kit.tasks().get(&Caller::local(), id).await.unwrap().state, ToolTaskState::Canceled);
    }
}

#[tokio::test]
async fn tasks_of_others_and_of_other_kinds_do_not_exist() {
    let story = Story::begin().await;
    let agent = story.tools("");
    let echo = story.agent("echo", echo());
    let kit = story.kit(&agent);
    let id = begun(&kit, "ask", json!({})).await.id;
    settled(&story, &kit, id).await;
    let missing = |error: SiteError| matches!(error, SiteError::NoSuchTask(_));
    let foreign = story.site.toolkit(&stranger(), Some(&agent)).unwrap();
    assert!(missing(foreign.tasks().get(&stranger(), id).await.unwrap_err()));
    assert!(missing(foreign.tasks().cancel(&stranger(), id).await.unwrap_err()));
    let answers = BTreeMap::from([("1.one".into(), form("x"))]);
    assert!(missing(foreign.tasks().update(&stranger(), id, answers).await.unwrap_err()));
    assert!(
        missing(story.kit(&echo).tasks().get(&Caller::local(), id).await.unwrap_err()),
        "another agent's"
    );
    let talk = story.ask(&agent, "plain words").await.head.id;
    assert!(missing(kit.tasks().get(&Caller::local(), talk).await.unwrap_err()), "no call of a tool");
}
