//! The wire form of a frame: ranges by their upper bounds, each with a fingerprint, a list of ids, or
//! nothing.
//!
//! Promises: reads what it writes and what other implementations of negentropy version 1 write; refuses
//! everything else without a panic. A writer never goes past its limit: when something does not fit, it
//! writes one fingerprint of all that is left, and is full.

use std::ops::Range;

use super::set::{Item, RangeSet};
use super::{BadFrame, MAX_FRAME};
use crate::record::RecordId;
use crate::varint::{self, Reader, Truncated};

/// The first byte of every frame.
const VERSION: u8 = 0x61;

/// Longest bound: time, length of the id, id.
const BOUND_BYTES: usize = 10 + 1 + 32;

/// Room that is kept for the end of a frame: a range to skip, and the fingerprint of the rest.
const TAIL: usize = BOUND_BYTES + 1 + 2 + 1 + 16;

/// The end of a range: everything below it belongs to the range. An id may be given by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    at: u64,
    prefix: [u8; 32],
    length: usize,
}

impl Bound {
    /// The bound above every item.
    pub(super) const END: Self = Self { at: u64::MAX, prefix: [0; 32], length: 0 };

    /// The shortest bound above `below` and not above `above`.
    pub(super) fn between(below: Item, above: Item) -> Self {
        if below.at != above.at {
            return Self { at: above.at, prefix: [0; 32], length: 0 };
        }
        let ids = below.id.as_bytes().iter().zip(above.id.as_bytes());
        let length = ids.take_while(|(a, b)| a == b).count() + 1;
        Self::prefix(above, length)
    }

    /// The bound just below an item.
    fn below(item: Item) -> Self {
        Self::prefix(item, 32)
    }

    fn prefix(item: Item, length: usize) -> Self {
        let mut prefix = [0; 32];
        prefix[..length].copy_from_slice(&item.id.as_bytes()[..length]);
        Self { at: item.at, prefix, length }
    }

    /// The least item that is not below the bound.
    pub(super) const fn least(&self) -> Item {
        Item { at: self.at, id: RecordId::from_bytes(self.prefix) }
    }

    fn write(&self, last: &mut u64, out: &mut Vec<u8>) {
        if self.at == u64::MAX {
            varint::write(0, out);
        } else {
            varint::write((self.at - *last).saturating_add(1), out);
        }
        *last = self.at;
        varint::write(self.length as u64, out);
        out.extend_from_slice(&self.prefix[..self.length]);
    }

    fn read(last: &mut u64, reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        let at = match reader.number()? {
            0 => u64::MAX,
            step => last.checked_add(step - 1).ok_or(BadFrame::Order)?,
        };
        *last = at;
        let length = reader.count()?;
        if length > 32 {
            return Err(BadFrame::Malformed);
        }
        let mut prefix = [0; 32];
        prefix[..length].copy_from_slice(reader.take(length)?);
        Ok(Self { at, prefix, length })
    }
}

/// What a frame says of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing.
    Skip,
    /// The fingerprint of the sender's part.
    Fingerprint([u8; 16]),
    /// All ids of the sender's part.
    Ids(Vec<RecordId>),
}

/// One range of a frame, which begins where the one before it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameRange {
    pub(super) upper: Bound,
    pub(super) content: Content,
}

impl From<Truncated> for BadFrame {
    fn from(_: Truncated) -> Self {
        Self::Malformed
    }
}

/// Reads a frame.
pub(super) fn read_frame(bytes: &[u8]) -> Result<Vec<FrameRange>, BadFrame> {
    if bytes.len() > MAX_FRAME {
        return Err(BadFrame::TooLong);
    }
    let mut reader = Reader::new(bytes);
    if reader.byte()? != VERSION {
        return Err(BadFrame::Version);
    }
    let (mut ranges, mut last) = (Vec::<FrameRange>::new(), 0);
    while !reader.is_empty() {
        let upper = Bound::read(&mut last, &mut reader)?;
        if ranges.last().is_some_and(|before| before.upper.least() >= upper.least()) {
            return Err(BadFrame::Order);
        }
        let content = match reader.number()? {
            0 => Content::Skip,
            1 => Content::Fingerprint(reader.array()?),
            2 => {
                let count = reader.count()?;
                if count > reader.len() / 32 {
                    return Err(BadFrame::Malformed);
                }
                let ids = (0..count).map(|_| reader.array().map(RecordId::from_bytes));
                Content::Ids(ids.collect::<Result<_, _>>()?)
            }
            _ => return Err(BadFrame::Malformed),
        };
        ranges.push(FrameRange { upper, content });
    }
    Ok(ranges)
}

/// A frame that is being written.
#[derive(Debug)]
pub(super) struct FrameWriter {
    bytes: Vec<u8>,
    limit: usize,
    /// The time of the last bound that was written: the next one is written as the difference.
    last: u64,
    /// How many items of the set the written ranges cover.
    covered: usize,
    /// Where a range ends that needs no word, and how many items lie below its end.
    skipped: Option<(Bound, usize)>,
    full: bool,
}

impl FrameWriter {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: vec![VERSION], limit, last: 0, covered: 0, skipped: None, full: false }
    }

    /// Whether nothing more fits.
    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Says nothing about the items up to a bound.
    pub(super) const fn skip(&mut self, upper: Bound, rank: usize) {
        self.skipped = Some((upper, rank));
    }

    /// Writes fingerprints of consecutive ranges; `rank` items lie below the last of their bounds.
    pub(super) fn fingerprints(&mut self, parts: &[(Bound, [u8; 16])], rank: usize) {
        let room = BOUND_BYTES + parts.len() * (BOUND_BYTES + 1 + 16);
        if !self.has_room(room) {
            self.full = true;
            return;
        }
        self.write_skip();
        for (bound, fingerprint) in parts {
            bound.write(&mut self.last, &mut self.bytes);
            varint::write(1, &mut self.bytes);
            self.bytes.extend_from_slice(fingerprint);
        }
        self.covered = rank;
    }

    /// Writes the ids of a range, as many as fit.
    pub(super) fn list(&mut self, set: &RangeSet, range: Range<usize>, upper: Bound) {
        let head = 2 * (BOUND_BYTES + 1) + 4;
        let room = (self.limit.saturating_sub(self.bytes.len() + head + TAIL)) / 32;
        let fits = range.len().min(room);
        self.full = fits < range.len();
        if self.full && fits == 0 || !self.has_room(head) {
            self.full = true;
            return;
        }
        self.write_skip();
        let end = range.start + fits;
        let bound = if self.full { Bound::below(set.get(end)) } else { upper };
        bound.write(&mut self.last, &mut self.bytes);
        varint::write(2, &mut self.bytes);
        varint::write(fits as u64, &mut self.bytes);
        set.items(range.start..end).for_each(|item| self.bytes.extend_from_slice(item.id.as_bytes()));
        self.covered = end;
    }

    /// Ends the frame. When something did not fit, the rest of the set goes into one fingerprint.
    pub(super) fn finish(mut self, set: &RangeSet) -> Vec<u8> {
        if self.full {
            self.write_skip();
            Bound::END.write(&mut self.last, &mut self.bytes);
            varint::write(1, &mut self.bytes);
            let rest = set.fingerprint(self.covered..set.len());
            self.bytes.extend_from_slice(&rest);
        }
        debug_assert!(self.bytes.len() <= self.limit, "a frame stays within its limit");
        self.bytes
    }

    fn write_skip(&mut self) {
        if let Some((bound, rank)) = self.skipped.take() {
            bound.write(&mut self.last, &mut self.bytes);
            varint::write(0, &mut self.bytes);
            self.covered = rank;
        }
    }

    const fn has_room(&self, more: usize) -> bool {
        self.bytes.len() + more + TAIL <= self.limit
    }
}
