//! Messages: what is written is read, what makes no sense is refused, and the bytes do not change unnoticed.
//!
//! The exact bytes are in `tests/golden/messages.hex`.

use proptest::prelude::*;

use super::*;
use crate::golden;
use crate::story;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn samples() -> Vec<Message> {
    let site = story::Site::new(1);
    let records = [site.lease(1, story::at(0)), site.agent("calc", 2, story::at(0), "Adds numbers")];
    let ids: Vec<RecordId> = records.iter().map(|record| record.id()).collect();
    vec![
        Message::Push(Batch::of(&records)),
        Message::Query(vec![0x61]),
        Message::Answer(vec![0x61, 0, 0, 2, 0]),
        Message::Have(ids.clone()),
        Message::Want(Vec::new()),
        Message::Want(ids),
        Message::Give { batch: Batch::of(&records[..1]), total: 2 },
        Message::Give { batch: Batch::default(), total: 0 },
    ]
}

#[test]
fn the_wire_form_of_every_message_is_the_committed_one() {
    let written: String = samples().iter().map(|message| format!("{}\n", hex(&message.encode()))).collect();
    golden::check("messages.hex", &written);
}

#[test]
fn every_message_is_read_as_it_was_written() {
    for message in samples() {
        let bytes = message.encode();
        assert_eq!(bytes.len(), message.encoded_len());
        let read = Message::decode(&bytes).unwrap();
        assert_eq!(read.encode(), bytes);
        for cut in 0..bytes.len().min(400) {
            // A shorter query is a query; its frame is judged elsewhere.
            if !matches!(message, Message::Query(_) | Message::Answer(_)) {
                assert!(Message::decode(&bytes[..cut]).is_err(), "{cut} bytes of {message:?}");
            }
        }
        if !matches!(message, Message::Query(_) | Message::Answer(_)) {
            assert_eq!(Message::decode(&[&bytes[..], &[0]].concat()).unwrap_err(), BadMessage::Malformed);
        }
    }
}

#[test]
fn what_claims_too_much_is_refused_before_it_is_read() {
    let count = |kind: u8, count: usize| {
        let mut bytes = vec![VERSION, kind];
        varint::write(count as u64, &mut bytes);
        bytes
    };
    for (bytes, why) in [
        (count(Message::PUSH, MAX_BATCH + 1), BadMessage::TooMany),
        (count(Message::WANT, MAX_IDS + 1), BadMessage::TooMany),
        (count(Message::HAVE, usize::MAX), BadMessage::TooMany),
        (count(Message::GIVE, MAX_IDS + 1), BadMessage::TooMany),
        (count(Message::PUSH, 1), BadMessage::Malformed),
        (vec![2, 0], BadMessage::Version(2)),
        (vec![1, 7], BadMessage::Kind(7)),
        (vec![1; MAX_MESSAGE + 1], BadMessage::TooLong),
        (Vec::new(), BadMessage::Malformed),
    ] {
        assert_eq!(Message::decode(&bytes).unwrap_err(), why);
    }
}

#[test]
fn an_oversized_record_spoils_itself_only() {
    let site = story::Site::new(1);
    let good = site.lease(1, story::at(0));
    let mut bytes = vec![VERSION, Message::PUSH, 3];
    for record in [&b"nonsense"[..], good.bytes(), &[0; 5_000]] {
        varint::write(record.len() as u64, &mut bytes);
        bytes.extend_from_slice(record);
    }
    let Message::Push(batch) = Message::decode(&bytes).unwrap() else { panic!("a push") };
    assert_eq!((batch.records.len(), batch.oversized), (2, 1));
    assert_eq!(batch.records[1].id(), good.id());
}

#[test]
fn many_records_are_cut_into_messages_that_fit() {
    let site = story::Site::new(1);
    let long = "long ".repeat(190);
    let records: Vec<_> = (0..150)
        .map(|number| site.agent(&format!("agent-{number}"), number + 1, story::at(0), &long))
        .collect();
    let batches = batches(records.clone());
    assert!(batches.len() > 2);
    let mut seen = Vec::new();
    for batch in batches {
        seen.extend(batch.records.iter().map(Candidate::id));
        assert!(Message::Push(batch).encode().len() <= MAX_MESSAGE);
    }
    assert!(seen.into_iter().eq(records.iter().map(|record| record.id())));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(kind in 0_u8..8, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Message::decode(&[&[VERSION, kind][..], &bytes].concat());
    }
}
