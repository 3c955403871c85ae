//! How a task lives: asked, worked on, asked back, ended; and what its watchers see.
//!
//! Every story reads events only after they were committed, because there is no other way to read them.

use super::*;
use agentsite_protocol::{TaskEventKind, Usage};
use agentsite_store::{JournalReads, TaskFilter, TaskReads, Upkeep};
use std::sync::Arc;
use tokio::sync::Semaphore;

#[tokio::test]
async fn a_question_is_answered_and_recorded() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let task = story.ask(&agent, "hello").await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "hello"));
    let again = story.site.tasks().get(&Caller::local(), task.head.id).await.unwrap();
    assert_eq!(again, task);
    let lines = story.site.operations().journal(&Caller::local(), Default::default()).await.unwrap();
    assert_eq!(lines[0].line.text, "completed it: hello");
    let lines =
        story.store.journal(agentsite_store::JournalQuery { limit: 9, ..Default::default() }).await.unwrap();
    let texts: Vec<&str> = lines.iter().rev().map(|line| line.line.text.as_str()).collect();
    assert_eq!(texts, ["asked echo: hello", "completed it: hello"]);
}

#[tokio::test]
async fn watchers_see_dense_events_in_order_from_any_cursor() {
    let story = Story::begin().await;
    let gate = Arc::new(Semaphore::new(0));
    let agent = story.agent(
        "slow",
        ScriptedRunner::new().chunk("one ").gate(&gate).chunk("two").status("nearly").gate(&gate),
    );
    let first = story.send(&agent, "go").await;
    let id = first.id();
    gate.add_permits(1);
    let late = story.site.tasks().watch(&Caller::local(), id, 2).await.unwrap();
    gate.add_permits(1);
    let collect = |mut watch: TaskWatch| async move {
        let mut seqs = Vec::new();
        while let Some(events) = watch.next().await {
            seqs.extend(events.iter().map(|event| event.seq));
        }
        seqs
    };
    let (all, rest) = tokio::join!(collect(first), collect(late));
    let last = *all.last().unwrap();
    assert_eq!(all, (1..=last).collect::<Vec<_>>());
    assert_eq!(rest, (3..=last).collect::<Vec<_>>());
    let replayed = collect(story.site.tasks().watch(&Caller::local(), id, 0).await.unwrap()).await;
    assert_eq!(replayed, all, "an ended task replays from the store");
}

#[tokio::test]
async fn a_snapshot_is_followed_by_what_came_after_it() {
    let story = Story::begin().await;
    let gate = Arc::new(Semaphore::new(0));
    let runner = Arc::new(ScriptedRunner::new().gate(&gate).chunk("done"));
    let agent = story.agent_with("slow", "", runner.clone());
    let mut watch = story.send(&agent, "go").await;
    runner.started(1).await;
    let snapshot = watch.snapshot();
    assert_eq!(state(&snapshot), TaskState::Working);
    gate.add_permits(1);
    let next = watch.next().await.unwrap();
    assert_eq!(next[0].seq, snapshot.head.seq + 1);
}

#[tokio::test]
async fn an_agent_that_asks_back_goes_on_with_the_answer() {
    let story = Story::begin().await;
    let runner = Arc::new(
        ScriptedRunner::new()
            .memo(serde_json::json!({"place": 7}))
            .ask("which one?")
            .then()
            .chunk("the red one it is"),
    );
    let agent = story.agent_with("shop", "", runner.clone());
    let task = story.ask(&agent, "a ball").await;
    assert_eq!((state(&task), last_words(&task).as_str()), (TaskState::InputRequired, "which one?"));
    let answer = story.answers(&task, "the red one");
    let Sent::Task(watch) = story.try_send(&Caller::local(), &agent, answer).await.unwrap() else {
        panic!("a task")
    };
    let task = watch.settled().await;
    assert_eq!(state(&task), TaskState::Completed);
    let second = &runner.jobs()[1];
    assert_eq!(second.message.plain_text(), "the red one");
    assert_eq!(second.memo, Some(serde_json::json!({"place": 7})));
    let texts: Vec<String> = second.history.iter().map(Message::plain_text).collect();
    assert_eq!(texts, ["a ball", "which one?"]);
}

#[tokio::test]
async fn messages_to_ended_busy_or_foreign_tasks_are_refused() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let other = story.agent("other", echo());
    let ended = story.ask(&agent, "hi").await;
    let refused = |result: Result<Sent, SiteError>| result.unwrap_err();
    let error = refused(story.try_send(&Caller::local(), &agent, story.answers(&ended, "more")).await);
    assert!(matches!(error, SiteError::TaskEnded(TaskState::Completed)), "{error}");
    let error = refused(story.try_send(&Caller::local(), &other, story.answers(&ended, "more")).await);
    assert!(matches!(error, SiteError::NoSuchTask(_)), "{error}");
    let gate = Arc::new(Semaphore::new(0));
    let slow = story.agent("slow", ScriptedRunner::new().gate(&gate));
    let mut watch = story.send(&slow, "go").await;
    let task = watch.snapshot();
    let error = refused(story.try_send(&Caller::local(), &slow, story.answers(&task, "more")).await);
    assert!(matches!(error, SiteError::TaskBusy(_)), "{error}");
    let mut message = story.says("x");
    message.task_id = Some("no-such-id".into());
    let error = refused(story.try_send(&Caller::local(), &slow, message).await);
    assert!(matches!(error, SiteError::NoSuchTask(_)), "{error}");
}

#[tokio::test]
async fn a_context_is_kept_and_a_wrong_one_refused() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("more?"));
    let mut message = story.says("hi");
    message.context_id = Some("my-context".parse().unwrap());
    let Sent::Task(watch) = story.try_send(&Caller::local(), &agent, message).await.unwrap() else {
        panic!("a task")
    };
    let task = watch.settled().await;
    assert_eq!(task.head.context.as_str(), "my-context");
    let mut wrong = story.answers(&task, "x");
    wrong.context_id = Some("another".parse().unwrap());
    let error = story.try_send(&Caller::local(), &agent, wrong).await.unwrap_err();
    assert!(matches!(error, SiteError::ContextMismatch), "{error}");
}

#[tokio::test]
async fn the_same_message_twice_is_one_task() {
    let story = Story::begin().await;
    let runner = Arc::new(echo());
    let agent = story.agent_with("echo", "", runner.clone());
    let message = story.says("once");
    let mut ids = Vec::new();
    for _ in 0..3 {
        let Sent::Task(watch) = story.try_send(&Caller::local(), &agent, message.clone()).await.unwrap()
        else {
            panic!("a task")
        };
        ids.push(watch.settled().await.head.id);
    }
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(runner.jobs().len(), 1, "the agent ran once");
    let other = Message { parts: story.says("something else").parts, ..message };
    let error = story.try_send(&Caller::local(), &agent, other).await.unwrap_err();
    assert!(matches!(error, SiteError::IdReused), "{error}");
}

#[tokio::test]
async fn a_pure_agent_needs_one_commit() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo().pure());
    let mut watch = story.send(&agent, "hi").await;
    let events = watch.next().await.unwrap();
    let ended = events
        .iter()
        .any(|event| matches!(&event.kind, TaskEventKind::Status { state, .. } if state.is_terminal()));
    assert!(ended, "opening, start, answer and end were shown together: {events:?}");
}

#[tokio::test]
async fn chunks_that_wait_for_the_disk_are_joined() {
    let story = Story::begin().await;
    let mut runner = ScriptedRunner::new();
    for _ in 0..50 {
        runner = runner.chunk("x");
    }
    let agent = story.agent("chatty", runner);
    let task = story.ask(&agent, "go").await;
    assert_eq!(task.answer(), "x".repeat(50));
    assert!(task.head.seq < 50, "{} events", task.head.seq);
}

#[tokio::test]
async fn canceling_ends_running_queued_and_waiting_tasks() {
    let story = Story::begin().await;
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("slow", "[limits]\nconcurrency = 1", runner.clone());
    let running = story.send(&agent, "1").await;
    let queued = story.send(&agent, "2").await;
    runner.started(1).await;
    for watch in [queued, running] {
        let task = story.site.tasks().cancel(&Caller::local(), watch.id()).await.unwrap();
        assert_eq!(state(&task), TaskState::Canceled);
    }
    runner.idle().await;
    assert_eq!(runner.jobs().len(), 1, "the queued one never ran");
    let asker = story.agent("asker", ScriptedRunner::new().ask("?"));
    let waiting = story.ask(&asker, "x").await;
    let task = story.site.tasks().cancel(&Caller::local(), waiting.head.id).await.unwrap();
    assert_eq!(state(&task), TaskState::Canceled);
    let error = story.site.tasks().cancel(&Caller::local(), waiting.head.id).await.unwrap_err();
    assert!(matches!(error, crate::TaskError::NotCancelable(TaskState::Canceled)), "{error}");
}

#[tokio::test]
async fn memory_is_of_the_same_conversation_agent_and_owner() {
    let story = Story::begin().await;
    let runner = Arc::new(echo().remembering(10));
    let agent = story.agent_with("model", "", runner.clone());
    let in_context = |text: &str, context: &str| {
        let mut message = story.says(text);
        message.context_id = Some(context.parse().unwrap());
        message
    };
    for (text, context) in [("one", "a"), ("other", "b"), ("two", "a")] {
        story.clock.advance(5);
        let Sent::Task(watch) =
            story.try_send(&Caller::local(), &agent, in_context(text, context)).await.unwrap()
        else {
            panic!()
        };
        watch.settled().await;
    }
    let stranger = Caller::anonymous("192.0.2.1".parse().unwrap());
    let Sent::Task(watch) = story.try_send(&stranger, &agent, in_context("three", "a")).await.unwrap() else {
        panic!()
    };
    watch.settled().await;
    let remembered: Vec<Vec<String>> =
        runner.jobs().iter().map(|job| job.conversation.iter().map(Message::plain_text).collect()).collect();
    assert_eq!(remembered, [vec![], vec![], vec!["one".to_owned(), "one".to_owned()], vec![]]);
}

#[tokio::test]
async fn usage_is_recorded_by_task_and_by_day() {
    let story = Story::begin().await;
    let usage = Usage { input_tokens: 5, output_tokens: 2, turns: 1, calls: 0 };
    let agent = story.agent("model", ScriptedRunner::new().used(usage).chunk("a").used(usage).remembering(1));
    let task = story.ask(&agent, "x").await;
    assert_eq!(task.usage.tokens(), 14);
    let day = story.site.ids().clock().now().day();
    assert_eq!(story.store.usage(&agent, day).await.unwrap().tokens(), 14);
}

#[tokio::test]
async fn agents_call_each_other_and_the_called_task_names_its_parent() {
    let story = Story::begin().await;
    story.agent("calc", ScriptedRunner::new().chunk("4"));
    story.site.agents().install(manifest("echo", ""), None).await.unwrap();
    let concierge = story.site.agents().concierge();
    let task = story.ask(&concierge, "calc 2 + 2").await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "4"), "{task:?}");
    assert_eq!(last_words(&task), "I asked calc.");
    let filter = TaskFilter { parent: Some(task.head.id), ..Default::default() };
    let children = story.site.tasks().list(&Caller::local(), filter, None, 10).await.unwrap().items;
    assert_eq!(children.len(), 1);
    assert_eq!(children[0].agent.as_str(), "calc");
}

#[tokio::test]
async fn a_message_only_agent_answers_at_once_and_leaves_no_record() {
    let story = Story::begin().await;
    let text = "name = \"quick\"\ndescription = \"d\"\nanswers = \"message\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install_runner(
        Manifest::read(text).unwrap(),
        Arc::new(ScriptedRunner::new().chunk("he").chunk("llo")),
    );
    let agent = "quick".parse().unwrap();
    let Sent::Message(answer) = story.try_send(&Caller::local(), &agent, story.says("hi")).await.unwrap()
    else {
        panic!("a message")
    };
    assert_eq!((answer.role, answer.plain_text().as_str()), (Role::Agent, "hello"));
    assert_eq!(story.store.stats().await.unwrap().tasks, 0);
}

#[tokio::test]
async fn a_stream_of_a_task_that_ended_at_once_still_shows_every_step() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo().pure());
    let mut watch = story.send(&agent, "hi").await;
    assert_eq!(state(&watch.opening()), TaskState::Submitted);
    let events = watch.next().await.unwrap();
    assert_eq!(events.first().unwrap().seq, 2);
    assert!(matches!(events[1].kind, TaskEventKind::Artifact { .. }), "{events:?}");
    let asker = story.agent("asker", ScriptedRunner::new().ask("?").then().chunk("done").pure());
    let task = story.ask(&asker, "x").await;
    let Sent::Task(mut watch) =
        story.try_send(&Caller::local(), &asker, story.answers(&task, "y")).await.unwrap()
    else {
        panic!()
    };
    let opening = watch.opening();
    assert_eq!((state(&opening), opening.history.len()), (TaskState::Submitted, 3));
    assert_eq!(watch.next().await.unwrap().first().unwrap().seq, opening.head.seq + 1);
}
