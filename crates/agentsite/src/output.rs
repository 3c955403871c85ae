//! What people and programs read: answers on stdout, everything else on stderr.
//!
//! Promises: with `--json` stdout holds JSON and nothing else; colours appear only on a terminal and never with `--no-color` or
//! `NO_COLOR`. Control characters in foreign text are not passed to a terminal.
//! It does not log: `telemetry` does.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// How a piece of text looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Said on the side.
    Dim,
    /// A heading or a name.
    Bold,
    /// All is well.
    Good,
    /// Look here.
    Warn,
    /// Something is wrong.
    Bad,
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }
}

/// Where answers go, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    verbose: bool,
    colour_out: bool,
    colour_err: bool,
}

impl Output {
    /// Chooses the form from the flags, the environment and what stdout and stderr are.
    pub(crate) fn new(json: bool, verbose: bool, plain: bool) -> Self {
        let colour_out = !plain && !json && io::stdout().is_terminal();
        Self { json, verbose, colour_out, colour_err: !plain && io::stderr().is_terminal() }
    }

    /// Whether answers are JSON.
    pub(crate) const fn is_json(self) -> bool {
        self.json
    }

    /// Whether more than the answer is wanted.
    pub(crate) const fn is_verbose(self) -> bool {
        self.verbose
    }

    /// Whether stderr shows colours.
    pub(crate) const fn colours_err(self) -> bool {
        self.colour_err
    }

    /// Dresses text for stdout.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        paint(self.colour_out, style, text)
    }

    /// Writes one line to stdout.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Writes a piece of an answer to stdout at once, without a line feed.
    pub(crate) fn piece(self, text: &str) -> io::Result<()> {
        let safe = if io::stdout().is_terminal() { printable(text) } else { text.to_owned() };
        let mut out = io::stdout().lock();
        out.write_all(safe.as_bytes())?;
        out.flush()
    }

    /// Writes a value as JSON: indented for people on a terminal, else in one line.
    pub(crate) fn json(self, value: &impl Serialize) -> io::Result<()> {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.line(&text.map_err(io::Error::other)?)
    }

    /// Writes a remark to stderr, dimmed. A remark that cannot be written is not missed.
    pub(crate) fn note(self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", paint(self.colour_err, Style::Dim, &printable(text)));
    }

    /// Writes a sentence that must be seen to stderr.
    pub(crate) fn alert(self, style: Style, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", paint(self.colour_err, style, &printable(text)));
    }

    /// Writes rows under a heading, columns aligned.
    pub(crate) fn table(self, heading: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
        let widths = widths(heading, &rows);
        let heading: Vec<String> = heading.iter().map(|word| (*word).to_owned()).collect();
        self.line(&self.paint(Style::Dim, &aligned(&heading, &widths)))?;
        rows.iter().try_for_each(|row| self.line(&aligned(row, &widths)))
    }
}

fn paint(colour: bool, style: Style, text: &str) -> String {
    if colour { format!("\x1b[{}m{text}\x1b[0m", style.code()) } else { text.to_owned() }
}

/// Foreign text without the characters that steer a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn widths(heading: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = heading.iter().map(|word| word.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// One row with every cell but the last filled up to its width.
fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (at, cell) in row.iter().enumerate() {
        line.push_str(cell);
        if at + 1 < row.len() {
            let width = widths.get(at).copied().unwrap_or_default();
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
        }
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_last_is_left_as_it_is() {
        let rows = vec![
            vec!["calc".to_owned(), "ready".to_owned()],
            vec!["a-long-name".to_owned(), "down".to_owned()],
        ];
        let widths = widths(&["NAME", "HEALTH"], &rows);
        assert_eq!(aligned(&rows[0], &widths), "calc         ready");
        assert_eq!(aligned(&rows[1], &widths), "a-long-name  down");
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\tc\nd\r"), "a[2Jb\tc\nd");
        assert_eq!(one_line("two\n lines"), "two lines");
    }

    #[test]
    fn colours_are_left_out_when_not_wanted() {
        assert_eq!(paint(false, Style::Bad, "no"), "no");
        assert_eq!(paint(true, Style::Bad, "no"), "\x1b[31mno\x1b[0m");
    }
}
