//! Page: the best of what was found, with fair shares of networks.
//!
//! Promises: identities are cheap, so a network that several sites share has at most [`PER_NETWORK`] places
//! of a page while others are near enough. A site that is alone in its network is ranked by nearness only.
//! Nothing is left out when there are places for it. How many agents one site may show is for the search to
//! decide.

use std::collections::BTreeMap;

use super::known::KnownSites;
use super::shelf::CellHit;

/// Most places of a shared network on a page of ten.
const PER_NETWORK: usize = 1;
/// Others must reach this share of the nearness to take a place from a crowded network.
const NEAR_ENOUGH: f64 = 0.75;

/// Orders hits and gives the first ones.
pub(super) fn page(mut hits: Vec<CellHit>, limit: usize, known: &KnownSites) -> Vec<CellHit> {
    hits.sort_by(|one, other| other.worth.total_cmp(&one.worth).then(one.entry.hash.cmp(&other.entry.hash)));
    let most = (limit * PER_NETWORK).div_ceil(10);
    let mut networks = BTreeMap::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for hit in hits {
        let places = known
            .shared_network(&hit.entry.key.site)
            .map(|network| networks.entry(network).or_insert(0_usize));
        match places {
            Some(places) if *places >= most => rest.push(hit),
            Some(places) => {
                *places += 1;
                first.push(hit);
            }
            None => first.push(hit),
        }
    }
    // What had to wait comes before what is much less near.
    for hit in rest {
        let place = first.partition_point(|other| other.worth >= hit.worth * NEAR_ENOUGH);
        first.insert(place, hit);
    }
    first.truncate(limit);
    first
}
