//! Agents with visibility `peers`: shown to the sites that may know of them, and to no other.
//!
//! Promises: a record of such an agent names the one site that it is for, and is sent to that site alone,
//! never by gossip or in a comparison. What is shown to a peer replaces what was shown to it before; it is
//! sent when it changes, when the peer connects, and again before it ends. What another site shows here is
//! listed with visibility `peers` until it ends, is taken back, or the site is banned; it is not passed on.
//! After a restart it is shown again, so it is not kept besides its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::limits::{CLOCK_SLACK, LEASE_LIFETIME, LEASE_RENEWAL, MAX_CONFIDED};
use agentsite_mesh::{
    AgentProfile, Batch as Records, Body, Candidate, Claim, Draft, Input, Message, Record, SiteId, Subject,
    batches,
};
use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{AgentName, Timestamp, Visibility};
use agentsite_registry::PeerAgent;
use tokio::task::spawn_blocking;

use super::MeshSession;
use crate::batch::RecordChanges;
use crate::entries::{entry_id, peer_agent};
use crate::error::PeersError;
use crate::local::OfferedAgent;

/// How often one peer may change what it shows, per minute; what is beyond comes when it shows it again.
const CHANGES_PER_MINUTE: u32 = 30;

/// What is shown to one peer.
type ShownAgents = Vec<(AgentName, AgentProfile)>;

/// What is shown to peers, and what they show to this site.
#[derive(Debug, Default)]
pub(super) struct Confidences {
    /// What each connected peer was shown last, and when.
    shown: BTreeMap<SiteId, (ShownAgents, Timestamp)>,
    /// What came and was not looked at yet.
    arrived: Vec<(SiteId, usize, Records)>,
    /// Records of messages that others follow.
    parts: BTreeMap<SiteId, Vec<Arc<Record>>>,
    /// What others show to this site.
    received: BTreeMap<ListingId, Arc<Record>>,
    /// Since when changes of a peer are counted, and how many there were.
    changes: BTreeMap<SiteId, (Timestamp, u32)>,
}

impl Confidences {
    /// A peer sent what it shows to this site, or a part of it.
    pub(super) fn arrived(&mut self, peer: SiteId, left: usize, batch: Records) {
        self.arrived.push((peer, left, batch));
    }

    /// A peer is gone: it is shown everything again when it returns.
    pub(super) fn gone(&mut self, peer: &SiteId) {
        self.shown.remove(peer);
        self.parts.remove(peer);
        self.changes.remove(peer);
    }

    /// The agent that another site shows to this one under this name.
    pub(super) fn agent(&self, id: &ListingId) -> Option<PeerAgent> {
        confided(self.received.get(id)?)
    }

    /// Whether a peer may change what it shows once more.
    fn may_change(&mut self, peer: SiteId, now: Timestamp) -> bool {
        let (since, count) = self.changes.entry(peer).or_insert((now, 0));
        if now.since(*since) >= Duration::from_secs(60) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= CHANGES_PER_MINUTE
    }

    /// Collects the parts of what a peer shows; gives the whole with the last one.
    fn collect(&mut self, peer: SiteId, left: usize, records: Vec<Arc<Record>>) -> Option<Vec<Arc<Record>>> {
        let mut whole = self.parts.remove(&peer).unwrap_or_default();
        whole.extend(records);
        whole.truncate(MAX_CONFIDED);
        if left == 0 {
            return Some(whole);
        }
        self.parts.insert(peer, whole);
        None
    }

    /// Forgets what these names stand for.
    fn forget(&mut self, is_gone: impl Fn(&Record) -> bool) -> Vec<ListingId> {
        let gone = self.received.iter().filter(|(_, record)| is_gone(record));
        let gone: Vec<ListingId> = gone.map(|(id, _)| id.clone()).collect();
        gone.iter().for_each(|id| drop(self.received.remove(id)));
        gone
    }
}

impl MeshSession {
    /// Shows each connected peer the agents that it may know of, if they are not those that it was shown.
    pub(super) async fn show_to_peers(&mut self) -> Result<(), PeersError> {
        let settings = &self.shared.settings;
        let mut agents = self.shared.local.agents();
        agents.retain(|agent| agent.visibility == Visibility::Peers && settings.exposes(&agent.name));
        let now = self.shared.ids.clock().now();
        for peer in self.connected.clone() {
            let shown = self.agents_for(&peer, &agents);
            let before = self.confidences.shown.get(&peer);
            let is_known = before.map_or(shown.is_empty(), |(before, at)| {
                *before == shown && (shown.is_empty() || now.since(*at) < LEASE_RENEWAL)
            });
            if is_known {
                continue;
            }
            for message in self.confidence(peer, shown.clone(), now).await? {
                self.shared.metrics.sent();
                if let Err(error) = self.overlay.send(peer, message).await {
                    tracing::debug!(%peer, %error, "Agents were not shown to a peer.");
                }
            }
            self.confidences.shown.insert(peer, (shown, now));
        }
        Ok(())
    }

    /// The agents that one peer may know of: those that name it as a caller, and all for a peer that an admin
    /// added.
    fn agents_for(&self, peer: &SiteId, agents: &[OfferedAgent]) -> ShownAgents {
        if self.banned.contains(peer) || agents.is_empty() {
            return Vec::new();
        }
        let is_added = self.shared.known.get(peer).added;
        let named: BTreeSet<AgentName> = self.shared.local.open_to(&peer.to_string()).into_iter().collect();
        let shown = agents.iter().filter(|agent| is_added || named.contains(&agent.name));
        let profile = |agent: &OfferedAgent| {
            let url = self.card_url(&agent.name);
            let profile = AgentProfile::for_peer(&agent.card, agent.visibility, url.as_deref());
            let profile = profile.inspect_err(
                |error| tracing::warn!(agent = %agent.name, %error, "Peers do not learn of an agent."),
            );
            Some((agent.name.clone(), profile.ok()?))
        };
        shown.filter_map(profile).take(MAX_CONFIDED).collect()
    }

    /// The messages that show agents to a peer.
    async fn confidence(
        &self,
        peer: SiteId,
        agents: ShownAgents,
        now: Timestamp,
    ) -> Result<Vec<Message>, PeersError> {
        let (key, work) = (self.key.clone(), self.kept.state.nonce);
        let signed = spawn_blocking(move || {
            let seq = u64::try_from(now.as_millis()).unwrap_or(1);
            let sign = |(name, profile): (AgentName, AgentProfile)| {
                let draft = Draft {
                    subject: Subject::Agent(name),
                    body: Body::Agent(profile),
                    seq,
                    issued_at: now,
                    lifetime: LEASE_LIFETIME,
                    work,
                    to: Some(peer),
                };
                Record::sign(&key, draft).map(Arc::new).ok()
            };
            batches(agents.into_iter().filter_map(sign).collect())
        });
        let mut parts = signed.await.map_err(|_| PeersError::NotHere("the site is stopping".into()))?;
        if parts.is_empty() {
            parts.push(Records::default());
        }
        let count = parts.len();
        let message = |(number, batch)| Message::Confide { batch, left: count - 1 - number };
        Ok(parts.into_iter().enumerate().map(message).collect())
    }

    /// Lists what peers show to this site, and takes out of the registry what they no longer show.
    pub(super) async fn take_confidences(&mut self) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        for (peer, left, batch) in std::mem::take(&mut self.confidences.arrived) {
            if self.banned.contains(&peer) || !self.connected.contains(&peer) {
                continue;
            }
            let (own, bits) = (self.site, self.shared.settings.limits().work_bits);
            let read = spawn_blocking(move || {
                let records = batch.records.into_iter().map(|one| read(&one, (peer, own), bits, now));
                (batch.oversized == 0).then(|| records.collect::<Option<Vec<_>>>()).flatten()
            });
            let read = read.await.map_err(|_| PeersError::NotHere("the site is stopping".into()))?;
            let Some(records) = read else {
                self.confidences.parts.remove(&peer);
                self.apply(vec![(Input::Unreadable { peer }, None)]).await?;
                continue;
            };
            if let Some(whole) = self.confidences.collect(peer, left, records)
                && self.confidences.may_change(peer, now)
            {
                self.list_confided(peer, whole).await?;
            }
        }
        Ok(())
    }

    /// Lists what one site shows to this one, in place of what it showed before.
    async fn list_confided(&mut self, peer: SiteId, shown: Vec<Arc<Record>>) -> Result<(), PeersError> {
        let mut gone: BTreeSet<ListingId> =
            self.confidences.forget(|record| record.site() == peer).into_iter().collect();
        let mut put = Vec::new();
        for record in shown {
            let Some(id) = entry_id(record.key()) else { continue };
            gone.remove(&id);
            // What a site tells everybody is listed for everybody.
            if !self.catalogue()?.lists(record.key()) {
                put.extend(confided(&record));
            }
            self.confidences.received.insert(id, record);
        }
        let gone: Vec<ListingId> = gone.into_iter().collect();
        self.withdraw_confided(&put, &gone).await
    }

    /// Takes out of the registry what ended.
    pub(super) async fn expire_confided(&mut self) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        let gone = self.confidences.forget(|record| record.expires_at().plus(CLOCK_SLACK) <= now);
        self.withdraw_confided(&[], &gone).await
    }

    /// Takes out of the registry what a site shows.
    pub(super) async fn forget_confided(&mut self, peer: SiteId) -> Result<(), PeersError> {
        let gone = self.confidences.forget(|record| record.site() == peer);
        self.withdraw_confided(&[], &gone).await
    }

    async fn withdraw_confided(&mut self, put: &[PeerAgent], gone: &[ListingId]) -> Result<(), PeersError> {
        if put.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let public: BTreeSet<ListingId> = self.catalogue()?.listed().filter_map(entry_id).collect();
        let gone: Vec<ListingId> = gone.iter().filter(|id| !public.contains(*id)).cloned().collect();
        self.commit(&RecordChanges::new(), put, &gone).await
    }
}

/// A record that a site signed for this one, if it is one that holds now.
fn read(
    candidate: &Candidate,
    (peer, own): (SiteId, SiteId),
    bits: u32,
    now: Timestamp,
) -> Option<Arc<Record>> {
    let record = Claim::decode(candidate.bytes()).and_then(Claim::verify).ok()?;
    let is_ours = record.site() == peer && record.to() == Some(own);
    let holds = record.issued_at() <= now.plus(CLOCK_SLACK) && now < record.expires_at().plus(CLOCK_SLACK);
    let is_agent = matches!(record.subject(), Subject::Agent(_)) && !record.is_removed();
    (is_ours && holds && is_agent && record.work().bits >= bits).then(|| Arc::new(record))
}

/// The agent of such a record, as it is listed.
fn confided(record: &Record) -> Option<PeerAgent> {
    peer_agent(record).map(|agent| PeerAgent { visibility: Visibility::Peers, ..agent })
}
