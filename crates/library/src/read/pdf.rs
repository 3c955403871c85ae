//! PDF: the text of each page, as far as the file maps its glyphs to characters.
//!
//! Promises: bounded in pages, in bytes that a stream may unpack to, and in text. A page that cannot be read
//! is passed over. It does not look at pictures; words come in the order in which they were drawn, and the
//! position of the next glyph decides where lines and words end.

mod layout;

use std::sync::Arc;

use lopdf::{Document, LoadOptions};

use super::Unreadable;
use crate::passage::{Block, Location};

/// Most pages that are read of one file.
const MAX_PAGES: usize = 3_000;

/// Most bytes that one stream may unpack to: a page of words has kilobytes, and a few bytes can be made to
/// unpack to gigabytes.
const MAX_UNPACKED: usize = 8 << 20;

/// Most bytes of text of one file, as for other texts.
const MAX_WORDS: usize = 8 << 20;

/// The pages of a file.
pub(super) fn blocks(bytes: &[u8]) -> Result<Vec<Block>, Unreadable> {
    let options = LoadOptions::with_max_decompressed_size(MAX_UNPACKED);
    let document = Document::load_mem_with_options(bytes, options).map_err(|error| match error {
        lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_) => Unreadable::Locked,
        other => Unreadable::Broken(other.to_string()),
    })?;
    if document.is_encrypted() {
        return Err(Unreadable::Locked);
    }
    let (mut blocks, mut size, mut trouble) = (Vec::new(), 0, None);
    for (number, page) in document.get_pages().into_iter().take(MAX_PAGES) {
        match layout::text(&document, page, MAX_UNPACKED) {
            Ok(text) => {
                size += text.len();
                blocks.extend(paragraphs(&text, number));
            }
            Err(error) => trouble = Some(error.to_string()),
        }
        if size > MAX_WORDS {
            break;
        }
    }
    match trouble {
        _ if !blocks.is_empty() => Ok(blocks),
        Some(trouble) => Err(Unreadable::Broken(trouble)),
        None => Err(Unreadable::Wordless),
    }
}

/// The paragraphs of a page; words that were parted at the end of a line are joined.
fn paragraphs(text: &str, page: u32) -> Vec<Block> {
    let mut found = vec![String::new()];
    for line in text.lines().map(str::trim) {
        let Some(open) = found.last_mut() else { continue };
        if line.is_empty() {
            found.push(String::new());
        } else if open.ends_with('-') && line.starts_with(char::is_lowercase) {
            open.pop();
            open.push_str(line);
        } else {
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(line);
        }
    }
    let place = Location::Page(usize::try_from(page).unwrap_or(usize::MAX));
    let block = |text| Block { heading: Arc::from([]), place, text, lines: false };
    found.into_iter().filter(|text| text.chars().any(char::is_alphanumeric)).map(block).collect()
}
