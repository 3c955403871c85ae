//! Lines: what a program says to the site, one message a line.
//!
//! Promises: a line that is longer than allowed is an error and is never held whole; a last line without a
//! line feed counts. Reading can be dropped and taken up again: what was read of a line is kept. It does not
//! know what a line means.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Why no further line can be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// The line has no end within the limit.
    #[error("it sent a line of more than {0} bytes")]
    TooLong(usize),
    /// The pipe broke.
    #[error("it cannot be read: {0}")]
    Broken(#[from] io::Error),
}

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    begun: Vec<u8>,
    longest: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `longest` bytes.
    pub(crate) fn new(from: R, longest: usize) -> Self {
        Self { reader: BufReader::new(from), begun: Vec::new(), longest }
    }

    /// The next line without its end; `None` when there are no more. Cancellation safe.
    ///
    /// # Errors
    /// [`LineError`] when the line is too long or the pipe broke; nothing more should be read then.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            let piece = self.reader.fill_buf().await?;
            if piece.is_empty() {
                let last = std::mem::take(&mut self.begun);
                return Ok((!last.is_empty()).then_some(last));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(piece.len());
            if self.begun.len() + taken > self.longest {
                return Err(LineError::TooLong(self.longest));
            }
            self.begun.extend_from_slice(&piece[..taken]);
            self.reader.consume(end.map_or(taken, |at| at + 1));
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.begun)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_the_last_needs_no_end() {
        let mut lines = Lines::new(&b"one\n\ntwo"[..], 10);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(seen, ["one", "", "two"]);
    }

    #[tokio::test]
    async fn an_endless_line_is_an_error_and_is_not_held() {
        let mut lines = Lines::new(tokio::io::repeat(b'x'), 100_000);
        let error = lines.next().await.unwrap_err();
        assert!(error.to_string().contains("more than 100000 bytes"), "{error}");
        assert!(lines.begun.len() <= 100_000);
    }
}
