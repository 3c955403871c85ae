//! What ends a task or keeps it from beginning, and what that leaves.
//!
//! Its caller cancels it, a guard is dropped, a time limit passes, a message is a repeat, a queue is full.

use agentsite_store::TaskReads;
use tokio::sync::Semaphore;

use super::*;
use crate::TaskRequest;

#[tokio::test]
async fn a_running_task_is_cancelled_and_its_runner_hears_of_it() {
    let story = Story::begin();
    let runner = Arc::new(ScriptedRunner::new().chunk("half").hold());
    let agent = story.agent_with("one", "", runner.clone());
    let mut watch = story.send(&agent, "go").await;
    while watch.snapshot().answer() != "half" {
        watch.next().await;
    }
    let task = story.tasks.cancel(&Caller::local(), watch.id()).await.unwrap();
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Canceled, "half"));
    let again = story.tasks.cancel(&Caller::local(), watch.id()).await.unwrap_err();
    assert!(matches!(again, TaskError::NotCancelable(TaskState::Canceled)), "{again}");
    assert_eq!((story.tasks.control().live_count(), agent.running()), (0, 0));
}

#[tokio::test]
async fn a_queued_task_is_cancelled_before_it_runs() {
    let story = Story::begin();
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("one", "limits.concurrency = 1", runner.clone());
    story.send(&agent, "first").await;
    runner.started(1).await;
    let queued = story.send(&agent, "second").await.id();
    assert_eq!(agent.waiting(), 1);
    let task = story.tasks.cancel(&Caller::local(), queued).await.unwrap();
    assert_eq!((state(&task), task.attempt), (TaskState::Canceled, 0));
    assert_eq!(runner.jobs().len(), 1);
    assert_eq!(agent.waiting(), 0, "its position in the queue is free again");
}

#[tokio::test]
async fn a_task_that_waits_for_its_caller_is_cancelled_without_a_run() {
    let story = Story::begin();
    let agent = story.agent("asker", ScriptedRunner::new().ask("which?"));
    let task = story.ask(&agent, "x").await;
    let mut watch = story.tasks.watch_to_end(&Caller::local(), task.head.id, task.head.seq).await.unwrap();
    let ended = story.tasks.cancel(&Caller::local(), task.head.id).await.unwrap();
    assert_eq!(state(&ended), TaskState::Canceled);
    assert!(watch.next().await.is_some(), "a watch that outlasts the pause sees the end");
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_foreign_task_is_neither_seen_nor_cancelled() {
    let story = Story::begin();
    let agent = story.agent("one", ScriptedRunner::new().hold());
    let id = story.send(&agent, "go").await.id();
    let stranger = Caller::inside("key:other".parse().unwrap());
    for refused in [
        story.tasks.get(&stranger, id).await.unwrap_err(),
        story.tasks.cancel(&stranger, id).await.unwrap_err(),
        story.tasks.watch(&stranger, id, 0).await.unwrap_err(),
    ] {
        assert!(matches!(refused, TaskError::NoSuchTask(_)), "{refused}");
    }
    assert!(story.tasks.control().is_live(id));
}

#[tokio::test]
async fn a_dropped_guard_cancels_its_task_and_a_released_one_does_not() {
    let story = Story::begin();
    let gate = Arc::new(Semaphore::new(0));
    let agent = story.agent("slow", ScriptedRunner::new().gate(&gate).chunk("done"));
    let (left, kept) = (story.send(&agent, "left").await, story.send(&agent, "kept").await);
    let me = Caller::local();
    drop(story.tasks.control().cancel_guard(&me, left.id()));
    story.tasks.control().cancel_guard(&me, kept.id()).release();
    assert_eq!(state(&left.settled().await), TaskState::Canceled);
    gate.add_permits(2);
    assert_eq!(kept.settled().await.answer(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_ends_with_the_reason() {
    let story = Story::begin();
    let agent = story.agent_with("slow", "limits.timeout = \"5s\"", Arc::new(ScriptedRunner::new().hold()));
    let task = story.ask(&agent, "go").await;
    assert_eq!(state(&task), TaskState::Failed);
    assert!(last_words(&task).contains("limits.timeout"), "{}", last_words(&task));
}

#[tokio::test]
async fn the_same_message_again_is_the_same_task() {
    let story = Story::begin();
    let agent = story.agent("echo", echo());
    let (me, message) = (Caller::local(), story.says("once"));
    let first = story.try_send(&me, &agent, message.clone()).await.unwrap().settled().await;
    let again = story.try_send(&me, &agent, message.clone()).await.unwrap().settled().await;
    assert_eq!(first, again);
    let other = Message { parts: story.says("else").parts, ..message };
    let refused = story.try_send(&me, &agent, other).await.unwrap_err();
    assert!(matches!(refused, TaskError::IdReused), "{refused}");
    assert_eq!(story.store.count_tasks(Default::default()).await.unwrap(), 1);
}

#[tokio::test]
async fn a_full_queue_refuses_with_the_time_to_try_again() {
    let story = Story::begin();
    let more = "limits.concurrency = 1\nlimits.queue = 1";
    let agent = story.agent_with("one", more, Arc::new(ScriptedRunner::new().hold()));
    story.send(&agent, "running").await;
    story.send(&agent, "waiting").await;
    let request = TaskRequest::from(story.says("too many"));
    let refused = story.tasks.send(&Caller::local(), agent.clone(), request).await.unwrap_err();
    assert!(matches!(refused, TaskError::QueueFull { .. }), "{refused}");
    assert!(agent.slot().await.is_err(), "work without a task has the same queue");
}
