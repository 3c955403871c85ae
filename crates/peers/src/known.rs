//! Known peers: sites that an admin added, and sites that are banned; kept in the store.
//!
//! Promises: each change is one commit with its journal line, decided anew when another process came between.
//! What is in memory follows the store. Bans outlive a restart. It does not connect to anybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_mesh::SiteId;
use agentsite_protocol::{JournalKind, JournalLine, JournalSubject, Timestamp};
use agentsite_store::{Admittance, Change, Collection, Revised, SharedStore, StoreError};
use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Where peers are kept, by DID.
pub(crate) const PEERS: Collection<KnownPeer> = Collection::new("mesh_peers");

/// How often a change is decided anew when another one came between.
const TRIES: usize = 3;

/// Most peers that are remembered: an admin adds some dozens, and the catalogue bans 1,024 at most.
const MAX_KNOWN: usize = 4_096;

/// Most addresses of one peer.
const MAX_ADDRESSES: usize = 16;

/// A site that an admin added, or that is banned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnownPeer {
    /// Whether an admin added it: it may call agents with visibility `peers`, and is dialed.
    #[serde(default)]
    pub(crate) added: bool,
    /// Where it is reached.
    #[serde(default)]
    pub(crate) addresses: Vec<String>,
    /// Until when it is not listened to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) banned_until: Option<Timestamp>,
    /// Until when the vectors in its records are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) distrusted_until: Option<Timestamp>,
}

impl KnownPeer {
    /// Whether it is banned at this time.
    pub(crate) fn is_banned(&self, now: Timestamp) -> bool {
        self.banned_until.is_some_and(|until| now < until)
    }

    /// Whether the vectors in its records are not used at this time.
    pub(crate) fn is_distrusted(&self, now: Timestamp) -> bool {
        self.distrusted_until.is_some_and(|until| now < until)
    }

    /// Adds addresses, the newest first.
    pub(crate) fn reached_at(&mut self, addresses: &[String]) {
        let mut all = addresses.to_vec();
        all.extend(self.addresses.iter().filter(|known| !addresses.contains(known)).cloned());
        all.truncate(MAX_ADDRESSES);
        self.addresses = all;
    }
}

/// The peers by site.
pub(crate) type PeerMap = BTreeMap<SiteId, Revised<KnownPeer>>;

/// The peers of a site.
#[derive(Debug)]
pub(crate) struct KnownPeers {
    store: SharedStore,
    peers: ArcSwap<PeerMap>,
    /// Changes with each change among them.
    changes: watch::Sender<u64>,
}

impl KnownPeers {
    /// Reads them.
    pub(crate) async fn open(store: SharedStore) -> Result<Self, StoreError> {
        let known = Self { store, peers: ArcSwap::default(), changes: watch::Sender::new(0) };
        known.read_again().await?;
        Ok(known)
    }

    /// Brings what is in memory in step with the store.
    pub(crate) async fn read_again(&self) -> Result<(), StoreError> {
        let all = PEERS.all(&self.store).await?;
        let read = all.into_iter().filter_map(|one| Some((one.key.parse().ok()?, one)));
        self.peers.store(Arc::new(read.collect()));
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// All of them.
    pub(crate) fn all(&self) -> Arc<PeerMap> {
        self.peers.load_full()
    }

    /// One of them; nothing is known of others.
    pub(crate) fn get(&self, site: &SiteId) -> KnownPeer {
        self.peers.load().get(site).map(|known| known.value.clone()).unwrap_or_default()
    }

    /// Follows the changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Changes what is kept of a site; the line says what happened. What says nothing any more is removed.
    pub(crate) async fn update(
        &self,
        site: &SiteId,
        line: (JournalKind, Timestamp, &str, String),
        change: impl Fn(&mut KnownPeer),
    ) -> Result<(), StoreError> {
        let (kind, at, by, text) = line;
        for tried in 0.. {
            let before = self.all().get(site).cloned();
            if before.is_none() && self.all().len() >= MAX_KNOWN {
                return Err(StoreError::Engine(format!(
                    "{MAX_KNOWN} peers are known, the most that are kept; remove some"
                )));
            }
            let revision = before.as_ref().map_or(0, |before| before.revision);
            let mut peer = before.map(|before| before.value).unwrap_or_default();
            change(&mut peer);
            let key = site.to_string();
            let edit = match peer == KnownPeer::default() {
                true if revision == 0 => return Ok(()),
                true => PEERS.remove(&key, revision),
                false => PEERS.put(&key, None, revision, &peer)?,
            };
            let line = JournalLine::new(kind.clone(), at, by, text.clone())
                .about(JournalSubject::Other(format!("peer:{site}")));
            // A ban must hold also on a disk that is getting full.
            let change = Change::new(line).edit(edit).admittance(Admittance::Always);
            let done = self.store.commit(change).await;
            self.read_again().await?;
            match done {
                Err(StoreError::Moved(_)) if tried + 1 < TRIES => {}
                done => return done,
            }
        }
        Ok(())
    }
}
