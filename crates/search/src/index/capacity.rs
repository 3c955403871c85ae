//! How much a segment holds.
//!
//! Promises: what is built on these numbers (entries in 16 bits, blocks of postings) is checked where it is
//! used. They say nothing about how many segments there are.

/// Entries of a segment. Their numbers fit 16 bits, copying what changes of a full one takes a fraction of a
/// millisecond, and a hash table of this size has its maximal load.
pub(crate) const MOST_ENTRIES: usize = 28_672;

/// Vectors of a segment, so that segments of large entries do not grow beyond what joining them is worth.
pub(crate) const MOST_VECTORS: usize = 2 * MOST_ENTRIES;
