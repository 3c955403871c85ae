//! The contract of overlays: what every implementation does, as tests that run on each.
//!
//! A [`Harness`] starts sites; [`run`] tells the stories one after another and panics where the overlay does
//! not keep its promise. Nothing waits longer than [`PATIENCE`], and nothing waits for a fixed time.

mod stories;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{Either, select};
use futures::{StreamExt as _, pin_mut};

use super::{Overlay, OverlayEvent, OverlayEvents};
use crate::site_id::SiteId;
use crate::story::Site;

pub use stories::run;

/// How long an event may take; generous, for machines with much other work.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Starts sites of one implementation.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Starts the overlay of the site with this number.
    async fn start(&self, number: u64) -> Node;

    /// An address at which nothing answers.
    fn dead_address(&self) -> String;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// A site of a story.
pub struct Node {
    /// Who it is.
    pub site: Site,
    /// Its overlay.
    pub overlay: Arc<dyn Overlay>,
    /// What happens there.
    pub events: OverlayEvents,
    /// Where others dial it.
    pub address: String,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Node({}, {})", self.site.id, self.address)
    }
}

impl Node {
    /// Who it is, as a peer.
    #[must_use]
    pub const fn id(&self) -> SiteId {
        self.site.id
    }

    /// Waits for an event for which `wanted` gives a value; others are passed over.
    ///
    /// # Panics
    /// When it does not happen in time.
    pub async fn until<T>(
        &mut self,
        harness: &dyn Harness,
        what: &str,
        mut wanted: impl FnMut(OverlayEvent) -> Option<T>,
    ) -> T {
        let found = async {
            loop {
                let event =
                    self.events.next().await.unwrap_or_else(|| panic!("the events ended before: {what}"));
                if let Some(value) = wanted(event) {
                    return value;
                }
            }
        };
        within(harness, what, found).await
    }

    /// Waits until a peer is connected.
    pub async fn until_connected(&mut self, harness: &dyn Harness, with: SiteId) {
        self.until(harness, "a connection", |event| {
            matches!(event, OverlayEvent::Connected { peer } if peer == with).then_some(())
        })
        .await;
    }

    /// Waits until a peer is gone.
    pub async fn until_gone(&mut self, harness: &dyn Harness, with: SiteId) {
        self.until(harness, "the end of a connection", |event| {
            matches!(event, OverlayEvent::Gone { peer } if peer == with).then_some(())
        })
        .await;
    }
}

/// Waits for a future, but not for ever.
///
/// # Panics
/// When it takes longer than [`PATIENCE`].
pub async fn within<T>(harness: &dyn Harness, what: &str, future: impl Future<Output = T>) -> T {
    let deadline = harness.sleep(PATIENCE);
    pin_mut!(future);
    match select(future, deadline).await {
        Either::Left((value, _)) => value,
        Either::Right(_) => panic!("not within {PATIENCE:?}: {what}"),
    }
}

/// Repeats something until an event of `node` gives a value: what was sent before everything was in place may
/// be lost on a real network.
///
/// # Panics
/// When it does not happen in time.
pub async fn again_until<T, F: Future<Output = ()>>(
    harness: &dyn Harness,
    what: &str,
    node: &mut Node,
    mut attempt: impl FnMut() -> F,
    mut wanted: impl FnMut(OverlayEvent) -> Option<T>,
) -> T {
    /// Longer than a batch is collected, shorter than a heartbeat of gossip.
    const PAUSE: Duration = Duration::from_millis(200);
    let tries = async {
        loop {
            attempt().await;
            let pause = harness.sleep(PAUSE);
            pin_mut!(pause);
            loop {
                match select(node.events.next(), &mut pause).await {
                    Either::Left((Some(event), _)) => {
                        if let Some(value) = wanted(event) {
                            return value;
                        }
                    }
                    Either::Left((None, _)) => panic!("the events ended before: {what}"),
                    Either::Right(_) => break,
                }
            }
        }
    };
    within(harness, what, tries).await
}
