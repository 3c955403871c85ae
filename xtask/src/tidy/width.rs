//! The rule that a comment line is at most 110 characters wide, like a line of code.
//!
//! Promises: every line that is only a comment (`//`, `///`, `//!`) is measured in characters, indentation
//! included. A row of a table and a line of one word, such as an address, cannot be broken and are left
//! alone. Comments after code on the same line are rustfmt's matter.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// The widest comment line; the same as `max_width` in rustfmt.toml.
const WIDEST: usize = 110;

/// Finds the comment lines that are too wide.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let wide = |(source, line, width): (&Source, usize, usize)| {
        let what = format!("comment line is {width} wide, the limit is {WIDEST}");
        Finding::error(&source.path, line, what, "break it")
    };
    let lines = |source| wide_lines(source).map(move |(line, width)| (source, line, width));
    sources.iter().flat_map(lines).map(wide).collect()
}

/// The comment lines that are too wide, with their width.
fn wide_lines(source: &Source) -> impl Iterator<Item = (usize, usize)> {
    source.lines.iter().enumerate().filter_map(|(index, text)| {
        let words = text.trim_start().strip_prefix("//")?.trim_start_matches(['/', '!']).trim();
        let width = text.chars().count();
        let breakable = !words.starts_with('|') && words.contains(char::is_whitespace);
        // A line of a text literal may look like a comment.
        let is_comment = !source.code_lines.contains(&(index + 1));
        (width > WIDEST && breakable && is_comment).then_some((index + 1, width))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::{assert_one, sources};

    #[test]
    fn a_wide_comment_is_found_unless_it_cannot_be_broken() {
        let words = "word ".repeat(22);
        let text = format!(
            "//! {words}x\n/// | {words} |\n// https://{}\nconst A: &str = \"\n// {words} in a text\";\n",
            "x".repeat(WIDEST)
        );
        let found = check(&sources(&[("crates/x/src/a.rs", &text)]));
        assert_one(&found, "crates/x/src/a.rs:1: comment line is 115 wide, the limit is 110");
        let fits = format!("    // {}\n", "ü".repeat(51) + " " + &"ü".repeat(51));
        assert_eq!(check(&sources(&[("crates/x/src/a.rs", &fits)])), []);
    }
}
