//! The search: it finds agents by what they do: here, and in the registries elsewhere that the
//! operator has named.
//!
//! Promises: what a caller may not see it never finds, whatever it asks; each match is one that the site
//! knows at this moment, or that a registry elsewhere told of. A part of the search that fails is left out
//! and named, and the rest is answered. How well something fits is `search`'s matter.

use std::collections::{HashMap, HashSet};

use agentsite_peers::{CellCoverage, VectorText};
use agentsite_protocol::listing::{Listing, ListingId, Standing};
use agentsite_protocol::{AgentName, Caller, Match, Query, Reach, Reason};
use agentsite_registry::{Coverage, UpstreamMatch, UpstreamMatches, UpstreamQuery, sees};
use agentsite_search::{Ask, Audience, FindResults, Hit};
use serde::{Deserialize, Serialize};

use super::finding::{Search, own_id, own_name};
use super::listings::OWN_NAMESPACE;
use super::mesh::encoded;
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
    /// Which registries elsewhere were asked, when some were to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Which cells of the mesh were searched, when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellCoverage>,
}

/// The namespace in which the agents of a site stand once more as servers of tools.
const TOOLS_NAMESPACE: &str = "mcp";

/// How much of its score a match keeps that did not answer when it was last checked.
const UNREACHABLE_SHARE: f64 = 0.5;

/// Further matches that are considered when one of a page does not answer: a page of those that take its
/// place.
const UNREACHABLE_ROOM: usize = 10;

impl Search {
    /// The agents that fit a query best and that this caller may see, with the addresses of the site under
    /// `base`.
    ///
    /// # Errors
    /// [`SiteError::BadQuery`] says what is wrong with the query; [`SiteError::Search`] when the index does
    /// not answer.
    pub async fn find(&self, caller: &Caller, query: &Query, base: &str) -> Result<Matches, SiteError> {
        query.check()?;
        match query.reach {
            Reach::Here => self.find_known(caller, query, (query.limit(), query.offset), base).await,
            // A box, because few go this way and its future is large.
            Reach::Upstreams => Box::pin(self.find_wide(caller, query, base)).await,
        }
    }

    /// Finds here and elsewhere, both at the same time.
    async fn find_wide(&self, caller: &Caller, query: &Query, base: &str) -> Result<Matches, SiteError> {
        let (limit, offset) = (query.limit(), query.offset);
        let asked = UpstreamQuery::of(query);
        let elsewhere = async {
            match &asked {
                Ok(asked) => self.find_elsewhere(asked, base).await,
                Err(_) => Ok(UpstreamMatches::default()),
            }
        };
        let here = self.find_known(caller, query, (limit + offset, 0), base);
        let (here, elsewhere) = futures::future::try_join(here, elsewhere).await?;
        let coverage = Some(elsewhere.coverage.clone());
        let own = here.matches.into_iter().map(|one| (one.score, one)).collect();
        let all = elsewhere.beside(own, |foreign| Some(told(foreign)));
        let beyond =
            asked.err().map(|name| format!("other registries: they cannot apply the filter `{name}`"));
        let without = here.without.or(beyond);
        let matches = all.into_iter().skip(offset).take(limit).collect();
        Ok(Matches { matches, considered: here.considered, without, coverage, cells: here.cells })
    }

    /// What the registries know that the operator has named. What this site knows itself is not among it,
    /// whatever they say of it, and what it has suspended does not come back that way.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn find_elsewhere(
        &self,
        asked: &UpstreamQuery,
        base: &str,
    ) -> Result<UpstreamMatches, SiteError> {
        if self.federation.is_empty() {
            return Ok(UpstreamMatches::default());
        }
        let found = self.federation.ask(asked).await;
        let known = self.known_among(found.entries.iter().map(|one| one.entry.id.clone()).collect()).await?;
        let mut entries = found.entries;
        entries.retain(|one| !known.contains(&one.entry.id) && !self.is_own(&one.entry.id, base));
        Ok(UpstreamMatches { entries, ..found })
    }

    /// Whether an agent is this site's by its name. Under a domain every name is; an address of a machine has
    /// no such owner.
    fn is_own(&self, id: &ListingId, base: &str) -> bool {
        let base = url::Url::parse(base).ok();
        let domain = base.as_ref().and_then(|base| base.domain()).filter(|domain| *domain != "localhost");
        let host = base.as_ref().and_then(|base| base.host_str()).unwrap_or_default();
        if domain.is_some_and(|domain| domain == id.publisher()) {
            return true;
        }
        self.local.all().iter().any(|entry| {
            [OWN_NAMESPACE, TOOLS_NAMESPACE]
                .iter()
                .any(|namespace| ListingId::of(host, namespace, entry.manifest.name.as_str()) == *id)
        })
    }

    /// Which of these names the registry has an entry of; a pending entry may belong to anyone and does not
    /// count.
    async fn known_among(&self, ids: Vec<ListingId>) -> Result<HashSet<ListingId>, SiteError> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let entries = self.store.listings_of(ids).await?;
        let counted = entries.into_iter().filter(|entry| entry.listing.standing != Standing::Pending);
        Ok(counted.map(|entry| entry.listing.id).collect())
    }

    /// Finds among the agents that the site runs or knows; when the mesh is parted into cells, after the
    /// cells of other sites were asked. What they have is an entry here then, and ranked like all others.
    async fn find_known(
        &self,
        caller: &Caller,
        query: &Query,
        page: (usize, usize),
        base: &str,
    ) -> Result<Matches, SiteError> {
        // With one cell nothing is asked and nothing takes longer.
        let asked = if self.peers.is_parted() { Box::pin(self.ask_cells(query)).await } else { None };
        let found = self.find_here(caller, query, page, base).await?;
        Ok(Matches { cells: asked, ..found })
    }

    /// Asks other sites for the cells that this one does not keep.
    async fn ask_cells(&self, query: &Query) -> Option<CellCoverage> {
        let text = VectorText { title: String::new(), text: query.text.clone() };
        let vectors = encoded(&self.settings.search.embedders, vec![text]).await?;
        let wanted = query.limit() + query.offset;
        let found = self.peers.search_cells(vectors.into_iter().next()?, wanted).await?;
        Some(found.coverage)
    }

    /// Finds among the agents that the site runs or knows.
    async fn find_here(
        &self,
        caller: &Caller,
        query: &Query,
        (limit, offset): (usize, usize),
        base: &str,
    ) -> Result<Matches, SiteError> {
        let behind = self.settle().await.err();
        let audience = audience(caller);
        // A key that names agents finds public ones too, which it may not call: so many more are asked for as
        // may have to go.
        let foreign = self.out_of_reach(caller);
        let (wanted, skipped) = if foreign == 0 { (limit, offset) } else { (limit + offset + foreign, 0) };
        let ask = Ask {
            text: query.text.clone(),
            filter: query.filter.clone(),
            audience,
            limit: wanted,
            offset: skipped,
            now: Some(self.ids.clock().now()),
        };
        let (found, seen) = self.asked(caller, ask.clone(), base).await?;
        let mut matches: Vec<Match> = seen.into_iter().skip(offset - skipped).take(limit).collect();
        if matches.iter().any(|one| one.live == Some(false)) {
            // Others may fit better than an agent that does not answer.
            let wider = Ask { limit: limit + offset + foreign + UNREACHABLE_ROOM, offset: 0, ..ask };
            let (_, all) = self.asked(caller, wider, base).await?;
            matches = reachable_first(all).into_iter().skip(offset).take(limit).collect();
        }
        let without = found.without.or_else(|| behind.map(|error| format!("what changed last: {error}")));
        let considered = found.considered.saturating_sub(foreign);
        Ok(Matches { matches, considered, without, coverage: None, cells: None })
    }

    /// Asks the index once.
    async fn asked(
        &self,
        caller: &Caller,
        ask: Ask,
        base: &str,
    ) -> Result<(FindResults, Vec<Match>), SiteError> {
        let mut found = self.finding.apart(async move |finder| finder.find(&ask).await).await?;
        let hits = std::mem::take(&mut found.hits);
        let fit: Vec<Hit> = hits.into_iter().filter(|hit| hit.score > 0.0).collect();
        let seen = self.matched(caller, fit, base).await?;
        Ok((found, seen))
    }

    /// The agents of hits as this caller may see them, in order. The store is read once for all of them.
    async fn matched(&self, caller: &Caller, hits: Vec<Hit>, base: &str) -> Result<Vec<Match>, SiteError> {
        let foreign: Vec<ListingId> = hits.iter().filter_map(|hit| hit.id.parse().ok()).collect();
        let mut registered = self.registered_among(caller, foreign).await?;
        let mut matches = Vec::with_capacity(hits.len());
        for hit in hits {
            let listing = match own_name(&hit.id) {
                Some(name) => self.listing_of(caller, &name, base),
                None => registered.remove(hit.id.as_str()),
            };
            matches.extend(listing.map(|listing| match_of(listing, hit)));
        }
        Ok(matches)
    }

    /// The entries of these names that this caller may see, by name.
    async fn registered_among(
        &self,
        caller: &Caller,
        ids: Vec<ListingId>,
    ) -> Result<HashMap<ListingId, Listing>, SiteError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let entries = self.store.listings_of(ids).await?;
        let seen = entries.into_iter().map(|entry| entry.listing).filter(|one| sees(caller, one));
        Ok(seen.map(|listing| (listing.id.clone(), listing)).collect())
    }

    fn listing_of(&self, caller: &Caller, name: &AgentName, base: &str) -> Option<Listing> {
        let entry = self.local.visible(caller, name).ok().filter(|entry| !entry.hidden)?;
        Some(self.own_listing(&entry, base))
    }

    /// How many of the site's agents the index shows to this caller although it may not call them.
    fn out_of_reach(&self, caller: &Caller) -> usize {
        let (sees, named) = caller.reach();
        if named.is_empty() {
            return 0;
        }
        let all = self.local.all();
        let beyond = |entry: &&std::sync::Arc<crate::local_agents::Entry>| {
            let (name, visibility) = (&entry.manifest.name, entry.manifest.visibility);
            visibility >= sees && !caller.may_call(name, visibility)
        };
        all.iter().filter(beyond).count()
    }
}

/// Matches with those that do not answer at half of their score: an agent that fits nearly as well and
/// answers comes before them, one that hardly fits does not.
fn reachable_first(mut matches: Vec<Match>) -> Vec<Match> {
    for one in matches.iter_mut().filter(|one| one.live == Some(false)) {
        one.score *= UNREACHABLE_SHARE;
    }
    matches.sort_by(|one, other| other.score.total_cmp(&one.score));
    matches
}

/// A hit as a match, with what its entry says.
fn match_of(listing: Listing, hit: Hit) -> Match {
    let is_checked = !listing.local && listing.checked_at.is_some();
    Match {
        live: is_checked.then_some(listing.live),
        seen_at: listing.seen_at.filter(|_| !listing.local),
        id: listing.id.into(),
        name: listing.name,
        description: listing.description,
        card: listing.url,
        local: listing.local,
        score: hit.score,
        reason: hit.reason,
        source: None,
    }
}

/// What another registry found, as a match.
fn told(foreign: UpstreamMatch) -> Match {
    let UpstreamMatch { entry, score, source, .. } = foreign;
    Match {
        id: entry.id.into(),
        name: entry.name,
        description: entry.description,
        card: entry.url,
        local: false,
        score,
        reason: Reason::default(),
        source: Some(source),
        live: None,
        seen_at: None,
    }
}

/// What this caller may find.
fn audience(caller: &Caller) -> Audience {
    let (sees, named) = caller.reach();
    let owner = (!caller.is_anonymous()).then(|| caller.owner().clone());
    Audience { sees, owner, also: named.into_iter().map(own_id).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, score: f64, live: Option<bool>) -> Match {
        let entry = serde_json::json!({
            "id": name, "name": name, "description": "", "local": false, "score": score,
            "reason": {"meaning": 0.0, "words": 0.0, "trust": 0.5, "model": ""}, "live": live,
        });
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn what_does_not_answer_comes_after_what_fits_nearly_as_well_and_before_what_hardly_fits() {
        let all = vec![
            found("dead", 0.9, Some(false)),
            found("replica", 0.8, Some(true)),
            found("unknown", 0.7, None),
            found("other", 0.1, Some(true)),
        ];
        let names: Vec<String> = reachable_first(all).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["replica", "unknown", "dead", "other"]);
    }
}
