//! What is asked: the time in a place, or a time converted from one place to another.
//!
//! Promises: filler words of a question are skipped; the rest is the name of a place. Parsing never fails: an
//! odd question becomes an odd place, and looking that up gives the error.

use jiff::civil::Time;

/// Words that dress a question. None of them is a place; "The Hague" is found as Hague.
const DRESS: [&str; 26] = [
    "what", "what's", "whats", "is", "the", "time", "it", "in", "at", "current", "now", "please", "tell",
    "me", "show", "give", "date", "today", "convert", "local", "for", "of", "clock", "hour", "right", "from",
];

/// Words between the place that a time is of and the place that it is wanted for.
const TOWARDS: [&str; 5] = ["to", "in", "into", "->", "as"];

/// The place that is meant when none is named.
const NO_PLACE: &str = "UTC";

/// A question about the time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// What time is it there?
    Now {
        /// The place.
        place: String,
    },
    /// What is this time of one place in another?
    Convert {
        /// The time of today.
        time: Time,
        /// The place it is of.
        from: String,
        /// The place it is wanted for.
        to: String,
    },
}

impl Request {
    /// Reads a question.
    pub(super) fn read(text: &str) -> Self {
        let text = text.replace('→', " -> ");
        let all: Vec<&str> = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
        let words = undressed(&all);
        match time(words) {
            Some((time, rest)) => conversion(time, rest),
            None => Self::Now { place: place(words) },
        }
    }
}

fn conversion(time: Time, words: &[&str]) -> Request {
    let words = match words {
        [first, rest @ ..] if ["in", "at", "from"].iter().any(|word| first.eq_ignore_ascii_case(word)) => {
            rest
        }
        _ => words,
    };
    let middle =
        words.iter().rposition(|word| TOWARDS.iter().any(|towards| word.eq_ignore_ascii_case(towards)));
    let (from, to) = middle.map_or((words, &[][..]), |at| (&words[..at], &words[at + 1..]));
    Request::Convert { time, from: place(from), to: place(to) }
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|sign: char| "?!.,;\"'`()".contains(sign))
}

fn is_dress(word: &str) -> bool {
    DRESS.iter().any(|dress| word.eq_ignore_ascii_case(dress))
}

fn undressed<'a, 'b>(mut words: &'b [&'a str]) -> &'b [&'a str] {
    while let [first, rest @ ..] = words
        && is_dress(first)
    {
        words = rest;
    }
    while let [rest @ .., last] = words
        && is_dress(last)
    {
        words = rest;
    }
    words
}

fn place(words: &[&str]) -> String {
    let words = undressed(words);
    if words.is_empty() { NO_PLACE.into() } else { words.join(" ") }
}

/// A time at the beginning, and the words after it: `15:00`, `15:00:30`, `3pm`, `3:30 pm`, `noon`.
fn time<'a, 'b>(words: &'b [&'a str]) -> Option<(Time, &'b [&'a str])> {
    let (first, mut rest) = words.split_first()?;
    let first = first.to_ascii_lowercase();
    match first.as_str() {
        "noon" | "midday" => return Some((Time::midnight().with().hour(12).build().ok()?, rest)),
        "midnight" => return Some((Time::midnight(), rest)),
        _ => {}
    }
    let half = |word: &str| match word.to_ascii_lowercase().as_str() {
        "am" | "a.m" => Some(0),
        "pm" | "p.m" => Some(12),
        _ => None,
    };
    let digits = first.find(|sign: char| !sign.is_ascii_digit() && sign != ':').unwrap_or(first.len());
    let (clock, suffix) = first.split_at(digits);
    let mut afternoon = half(suffix);
    if suffix.is_empty()
        && let [next, after @ ..] = rest
        && let Some(found) = half(next)
    {
        (afternoon, rest) = (Some(found), after);
    }
    if (!suffix.is_empty() && afternoon.is_none()) || (afternoon.is_none() && !clock.contains(':')) {
        return None;
    }
    Some((clock_time(clock, afternoon)?, rest))
}

fn clock_time(text: &str, afternoon: Option<i8>) -> Option<Time> {
    let mut fields = text.split(':').map(|field| field.parse::<i8>().ok());
    let (hour, minute) = (fields.next()??, fields.next().unwrap_or(Some(0))?);
    let second = fields.next().unwrap_or(Some(0))?;
    let hour = match afternoon {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(half) => hour % 12 + half,
        None => hour,
    };
    if fields.next().is_some() { None } else { Time::new(hour, minute, second, 0).ok() }
}
