//! How the keys in memory follow the store: what another handle of the same store changed is read again
//! before a key is judged.
//!
//! Promises: a key that was made or revoked through another handle, and whose change was acknowledged, is
//! known or refused here from then on. A look costs one comparison while nothing has changed. It writes
//! nothing.

use std::sync::{Arc, PoisonError};

use agentsite_store::{ChangeCursor, Changes, Entity, KeyRecord, SharedStore, Topic};
use tokio::sync::{Mutex, watch};

use super::{Keys, admin_token};
use crate::SiteError;

/// Changes that are read at once.
const PAGE: usize = 100;

/// Where the keys in memory are in the feed.
#[derive(Debug)]
pub(super) struct Follower {
    feed: watch::Receiver<ChangeCursor>,
    /// Up to where everything is in memory; held while it is brought in step.
    seen: Mutex<ChangeCursor>,
}

impl Follower {
    /// Begins at the end of the feed; what was changed before is read afterwards by the caller.
    pub(super) fn new(store: &SharedStore) -> Self {
        let feed = store.watch(Topic::Keys);
        let seen = Mutex::new(*feed.borrow());
        Self { feed, seen }
    }
}

impl Keys {
    /// Brings the keys in memory in step with the store.
    pub(super) async fn follow(&self) -> Result<(), SiteError> {
        // The feed only moves on, so a moment in which nobody brings it in step is enough to see that it is.
        if self.follower.seen.try_lock().is_ok_and(|seen| *seen == *self.follower.feed.borrow()) {
            return Ok(());
        }
        let mut seen = self.follower.seen.lock().await;
        loop {
            let end = *self.follower.feed.borrow();
            if *seen == end {
                return Ok(());
            }
            *seen = match self.store.changes(Topic::Keys, *seen, PAGE).await? {
                Changes::Page { items, next } => {
                    for entity in items {
                        self.read_again(&entity).await?;
                    }
                    next
                }
                Changes::Gap(next) => {
                    self.read_all().await?;
                    next
                }
            };
            // A new admin token is a new key, so its setting can have changed only together with a key.
            self.read_admin_token().await?;
        }
    }

    async fn read_again(&self, entity: &Entity) -> Result<(), SiteError> {
        let Entity::Key(id) = entity else { return Ok(()) };
        match self.store.key(id.clone()).await? {
            Some(record) => self.remember(record),
            None => self.drop_known(std::slice::from_ref(id)),
        }
        Ok(())
    }

    async fn read_all(&self) -> Result<(), SiteError> {
        let by_id = |record: KeyRecord| (record.id.clone(), Arc::new(record));
        let all = self.store.keys().await?.into_iter().map(by_id).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }

    async fn read_admin_token(&self) -> Result<(), SiteError> {
        let named = self.store.setting(admin_token::SETTING).await?.and_then(|id| id.parse().ok());
        *self.admin_token.write().unwrap_or_else(PoisonError::into_inner) = named;
        Ok(())
    }
}
