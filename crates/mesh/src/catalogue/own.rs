//! What this site publishes: signed when it changes, renewed before it ends, defended when others hold
//! something else.
//!
//! Promises: numbers only grow, also after the state was lost: each is above the last one, above every one
//! heard of, and not below the time in milliseconds. Without anything to publish the site says nothing, not
//! even that it is there. Nothing private can get here: see [`AgentProfile`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentsite_protocol::{AgentName, Timestamp};

use super::{Catalogue, Effect, Proof, Turn};
use crate::cell_id::CellId;
use crate::limits::{LEASE_LIFETIME, LEASE_RENEWAL, MAX_LIFETIME, REPAIR_INTERVAL, TOMBSTONE_LIFETIME};
use crate::record::{
    AgentProfile, BadRecord, Body, Draft, Record, RecordKey, SiteProfile, SplitProfile, Subject,
};

/// What this site publishes.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// What is said of each subject; the lease goes without saying.
    pub(super) bodies: BTreeMap<Subject, Body>,
    /// When each record is renewed.
    renewals: BTreeSet<(Timestamp, Subject)>,
    /// The highest number used or heard of.
    seq: u64,
    /// Subjects about which others hold something else.
    repairs: BTreeSet<Subject>,
    next_repair: Option<Timestamp>,
}

impl Own {
    /// When something is to be done.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let renewal = self.renewals.first().map(|(at, _)| *at);
        let repair = self.next_repair.filter(|_| !self.repairs.is_empty());
        [renewal, repair].into_iter().flatten().min()
    }

    /// The next number.
    fn next_seq(&mut self, now: Timestamp) -> u64 {
        self.seq = (self.seq + 1).max(u64::try_from(now.as_millis()).unwrap_or(0));
        self.seq
    }

    /// Numbers go on above this one.
    pub(super) fn heard(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
    }

    /// Says when a subject is renewed; `None` when never.
    pub(super) fn renew_at(&mut self, subject: &Subject, at: Option<Timestamp>) {
        self.renewals.retain(|(_, other)| other != subject);
        self.renewals.extend(at.map(|at| (at, subject.clone())));
    }
}

impl Catalogue {
    pub(super) fn publish(&mut self, name: AgentName, profile: AgentProfile, turn: &mut Turn<'_>) {
        let subject = Subject::Agent(name);
        if self.own.bodies.len() >= self.limits.records_per_site && !self.own.bodies.contains_key(&subject) {
            let error = BadRecord::Form("this site has as many records as others keep of one");
            return turn.push(Effect::Unsigned { subject, error });
        }
        self.say(subject, Body::Agent(profile), turn);
    }

    pub(super) fn describe(&mut self, about: SiteProfile, turn: &mut Turn<'_>) {
        self.say(Subject::Site, Body::Site(about), turn);
    }

    /// Supports a split of a cell, or takes the support back.
    pub(super) fn endorse(&mut self, cell: CellId, split: Option<SplitProfile>, turn: &mut Turn<'_>) {
        let subject = Subject::Split(cell);
        match split {
            Some(split) => self.say(subject, Body::Split(split), turn),
            None if self.own.bodies.remove(&subject).is_some() => {
                self.sign(&subject, Body::Removed, turn);
            }
            None => {}
        }
    }

    pub(super) fn unpublish(&mut self, name: AgentName, turn: &mut Turn<'_>) {
        let subject = Subject::Agent(name);
        if self.own.bodies.remove(&subject).is_some() {
            self.sign(&subject, Body::Removed, turn);
        }
    }

    /// Ends the lease. What is published stays so for the next start.
    pub(super) fn retire(&mut self, turn: &mut Turn<'_>) {
        let lease = RecordKey::lease(self.site());
        if self.holdings.get(&lease).is_some_and(|lease| !lease.is_removed()) {
            self.sign(&Subject::Lease, Body::Removed, turn);
        }
    }

    /// Says something of a subject, unless it is said already.
    fn say(&mut self, subject: Subject, body: Body, turn: &mut Turn<'_>) {
        let is_said = self.own.bodies.get(&subject) == Some(&body);
        if !is_said && self.sign(&subject, body.clone(), turn) {
            self.own.bodies.insert(subject, body);
        }
        let lease = self.holdings.get(&RecordKey::lease(self.site()));
        if !self.own.bodies.is_empty() && lease.is_none_or(|lease| lease.is_removed()) {
            self.sign(&Subject::Lease, Body::Lease, turn);
        }
    }

    /// Signs what is said of a subject with a new number; false when it cannot be.
    fn sign(&mut self, subject: &Subject, body: Body, turn: &mut Turn<'_>) -> bool {
        let (lifetime, renewal) = match &body {
            // Up to a sixth earlier, so that sites that started together do not renew together for ever.
            Body::Lease => (LEASE_LIFETIME, Some(turn.jittered(LEASE_RENEWAL * 5 / 6))),
            Body::Removed => (TOMBSTONE_LIFETIME, None),
            Body::Site(_) | Body::Agent(_) | Body::Split(_) => {
                (MAX_LIFETIME, Some(turn.jittered(MAX_LIFETIME / 2)))
            }
        };
        let draft = Draft {
            subject: subject.clone(),
            body,
            seq: self.own.next_seq(turn.now()),
            issued_at: turn.now(),
            lifetime,
            work: self.identity.work.nonce,
            to: None,
        };
        let record = match Record::sign(&self.identity.key, draft) {
            Ok(record) => Arc::new(record),
            Err(error) => {
                turn.push(Effect::Unsigned { subject: subject.clone(), error });
                return false;
            }
        };
        self.own.renew_at(subject, renewal.map(|after| turn.now().plus(after)));
        self.own.repairs.remove(subject);
        let is_placed = self.holdings.is_parted() && matches!(subject, Subject::Agent(_));
        if !is_placed {
            self.follow_up.add(&record, self.holdings.get(record.key()).map(|held| &***held), turn.now());
        }
        self.holdings.put(record.clone());
        turn.push(Effect::Store(record.clone()));
        if !is_placed {
            turn.push(Effect::Forward { record, from: None });
        }
        self.make_room(self.site(), turn);
        true
    }

    /// Renews what ends soon, and answers foreign copies.
    pub(super) fn renew_own(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now();
        let renewals = self.own.renewals.iter().take_while(|(at, _)| *at <= now);
        let mut due: BTreeSet<Subject> = renewals.map(|(_, subject)| subject.clone()).collect();
        if self.own.next_repair.is_some_and(|at| at <= now) && !self.own.repairs.is_empty() {
            due.append(&mut self.own.repairs);
            self.own.next_repair = Some(now.plus(REPAIR_INTERVAL));
        }
        for subject in due {
            let body = match (&subject, self.own.bodies.get(&subject)) {
                (_, Some(body)) => body.clone(),
                (Subject::Lease, None) if !self.own.bodies.is_empty() => Body::Lease,
                _ => Body::Removed,
            };
            if !self.sign(&subject, body, turn) {
                self.own.renew_at(&subject, None);
            }
        }
    }

    /// A record that claims to be ours, and is signed with our key. When it is newer than ours, we lost our
    /// state, or another process has our key: we sign a newer one, but not more often than once a minute.
    pub(super) fn own_record_heard(&mut self, record: Arc<Record>, turn: &mut Turn<'_>) {
        let held = self.holdings.get(record.key()).cloned();
        if held.as_ref().is_some_and(|held| !record.supersedes(held) && !record.contradicts(held)) {
            return;
        }
        self.own.heard(record.seq());
        if record.is_removed() && held.is_none() && !self.own.bodies.contains_key(record.subject()) {
            // A tombstone of ours from before we lost our state: it says what we would say.
            self.holdings.put(record.clone());
            return turn.push(Effect::Store(record));
        }
        self.own.repairs.insert(record.subject().clone());
        self.own.next_repair.get_or_insert(turn.now());
        if let Some(held) = held.filter(|held| record.contradicts(held)) {
            let proof = Proof { kept: held, other: record.clone() };
            if self.proofs.len() < self.limits.proofs {
                self.proofs.entry(record.site()).or_insert(proof);
            }
        }
        turn.push(Effect::OwnKeyElsewhere(record));
        self.renew_own(turn);
    }
}
