//! Listings: an agent that the site runs in the form in which the registry knows agents, and what the search
//! reads of one.
//!
//! Promises: pure; it does not decide who sees an agent. Names and addresses are those of
//! the site under `base`, such as `https://example.org`.

use agentsite_protocol::listing::{A2A_CARD, Listing, ListingId, Proof, Standing};
use agentsite_protocol::{Principal, Skill, Timestamp};
use agentsite_search::{Entry as Searchable, Facts, Passage};
use url::Url;

use crate::SiteSettings;
use crate::local_agents::Entry;

/// The namespace of the agents that a site runs.
pub(crate) const OWN_NAMESPACE: &str = "agents";

/// An agent that the site runs, in the form of the registry.
pub(super) fn own_listing(
    entry: &Entry,
    base: &str,
    (settings, started_at, changed_at): (&SiteSettings, Timestamp, Timestamp),
) -> Listing {
    let (manifest, holder) = (&entry.manifest, entry.holder.as_ref());
    let card = entry.card(base, settings);
    let publisher = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
    let publisher = publisher.unwrap_or_else(|| "localhost".into());
    let skills: Vec<Skill> = card.skills;
    let mut tags: Vec<String> = skills.iter().flat_map(|skill| skill.tags.clone()).collect();
    tags.sort_unstable();
    tags.dedup();
    Listing {
        id: ListingId::of(&publisher, OWN_NAMESPACE, manifest.name.as_str()),
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
        owner: holder.map_or_else(Principal::admin, |holder| holder.owner.clone()),
        standing: Standing::Active,
        proof: Proof::Site,
        live: entry.view().health == "ready",
        trust: 0.5,
        price: None,
        region: None,
        warnings: holder.map(|holder| holder.warnings.clone()).unwrap_or_default(),
        registered_at: holder.map_or(started_at, |holder| holder.since),
        updated_at: changed_at,
        checked_at: None,
        seen_at: None,
        lease_until: None,
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
        id: listing.id.to_string(),
        name: listing.name.clone(),
        text: listing.description.clone(),
        passages: passages.collect(),
        facts: Facts {
            visibility: listing.visibility,
            owner: listing.owner.to_string(),
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
        vectors: None,
    }
}
