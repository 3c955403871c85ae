//! Index: the entries in memory, and the log that they come back from.
//!
//! Promises: a change is on disk before it is visible; readers hold a [`Snapshot`], which never changes, and
//! never wait. There is one way from a record to memory, taken at a start and at every change. It does not
//! make vectors and does not rank.

pub(crate) mod bits;
pub(crate) mod candidate;
mod capacity;
pub(crate) mod cells;
pub(crate) mod coded;
mod column;
pub(crate) mod columns;
mod dictionary;
mod gains;
mod lexical;
mod names;
mod near;
mod often;
pub(crate) mod pairs;
mod postings;
pub(crate) mod scan;
pub(crate) mod segment;
mod snapshot;
pub(crate) mod space;
mod starts;
pub(crate) mod terms;
mod writer;

pub(crate) use self::snapshot::{EntryPosition, Model, Shared, Snapshot};
pub(crate) use self::writer::{Bodies, Writer};
