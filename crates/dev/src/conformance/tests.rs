//! Facts about the conformance agent: each scene of the kits, by the id that asks for it, in paused time.
//!
//! The end-to-end tests cover the scenes with a whole site.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::NoCalls;
use agentsite_protocol::{Caller, Ids, Step, Usage};
use agentsite_site::World;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;

fn job(id: &str) -> Job {
    let ids: Ids = World::system().ids();
    Job {
        task: ids.task(),
        context: ids.context(),
        agent: NAME.parse().unwrap(),
        owner: Caller::local().owner().clone(),
        message: Message::text(id.parse().unwrap(), Role::User, "anything"),
        history: Vec::new(),
        conversation: Vec::new(),
        memo: None,
        attempt: 1,
        retries: 0,
        deadline: None,
        depth: 0,
        ephemeral: agentsite_host::Ephemeral::default(),
        used: Usage::default(),
        used_today: Usage::default(),
        cancel: CancellationToken::new(),
        ids,
        calls: Arc::new(NoCalls),
    }
}

/// What a scene shows, and how it ends, in a few words.
async fn described(id: &str) -> String {
    let (report, mut reports) = Reporter::channel();
    let listening = async {
        let mut shown = Vec::new();
        while let Some(step) = reports.recv().await {
            let Step::Artifact { artifact, append, last_chunk } = step else { panic!("{step:?}") };
            let parts = serde_json::to_string(&artifact.parts).unwrap();
            shown.push(format!(
                "{parts}{}{}",
                if append { "+" } else { "" },
                if last_chunk { "." } else { "" }
            ));
        }
        shown
    };
    let (outcome, mut steps) = tokio::join!(Conformance::new().run(job(id), report), listening);
    steps.push(match outcome {
        Outcome::Completed(words) => {
            format!("completed {}", words.map(|words| words.plain_text()).unwrap_or_default())
        }
        Outcome::InputRequired(_) => "asks".into(),
        Outcome::AuthRequired(_) => "asks for permission".into(),
        Outcome::Rejected(words) => words.plain_text(),
        other => format!("{other:?}"),
    });
    steps.join(" ").trim_end().to_owned()
}

#[tokio::test(start_paused = true)]
async fn each_id_plays_its_scene() {
    let file = r#""mediaType":"text/plain","filename":"output.txt"}]."#;
    for (id, scene) in [
        ("tck-complete-task-1a2b", "completed Hello from TCK".to_owned()),
        ("tck-input-required-1a2b", "asks".into()),
        ("tck-auth-required-1a2b", "asks for permission".into()),
        ("tck-reject-task-1a2b", "rejected".into()),
        ("tck-artifact-text-1a2b", r#"[{"text":"Generated text content"}]. completed"#.into()),
        ("tck-artifact-file-1a2b", format!(r#"[{{"raw":"dGNr",{file} completed"#)),
        (
            "tck-artifact-file-url-1a2b",
            format!(r#"[{{"url":"https://example.com/output.txt",{file} completed"#),
        ),
        ("tck-artifact-data-1a2b", r#"[{"data":{"count":42,"key":"value"}}]. completed"#.into()),
        ("tck-stream-001-1a2b", r#"[{"text":"Stream hello from TCK"}]. completed"#.into()),
        ("tck-stream-002-1a2b", "completed".into()),
        ("tck-stream-003-1a2b", r#"[{"text":"Stream task lifecycle"}]. completed"#.into()),
        ("tck-stream-ordering-001", r#"[{"text":"Ordered output"}]. completed"#.into()),
        ("tck-stream-artifact-text-1", r#"[{"text":"Streamed text content"}]. completed"#.into()),
        ("tck-stream-artifact-file-1", format!(r#"[{{"raw":"dGNr",{file} completed"#)),
        ("tck-stream-artifact-chunked-1", r#"[{"text":"chunk-1 "}] [{"text":"chunk-2"}]+. completed"#.into()),
        ("tck-something-else", "completed Nothing special is asked by this id.".into()),
        ("test-message-id-of-the-0.3-kit", "asks".into()),
    ] {
        assert_eq!(described(id).await, scene, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn timed_scenes_last_as_long_as_the_kits_wait() {
    for (id, least) in [("tck-delayed-complete-1", 2), ("test-resubscribe-message-id-1", 4)] {
        let began = Instant::now();
        assert!(described(id).await.starts_with("completed"), "{id}");
        assert!(began.elapsed() >= Duration::from_secs(least), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_wait_at_once() {
    let job = job("test-resubscribe-message-id-1");
    let (cancel, began) = (job.cancel.clone(), Instant::now());
    let (report, _reports) = Reporter::channel();
    let (outcome, ()) = tokio::join!(Conformance::new().run(job, report), async { cancel.cancel() });
    assert!(matches!(outcome, Outcome::Canceled(_)));
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn one_id_is_answered_with_a_message() {
    let answer = Conformance::new().reply(&job("tck-message-response-1a2b")).await.unwrap();
    assert_eq!((answer.role, answer.plain_text()), (Role::Agent, "Direct message response".into()));
    assert_eq!(Conformance::new().reply(&job("tck-complete-task-1a2b")).await, None);
}

#[test]
fn it_declares_what_the_kits_need() {
    let manifest = manifest();
    assert_eq!(manifest.name.as_str(), NAME);
    assert_eq!(manifest.answers, agentsite_host::Answers::Either);
    assert_eq!(manifest.repeats, agentsite_host::Repeats::New);
    for target in WEBHOOKS {
        assert!(target.parse::<agentsite_egress::AllowedTarget>().is_ok(), "{target}");
    }
}
