//! What the decoder yields for streams, whole and in pieces, and what it refuses.
//!
//! Its callers test their own part: silence, reconnection and the meaning of data.

use std::convert::Infallible;

use futures::StreamExt;
use futures::stream;
use proptest::prelude::*;

use super::*;

type Item = Result<SseEvent, SseError>;

fn decode(limits: SseLimits, pieces: &[&[u8]]) -> Vec<Item> {
    let mut decoder = SseDecoder::new(limits);
    let mut items = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(item) = decoder.next_event() {
            let is_end = item.is_err();
            items.push(item);
            if is_end {
                return items;
            }
        }
    }
    items
}

fn events(pieces: &[&[u8]]) -> Vec<SseEvent> {
    decode(SseLimits::new(1000), pieces).into_iter().map(Result::unwrap).collect()
}

fn data(pieces: &[&[u8]]) -> Vec<String> {
    events(pieces).into_iter().filter_map(|event| event.data).collect()
}

#[test]
fn lines_of_data_are_joined_and_other_lines_are_ignored() {
    let body = b"data: one\nother: x\ndata:two\n\n: comment\n\ndata\n\ndatabase: no\n\nno colon\n\n";
    assert_eq!(data(&[body]), ["one\ntwo", ""]);
    assert_eq!(data(&[b"data:  two spaces\ndata\ndata: \n\n"]), [" two spaces\n\n"]);
}

#[test]
fn all_fields_are_read_and_do_not_pass_to_the_next_event() {
    let read = events(&[b"event: a\nid: 7\nretry: 1500\ndata: x\n\ndata: y\n\n"]);
    let first = SseEvent {
        event: Some("a".into()),
        data: Some("x".into()),
        id: Some("7".into()),
        retry: Some(Duration::from_millis(1500)),
    };
    assert_eq!(read, [first, SseEvent { data: Some("y".into()), ..SseEvent::default() }]);
}

#[test]
fn the_last_of_a_repeated_field_counts_and_wrong_values_are_ignored() {
    let read = events(&[b"id: 1\nid: 2\nid: a\0b\nretry: 5\nretry: soon\nretry: -1\nevent: a\nevent: b\n\n"]);
    let retry = Some(Duration::from_millis(5));
    assert_eq!(read, [SseEvent { event: Some("b".into()), id: Some("2".into()), retry, data: None }]);
    assert!(events(&[b"retry: 99999999999999999999999\n\nretry:\n\n"]).is_empty());
}

#[test]
fn a_block_without_data_is_given_and_an_empty_one_is_not() {
    let read = events(&[b"id: 1\n\n\n\n:\n\nid:\n\n"]);
    let ids: Vec<_> = read.into_iter().map(|event| event.id).collect();
    assert_eq!(ids, [Some("1".to_owned()), Some(String::new())]);
}

#[test]
fn all_three_line_ends_are_known() {
    let pieces: &[&[u8]] = &[b"data: a\r\n\r\ndata: b\n\ndata: c\r\rdata: d\r", b"", b"\n\r\n"];
    assert_eq!(data(pieces), ["a", "b", "c", "d"]);
    assert_eq!(data(&[b"data: a\r", b"data: b\r", b"\r"]), ["a\nb"]);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_beginning() {
    assert_eq!(data(&[b"\xef\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"]), ["a"]);
    assert_eq!(data(&[b"\xef\xbb\xbf\ndata: a\n\n"]), ["a"]);
}

#[test]
fn a_character_that_is_cut_is_put_together() {
    assert_eq!(data(&[b"data: \xc3", b"\xa9\n\n"]), ["é"]);
}

#[test]
fn an_event_without_a_blank_line_at_the_end_is_dropped() {
    assert_eq!(data(&[b"data: a\n\ndata: b\n"]), ["a"]);
    assert_eq!(data(&[b"data: a\n\ndata: b"]), ["a"]);
}

#[test]
fn bytes_that_are_not_text_end_the_stream_after_what_came_before() {
    let items = decode(SseLimits::new(100), &[b"data: a\n\ndata: \xff\n\ndata: b\n\n"]);
    assert_eq!(items.len(), 2);
    assert_eq!(items[1], Err(SseError::NotUtf8));
    assert_eq!(data(&[b": \xff\n\xff: x\ndata: a\n\n"]), ["a"]);
}

#[test]
fn a_line_and_an_event_have_limits() {
    let limits = SseLimits { line: 10, event: 20 };
    assert_eq!(decode(limits, &[b"data: 1234\n\n"]).len(), 1);
    assert_eq!(decode(limits, &[b"data: 12345"]), [Err(SseError::LineTooLong(10))]);
    assert_eq!(decode(limits, &[b": comment without end"]), [Err(SseError::LineTooLong(10))]);
    let endless: Vec<&[u8]> = vec![b"data: 1\n"; 100];
    assert_eq!(decode(limits, &endless), [Err(SseError::EventTooLarge(20))]);
    let comments: Vec<&[u8]> = vec![b": alive\n"; 100];
    assert_eq!(decode(limits, &comments), []);
}

#[test]
fn after_an_error_nothing_is_decoded_and_nothing_is_held() {
    let mut decoder = SseDecoder::new(SseLimits::new(8));
    decoder.push(b"data: 123456789");
    decoder.push(b"\n\ndata: a\n\n");
    assert_eq!(decoder.next_event(), Some(Err(SseError::LineTooLong(8))));
    assert_eq!(decoder.next_event(), Some(Err(SseError::LineTooLong(8))));
    assert_eq!(decoder.line.capacity(), 0);
}

#[tokio::test]
async fn an_error_is_the_last_item_of_a_stream() {
    let endless = stream::repeat_with(|| Ok::<_, Infallible>(b"data: aaaaaaaaaa\n"));
    let items: Vec<_> = sse_events(endless.boxed(), SseLimits::new(100)).collect().await;
    assert_eq!(items, [Err(SseBreak::Decode(SseError::EventTooLarge(100)))]);
    let broken = stream::iter([Ok("data: a\n\ndata: b\n\nda"), Err("cut"), Ok("ta: c\n\n")]);
    let items: Vec<_> = sse_events(broken, SseLimits::new(100)).collect().await;
    assert_eq!(items.len(), 3);
    assert_eq!(items[2], Err(SseBreak::Body("cut")));
}

/// Cuts a body into pieces of the given lengths; the rest is the last piece.
fn cut(body: &[u8], lengths: Vec<usize>) -> Vec<&[u8]> {
    let mut rest = body;
    let mut pieces = Vec::new();
    for length in lengths {
        let (piece, more) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..7_usize, 0..60)
}

proptest! {
    #[test]
    fn cuts_do_not_change_the_events(
        body in "(\u{feff}|(data|id|event|retry|x): ?[a-zé0-9]{0,4}|:|\r\n|\n|\r){0,40}",
        lengths in lengths(),
    ) {
        let limits = SseLimits { line: 12, event: 16 };
        prop_assert_eq!(decode(limits, &cut(body.as_bytes(), lengths)), decode(limits, &[body.as_bytes()]));
    }

    #[test]
    fn any_bytes_give_the_same_items_however_they_are_cut(
        body in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b':')], 0..200),
        lengths in lengths(),
    ) {
        let limits = SseLimits { line: 30, event: 40 };
        prop_assert_eq!(decode(limits, &cut(&body, lengths)), decode(limits, &[&body]));
    }

    #[test]
    fn written_events_are_read_back(
        written in proptest::collection::vec(("[a-zé :]{0,8}(\n[a-zé :]{0,8}){0,3}", "[a-z0-9]{0,5}"), 0..8),
        end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        lengths in lengths(),
    ) {
        let mut body = String::new();
        for (data, id) in &written {
            body += &format!("id: {id}{end}");
            for line in data.split('\n') {
                body += &format!("data: {line}{end}");
            }
            body += end;
        }
        let read: Vec<_> = events(&cut(body.as_bytes(), lengths))
            .into_iter()
            .map(|event| (event.data.unwrap(), event.id.unwrap()))
            .collect();
        prop_assert_eq!(read, written);
    }
}
