//! Page: the best of what was found, with fair shares of networks.
//!
//! Promises: identities are cheap, so what one network publishes counts the less the more sites it has, and
//! has at most [`PER_NETWORK`] places of a page while others are near enough. Nothing is left out when there
//! are places for it.

use std::collections::BTreeMap;

use super::known::KnownSites;
use super::shelf::CellHit;

/// Most places of one network on a page of ten.
const PER_NETWORK: usize = 2;
/// Others must reach this share of the nearness to take a place from a crowded network.
const NEAR_ENOUGH: f64 = 0.75;

/// Orders hits and gives the first ones.
pub(super) fn page(mut hits: Vec<CellHit>, limit: usize, known: &KnownSites) -> Vec<CellHit> {
    let worth = |hit: &CellHit| hit.nearness.max(0.0) * known.weight(&hit.entry.key.site);
    hits.sort_by(|one, other| {
        worth(other).total_cmp(&worth(one)).then(one.entry.hash.cmp(&other.entry.hash))
    });
    let most = (limit * PER_NETWORK).div_ceil(10);
    let mut networks = BTreeMap::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for hit in hits {
        let places =
            known.subnet(&hit.entry.key.site).map(|network| networks.entry(network).or_insert(0_usize));
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
        let place = first.partition_point(|other| worth(other) >= worth(&hit) * NEAR_ENOUGH);
        first.insert(place, hit);
    }
    first.truncate(limit);
    first
}
