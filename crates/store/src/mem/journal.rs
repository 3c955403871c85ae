//! The journal in memory: a list of lines.
//!
//! Promises: lines come newest first. It keeps no chain: what lies in memory cannot be edited behind the
//! site's back.

use super::MemStore;
use super::content::Content;
use crate::{JournalHead, JournalQuery, JournalReads, Reply, StoredLine};

impl JournalReads for MemStore {
    fn journal(&self, query: JournalQuery) -> Reply<'_, Vec<StoredLine>> {
        self.reply(|content| content.journal(&query))
    }

    fn journal_head(&self) -> Reply<'_, Option<JournalHead>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl Content {
    fn journal(&self, query: &JournalQuery) -> Vec<StoredLine> {
        let text = query.text.as_ref().map(|text| text.to_ascii_lowercase());
        let says = |stored: &StoredLine| {
            text.as_ref().is_none_or(|text| stored.line.text.to_ascii_lowercase().contains(text))
        };
        let fits = |stored: &&StoredLine| query.fits(stored) && says(stored);
        self.journal.iter().rev().filter(fits).take(query.limit).cloned().collect()
    }
}
