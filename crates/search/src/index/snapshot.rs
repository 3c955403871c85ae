//! Snapshots: the entries at one moment, as readers hold them.
//!
//! Promises: a [`Snapshot`] never changes; the writer publishes a new one, and a reader keeps the one that it
//! has. It does not know how entries come into it.

use std::io;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use super::gains::Gains;
use super::segment::Segment;
use crate::ModelId;
use crate::log::Bytes;

/// A model whose vectors the index holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) id: ModelId,
    pub(crate) dimensions: usize,
}

/// The entries at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) segments: Vec<Segment>,
    /// What records are read from.
    bytes: Bytes,
    /// Grows with every change.
    pub(crate) version: u64,
    pub(crate) models: Arc<[Model]>,
    /// What words are worth, once a question needed it.
    gains: OnceLock<Gains>,
}

/// Where an entry is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryPosition {
    pub(crate) segment: usize,
    pub(crate) entry: usize,
}

impl Snapshot {
    /// The entries of some segments, whose records are read from `bytes`.
    pub(super) const fn new(
        segments: Vec<Segment>,
        bytes: Bytes,
        version: u64,
        models: Arc<[Model]>,
    ) -> Self {
        Self { segments, bytes, version, models, gains: OnceLock::new() }
    }

    /// The lexical score of these entries; computed once.
    pub(super) fn gains(&self) -> &Gains {
        self.gains.get_or_init(|| Gains::of(&self.segments))
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.state.count).sum()
    }

    /// The id of an entry.
    pub(crate) fn id(&self, spot: EntryPosition) -> String {
        self.segments[spot.segment].body.names.id(spot.entry)
    }

    /// Where an entry is.
    pub(crate) fn spot(&self, id: &str) -> Option<EntryPosition> {
        find(&self.segments, id)
    }

    /// The record of an entry as it was put; its facts may have changed since.
    pub(crate) fn record(&self, spot: EntryPosition) -> io::Result<Vec<u8>> {
        let place = self.segments[spot.segment].state.places[spot.entry];
        self.bytes.read(place.at(), place.size())
    }
}

/// What readers and the writer share.
#[derive(Debug)]
pub(crate) struct Shared(ArcSwap<Snapshot>);

impl Shared {
    /// Shares the first entries.
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self(ArcSwap::from_pointee(snapshot))
    }

    /// Shows readers other entries from now on.
    pub(super) fn show(&self, snapshot: Snapshot) {
        self.0.store(Arc::new(snapshot));
    }

    /// The entries as they are now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }
}

/// Looks a living entry up; young ones are asked for most.
pub(super) fn find(segments: &[Segment], id: &str) -> Option<EntryPosition> {
    let found =
        |(segment, part): (usize, &Segment)| part.find(id).map(|entry| EntryPosition { segment, entry });
    segments.iter().enumerate().rev().find_map(found)
}
