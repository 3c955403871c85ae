//! Admission: which foreign records are taken in, cheapest reasons to refuse first.
//!
//! Promises: a record is taken only if its site signed it, it holds by our clock, its identity took work, it
//! is newer than what is held, and there is room. The signature is checked last, because it costs a hundred
//! times the rest: what gossip brings twice costs a hash and a look-up. A wrong time is not an offence: our
//! own clock may be the wrong one. A refusal is remembered only for reasons that lie in the signed content,
//! so that a forged copy cannot keep out the genuine one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Timestamp;

use super::holdings::deadline;
use super::peers::Bucket;
use super::{Catalogue, Effect, Offence, Proof, Turn, Withdrawal};
use crate::limits::CLOCK_SLACK;
use crate::record::{Candidate, Claim, Record, RecordId, RecordKey, Subject};
use crate::site_id::SiteId;

/// How long a record for which there was no room is not asked for again.
const REFUSED_FOR: Duration = Duration::from_secs(10 * 60);

/// How a record came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Unasked: the rates of its peer and its site count.
    Pushed,
    /// We asked for it.
    Asked,
}

/// Why a claim is not looked at further.
enum Refusal {
    /// Nothing is wrong with it.
    Quiet,
    /// It will be refused until then, from every peer.
    Until(Timestamp),
    /// The peer should not have sent it.
    Offence(Offence),
}

impl Catalogue {
    /// Looks at a record that a peer sent.
    pub(super) fn admit(&mut self, candidate: Candidate, peer: SiteId, way: Way, turn: &mut Turn<'_>) {
        let id = candidate.id();
        if self.holdings.has(&id) || self.refused.contains(&id, turn.now()) {
            return;
        }
        match self.prove(candidate, turn) {
            Ok(record) => self.take_proven(record, peer, way, turn),
            Err(Refusal::Quiet) => {}
            Err(Refusal::Until(until)) => self.refused.insert(id, until, self.limits.refused),
            Err(Refusal::Offence(offence)) => self.punish(peer, offence, turn),
        }
    }

    /// Reads, judges and verifies a record, in this order.
    fn prove(&self, candidate: Candidate, turn: &Turn<'_>) -> Result<Arc<Record>, Refusal> {
        match candidate {
            Candidate::Proven(record) => self.judge(&record, turn).map(|()| record),
            Candidate::Raw(bytes) => {
                let claim = Claim::decode(&bytes).map_err(|_| Refusal::Offence(Offence::Unreadable))?;
                self.judge(&claim, turn)?;
                claim.verify().map(Arc::new).map_err(|_| Refusal::Offence(Offence::Forged))
            }
        }
    }

    /// Takes in a record that its site signed.
    fn take_proven(&mut self, record: Arc<Record>, peer: SiteId, way: Way, turn: &mut Turn<'_>) {
        if record.site() == self.site() {
            return self.own_record_heard(record, turn);
        }
        // Counted only now, so that forgeries do not use up what the site may change.
        if way == Way::Pushed && !self.may_change(record.site(), turn.now()) {
            return;
        }
        if let Some(held) = self.holdings.get(record.key()).cloned()
            && record.contradicts(&held)
        {
            let is_newer = record.supersedes(&held);
            let (kept, other) = if is_newer { (record.clone(), held) } else { (held, record.clone()) };
            self.refused.insert(other.id(), other.expires_at(), self.limits.refused);
            self.keep_proof(Proof { kept, other }, peer, turn);
            if !is_newer {
                return;
            }
        }
        self.take_in(&record, peer, turn);
    }

    /// Judges what can be judged without the signature.
    fn judge(&self, claim: &Claim, turn: &Turn<'_>) -> Result<(), Refusal> {
        let is_foreign = claim.site() != self.site();
        if is_foreign && self.holdings.is_parted() && matches!(claim.subject(), Subject::Agent(_)) {
            return Err(Refusal::Quiet);
        }
        self.judge_content(claim, turn)
    }

    /// Takes in agents of cells that this site keeps. They are not passed on: cells do that.
    pub(super) fn place(&mut self, records: Vec<Arc<Record>>, turn: &mut Turn<'_>) {
        for record in records {
            let is_agent = matches!(record.subject(), Subject::Agent(_)) && record.site() != self.site();
            let is_new = self.holdings.get(record.key()).is_none_or(|held| record.supersedes(held));
            if is_agent && is_new && self.judge_content(&record, turn).is_ok() {
                let (site, key) = (record.site(), record.key().clone());
                self.holdings.put(record.clone());
                turn.push(Effect::Store(record));
                self.make_room(site, turn);
                self.relist(&key, true, turn);
            }
        }
    }

    /// Removes agents of cells that this site no longer keeps.
    pub(super) fn evict(&mut self, keys: &[RecordKey], turn: &mut Turn<'_>) {
        let own = self.site();
        for key in keys.iter().filter(|key| key.site != own) {
            if self.holdings.take(key).is_some() {
                self.forget(key, Withdrawal::Evicted, turn);
            }
        }
    }

    fn judge_content(&self, claim: &Claim, turn: &Turn<'_>) -> Result<(), Refusal> {
        let now = turn.now();
        if claim.to().is_some() {
            // The peer got it for itself, or from a site that did.
            return Err(Refusal::Offence(Offence::Leaked));
        }
        if claim.issued_at() > now.plus(CLOCK_SLACK) {
            return Err(Refusal::Until(claim.issued_at().minus(CLOCK_SLACK)));
        }
        if deadline(claim) <= now {
            return Err(Refusal::Until(now.plus(REFUSED_FOR)));
        }
        if claim.work().bits < self.limits.work_bits {
            return Err(Refusal::Offence(Offence::TooLittleWork));
        }
        if self.holdings.get(claim.key()).is_some_and(|held| claim.seq() < held.seq()) {
            return Err(Refusal::Quiet);
        }
        let is_own = claim.site() == self.site();
        if !is_own && !self.holdings.has_room(claim, self.site(), &self.limits) {
            return Err(Refusal::Until(now.plus(REFUSED_FOR)));
        }
        Ok(())
    }

    /// Whether a site may change a record once more. Sites that are not held are not counted: their first
    /// records are bounded by the rate of the peer that brings them.
    fn may_change(&mut self, site: SiteId, now: Timestamp) -> bool {
        if self.holdings.count_of(&site) == 0 {
            return true;
        }
        let (rate, burst) = (self.limits.changes_per_minute, self.limits.change_burst);
        self.changes.entry(site).or_insert_with(|| Bucket::full(burst, now)).take(1, rate, burst, now)
    }

    /// Keeps a record that passed, and makes room for it.
    fn take_in(&mut self, record: &Arc<Record>, peer: SiteId, turn: &mut Turn<'_>) {
        let site = record.site();
        self.follow_up.add(record, self.holdings.get(record.key()).map(|held| &***held), turn.now());
        self.holdings.put(record.clone());
        turn.push(Effect::Store(record.clone()));
        turn.push(Effect::Forward { record: record.clone(), from: Some(peer) });
        self.make_room(site, turn);
        match record.subject() {
            Subject::Lease => self.relist_site(site, turn),
            Subject::Agent(_) => self.relist(record.key(), true, turn),
            Subject::Site | Subject::Split(_) => {}
        }
    }

    /// Removes records until the limits hold.
    pub(super) fn make_room(&mut self, site: SiteId, turn: &mut Turn<'_>) {
        while let Some(key) = self.holdings.overflow(site, self.site(), &self.limits) {
            if let Some(gone) = self.holdings.take(&key) {
                self.refused.insert(gone.id(), turn.now().plus(REFUSED_FOR), self.limits.refused);
            }
            self.forget(&key, Withdrawal::Evicted, turn);
        }
    }

    /// What follows when a record is no longer held.
    pub(super) fn forget(&mut self, key: &RecordKey, reason: Withdrawal, turn: &mut Turn<'_>) {
        turn.push(Effect::Remove(key.clone()));
        if self.listed.remove(key) {
            turn.push(Effect::Withdraw { key: key.clone(), reason });
        }
        if key.subject == Subject::Lease {
            self.relist_site(key.site, turn);
        }
        if self.holdings.count_of(&key.site) == 0 {
            self.changes.remove(&key.site);
        }
    }

    /// Decides anew which agents of a site can be found.
    pub(super) fn relist_site(&mut self, site: SiteId, turn: &mut Turn<'_>) {
        let keys: Vec<RecordKey> = self.holdings.of_site(site).map(|record| record.key().clone()).collect();
        keys.iter().for_each(|key| self.relist(key, false, turn));
    }

    /// Decides anew whether an agent can be found; `changed` when its record is a new one.
    fn relist(&mut self, key: &RecordKey, changed: bool, turn: &mut Turn<'_>) {
        let is_foreign_agent = matches!(key.subject, Subject::Agent(_)) && key.site != self.site();
        let Some(record) = self.holdings.get(key).filter(|_| is_foreign_agent) else { return };
        let hold = |record: &Arc<Record>| !record.is_removed() && turn.now() < deadline(record);
        let has_lease = self.holdings.get(&RecordKey::lease(key.site)).is_some_and(hold);
        if hold(record) && has_lease {
            let record = record.clone();
            if self.listed.insert(key.clone()) || changed {
                turn.push(Effect::Upsert(record));
            }
        } else if self.listed.contains(key) {
            let reason = match (record.is_removed(), has_lease) {
                (true, _) => Withdrawal::Removed,
                (false, false) => Withdrawal::SiteGone,
                (false, true) => Withdrawal::Expired,
            };
            self.listed.remove(key);
            turn.push(Effect::Withdraw { key: key.clone(), reason });
        }
    }

    /// Keeps the first proof against a site and lets others make it, too.
    fn keep_proof(&mut self, proof: Proof, peer: SiteId, turn: &mut Turn<'_>) {
        let site = proof.kept.site();
        if self.proofs.contains_key(&site) || self.proofs.len() >= self.limits.proofs {
            return;
        }
        self.proofs.insert(site, proof.clone());
        turn.push(Effect::Forward { record: proof.other.clone(), from: Some(peer) });
        turn.push(Effect::Contradiction(proof));
    }
}

/// Ids of records that are not asked for again for a while, at most so many.
#[derive(Debug, Default)]
pub(super) struct Refused {
    until: BTreeMap<RecordId, Timestamp>,
    order: BTreeSet<(Timestamp, RecordId)>,
}

impl Refused {
    pub(super) fn len(&self) -> usize {
        self.until.len()
    }

    pub(super) fn contains(&self, id: &RecordId, now: Timestamp) -> bool {
        self.until.get(id).is_some_and(|until| now < *until)
    }

    /// Remembers an id; when there are too many, the one that would be forgotten next goes.
    fn insert(&mut self, id: RecordId, until: Timestamp, most: usize) {
        if let Some(before) = self.until.insert(id, until) {
            self.order.remove(&(before, id));
        }
        self.order.insert((until, id));
        while self.until.len() > most {
            let Some((_, id)) = self.order.pop_first() else { return };
            self.until.remove(&id);
        }
    }

    /// Forgets what may be asked for again.
    pub(super) fn forget_before(&mut self, now: Timestamp) {
        while let Some((until, id)) = self.order.first().copied().filter(|(until, _)| *until <= now) {
            self.order.remove(&(until, id));
            self.until.remove(&id);
        }
    }
}
