//! The verbs of a site about its hub: every agent that it runs or knows, in one form.
//!
//! Promises: one who may not see an agent is told that it does not exist. Names and addresses are those of
//! the site under `base`, such as `https://example.org`.

use agentsite_protocol::listing::{A2A_CARD, Listing, Proof, Standing, air_urn};
use agentsite_protocol::{Caller, Skill};
use agentsite_search::{Entry as Searchable, Facts, Passage};
use url::Url;

use super::Site;
use crate::hub::Entry;
use crate::{SiteError, registry};

/// The namespace of the agents that a site runs.
pub(crate) const OWN_NAMESPACE: &str = "agents";

/// To whom the agents that a site runs belong.
pub(crate) const OWN_OWNER: &str = "admin";

impl Site {
    /// All agents that this caller may see, by name.
    #[must_use]
    pub fn listings(&self, caller: &Caller, base: &str) -> Vec<Listing> {
        self.0.hub.list(caller).iter().map(|entry| self.own_listing(entry, base)).collect()
    }

    /// The agent of this name everywhere, if this caller may see it.
    #[must_use]
    pub fn listing(&self, caller: &Caller, id: &str, base: &str) -> Option<Listing> {
        self.listings(caller, base).into_iter().find(|listing| listing.id == id)
    }

    /// The agent of this name everywhere, run here or known from elsewhere, if this caller may see it.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn any_listing(
        &self,
        caller: &Caller,
        id: &str,
        base: &str,
    ) -> Result<Option<Listing>, SiteError> {
        if let Some(own) = self.listing(caller, id, base) {
            return Ok(Some(own));
        }
        self.registered(caller, id).await
    }

    /// The agent of this name that the site knows from elsewhere, if this caller may see it.
    pub(crate) async fn registered(&self, caller: &Caller, id: &str) -> Result<Option<Listing>, SiteError> {
        let found = self.0.store.listing(id).await?.map(|entry| entry.listing);
        Ok(found.filter(|listing| registry::sees(caller, listing)))
    }

    pub(crate) fn own_listing(&self, entry: &Entry, base: &str) -> Listing {
        let (manifest, holder) = (&entry.manifest, entry.holder.as_ref());
        let card = entry.card(base, &self.0.settings);
        let publisher = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
        let publisher = publisher.unwrap_or_else(|| "localhost".into());
        let skills: Vec<Skill> = card.skills;
        let mut tags: Vec<String> = skills.iter().flat_map(|skill| skill.tags.clone()).collect();
        tags.sort_unstable();
        tags.dedup();
        Listing {
            id: air_urn(&publisher, OWN_NAMESPACE, manifest.name.as_str()),
            name: manifest.name.to_string(),
            description: manifest.description.clone(),
            version: manifest.version.clone(),
            media_type: A2A_CARD.into(),
            url: Some(format!(
                "{}/a2a/{}/.well-known/agent-card.json",
                base.trim_end_matches('/'),
                manifest.name
            )),
            document: None,
            skills,
            tags,
            protocols: vec!["a2a".into(), "mcp".into()],
            interfaces: Vec::new(),
            input_modes: card.default_input_modes,
            output_modes: card.default_output_modes,
            local: true,
            visibility: manifest.visibility,
            owner: holder.map_or_else(|| OWN_OWNER.into(), |holder| holder.owner.to_string()),
            standing: Standing::Active,
            proof: Proof::Site,
            live: entry.view().health == "ready",
            trust: 0.5,
            price: None,
            region: None,
            warnings: holder.map(|holder| holder.warnings.clone()).unwrap_or_default(),
            registered_at: holder.map_or(self.0.started_at, |holder| holder.since),
            updated_at: self.0.hub.changed_at(),
            checked_at: None,
            seen_at: None,
            lease_until: None,
        }
    }
}

/// What the search reads of an agent: one passage for each skill and one for each example.
pub(crate) fn searchable(listing: &Listing) -> Searchable {
    let passages = listing.skills.iter().flat_map(|skill| {
        let about = [&*skill.name, &*skill.description].join(". ");
        let about = Passage { skill: skill.name.clone(), text: about, example: false };
        let example =
            |text: &String| Passage { skill: skill.name.clone(), text: text.clone(), example: true };
        std::iter::once(about).chain(skill.examples.iter().map(example)).collect::<Vec<_>>()
    });
    Searchable {
        id: listing.id.clone(),
        name: listing.name.clone(),
        text: listing.description.clone(),
        passages: passages.collect(),
        facts: Facts {
            visibility: listing.visibility,
            owner: listing.owner.clone(),
            tags: listing.tags.clone(),
            protocols: listing.protocols.clone(),
            input_modes: listing.input_modes.clone(),
            output_modes: listing.output_modes.clone(),
            region: listing.region.clone(),
            price: listing.price,
            live: listing.live,
            trust: listing.trust,
            since: Some(listing.registered_at),
        },
    }
}
