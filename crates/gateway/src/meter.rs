//! Meter: how many bytes of a WebSocket message have been read before it is complete and handled.
//!
//! Promises: a message is cut off as soon as more of it has come than the socket may send; what has come
//! counts against one budget for all sockets, with a share for each owner, so that many half-sent messages
//! cannot fill the memory. It sees bytes only: what a message is, the driver of the socket says by
//! [`Meter::settle`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::shares::{Holder, Share, Shares};

/// Bytes of each socket that are not counted: its read buffer, which it has anyway.
pub(crate) const FREE: usize = 4 << 10;

/// The budget is drawn on in steps of this size, so that most reads take no lock but the meter's own.
const STEP: usize = 16 << 10;

/// Why nothing more is read from a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Overrun {
    /// The message is larger than this socket may send.
    #[error("the message is too large")]
    TooLarge,
    /// The budget of all sockets, or the owner's share of it, is used up.
    #[error("too much is being sent at once")]
    NoRoom,
}

/// Counts what one socket sends.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Arc<Shares>,
    holder: Holder,
    // A std lock: held for an addition, never across an await.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Bytes since the last message was handled.
    unsettled: usize,
    /// Most bytes that may be unsettled.
    limit: usize,
    share: Option<Share>,
    overrun: Option<Overrun>,
}

impl Meter {
    /// A meter for a socket that may send messages of this size.
    pub(crate) fn new(budget: &Arc<Shares>, holder: Holder, limit: usize) -> Arc<Self> {
        let state = State { unsettled: 0, limit, share: None, overrun: None };
        Arc::new(Self { budget: Arc::clone(budget), holder, state: Mutex::new(state) })
    }

    /// Counts bytes that were read.
    pub(crate) fn count(&self, bytes: usize) -> Result<(), Overrun> {
        let mut state = self.state();
        state.unsettled += bytes;
        let counted =
            if state.unsettled > state.limit { Err(Overrun::TooLarge) } else { self.draw(&mut state) };
        if let Err(overrun) = counted {
            state.overrun = Some(overrun);
        }
        counted
    }

    fn draw(&self, state: &mut State) -> Result<(), Overrun> {
        let Some(counted) = state.unsettled.checked_sub(FREE).filter(|counted| *counted > 0) else {
            return Ok(());
        };
        let wanted = counted.next_multiple_of(STEP);
        let drawn = match &mut state.share {
            Some(share) => share.grow_to(wanted),
            None => self.budget.take(&self.holder, wanted).map(|share| state.share = Some(share)),
        };
        drawn.map_err(|_| Overrun::NoRoom)
    }

    /// Says that everything that came so far is handled.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        state.unsettled = 0;
        let share = state.share.take();
        drop(state);
        drop(share);
    }

    /// Lets the socket send messages of another size.
    pub(crate) fn allow(&self, limit: usize) {
        self.state().limit = limit;
    }

    /// Why nothing more is read, if so.
    pub(crate) fn overrun(&self) -> Option<Overrun> {
        self.state().overrun
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::settings::Division;

    fn budget() -> Arc<Shares> {
        Shares::new(Division { total: 8 * STEP, reserve: 0, per_address: 0, per_owner: 4 * STEP })
    }

    fn meter(budget: &Arc<Shares>, owner: &str) -> Arc<Meter> {
        Meter::new(budget, Holder::Owner(owner.parse().unwrap()), 1 << 20)
    }

    #[test]
    fn small_messages_cost_nothing_and_large_ones_until_they_are_handled() {
        let budget = budget();
        let meter = meter(&budget, "key:a");
        meter.count(FREE).unwrap();
        assert_eq!(budget.in_use(), 0);
        meter.count(1).unwrap();
        assert_eq!(budget.in_use(), STEP);
        meter.count(STEP).unwrap();
        assert_eq!(budget.in_use(), 2 * STEP);
        meter.settle();
        assert_eq!(budget.in_use(), 0);
    }

    #[test]
    fn one_owner_cannot_use_up_the_budget_and_all_owners_cannot_pass_it() {
        let budget = budget();
        let meters: Vec<_> =
            ["key:a", "key:a", "key:b", "key:b", "key:c"].map(|owner| meter(&budget, owner)).into();
        meters[0].count(FREE + 3 * STEP).unwrap();
        assert_eq!(meters[1].count(FREE + 2 * STEP), Err(Overrun::NoRoom), "the owner's share");
        assert_eq!(meters[1].overrun(), Some(Overrun::NoRoom));
        meters[2].count(FREE + 4 * STEP).unwrap();
        assert_eq!(meters[4].count(FREE + 2 * STEP), Err(Overrun::NoRoom), "the whole budget");
        drop(meters);
        assert_eq!(budget.in_use(), 0);
    }

    #[test]
    fn a_message_has_a_limit_that_can_be_raised() {
        let budget = budget();
        let meter = Meter::new(&budget, Holder::Operator, 100);
        meter.count(100).unwrap();
        meter.settle();
        meter.allow(200);
        meter.count(200).unwrap();
        assert_eq!(meter.count(1), Err(Overrun::TooLarge));
    }
}
