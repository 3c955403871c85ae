//! Guard: a proof of a calling site counts once.
//!
//! Promises: pure; a word that was seen is refused until its token could no longer hold. Tokens from before
//! the guard began are refused, so that a restart does not make them fresh. One site cannot fill the memory
//! of all: it has a share. It is the memory of one process; `tokens` has that of a site.

use std::collections::{BTreeMap, HashMap, HashSet};

use agentsite_protocol::{BadSiteToken, SITE_TOKEN_LEEWAY, SiteToken, Timestamp};
use sha2::{Digest as _, Sha256};

/// Most words that are remembered, 40 bytes each: two thousand calls per second for the two minutes in which
/// a token can hold.
const MAX_WORDS: usize = 262_144;

/// Most of them of one site.
const MAX_OF_SITE: usize = MAX_WORDS / 8;

/// Part of a digest by which a word of a site is remembered.
type Seen = [u8; 16];

/// The words that were seen.
#[derive(Debug)]
pub(crate) struct ReplayGuard {
    began: Timestamp,
    seen: HashSet<Seen>,
    /// The same by the time at which they can be forgotten.
    ends: BTreeMap<(Timestamp, Seen), String>,
    of_site: HashMap<String, usize>,
}

impl ReplayGuard {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { began: now, seen: HashSet::new(), ends: BTreeMap::new(), of_site: HashMap::new() }
    }

    /// Lets a proven token pass once.
    pub(crate) fn admit(&mut self, token: &SiteToken, now: Timestamp) -> Result<(), BadSiteToken> {
        self.forget(now);
        // Times in tokens are whole seconds: one that was made in the second of the start counts.
        if token.issued_at.plus(std::time::Duration::from_secs(1)) <= self.began {
            return Err(BadSiteToken::Time);
        }
        let seen = mark(token);
        let count = self.of_site.get(&token.site).copied().unwrap_or_default();
        if self.seen.contains(&seen) || self.seen.len() >= MAX_WORDS || count >= MAX_OF_SITE {
            return Err(BadSiteToken::Replayed);
        }
        self.seen.insert(seen);
        self.ends.insert((token.expires_at.plus(SITE_TOKEN_LEEWAY), seen), token.site.clone());
        *self.of_site.entry(token.site.clone()).or_default() += 1;
        Ok(())
    }

    fn forget(&mut self, now: Timestamp) {
        while let Some(entry) = self.ends.first_entry() {
            if entry.key().0 >= now {
                return;
            }
            let ((_, seen), site) = entry.remove_entry();
            self.seen.remove(&seen);
            if let Some(count) = self.of_site.get_mut(&site) {
                *count -= 1;
                if *count == 0 {
                    self.of_site.remove(&site);
                }
            }
        }
    }
}

/// By what the word of a token is remembered.
pub(crate) fn mark(token: &SiteToken) -> Seen {
    let digest = Sha256::new_with_prefix(&token.site).chain_update([0]).chain_update(&token.word).finalize();
    digest[..16].try_into().expect("a digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn token(site: &str, word: &str, seconds: i64) -> SiteToken {
        SiteToken {
            site: site.into(),
            word: word.into(),
            issued_at: at(seconds),
            expires_at: at(seconds + 60),
            user: None,
        }
    }

    #[test]
    fn a_word_counts_once_for_each_site() {
        let mut guard = ReplayGuard::new(at(100));
        assert_eq!(guard.admit(&token("a", "w", 100), at(100)), Ok(()));
        assert_eq!(guard.admit(&token("a", "w", 100), at(110)), Err(BadSiteToken::Replayed));
        assert_eq!(guard.admit(&token("b", "w", 100), at(110)), Ok(()));
        assert_eq!(guard.admit(&token("a", "v", 100), at(110)), Ok(()));
    }

    #[test]
    fn what_could_no_longer_hold_is_forgotten() {
        let mut guard = ReplayGuard::new(at(100));
        guard.admit(&token("a", "w", 100), at(100)).unwrap();
        let over = at(160).plus(SITE_TOKEN_LEEWAY + Duration::from_secs(1));
        guard.admit(&token("a", "v", 230), over).unwrap();
        assert_eq!((guard.seen.len(), guard.ends.len(), guard.of_site["a"]), (1, 1, 1));
    }

    #[test]
    fn a_token_from_before_the_start_does_not_count() {
        let mut guard = ReplayGuard::new(at(100));
        assert_eq!(guard.admit(&token("a", "w", 98), at(100)), Err(BadSiteToken::Time));
    }

    #[test]
    fn one_site_does_not_fill_the_memory_of_all() {
        let mut guard = ReplayGuard::new(at(100));
        for word in 0..MAX_OF_SITE {
            guard.admit(&token("a", &word.to_string(), 100), at(100)).unwrap();
        }
        assert_eq!(guard.admit(&token("a", "more", 100), at(100)), Err(BadSiteToken::Replayed));
        assert_eq!(guard.admit(&token("b", "more", 100), at(100)), Ok(()));
    }
}
