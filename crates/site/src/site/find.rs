//! The verb of a site that finds agents by what they do.
//!
//! Promises: what a caller may not see it never finds, whatever it asks; each match is one that the site knows at this moment. A part of the search that
//! fails is left out and named, and the rest is answered. How well something fits is `search`'s matter.

use agentsite_protocol::listing::Listing;
use agentsite_protocol::{AgentName, Caller, Match, Query};
use agentsite_search::{Ask, Audience, Hit};
use serde::{Deserialize, Serialize};

use super::Site;
use super::finding::{own_id, own_name};
use crate::SiteError;

/// What was found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Matches {
    /// The agents that fit, the best first.
    pub matches: Vec<Match>,
    /// How many agents were looked at.
    pub considered: usize,
    /// What was left out of the scores, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
}

impl Site {
    /// The agents that fit a query best and that this caller may see, with the addresses of the site under `base`.
    ///
    /// # Errors
    /// [`SiteError::BadQuery`] says what is wrong with the query; [`SiteError::Search`] when the index does not answer.
    pub async fn find(&self, caller: &Caller, query: &Query, base: &str) -> Result<Matches, SiteError> {
        query.check()?;
        let behind = self.settle().await.err();
        let audience = audience(caller);
        // A key that names agents finds public ones too, which it may not call: so many more are asked for as may have to go.
        let foreign = self.out_of_reach(caller);
        let (limit, offset) = (query.limit(), query.offset);
        let (wanted, skipped) = if foreign == 0 { (limit, offset) } else { (limit + offset + foreign, 0) };
        let ask = Ask {
            text: query.text.clone(),
            filter: query.filter.clone(),
            audience,
            limit: wanted,
            offset: skipped,
            now: Some(self.ids().clock().now()),
        };
        let found = self.0.finding.apart(async move |finder| finder.find(&ask).await).await?;
        let fit = found.hits.into_iter().filter(|hit| hit.score > 0.0);
        let mut seen = Vec::new();
        for hit in fit {
            seen.extend(self.matched(caller, hit, base).await?);
        }
        let matches = seen.into_iter().skip(offset - skipped).take(limit).collect();
        let without = found.without.or_else(|| behind.map(|error| format!("what changed last: {error}")));
        Ok(Matches { matches, considered: found.considered.saturating_sub(foreign), without })
    }

    /// The agent of a hit as this caller may see it.
    async fn matched(&self, caller: &Caller, hit: Hit, base: &str) -> Result<Option<Match>, SiteError> {
        let listing = match own_name(&hit.id) {
            Some(name) => self.listing_of(caller, &name, base),
            None => self.registered(caller, &hit.id).await?,
        };
        Ok(listing.map(|listing| Match {
            id: listing.id,
            name: listing.name,
            description: listing.description,
            card: listing.url,
            local: listing.local,
            score: hit.score,
            reason: hit.reason,
        }))
    }

    fn listing_of(&self, caller: &Caller, name: &AgentName, base: &str) -> Option<Listing> {
        let entry = self.0.hub.visible(caller, name).ok().filter(|entry| !entry.hidden)?;
        Some(self.own_listing(&entry, base))
    }

    /// How many of the site's agents the index shows to this caller although it may not call them.
    fn out_of_reach(&self, caller: &Caller) -> usize {
        let (sees, named) = caller.reach();
        if named.is_empty() {
            return 0;
        }
        let all = self.0.hub.all();
        let beyond = |entry: &&std::sync::Arc<crate::hub::Entry>| {
            let (name, visibility) = (&entry.manifest.name, entry.manifest.visibility);
            visibility >= sees && !caller.may_call(name, visibility)
        };
        all.iter().filter(beyond).count()
    }
}

/// What this caller may find.
fn audience(caller: &Caller) -> Audience {
    let (sees, named) = caller.reach();
    let owner = (!caller.is_anonymous()).then(|| caller.owner().clone());
    Audience { sees, owner, also: named.into_iter().map(own_id).collect() }
}
