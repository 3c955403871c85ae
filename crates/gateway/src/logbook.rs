//! Logbook: the last lines of the process's own log, for admins.
//!
//! Promises: so many lines and no more, each of a bounded length; writers never wait for readers.
//! A reader keeps its own place: one that falls behind what is kept learns how many lines it missed.
//! What looks like a secret is masked before it is kept. It does not decide what is logged, and knows nothing
//! of the machinery that makes the lines: the binary hands them in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::Timestamp;
use agentsite_site::KEY_PREFIX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::written::Moment;

#[cfg(test)]
mod tests;

/// Lines that are kept: a busy hour at the level info; 8 MiB at the very worst.
const LINES: usize = 4_096;

/// Longest text of a line and of one field, in characters; longer ones are cut, because a log is for people.
const LONGEST: usize = 2_000;

/// Most fields of a line; ours have at most six.
const FIELDS: usize = 16;

/// Lines that one look gives: more are given by the next.
const PORTION: usize = 500;

/// Names of fields whose values are never kept.
const SECRET_FIELDS: [&str; 6] = ["authorization", "cookie", "password", "secret", "token", "credential"];

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loudness {
    /// Something does not work.
    Error,
    /// Somebody should look.
    Warn,
    /// What an operator wants to know.
    Info,
    /// What a developer wants to know.
    Debug,
    /// Everything.
    Trace,
}

impl std::str::FromStr for Loudness {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "error" => Ok(Self::Error),
            "warn" => Ok(Self::Warn),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            "trace" => Ok(Self::Trace),
            _ => Err("there are error, warn, info, debug and trace"),
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SiteLogLine")]
pub struct LogRecord {
    /// Its place, from 1.
    pub seq: u64,
    /// When it was written.
    #[schemars(with = "Moment")]
    pub at: Timestamp,
    /// How loud it is.
    #[schemars(with = "String", extend("enum" = ["error", "warn", "info", "debug", "trace"]))]
    pub level: Loudness,
    /// The part of the program that wrote it.
    pub target: String,
    /// The sentence.
    pub text: String,
    /// What is said beside it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}

/// Which lines are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogFilter {
    /// At most as loud as this; all when left out.
    pub(crate) level: Option<Loudness>,
    /// With this in the sentence, the target or a field, whatever its case.
    pub(crate) text: Option<String>,
}

impl LogFilter {
    fn fits(&self, record: &LogRecord) -> bool {
        let Some(text) = self.text.as_ref().filter(|text| !text.is_empty()) else {
            return self.level.is_none_or(|level| record.level <= level);
        };
        let text = text.to_lowercase();
        let has = |one: &String| one.to_lowercase().contains(&text);
        self.level.is_none_or(|level| record.level <= level)
            && (has(&record.text)
                || has(&record.target)
                || record.fields.iter().any(|(k, v)| has(k) || has(v)))
    }
}

/// Lines that were found, and how many a reader missed before them.
#[derive(Debug, Default)]
pub(crate) struct Portion {
    /// Oldest first.
    pub(crate) lines: Vec<Arc<LogRecord>>,
    /// Lines after the reader's place that are no longer kept.
    pub(crate) missed: u64,
    /// The place of the last line that was looked at.
    pub(crate) last: u64,
}

/// The log of the process. Clones are handles on the same one.
#[derive(Debug, Clone)]
pub struct LogBook(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    // A std lock: held for a push or a copy of some handles, never across an await.
    lines: Mutex<VecDeque<Arc<LogRecord>>>,
    /// The place of the last line; a watch holds one number, however many lines come.
    last: watch::Sender<u64>,
}

impl Default for LogBook {
    fn default() -> Self {
        Self(Arc::new(Inner { lines: Mutex::default(), last: watch::Sender::new(0) }))
    }
}

impl LogBook {
    /// Adds a line, dropping the oldest when the book is full. Never waits for readers.
    pub fn write(
        &self,
        at: Timestamp,
        level: Loudness,
        target: &str,
        text: &str,
        fields: impl IntoIterator<Item = (String, String)>,
    ) {
        let kept = |(name, value): (String, String)| {
            let secret = SECRET_FIELDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
            let value = if secret { "***".to_owned() } else { masked(&value) };
            (name, value)
        };
        let fields = fields.into_iter().take(FIELDS).map(kept).collect();
        let mut lines = self.lock();
        let seq = *self.0.last.borrow() + 1;
        if lines.len() == LINES {
            lines.pop_front();
        }
        let (target, text) = (target.to_owned(), masked(text));
        lines.push_back(Arc::new(LogRecord { seq, at, level, target, text, fields }));
        // Told while the lines are held, so that the numbers go up; no listener runs in here.
        self.0.last.send_replace(seq);
    }

    /// The last lines, at most so many, oldest first.
    #[must_use]
    pub fn last(&self, most: usize) -> Vec<Arc<LogRecord>> {
        self.tail(&LogFilter::default(), most).lines
    }

    /// The last lines that fit, at most so many, oldest first.
    pub(crate) fn tail(&self, filter: &LogFilter, most: usize) -> Portion {
        let lines = self.lock();
        let mut found: Vec<_> =
            lines.iter().rev().filter(|one| filter.fits(one)).take(most.min(LINES)).cloned().collect();
        found.reverse();
        Portion { lines: found, missed: 0, last: lines.back().map_or(0, |one| one.seq) }
    }

    /// What came after a place.
    pub(crate) fn since(&self, filter: &LogFilter, after: u64) -> Portion {
        let lines = self.lock();
        let next = after.saturating_add(1);
        let first = lines.front().map_or(next, |one| one.seq);
        let start = usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX);
        let looked: Vec<_> = lines.iter().skip(start).take(PORTION).collect();
        Portion {
            missed: first.saturating_sub(next),
            last: looked.last().map_or(after, |one| one.seq),
            lines: looked.into_iter().filter(|one| filter.fits(one)).cloned().collect(),
        }
    }

    /// Follows the log from a place on.
    pub(crate) fn follow(&self, filter: LogFilter, after: u64) -> LogWatch {
        LogWatch { news: self.0.last.subscribe(), book: self.clone(), filter, after }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<LogRecord>>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who reads along.
#[derive(Debug)]
pub(crate) struct LogWatch {
    book: LogBook,
    filter: LogFilter,
    after: u64,
    news: watch::Receiver<u64>,
}

impl LogWatch {
    /// Waits for lines that fit. Safe to cancel: what was not given comes with the next call.
    pub(crate) async fn next(&mut self) -> Portion {
        loop {
            self.news.borrow_and_update();
            let portion = self.book.since(&self.filter, self.after);
            self.after = portion.last;
            if !portion.lines.is_empty() || portion.missed > 0 {
                return portion;
            }
            // The book outlives the watch, because the watch holds it.
            let _ = self.news.changed().await;
        }
    }
}

/// A text without what looks like a key of a site or a bearer token, cut to its longest.
fn masked(text: &str) -> String {
    let text: String = text.chars().filter(|letter| *letter != '\u{1b}').take(LONGEST).collect();
    if !text.contains(KEY_PREFIX) && !text.contains("earer ") {
        return text;
    }
    let mut bearer = false;
    let words = text.split_inclusive(|letter: char| letter.is_whitespace() || "\"'`,;()".contains(letter));
    let mut out = String::with_capacity(text.len());
    for word in words {
        let bare =
            word.trim_end_matches(|letter: char| letter.is_whitespace() || "\"'`,;()".contains(letter));
        match bare.find(KEY_PREFIX) {
            Some(start) if !bearer => {
                out.push_str(&format!("{}{KEY_PREFIX}***{}", &word[..start], &word[bare.len()..]));
            }
            _ if bearer && !bare.is_empty() => out.push_str(&format!("***{}", &word[bare.len()..])),
            _ => out.push_str(word),
        }
        bearer = bare.eq_ignore_ascii_case("bearer") || bearer && bare.is_empty();
    }
    out
}
