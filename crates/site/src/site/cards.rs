//! The verbs of a site about cards and identity: how it presents its agents and itself, and by which keys.
//!
//! Promises: an agent that is not for a caller answers like none; every card is signed, and readers of both
//! versions of A2A find in the public ones what they look for. How a card is put together is `hub`'s matter,
//! how it is signed `identity`'s.

use agentsite_protocol::{AgentCard, AgentName, Caller, Timestamp};

use super::{Site, admin_only};
use crate::hub::for_both_versions;
use crate::{IdentityView, SiteError};

impl Site {
    /// An agent's card with the addresses of this site under `base`, such as `https://example.org`, signed by
    /// the site. Readers of A2A 1.0 and of 0.3 find in it what they look for.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn card(&self, caller: &Caller, name: &AgentName, base: &str) -> Result<AgentCard, SiteError> {
        let mut card = self.for_its_readers(self.0.hub.visible(caller, name)?.card(base, &self.0.settings));
        self.0.identity.sign(&mut card, base);
        Ok(card)
    }

    /// An agent's extended card, for callers who are known: all its skills and the bounds within which it
    /// works.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn extended_card(
        &self,
        caller: &Caller,
        name: &AgentName,
        base: &str,
    ) -> Result<AgentCard, SiteError> {
        let mut card = self.0.hub.visible(caller, name)?.extended_card(base, &self.0.settings);
        self.0.identity.sign(&mut card, base);
        Ok(card)
    }

    /// The card of the site itself, signed: that of its concierge, or of the agent that answers in its place.
    #[must_use]
    pub fn site_card(&self, caller: &Caller, base: &str) -> AgentCard {
        let mut card = self.for_its_readers(self.plain_site_card(caller, base));
        self.0.identity.sign(&mut card, base);
        card
    }

    /// The card of the site itself for known callers, signed: the same, in the words of A2A 1.0 only.
    #[must_use]
    pub fn extended_site_card(&self, caller: &Caller, base: &str) -> AgentCard {
        let mut card = self.plain_site_card(caller, base);
        self.0.identity.sign(&mut card, base);
        card
    }

    /// The card in the words of both versions, unless the operator wants only those of the newer.
    fn for_its_readers(&self, card: AgentCard) -> AgentCard {
        if self.0.settings.hybrid_cards { for_both_versions(card) } else { card }
    }

    fn plain_site_card(&self, caller: &Caller, base: &str) -> AgentCard {
        let agent = self.default_agent(caller);
        let entry = self.0.hub.get(&agent).filter(|_| agent != self.0.concierge);
        match entry {
            Some(entry) => entry.card_for_site(base, &self.0.settings),
            None => self.0.hub.site_card(caller, base, &self.0.settings, &self.0.concierge),
        }
    }

    /// Who the site is: its keys and how they changed. Everybody may know.
    #[must_use]
    pub fn identity(&self) -> IdentityView {
        self.0.identity.view()
    }

    /// Takes new keys, for which the old ones vouch in a rotation record.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site; [`SiteError::Store`], and the keys
    /// stay as they were.
    pub async fn rotate_identity(&self, by: &Caller) -> Result<IdentityView, SiteError> {
        admin_only(by)?;
        // The keys that the new ones replace are on disk first.
        self.commit_founding().await?;
        self.0.identity.rotate(by.owner().as_str()).await
    }

    /// The site's signature of what is said under `base` of who stands behind an entry of a catalogue: a
    /// detached JWS over the canonical form of `manifest`, whose header is of the type `trust-manifest+jose`.
    /// `None` when it has no canonical form.
    #[must_use]
    pub fn sign_manifest(&self, manifest: &serde_json::Value, base: &str) -> Option<String> {
        self.0.identity.sign_manifest(manifest, base)
    }

    /// How many signed cards are remembered.
    #[cfg(test)]
    pub(crate) fn signed_cards(&self) -> usize {
        self.0.identity.remembered()
    }

    /// When the agents of the site last changed; no card is younger, but for what an agent elsewhere says of
    /// itself.
    #[must_use]
    pub fn agents_changed_at(&self) -> Timestamp {
        self.0.hub.changed_at()
    }

    /// The agent that finds the right one for a message in plain language.
    #[must_use]
    pub fn concierge(&self) -> AgentName {
        self.0.concierge.clone()
    }

    /// The agent that answers this caller for the site itself: the one that the settings name, as long as it
    /// is there and this caller may call it, else the concierge.
    #[must_use]
    pub fn default_agent(&self, caller: &Caller) -> AgentName {
        let named = self.0.settings.default_agent.as_ref();
        let named = named.filter(|name| self.0.hub.visible(caller, name).is_ok());
        named.unwrap_or(&self.0.concierge).clone()
    }
}
