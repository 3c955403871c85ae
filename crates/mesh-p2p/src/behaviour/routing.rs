//! Routing: the DHT, which finds the addresses of sites, and nothing else.
//!
//! Promises: it stores no values and no provider records of anybody, so nothing there can be flooded or
//! forged; agents are found in the catalogue. A subnet holds few places of the routing table
//! ([`admits`]), so that one owner of many keys cannot surround a site. Look-ups go along disjoint paths.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::time::Duration;

use libp2p::kad::{self, store, store::RecordStore};
use libp2p::kad::{ProviderRecord, Record, RecordKey};
use libp2p::{Multiaddr, PeerId, StreamProtocol};

use crate::address::{AddressPolicy, Subnet, ip_of};
use crate::settings::P2pSettings;

/// The protocol of the DHT, so that it is not mixed with others.
pub(crate) const PROTOCOL: StreamProtocol = StreamProtocol::new("/agentsite/kad/1");
/// How long a look-up may take in all.
const QUERY_TIMEOUT: Duration = Duration::from_secs(15);
/// Parallel, disjoint paths of a look-up.
const PATHS: NonZeroUsize = NonZeroUsize::new(3).expect("three is not zero");
/// How often the whole routing table is refreshed. A refresh takes some 100 kB, which at libp2p's five
/// minutes is most of what an idle site sends; every connection keeps the table fresh, too.
const REFRESH: Duration = Duration::from_secs(20 * 60);
/// Largest message of the DHT; twenty peers with twelve addresses each take 12 KiB.
const MAX_PACKET: usize = 16 << 10;
/// Sites of one subnet that may share a bucket.
const PER_BUCKET: usize = 2;

/// The DHT as it is used here.
pub(crate) type Routing = kad::Behaviour<NoRecords>;

/// Sets the DHT up.
pub(crate) fn build(me: PeerId, settings: &P2pSettings) -> Routing {
    let mut config = kad::Config::new(PROTOCOL);
    config
        .set_query_timeout(QUERY_TIMEOUT)
        .set_parallelism(PATHS)
        .disjoint_query_paths(true)
        .set_record_filtering(kad::StoreInserts::FilterBoth)
        .set_kbucket_inserts(kad::BucketInserts::Manual)
        .set_caching(kad::Caching::Disabled)
        .set_max_packet_size(MAX_PACKET)
        .set_periodic_bootstrap_interval(Some(REFRESH))
        .set_replication_interval(None)
        .set_publication_interval(None)
        .set_provider_publication_interval(None);
    let mut routing = Routing::with_config(me, NoRecords, config);
    if settings.allow_private_addresses {
        // Addresses of a private network are not confirmed by others, so a site there would never serve
        // look-ups.
        routing.set_mode(Some(kad::Mode::Server));
    }
    routing
}

/// Whether the routing table takes a peer at this address.
pub(crate) fn admits(
    routing: &mut Routing,
    policy: &AddressPolicy,
    per_table: u32,
    peer: PeerId,
    address: &Multiaddr,
) -> bool {
    let Some(subnet) = ip_of(address).filter(|ip| policy.counts(*ip)).map(Subnet::of) else { return true };
    let is_of_subnet =
        |addresses: &kad::Addresses| addresses.iter().filter_map(ip_of).any(|ip| Subnet::of(ip) == subnet);
    let count = |bucket: &kad::KBucketRef<'_, kad::KBucketKey<PeerId>, kad::Addresses>| {
        let others = bucket.iter().filter(|entry| *entry.node.key.preimage() != peer);
        others.filter(|entry| is_of_subnet(entry.node.value)).count()
    };
    let in_table: usize = routing.kbuckets().map(|bucket| count(&bucket)).sum();
    let in_bucket = routing.kbucket(peer).map_or(0, |bucket| count(&bucket));
    in_table < per_table as usize && in_bucket < PER_BUCKET
}

/// A store that keeps nothing.
#[derive(Debug)]
pub(crate) struct NoRecords;

impl RecordStore for NoRecords {
    type RecordsIter<'a> = std::iter::Empty<Cow<'a, Record>>;
    type ProvidedIter<'a> = std::iter::Empty<Cow<'a, ProviderRecord>>;

    fn get(&self, _: &RecordKey) -> Option<Cow<'_, Record>> {
        None
    }

    fn put(&mut self, _: Record) -> store::Result<()> {
        Err(store::Error::MaxRecords)
    }

    fn remove(&mut self, _: &RecordKey) {}

    fn records(&self) -> Self::RecordsIter<'_> {
        std::iter::empty()
    }

    fn add_provider(&mut self, _: ProviderRecord) -> store::Result<()> {
        Err(store::Error::MaxProvidedKeys)
    }

    fn providers(&self, _: &RecordKey) -> Vec<ProviderRecord> {
        Vec::new()
    }

    fn provided(&self) -> Self::ProvidedIter<'_> {
        std::iter::empty()
    }

    fn remove_provider(&mut self, _: &RecordKey, _: &PeerId) {}
}
