//! Plain text: paragraphs between empty lines.
//!
//! Promises: every line belongs to one block, which knows the number of its first line. It has no headings.

use std::sync::Arc;

use crate::passage::{Block, Location};

/// The paragraphs of a text.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        match &mut open {
            _ if line.is_empty() => blocks.extend(open.take().map(close)),
            Some((_, text)) => {
                text.push(' ');
                text.push_str(line);
            }
            None => open = Some((at + 1, line.to_owned())),
        }
    }
    blocks.extend(open.map(close));
    blocks
}

fn close((line, text): (usize, String)) -> Block {
    Block { heading: Arc::from([]), place: Location::Line(line), text, lines: false }
}
