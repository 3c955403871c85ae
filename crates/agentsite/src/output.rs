//! What people and programs read: answers on stdout, everything else on stderr.
//!
//! Promises: with `--json` stdout holds JSON and nothing else; colours appear only on a terminal and never
//! with `--no-color` or `NO_COLOR`. What steers a terminal (escape sequences, control characters, marks that
//! turn the direction of text) is removed from everything that is written for people; `--json` shows such
//! characters as escapes and loses none. Only a piece of an answer goes into a pipe as it is. It does not
//! log: `telemetry` does.

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
        writeln!(io::stdout().lock(), "{}", harmless(text, self.colour_out))
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
        writeln!(io::stdout().lock(), "{}", escaped(&text.map_err(io::Error::other)?))
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

/// Foreign text without what steers a terminal.
pub(crate) fn printable(text: &str) -> String {
    harmless(text, false)
}

/// A line of the log without what steers a terminal; colours stay, because the formatter of the log writes
/// them.
pub(crate) fn log_line(line: &str) -> String {
    harmless_but(line, |sequence| {
        let code = sequence.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m'));
        code.is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
    })
}

/// A line without what steers a terminal, our own colours aside.
fn harmless(text: &str, colours: bool) -> String {
    harmless_but(text, |sequence| colours && is_own_colour(sequence))
}

/// A text without what steers a terminal but the sequences that may stay.
fn harmless_but(text: &str, stays: impl Fn(&str) -> bool) -> String {
    if !text.chars().any(steers) {
        return text.to_owned();
    }
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '\x1b' => sequence(rest),
            '\u{9b}' => letter.len_utf8() + control_sequence(&rest[letter.len_utf8()..]),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                letter.len_utf8() + string_sequence(&rest[letter.len_utf8()..])
            }
            _ => letter.len_utf8(),
        };
        let (part, after) = rest.split_at(taken);
        if !steers(letter) || stays(part) {
            kept.push_str(part);
        }
        rest = after;
    }
    kept
}

/// Whether a character steers a terminal or the direction of what follows: control characters but line feed
/// and tab, and the overrides, embeddings and isolates of bidirectional text.
fn steers(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// The bytes of the escape sequence that a text begins with (ECMA-48).
fn sequence(text: &str) -> usize {
    let rest = &text[1..];
    match rest.chars().next() {
        Some('[') => 2 + control_sequence(&rest[1..]),
        // Texts for the terminal: titles, links, the clipboard, device strings.
        Some(']' | 'P' | 'X' | '^' | '_') => 2 + string_sequence(&rest[1..]),
        Some(' '..='/') => {
            let between = rest.chars().take_while(|letter| (' '..='/').contains(letter)).count();
            1 + between + usize::from(rest[between..].starts_with(|last| ('0'..='~').contains(&last)))
        }
        Some('0'..='~') => 2,
        _ => 1,
    }
}

/// The bytes of a control sequence behind its introducer.
fn control_sequence(text: &str) -> usize {
    let inner = text.chars().take_while(|letter| (' '..='?').contains(letter)).count();
    inner + usize::from(text[inner..].starts_with(|last| ('@'..='~').contains(&last)))
}

/// The bytes of a text for the terminal behind its introducer, with its end; one without an end goes to the
/// end of the line.
fn string_sequence(text: &str) -> usize {
    let ends = [("\x07", 1), ("\x1b\\", 2), ("\u{9c}", 2)];
    let end = ends.iter().filter_map(|(end, length)| Some((text.find(end)?, *length))).min();
    let line = text.find('\n').unwrap_or(text.len());
    end.filter(|(at, _)| *at < line).map_or(line, |(at, length)| at + length)
}

/// Whether a sequence is one that [`paint`] writes.
fn is_own_colour(sequence: &str) -> bool {
    let styles = [Style::Dim, Style::Bold, Style::Good, Style::Warn, Style::Bad];
    let code = sequence.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m'));
    code.is_some_and(|code| code == "0" || styles.iter().any(|style| style.code() == code))
}

/// JSON whose texts cannot steer a terminal: what JSON does not escape by itself is escaped.
fn escaped(json: &str) -> String {
    if !json.chars().any(steers) {
        return json.to_owned();
    }
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        if steers(letter) { safe.push_str(&format!("\\u{:04x}", letter as u32)) } else { safe.push(letter) }
    }
    safe
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
        assert_eq!(printable("a\x1b[2Jb\tc\nd\r"), "ab\tc\nd");
        for (hostile, shown) in [
            ("\x1b]0;owned\x07title", "title"),
            ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b]52;c;ZXZpbA==\u{9c}clip", "clip"),
            ("\u{9b}31mred\u{9b}0m", "red"),
            ("\u{9d}0;title\x07x", "x"),
            ("\x1bP1$r\x1b\\dcs", "dcs"),
            ("\x1b(0charset", "charset"),
            ("\x1bcreset", "reset"),
            ("\x1b]no end\nnext", "\nnext"),
            ("user\u{202e}txt.exe\u{2066}\u{200f}", "usertxt.exe"),
            ("\x1b", ""),
            ("\x1b[", ""),
            ("\x08\x7fback", "back"),
            ("plain é 漢字 🙂", "plain é 漢字 🙂"),
        ] {
            assert_eq!(printable(hostile), shown, "{hostile:?}");
        }
        assert_eq!(harmless("\x1b[31mno\x1b[0m\x1b[8mhidden", true), "\x1b[31mno\x1b[0mhidden");
        assert_eq!(escaped("{\"a\":\"\u{9b}\u{202e}\"}"), "{\"a\":\"\\u009b\\u202e\"}");
        assert_eq!(one_line("two\n lines"), "two lines");
    }

    #[test]
    fn colours_are_left_out_when_not_wanted() {
        assert_eq!(paint(false, Style::Bad, "no"), "no");
        assert_eq!(paint(true, Style::Bad, "no"), "\x1b[31mno\x1b[0m");
    }
}
