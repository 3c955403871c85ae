//! Foreign bytes read as an envelope of a room, and as every other form of a room's messages.
//!
//! Promises: no input panics, hangs or takes memory without bound; an envelope that was read has bounded
//! members, a canonical form that is read as the same value, and gives an event or a refusal in a room.
#![no_main]

use agentsite_protocol::room::adapter::{Arrival, CoralCall, from_a2a, from_example, from_ioa};
use agentsite_protocol::room::{Envelope, MAX_ENVELOPE, MemberId, MemberKind, MessageType, Room, RoomSettings};
use agentsite_protocol::{Message, Nesting, RoomId, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(envelope) = Envelope::decode(bytes) {
        round_trip(&envelope);
        post(envelope);
    }
    if bytes.len() > MAX_ENVELOPE || Nesting::REQUEST.check(bytes).is_err() {
        return;
    }
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    let member = |name: &str| name.parse::<MemberId>().ok();
    let arrival = Arrival {
        id: "m".parse().expect("a short id"),
        room: RoomId::from_bytes([5; 16]),
        sender: "key:ann".parse().expect("a short id"),
        at: Timestamp::from_millis(0),
        member: &member,
    };
    let _ = from_example(&value, &arrival);
    let _ = from_ioa(&value, &arrival);
    for tool in ["coral_send_message", "coral_close_thread", "coral_add_participant"] {
        let _ = CoralCall::named(tool).expect("a known tool").read(&value, &arrival);
    }
    if let Ok(message) = serde_json::from_value::<Message>(value) {
        let _ = from_a2a(&message, &arrival);
    }
});

fn round_trip(envelope: &Envelope) {
    let Ok(canonical) = envelope.canonical() else { return };
    if let Ok(again) = Envelope::decode(&canonical) {
        assert_eq!(again.canonical().as_ref(), Ok(&canonical));
    }
}

/// Posts the envelope into a new room that it names, as its owner.
fn post(envelope: Envelope) {
    let now = Timestamp::from_millis(0);
    let (id, room, sender) = (envelope.id.clone(), envelope.group_id, envelope.sender_id.clone());
    let opening = Envelope::new(id, room, sender, MessageType::Created, now);
    let opened = Room::create(opening, MemberKind::Person, "t", RoomSettings::default(), now);
    let mut room = Room::open(&opened.expect("a room opens")).expect("an opening opens");
    if let Ok(event) = room.decide(envelope.into(), now) {
        room.apply(&event).expect("a decided event is the next one");
        assert_eq!(room.next_deadline().is_none(), room.state().is_ended());
    }
}
