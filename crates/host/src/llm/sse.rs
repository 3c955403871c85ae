//! Server-sent events, put together from pieces of a body (WHATWG HTML, section 9.2.6).
//!
//! Promises: pure; the same events however the body is cut; linear in its length; bounded in the size of an
//! event. Only `data` is kept: both wire forms repeat the kind of an event inside it. An event that the body
//! does not complete is dropped.
//!
//! Not eventsource-stream: that reads a long line again from its beginning with every piece.

/// Most bytes of one event; a whole answer of the longest model fits into it.
pub(super) const MAX_EVENT: usize = 1 << 20;

/// The byte order mark that may stand before a stream.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// What is wrong with a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadStream {
    /// An event without end.
    #[error("an event of more than {MAX_EVENT} bytes")]
    TooLong,
    /// Bytes that are no text.
    #[error("no UTF-8")]
    NoText,
}

/// The events of a body that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return, so that a line feed belongs to it.
    returned: bool,
    /// Whether the first line has ended.
    begun: bool,
}

impl Events {
    /// Takes a further piece; gives the data of the events that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, BadStream> {
        let mut complete = Vec::new();
        let mut rest = piece;
        if std::mem::take(&mut self.returned) && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.grow(&rest[..at])?;
            complete.extend(self.end_line()?);
            let pair = rest[at] == b'\r' && rest.get(at + 1) == Some(&b'\n');
            self.returned = rest[at] == b'\r' && at + 1 == rest.len();
            rest = &rest[at + 1 + usize::from(pair)..];
        }
        self.grow(rest)?;
        Ok(complete)
    }

    fn grow(&mut self, more: &[u8]) -> Result<(), BadStream> {
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if held + more.len() > MAX_EVENT {
            return Err(BadStream::TooLong);
        }
        self.line.extend_from_slice(more);
        Ok(())
    }

    /// Ends a line; an empty one ends the event.
    fn end_line(&mut self) -> Result<Option<String>, BadStream> {
        let line = std::mem::take(&mut self.line);
        let line = if std::mem::replace(&mut self.begun, true) {
            &line[..]
        } else {
            line.strip_prefix(MARK).unwrap_or(&line)
        };
        if line.is_empty() {
            return self
                .data
                .take()
                .map(|data| String::from_utf8(data).map_err(|_| BadStream::NoText))
                .transpose();
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => return Ok(None),
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut events = Events::default();
        pieces.iter().flat_map(|piece| events.push(piece).unwrap()).collect()
    }

    #[test]
    fn only_data_counts_and_its_lines_are_joined() {
        let body = b"\xef\xbb\xbfdata: one\nevent: x\nid:7\ndata:two\n\n: comment\n\ndata\n\ndatabase: no\n\ndata: cut";
        assert_eq!(read(&[body]), ["one\ntwo", ""]);
    }

    #[test]
    fn all_three_line_ends_are_known() {
        assert_eq!(
            read(&[b"data: a\r\n\r\ndata: b\n\ndata: c\r\rdata: d\r", b"\n\r\n"]),
            ["a", "b", "c", "d"]
        );
    }

    #[test]
    fn an_event_without_end_and_bytes_without_text_are_refused() {
        let mut events = Events::default();
        let piece = [b'x'; 64 << 10];
        let refused = (0..20).find_map(|_| events.push(&piece).err());
        assert_eq!(refused, Some(BadStream::TooLong));
        let mut events = Events::default();
        let endless =
            (0..20_000).find_map(|_| events.push(&b"data: ".repeat(20)).and(events.push(b"\n")).err());
        assert_eq!(endless, Some(BadStream::TooLong));
        assert_eq!(Events::default().push(b"data: \xff\n\n"), Err(BadStream::NoText));
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(body in "(data: ?[a-zé]{0,4}|:|\r\n|\n|\r){0,30}", cuts in proptest::collection::vec(1..7_usize, 1..60)) {
            let whole = read(&[body.as_bytes()]);
            let mut pieces: Vec<&[u8]> = Vec::new();
            let mut rest = body.as_bytes();
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            pieces.push(rest);
            prop_assert_eq!(read(&pieces), whole);
        }

        #[test]
        fn any_bytes_are_read_or_refused(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..10)) {
            let mut events = Events::default();
            for piece in pieces {
                if events.push(&piece).is_err() {
                    break;
                }
            }
        }
    }
}
