//! Any bytes read as the protobuf messages of A2A that come from others, as the gRPC binding and its client
//! read them.
//!
//! Promises: no input panics, hangs or takes memory without bound; a Message that was read goes into protobuf
//! and comes back as the same value; an item of a stream and a card have a JSON form or a sentence why not.
#![no_main]

use agentsite_protocol::proto::{self, Shape};
use agentsite_protocol::{AgentCard, Message, Nesting};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let most = Nesting::REQUEST.nodes;
    if let Ok(request) = proto::decode::<proto::SendMessageRequest>(bytes, Shape::SendMessage, most)
        && let Some(Ok(message)) = request.message.map(Message::try_from)
    {
        let written = proto::Message::try_from(&message).expect("a message that was read can be written");
        assert_eq!(Message::try_from(written), Ok(message));
    }
    if let Ok(item) = proto::decode::<proto::StreamResponse>(bytes, Shape::StreamItem, most) {
        let _ = proto::to_json(&item);
    }
    if let Ok(card) = proto::decode::<proto::AgentCard>(bytes, Shape::Card, most) {
        let _ = AgentCard::try_from(card);
    }
    if let Ok(list) = proto::decode::<proto::ListTasksRequest>(bytes, Shape::Flat, most) {
        let _ = list.changed_since();
    }
});
