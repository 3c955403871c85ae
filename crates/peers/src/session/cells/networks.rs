//! Networks: from where sites answered with their keys, and which sites serve cells.
//!
//! Promises: a network counts only where a site was connected directly. What was seen is remembered, so that
//! the splits that count do not change with every connection; at most [`MAX_NETWORKS`] sites. A site serves
//! cells while its lease holds; one that supports a split counts as long as its record of it does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use agentsite_mesh::cells::{KnownSite, Subnet};
use agentsite_mesh::{Catalogue, PeerStatus, SiteId, Subject};

/// Most sites whose network is remembered: some 300 kB on disk.
const MAX_NETWORKS: usize = 4_096;

/// From where sites answered.
#[derive(Debug, Default)]
pub(super) struct Networks(BTreeMap<SiteId, IpAddr>);

impl Networks {
    /// What was written before.
    pub(super) fn restored(written: BTreeMap<String, String>) -> Self {
        let read = |(site, at): (String, String)| Some((site.parse().ok()?, at.parse().ok()?));
        Self(written.into_iter().filter_map(read).take(MAX_NETWORKS).collect())
    }

    /// As it is kept.
    pub(super) fn written(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(site, at)| (site.to_string(), at.to_string())).collect()
    }

    /// Takes note of the connected peers, and of this site's own addresses.
    pub(super) fn saw(&mut self, peers: &[PeerStatus], (own, addresses): (SiteId, &[String])) {
        let direct = peers.iter().filter(|peer| !peer.is_relayed);
        let seen = direct.filter_map(|peer| Some((peer.site, ip_of(&peer.address)?)));
        let own = addresses.iter().find_map(|address| Some((own, ip_of(address)?)));
        for (site, at) in seen.chain(own) {
            if self.0.len() < MAX_NETWORKS || self.0.contains_key(&site) {
                self.0.insert(site, at);
            }
        }
    }

    /// The sites that there are.
    pub(super) fn known_sites(&self, catalogue: &Catalogue, own: SiteId) -> Vec<KnownSite> {
        let mut sites = BTreeSet::new();
        let mut publishes = false;
        for record in catalogue.records().filter(|record| !record.is_removed()) {
            if matches!(record.subject(), Subject::Lease | Subject::Split(_)) {
                sites.insert(record.site());
                publishes |= record.site() == own;
            }
        }
        if publishes {
            sites.insert(own);
        }
        let known = |site: SiteId| KnownSite {
            site,
            subnet: self.0.get(&site).copied().map(Subnet::of),
            serves: true,
        };
        sites.into_iter().map(known).collect()
    }
}

/// The address of a machine in the address of a connection.
fn ip_of(address: &str) -> Option<IpAddr> {
    let mut parts = address.split('/');
    loop {
        match parts.next()? {
            "ip4" | "ip6" => return parts.next()?.parse().ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_of_an_address_is_found() {
        assert_eq!(ip_of("/ip4/192.0.2.1/tcp/4101"), Some([192, 0, 2, 1].into()));
        assert_eq!(ip_of("/ip6/::1/udp/1/quic-v1"), Some("::1".parse().unwrap()));
        for text in ["", "/memory/x", "/ip4", "/ip4/x", "192.0.2.1:4"] {
            assert_eq!(ip_of(text), None, "{text}");
        }
    }
}
