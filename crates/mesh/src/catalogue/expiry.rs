//! What ends with time: leases, records, tombstones, refusals.
//!
//! Promises: nothing is removed before the settled time, and nothing is listed after the wall clock.

use super::{Catalogue, Turn, Withdrawal};
use crate::record::Subject;

impl Catalogue {
    /// Ends what has ended. By the wall clock it can no longer be found; by the settled time it is removed.
    pub(super) fn expire(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now();
        self.refused.forget_before(now);
        for (deadline, key) in self.holdings.ended(now) {
            match &key.subject {
                Subject::Lease => self.relist_site(key.site, turn),
                Subject::Agent(_) => self.unlist(&key, turn),
                Subject::Site | Subject::Split(_) => {}
            }
            if deadline <= turn.moment.settled {
                self.holdings.take(&key);
                self.forget(&key, Withdrawal::Expired, turn);
            }
        }
    }

    fn unlist(&mut self, key: &crate::record::RecordKey, turn: &mut Turn<'_>) {
        if self.listed.remove(key) {
            turn.push(super::Effect::Withdraw { key: key.clone(), reason: Withdrawal::Expired });
        }
    }
}
