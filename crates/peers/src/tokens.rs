//! Tokens: the proof of a calling site counts once, whichever process of this site it is shown to.
//!
//! Promises: a process refuses what it has seen itself without asking the store. Where several processes
//! serve the site, the word of each token is a record of the store until the token could no longer hold,
//! and the first process that writes it takes the call. When the store does not answer, the token does not
//! count.

use std::sync::PoisonError;

use agentsite_protocol::{BadSiteToken, SITE_TOKEN_LEEWAY, SiteToken, Timestamp};
use agentsite_store::{Change, Collection, StoreError, Unjournaled};
use serde::{Deserialize, Serialize};

use crate::error::PeersError;
use crate::guard::mark;
use crate::shared::Shared;

/// Where the words are kept that were seen, by a part of their digest.
pub(crate) const TOKENS: Collection<SeenWord> = Collection::new("mesh_tokens");

/// A word that was seen; that it is there says everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenWord {}

impl Shared {
    /// Lets a proven token pass once.
    pub(crate) async fn admit_token(&self, token: &SiteToken, now: Timestamp) -> Result<(), PeersError> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).admit(token, now)?;
        if !self.is_shared {
            return Ok(());
        }
        let key: String = mark(token).iter().map(|byte| format!("{byte:02x}")).collect();
        let until = token.expires_at.plus(SITE_TOKEN_LEEWAY);
        let put = TOKENS.put(&key, None, 0, &SeenWord {})?.ending(until);
        match self.store.commit(Change::unjournaled(Unjournaled::PeerRecords).edit(put)).await {
            Err(StoreError::Moved(_)) => Err(BadSiteToken::Replayed.into()),
            done => Ok(done?),
        }
    }
}
