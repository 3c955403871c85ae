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
    [
        Message::Push(Batch::of(&records)),
        Message::Query(vec![0x61]),
        Message::Answer(vec![0x61, 0, 0, 2, 0]),
        Message::Have(ids.clone()),
        Message::Want(Vec::new()),
        Message::Want(ids),
        Message::Give { batch: Batch::of(&records[..1]), total: 2 },
        Message::Give { batch: Batch::default(), total: 0 },
        Message::Confide { batch: Batch::of(&records[1..]), left: 1 },
        Message::Confide { batch: Batch::default(), left: 0 },
    ]
    .into_iter()
    .chain(cell_samples().into_iter().map(Message::Cell))
    .collect()
}

fn cell_samples() -> Vec<CellFrame> {
    let site = story::Site::new(1);
    let record = site.agent("calc", 2, story::at(0), "Adds numbers");
    let (cell, key) = ("r01".parse().unwrap(), crate::cells::EntryKey::of(record.key()));
    let vector = crate::vectors::VectorCodes::from_codes(Arc::new([1, -2, 3])).unwrap();
    vec![
        CellFrame::Put { cell, confirm: true, batch: Batch::of(std::slice::from_ref(&record)) },
        CellFrame::Stored { cell, entries: vec![(key, 300)] },
        CellFrame::Compare { cell: crate::CellId::ROOT, frame: vec![0x61] },
        CellFrame::Differ { cell, frame: vec![0x61, 0, 0, 2, 0] },
        CellFrame::Fetch { cell, ids: vec![record.id()] },
        CellFrame::Ask { request: 7, cell, limit: 20, vector },
        CellFrame::Answer { request: 7, answer: None },
        CellFrame::Answer { request: 7, answer: Some((0.25, true, Batch::of(&[record]))) },
    ]
}

/// Whether the content ends with a frame, which is judged elsewhere and may have any length.
fn has_frame(message: &Message) -> bool {
    use CellFrame::{Compare, Differ};
    matches!(message, Message::Query(_) | Message::Answer(_) | Message::Cell(Compare { .. } | Differ { .. }))
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
            if !has_frame(&message) {
                assert!(Message::decode(&bytes[..cut]).is_err(), "{cut} bytes of {message:?}");
            }
        }
        if !has_frame(&message) {
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
        (count(Message::CONFIDE, MAX_CONFIDED), BadMessage::TooMany),
        (count(Message::PUSH, 1), BadMessage::Malformed),
        (vec![2, 0], BadMessage::Version(2)),
        (vec![1, 14], BadMessage::Kind(14)),
        (vec![1, 7, 33, 0, 0, 0], BadMessage::Malformed),
        (vec![1, 7, 1, 2, 0, 0], BadMessage::Malformed),
        (vec![1, 7, 1, 1, 2, 0], BadMessage::Malformed),
        (vec![1, 12, 0, 0, 0, 65, 1, 1], BadMessage::TooMany),
        (vec![1, 12, 0, 0, 0, 1, 1, 0], BadMessage::Malformed),
        (vec![1, 12, 0, 0, 0, 1, 1, 0x80], BadMessage::Malformed),
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
    fn no_bytes_make_the_reader_panic(kind in 0_u8..16, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Message::decode(&[&[VERSION, kind][..], &bytes].concat());
    }
}
