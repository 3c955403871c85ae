//! Server-sent events: bytes in, events out (WHATWG HTML, section 9.2.6).
//!
//! Promises: [`SseDecoder`] is pure; it gives the same items however the bytes are cut, takes time linear in
//! their length, and holds at most one event within [`SseLimits`]. An event that the stream does not complete
//! with a blank line is dropped, as the standard says. It differs from the standard in two points: a block
//! without data is given too, because MCP sends its first event id in one, and bytes that are not UTF-8 are
//! an error instead of being replaced.
//!
//! It does not reconnect, does not notice silence and does not interpret data: the callers do.

mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

pub use stream::{SseBreak, sse_events};

/// The byte order mark that may precede the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How much of a stream is held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseLimits {
    /// Most bytes of one line, comments included.
    pub line: usize,
    /// Most bytes of the fields of one event, including the current line.
    pub event: usize,
}

impl SseLimits {
    /// One limit for a line and for an event.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { line: most, event: most }
    }
}

/// Why a stream cannot be decoded further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line without an end.
    #[error("a line of more than {0} bytes")]
    LineTooLong(usize),
    /// An event without an end.
    #[error("an event of more than {0} bytes")]
    EventTooLarge(usize),
    /// A field with bytes that are not text.
    #[error("an event that is not UTF-8")]
    NotUtf8,
}

/// The fields of one event. A field that was not sent is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The kind of the event; absent means `message`.
    pub event: Option<String>,
    /// The lines of data, joined by line feeds.
    pub data: Option<String>,
    /// The id to resume after. An empty one resets the last id.
    pub id: Option<String>,
    /// How long a client is asked to wait before it reconnects.
    pub retry: Option<Duration>,
}

impl SseEvent {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn size(&self) -> usize {
        [&self.event, &self.data, &self.id].into_iter().flatten().map(String::len).sum()
    }

    /// Sets or extends the field of a line. Comments and unknown fields are ignored.
    fn read_line(&mut self, line: &[u8]) -> Result<(), SseError> {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = colon.map_or((line, &[][..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(text(value)?);
                }
                None => self.data = Some(text(value)?.to_owned()),
            },
            b"event" => self.event = Some(text(value)?.to_owned()),
            b"id" if !value.contains(&0) => self.id = Some(text(value)?.to_owned()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                // A number beyond 64 bits is ignored like one that is not a number.
                self.retry = text(value)?.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<&str, SseError> {
    std::str::from_utf8(bytes).map_err(|_| SseError::NotUtf8)
}

/// Decodes a stream that arrives in pieces.
///
/// ```
/// use agentsite_client::sse::{SseDecoder, SseLimits};
///
/// let mut decoder = SseDecoder::new(SseLimits::new(1024));
/// decoder.push(b"id: 1\ndata: hel");
/// assert!(decoder.next_event().is_none());
/// decoder.push(b"lo\n\n");
/// let event = decoder.next_event().expect("the blank line ends the event")?;
/// assert_eq!(event.data.as_deref(), Some("hello"));
/// # Ok::<(), agentsite_client::sse::SseError>(())
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    limits: SseLimits,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    event: SseEvent,
    /// Whether the last byte was a carriage return, so that a line feed belongs to it.
    after_return: bool,
    /// Whether the first line, which may have a byte order mark, has ended.
    first_line_ended: bool,
    ready: VecDeque<SseEvent>,
    error: Option<SseError>,
}

impl SseDecoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            line: Vec::new(),
            event: SseEvent::default(),
            after_return: false,
            first_line_ended: false,
            ready: VecDeque::new(),
            error: None,
        }
    }

    /// Takes a further piece of the stream. After an error, pieces are ignored.
    pub fn push(&mut self, piece: &[u8]) {
        if self.error.is_none() {
            self.error = self.decode(piece).err();
        }
        if self.error.is_some() {
            // Nothing that was begun will be completed.
            self.line = Vec::new();
            self.event = SseEvent::default();
        }
    }

    /// The next complete event. When all are taken: the error that ended decoding, if any, each time it is
    /// asked.
    pub fn next_event(&mut self) -> Option<Result<SseEvent, SseError>> {
        self.ready.pop_front().map(Ok).or(self.error.map(Err))
    }

    fn decode(&mut self, piece: &[u8]) -> Result<(), SseError> {
        let mut rest = piece;
        if !rest.is_empty() && std::mem::take(&mut self.after_return) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.check(&rest[..at])?;
            self.end_line(&rest[..at])?;
            let is_return = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if is_return {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.check(rest)?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Refuses what would exceed a limit before it is held. The smaller allowance names the error, so that it
    /// does not depend on the pieces.
    fn check(&self, more: &[u8]) -> Result<(), SseError> {
        let line = self.line.len() + more.len();
        let left = self.limits.event.saturating_sub(self.event.size());
        if line <= self.limits.line.min(left) {
            return Ok(());
        }
        Err(if self.limits.line <= left {
            SseError::LineTooLong(self.limits.line)
        } else {
            SseError::EventTooLarge(self.limits.event)
        })
    }

    /// Ends the current line with `last`; an empty line ends the event.
    fn end_line(&mut self, last: &[u8]) -> Result<(), SseError> {
        let held = std::mem::take(&mut self.line);
        let joined;
        let mut line = last;
        if !held.is_empty() {
            joined = [&held, last].concat();
            line = &joined;
        }
        if !std::mem::replace(&mut self.first_line_ended, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if !line.is_empty() {
            return self.event.read_line(line);
        }
        let event = std::mem::take(&mut self.event);
        if !event.is_empty() {
            self.ready.push_back(event);
        }
        Ok(())
    }
}
