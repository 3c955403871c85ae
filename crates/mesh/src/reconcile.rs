//! Reconcile: two sites find out which records only one of them has, in messages that grow with the
//! difference and not with the set.
//!
//! Range-based set reconciliation: ranges of an ordered set are compared by fingerprints, and those that
//! differ are split until they are short enough to list. The messages are those of negentropy, version 1
//! (<https://github.com/hoytech/negentropy>), which the tests run against. Both sides are pure functions of
//! their set and the frame that came: nothing is kept between two frames, so a set may change meanwhile.
//!
//! Promises: a frame is never longer than [`MAX_FRAME`]; what does not fit is covered by a fingerprint and
//! comes with the next one. Foreign frames cost time linear in their length. It transfers ids, not records.

mod frame;
mod set;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::frame::{Bound, Content, FrameWriter, read_frame};
use crate::record::RecordId;

pub use set::{Item, RangeSet};

/// Longest frame, in bytes: a message of 64 kB holds it with its head.
pub const MAX_FRAME: usize = 60_000;

/// A range that differs is split into this many.
const BUCKETS: usize = 16;

/// A range with fewer items than this is listed instead of split.
const MAX_LISTED: usize = 2 * BUCKETS;

/// A frame that is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// Longer than frames may be.
    #[error("the frame is longer than {MAX_FRAME} bytes")]
    TooLong,
    /// Not a frame of this protocol and version.
    #[error("the frame is not one of negentropy, version 1")]
    Version,
    /// Cut off, or with numbers that are not in their shortest form.
    #[error("the frame ends too early, or is not in its shortest form")]
    Malformed,
    /// Ranges that overlap or go back.
    #[error("the ranges of the frame are not in order")]
    Order,
}

/// What the initiator learned from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Ids that only the initiator has.
    pub have: Vec<RecordId>,
    /// Ids that only the responder has.
    pub need: Vec<RecordId>,
    /// The next frame to send; none when everything was compared.
    pub next: Option<Vec<u8>>,
}

/// The first frame of an initiator with this set.
#[must_use]
pub fn open(set: &RangeSet) -> Vec<u8> {
    let mut out = FrameWriter::new(MAX_FRAME);
    split(set, 0..set.len(), Bound::END, &mut out);
    out.finish(set)
}

/// The responder's answer to a frame.
///
/// # Errors
/// [`BadFrame`] when it is not one.
pub fn answer(set: &RangeSet, query: &[u8]) -> Result<Vec<u8>, BadFrame> {
    compare(set, query, MAX_FRAME, None)
}

/// What an initiator learns from an answer, and what it sends next.
///
/// # Errors
/// [`BadFrame`] when the answer is not a frame.
pub fn advance(set: &RangeSet, answer: &[u8]) -> Result<Progress, BadFrame> {
    let mut progress = Progress::default();
    let next = compare(set, answer, MAX_FRAME, Some(&mut progress))?;
    // A frame of one byte has no range: nothing is left to compare.
    progress.next = (next.len() > 1).then_some(next);
    Ok(progress)
}

/// Compares the ranges of a frame with a set. An initiator collects differences in `found`; a responder
/// answers a list with its own.
fn compare(
    set: &RangeSet,
    frame: &[u8],
    limit: usize,
    mut found: Option<&mut Progress>,
) -> Result<Vec<u8>, BadFrame> {
    let ranges = read_frame(frame)?;
    let mut out = FrameWriter::new(limit);
    let mut lower = 0;
    for range in ranges {
        let upper = set.rank(range.upper.least()).max(lower);
        match range.content {
            Content::Skip => out.skip(range.upper, upper),
            Content::Fingerprint(theirs) if theirs == set.fingerprint(lower..upper) => {
                out.skip(range.upper, upper);
            }
            Content::Fingerprint(_) => split(set, lower..upper, range.upper, &mut out),
            Content::Ids(theirs) => match &mut found {
                Some(found) => {
                    diff(set, lower..upper, theirs, found);
                    out.skip(range.upper, upper);
                }
                None => out.list(set, lower..upper, range.upper),
            },
        }
        if out.is_full() {
            break;
        }
        lower = upper;
    }
    Ok(out.finish(set))
}

/// Writes a range that differs: its ids when they are few, else the fingerprints of its parts.
fn split(set: &RangeSet, range: Range<usize>, end: Bound, out: &mut FrameWriter) {
    if range.len() < MAX_LISTED {
        return out.list(set, range, end);
    }
    let mut parts = Vec::with_capacity(BUCKETS);
    let mut lower = range.start;
    for bucket in 1..=BUCKETS {
        let upper = range.start + range.len() * bucket / BUCKETS;
        let bound = if bucket == BUCKETS { end } else { Bound::between(set.get(upper - 1), set.get(upper)) };
        parts.push((bound, set.fingerprint(lower..upper)));
        lower = upper;
    }
    out.fingerprints(&parts, range.end);
}

/// Compares our part of a range with a list of theirs.
fn diff(set: &RangeSet, range: Range<usize>, mut theirs: Vec<RecordId>, found: &mut Progress) {
    theirs.sort_unstable();
    theirs.dedup();
    let mut shared = vec![false; theirs.len()];
    for item in set.items(range) {
        match theirs.binary_search(&item.id) {
            Ok(place) => shared[place] = true,
            Err(_) => found.have.push(item.id),
        }
    }
    found.need.extend(theirs.into_iter().zip(shared).filter(|(_, shared)| !shared).map(|(id, _)| id));
}
