//! The answer of an agent while its model writes it: the artifact `answer`, in chunks.
//!
//! Promises: text is passed on as it arrives; an answer of any length stays within the events that a task may
//! have, because later chunks are larger. An empty line separates the text of several turns.

use agentsite_protocol::{Artifact, Step};

use crate::{Gone, Reporter};

/// The artifact that holds the answer.
const ANSWER: &str = "answer";

/// How many bytes a chunk has at least, after so many chunks. A task has at most 10,000 events; this keeps an
/// answer of 8 MiB within 8,000 of them, and no person reads along after the first thousand.
const LEAST: [(usize, usize); 3] = [(3_000, 2_048), (1_000, 32), (0, 1)];

/// The answer while it is written.
#[derive(Debug)]
pub(super) struct Answer {
    report: Reporter,
    pending: String,
    chunks: usize,
    /// Whether an earlier turn has said something.
    apart: bool,
}

impl Answer {
    /// An answer without words.
    pub(super) const fn new(report: Reporter) -> Self {
        Self { report, pending: String::new(), chunks: 0, apart: false }
    }

    /// The rest is sent in a further turn.
    pub(super) const fn next_turn(&mut self) {
        self.apart = self.chunks > 0;
    }

    /// Says further words.
    pub(super) async fn say(&mut self, words: &str) -> Result<(), Gone> {
        if words.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.apart) {
            self.pending.push_str("\n\n");
        }
        self.pending.push_str(words);
        let least = LEAST.iter().find(|(from, _)| self.chunks >= *from).map_or(1, |(_, least)| *least);
        if self.pending.len() < least { Ok(()) } else { self.flush().await }
    }

    /// Passes on what is still held back.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let words = std::mem::take(&mut self.pending);
        let append = self.chunks > 0;
        self.chunks += 1;
        self.report.chunk(ANSWER, words, append).await
    }

    /// Closes the artifact; false when nothing was ever said.
    pub(super) async fn finish(&mut self) -> Result<bool, Gone> {
        self.flush().await?;
        if self.chunks == 0 {
            return Ok(false);
        }
        let artifact = Artifact::text(ANSWER, "");
        self.report.step(Step::Artifact { artifact, append: true, last_chunk: true }).await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::MAX_EVENTS;

    use super::*;

    async fn listen(mut steps: crate::Reports) -> Vec<String> {
        let mut texts = Vec::new();
        while let Some(step) = steps.recv().await {
            let Step::Artifact { artifact, append, .. } = step else { panic!("{step:?}") };
            assert_eq!(append, !texts.is_empty());
            texts.push(artifact.plain_text());
        }
        texts
    }

    #[tokio::test]
    async fn words_are_passed_on_as_they_come() {
        let (report, steps) = Reporter::channel();
        let mut answer = Answer::new(report);
        for words in ["Hel", "", "lo"] {
            answer.say(words).await.unwrap();
        }
        answer.next_turn();
        answer.say("again").await.unwrap();
        assert!(answer.finish().await.unwrap());
        drop(answer);
        assert_eq!(listen(steps).await, ["Hel", "lo", "\n\nagain", ""]);
    }

    #[tokio::test]
    async fn a_very_long_answer_stays_within_the_events_of_a_task() {
        let (report, steps) = Reporter::channel();
        let mut answer = Answer::new(report);
        let talking = async move {
            for _ in 0..(8 << 20) / 4 {
                answer.say("word").await.unwrap();
            }
            assert!(answer.finish().await.unwrap());
        };
        let ((), texts) = tokio::join!(talking, listen(steps));
        assert!((texts.len() as u64) < MAX_EVENTS - 1_000, "{}", texts.len());
        assert_eq!(texts.concat().len(), 8 << 20);
    }

    #[tokio::test]
    async fn an_answer_without_words_is_none() {
        let (report, _steps) = Reporter::channel();
        assert!(!Answer::new(report).finish().await.unwrap());
    }
}
