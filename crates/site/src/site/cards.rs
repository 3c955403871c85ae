//! The handle for cards and identity: how it presents its agents and itself, and by which keys.
//!
//! Promises: an agent that is not for a caller answers like none; every card is signed, and readers of both
//! versions of A2A find in the public ones what they look for. How a card is put together is `local_agents`'
//! matter, how it is signed `identity`'s.

use std::sync::Arc;

use agentsite_protocol::{AgentCard, AgentName, Caller, Timestamp};

use super::admin_only;
use super::agents::Agents;
use super::founding::Founding;
use crate::identity::Identity;
use crate::local_agents::{LocalAgents, for_both_versions};
use crate::{IdentityView, SiteError, SiteSettings};

/// The signed cards of a site and its agents, and the keys that sign them.
#[derive(Debug, Clone)]
pub struct Cards {
    pub(super) local: Arc<LocalAgents>,
    pub(super) agents: Agents,
    pub(super) identity: Arc<Identity>,
    pub(super) founding: Arc<Founding>,
    pub(super) settings: Arc<SiteSettings>,
}

impl Cards {
    /// An agent's card with the addresses of this site under `base`, such as `https://example.org`, signed by
    /// the site. Readers of A2A 1.0 and of 0.3 find in it what they look for.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn get(&self, caller: &Caller, name: &AgentName, base: &str) -> Result<AgentCard, SiteError> {
        let mut card = self.for_its_readers(self.local.visible(caller, name)?.card(base, &self.settings));
        self.identity.sign(&mut card, base);
        Ok(card)
    }

    /// An agent's extended card, for callers who are known: all its skills and the bounds within which it
    /// works.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn extended(&self, caller: &Caller, name: &AgentName, base: &str) -> Result<AgentCard, SiteError> {
        let mut card = self.local.visible(caller, name)?.extended_card(base, &self.settings);
        self.identity.sign(&mut card, base);
        Ok(card)
    }

    /// The card of the site itself, signed: that of its concierge, or of the agent that answers in its place.
    #[must_use]
    pub fn of_site(&self, caller: &Caller, base: &str) -> AgentCard {
        let mut card = self.for_its_readers(self.plain_site_card(caller, base));
        self.identity.sign(&mut card, base);
        card
    }

    /// The card of the site itself for known callers, signed: the same, in the words of A2A 1.0 only.
    #[must_use]
    pub fn extended_of_site(&self, caller: &Caller, base: &str) -> AgentCard {
        let mut card = self.plain_site_card(caller, base);
        self.identity.sign(&mut card, base);
        card
    }

    /// The card in the words of both versions, unless the operator wants only those of the newer.
    fn for_its_readers(&self, card: AgentCard) -> AgentCard {
        if self.settings.site.hybrid_cards { for_both_versions(card) } else { card }
    }

    fn plain_site_card(&self, caller: &Caller, base: &str) -> AgentCard {
        let agent = self.agents.default_for(caller);
        let entry = self.local.get(&agent).filter(|_| agent != self.agents.concierge());
        match entry {
            Some(entry) => entry.card_for_site(base, &self.settings),
            None => self.local.site_card(caller, base, &self.settings, &self.agents.concierge()),
        }
    }

    /// Who the site is: its keys and how they changed. Everybody may know.
    #[must_use]
    pub fn identity(&self) -> IdentityView {
        self.identity.view()
    }

    /// Takes new keys, for which the old ones vouch in a rotation record.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::Store`], and the keys
    /// stay as they were.
    pub async fn rotate_identity(&self, by: &Caller) -> Result<IdentityView, SiteError> {
        admin_only(by)?;
        // The keys that the new ones replace are on disk first.
        self.founding.commit().await?;
        self.identity.rotate(by.owner().as_str()).await
    }

    /// The site's signature of what is said under `base` of who stands behind an entry of a catalogue: a
    /// detached JWS over the canonical form of `manifest`, whose header is of the type `trust-manifest+jose`.
    /// `None` when it has no canonical form.
    #[must_use]
    pub fn sign_manifest(&self, manifest: &serde_json::Value, base: &str) -> Option<String> {
        self.identity.sign_manifest(manifest, base)
    }

    /// How many signed cards are remembered.
    #[cfg(test)]
    pub(crate) fn signed_cards(&self) -> usize {
        self.identity.remembered()
    }

    /// When the agents of the site last changed; no card is younger, but for what an agent elsewhere says of
    /// itself.
    #[must_use]
    pub fn changed_at(&self) -> Timestamp {
        self.local.changed_at()
    }
}
