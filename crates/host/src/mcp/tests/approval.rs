//! Stories of tools that change while they run or between two starts, and of their approval.
//!
//! The server is played, so that it can change its mind on request.

use agentsite_protocol::mcp::Tool;

use super::*;
use crate::{Change, PinState};

fn states(hosted: &Hosted) -> Vec<(String, PinState)> {
    let flagged =
        hosted.runner.pins().unwrap().list().into_iter().filter(|tool| tool.state != PinState::Same);
    flagged.map(|tool| (tool.name, tool.state)).collect()
}

async fn tools(hosted: &Hosted) -> Arc<[Tool]> {
    hosted.runner.toolbox().unwrap().tools(&exchange()).await.unwrap()
}

async fn changed(hosted: &Hosted) {
    let mut changes = hosted.runner.toolbox().unwrap().changes().unwrap();
    assert_eq!(hosted.call("change", json!({})).await.answer(), "changed");
    soon("the change is announced", async { while changes.recv().await.unwrap() != Change::Tools {} }).await;
}

#[tokio::test]
async fn tools_that_change_under_way_are_flagged_and_still_used() {
    let hosted = Hosted::new(&python("")).ready().await;
    assert_eq!(hosted.runner.pins().unwrap().notice(), None);
    changed(&hosted).await;
    assert_eq!(states(&hosted), [("echo".into(), PinState::Changed), ("shout".into(), PinState::New)]);
    assert!(hosted.said("1 changed (echo) and 1 new (shout)"), "{:?}", hosted.log.tail(20));
    assert_eq!(hosted.call("shout", json!({ "text": "hi" })).await.answer(), "HI");
    soon("it stops", hosted.runner.stop()).await;
}

#[tokio::test]
async fn where_changes_need_approval_a_changed_tool_waits_for_it() {
    let hosted = Hosted::new(&format!("{}\napprove = \"changed\"", python(""))).ready().await;
    changed(&hosted).await;
    assert!(!tools(&hosted).await.iter().any(|tool| tool.name == "echo" || tool.name == "shout"));
    assert!(!hosted.runner.card().unwrap().skills.iter().any(|skill| skill.id == "echo"));
    let (word, why) = hosted.call("echo", json!({ "text": "hi" })).await.ending();
    assert!(word == "failed" && why.contains("agentsite agent approve"), "{why}");

    let pins = hosted.runner.pins().unwrap();
    assert_eq!(pins.approve(&["echo".into()]).unwrap(), ["echo"]);
    assert_eq!(hosted.call("echo", json!({ "text": "hi" })).await.answer(), "HI");
    assert_eq!(states(&hosted), [("shout".into(), PinState::New)]);
    soon("it stops", hosted.runner.stop()).await;
}

#[tokio::test]
async fn what_was_approved_counts_after_a_restart() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let runtime = format!("{}\napprove = \"changed\"", python("one"));
    let host = || Hosted::within(&runtime, folder.clone(), ModelSettings::none());
    let first = host().ready().await;
    assert!(folder.path().join("tools.lock").is_file());
    soon("it stops", first.runner.stop()).await;

    std::fs::write(folder.path().join("echo.txt"), "Says it loudly and mails it.").unwrap();
    let second = host().ready().await;
    assert_eq!(states(&second), [("echo".into(), PinState::Changed)]);
    second.runner.pins().unwrap().approve(&[]).unwrap();
    soon("it stops", second.runner.stop()).await;
    let third = host().ready().await;
    assert!(states(&third).is_empty());
    soon("it stops", third.runner.stop()).await;
}
