//! Arriving: the body of a request while it comes in.
//!
//! Promises: a body must arrive at a minimum rate once a grace period is over; what has come of unfinished
//! bodies counts against one budget with a share for each caller, and so does each body that takes longer
//! than a moment; the connection is known to be waiting for its other end. A request whose body is not
//! complete does not count as under way. A body that is there already costs nothing of this. The largest size
//! and the longest time are the reader's matter (`limits`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::StillArriving;
use crate::leftover::Leftover;
use crate::settings::HttpLimits;
use crate::shares::{Share, Shares};
use crate::visit::Visit;

/// The budget is drawn on in steps of this size.
const STEP: usize = 16 << 10;

/// How long a body may take before it needs a place among the slow ones: longer than any that is sent in one
/// go.
const MOMENT: Duration = Duration::from_secs(1);

/// What unfinished bodies share.
#[derive(Debug)]
pub(crate) struct Bodies {
    /// The bytes of those that are not complete.
    pub(crate) memory: Arc<Shares>,
    /// Those that take longer than a moment.
    pub(crate) slow: Arc<Shares>,
}

/// Why a body did not arrive.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrivalError {
    /// It came more slowly than it must.
    #[error("the body comes too slowly")]
    TooSlow,
    /// Too much is arriving at once.
    #[error("too much is being sent at once")]
    NoRoom,
    /// The connection broke.
    #[error("the body broke off: {0}")]
    Broken(#[from] hyper::Error),
}

/// By when the next byte of a body must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pace {
    grace: Duration,
    /// Bytes a second; 0 for no minimum.
    rate: usize,
}

impl Pace {
    /// How long after its beginning a body of which so much has come is too slow; `None` for never.
    fn patience(self, received: usize) -> Option<Duration> {
        let nanos = (received as u128 * 1_000_000_000).checked_div(self.rate as u128)?;
        let earned = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        Some(self.grace.saturating_add(earned))
    }
}

struct Arriving {
    /// `None` once it is left.
    body: Option<Incoming>,
    leftover: Leftover,
    visit: Arc<Visit>,
    bodies: Arc<Bodies>,
    pace: Pace,
    begun: Instant,
    received: usize,
    /// Set while the body has to be waited for.
    waiting: Option<Waiting>,
}

struct Waiting {
    _connection: StillArriving,
    /// The bytes that have come.
    memory: Option<Share>,
    /// The place among the slow ones, after a moment.
    slow: Option<Share>,
    timer: Pin<Box<Sleep>>,
}

/// The body of a request that came with this visit.
pub(crate) fn body(
    incoming: Incoming,
    visit: &Arc<Visit>,
    bodies: &Arc<Bodies>,
    limits: &HttpLimits,
    begun: Instant,
    leftover: &Leftover,
) -> Body {
    if incoming.is_end_stream() {
        return Body::empty();
    }
    let pace = Pace { grace: limits.body_grace, rate: limits.body_rate };
    let (visit, bodies, leftover) = (Arc::clone(visit), Arc::clone(bodies), leftover.clone());
    let body = Some(incoming);
    Body::new(Arriving { body, leftover, visit, bodies, pace, begun, received: 0, waiting: None })
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.leftover.leave(body);
        }
    }
}

impl Arriving {
    /// Waits for more, if it is not too late.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<ArrivalError> {
        let (visit, begun) = (&self.visit, self.begun);
        let waiting = self.waiting.get_or_insert_with(|| {
            visit.pause();
            let timer = Box::pin(sleep_until(begun + MOMENT));
            Waiting { _connection: visit.connection.awaits_body(), memory: None, slow: None, timer }
        });
        let wanted = self.received.next_multiple_of(STEP);
        let drawn = match &mut waiting.memory {
            Some(held) => held.grow_to(wanted),
            None if wanted == 0 => Ok(()),
            None => self.bodies.memory.take(&visit.holder(), wanted).map(|held| waiting.memory = Some(held)),
        };
        if drawn.is_err() {
            return Poll::Ready(ArrivalError::NoRoom);
        }
        let late = self.pace.patience(self.received).map(|patience| begun + patience);
        loop {
            let next = if waiting.slow.is_none() { Some(begun + MOMENT) } else { None };
            let Some(next) = [next, late].into_iter().flatten().min() else { return Poll::Pending };
            if waiting.timer.deadline() != next {
                waiting.timer.as_mut().reset(next);
            }
            std::task::ready!(waiting.timer.as_mut().poll(context));
            if late.is_some_and(|late| late <= next) {
                return Poll::Ready(ArrivalError::TooSlow);
            }
            match self.bodies.slow.take(&visit.holder(), 1) {
                Ok(place) => waiting.slow = Some(place),
                Err(_) => return Poll::Ready(ArrivalError::NoRoom),
            }
        }
    }

    /// The body is complete: from now on the request is under way.
    fn complete(&mut self) -> Result<(), ArrivalError> {
        match self.waiting.take() {
            Some(_) => self.visit.resume().map_err(|_| ArrivalError::NoRoom),
            None => Ok(()),
        }
    }
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = ArrivalError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ArrivalError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.received += frame.data_ref().map_or(0, Bytes::len);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.body = None;
                Poll::Ready(self.complete().err().map(Err))
            }
            Poll::Pending => self.wait(context).map(|error| Some(Err(error))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_must_keep_its_pace_after_the_grace() {
        let pace = Pace { grace: Duration::from_secs(5), rate: 1024 };
        assert_eq!(pace.patience(0), Some(Duration::from_secs(5)));
        assert_eq!(pace.patience(1024), Some(Duration::from_secs(6)));
        assert_eq!(pace.patience(10 * 1024 + 512), Some(Duration::from_millis(15_500)));
        assert_eq!(Pace { rate: 0, ..pace }.patience(0), None);
        assert!(pace.patience(usize::MAX).is_some());
    }
}
