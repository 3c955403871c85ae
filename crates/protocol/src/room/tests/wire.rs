//! The wire form of envelopes: golden files, unknown members, limits, signatures.
//!
//! Nothing here waits or reads a clock.

use serde_json::{Value, json};

use super::machine::{at, member, room_id};
use crate::room::*;
use crate::{Algorithm, JsonMap, Part, SigningKey};

fn signing_key(seed: u8) -> SigningKey {
    SigningKey::from_seed(Algorithm::EdDsa, &[seed; 32]).unwrap()
}

fn minimal() -> Envelope {
    Envelope::discuss("m1".parse().unwrap(), room_id(), member("key:ann"), at(0), "hello")
}

/// One envelope of every type that has a block, with most members set.
fn samples() -> Vec<Envelope> {
    let of =
        |kind: MessageType| Envelope::new("m2".parse().unwrap(), room_id(), member("agent:a"), kind, at(1));
    let extra = JsonMap::new();
    let mut full = minimal();
    full.to = vec![member("agent:a")];
    full.mentions = vec![member("agent:b")];
    full.state = Some(RoomState::Discussion.into());
    full.thread_id = Some("m0".parse().unwrap());
    full.budget = Some(RoomBudget { tokens: Some(10), turns: Some(2), ..RoomBudget::default() });
    full.provenance =
        Some(Provenance { model: Some("small".into()), confidence: Some(0.5), ..Provenance::default() });
    let mut assign = of(MessageType::Assign);
    assign.task_id = Some("t1".parse().unwrap());
    assign.assign = Some(AssignBlock {
        task_desc: "count".into(),
        assignees: vec![member("agent:b")],
        mode: AssignMode::Detached,
        ..AssignBlock::default()
    });
    let mut result = of(MessageType::Result);
    result.task_id = Some("t1".parse().unwrap());
    result.result = Some(ResultBlock { conclusion: Some("3".into()), ..ResultBlock::default() });
    let mut pause = of(MessageType::Pause);
    let triggers = vec!["t1".parse().unwrap()];
    pause.pause = Some(PauseBlock { triggers, need: TriggerNeed::Count(1), ..PauseBlock::default() });
    let mut vote = of(MessageType::Vote);
    let (proposal_id, options) = ("p".parse().unwrap(), vec!["tea".into(), "coffee".into()]);
    vote.vote = Some(VoteBlock {
        proposal_id,
        options,
        quorum: Some(1),
        closes_at: Some(at(60)),
        extra: extra.clone(),
    });
    let mut conclude = of(MessageType::Conclude);
    conclude.conclude = Some(ConcludeBlock { answer: "tea".into(), ..ConcludeBlock::default() });
    let mut state = of(MessageType::RoomState);
    let goal = json!({ "text": "choose a drink" });
    let goal_ref = Some(content_ref(&goal).unwrap());
    state.room_state = Some(RoomStateBlock { goal: Some(goal), goal_ref, ..RoomStateBlock::default() });
    let mut invite = of(MessageType::Invite);
    let (kind, role) = (MemberKind::Agent, MemberRole::Member);
    invite.invite = Some(InviteBlock { member: member("agent:c"), kind, role, deadline: None, extra });
    vec![minimal(), full, assign, result, pause, vote, conclude, state, invite]
}

#[test]
fn envelopes_have_this_canonical_form() {
    let mut text = String::new();
    for envelope in samples() {
        envelope.check().unwrap();
        let bytes = envelope.canonical().unwrap();
        assert_eq!(Envelope::decode(&bytes).unwrap(), envelope);
        text += &(String::from_utf8(bytes).unwrap() + "\n");
    }
    crate::golden::check("envelopes.jsonl", &text);
}

#[test]
fn the_schema_is_this_and_a_short_message_adds_little() {
    let schema = serde_json::to_string_pretty(&envelope_schema()).unwrap();
    crate::golden::check("envelope.schema.json", &(schema + "\n"));
    let overhead = minimal().canonical().unwrap().len() - "hello".len();
    assert!(overhead <= 250, "{overhead} bytes over the content");
}

#[test]
fn events_have_this_form() {
    let mut scene = super::machine::Scene::team(RoomSettings::default());
    let mut assign = samples()[2].clone();
    assign.sender_id = member("key:ann");
    scene.post(assign).unwrap();
    let lines: Vec<String> =
        scene.log.iter().map(|event| String::from_utf8(event.canonical().unwrap()).unwrap()).collect();
    crate::golden::check("room-events.jsonl", &(lines.join("\n") + "\n"));
}

#[test]
fn unknown_members_survive_and_an_unknown_state_counts_as_discussion() {
    let mut value = minimal().to_value();
    value["state"] = "brainstorm".into();
    value["mood"] = json!({ "calm": [1, 2.5] });
    value["ext"] = json!({ "vendor": true });
    value["provenance"] = json!({ "model": "m", "weights": "open" });
    let envelope = Envelope::decode(&serde_json::to_vec(&value).unwrap()).unwrap();
    let word = envelope.state.as_ref().unwrap();
    assert_eq!((word.state(), word.is_known()), (RoomState::Discussion, false));
    assert_eq!(envelope.to_value(), value);
}

#[test]
fn what_is_too_large_or_ambiguous_is_refused() {
    let refuse = |change: &dyn Fn(&mut Value)| {
        let mut value = minimal().to_value();
        change(&mut value);
        Envelope::decode(&serde_json::to_vec(&value).unwrap()).unwrap_err()
    };
    assert_eq!(refuse(&|value| value["v"] = 2.into()), BadEnvelope::Version(2));
    assert_eq!(refuse(&|value| value["to"] = vec!["key:x"; 65].into()), BadEnvelope::TooLong("to", 64));
    assert_eq!(refuse(&|value| value["content"] = json!([{}])), BadEnvelope::Part);
    assert_eq!(refuse(&|value| value["content"] = json!([])), BadEnvelope::NoBlock("content"));
    assert_eq!(refuse(&|value| value["type"] = "vote".into()), BadEnvelope::NoBlock("vote"));
    assert!(matches!(refuse(&|value| value["sender_id"] = "a b".into()), BadEnvelope::Form(_)));
    assert!(matches!(refuse(&|value| value["type"] = "x".repeat(65).into()), BadEnvelope::Form(_)));
    let twice = br#"{"v":1,"v":1}"#;
    assert!(matches!(Envelope::decode(twice), Err(BadEnvelope::Form(_))));
    assert_eq!(Envelope::decode(&vec![b' '; MAX_ENVELOPE + 1]), Err(BadEnvelope::Size));
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    assert!(matches!(Envelope::decode(deep.as_bytes()), Err(BadEnvelope::Form(_))));
}

#[test]
fn a_signature_holds_for_the_message_and_survives_what_the_site_adds() {
    let key = signing_key(7);
    let mut envelope = minimal();
    envelope.sign(&key).unwrap();
    let public = key.public();
    envelope.seq = Some(9);
    envelope.recv_ts = Some(at(5));
    envelope.check().unwrap();
    envelope.verify(&public).unwrap();
    let mut altered = envelope.clone();
    altered.content = vec![Part::text("hullo")];
    assert!(altered.verify(&public).is_err());
    let mut unsigned = envelope.clone();
    unsigned.sig = None;
    assert!(unsigned.verify(&public).is_err());
    assert!(envelope.verify(&signing_key(8).public()).is_err());
    assert_eq!(envelope.digest().unwrap(), unsigned.digest().unwrap());
    let later = Envelope { ts: at(9), ..envelope.clone() };
    assert_eq!(
        later.body_digest().unwrap(),
        envelope.body_digest().unwrap(),
        "a repetition has another time"
    );
    assert_ne!(altered.body_digest().unwrap(), envelope.body_digest().unwrap());
}

#[test]
fn a_changed_event_breaks_the_chain() {
    let start = ChainHash::start(room_id());
    let (one, two) = (start.next(b"one"), start.next(b"two"));
    assert_ne!(one, two);
    assert_ne!(one.next(b"x"), two.next(b"x"));
    assert_ne!(start, ChainHash::start(crate::RoomId::from_bytes([6; 16])));
}

#[test]
fn similar_texts_are_similar() {
    assert!(similarity("Let us take the tram now", "let us take THE tram, now!") > 0.99);
    assert!(similarity("ok", "ok") > 0.99);
    assert!(similarity("ok", "no") < 0.01);
    assert!(similarity("", "") < 0.01);
}
