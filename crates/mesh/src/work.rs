//! Work: what an identity costs, once per key.
//!
//! Promises: making an identity takes about 2^bits hashes, and everybody checks that with
//! one, before the much dearer signature. It makes identities in bulk expensive, not impossible: it is one
//! brake among several (see docs/mesh.md). The search for a nonce is a bounded step, so that a driver can
//! spread it.

use sha2::{Digest as _, Sha256};

use crate::site_id::SiteId;

/// What is hashed before the key, so that no other proof of work passes for this one.
const DOMAIN: &[u8] = b"agentsite work v1\0";

/// Largest nonce: the largest whole number that every reader of JSON holds exactly.
pub const MAX_NONCE: u64 = (1 << 53) - 1;

/// A nonce and the work that it proves for its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// Leading zero bits of the hash.
    pub bits: u32,
    /// The number that gives them.
    pub nonce: u64,
}

impl Work {
    /// The work that this nonce proves for this site.
    #[must_use]
    pub fn of(site: &SiteId, nonce: u64) -> Self {
        let digest = Sha256::new_with_prefix(DOMAIN)
            .chain_update(site.as_bytes())
            .chain_update(nonce.to_be_bytes())
            .finalize();
        let head = u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"));
        Self { bits: head.leading_zeros(), nonce }
    }

    /// Tries the nonces of a range and gives the best; the first one when it is empty.
    #[must_use]
    pub fn search(site: &SiteId, nonces: std::ops::Range<u64>) -> Self {
        let first = Self::of(site, nonces.start);
        nonces
            .skip(1)
            .map(|nonce| Self::of(site, nonce))
            .fold(first, |best, next| if next.bits > best.bits { next } else { best })
    }

    /// Searches from nonce 0 until this many bits are found. Takes about 2^bits hashes: for few bits only.
    #[must_use]
    pub fn at_least(site: &SiteId, bits: u32) -> Self {
        (0..=MAX_NONCE)
            .map(|nonce| Self::of(site, nonce))
            .find(|work| work.bits >= bits)
            .unwrap_or_else(|| Self::of(site, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_belongs_to_its_site_alone() {
        let (one, other) = (SiteId::from_bytes([1; 32]), SiteId::from_bytes([2; 32]));
        let work = Work::at_least(&one, 12);
        assert!(work.bits >= 12);
        assert_eq!(Work::of(&one, work.nonce), work);
        assert!(Work::of(&other, work.nonce).bits < 12);
    }

    #[test]
    fn a_longer_search_is_never_worse() {
        let site = SiteId::from_bytes([3; 32]);
        let short = Work::search(&site, 0..100);
        let long = Work::search(&site, 0..5_000);
        assert!(long.bits >= short.bits);
        assert_eq!(Work::search(&site, 7..7).nonce, 7);
    }
}
