//! How effects are carried out: first what is kept, in as few commits as possible, then what leaves.
//!
//! Promises: one commit holds the records and the entries that follow from them. Agents of banned sites are
//! not listed. A ban by the catalogue is kept and outlives a restart. When a commit fails, nothing of its
//! batch leaves, and the session ends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::{Effect, Input, Record, SiteId};
use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{JournalKind, JournalLine, Timestamp};
use agentsite_registry::PeerAgent;
use agentsite_store::{Change, ListingFilter, Unjournaled};
use agentsite_tasks::Worker;

use super::MeshSession;
use super::vectors::CheckEffect;
use crate::batch::{Batch, RecordChanges};
use crate::entries::{ENTRIES, PAGE, entry_id, peer_agent};
use crate::error::PeersError;
use crate::kept::NodeState;
use crate::kinds;
use crate::status;

/// Records or entries in one commit: some hundred kilobytes.
const PORTION: usize = 512;

/// How often a commit is decided anew when an admin changed an entry meanwhile.
const TRIES: usize = 3;

/// How often the time is kept at which the site was last in the mesh, at least: how long it was away matters
/// in days.
const KEEP_TIME: Duration = Duration::from_secs(60);

impl MeshSession {
    /// Carries out a batch.
    pub(super) async fn carry_out(&mut self, batch: Batch) -> Result<(), PeersError> {
        self.wake = batch.wake.or(self.wake);
        let (now, rng) = (self.shared.ids.clock().now(), self.shared.ids.rng().clone());
        for record in batch.entries.values().flatten().filter(|record| record.site() != self.site) {
            self.vectors.listed(record, now, rng.as_ref());
        }
        if !batch.keeps_nothing() {
            self.keep(&batch).await?;
            let now = self.shared.ids.clock().now();
            batch.renewed_leases().for_each(|site| self.shared.reach.heard(site, now));
        }
        if let Some(cells) = &mut self.cells {
            cells.records_changed(&batch.records);
        }
        for action in batch.actions {
            self.act(action).await?;
        }
        for (ticket, verdict) in batch.verdicts {
            self.overlay.judge(ticket, verdict).await;
        }
        let catalogue = self.catalogue()?;
        let (records, published, listed) =
            (catalogue.len(), catalogue.published().count(), catalogue.listed().count());
        self.shared.metrics.holds(records, published, listed);
        self.shared.metrics.connected(self.connected.len());
        Ok(())
    }

    async fn keep(&mut self, batch: &Batch) -> Result<(), PeersError> {
        let records: Vec<_> = batch.records.iter().collect();
        let entries: Vec<_> = batch.entries.iter().collect();
        let portions = records.len().max(entries.len()).div_ceil(PORTION);
        for number in 0..portions {
            let of = |length: usize| (number * PORTION).min(length)..((number + 1) * PORTION).min(length);
            let portion = &records[of(records.len())];
            let records: RecordChanges =
                portion.iter().map(|(key, record)| ((*key).clone(), (*record).clone())).collect();
            let (mut put, mut gone) = (Vec::new(), Vec::new());
            for (id, record) in &entries[of(entries.len())] {
                let listed = record.as_ref().filter(|record| !self.banned.contains(&record.site()));
                match listed.and_then(|record| peer_agent(record)) {
                    Some(agent) => {
                        let ignores_vectors = self.ignores_vectors(record.as_ref());
                        let reached = listed.and_then(|record| self.shared.reach.checked(&record.site()));
                        put.push(PeerAgent { ignores_vectors, reached, ..agent });
                    }
                    // What its site no longer tells everybody it may still show to this site.
                    None => match self.confidences.agent(id).or_else(|| self.visited_agent(id)) {
                        Some(agent) => put.push(agent),
                        None => gone.push((*id).clone()),
                    },
                }
            }
            self.commit(&records, &put, &gone).await?;
        }
        Ok(())
    }

    /// Whether the vectors of a record are not used.
    fn ignores_vectors(&self, record: Option<&Arc<Record>>) -> bool {
        let now = self.shared.ids.clock().now();
        record.is_some_and(|record| !self.vectors.trusts(&record.site(), now))
    }

    /// Carries out what a check of vectors found.
    pub(super) async fn judge_vectors(&mut self, effect: CheckEffect) -> Result<(), PeersError> {
        match effect {
            CheckEffect::Encode { .. } => Ok(()),
            CheckEffect::Ignore { key, nearness } => {
                tracing::warn!(record = %key, nearness, "A vector does not belong to its text; this site makes its own.");
                let record = self.catalogue()?.get(&key).filter(|_| !self.banned.contains(&key.site));
                let agent = record.and_then(|record| peer_agent(record));
                let agent = agent.map(|agent| PeerAgent { ignores_vectors: true, ..agent });
                self.commit(&RecordChanges::new(), agent.as_slice(), &[]).await?;
                self.apply(vec![(Input::Misled { peer: key.site }, None)]).await
            }
            CheckEffect::Distrust { site, until } => {
                let text = format!(
                    "uses no vectors of {site} until {until}: three of them did not belong to their texts"
                );
                tracing::warn!("{text}");
                let line = (kinds::MESH_VECTORS, self.shared.ids.clock().now(), "site", text);
                let kept =
                    self.shared.known.update(&site, line, |known| known.distrusted_until = Some(until));
                if let Err(error) = kept.await {
                    tracing::warn!(%error, "This is forgotten when the site is restarted.");
                }
                self.list_again(site, !self.banned.contains(&site)).await
            }
        }
    }

    /// One commit of records and entries.
    pub(super) async fn commit(
        &mut self,
        records: &RecordChanges,
        put: &[PeerAgent],
        gone: &[ListingId],
    ) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        let is_due = self.kept.state.at.is_none_or(|at| now.since(at) >= KEEP_TIME);
        let state = is_due.then(|| NodeState { at: Some(now), ..self.kept.state.clone() });
        let edits = self.kept.edits(records, state.as_ref())?;
        for tried in 1.. {
            let names = |shapes: &[String]| self.shared.local.names_like(shapes);
            let listings = self.shared.registry.peer_changes(put, gone, &names).await?;
            if edits.is_empty() && listings.is_empty() {
                return Ok(());
            }
            let change = Change::unjournaled(Unjournaled::PeerRecords).edits(edits.clone()).edits(listings);
            match self.shared.store.commit(change).await {
                Ok(()) => break,
                Err(error) if tried >= TRIES => return Err(error.into()),
                Err(error) => tracing::debug!(%error, "A commit of records is tried again."),
            }
        }
        self.shared.metrics.committed();
        self.kept.committed(&edits, state);
        Ok(())
    }

    async fn act(&mut self, action: Effect) -> Result<(), PeersError> {
        match action {
            Effect::Forward { record, from } => {
                if let Err(error) = self.overlay.publish(record, from).await {
                    tracing::debug!(%error, "A record was not spread; sessions carry it.");
                }
            }
            Effect::Send { peer, message } => {
                self.shared.metrics.sent();
                if let Err(error) = self.overlay.send(peer, message).await {
                    tracing::debug!(%peer, %error, "A message was not sent.");
                }
            }
            Effect::Disconnect { peer, banned_until } => {
                self.overlay.disconnect(peer, banned_until).await;
                if let Some(until) = banned_until {
                    self.keep_ban(peer, until).await?;
                }
            }
            Effect::Score { offence, .. } => self.shared.metrics.offended(offence),
            Effect::Contradiction(proof) => {
                let text = format!(
                    "{} signed two versions of its record about {}",
                    proof.kept.site(),
                    proof.kept.key()
                );
                self.note(kinds::MESH_CONFLICT, text).await?;
            }
            Effect::OwnKeyElsewhere(record) => {
                tracing::warn!(record = %record.key(), "Another process signs with this site's key, or this site lost its data.");
            }
            Effect::Unsigned { subject, error } => {
                tracing::warn!(?subject, %error, "A record of this site could not be signed.");
            }
            Effect::Synced { .. } => self.shared.metrics.synced(),
            // The batch has taken these out.
            Effect::Store(_)
            | Effect::Remove(_)
            | Effect::Upsert(_)
            | Effect::Withdraw { .. }
            | Effect::WakeAt(_) => {}
        }
        Ok(())
    }

    async fn note(&self, kind: JournalKind, text: String) -> Result<(), PeersError> {
        tracing::warn!("{text}");
        let line = JournalLine::new(kind, self.shared.ids.clock().now(), "site", text);
        Ok(self.shared.store.commit(Change::new(line)).await?)
    }

    /// Keeps a ban that the catalogue decided.
    async fn keep_ban(&mut self, peer: SiteId, until: Timestamp) -> Result<(), PeersError> {
        self.banned.insert(peer);
        let text = format!("banned {peer} until {until}, because of what it sent");
        let line = (kinds::PEER_BANNED, self.shared.ids.clock().now(), "site", text);
        self.shared.known.update(&peer, line, |known| known.banned_until = Some(until)).await?;
        self.list_again(peer, false).await
    }

    /// Brings the overlay and the registry in step with the bans that are kept.
    pub(super) async fn follow_bans(&mut self) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        let known = self.shared.known.all();
        let wanted: BTreeSet<SiteId> =
            known.iter().filter(|(_, known)| known.value.is_banned(now)).map(|(site, _)| *site).collect();
        let (new, lifted): (Vec<SiteId>, Vec<SiteId>) = (
            wanted.difference(&self.banned).copied().collect(),
            self.banned.difference(&wanted).copied().collect(),
        );
        self.banned = wanted;
        for site in new {
            let until = known.get(&site).and_then(|known| known.value.banned_until);
            self.overlay.disconnect(site, until).await;
            self.list_again(site, false).await?;
        }
        for site in lifted {
            self.overlay.allow(site).await;
            self.list_again(site, true).await?;
        }
        Ok(())
    }

    /// Lists the agents of a site, or withdraws them.
    async fn list_again(&mut self, site: SiteId, is_listed: bool) -> Result<(), PeersError> {
        if !is_listed {
            self.forget_confided(site).await?;
        }
        let Some(catalogue) = &self.catalogue else { return Ok(()) };
        let mut batch = Batch::default();
        for key in catalogue.listed().filter(|key| key.site == site) {
            let record = catalogue.get(key).filter(|_| is_listed).cloned();
            batch.entries.extend(entry_id(key).map(|id| (id, record)));
        }
        self.keep(&batch).await
    }

    /// Withdraws entries of other sites whose records are no longer there.
    pub(super) async fn withdraw_unknown(&mut self) -> Result<(), PeersError> {
        let listed: BTreeSet<ListingId> = self.catalogue()?.listed().filter_map(entry_id).collect();
        let mut after = Some(ENTRIES.to_owned());
        loop {
            let page = self.shared.store.listings(ListingFilter::default(), after, PAGE).await?;
            let ours = page.items.iter().filter(|entry| entry.listing.owner.peer_did().is_some());
            let gone: Vec<ListingId> =
                ours.map(|entry| entry.listing.id.clone()).filter(|id| !listed.contains(id)).collect();
            if !gone.is_empty() {
                self.commit(&RecordChanges::new(), &[], &gone).await?;
            }
            after = page.next.filter(|next| next.starts_with(ENTRIES));
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Says how it goes.
    pub(super) async fn report(&self, worker: &Worker) -> Result<(), PeersError> {
        let (records, published, listed) = self.shared.metrics.held();
        let peers = self.connected.len();
        worker.idle(&format!(
            "{peers} sites connected, {listed} agents of others listed, {published} of this site published, {records} records"
        ));
        if self.shared.is_shared {
            status::keep(&self.shared).await?;
        }
        Ok(())
    }
}
