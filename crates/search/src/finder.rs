//! Finder: entries in, questions in, the best matches out.
//!
//! Promises: [`Finder::put`] and [`Finder::remove`] are acknowledged when the next question sees them and a
//! kill does not undo them; readers continue meanwhile. A question is answered with what is there: an
//! embedder that fails costs its part of the score and is said in the answer, nothing else.

mod answers;
mod encode;
mod explain;
mod shown;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Filter, MAX_QUERY};

pub use self::encode::whole_vectors;

use self::answers::Answers;
use self::encode::{Encoded, Prepared, encode, encode_question};
use self::explain::Explainer;
use self::shown::Shown;
use crate::index::bits::Bits;
use crate::index::candidate::Effort;
use crate::index::scan;
use crate::index::segment::short;
use crate::index::{Bodies, EntryPosition, Model, Shared, Snapshot, Writer};
use crate::index_change::{IndexChange, IndexChangeReader, Put};
use crate::question::{Ask, FindResults, QuestionWords};
use crate::rank::{self, Blend};
use crate::reading::{Reading, trim_facts};
use crate::reason::Texts;
use crate::{Audience, EmbedError, Embedder, Entry, Facts, ModelId, PublishedVectors};

/// From how many entries on a question is answered on a separate thread: below, it takes less than a
/// millisecond.
const LARGE: usize = 20_000;

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
pub struct EncodeProgress {
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

/// Who makes the vectors of an entry.
#[derive(Debug, Clone, Copy)]
enum Maker {
    /// Its publisher did.
    Publisher,
    /// The full embedder.
    Full,
    /// The fast one.
    Fast,
}

/// Finds entries by what they mean and by their words.
#[derive(Debug)]
pub struct Finder {
    embedders: Embedders,
    shared: Arc<Shared>,
    /// Held while a change is written; no reader takes it.
    writer: Arc<Mutex<Writer>>,
    answers: Answers,
    shown: Shown,
}

impl Finder {
    /// Opens the index, or begins an empty one; tells how far it is while it reads.
    ///
    /// # Errors
    /// When the folder cannot be used. Damage is not an error: see [`Opened::damage`].
    pub fn open(
        settings: FinderSettings,
        progress: &(dyn Fn(EncodeProgress) + Sync),
    ) -> Result<(Self, Opened), FindError> {
        let FinderSettings { folder, embedders } = settings;
        let model = |embedder: &Arc<dyn Embedder>| Model {
            id: embedder.model().clone(),
            dimensions: embedder.dimensions(),
        };
        let models = std::iter::once(&embedders.fast).chain(&embedders.full).map(model).collect();
        let tell = |done: usize, at: u64, of: u64| {
            let all = done as f64 * of as f64 / (at.max(1)) as f64;
            progress(EncodeProgress { done, of: (all.round() as usize).max(done) });
        };
        let opened = Writer::open(folder.as_deref(), models, &tell);
        let (writer, damage) = opened.map_err(|error| FindError::Folder(error.to_string()))?;
        let opened = Opened { entries: writer.count(), damage };
        let shared = writer.shared();
        let writer = Arc::new(Mutex::new(writer));
        Ok((Self { embedders, shared, writer, answers: Answers::default(), shown: Shown::default() }, opened))
    }

    /// Adds entries or replaces those of the same ids. With `full`, their better vectors are made before it
    /// returns; without, they follow by [`Finder::deepen`].
    ///
    /// # Errors
    /// When nothing could be written or no vectors could be made; then nothing of it took effect.
    pub async fn put(&self, entries: Vec<Entry>, full: bool) -> Result<(), FindError> {
        let encoded = self.encode_new(entries.into_iter().map(Prepared::of).collect(), full).await?;
        let writer = Arc::clone(&self.writer);
        aside(true, move || {
            let mut bodies = Bodies::default();
            encoded.iter().for_each(|entry| bodies.add(&IndexChange::Put(entry.record())));
            lock(&writer).commit(&bodies.finish()).map_err(|error| FindError::Write(error.to_string()))
        })
        .await
    }

    /// The vectors of new entries: those of their publishers where they can be used; else the better ones
    /// with `full`, or where they are there already; else the fast ones.
    async fn encode_new(&self, entries: Vec<Prepared>, full: bool) -> Result<Vec<Encoded>, EmbedError> {
        let Some(better) = &self.embedders.full else { return encode(&self.embedders.fast, entries).await };
        let mut order = Vec::with_capacity(entries.len());
        let (mut published, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let vectors = entry.published(&**better);
            order.push(match vectors {
                Some(vectors) => {
                    published.push(Encoded::of(entry, better.model().as_str(), &vectors));
                    Maker::Publisher
                }
                None if full || entry.is_known_to(&**better) => {
                    first.push(entry);
                    Maker::Full
                }
                None => {
                    second.push(entry);
                    Maker::Fast
                }
            });
        }
        let mut published = published.into_iter();
        let mut first = encode(better, first).await?.into_iter();
        let mut second = encode(&self.embedders.fast, second).await?.into_iter();
        // In order: of two with the same id, the last one counts.
        let next = |maker| match maker {
            Maker::Publisher => published.next(),
            Maker::Full => first.next(),
            Maker::Fast => second.next(),
        };
        Ok(order.into_iter().filter_map(next).collect())
    }

    /// Changes what filters look at, without reading the texts again. Ids that are not there are passed over.
    ///
    /// # Errors
    /// When nothing could be written.
    pub fn revise(&self, facts: Vec<(String, Facts)>) -> Result<(), FindError> {
        let mut bodies = Bodies::default();
        for (id, mut facts) in facts {
            let digest = facts_digest(&facts);
            trim_facts(&mut facts);
            if self.digest(&id).is_some() {
                bodies.add(&IndexChange::Revise { id: &id, digest, facts });
            }
        }
        self.commit(bodies)
    }

    /// Takes entries out. Ids that are not there are passed over.
    ///
    /// # Errors
    /// When nothing could be written.
    pub fn remove(&self, ids: &[String]) -> Result<(), FindError> {
        let mut bodies = Bodies::default();
        for id in ids.iter().filter(|id| self.digest(id).is_some()) {
            bodies.add(&IndexChange::Remove(id));
        }
        self.commit(bodies)
    }

    fn commit(&self, bodies: Bodies) -> Result<(), FindError> {
        let bodies = bodies.finish();
        if bodies.is_empty() {
            return Ok(());
        }
        lock(&self.writer).commit(&bodies).map_err(|error| FindError::Write(error.to_string()))
    }

    /// Makes the better vectors of up to `at_most` entries that have only the fast ones; gives how many were
    /// done, 0 when none was left.
    ///
    /// # Errors
    /// When the full embedder failed or nothing could be written.
    pub async fn deepen(&self, at_most: usize) -> Result<usize, FindError> {
        let Some(full) = &self.embedders.full else { return Ok(0) };
        let mut prepared = Vec::new();
        {
            let snapshot = self.shared.snapshot();
            for spot in shallow(&snapshot).take(at_most) {
                prepared.push(prepare(&snapshot, spot)?);
            }
        }
        let encoded = encode(full, prepared).await?;
        let done = encoded.len();
        let writer = Arc::clone(&self.writer);
        aside(true, move || {
            let mut writer = lock(&writer);
            let mut bodies = Bodies::default();
            for mut entry in encoded {
                // An entry that was replaced or removed meanwhile stays as it is now.
                if !entry.serial.is_some_and(|serial| writer.is_current(&entry.reading.entry.id, serial)) {
                    continue;
                }
                let facts = writer.facts(&entry.reading.entry.id);
                if let Some((facts, digest)) = facts.map_err(|error| FindError::Folder(error.to_string()))? {
                    (entry.reading.entry.facts, entry.facts_digest) = (facts, digest);
                    bodies.add(&IndexChange::Put(entry.record()));
                }
            }
            let bodies = bodies.finish();
            if !bodies.is_empty() {
                writer.commit(&bodies).map_err(|error| FindError::Write(error.to_string()))?;
            }
            Ok(done)
        })
        .await
    }

    /// The best matches.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub async fn find(&self, ask: &Ask) -> Result<FindResults, FindError> {
        self.find_by(ask, Blend::Best).await
    }

    /// The best matches by another way of ranking, to measure one against the other.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub async fn find_by(&self, ask: &Ask, blend: Blend) -> Result<FindResults, FindError> {
        let key = self.answers.key(ask, blend);
        if let Some(found) = self.answers.get(self.shared.snapshot().version, &key) {
            return Ok(found);
        }
        let text = &ask.text[..ask.text.floor_char_boundary(MAX_QUERY)];
        let mut question = encode_question(&self.embedders, &self.shared.snapshot(), text).await;
        let without = question.without.take();
        let asked = QuestionWords::of(&ask.text);
        let snapshot = self.shared.snapshot();
        let passed = self.pass(&snapshot, &ask.filter, &ask.audience);
        let considered = passed.iter().map(Bits::count).sum();
        let effort = Effort::of(&question.whole);
        let sought = rank::sought(&snapshot, ask, blend, effort);
        let (page, fast) = {
            let (snapshot, ask, terms) = (Arc::clone(&snapshot), ask.clone(), asked.terms.clone());
            aside(considered > LARGE, move || {
                let candidates = scan::candidates(&snapshot, &passed, &question.whole, &terms, sought);
                let sentences: Vec<_> = question.sentences.iter().map(Vec::as_slice).collect();
                let page = rank::page(&snapshot, candidates, &sentences, &ask, blend, effort);
                (page, question.whole.into_iter().next().flatten())
            })
            .await
        };
        let explainer = Explainer {
            embedder: &self.embedders.fast,
            shown: &self.shown,
            snapshot: &snapshot,
            asked: &asked,
            query: fast.as_ref(),
        };
        let hits = explainer.hits(&page).await?;
        let found = FindResults { hits, considered, without };
        self.answers.keep(snapshot.version, key, &found);
        Ok(found)
    }

    /// The ids of all entries that pass a filter, in order of id.
    #[must_use]
    pub fn matching(&self, filter: &Filter, audience: &Audience) -> Vec<String> {
        let snapshot = self.shared.snapshot();
        let passed = self.pass(&snapshot, filter, audience);
        let ids = snapshot.segments.iter().zip(&passed);
        let mut ids: Vec<String> = ids
            .flat_map(|(segment, passed)| passed.iter().map(|entry| segment.body.names.id(entry)))
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The entries that pass a filter, one set for each segment.
    fn pass(&self, snapshot: &Snapshot, filter: &Filter, audience: &Audience) -> Vec<Bits> {
        let also: Vec<EntryPosition> = audience.also.iter().filter_map(|id| snapshot.spot(id)).collect();
        let pass = |(number, segment): (usize, &crate::index::segment::Segment)| {
            let also: Vec<usize> =
                also.iter().filter(|spot| spot.segment == number).map(|spot| spot.entry).collect();
            segment.state.columns.pass(&segment.state.alive, filter, audience, &also)
        };
        snapshot.segments.iter().enumerate().map(pass).collect()
    }

    /// A digest of the entry as it was put, to see at a start which entries the index lacks; `None` when it
    /// is not there.
    #[must_use]
    pub fn digest(&self, id: &str) -> Option<u64> {
        let snapshot = self.shared.snapshot();
        let spot = snapshot.spot(id)?;
        let segment = &snapshot.segments[spot.segment];
        Some(join_digests(segment.body.digests[spot.entry], segment.state.facts_digests[spot.entry]))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.snapshot().len()
    }

    /// How many entries have only the fast vectors until [`Finder::deepen`] comes to them.
    #[must_use]
    pub fn shallow(&self) -> usize {
        if self.embedders.full.is_none() { 0 } else { shallow(&self.shared.snapshot()).count() }
    }

    /// The model whose vectors count most.
    #[must_use]
    pub fn model(&self) -> &ModelId {
        self.embedders.full.as_ref().unwrap_or(&self.embedders.fast).model()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Entries that have only the fast vectors.
fn shallow(snapshot: &Snapshot) -> impl Iterator<Item = EntryPosition> {
    let segments =
        snapshot.segments.iter().enumerate().filter(|(_, segment)| segment.body.spaces[0].len() > 0);
    segments.flat_map(|(number, segment)| {
        let space = &segment.body.spaces[0];
        let alive = segment.state.alive.iter().filter(|entry| !space.range(*entry).is_empty());
        alive.map(move |entry| EntryPosition { segment: number, entry })
    })
}

/// An entry of the index, to be encoded anew.
fn prepare(snapshot: &Snapshot, spot: EntryPosition) -> Result<Prepared, FindError> {
    let bytes = snapshot.record(spot).map_err(|error| FindError::Folder(error.to_string()))?;
    let put = read_put(&bytes)?;
    let texts = Texts::read(put.texts).unwrap_or_default();
    let entry = Entry { facts: put.facts, ..texts.entry(put.id) };
    let serial = snapshot.segments[spot.segment].body.serials.of(spot.entry);
    Ok(Prepared {
        reading: Reading::of(entry),
        texts_digest: put.texts_digest,
        facts_digest: put.facts_digest,
        serial: Some(serial),
    })
}

fn read_put(bytes: &[u8]) -> Result<Put<'_>, FindError> {
    match IndexChangeReader::new(bytes).next() {
        Ok(Some(IndexChange::Put(put))) => Ok(put),
        _ => {
            Err(FindError::Folder("a record of the index is damaged; it is rebuilt at the next start".into()))
        }
    }
}

/// A digest of everything that an entry says, facts included.
#[must_use]
pub fn digest(entry: &Entry) -> u64 {
    join_digests(short(texts_digest(entry)), short(facts_digest(&entry.facts)))
}

fn texts_digest(entry: &Entry) -> u64 {
    let texts = (&entry.id, &entry.name, &entry.text, &entry.passages);
    let mut written = serde_json::to_vec(&texts).unwrap_or_default();
    if let Some(PublishedVectors { model, whole, passages }) = &entry.vectors {
        written.extend_from_slice(model.as_bytes());
        let codes = std::iter::once(whole).chain(passages).flatten();
        written.extend(codes.map(|code| code.cast_unsigned()));
    }
    fold(&written)
}

fn facts_digest(facts: &Facts) -> u64 {
    fold(&serde_json::to_vec(facts).unwrap_or_default())
}

const fn join_digests(texts: u32, facts: u32) -> u64 {
    (texts as u64) << 32 | facts as u64
}

fn fold(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn lock(writer: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs work that takes long or touches the disk outside the tasks of the runtime, if there is one.
async fn aside<T: Send + 'static>(long: bool, work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) if long => match runtime.spawn_blocking(work).await {
            Ok(done) => done,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        },
        _ => work(),
    }
}
