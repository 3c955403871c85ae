//! CellId: the place of a cell in the tree of centroids.
//!
//! Promises: a cell is the path of sides (0 or 1) that lead to it from the root, at most [`MAX_SPLITS`] of
//! them; it has one written form. Its key is a point among the keys of sites, so that every site computes
//! alike which sites are nearest to a cell.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::site_id::SiteId;

/// Deepest cell: 2^32 cells hold more vectors than there are.
pub const MAX_SPLITS: u8 = 32;

/// What is hashed before a cell or a site, so that other hashes are not keys.
const KEY_DOMAIN: &[u8] = b"agentsite cell key v1\0";

/// A cell: the sides taken from the root, the first one as the highest of `depth` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId {
    depth: u8,
    path: u32,
}

impl CellId {
    /// The cell that holds everything while nothing was split.
    pub const ROOT: Self = Self { depth: 0, path: 0 };

    /// One of the two cells that this one is split into; none when it is too deep.
    #[must_use]
    pub fn child(self, side: usize) -> Option<Self> {
        let bit = u32::from(side != 0);
        (self.depth < MAX_SPLITS).then(|| Self { depth: self.depth + 1, path: self.path << 1 | bit })
    }

    /// The cell of this depth with these sides, the first one as the highest of `depth` bits.
    #[must_use]
    pub fn of(depth: u8, path: u32) -> Option<Self> {
        let fits = depth <= MAX_SPLITS && u64::from(path) < 1 << depth;
        fits.then_some(Self { depth, path })
    }

    /// The sides that lead to it.
    #[must_use]
    pub const fn path(self) -> u32 {
        self.path
    }

    /// How many splits lead to it.
    #[must_use]
    pub const fn depth(self) -> u8 {
        self.depth
    }

    /// Whether `other` is this cell or a part of it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        match other.depth.checked_sub(self.depth) {
            Some(32) => true,
            Some(below) => other.path >> below == self.path,
            None => false,
        }
    }

    /// Its place among the keys of sites.
    #[must_use]
    pub fn key(self) -> [u8; 32] {
        hashed(self.to_string().as_bytes())
    }
}

/// The place of a site among the keys of cells.
pub(crate) fn site_key(site: &SiteId) -> [u8; 32] {
    hashed(site.as_bytes())
}

fn hashed(bytes: &[u8]) -> [u8; 32] {
    Sha256::new_with_prefix(KEY_DOMAIN).chain_update(bytes).finalize().into()
}

impl fmt::Display for CellId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("r")?;
        (0..self.depth).rev().try_for_each(|bit| write!(out, "{}", self.path >> bit & 1))
    }
}

/// A text that does not name a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cell is written as `r` and at most {MAX_SPLITS} digits 0 or 1")]
pub struct BadCell;

impl FromStr for CellId {
    type Err = BadCell;

    fn from_str(text: &str) -> Result<Self, BadCell> {
        let digits = text.strip_prefix('r').ok_or(BadCell)?;
        digits.bytes().try_fold(Self::ROOT, |cell, digit| match digit {
            b'0' | b'1' => cell.child(usize::from(digit - b'0')).ok_or(BadCell),
            _ => Err(BadCell),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_written_and_read_and_contains_its_parts() {
        for text in ["r", "r0", "r01101", &format!("r{}", "10".repeat(16))] {
            assert_eq!(text.parse::<CellId>().unwrap().to_string(), text);
            assert!(CellId::ROOT.contains(text.parse().unwrap()));
        }
        for text in ["", "0", "r2", "R", "r01 ", &format!("r{}", "1".repeat(33))] {
            assert_eq!(text.parse::<CellId>(), Err(BadCell), "{text}");
        }
        let (cell, part): (CellId, CellId) = ("r01".parse().unwrap(), "r0110".parse().unwrap());
        assert!(cell.contains(part) && cell.contains(cell) && !part.contains(cell));
        assert!(!cell.contains("r001".parse().unwrap()));
        assert_ne!(cell.key(), part.key());
    }
}
