//! The rule that a comment line is at most 110 characters wide, like a line of code.
//!
//! Promises: every line that is only a comment (`//`, `///`, `//!`) is measured in characters, indentation
//! included. A row of a table and a line of one word, such as an address, cannot be broken and are left
//! alone. Comments after code on the same line are rustfmt's matter. Folders in [`STILL_EXEMPT`] give one
//! warning each instead of errors.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// The widest comment line; the same as `max_width` in rustfmt.toml.
const WIDEST: usize = 110;

/// Folders whose comments are still being reflowed. Remove a line once its folder is clean; never add one.
const STILL_EXEMPT: &[&str] =
    &["crates/agentsite", "crates/client", "crates/gateway", "crates/host", "crates/site", "crates/store"];

/// Finds the comment lines that are too wide.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    check_with(sources, STILL_EXEMPT)
}

fn check_with(sources: &[Source], exempt: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut counts = vec![0; exempt.len()];
    for source in sources {
        let folder = exempt.iter().position(|folder| source.path.starts_with(&format!("{folder}/")));
        match folder {
            Some(folder) => counts[folder] += wide_lines(source).count(),
            None => findings.extend(wide_lines(source).map(|(line, width)| {
                let what = format!("comment line is {width} wide, the limit is {WIDEST}");
                Finding::error(&source.path, line, what, "break it")
            })),
        }
    }
    for (folder, count) in exempt.iter().zip(counts) {
        let (what, remedy) = match count {
            0 => (format!("`{folder}` has no wide comment and is still exempt"), "remove its line"),
            _ => (format!("`{folder}` has {count} comment lines wider than {WIDEST}"), "break them"),
        };
        findings.push(Finding::warning("xtask/src/tidy/width.rs", 1, what, remedy));
    }
    findings
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
        let found = check_with(&sources(&[("crates/x/src/a.rs", &text)]), &[]);
        assert_one(&found, "crates/x/src/a.rs:1: comment line is 115 wide, the limit is 110");
        let fits = format!("    // {}\n", "ü".repeat(51) + " " + &"ü".repeat(51));
        assert_eq!(check_with(&sources(&[("crates/x/src/a.rs", &fits)]), &[]), []);
    }

    #[test]
    fn an_exempt_folder_gives_one_warning_with_its_count() {
        let text = format!("// {0}\n// {0}\n", "word ".repeat(30));
        let files = sources(&[("crates/x/src/a.rs", &text)]);
        let counted = "xtask/src/tidy/width.rs:1: warning: `crates/x` has 2 comment lines";
        assert_one(&check_with(&files, &["crates/x"]), counted);
        let clean = "xtask/src/tidy/width.rs:1: warning: `crates/y` has no wide comment";
        let found = check_with(&sources(&[("crates/x/src/a.rs", "// short\n")]), &["crates/y"]);
        assert_one(&found, clean);
    }
}
