//! Markdown: sections below headings, with code, tables and lists kept as lines.
//!
//! Promises: a heading inside of code is not a heading; links and pictures are read as their words; front
//! matter and comments are not read. It is a reader, not a renderer: emphasis and code marks stay as they
//! are, because they are read well by people and models alike.

use std::sync::Arc;

use crate::passage::{Block, Location};

/// The sections of a text.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    let mut lines = text.lines().enumerate().peekable();
    if lines.peek().is_some_and(|(_, first)| first.trim_end() == "---")
        && text.lines().skip(1).any(|line| line.trim_end() == "---")
    {
        lines.next();
        lines.find(|(_, line)| line.trim_end() == "---");
    }
    for (at, line) in lines {
        reader.line(at + 1, line);
    }
    reader.flush();
    reader.blocks
}

/// What the lines of an open block are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Prose,
    List,
    Table,
    Code,
}

#[derive(Debug, Default)]
struct Reader {
    blocks: Vec<Block>,
    /// Level and text of each heading above.
    headings: Vec<(usize, String)>,
    open: Option<(Form, usize, String)>,
    /// The sign and length of the fence that began the code.
    fence: Option<(char, usize)>,
    in_comment: bool,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let bare = line.trim();
        if let Some((sign, length)) = self.fence {
            if is_fence(bare).is_some_and(|(other, more)| other == sign && more >= length)
                && bare.chars().all(|c| c == sign)
            {
                self.fence = None;
                self.flush();
            } else {
                self.push(Form::Code, number, line, "\n");
            }
            return;
        }
        if self.in_comment || bare.starts_with("<!--") {
            self.in_comment = !bare.contains("-->");
            return;
        }
        if let Some(fence) = is_fence(bare) {
            self.flush();
            self.fence = Some(fence);
        } else if let Some((level, words)) = heading(bare) {
            self.heading(level, words);
        } else if let Some(level) = underline(bare).filter(|_| self.is_open(Form::Prose)) {
            let words = self.open.take().map(|(_, _, words)| words).unwrap_or_default();
            self.heading(level, &words);
        } else if bare.is_empty() {
            // A list may continue after an empty line; the next line decides.
            if !self.is_open(Form::List) {
                self.flush();
            }
        } else {
            self.text(number, line, bare);
        }
    }

    fn text(&mut self, number: usize, line: &str, bare: &str) {
        if is_definition(bare) {
            return;
        }
        let words = words(bare);
        if bare.starts_with('|') {
            if !bare.chars().all(|sign| matches!(sign, '|' | '-' | ':' | ' ')) {
                self.push(Form::Table, number, &words, "\n");
            }
        } else if is_item(bare) {
            self.push(Form::List, number, &words, "\n");
        } else if self.is_open(Form::List) && line.starts_with([' ', '\t']) {
            self.push(Form::List, number, &words, " ");
        } else if line.starts_with("    ") && !self.is_open(Form::Prose) {
            self.push(Form::Code, number, line, "\n");
        } else {
            self.push(Form::Prose, number, &words, " ");
        }
    }

    fn is_open(&self, form: Form) -> bool {
        self.open.as_ref().is_some_and(|(open, ..)| *open == form)
    }

    fn push(&mut self, form: Form, number: usize, text: &str, joint: &str) {
        if !self.is_open(form) {
            self.flush();
        }
        match &mut self.open {
            Some((_, _, all)) => {
                all.push_str(joint);
                all.push_str(text);
            }
            None => self.open = Some((form, number, text.to_owned())),
        }
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.flush();
        while self.headings.last().is_some_and(|(above, _)| *above >= level) {
            self.headings.pop();
        }
        self.headings.push((level, words(text)));
    }

    fn flush(&mut self) {
        let Some((form, line, text)) = self.open.take() else { return };
        let heading: Arc<[String]> = self.headings.iter().map(|(_, words)| words.clone()).collect();
        self.blocks.push(Block { heading, place: Location::Line(line), text, lines: form != Form::Prose });
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let words = line[level..].strip_prefix([' ', '\t'])?;
    (1..=6).contains(&level).then(|| (level, words.trim().trim_end_matches('#').trim_end()))
}

fn underline(line: &str) -> Option<usize> {
    let all = |sign: char| line.len() >= 3 && line.chars().all(|other| other == sign);
    if all('=') { Some(1) } else { all('-').then_some(2) }
}

fn is_fence(line: &str) -> Option<(char, usize)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|other| *other == sign).count();
    (length >= 3).then_some((sign, length))
}

fn is_item(line: &str) -> bool {
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let marks = ["- ", "* ", "+ "];
    marks.iter().any(|mark| line.starts_with(mark))
        || (1..=9).contains(&number) && [". ", ") "].iter().any(|mark| line[number..].starts_with(mark))
}

/// `[name]: https://…` says where a link goes and nothing to a reader.
fn is_definition(line: &str) -> bool {
    line.starts_with('[') && line.split_once("]:").is_some_and(|(name, _)| !name[1..].contains(['[', ']']))
}

/// A line with links and pictures as their words.
fn words(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find(['[', '`']) {
        let (before, from) = rest.split_at(open);
        if let Some(code) = from.strip_prefix('`') {
            let end = code.find('`').map_or(from.len(), |end| end + 2);
            out.push_str(before);
            out.push_str(&from[..end]);
            rest = &from[end..];
            continue;
        }
        match link(from) {
            Some((text, after)) => {
                out.push_str(before.strip_suffix('!').unwrap_or(before));
                out.push_str(text);
                rest = after;
            }
            None => {
                out.push_str(before);
                out.push('[');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The text of the link with which a text begins, and what follows it.
fn link(text: &str) -> Option<(&str, &str)> {
    let close = text.find(']')?;
    let (words, after) = (&text[1..close], &text[close + 1..]);
    let end = match after.as_bytes().first()? {
        b'(' => after.find(')')?,
        b'[' => after.find(']')?,
        _ => return None,
    };
    Some((words, &after[end + 1..]))
}
