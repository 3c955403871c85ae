//! The invariants of a catalogue, checked.
//!
//! For tests, simulations and an operator's doctor. [`Catalogue::audit`] looks at every record;
//! [`Catalogue::within_limits`] only at numbers, so that a simulator can ask after every step.

use super::Catalogue;
use super::peers::MAX_BANS;
use crate::record::{RecordKey, Subject};

impl Catalogue {
    /// Checks that no limit is exceeded.
    ///
    /// # Errors
    /// Which one is, in a sentence.
    pub fn within_limits(&self) -> Result<(), String> {
        let limits = &self.limits;
        let own = self.holdings.count_of(&self.site());
        let checks = [
            ("records", self.holdings.len(), limits.records.max(own)),
            ("indexed records", self.holdings.set().len(), self.holdings.len()),
            ("offered ids", self.follow_up.len(), crate::limits::MAX_IDS),
            ("refused ids", self.refused.len(), limits.refused),
            ("proofs", self.proofs.len(), limits.proofs),
            ("peers", self.peers.len(), limits.peers),
            ("bans", self.peers.bans(), MAX_BANS),
            ("listed agents", self.listed.len(), self.holdings.len()),
            ("rates of sites", self.changes.len(), self.holdings.len()),
        ];
        match checks.into_iter().find(|(_, count, most)| count > most) {
            Some((what, count, most)) => Err(format!("{count} {what}, at most {most} are allowed")),
            None => Ok(()),
        }
    }

    /// Checks every invariant that the types do not keep by themselves.
    ///
    /// # Errors
    /// Which one is broken, in a sentence.
    pub fn audit(&self) -> Result<(), String> {
        self.within_limits()?;
        if !self.holdings.is_consistent() {
            return Err("the indexes describe different records".into());
        }
        let crowded = self
            .holdings
            .counts()
            .find(|(site, count)| **site != self.site() && *count > self.limits.records_per_site);
        if let Some((site, count)) = crowded {
            return Err(format!("{count} records of {site}"));
        }
        if let Some(key) = self.listed.iter().find(|key| !self.may_be_listed(key)) {
            return Err(format!("{key} is listed but does not hold"));
        }
        let own = |subject: &Subject| RecordKey { site: self.site(), subject: subject.clone() };
        let is_lost =
            |subject: &&Subject| self.holdings.get(&own(subject)).is_none_or(|record| record.is_removed());
        let lost = self.own.bodies.keys().find(is_lost);
        lost.map_or(Ok(()), |subject| Err(format!("the own {} is not held", subject.kind())))
    }

    /// A lease may have ended since the last tick: that is not yet an error.
    fn may_be_listed(&self, key: &RecordKey) -> bool {
        let lease = self.holdings.get(&RecordKey::lease(key.site));
        let record = self.holdings.get(key);
        let holds =
            [lease, record].into_iter().all(|record| record.is_some_and(|record| !record.is_removed()));
        holds && key.site != self.site() && matches!(key.subject, Subject::Agent(_))
    }
}
