//! What a crash and a stop leave behind for a site and its agents.
//!
//! What they leave of tasks is told in `tasks`.

use super::*;

#[tokio::test]
async fn work_for_an_agent_that_is_gone_waits_for_it() {
    let story = Story::begin().await;
    let agent = story.agent_with("one", "[limits]\nconcurrency = 1", Arc::new(ScriptedRunner::new().hold()));
    story.send(&agent, "running").await;
    let queued = story.send(&agent, "queued").await.id();
    let story = story.crash().await;
    assert_eq!(story.site.start().await.unwrap().waiting, 2);
    story.site.agents().install(manifest("one", ""), None).await.unwrap();
    let task = story.site.tasks().watch(&Caller::local(), queued, 0).await.unwrap().settled().await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "queued"));
}

#[tokio::test(start_paused = true)]
async fn a_stop_leaves_what_does_not_finish_for_the_next_start() {
    let story = Story::begin().await;
    let more = "[limits]\nretry = 1\ntimeout = \"1h\"";
    let stuck = story.agent_with("stuck", more, Arc::new(ScriptedRunner::new().hold()));
    let hanging = story.send(&stuck, "go").await.id();
    story.site.start().await.unwrap();
    story.site.stop().await;
    let refused = story.try_send(&Caller::local(), &stuck, story.says("late")).await.unwrap_err();
    assert!(matches!(refused, SiteError::Stopping), "{refused}");
    let story = story.crash().await;
    story.agent_with("stuck", more, Arc::new(echo()));
    assert_eq!(story.site.start().await.unwrap().retried, 1);
    let task = story.site.tasks().watch(&Caller::local(), hanging, 0).await.unwrap().settled().await;
    assert_eq!((state(&task), task.attempt), (TaskState::Completed, 2));
}
