//! Complaint: the standard error of a command, line by line into the agent's log, with its end kept for the
//! error message.
//!
//! Promises: bounded in memory for any output; an endless line is cut. It never ends a run: the amount of
//! output here is not limited.

use std::collections::VecDeque;

use tokio::io::AsyncRead;
use tokio_util::sync::CancellationToken;

use super::answer::read;
use crate::{AgentLog, LogSource};

/// Lines kept for the error message: the end of a stack trace.
const TAIL_LINES: usize = 20;

/// Bytes kept for the error message; they go to the caller and into the store.
const TAIL_BYTES: usize = 4 * 1024;

/// Longest line; the log keeps less of it anyway.
const LINE: usize = 8 * 1024;

/// Bytes read at once.
const PIECE: usize = 4 * 1024;

/// What a command has complained about so far.
#[derive(Debug)]
pub(super) struct Complaint {
    log: AgentLog,
    begun: Vec<u8>,
    last: VecDeque<String>,
}

impl Complaint {
    /// Nothing yet; lines go to `log`.
    pub(super) const fn new(log: AgentLog) -> Self {
        Self { log, begun: Vec::new(), last: VecDeque::new() }
    }

    /// Takes lines until the end, or until the output is drained and `drained` fires.
    pub(super) async fn follow(&mut self, mut stderr: impl AsyncRead + Unpin, drained: &CancellationToken) {
        let mut buffer = vec![0; PIECE];
        loop {
            let read = read(&mut stderr, &mut buffer, drained).await;
            if read == 0 {
                break;
            }
            self.take(&buffer[..read]);
        }
        if !self.begun.is_empty() {
            self.end_line();
        }
    }

    /// Writes a note of the site into the log.
    pub(super) fn note(&self, text: &str) {
        self.log.push(LogSource::Site, text);
    }

    /// The last lines, as far as they fit.
    pub(super) fn tail(&self) -> String {
        let all = self.last.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let all = all.trim();
        all[all.ceil_char_boundary(all.len().saturating_sub(TAIL_BYTES))..].to_owned()
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.begun.len() >= LINE {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.begun);
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        self.log.push(LogSource::Err, &line);
        if self.last.len() == TAIL_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BEGINNING, VirtualClock};

    async fn complained(bytes: &[u8]) -> (Complaint, AgentLog) {
        let log = AgentLog::new(VirtualClock::at(BEGINNING));
        let mut complaint = Complaint::new(log.clone());
        complaint.follow(bytes, &CancellationToken::new()).await;
        (complaint, log)
    }

    #[tokio::test]
    async fn lines_go_to_the_log_and_the_last_ones_to_the_tail() {
        let text: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        let (complaint, log) = complained(text.as_bytes()).await;
        assert_eq!(log.tail(100).len(), 30);
        assert!(log.tail(100).iter().all(|line| line.source == LogSource::Err));
        assert!(complaint.tail().starts_with("line 11\n"), "{}", complaint.tail());
        assert!(complaint.tail().ends_with("line 30"));
    }

    #[tokio::test]
    async fn an_endless_line_is_cut_and_the_tail_stays_short() {
        let (complaint, log) = complained("ü".repeat(100_000).as_bytes()).await;
        assert!(log.tail(1_000).len() > 10);
        assert!(complaint.tail().len() <= TAIL_BYTES);
    }

    #[tokio::test]
    async fn the_last_line_needs_no_line_feed() {
        let (complaint, _) = complained(b"first\nlast \xFF").await;
        assert_eq!(complaint.tail(), "first\nlast \u{FFFD}");
    }
}
