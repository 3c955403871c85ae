//! What is written is read back as the same, and everything else gets a sentence.
//!
//! No sockets: the tests of the gateway cover those.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Part, Role};

const TASK: &str = "0198c0de-0000-7000-8000-000000000001";

fn task() -> TaskId {
    TASK.parse().unwrap()
}

fn words(text: &str) -> Message {
    Message::text("m1".parse().unwrap(), Role::Agent, text)
}

fn heard(frame: &serde_json::Value) -> Result<FromAgent, BadFrame> {
    FromAgent::read(frame.to_string().as_bytes())
}

fn frames_of_an_agent() -> Vec<FromAgent> {
    let mut introduction = Introduction::new("greeter".parse().unwrap(), "Greets people.");
    introduction.skills = vec![Skill { id: "greet".into(), name: "Greet".into(), ..Skill::default() }];
    introduction.resume = Some("word".into());
    let step = |progress| FromAgent::Step { task: task(), progress };
    vec![
        FromAgent::Register { id: FrameId::number(1), introduction: Box::new(introduction) },
        step(Progress::Text("Hel".into())),
        step(Progress::Status("thinking".into())),
        step(Progress::Said(words("half way"))),
        step(Progress::Artifact { artifact: Artifact::text("a", "x"), append: true, last_chunk: true }),
        FromAgent::End { task: task(), ending: Ending::new(EndingWay::Completed) },
        FromAgent::End { task: task(), ending: Ending::saying(EndingWay::InputRequired, "Which one?") },
        FromAgent::End {
            task: task(),
            ending: Ending { way: EndingWay::Failed, message: Some(words("no")), text: None },
        },
        FromAgent::Ping { id: FrameId::number(7) },
    ]
}

fn frames_of_a_site() -> Vec<FromSite> {
    let urls = AgentUrls { a2a: "https://x/a2a/greeter".into(), mcp: "https://x/mcp/greeter".into() };
    let welcome = Welcome {
        protocol: AGENT_SESSION_VERSION,
        name: "greeter".parse().unwrap(),
        urls,
        lease_seconds: 60,
        resume: "word".into(),
        warnings: vec!["look".into()],
    };
    let work = Assignment {
        task: task(),
        context: "c".parse().unwrap(),
        attempt: 2,
        text: "hello".into(),
        message: words("hello"),
        history: vec![words("before")],
        deadline: Some(Timestamp::from_millis(1_700_000_000_000)),
        credential: Some("secret".into()),
        traceparent: Some("00-1-2-01".into()),
        tracestate: None,
    };
    vec![
        FromSite::Welcome { id: FrameId::number(1), welcome: Box::new(welcome) },
        FromSite::Run(Box::new(work)),
        FromSite::Cancel { task: task() },
        FromSite::Notice { text: "look".into() },
        FromSite::Pong { id: FrameId::number(2) },
    ]
}

#[test]
fn what_an_agent_writes_is_read_as_the_same() {
    for frame in frames_of_an_agent() {
        assert_eq!(FromAgent::read(frame.write().as_bytes()), Ok(frame));
    }
}

#[test]
fn what_a_site_writes_is_read_as_the_same() {
    for frame in frames_of_a_site() {
        assert_eq!(FromSite::read(frame.write().unwrap().as_bytes()), Ok(frame));
    }
}

#[test]
fn a_refusal_is_read_with_its_sentence() {
    let frame = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the name is taken"}}"#;
    let refused = FromSite::Refused { id: Some(FrameId::number(1)), why: "the name is taken".into() };
    assert_eq!(FromSite::read(frame), Ok(refused));
}

#[test]
fn the_smallest_introduction_is_enough() {
    let frame = json!({"jsonrpc": "2.0", "id": "a", "method": "agent/register", "params": {"name": "x", "description": "d", "colour": "red"}});
    let Ok(FromAgent::Register { introduction, .. }) = heard(&frame) else { panic!("it is one") };
    assert_eq!((introduction.version.as_str(), introduction.protocol), ("1.0.0", AGENT_SESSION_VERSION));
    assert_eq!(introduction.visibility, Visibility::Private);
}

#[test]
fn what_is_no_frame_is_told_apart_from_a_frame_with_wrong_content() {
    for bytes in [
        &b"hello"[..],
        b"[]",
        b"3",
        b"{}",
        b"\xff\xfe",
        br#"{"jsonrpc":"1.0"}"#,
        br#"{"jsonrpc":"2.0","method":3}"#,
    ] {
        let wrong = FromAgent::read(bytes).unwrap_err();
        assert!(matches!(wrong, BadFrame::NoFrame(_)), "{bytes:?}: {wrong:?}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(FromAgent::read(deep.as_bytes()).unwrap_err().to_string().contains("nests deeper"));
    assert!(FromAgent::read(&vec![b' '; MAX_FRAME + 1]).unwrap_err().to_string().contains("at most"));
}

#[test]
fn a_frame_that_is_wrong_names_its_task() {
    for (params, why) in [
        (json!({"task": TASK}), "exactly one of text"),
        (json!({"task": TASK, "text": "a", "status": "b"}), "exactly one of text"),
        (json!({"task": TASK, "artifact": {"artifactId": "a", "parts": []}}), "no parts"),
        (json!({"task": TASK, "artifact": {"artifactId": "a", "parts": [{}]}}), "exactly one of text, raw"),
        (json!({"task": TASK, "artifact": {"artifactId": "", "parts": [{"text": "x"}]}}), "artifactId"),
    ] {
        let frame = json!({"jsonrpc": "2.0", "method": "task/step", "params": params});
        let Err(BadFrame::Params { task: Some(named), what, .. }) = heard(&frame) else { panic!("{frame}") };
        assert_eq!(named, task());
        assert!(what.contains(why), "{what}");
    }
    let frame = json!({"jsonrpc": "2.0", "method": "task/end", "params": {"task": TASK, "outcome": "eaten"}});
    assert!(matches!(heard(&frame), Err(BadFrame::Params { task: Some(_), .. })));
}

#[test]
fn unknown_methods_are_passed_over_and_a_request_needs_an_id() {
    let unknown = json!({"jsonrpc": "2.0", "id": 3, "method": "agent/dance", "params": {}});
    let read = heard(&unknown).unwrap();
    assert_eq!(read, FromAgent::Unknown { id: Some(FrameId::number(3)), method: "agent/dance".into() });
    let without = json!({"jsonrpc": "2.0", "method": "ping"});
    assert!(heard(&without).unwrap_err().to_string().contains("needs an id"));
    let answer = json!({"jsonrpc": "2.0", "id": 3, "result": {}});
    assert!(matches!(heard(&answer), Ok(FromAgent::Unknown { id: None, .. })));
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<String>().prop_map(Part::text),
        any::<i64>().prop_map(|number| Part::data(json!({ "n": number }))),
    ]
}

proptest! {
    #[test]
    fn no_bytes_break_the_readers(bytes: Vec<u8>) {
        let _ = FromAgent::read(&bytes);
        let _ = FromSite::read(&bytes);
    }

    #[test]
    fn no_params_break_the_readers(
        method in prop::sample::select(vec!["agent/register", "task/step", "task/end", "task/run", "task/cancel", "ping"]),
        key in "task|name|text|artifact|outcome|message",
        value in "[\\[\\]{}\":,a-z0-9]{0,24}",
    ) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"{key}":{value}}}}}"#);
        let _ = FromAgent::read(text.as_bytes());
        let _ = FromSite::read(text.as_bytes());
    }

    #[test]
    fn any_step_survives_the_wire(parts in prop::collection::vec(any_part(), 1..4), append: bool, last_chunk: bool, id in "[a-z]{1,20}") {
        let artifact = Artifact { artifact_id: id, parts, ..Artifact::default() };
        let step = FromAgent::Step { task: task(), progress: Progress::Artifact { artifact, append, last_chunk } };
        prop_assert_eq!(FromAgent::read(step.write().as_bytes()), Ok(step));
    }

    #[test]
    fn any_words_survive_the_wire(text: String) {
        let end = FromAgent::End { task: task(), ending: Ending::saying(EndingWay::Failed, text) };
        prop_assert_eq!(FromAgent::read(end.write().as_bytes()), Ok(end));
    }
}
