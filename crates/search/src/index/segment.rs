//! Segments: a run of entries, kept so that a question reads memory in order.
//!
//! Promises: texts and vectors of a segment never change; what does (which entries are alive, their facts,
//! their position in the log) is a separate part that is copied before it is changed, so that a reader keeps
//! a consistent segment. Joining segments leaves out the dead and keeps the order.

use std::io;
use std::sync::Arc;

use super::bits::Bits;
use super::capacity::{MOST_ENTRIES, MOST_VECTORS};
use super::columns::Columns;
use super::names::Names;
use super::pairs::{PairFolder, Pairs, is_pair, pair};
use super::postings::{Posting, Postings};
use super::space::{Space, own_pages};
use crate::Facts;
use crate::index_change::Put;
use crate::reading::MOST_VECTORS as MOST_OF_AN_ENTRY;

/// The position of a record in the log: its first byte, below a terabyte, and its length, less than the
/// longest frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogSpan(u64);

impl LogSpan {
    const SIZE_BITS: u32 = 24;

    /// A place in the log; `None` when it is too far or too long.
    pub(crate) fn new(at: u64, size: usize) -> Option<Self> {
        let fits = at < 1 << (64 - Self::SIZE_BITS) && size < 1 << Self::SIZE_BITS;
        fits.then_some(Self(at << Self::SIZE_BITS | size as u64))
    }

    /// The first byte.
    pub(crate) const fn at(self) -> u64 {
        self.0 >> Self::SIZE_BITS
    }

    /// How many bytes.
    pub(crate) const fn size(self) -> usize {
        (self.0 & ((1 << Self::SIZE_BITS) - 1)) as usize
    }
}

/// What never changes.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// Each entry's number in the index.
    pub(crate) serials: Serials,
    pub(crate) names: Names,
    /// Weighted count of terms, as far as 16 bits go.
    pub(crate) lengths: Vec<u16>,
    /// The least of them.
    pub(crate) shortest: u16,
    /// Whether some entry has no vector in any model.
    pub(crate) bare: bool,
    pub(crate) digests: Vec<u32>,
    pub(crate) postings: Postings,
    pub(crate) pairs: Pairs,
    /// One for each model of the index.
    pub(crate) spaces: Vec<Space>,
}

impl Body {
    /// How many entries, dead ones among them.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    fn push(&mut self, id: &str, serial: u32, length: u16, digest: u32) {
        self.serials.push(serial);
        self.names.push(id);
        self.lengths.push(length);
        self.digests.push(digest);
    }

    fn settle(&mut self) {
        self.names.settle();
        self.serials.settle();
        self.spaces.iter_mut().for_each(Space::settle);
        self.digests.shrink_to_fit();
        self.lengths.shrink_to_fit();
        self.shortest = self.lengths.iter().copied().min().unwrap_or(0);
        self.bare =
            (0..self.len()).any(|entry| self.spaces.iter().all(|space| space.range(entry).is_empty()));
    }
}

/// Numbers of entries, growing. Where they are consecutive, as most are, the first represents all.
#[derive(Debug, Default)]
pub(crate) struct Serials {
    first: u32,
    each: Vec<u32>,
}

impl Serials {
    /// The number of an entry.
    pub(crate) fn of(&self, entry: usize) -> u32 {
        self.each.get(entry).copied().unwrap_or(self.first + entry as u32)
    }

    fn push(&mut self, serial: u32) {
        self.each.push(serial);
    }

    fn settle(&mut self) {
        if self.each.windows(2).all(|pair| pair[1] == pair[0] + 1) {
            self.first = self.each.first().copied().unwrap_or(0);
            self.each = Vec::new();
        }
        self.each.shrink_to_fit();
    }
}

/// What changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) alive: Bits,
    /// How many are alive.
    pub(crate) count: usize,
    /// The lengths of those alive together.
    pub(crate) length: u64,
    pub(crate) columns: Columns,
    pub(crate) places: Vec<LogSpan>,
    pub(crate) facts_digests: Vec<u32>,
}

impl State {
    fn kill(&mut self, entry: usize, body: &Body) -> Option<LogSpan> {
        if !self.alive.take(entry) {
            return None;
        }
        self.count -= 1;
        self.length -= u64::from(body.lengths[entry]);
        Some(self.places[entry])
    }

    fn settle(&mut self) {
        self.places.shrink_to_fit();
        self.facts_digests.shrink_to_fit();
    }
}

/// A run of entries.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) body: Arc<Body>,
    pub(crate) state: Arc<State>,
}

impl Segment {
    /// The living entry of an id.
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        self.body.names.find(id, |entry| self.is_alive(entry))
    }

    /// Whether an entry was neither removed nor replaced.
    pub(crate) fn is_alive(&self, entry: usize) -> bool {
        self.state.alive.has(entry)
    }

    /// Takes an entry out; gives where it lay.
    pub(crate) fn kill(&mut self, entry: usize) -> Option<LogSpan> {
        Arc::make_mut(&mut self.state).kill(entry, &self.body)
    }

    /// Gives an entry other facts.
    pub(crate) fn revise(&mut self, entry: usize, facts: &Facts, digest: u32) {
        let state = Arc::make_mut(&mut self.state);
        state.columns.set(entry, facts);
        state.facts_digests[entry] = digest;
    }

    /// One segment of the living entries of several that follow each other.
    pub(crate) fn join(parts: &[&Self], dimensions: &[usize], pair_folder: &PairFolder) -> io::Result<Self> {
        let mut body =
            Body { spaces: dimensions.iter().map(|count| Space::new(*count)).collect(), ..Body::default() };
        for (number, space) in body.spaces.iter_mut().enumerate() {
            let vectors = parts.iter().map(|part| part.body.spaces[number].count(&part.state.alive)).sum();
            space.reserve(parts.iter().map(|part| part.state.count).sum(), vectors);
        }
        body.names.reserve(parts.iter().map(|part| part.state.count).sum());
        let mut state = State::default();
        let mut moves: Vec<Vec<Option<u16>>> = Vec::with_capacity(parts.len());
        for part in parts {
            let mut moved = vec![None; part.body.len()];
            for entry in part.state.alive.iter() {
                moved[entry] = u16::try_from(body.len()).ok();
                body.push(
                    &part.body.names.id(entry),
                    part.body.serials.of(entry),
                    part.body.lengths[entry],
                    part.body.digests[entry],
                );
                state.places.push(part.state.places[entry]);
                state.facts_digests.push(part.state.facts_digests[entry]);
                for (space, from) in body.spaces.iter_mut().zip(&part.body.spaces) {
                    space.copy(from, entry);
                }
            }
            state.count += part.state.count;
            state.length += part.state.length;
            moves.push(moved);
        }
        let postings: Vec<&Postings> = parts.iter().map(|part| &part.body.postings).collect();
        let moved = |part: usize, entry: u16| moves[part][usize::from(entry)];
        body.postings = Postings::join(&postings, &moved, body.len());
        let pairs: Vec<&Pairs> = parts.iter().map(|part| &part.body.pairs).collect();
        body.pairs = Pairs::join(&pairs, &moved, body.len(), pair_folder)?;
        body.settle();
        let columns: Vec<_> = parts.iter().map(|part| (&part.state.columns, &part.state.alive)).collect();
        state.columns = Columns::join(&columns, &moved);
        state.settle();
        state.alive = Bits::all(body.len());
        Ok(Self { body: Arc::new(body), state: Arc::new(state) })
    }
}

/// A digest in 32 bits: it tells a changed entry from an unchanged one, and deceiving it gains nothing.
pub(crate) const fn short(digest: u64) -> u32 {
    (digest ^ (digest >> 32)) as u32
}

/// A segment in the making.
#[derive(Debug)]
pub(crate) struct SegmentDraft {
    body: Body,
    state: State,
    postings: Vec<Posting>,
    pairs: Vec<u64>,
}

impl SegmentDraft {
    /// An empty one, for models with this vector length.
    pub(crate) fn new(dimensions: &[usize]) -> Self {
        let spaces = dimensions.iter().map(|count| Space::new(*count)).collect();
        let body = Body { spaces, ..Body::default() };
        Self { body, state: State::default(), postings: Vec::new(), pairs: Vec::new() }
    }

    /// Whether the segment has its size.
    pub(crate) fn is_full(&self) -> bool {
        let vectors: usize = self.body.spaces.iter().map(Space::len).sum();
        self.body.len() >= MOST_ENTRIES || vectors + MOST_OF_AN_ENTRY > MOST_VECTORS
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.body.len() == 0
    }

    /// Adds an entry; its vectors belong to the model of this number.
    pub(crate) fn push(&mut self, put: &Put<'_>, model: usize, serial: u32, place: LogSpan) {
        let entry = self.body.len() as u16;
        let length = u16::try_from(put.length).unwrap_or(u16::MAX);
        self.body.push(put.id, serial, length, short(put.texts_digest));
        own_pages(&mut self.postings, put.terms.len());
        own_pages(&mut self.pairs, put.terms.len());
        for (term, count) in put.terms.iter() {
            if is_pair(term) {
                self.pairs.extend(std::iter::repeat_n(pair(term, entry), usize::from(count)));
            } else {
                self.postings.push((term, entry, count));
            }
        }
        for (number, space) in self.body.spaces.iter_mut().enumerate() {
            if number == model {
                space.push(put.codes, &put.scales);
            } else {
                space.push(&[], &[]);
            }
        }
        self.state.columns.push(&put.facts);
        self.state.places.push(place);
        self.state.facts_digests.push(short(put.facts_digest));
        self.state.alive.push(true);
        self.state.count += 1;
        self.state.length += u64::from(length);
    }

    /// The living entry of an id.
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        self.body.names.find(id, |entry| self.state.alive.has(entry))
    }

    /// The number of an entry.
    pub(crate) fn serial(&self, entry: usize) -> u32 {
        self.body.serials.of(entry)
    }

    /// The position of an entry in the log.
    pub(crate) fn place(&self, entry: usize) -> LogSpan {
        self.state.places[entry]
    }

    /// How many entries live.
    pub(crate) const fn count(&self) -> usize {
        self.state.count
    }

    /// Takes an entry out again; gives where it lay.
    pub(crate) fn kill(&mut self, entry: usize) -> Option<LogSpan> {
        self.state.kill(entry, &self.body)
    }

    /// Gives an entry other facts.
    pub(crate) fn revise(&mut self, entry: usize, facts: &Facts, digest: u32) {
        self.state.columns.set(entry, facts);
        self.state.facts_digests[entry] = digest;
    }

    /// The segment.
    pub(crate) fn finish(mut self, pair_folder: &PairFolder) -> Segment {
        self.body.postings = Postings::of(self.postings, self.body.len());
        self.body.pairs = Pairs::of(self.pairs, self.body.len(), pair_folder);
        self.body.settle();
        self.state.columns.settle();
        self.state.settle();
        Segment { body: Arc::new(self.body), state: Arc::new(self.state) }
    }
}
