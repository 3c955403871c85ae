//! The verbs of a site about challenges of other hubs: it serves a word, or signs it, and so proves that its
//! agents are its own.
//!
//! Promises: only the people who run the site add words and have them signed; what is served everybody may
//! read. It asks no hub for anything.

use agentsite_protocol::{Caller, CardSignature};

use super::{Site, admin_only};
use crate::{ServedChallenge, SiteError, challenges};

/// Longest name of an entry that is signed.
const MAX_ENTRY: usize = 512;

impl Site {
    /// Serves the challenge of another hub for an hour.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site; [`SiteError::BadMessage`] for what
    /// is no word, [`SiteError::TooManyChallenges`].
    pub async fn serve_challenge(&self, by: &Caller, word: &str) -> Result<ServedChallenge, SiteError> {
        admin_only(by)?;
        self.0.challenges.add(by.owner().as_str(), word).await
    }

    /// Serves a challenge no longer; false when it was not served.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site; [`SiteError::Store`].
    pub async fn withdraw_challenge(&self, by: &Caller, word: &str) -> Result<bool, SiteError> {
        admin_only(by)?;
        self.0.challenges.remove(by.owner().as_str(), word).await
    }

    /// The challenges that are served now.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site.
    pub fn served_challenges(&self, by: &Caller) -> Result<Vec<ServedChallenge>, SiteError> {
        admin_only(by)?;
        Ok(self.0.challenges.list())
    }

    /// Whether this word is served now. Everybody may ask, for who knows the word knows it.
    #[must_use]
    pub fn serves_challenge(&self, word: &str) -> bool {
        self.0.challenges.has(word)
    }

    /// Answers the challenge of an entry in another hub with the key that signs the site's cards.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site; [`SiteError::BadMessage`] for what
    /// is no word or no name.
    pub fn answer_challenge(&self, by: &Caller, entry: &str, word: &str) -> Result<CardSignature, SiteError> {
        admin_only(by)?;
        challenges::check(word)?;
        if entry.is_empty() || entry.len() > MAX_ENTRY {
            return Err(SiteError::BadMessage("name the entry as the hub does: urn:air:…".into()));
        }
        Ok(self.0.identity.answer_challenge(entry, word))
    }
}
