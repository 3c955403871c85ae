//! KnownSites: which sites there are, which of them serve cells, and from which networks.
//!
//! Promises: a snapshot that a driver makes of what it has proven: a network counts only where a site
//! answered with its key. The sites nearest to a cell are found in logarithmic time, and all sites with the
//! same snapshot find the same ones. How many sites share one network is known, because identities are
//! cheap and networks are not.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::cell_id::{CellId, site_key};
use crate::site_id::SiteId;

/// How many sites of one network count in full. A hosting provider has more, an attacker has hundreds.
const CROWD: u32 = 8;
/// How much a site counts whose network is not proven.
const UNPROVEN: f64 = 0.5;

/// A network: 24 bits of an IPv4 address or 48 bits of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet([u8; 7]);

impl Subnet {
    /// The network of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Self([4, a, b, c, 0, 0, 0])
            }
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, ..] = address.octets();
                Self([6, a, b, c, d, e, f])
            }
        }
    }
}

/// What is known of one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownSite {
    /// The site.
    pub site: SiteId,
    /// Where it answered with its key; none when that was not tried, or only a relay reaches it.
    pub subnet: Option<Subnet>,
    /// Whether it keeps cells for others.
    pub serves: bool,
}

/// A snapshot of the sites that a driver knows.
#[derive(Debug, Default)]
pub struct KnownSites {
    /// The sites that serve, ordered by their keys.
    servers: Vec<([u8; 32], KnownSite)>,
    subnets: BTreeMap<SiteId, Subnet>,
    crowds: BTreeMap<Subnet, u32>,
}

impl KnownSites {
    /// A snapshot of these sites.
    #[must_use]
    pub fn new(sites: impl IntoIterator<Item = KnownSite>) -> Self {
        let mut known = Self::default();
        for site in sites {
            if let Some(subnet) = site.subnet {
                known.subnets.insert(site.site, subnet);
                *known.crowds.entry(subnet).or_default() += 1;
            }
            if site.serves {
                known.servers.push((site_key(&site.site), site));
            }
        }
        known.servers.sort_unstable_by_key(|(key, _)| *key);
        known
    }

    /// How many sites serve.
    #[must_use]
    pub const fn servers(&self) -> usize {
        self.servers.len()
    }

    /// The network of a site.
    #[must_use]
    pub fn subnet(&self, site: &SiteId) -> Option<Subnet> {
        self.subnets.get(site).copied()
    }

    /// The network of a site, when other sites share it.
    #[must_use]
    pub fn shared_network(&self, site: &SiteId) -> Option<Subnet> {
        self.subnet(site).filter(|subnet| self.crowds.get(subnet).is_some_and(|crowd| *crowd > 1))
    }

    /// How much an answer of a site counts, from 0 to 1: less the more sites share its network.
    #[must_use]
    pub fn weight(&self, site: &SiteId) -> f64 {
        let crowd = self.subnet(site).and_then(|subnet| self.crowds.get(&subnet));
        crowd.map_or(UNPROVEN, |crowd| f64::from(CROWD) / f64::from(*crowd.max(&CROWD)))
    }

    /// The servers nearest to a cell by the distance of their keys (XOR), the nearest first.
    #[must_use]
    pub fn nearest(&self, cell: CellId, count: usize) -> Vec<KnownSite> {
        let target = cell.key();
        let mut found = Vec::new();
        collect(&self.servers, 0, &target, count, &mut found);
        found.truncate(count);
        found
    }

    /// The place of a site among the servers nearest to a cell; none beyond `count`.
    #[must_use]
    pub fn rank(&self, cell: CellId, site: &SiteId, count: usize) -> Option<usize> {
        self.nearest(cell, count).iter().position(|server| server.site == *site)
    }
}

/// Walks the keys as a tree of bits, the side of the target first.
fn collect(
    servers: &[([u8; 32], KnownSite)],
    bit: usize,
    target: &[u8; 32],
    count: usize,
    found: &mut Vec<KnownSite>,
) {
    if servers.is_empty() || found.len() >= count {
        return;
    }
    if servers.len() == 1 || bit >= 256 {
        return found.extend(servers.iter().map(|(_, site)| *site));
    }
    let is_one = |key: &[u8; 32]| key[bit / 8] >> (7 - bit % 8) & 1 == 1;
    let middle = servers.partition_point(|(key, _)| !is_one(key));
    let (zeros, ones) = servers.split_at(middle);
    let (near, far) = if is_one(target) { (ones, zeros) } else { (zeros, ones) };
    collect(near, bit + 1, target, count, found);
    collect(far, bit + 1, target, count, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(count: u64) -> KnownSites {
        KnownSites::new((0..count).map(|number| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            let [.., c, d] = number.to_be_bytes();
            let subnet = Subnet::of(IpAddr::from([10, c, d, 1]));
            KnownSite { site: SiteId::from_bytes(bytes), subnet: Some(subnet), serves: number % 2 == 0 }
        }))
    }

    #[test]
    fn the_nearest_are_those_of_the_least_distance() {
        let known = known(500);
        for text in ["r", "r0", "r0110"] {
            let cell: CellId = text.parse().unwrap();
            let distance = |site: &SiteId| {
                let (one, other) = (site_key(site), cell.key());
                let bytes: Vec<u8> = one.iter().zip(other).map(|(one, other)| one ^ other).collect();
                bytes
            };
            let mut all: Vec<SiteId> = known.servers.iter().map(|(_, site)| site.site).collect();
            all.sort_by_key(distance);
            let nearest: Vec<SiteId> = known.nearest(cell, 10).iter().map(|site| site.site).collect();
            assert_eq!(nearest, all[..10]);
            assert_eq!(known.rank(cell, &all[3], 10), Some(3));
            assert_eq!(known.rank(cell, &all[10], 10), None);
        }
        assert_eq!(known.nearest(CellId::ROOT, 1_000).len(), 250);
    }

    #[test]
    fn sites_that_share_a_network_count_less() {
        let subnet = |last| Some(Subnet::of(IpAddr::from([192, 0, 2, last])));
        let site = |number| SiteId::from_bytes([number; 32]);
        let sites =
            (0..16).map(|number| KnownSite { site: site(number), subnet: subnet(number), serves: false });
        let lone = KnownSite {
            site: site(99),
            subnet: Some(Subnet::of(IpAddr::from([198, 51, 100, 1]))),
            serves: true,
        };
        let known = KnownSites::new(sites.chain([lone]));
        assert!((known.weight(&site(1)) - 0.5).abs() < 1e-9);
        assert!((known.weight(&site(99)) - 1.0).abs() < 1e-9);
        assert!((known.weight(&site(77)) - UNPROVEN).abs() < 1e-9);
        let mapped: IpAddr = "::ffff:192.0.2.7".parse().unwrap();
        assert_eq!(Subnet::of(mapped), subnet(1).unwrap());
    }
}
