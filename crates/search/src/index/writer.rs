//! Writer: changes the index, on disk first and then in memory.
//!
//! Promises: a change is on disk before readers see it; after an error nothing has changed. There is one way
//! from a record to memory, taken at a start and at every change. The log is rewritten when half of it is no
//! longer needed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::capacity::{MOST_ENTRIES, MOST_VECTORS};
use super::pairs::PairFolder;
use super::segment::{LogSpan, Segment, SegmentDraft, short};
use super::snapshot::{EntryPosition, Model, Shared, Snapshot, find};
use super::space::Space;
use crate::Facts;
use crate::index_change::{IndexChange, IndexChangeReader, Put};
use crate::log::{LONGEST_FRAME, Log};

/// Bytes below which a log is not worth rewriting.
const SMALL_LOG: u64 = 1024 * 1024;

/// Bytes of one body when a log is rewritten.
const REWRITE_BODY: usize = 1024 * 1024;

/// Where the writer has an entry.
enum EntryLocation {
    Draft(usize),
    Segment(EntryPosition),
}

/// Changes the index.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    log: Log,
    models: Arc<[Model]>,
    pair_folder: PairFolder,
    segments: Vec<Segment>,
    draft: SegmentDraft,
    next: u32,
    /// How often something was shown to readers.
    version: u64,
    /// Bytes of the log that are still needed.
    needed: u64,
    /// Where the facts of revised entries lie, by number.
    revisions: BTreeMap<u32, LogSpan>,
    /// Entries of the log whose model is none of ours.
    foreign: usize,
}

impl Writer {
    /// Opens the index of a folder, or one in memory. The second part says why entries are missing.
    pub(crate) fn open(
        folder: Option<&Path>,
        models: Vec<Model>,
        progress: &dyn Fn(usize, u64, u64),
    ) -> io::Result<(Self, Option<String>)> {
        let models: Arc<[Model]> = models.into();
        let pair_folder = PairFolder::of(folder);
        let mut writer = Self::empty(Log::memory(), &models, pair_folder.clone());
        let mut damage = None;
        if let Some(folder) = folder {
            let count = std::cell::Cell::new(0);
            let mut take = |body: &[u8], at: u64| {
                let taken = writer.take(body, at);
                count.set(writer.count());
                taken
            };
            let (log, why) = Log::open(folder, &mut take, &|at, of| progress(count.get(), at, of))?;
            let why = why.or_else(|| writer.foreign());
            if why.is_some() {
                writer = Self::empty(Log::memory(), &models, pair_folder);
            }
            writer.log = log;
            damage = why;
        }
        if damage.is_some() {
            writer.rewrite()?;
        }
        writer.finish_draft();
        writer.publish();
        Ok((writer, damage))
    }

    fn empty(log: Log, models: &Arc<[Model]>, pair_folder: PairFolder) -> Self {
        let snapshot = Snapshot::new(Vec::new(), log.bytes(), 0, Arc::clone(models));
        Self {
            shared: Arc::new(Shared::new(snapshot)),
            log,
            models: Arc::clone(models),
            pair_folder,
            segments: Vec::new(),
            draft: SegmentDraft::new(&dimensions(models)),
            next: 0,
            version: 0,
            needed: 0,
            revisions: BTreeMap::new(),
            foreign: 0,
        }
    }

    fn foreign(&self) -> Option<String> {
        (self.foreign > 0)
            .then(|| format!("{} entries were made with a model that is not used any more", self.foreign))
    }

    /// What readers hold.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// How many entries there are.
    pub(crate) fn count(&self) -> usize {
        self.segments.iter().map(|segment| segment.state.count).sum::<usize>() + self.draft.count()
    }

    /// Writes bodies of records to disk, then to memory, then shows them to readers. After an error nothing
    /// has changed.
    pub(crate) fn commit(&mut self, bodies: &[Vec<u8>]) -> io::Result<()> {
        let begins = self.log.append(bodies)?;
        for (body, at) in bodies.iter().zip(begins) {
            if let Err(why) = self.take(body, at) {
                return Err(io::Error::other(why));
            }
        }
        self.finish_draft();
        self.balance();
        self.publish();
        if self.log.len() > SMALL_LOG && self.needed * 2 < self.log.len() {
            self.rewrite()?;
            self.publish();
        }
        Ok(())
    }

    /// Whether an entry is still the one of this number.
    pub(crate) fn is_current(&self, id: &str, serial: u32) -> bool {
        self.find(id).is_some_and(|held| self.serial(&held) == serial)
    }

    /// The facts of an entry as they are now.
    pub(crate) fn facts(&self, id: &str) -> io::Result<Option<(Facts, u64)>> {
        let Some(held) = self.find(id) else { return Ok(None) };
        let place = self.revisions.get(&self.serial(&held)).copied().unwrap_or_else(|| match held {
            EntryLocation::Draft(entry) => self.draft.place(entry),
            EntryLocation::Segment(spot) => self.segments[spot.segment].state.places[spot.entry],
        });
        let bytes = self.log.bytes().read(place.at(), place.size())?;
        match IndexChangeReader::new(&bytes).next() {
            Ok(Some(IndexChange::Revise { facts, digest, .. })) => Ok(Some((facts, digest))),
            Ok(Some(IndexChange::Put(put))) => Ok(Some((put.facts, put.facts_digest))),
            _ => Err(io::Error::other("a record of the index is damaged")),
        }
    }

    /// Takes the records of one body into memory.
    fn take(&mut self, body: &[u8], at: u64) -> Result<(), String> {
        let mut reader = IndexChangeReader::new(body);
        loop {
            let from = reader.at();
            let Some(record) = reader.next().map_err(|error| error.to_string())? else { return Ok(()) };
            let place = LogSpan::new(at + from as u64, reader.at() - from);
            let place = place.ok_or_else(|| "the index is larger than a terabyte".to_owned())?;
            match record {
                IndexChange::Put(put) => self.put(&put, place),
                IndexChange::Revise { id, digest, facts } => self.revise(id, digest, &facts, place),
                IndexChange::Remove(id) => self.remove(id),
            }
        }
    }

    fn put(&mut self, put: &Put<'_>, place: LogSpan) {
        self.remove(put.id);
        let count = put.scales.len();
        let ours =
            |model: &Model| model.id.as_str() == put.model && put.codes.len() == count * model.dimensions;
        let Some(model) = self.models.iter().position(ours) else {
            self.foreign += 1;
            return;
        };
        self.draft.push(put, model, self.next, place);
        self.needed += place.size() as u64;
        self.next += 1;
        if self.draft.is_full() {
            self.finish_draft();
        }
    }

    fn revise(&mut self, id: &str, digest: u64, facts: &Facts, place: LogSpan) {
        let Some(held) = self.find(id) else { return };
        let serial = self.serial(&held);
        match held {
            EntryLocation::Segment(spot) => {
                self.segments[spot.segment].revise(spot.entry, facts, short(digest));
            }
            EntryLocation::Draft(entry) => self.draft.revise(entry, facts, short(digest)),
        }
        self.needed += place.size() as u64;
        let before = self.revisions.insert(serial, place);
        self.needed -= before.map_or(0, |before| before.size() as u64);
    }

    fn remove(&mut self, id: &str) {
        let Some(held) = self.find(id) else { return };
        let serial = self.serial(&held);
        let place = match held {
            EntryLocation::Segment(spot) => self.segments[spot.segment].kill(spot.entry),
            EntryLocation::Draft(entry) => self.draft.kill(entry),
        };
        let revision = self.revisions.remove(&serial);
        let freed = [place, revision].into_iter().flatten().map(|place| place.size() as u64).sum::<u64>();
        self.needed -= freed;
    }

    fn find(&self, id: &str) -> Option<EntryLocation> {
        let draft = self.draft.find(id).map(EntryLocation::Draft);
        draft.or_else(|| find(&self.segments, id).map(EntryLocation::Segment))
    }

    fn serial(&self, held: &EntryLocation) -> u32 {
        match held {
            EntryLocation::Draft(entry) => self.draft.serial(*entry),
            EntryLocation::Segment(spot) => self.segments[spot.segment].body.serials.of(spot.entry),
        }
    }

    fn finish_draft(&mut self) {
        if !self.draft.is_empty() {
            let draft = std::mem::replace(&mut self.draft, SegmentDraft::new(&dimensions(&self.models)));
            self.segments.push(draft.finish(&self.pair_folder));
        }
    }

    /// Joins young segments into larger ones and clears those that are mostly dead, so that there are few and
    /// each is worth its place. What cannot be joined stays as it is.
    fn balance(&mut self) {
        if let Err(error) = self.join_segments() {
            tracing::warn!(%error, "parts of the index could not be joined; they are kept as they are");
        }
    }

    fn join_segments(&mut self) -> io::Result<()> {
        let dimensions = dimensions(&self.models);
        self.segments.retain(|segment| segment.state.count > 0);
        for segment in &mut self.segments {
            if segment.state.count * 2 < segment.body.len() {
                *segment = Segment::join(&[&*segment], &dimensions, &self.pair_folder)?;
            }
        }
        while let [.., one, two] = &self.segments[..] {
            let entries = one.state.count + two.state.count;
            let vectors: usize = [one, two].iter().flat_map(|part| &part.body.spaces).map(Space::len).sum();
            let fits = entries <= MOST_ENTRIES && vectors <= MOST_VECTORS;
            if !fits || one.state.count > 2 * two.state.count {
                break;
            }
            let joined = Segment::join(&[one, two], &dimensions, &self.pair_folder)?;
            self.segments.truncate(self.segments.len() - 2);
            self.segments.push(joined);
        }
        Ok(())
    }

    fn publish(&mut self) {
        self.version += 1;
        let (bytes, models) = (self.log.bytes(), Arc::clone(&self.models));
        self.shared.show(Snapshot::new(self.segments.clone(), bytes, self.version, models));
    }

    /// Writes a new log of what is needed in place of the old one.
    fn rewrite(&mut self) -> io::Result<()> {
        self.finish_draft();
        let old = self.log.bytes();
        let (segments, revisions) = (&self.segments, &self.revisions);
        let mut alive = segments.iter().enumerate().flat_map(|(segment, part)| {
            part.state.alive.iter().map(move |entry| EntryPosition { segment, entry })
        });
        // Where each record lies: of which entry, whether it is a revision, in which body, from which byte of
        // it, how many.
        let mut moved: Vec<(EntryPosition, bool, usize, usize, usize)> = Vec::new();
        let mut bodies = 0;
        let begins = self.log.rewrite(&mut || {
            let mut body = Vec::new();
            while body.len() < REWRITE_BODY {
                let Some(spot) = alive.next() else { break };
                let part = &segments[spot.segment];
                let revision = revisions.get(&part.body.serials.of(spot.entry));
                let records = [(false, Some(&part.state.places[spot.entry])), (true, revision)];
                for (is_revision, place) in records.into_iter().filter_map(|(is, place)| Some((is, place?))) {
                    moved.push((spot, is_revision, bodies, body.len(), place.size()));
                    body.extend(old.read(place.at(), place.size())?);
                }
            }
            bodies += 1;
            Ok((!body.is_empty()).then_some(body))
        })?;
        drop(alive);
        self.needed = 0;
        for (spot, is_revision, body, from, size) in moved {
            let place = LogSpan::new(begins[body] + from as u64, size)
                .ok_or_else(|| io::Error::other("the index is larger than a terabyte"))?;
            self.needed += place.size() as u64;
            let segment = &mut self.segments[spot.segment];
            if is_revision {
                self.revisions.insert(segment.body.serials.of(spot.entry), place);
            } else {
                Arc::make_mut(&mut segment.state).places[spot.entry] = place;
            }
        }
        Ok(())
    }
}

fn dimensions(models: &[Model]) -> Vec<usize> {
    models.iter().map(|model| model.dimensions).collect()
}

/// Puts records together into bodies that fit a frame.
#[derive(Debug, Default)]
pub(crate) struct Bodies(Vec<Vec<u8>>);

impl Bodies {
    /// Adds a record.
    pub(crate) fn add(&mut self, record: &IndexChange<'_>) {
        if self.0.last().is_none_or(|body| body.len() > LONGEST_FRAME / 2) {
            self.0.push(Vec::new());
        }
        if let Some(body) = self.0.last_mut() {
            record.write(body);
        }
    }

    /// The bodies.
    pub(crate) fn finish(self) -> Vec<Vec<u8>> {
        self.0
    }
}
