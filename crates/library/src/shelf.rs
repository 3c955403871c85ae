//! Shelf: the documents that were read, their passages, and how rare each word is among them.
//!
//! Promises: a value without IO; replacing a document leaves nothing of its earlier version. A document is
//! identified by its name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use agentsite_search::terms;

use super::document::{Found, Version};
use super::passage::Passage;

/// Most passages of one library: about twenty-five megabytes of text.
pub(super) const MAX_PASSAGES: usize = 50_000;

/// The documents that were read.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    books: BTreeMap<String, Book>,
    passages: HashMap<String, Arc<Passage>>,
    /// In how many passages each term is.
    frequency: HashMap<u64, usize>,
}

/// One document.
#[derive(Debug)]
struct Book {
    version: Version,
    ids: Vec<String>,
    trouble: Option<String>,
}

/// What to do so that the shelf matches the folder.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// To be read.
    pub(super) read: Vec<Found>,
    /// To be taken out.
    pub(super) gone: Vec<String>,
}

impl Shelf {
    /// What has changed since the documents were read.
    pub(super) fn changes(&self, found: Vec<Found>) -> Changes {
        let there: HashSet<&str> = found.iter().map(|one| one.file.as_str()).collect();
        let gone = self.books.keys().filter(|file| !there.contains(file.as_str())).cloned().collect();
        let known = |one: &Found| self.books.get(&one.file).is_some_and(|book| book.version == one.version);
        let read = found.into_iter().filter(|one| !known(one)).collect();
        Changes { read, gone }
    }

    /// Places the passages of a document, in place of those of an earlier version.
    pub(super) fn place(&mut self, file: &str, version: Version, passages: Vec<(String, Passage)>) {
        self.remove(file);
        let mut ids = Vec::with_capacity(passages.len());
        for (id, passage) in passages {
            for term in terms_of(&passage) {
                *self.frequency.entry(term).or_default() += 1;
            }
            ids.push(id.clone());
            self.passages.insert(id, Arc::new(passage));
        }
        self.books.insert(file.to_owned(), Book { version, ids, trouble: None });
    }

    /// Keeps in mind that a document cannot be read, so that it is not tried again before it changes.
    pub(super) fn give_up(&mut self, file: &str, version: Version, trouble: String) {
        self.remove(file);
        self.books.insert(file.to_owned(), Book { version, ids: Vec::new(), trouble: Some(trouble) });
    }

    /// Takes a document out.
    pub(super) fn remove(&mut self, file: &str) {
        for id in self.books.remove(file).into_iter().flat_map(|book| book.ids) {
            let Some(passage) = self.passages.remove(&id) else { continue };
            for term in terms_of(&passage) {
                if let Some(count) = self.frequency.get_mut(&term) {
                    *count -= 1;
                    if *count == 0 {
                        self.frequency.remove(&term);
                    }
                }
            }
        }
    }

    /// The ids of a document's passages.
    pub(super) fn ids(&self, file: &str) -> Vec<String> {
        self.books.get(file).map(|book| book.ids.clone()).unwrap_or_default()
    }

    /// The ids of all passages.
    pub(super) fn all_ids(&self) -> impl Iterator<Item = &String> {
        self.passages.keys()
    }

    /// A passage.
    pub(super) fn passage(&self, id: &str) -> Option<Arc<Passage>> {
        self.passages.get(id).cloned()
    }

    /// How many passages there are.
    pub(super) fn len(&self) -> usize {
        self.passages.len()
    }

    /// The documents that can be asked about, by name.
    pub(super) fn readable(&self) -> impl Iterator<Item = &str> {
        self.books.iter().filter(|(_, book)| book.trouble.is_none()).map(|(file, _)| file.as_str())
    }

    /// The documents that cannot be read, and why.
    pub(super) fn troubles(&self) -> impl Iterator<Item = (&str, &str)> {
        self.books.iter().filter_map(|(file, book)| Some((file.as_str(), book.trouble.as_deref()?)))
    }

    /// How much a term says: the rarer it is, the more.
    pub(super) fn weight(&self, term: u64) -> f64 {
        let count = self.frequency.get(&term).copied().unwrap_or_default();
        ((self.passages.len() + 1) as f64 / (count + 1) as f64).ln() + 0.1
    }
}

/// The terms of a passage: those of its text, its headings and the name of its file.
pub(super) fn terms_of(passage: &Passage) -> HashSet<u64> {
    let heading = passage.heading.iter().flat_map(|heading| terms(heading));
    terms(&passage.text).into_iter().chain(heading).chain(terms(&passage.file)).collect()
}
