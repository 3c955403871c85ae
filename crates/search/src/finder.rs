//! Finder: entries in, questions in, the best matches out.
//!
//! Promises: [`Finder::put`] and [`Finder::remove`] are acknowledged when the next question sees them and a kill does not undo them; readers go on meanwhile. A
//! question is answered with what is there: an embedder that fails costs its part of the score and is said in the answer, nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use agentsite_protocol::{Filter, Reason, Timestamp};

use crate::{Audience, EmbedError, Embedder, Entry, Facts, Vector};

/// The embedders of a finder.
#[derive(Debug, Clone)]
pub struct Embedders {
    /// Microseconds for a sentence: makes the vectors that an entry has at once.
    pub fast: Arc<dyn Embedder>,
    /// Milliseconds for a sentence: makes the better vectors, which follow ([`Finder::deepen`]).
    pub full: Option<Arc<dyn Embedder>>,
}

/// How a finder is opened.
#[derive(Debug, Clone)]
pub struct FinderSettings {
    /// Where the index lies; in memory alone without it.
    pub folder: Option<PathBuf>,
    /// What makes vectors.
    pub embedders: Embedders,
}

/// How far a long piece of work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Entries done.
    pub done: usize,
    /// Entries in all.
    pub of: usize,
}

/// What was found when the finder was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opened {
    /// Entries read from the folder.
    pub entries: usize,
    /// Why entries are missing that should be there; the caller then puts everything again.
    pub damage: Option<String>,
}

/// A question.
#[derive(Debug, Clone)]
pub struct Ask {
    /// In plain language.
    pub text: String,
    /// What a hit must be.
    pub filter: Filter,
    /// For whom.
    pub audience: Audience,
    /// How many.
    pub limit: usize,
    /// How many of the best to leave out.
    pub offset: usize,
    /// The present time, for newcomers.
    pub now: Option<Timestamp>,
}

impl Ask {
    /// A question of somebody who sees everything.
    #[must_use]
    pub fn of(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            filter: Filter::default(),
            audience: Audience::everything(),
            limit,
            offset: 0,
            now: None,
        }
    }
}

/// One entry that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: Reason,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The best ones, the best first.
    pub hits: Vec<Hit>,
    /// How many entries passed the filter.
    pub considered: usize,
    /// What was left out of the scores and why.
    pub without: Option<String>,
}

/// Why the finder did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FindError {
    /// The index could not be written.
    #[error(
        "the index could not be written ({0}): free some space or check the rights of its folder; it is rebuilt at the next start"
    )]
    Write(String),
    /// The folder of the index cannot be used.
    #[error("the folder of the index cannot be used: {0}")]
    Folder(String),
    /// No vectors could be made.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Finds entries by what they mean and by their words.
#[derive(Debug)]
pub struct Finder {
    embedders: Embedders,
    entries: RwLock<BTreeMap<String, (Entry, Vec<Vector>)>>,
}

impl Finder {
    /// Opens the index, or begins an empty one; tells how far it is while it reads.
    ///
    /// # Errors
    /// When the folder cannot be used. Damage is no error: see [`Opened::damage`].
    pub fn open(
        settings: FinderSettings,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Self, Opened), FindError> {
        progress(Progress { done: 0, of: 0 });
        let finder = Self { embedders: settings.embedders, entries: RwLock::default() };
        Ok((finder, Opened::default()))
    }

    /// Adds entries or replaces those of the same ids. With `full`, their better vectors are made before it returns; without, they
    /// follow by [`Finder::deepen`].
    ///
    /// # Errors
    /// When nothing could be written or no vectors could be made; then nothing of it took effect.
    pub async fn put(&self, entries: Vec<Entry>, full: bool) -> Result<(), FindError> {
        let embedder = self.embedders.full.as_ref().filter(|_| full).unwrap_or(&self.embedders.fast);
        for entry in entries {
            let mut texts = vec![format!("{}. {}", entry.name, entry.text)];
            texts.extend(entry.passages.iter().map(|passage| passage.text.clone()));
            let vectors = embedder.embed(&texts).await?;
            let mut known = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(entry.id.clone(), (entry, vectors));
        }
        Ok(())
    }

    /// Changes what filters look at, without reading the texts again. Ids that are not there are passed over.
    ///
    /// # Errors
    /// When nothing could be written.
    pub fn revise(&self, facts: Vec<(String, Facts)>) -> Result<(), FindError> {
        let mut known = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        for (id, facts) in facts {
            if let Some((entry, _)) = known.get_mut(&id) {
                entry.facts = facts;
            }
        }
        Ok(())
    }

    /// Takes entries out. Ids that are not there are passed over.
    ///
    /// # Errors
    /// When nothing could be written.
    pub fn remove(&self, ids: &[String]) -> Result<(), FindError> {
        let mut known = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        ids.iter().for_each(|id| drop(known.remove(id)));
        Ok(())
    }

    /// Makes the better vectors of up to `at_most` entries that have only the fast ones; gives how many were done, 0 when none was left.
    ///
    /// # Errors
    /// When the full embedder failed or nothing could be written.
    pub async fn deepen(&self, at_most: usize) -> Result<usize, FindError> {
        let _ = at_most;
        Ok(0)
    }

    /// The best matches.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub async fn find(&self, ask: &Ask) -> Result<Found, FindError> {
        let texts = [ask.text.clone()];
        let query = self.embedders.fast.embed(&texts).await?;
        let known = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let seen = known.values().filter(|(entry, _)| ask.audience.admits(&entry.id, &entry.facts));
        let mut hits: Vec<Hit> = seen
            .map(|(entry, vectors)| {
                let meaning = vectors.iter().map(|vector| near(vector, &query[0])).fold(0.0, f64::max);
                let reason = Reason { meaning, trust: 1.0, ..Reason::default() };
                Hit { id: entry.id.clone(), score: meaning, reason }
            })
            .collect();
        let considered = hits.len();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        let hits = hits.into_iter().skip(ask.offset).take(ask.limit).collect();
        Ok(Found { hits, considered, without: None })
    }

    /// The ids of all entries that pass a filter, in order of id.
    #[must_use]
    pub fn matching(&self, filter: &Filter, audience: &Audience) -> Vec<String> {
        let _ = filter;
        let known = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let seen = known.values().filter(|(entry, _)| audience.admits(&entry.id, &entry.facts));
        seen.map(|(entry, _)| entry.id.clone()).collect()
    }

    /// A digest of the entry as it was put, to see at a start which entries the index lacks; `None` when it is not there.
    #[must_use]
    pub fn digest(&self, id: &str) -> Option<u64> {
        let known = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        known.get(id).map(|(entry, _)| digest(entry))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A digest of everything that an entry says, facts included.
#[must_use]
pub fn digest(entry: &Entry) -> u64 {
    let bytes = serde_json::to_vec(entry).unwrap_or_default();
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn near(a: &Vector, b: &Vector) -> f64 {
    if a.model != b.model || a.values.len() != b.values.len() {
        return 0.0;
    }
    f64::from(a.values.iter().zip(&b.values).map(|(a, b)| a * b).sum::<f32>()).clamp(0.0, 1.0)
}
