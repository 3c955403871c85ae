//! What a crash, a stop and a full disk leave behind.
//!
//! A crash loses everything that was not synced and every task in memory; the stories then open the tasks
//! again.

use super::*;
use agentsite_store::Upkeep;
use tokio::sync::Semaphore;

#[tokio::test]
async fn finished_work_survives_and_queued_work_runs() {
    let story = Story::begin();
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("one", "[limits]\nconcurrency = 1\nretry = 1", runner.clone());
    let done = story.agent("echo", echo());
    let finished = story.ask(&done, "kept").await;
    let at_work = story.send(&agent, "first").await.id();
    let queued = story.send(&agent, "second").await.id();
    runner.started(1).await;

    let story = story.crash();
    let runner = Arc::new(echo());
    story.agent_with("one", "[limits]\nconcurrency = 1\nretry = 1", runner.clone());
    story.agent("echo", echo());
    let recovery = story.recover().await;
    assert_eq!((recovery.retried, recovery.requeued, recovery.failed), (1, 1, 0));
    assert_eq!(story.tasks.get(&Caller::local(), finished.head.id).await.unwrap(), finished);
    for (id, answer) in [(at_work, "first"), (queued, "second")] {
        let task = story.settled(id).await;
        assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, answer));
    }
    let task = story.tasks.get(&Caller::local(), at_work).await.unwrap();
    assert_eq!((task.attempt, task.retries), (2, 1));
}

#[tokio::test]
async fn interrupted_work_without_retry_fails_and_says_why() {
    let story = Story::begin();
    let runner = Arc::new(ScriptedRunner::new().chunk("half").hold());
    let agent = story.agent_with("one", "", runner.clone());
    let mut watch = story.send(&agent, "go").await;
    while watch.snapshot().answer() != "half" {
        watch.next().await;
    }
    let story = story.crash();
    story.agent("one", echo());
    let recovery = story.recover().await;
    assert_eq!(recovery.failed, 1);
    let task = story.tasks.get(&Caller::local(), watch.id()).await.unwrap();
    assert_eq!(state(&task), TaskState::Failed);
    assert!(last_words(&task).contains("limits.retry = 0"), "{}", last_words(&task));
    assert_eq!(task.answer(), "half", "what was shown is kept");
}

#[tokio::test]
async fn retries_are_counted_over_several_crashes() {
    let mut story = Story::begin();
    let more = "[limits]\nretry = 2";
    let agent = story.agent_with("one", more, Arc::new(ScriptedRunner::new().hold()));
    let id = story.send(&agent, "go").await.id();
    for _ in 0..3 {
        story = story.crash();
        let runner = Arc::new(ScriptedRunner::new().hold());
        story.agent_with("one", more, runner.clone());
        let recovery = story.recover().await;
        if recovery.retried == 1 {
            runner.started(1).await;
            let mut watch = story.tasks.watch(&Caller::local(), id, 0).await.unwrap();
            while state(&watch.snapshot()) != TaskState::Working {
                watch.next().await;
            }
        }
    }
    let task = story.tasks.get(&Caller::local(), id).await.unwrap();
    assert_eq!((state(&task), task.attempt), (TaskState::Failed, 3));
}

#[tokio::test]
async fn a_question_waits_through_a_crash() {
    let story = Story::begin();
    let agent = story.agent("asker", ScriptedRunner::new().ask("which?"));
    let task = story.ask(&agent, "x").await;
    let story = story.crash();
    let agent = story.agent("asker", echo());
    story.recover().await;
    let watch = story.try_send(&Caller::local(), &agent, story.answers(&task, "this")).await.unwrap();
    assert_eq!(watch.settled().await.answer(), "this");
}

#[tokio::test]
async fn nothing_is_acknowledged_before_it_is_synced() {
    let story = Story::begin();
    let runner = Arc::new(echo());
    let agent = story.agent_with("echo", "", runner.clone());
    story.store.hold();
    let message = story.says("lost");
    let tasks = story.tasks.clone();
    let sending =
        tokio::spawn(async move { tasks.send(&Caller::local(), agent, message.into()).await.map(|_| ()) });
    tokio::task::yield_now().await;
    let story = story.crash();
    assert!(matches!(sending.await.unwrap(), Err(TaskError::Stopping)));
    assert_eq!(story.store.stats().await.unwrap().tasks, 0);
    assert!(runner.jobs().is_empty(), "an agent that changes the world has not begun");
}

#[tokio::test]
async fn a_full_disk_refuses_new_work_and_delays_old() {
    let story = Story::begin();
    let gate = Arc::new(Semaphore::new(0));
    let agent = story.agent("slow", ScriptedRunner::new().gate(&gate).chunk("kept"));
    let watch = story.send(&agent, "go").await;
    story.store.fail_next(StoreError::Full);
    let error = story.try_send(&Caller::local(), &agent, story.says("new")).await.unwrap_err();
    assert!(error.is_store_full(), "{error}");
    tokio::time::pause();
    story.store.fail_next(StoreError::Full);
    gate.add_permits(2);
    assert_eq!(watch.settled().await.answer(), "kept");
}

#[tokio::test(start_paused = true)]
async fn a_stop_drains_what_finishes_and_leaves_the_rest_for_the_next_start() {
    let story = Story::begin();
    let quick = Arc::new(Semaphore::new(0));
    let agent = story.agent("quick", ScriptedRunner::new().gate(&quick).chunk("done"));
    let stuck = story.agent_with(
        "stuck",
        "[limits]\nretry = 1\ntimeout = \"1h\"",
        Arc::new(ScriptedRunner::new().hold()),
    );
    let finishing = story.send(&agent, "go").await.id();
    let hanging = story.send(&stuck, "go").await.id();
    // The stop has begun when the work finishes.
    tokio::join!(story.stop(), async { quick.add_permits(1) });
    let refused = story.try_send(&Caller::local(), &agent, story.says("late")).await.unwrap_err();
    assert!(matches!(refused, TaskError::Stopping), "{refused}");
    let story = story.crash();
    story.agent("quick", echo());
    story.agent_with("stuck", "[limits]\nretry = 1", Arc::new(echo()));
    story.recover().await;
    let task = story.tasks.get(&Caller::local(), finishing).await.unwrap();
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "done"));
    let task = story.settled(hanging).await;
    assert_eq!((state(&task), task.attempt), (TaskState::Completed, 2));
}
