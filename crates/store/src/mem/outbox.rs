//! The outbox as one map: what waits to leave, what was given up, and whose turn it is.
//!
//! Promises: the shortest statement of what every store's outbox does; each question looks at all rows. It
//! sends nothing.

use std::collections::BTreeMap;

use agentsite_protocol::TaskId;

use crate::fair::{Chosen, choose};
use crate::storage::fixed;
use crate::{Claim, ClaimRequest, Claims, Expiry, OutboxChange, OutboxQuery, OutboxRow, Parcel};

#[derive(Default)]
pub(super) struct Outbox {
    rows: BTreeMap<u64, Parcel>,
    /// The id that was given last; none is given twice.
    last: u64,
}

impl Outbox {
    pub(super) fn add(&mut self, row: OutboxRow) {
        self.last += 1;
        self.rows.insert(self.last, Parcel { id: self.last, attempts: 0, error: None, dead: false, row });
    }

    /// Applies one change; a row that is gone stays gone.
    pub(super) fn change(&mut self, change: OutboxChange) {
        match change {
            OutboxChange::Add(row) => self.add(row),
            OutboxChange::Done(id) => drop(self.rows.remove(&id)),
            OutboxChange::Retry { id, due, error } => self.with(id, |parcel| {
                (parcel.row.due, parcel.error, parcel.dead) = (due, Some(error), false);
            }),
            OutboxChange::Defer { id, due } => self.with(id, |parcel| {
                (parcel.row.due, parcel.attempts) = (due, parcel.attempts.saturating_sub(1));
            }),
            OutboxChange::Dead { id, error } => self.with(id, |parcel| {
                (parcel.error, parcel.dead) = (Some(error), true);
            }),
            OutboxChange::Replay { id, due, deadline } => self.with(id, |parcel| {
                (parcel.row.due, parcel.row.deadline) = (due, deadline);
                (parcel.attempts, parcel.dead) = (0, false);
            }),
        }
    }

    fn with(&mut self, id: u64, change: impl FnOnce(&mut Parcel)) {
        if let Some(parcel) = self.rows.get_mut(&id) {
            change(parcel);
        }
    }

    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Claims {
        let free = || self.rows.values().filter(|parcel| !parcel.dead && !self.is_behind(parcel));
        let next = |after: Option<&str>| {
            let names = free().map(|parcel| &parcel.row.account);
            let found = names.filter(|name| after.is_none_or(|after| name.as_str() > after)).min();
            Ok::<_, std::convert::Infallible>(found.cloned())
        };
        let due = |account: &str, most: usize| {
            let of_account = free().filter(|parcel| parcel.row.account == account);
            let mut ids: Vec<_> = of_account
                .filter(|parcel| parcel.row.due <= request.now)
                .map(|parcel| (parcel.row.due, parcel.id))
                .collect();
            ids.sort_unstable();
            Ok(ids.into_iter().take(most).map(|(_, id)| id).collect())
        };
        let Ok(Chosen { rows: ids, turn }) = choose(request, next, due);
        let mut rows = Vec::new();
        for id in ids {
            let parcel = self.rows.get_mut(&id).expect("the id was just seen");
            rows.push(Claim { id, attempts: parcel.attempts, row: parcel.row.clone() });
            parcel.attempts = parcel.attempts.saturating_add(1);
            parcel.row.due = request.until;
        }
        Claims { rows, turn }
    }

    /// What each row takes, by account.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        let size = |parcel: &Parcel| fixed::DELIVERY + parcel.row.body.len() as u64;
        self.rows.values().map(move |parcel| (parcel.row.account.as_str(), size(parcel)))
    }

    /// Whether another row of the same lane has to leave first.
    fn is_behind(&self, parcel: &Parcel) -> bool {
        let lane = |row: &OutboxRow| (row.task, row.lane.clone());
        parcel.row.lane.is_some()
            && parcel.row.task.is_some()
            && self
                .rows
                .range(..parcel.id)
                .any(|(_, other)| !other.dead && lane(&other.row) == lane(&parcel.row))
    }

    pub(super) fn list(&self, query: &OutboxQuery) -> Vec<Parcel> {
        let wanted = |parcel: &&Parcel| query.fits(parcel.id, parcel.row.task, parcel.dead);
        self.rows.values().filter(wanted).take(query.most()).cloned().collect()
    }

    /// Whether something of a task still has to leave.
    pub(super) fn holds(&self, task: TaskId) -> bool {
        self.rows.values().any(|parcel| !parcel.dead && parcel.row.task == Some(task))
    }

    /// Removes everything of a task, or of one of its lanes.
    pub(super) fn clear(&mut self, task: TaskId, lane: Option<&str>) {
        let goes =
            |row: &OutboxRow| row.task == Some(task) && (lane.is_none() || row.lane.as_deref() == lane);
        self.rows.retain(|_, parcel| !goes(&parcel.row));
    }

    /// Removes a portion of what was given up long ago.
    pub(super) fn bury(&mut self, expiry: &Expiry) {
        let old = |parcel: &&Parcel| parcel.dead && parcel.row.deadline < expiry.before;
        let ids: Vec<u64> =
            self.rows.values().filter(old).take(expiry.portion).map(|parcel| parcel.id).collect();
        for id in ids {
            self.rows.remove(&id);
        }
    }

    /// How many wait, and how many were given up.
    pub(super) fn counts(&self) -> (u64, u64) {
        let dead = self.rows.values().filter(|parcel| parcel.dead).count();
        ((self.rows.len() - dead) as u64, dead as u64)
    }
}
