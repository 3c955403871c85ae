//! Passage: a piece of a document that is short enough to be read at once and long enough to answer
//! something.
//!
//! Promises: a passage never crosses a heading; every word of a block is in some passage; neighbours share a
//! sentence, so that an answer is not cut in two. It does not know files or formats: readers give it
//! [`Block`]s.

use std::fmt;
use std::sync::Arc;

/// Words at which a passage is full: about five sentences, so that its vector is about one topic and the
/// answer dominates it.
const FULL: usize = 90;

/// Bytes at which a passage is full, for scripts without word boundaries.
const FULL_BYTES: usize = 1_300;

/// Words that the last sentence may have to be repeated at the head of the next passage.
const OVERLAP: usize = 40;

/// The same in bytes.
const OVERLAP_BYTES: usize = 400;

/// Longest piece that is kept in one, in bytes; what has no sentences and no lines is cut here.
const LONGEST_PIECE: usize = 1_200;

/// A position in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// A line, from 1.
    Line(usize),
    /// A page, from 1.
    Page(usize),
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(out, "line {line}"),
            Self::Page(page) => write!(out, "page {page}"),
        }
    }
}

/// A paragraph, a list, a table or a piece of code, as a reader found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The headings above it, the outermost first.
    pub(super) heading: Arc<[String]>,
    /// Where it begins.
    pub(super) place: Location,
    /// Its text.
    pub(super) text: String,
    /// Whether its lines must stay lines: code, tables, lists.
    pub(super) lines: bool,
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    /// The document, as people would name it.
    pub(super) file: Arc<str>,
    /// The headings above it, the outermost first.
    pub(super) heading: Arc<[String]>,
    /// Where it begins.
    pub(super) place: Location,
    /// Its text.
    pub(super) text: String,
}

impl Passage {
    /// The position, for people: `docs/agents.md › Limits (line 42)`.
    pub(super) fn source(&self) -> String {
        let mut source = self.file.to_string();
        for heading in self.heading.iter() {
            source.push_str(" › ");
            source.push_str(heading);
        }
        format!("{source} ({})", self.place)
    }
}

/// One sentence or line, and whether a new block begins with it.
struct Piece {
    heading: Arc<[String]>,
    place: Location,
    text: String,
    joint: &'static str,
}

/// Cuts the blocks of a document into passages, at most `most`.
pub(super) fn cut(file: &Arc<str>, blocks: &[Block], most: usize) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut open: Option<(Passage, usize, String)> = None;
    for piece in blocks.iter().flat_map(pieces) {
        let size = piece.text.split_whitespace().count();
        let fits = |(passage, words, _): &(Passage, usize, String)| {
            passage.heading == piece.heading
                && words + size <= FULL
                && passage.text.len() + piece.text.len() <= FULL_BYTES
        };
        if !open.as_ref().is_some_and(fits) {
            let next = begin(file, &piece, open.as_ref());
            if let Some((done, ..)) = open.replace(next) {
                passages.push(done);
                if passages.len() >= most {
                    return passages;
                }
            }
        }
        if let Some((passage, words, last)) = &mut open {
            if !passage.text.is_empty() {
                passage.text.push_str(piece.joint);
            }
            passage.text.push_str(&piece.text);
            *words += size;
            *last = piece.text;
        }
    }
    passages.extend(open.map(|(passage, ..)| passage));
    passages.retain(|passage| passage.text.chars().any(char::is_alphanumeric));
    passages
}

/// A new passage; it repeats the last sentence of the one before when that is under the same heading.
fn begin(
    file: &Arc<str>,
    piece: &Piece,
    before: Option<&(Passage, usize, String)>,
) -> (Passage, usize, String) {
    let shared = before.filter(|(passage, ..)| passage.heading == piece.heading).map(|(_, _, last)| last);
    let shared = shared
        .filter(|last| last.len() <= OVERLAP_BYTES && last.split_whitespace().count() <= OVERLAP)
        .cloned()
        .unwrap_or_default();
    let words = shared.split_whitespace().count();
    let passage =
        Passage { file: file.clone(), heading: piece.heading.clone(), place: piece.place, text: shared };
    (passage, words, String::new())
}

fn pieces(block: &Block) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    let mut add = |text: &str, place: Location, joint: &'static str| {
        for text in bounded(text) {
            let joint = if all.is_empty() { "\n\n" } else { joint };
            all.push(Piece { heading: block.heading.clone(), place, text: text.to_owned(), joint });
        }
    };
    if block.lines {
        for (at, line) in block.text.lines().enumerate() {
            let place = match block.place {
                Location::Line(first) => Location::Line(first + at),
                page @ Location::Page(_) => page,
            };
            add(line.trim_end(), place, "\n");
        }
    } else {
        sentences(&block.text).for_each(|sentence| add(sentence, block.place, " "));
    }
    all
}

/// A text in pieces of at most [`LONGEST_PIECE`] bytes.
fn bounded(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let end = text.floor_char_boundary(LONGEST_PIECE);
        let end = if end < text.len() { text[..end].rfind(' ').map_or(end, |space| space + 1) } else { end };
        let (piece, rest) = text.split_at(end);
        text = rest;
        Some(piece)
    })
}

/// The sentences of a paragraph. A full stop ends one when a space and something other than a small letter
/// follow.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().find_map(|(at, letter)| {
            let after = &rest[at + letter.len_utf8()..];
            let ends = match letter {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' => {
                    let mut next = after.chars();
                    next.next().is_some_and(char::is_whitespace)
                        && after.trim_start().chars().next().is_some_and(|first| !first.is_lowercase())
                }
                _ => false,
            };
            ends.then_some(at + letter.len_utf8())
        });
        let (sentence, left) = rest.split_at(end.unwrap_or(rest.len()));
        rest = left.trim_start();
        Some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(heading: &str, line: usize, text: &str) -> Block {
        Block {
            heading: Arc::from([heading.to_owned()]),
            place: Location::Line(line),
            text: text.into(),
            lines: false,
        }
    }

    fn words(count: usize) -> String {
        (0..count).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_sentence_ends_where_a_reader_would_end_it() {
        let text = "It takes e.g. two files. Does it? Yes! Version 1.5 of x.y is there. 終わり。次";
        let found: Vec<&str> = sentences(text).collect();
        assert_eq!(
            found,
            [
                "It takes e.g. two files.",
                "Does it?",
                "Yes!",
                "Version 1.5 of x.y is there.",
                "終わり。",
                "次"
            ]
        );
        assert_eq!(sentences("  ").count(), 0);
    }

    #[test]
    fn a_passage_never_crosses_a_heading_and_says_where_it_stands() {
        let blocks =
            [block("Limits", 3, "Short."), block("Limits", 5, "Also short."), block("Keys", 9, "Other.")];
        let passages = cut(&"docs/a.md".into(), &blocks, 10);
        assert_eq!(passages.len(), 2);
        assert_eq!(passages[0].text, "Short.\n\nAlso short.");
        assert_eq!(passages[1].source(), "docs/a.md › Keys (line 9)");
    }

    #[test]
    fn neighbours_share_a_sentence_and_nothing_is_lost() {
        let sentence = |n: usize| format!("Sentence {n} says {}.", words(26));
        let text = (0..12).map(sentence).collect::<Vec<_>>().join(" ");
        let passages = cut(&"a".into(), &[block("H", 1, &text)], 10);
        assert!(passages.len() > 1);
        for passage in &passages {
            assert!(passage.text.split_whitespace().count() <= FULL + OVERLAP, "{}", passage.text);
        }
        let last = sentences(&passages[0].text).last().unwrap();
        assert!(passages[1].text.starts_with(last), "{}", passages[1].text);
        assert!((0..12).all(|n| passages.iter().any(|passage| passage.text.contains(&sentence(n)))));
    }

    #[test]
    fn text_without_sentences_is_cut_all_the_same() {
        let passages = cut(&"a".into(), &[block("H", 1, &"é".repeat(50_000))], 1_000);
        assert!(
            passages.iter().all(|passage| passage.text.len() <= FULL_BYTES),
            "none is longer than a page"
        );
        let total: usize = passages.iter().map(|passage| passage.text.matches('é').count()).sum();
        assert!(total >= 50_000);
        assert_eq!(cut(&"a".into(), &[block("H", 1, &words(5_000))], 3).len(), 3);
        assert!(cut(&"a".into(), &[block("H", 1, "*** ---")], 3).is_empty());
    }

    #[test]
    fn lines_of_code_stay_lines_and_keep_their_numbers() {
        let code = (1..=60).map(|n| format!("let a{n} = {n} + {n};")).collect::<Vec<_>>().join("\n");
        let passages = cut(&"a".into(), &[Block { lines: true, ..block("H", 10, &code) }], 10);
        assert!(passages[0].text.starts_with("let a1 = 1 + 1;\nlet a2"));
        let Location::Line(second) = passages[1].place else { panic!("lines have numbers") };
        let first_new = passages[1].text.lines().nth(1).unwrap();
        assert_eq!(first_new, code.lines().nth(second - 10).unwrap());
    }
}
