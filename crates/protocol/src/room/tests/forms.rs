//! Other forms of messages: what they become, and that none can name another sender or room.
//!
//! Nothing here waits or reads a clock.

use serde_json::{Value, json};

use super::machine::{Scene, at, member, room_id};
use crate::room::adapter::*;
use crate::room::*;
use crate::{Message, Role};

fn names(name: &str) -> Option<MemberId> {
    ["ann", "bob", "cat"].contains(&name).then(|| member(&format!("agent:{name}")))
}

fn arrival() -> Arrival<'static> {
    Arrival {
        id: "x1".parse().unwrap(),
        room: room_id(),
        sender: member("agent:ann"),
        at: at(0),
        member: &names,
    }
}

#[test]
fn the_published_example_is_read_in_its_four_states() {
    let of = |state: &str| {
        json!({
            "group_id": room_id().to_string(),
            "sender_id": "ann",
            "state": state,
            "content": "hello",
            "task_desc": "count the ships",
            "next_speaker": ["bob"],
            "task_id": "t1",
            "mood": "calm",
        })
    };
    let read = |state: &str| from_example(&of(state), &arrival()).unwrap();
    let said = read("discussion");
    assert_eq!((said.kind.word(), said.to.as_slice()), ("discuss", [member("agent:bob")].as_slice()));
    assert_eq!(said.extra["ext"]["example"]["mood"], "calm");
    let given = read("task_assignment");
    assert_eq!(given.assign.as_ref().unwrap().task_desc, "count the ships");
    assert_eq!(to_example(&given, RoomState::Waiting)["state"], "task_assignment");
    assert_eq!(read("execution").kind, MessageType::Progress);
    assert_eq!(read("conclusion").conclude.unwrap().answer, "hello");
    assert_eq!(read("brainstorm").kind, MessageType::Discuss, "an unknown state is a discussion");
}

#[test]
fn messages_of_ioa_are_read_and_written_with_their_numbers() {
    let of = |kind: Value| {
        json!({
            "comm_id": room_id().to_string().replace('-', ""),
            "sender": "ann",
            "next_speaker": "bob",
            "state": 1,
            "type": kind,
            "content": "please",
            "task_id": "t1",
            "task_desc": "count",
            "task_conclusion": "3",
            "triggers": ["t1"],
            "max_turns": 7,
        })
    };
    for (kind, word) in [
        (4, "discuss"),
        (5, "assign"),
        (6, "assign"),
        (7, "result"),
        (8, "progress"),
        (9, "pause"),
        (11, "conclude"),
    ] {
        let read = from_ioa(&of(kind.into()), &arrival()).unwrap();
        assert_eq!(read.kind.word(), word);
        assert_eq!(to_ioa(&read)["type"], kind, "{word}");
        assert_eq!(read.extra["ext"]["ioa"]["max_turns"], 7);
    }
    let sync = from_ioa(&of("sync_task_assign".into()), &arrival()).unwrap();
    assert_eq!(sync.assign.unwrap().mode, AssignMode::Blocking);
    assert!(from_ioa(&of(json!([])), &arrival()).is_err());
}

#[test]
fn a_foreign_sender_room_or_name_is_refused() {
    let spoofed = json!({ "sender": "bob", "content": "hi" });
    assert_eq!(from_ioa(&spoofed, &arrival()), Err(BadForm::OtherSender("bob".into())));
    let elsewhere = json!({ "comm_id": "00000000000000000000000000000001", "content": "hi" });
    assert!(matches!(from_ioa(&elsewhere, &arrival()), Err(BadForm::OtherRoom(_))));
    let unknown = json!({ "content": "hi", "next_speaker": ["zoe"] });
    assert_eq!(from_ioa(&unknown, &arrival()), Err(BadForm::UnknownName("zoe".into())));
    assert_eq!(from_example(&unknown, &arrival()), Err(BadForm::UnknownName("zoe".into())));
    let call = CoralCall::named("coral_send_message").unwrap();
    let itself = json!({ "threadId": room_id().to_string(), "content": "hi", "mentions": ["ann"] });
    assert!(call.read(&itself, &arrival()).is_err());
}

#[test]
fn the_thread_tools_of_coral_are_messages() {
    let arguments = json!({
        "threadId": room_id().to_string(),
        "content": "hi",
        "mentions": ["bob"],
        "summary": "done",
        "participantName": "cat",
    });
    let read = |tool: &str| CoralCall::named(tool).unwrap().read(&arguments, &arrival()).unwrap();
    assert_eq!(read("coral_send_message").mentions, [member("agent:bob")]);
    assert_eq!(read("coral_close_thread").close.unwrap().summary, "done");
    assert_eq!(read("coral_add_participant").invite.unwrap().member, member("agent:cat"));
    assert_eq!(read("coral_remove_participant").remove.unwrap().member, member("agent:cat"));
    assert_eq!(CoralCall::named("coral_wait_for_message"), None);
}

#[test]
fn an_event_survives_the_form_of_a2a() {
    let mut scene = Scene::team(RoomSettings::default());
    let mut envelope = scene.envelope("key:ann", MessageType::Discuss);
    envelope.content = vec![crate::Part::text("hello")];
    envelope.to = vec![member("agent:a")];
    let event = scene.post(envelope.clone()).unwrap();
    let message = to_a2a(&event, MemberKind::Person);
    assert_eq!((message.role, message.plain_text().as_str()), (Role::User, "hello"));
    let arrival =
        Arrival { sender: member("key:ann"), id: envelope.id.clone(), at: envelope.ts, ..arrival() };
    let mut again = from_a2a(&message, &arrival).unwrap();
    again.state = None;
    assert_eq!(again, envelope);
    let spoofed = Arrival { sender: member("agent:b"), ..arrival };
    assert!(matches!(from_a2a(&message, &spoofed), Err(BadForm::OtherSender(_))));
    let plain = Message::text("m".parse().unwrap(), Role::User, "hi");
    assert_eq!(from_a2a(&plain, &spoofed).unwrap().kind, MessageType::Discuss);
    assert_eq!(to_coral(&event)["seq"], event.seq);
}
