//! The outbox as one map: what waits to leave, what was given up, and whose turn it is.
//!
//! Promises: the shortest statement of what every store's outbox does; each question looks at all rows. It
//! sends nothing.

use std::collections::BTreeMap;

use agentsite_protocol::TaskId;

use crate::fair::{Chosen, choose};
use crate::storage::fixed;
use crate::{
    Delivery, DeliveryChange, DeliveryClaim, DeliveryClaimRequest, DeliveryClaims, DeliveryQuery,
    DeliveryRequest, Expiry,
};

#[derive(Default)]
pub(super) struct Outbox {
    rows: BTreeMap<u64, Delivery>,
    /// The id that was given last; none is given twice.
    last: u64,
}

impl Outbox {
    pub(super) fn add(&mut self, row: DeliveryRequest) {
        self.last += 1;
        self.rows.insert(self.last, Delivery { id: self.last, attempts: 0, error: None, dead: false, row });
    }

    /// Applies one change; a row that is gone stays gone.
    pub(super) fn change(&mut self, change: DeliveryChange) {
        match change {
            DeliveryChange::Add(row) => self.add(row),
            DeliveryChange::Done(id) => drop(self.rows.remove(&id)),
            DeliveryChange::Retry { id, due, error } => self.with(id, |delivery| {
                (delivery.row.due, delivery.error, delivery.dead) = (due, Some(error), false);
            }),
            DeliveryChange::Defer { id, due } => self.with(id, |delivery| {
                (delivery.row.due, delivery.attempts) = (due, delivery.attempts.saturating_sub(1));
            }),
            DeliveryChange::Dead { id, error } => self.with(id, |delivery| {
                (delivery.error, delivery.dead) = (Some(error), true);
            }),
            DeliveryChange::Replay { id, due, deadline } => self.with(id, |delivery| {
                (delivery.row.due, delivery.row.deadline) = (due, deadline);
                (delivery.attempts, delivery.dead) = (0, false);
            }),
        }
    }

    fn with(&mut self, id: u64, change: impl FnOnce(&mut Delivery)) {
        if let Some(delivery) = self.rows.get_mut(&id) {
            change(delivery);
        }
    }

    pub(super) fn claim(&mut self, request: &DeliveryClaimRequest) -> DeliveryClaims {
        let free = || self.rows.values().filter(|delivery| !delivery.dead && !self.is_behind(delivery));
        let next = |after: Option<&str>| {
            let names = free().map(|delivery| &delivery.row.account);
            let found = names.filter(|name| after.is_none_or(|after| name.as_str() > after)).min();
            Ok::<_, std::convert::Infallible>(found.cloned())
        };
        let due = |account: &str, most: usize| {
            let of_account = free().filter(|delivery| delivery.row.account == account);
            let mut ids: Vec<_> = of_account
                .filter(|delivery| delivery.row.due <= request.now)
                .map(|delivery| (delivery.row.due, delivery.id))
                .collect();
            ids.sort_unstable();
            Ok(ids.into_iter().take(most).map(|(_, id)| id).collect())
        };
        let Ok(Chosen { rows: ids, turn }) = choose(request, next, due);
        let mut rows = Vec::new();
        for id in ids {
            let delivery = self.rows.get_mut(&id).expect("the id was just seen");
            rows.push(DeliveryClaim { id, attempts: delivery.attempts, row: delivery.row.clone() });
            delivery.attempts = delivery.attempts.saturating_add(1);
            delivery.row.due = request.until;
        }
        DeliveryClaims { rows, turn }
    }

    /// What each row takes, by account.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        let size = |delivery: &Delivery| fixed::DELIVERY + delivery.row.body.len() as u64;
        self.rows.values().map(move |delivery| (delivery.row.account.as_str(), size(delivery)))
    }

    /// Whether another row of the same lane has to leave first.
    fn is_behind(&self, delivery: &Delivery) -> bool {
        let lane = |row: &DeliveryRequest| (row.task, row.lane.clone());
        delivery.row.lane.is_some()
            && delivery.row.task.is_some()
            && self
                .rows
                .range(..delivery.id)
                .any(|(_, other)| !other.dead && lane(&other.row) == lane(&delivery.row))
    }

    pub(super) fn list(&self, query: &DeliveryQuery) -> Vec<Delivery> {
        let wanted = |delivery: &&Delivery| query.fits(delivery.id, delivery.row.task, delivery.dead);
        self.rows.values().filter(wanted).take(query.most()).cloned().collect()
    }

    /// Whether something of a task still has to leave.
    pub(super) fn holds(&self, task: TaskId) -> bool {
        self.rows.values().any(|delivery| !delivery.dead && delivery.row.task == Some(task))
    }

    /// Removes everything of a task, or of one of its lanes.
    pub(super) fn clear(&mut self, task: TaskId, lane: Option<&str>) {
        let goes =
            |row: &DeliveryRequest| row.task == Some(task) && (lane.is_none() || row.lane.as_deref() == lane);
        self.rows.retain(|_, delivery| !goes(&delivery.row));
    }

    /// Removes a portion of what was given up long ago.
    pub(super) fn bury(&mut self, expiry: &Expiry) {
        let old = |delivery: &&Delivery| delivery.dead && delivery.row.deadline < expiry.before;
        let ids: Vec<u64> =
            self.rows.values().filter(old).take(expiry.portion).map(|delivery| delivery.id).collect();
        for id in ids {
            self.rows.remove(&id);
        }
    }

    /// How many wait, and how many were given up.
    pub(super) fn counts(&self) -> (u64, u64) {
        let dead = self.rows.values().filter(|delivery| delivery.dead).count();
        ((self.rows.len() - dead) as u64, dead as u64)
    }
}
