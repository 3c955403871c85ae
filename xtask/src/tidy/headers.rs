//! The rule that every Rust file of ours says what it is before it begins.
//!
//! Promises: a file under `crates/` or `xtask/` whose first two lines are not `//!` is found. Whether the
//! text is good is for a reviewer to judge.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

/// A header shorter than this cannot say what the file is and what it promises.
const FEWEST_LINES: usize = 2;

/// Finds the files without a header.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .iter()
        .filter(|file| is_ours(&file.path) && header_lines(&file.text) < FEWEST_LINES)
        .map(|file| {
            let what = format!("opens with fewer than {FEWEST_LINES} lines of `//!`");
            Finding::error(&file.path, 1, what, "say what the file is, what it promises, what it does not do")
        })
        .collect()
}

fn is_ours(path: &str) -> bool {
    path.ends_with(".rs") && (path.starts_with("crates/") || path.starts_with("xtask/"))
}

fn header_lines(text: &str) -> usize {
    text.lines().take_while(|line| line.starts_with("//!")).count()
}
