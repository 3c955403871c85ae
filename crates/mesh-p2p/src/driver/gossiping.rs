//! Gossiping: what this site publishes, and what neighbours bring.
//!
//! Promises: a message of gossip that is not a batch of records is rejected here; everything else waits for
//! the verdict of the site. A neighbour that floods is banned for [`FLOOD_BAN`].

use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::{Candidate, GossipTicket, Message, OverlayEvent, Record, SiteId, Verdict};
use libp2p::PeerId;
use libp2p::gossipsub::{self, MessageAcceptance, MessageId, PublishError};
use tokio::time::Instant;

use super::Driver;
use super::peer::GossipRate;
use crate::batch::{DELAY, MAX_WAITING};
use crate::behaviour::gossip::topic;

/// How long a neighbour that floods is refused.
const FLOOD_BAN: Duration = Duration::from_secs(10 * 60);
/// Bytes of the id of a message in a ticket; the neighbour follows.
const ID_BYTES: usize = 32;

impl Driver {
    /// Spreads a record with the next batch.
    pub(super) fn publish(&mut self, record: Arc<Record>, from: Option<SiteId>) {
        // What gossip brought is passed on by its verdict.
        if from.is_some() && self.gossiped.contains(&record.id()) {
            return;
        }
        if self.outgoing.push(record) || self.outgoing.len() >= MAX_WAITING {
            self.flush();
        } else {
            self.flush_at.get_or_insert_with(|| Instant::now() + DELAY);
        }
    }

    /// Publishes what was collected.
    pub(super) fn flush(&mut self) {
        self.flush_at = None;
        let topic = topic(&self.settings.network);
        for message in self.outgoing.take() {
            let records = if let Message::Push(batch) = &message { batch.len() as u64 } else { 0 };
            match self.swarm.behaviour_mut().gossip.publish(topic.clone(), message.encode()) {
                Ok(_) => {
                    self.counters.published += 1;
                    self.counters.published_records += records;
                }
                // Without neighbours there is no receiver; a site that connects later asks for what it lacks.
                Err(PublishError::NoPeersSubscribedToTopic | PublishError::Duplicate) => {}
                Err(error) => tracing::warn!(%error, records, "Records could not be published."),
            }
        }
    }

    /// Passes gossip on, or not.
    pub(super) fn judge(&mut self, ticket: &GossipTicket, verdict: Verdict) {
        let Some((id, source)) = ticket.0.split_at_checked(ID_BYTES) else { return };
        let Ok(source) = PeerId::from_bytes(source) else { return };
        let acceptance = match verdict {
            Verdict::Accept => MessageAcceptance::Accept,
            Verdict::Ignore => MessageAcceptance::Ignore,
            Verdict::Reject => MessageAcceptance::Reject,
        };
        self.report(&MessageId::new(id), &source, acceptance);
    }

    fn report(&mut self, id: &MessageId, source: &PeerId, acceptance: MessageAcceptance) {
        // False when it took so long that the message is forgotten.
        self.swarm.behaviour_mut().gossip.report_message_validation_result(id, source, acceptance);
    }

    /// A neighbour brought a message.
    pub(super) fn gossip_came(&mut self, source: PeerId, id: &MessageId, message: &gossipsub::Message) {
        let Some(peer) = self.peers.get_mut(&source).filter(|_| self.told.contains(&source)) else {
            return self.report(id, &source, MessageAcceptance::Ignore);
        };
        let site = peer.site;
        match peer.count_gossip(Instant::now()) {
            GossipRate::Fine => {}
            GossipRate::Excess => {
                self.counters.gossip_dropped += 1;
                return self.report(id, &source, MessageAcceptance::Ignore);
            }
            GossipRate::Flood => {
                tracing::warn!(%site, "A peer floods the mesh with gossip; it is refused for a while.");
                self.report(id, &source, MessageAcceptance::Ignore);
                let until = self.clock.now().plus(FLOOD_BAN);
                return self.disconnect(site, Some(until));
            }
        }
        let Ok(Message::Push(batch)) = Message::decode(&message.data) else {
            self.report(id, &source, MessageAcceptance::Reject);
            // When the site is busy, the lost score alone counts.
            drop(self.events.try_send(OverlayEvent::Unreadable { peer: site }));
            return;
        };
        batch.records.iter().map(Candidate::id).for_each(|id| self.gossiped.insert(id));
        let ticket = GossipTicket([&id.0[..], &source.to_bytes()].concat());
        let event = OverlayEvent::Gossip { peer: site, message: Message::Push(batch), ticket };
        if self.events.try_send(event).is_ok() {
            self.counters.gossip += 1;
        } else {
            self.counters.gossip_dropped += 1;
            self.report(id, &source, MessageAcceptance::Ignore);
        }
    }
}
