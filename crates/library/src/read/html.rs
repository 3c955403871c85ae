//! Web pages: their words, below their headings.
//!
//! Promises: what a browser does not show (scripts, styles, templates) is not read, nor is navigation; the
//! tags are a flat stream here, so no nesting is too deep. It builds no tree and ignores style sheets.

use std::sync::Arc;

use html5gum::{DefaultEmitter, Token, Tokenizer};

use crate::passage::{Block, Location};

/// Elements whose content is not read.
const UNREAD: [&[u8]; 10] =
    [b"script", b"style", b"template", b"noscript", b"svg", b"math", b"nav", b"iframe", b"select", b"button"];

/// Inline elements.
const WITHIN: [&[u8]; 26] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"cite", b"code", b"data", b"del", b"dfn", b"em", b"font", b"i",
    b"img", b"ins", b"kbd", b"mark", b"q", b"s", b"samp", b"small", b"span", b"strong", b"sub", b"sup", b"u",
];

/// The blocks of a page.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut reader = Reader { text, ..Reader::default() };
    for token in Tokenizer::new_with_emitter(text, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.open(&tag.name, tag.self_closing),
            Token::EndTag(tag) => reader.close(&tag.name),
            Token::String(words) => {
                reader.words(&String::from_utf8_lossy(&words.value), words.span.start);
            }
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.flush();
    reader.blocks
}

#[derive(Debug, Default)]
struct Reader<'a> {
    text: &'a str,
    blocks: Vec<Block>,
    /// Level and text of each heading above; the title has level 0.
    headings: Vec<(usize, String)>,
    /// The element whose content is not read, and how often it was opened within itself.
    unread: Option<(Vec<u8>, usize)>,
    /// The level of the heading that is open.
    heading: Option<usize>,
    /// Whether lines stay lines.
    verbatim: bool,
    open: String,
    line: usize,
    /// Up to where lines were counted, and how many there were.
    counted: (usize, usize),
}

impl Reader<'_> {
    fn open(&mut self, name: &[u8], closed: bool) {
        if let Some((unread, depth)) = &mut self.unread {
            *depth += usize::from(unread == name && !closed);
            return;
        }
        if UNREAD.contains(&name) {
            if !closed {
                self.unread = Some((name.to_vec(), 1));
            }
            return;
        }
        match name {
            b"td" | b"th" => self.cell(),
            b"br" if self.verbatim => self.open.push('\n'),
            b"br" => self.open.push(' '),
            _ if WITHIN.contains(&name) => {}
            _ => {
                self.flush();
                self.heading = level(name);
                self.verbatim = name == b"pre";
                if name == b"li" {
                    self.open.push_str("- ");
                }
            }
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((unread, depth)) = &mut self.unread {
            *depth -= usize::from(unread == name);
            if *depth == 0 {
                self.unread = None;
            }
            return;
        }
        if WITHIN.contains(&name) || matches!(name, b"td" | b"th" | b"br") {
            return;
        }
        match self.heading.take() {
            Some(level) => self.head(level),
            None => self.flush(),
        }
        self.verbatim &= name != b"pre";
    }

    /// Cells of a row are on one line.
    fn cell(&mut self) {
        if !self.open.trim().is_empty() {
            self.open.push_str(" | ");
        }
    }

    fn words(&mut self, words: &str, at: usize) {
        if self.unread.is_some() {
            return;
        }
        if self.open.trim_matches(['-', ' ']).is_empty() {
            self.line = self.line_of(at + words.len() - words.trim_start().len());
        }
        if self.verbatim {
            self.open.push_str(words);
            return;
        }
        for piece in words.split_inclusive(char::is_whitespace) {
            self.open.push_str(piece.trim_end());
            if piece.ends_with(char::is_whitespace) && !self.open.ends_with(' ') && !self.open.is_empty() {
                self.open.push(' ');
            }
        }
    }

    fn head(&mut self, level: usize) {
        let words = std::mem::take(&mut self.open).trim().to_owned();
        while self.headings.last().is_some_and(|(above, _)| *above >= level) {
            self.headings.pop();
        }
        // A page whose first heading repeats its title has one heading.
        if !words.is_empty() && self.headings.last().is_none_or(|(_, above)| *above != words) {
            self.headings.push((level, words));
        }
    }

    fn flush(&mut self) {
        if let Some(level) = self.heading.take() {
            self.head(level);
            return;
        }
        let text = std::mem::take(&mut self.open);
        let text = if self.verbatim { text.trim_matches('\n') } else { text.trim() };
        if text.trim_matches(['-', ' ', '|', '\n']).is_empty() {
            return;
        }
        let heading: Arc<[String]> = self.headings.iter().map(|(_, words)| words.clone()).collect();
        let (place, lines) = (Location::Line(self.line), self.verbatim);
        self.blocks.push(Block { heading, place, text: text.to_owned(), lines });
    }

    /// The line of a place in the page; places come in order, so that each line is counted once.
    fn line_of(&mut self, at: usize) -> usize {
        let (from, lines) = self.counted;
        let at = at.min(self.text.len());
        let more = self.text.as_bytes().get(from..at).unwrap_or_default();
        let lines = lines + more.iter().filter(|byte| **byte == b'\n').count();
        self.counted = (at.max(from), lines);
        lines + 1
    }
}

fn level(name: &[u8]) -> Option<usize> {
    match name {
        b"title" => Some(0),
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}
