//! From the bytes of a document to its blocks, by what kind of document it is.
//!
//! Promises: for any bytes, reading ends, stays within the limits named here, and affects nothing else: a
//! reader that panics costs its own file. It does not open files and does not run what they contain.

mod html;
mod markdown;
mod pdf;
mod plain;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use agentsite_protocol::ByteSize;

use super::passage::Block;

/// Largest text or web page that is read: a book of a thousand pages has two megabytes.
const MAX_TEXT: u64 = 8 << 20;

/// Largest PDF that is read; pictures and fonts are most of it.
const MAX_PDF: u64 = 32 << 20;

/// Bytes in which a zero byte means that this is not text.
const SAMPLE: usize = 8 << 10;

/// What kind of document a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sections below headings.
    Markdown,
    /// Paragraphs.
    Plain,
    /// A web page.
    Html,
    /// Pages.
    Pdf,
}

impl Kind {
    /// The kind of a file; `None` for files that are not documents.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdx" => Some(Self::Markdown),
            "txt" | "text" | "rst" | "adoc" | "org" => Some(Self::Plain),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "pdf" => Some(Self::Pdf),
            _ => None,
        }
    }

    /// The largest file of this kind that is read.
    pub(super) const fn largest(self) -> u64 {
        if matches!(self, Self::Pdf) { MAX_PDF } else { MAX_TEXT }
    }
}

/// Why a document is not in the library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    /// It cannot be opened.
    #[error("cannot be opened: {0}")]
    Closed(String),
    /// It is too large.
    #[error("has {} and is left out, at most {} are read; split it", ByteSize(*size), ByteSize(*most))]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        most: u64,
    },
    /// It is something else than its name says.
    #[error("is not text, despite its name")]
    NoText,
    /// It needs a password.
    #[error("needs a password; save it without one")]
    Locked,
    /// It is damaged, or more than the reader knows.
    #[error("cannot be read: {0}")]
    Broken(String),
    /// It has pages but no text.
    #[error("contains no text; scanned pages need text recognition (OCR) first")]
    Wordless,
    /// The library is full.
    #[error("is left out because the library is full")]
    Full,
}

/// Reads a document.
pub(super) fn blocks(kind: Kind, bytes: &[u8]) -> Result<Vec<Block>, Unreadable> {
    let read = || match kind {
        Kind::Markdown => text_of(bytes).map(|text| markdown::blocks(&text)),
        Kind::Plain => text_of(bytes).map(|text| plain::blocks(&text)),
        Kind::Html => text_of(bytes).map(|text| html::blocks(&text)),
        Kind::Pdf => pdf::blocks(bytes),
    };
    // The readers share no state, so a panic leaves nothing half changed.
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Unreadable::Broken("the reader broke off".into())))
}

/// The text in any of the usual encodings: UTF-8, UTF-16 with a mark, else one byte for each letter.
fn text_of(bytes: &[u8]) -> Result<String, Unreadable> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => return Ok(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => return Ok(wide(u16::from_be_bytes)),
        _ => {}
    }
    if bytes[..bytes.len().min(SAMPLE)].contains(&0) {
        return Err(Unreadable::NoText);
    }
    let bytes = bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes);
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    })
}

#[cfg(test)]
mod tests;
