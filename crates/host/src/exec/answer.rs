//! The answer of a command: its standard output, reported piece by piece as it comes.
//!
//! Promises: a character is never cut in two, invalid UTF-8 becomes U+FFFD; what is held in memory is one
//! piece. A command that prints more than the limit is stopped at the limit. A task never runs out of events
//! because its command prints in very small pieces.

use agentsite_protocol::ByteSize;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use super::Stop;
use crate::Reporter;

/// The artifact that the output becomes.
const ANSWER: &str = "answer";

/// Largest piece that is read at once: a quarter of what a pipe holds.
const PIECE: usize = 16 * 1024;

/// Pieces that are reported as they come. A task has 10,000 events at most; from here on, pieces are gathered
/// until they are large, so that the events suffice for every output that the limit allows.
const FLOWING: usize = 4_000;

/// Longest last line that is kept as the question of a command that asks back.
const LAST_LINE: usize = 4 * 1024;

/// What a command has printed so far.
#[derive(Debug)]
pub(super) struct Answer {
    report: Reporter,
    most: ByteSize,
    printed: u64,
    pieces: usize,
    text: Utf8Joiner,
    /// Text that waits to become a large enough piece.
    gathered: String,
    last_line: LastLine,
}

impl Answer {
    /// Nothing printed yet; `most` is the limit in bytes.
    pub(super) fn new(report: Reporter, most: ByteSize) -> Self {
        let (text, last_line) = (Utf8Joiner::default(), LastLine::default());
        Self { report, most, printed: 0, pieces: 0, text, gathered: String::new(), last_line }
    }

    /// Reports output until its end, or until it is drained and `drained` fires.
    pub(super) async fn follow(
        &mut self,
        mut stdout: impl AsyncRead + Unpin,
        drained: &CancellationToken,
    ) -> Result<(), Stop> {
        let mut buffer = vec![0; PIECE];
        loop {
            let read = read(&mut stdout, &mut buffer, drained).await;
            if read == 0 {
                break;
            }
            self.take(&buffer[..read]).await?;
        }
        let rest = self.text.finish();
        self.gathered.push_str(&rest);
        self.report().await
    }

    /// The last line that is not empty.
    pub(super) fn last_line(&self) -> &str {
        self.last_line.0.trim()
    }

    /// The limit.
    pub(super) const fn most(&self) -> ByteSize {
        self.most
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let space = usize::try_from(self.most.0 - self.printed).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(space)];
        self.printed += kept.len() as u64;
        let text = self.text.push(kept);
        self.last_line.push(&text);
        self.gathered.push_str(&text);
        if kept.len() < bytes.len() {
            self.report().await?;
            return Err(Stop::TooMuch);
        }
        if self.gathered.len() >= self.enough() { self.report().await } else { Ok(()) }
    }

    /// How large a piece must be to be reported now.
    fn enough(&self) -> usize {
        if self.pieces < FLOWING {
            return 1;
        }
        usize::try_from(self.most.0).unwrap_or(usize::MAX).div_euclid(FLOWING).max(PIECE)
    }

    async fn report(&mut self) -> Result<(), Stop> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let append = self.pieces > 0;
        self.pieces += 1;
        self.report.chunk(ANSWER, std::mem::take(&mut self.gathered), append).await.map_err(|_| Stop::Gone)
    }
}

/// Reads what is available. Zero at the end, on an error, and when nothing is available although the program
/// has ended long ago.
pub(super) async fn read(
    reader: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    drained: &CancellationToken,
) -> usize {
    tokio::select! {
        biased;
        read = reader.read(buffer) => read.unwrap_or(0),
        () = drained.cancelled() => 0,
    }
}

/// Decodes text from bytes in pieces, cut anywhere.
#[derive(Debug, Default)]
struct Utf8Joiner {
    /// The beginning of a character whose end has not come yet; three bytes at most.
    begun: Vec<u8>,
}

impl Utf8Joiner {
    fn push(&mut self, bytes: &[u8]) -> String {
        let mut joined = std::mem::take(&mut self.begun);
        joined.extend_from_slice(bytes);
        let mut text = String::with_capacity(joined.len());
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let broken = chunk.invalid();
            let may_continue = chunks.peek().is_none() && is_beginning(broken);
            if may_continue {
                self.begun.extend_from_slice(broken);
            } else if !broken.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// What is left when no more bytes come.
    fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned()
    }
}

/// Whether more bytes could complete a character.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// The last line that was not empty, cut to a bearable length.
#[derive(Debug, Default)]
struct LastLine(String);

impl LastLine {
    fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let begins_anew = self.0.ends_with('\n') && !piece.trim().is_empty();
            if begins_anew {
                self.0.clear();
            }
            let space = LAST_LINE.saturating_sub(self.0.len());
            self.0.push_str(&piece[..piece.floor_char_boundary(space)]);
            // A cut line must still be seen to have ended.
            if piece.ends_with('\n') && !self.0.ends_with('\n') {
                self.0.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::soon;

    fn joined(pieces: &[&[u8]]) -> String {
        let mut joiner = Utf8Joiner::default();
        let mut text: String = pieces.iter().map(|piece| joiner.push(piece)).collect();
        text.push_str(&joiner.finish());
        text
    }

    #[test]
    fn a_character_cut_in_two_is_joined() {
        let whole = "grüße 🦀".as_bytes();
        for cut in 0..whole.len() {
            assert_eq!(joined(&[&whole[..cut], &whole[cut..]]), "grüße 🦀");
        }
        assert_eq!(joined(&[b"\xF0", b"\x9F", b"\xA6", b"\x80"]), "🦀");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(joined(&[b"a\xFFb", b"\xC3"]), "a\u{FFFD}b\u{FFFD}");
        assert_eq!(joined(&[b"\xE2\x82", b"x"]), "\u{FFFD}x");
    }

    proptest! {
        #[test]
        fn the_text_does_not_depend_on_the_cuts(bytes: Vec<u8>, cuts: Vec<usize>) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(joined(&pieces), String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn the_last_line_is_the_last_one_with_words_in_it() {
        let mut last = LastLine::default();
        for piece in ["one\ntw", "o\nth", "ree\n\n", " \n"] {
            last.push(piece);
        }
        assert_eq!(last.0.trim(), "three");
        last.push(&"x".repeat(LAST_LINE * 2));
        assert!(last.0.len() <= LAST_LINE);
        last.push("\nnext");
        assert_eq!(last.0, "next");
    }

    #[tokio::test]
    async fn very_many_small_pieces_are_gathered_into_few_events() {
        let (report, mut listener) = Reporter::channel();
        let mut answer = Answer::new(report, ByteSize(1 << 20));
        let (small_pieces, drained) = (100_000, CancellationToken::new());
        let printing = async {
            for _ in 0..small_pieces {
                answer.take(b"x").await.unwrap();
            }
            answer.follow(&b""[..], &drained).await.unwrap();
            drop(answer);
        };
        let listening = async {
            let mut events = 0;
            while listener.recv().await.is_some() {
                events += 1;
            }
            events
        };
        let ((), events) = soon("all is reported", async { tokio::join!(printing, listening) }).await;
        assert!(events < FLOWING + 20, "{events}");
    }
}
