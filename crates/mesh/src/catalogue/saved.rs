//! What a catalogue is made of again after a restart: plain bytes that a driver kept.
//!
//! Promises: nothing is taken from the disk that would not be taken from a peer: every record is decoded
//! and verified again, so a damaged row is a record that is not there. What this site publishes is
//! published again, with new numbers where it ended meanwhile. A site that was away for longer than
//! tombstones live forgets what others said, because it may have missed that it was taken back.

use std::sync::Arc;

use agentsite_protocol::{Rng, Timestamp};

use super::holdings::deadline;
use super::{Catalogue, Effect, Identity, Moment, Turn};
use crate::limits::{Limits, TOMBSTONE_LIFETIME};
use crate::record::{Body, Claim, Record};

/// What a driver kept of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// When the driver last stored something: how long the site was away is counted from here.
    pub at: Timestamp,
    /// The wire forms of the records that [`Effect::Store`] gave and [`Effect::Remove`] did not take back.
    pub records: Vec<Vec<u8>>,
}

impl Catalogue {
    /// Makes a catalogue of what was kept. The effects put agents into the registry that can be found, and
    /// publish again what this site had published; [`Catalogue::published`] names what to take back if it
    /// is gone.
    #[must_use]
    pub fn restore(
        identity: Identity,
        limits: Limits,
        saved: &Saved,
        moment: Moment,
        rng: &dyn Rng,
    ) -> (Self, Vec<Effect>) {
        let mut catalogue = Self::new(identity, limits);
        let mut turn = Turn { moment, rng, effects: Vec::new() };
        let was_away = moment.now.since(saved.at) > TOMBSTONE_LIFETIME;
        let read = saved.records.iter().filter_map(|bytes| Claim::decode(bytes).and_then(Claim::verify).ok());
        let (own, foreign): (Vec<_>, Vec<_>) =
            read.map(Arc::new).partition(|record| record.site() == catalogue.site());
        for record in foreign {
            catalogue.restore_foreign(record, was_away, &mut turn);
        }
        let sites: Vec<_> = catalogue.holdings.counts().map(|(site, _)| *site).collect();
        sites.into_iter().for_each(|site| catalogue.relist_site(site, &mut turn));
        own.into_iter().for_each(|record| catalogue.restore_own(&record, &turn));
        catalogue.renew_own(&mut turn);
        catalogue.schedule(&mut turn);
        (catalogue, turn.effects)
    }

    fn restore_foreign(&mut self, record: Arc<Record>, was_away: bool, turn: &mut Turn<'_>) {
        let is_newer = self.holdings.get(record.key()).is_none_or(|held| record.supersedes(held));
        let holds =
            !was_away && turn.now() < deadline(&record) && record.work().bits >= self.limits.work_bits;
        if holds && is_newer {
            let site = record.site();
            self.holdings.put(record);
            self.make_room(site, turn);
        } else if self.holdings.get(record.key()).is_none() {
            turn.push(Effect::Remove(record.key().clone()));
        }
    }

    /// Takes back what this site had published; all of it is renewed at once, because others may have lost
    /// it.
    fn restore_own(&mut self, record: &Arc<Record>, turn: &Turn<'_>) {
        self.own.heard(record.seq());
        let body = record.body();
        let is_published = matches!(body, Body::Agent(_) | Body::Site(_) | Body::Split(_));
        if turn.now() < deadline(record) {
            self.holdings.put(record.clone());
        }
        if is_published {
            self.own.bodies.insert(record.subject().clone(), body);
        }
        if is_published || matches!(record.body(), Body::Lease) {
            self.own.renew_at(record.subject(), Some(turn.now()));
        }
    }
}
