//! Feeds: who is told that the tools and resources of the site have changed.
//!
//! Promises: one feed for each owner, so that nobody hears of another's tasks; a change of the agents reaches
//! all. Nothing here waits: a listener that is too slow is told that it missed something. Feeds that nobody
//! reads and followers that nobody hears go away.
//!
//! It does not know what a resource is; whoever watches one brings the follower that tells of it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentsite_host::{CHANGE_QUEUE, Change};
use agentsite_protocol::Principal;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

/// Resources that one owner may watch at once; an assistant follows a handful.
const MAX_WATCHED: usize = 256;

/// The feeds of a site.
#[derive(Debug, Default)]
pub(crate) struct Feeds(
    // A std lock: held for a look-up, an insert or a send that does not wait, never across an await.
    Mutex<HashMap<Principal, Feed>>,
);

#[derive(Debug)]
struct Feed {
    sender: broadcast::Sender<Change>,
    watched: HashMap<String, Watched>,
}

/// A resource that somebody watches.
#[derive(Debug)]
struct Watched {
    /// How many do.
    times: usize,
    /// What looks out for its changes; dropped ends it.
    _follower: Option<EndOnDrop>,
}

/// Ends a follower with the last who watches.
#[derive(Debug)]
struct EndOnDrop(AbortHandle);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Default for Feed {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(CHANGE_QUEUE), watched: HashMap::new() }
    }
}

impl Feeds {
    /// Tells this owner from now on what changes.
    pub(crate) fn listen(&self, owner: &Principal) -> broadcast::Receiver<Change> {
        let mut feeds = self.lock();
        feeds.retain(|_, feed| feed.sender.receiver_count() > 0 || !feed.watched.is_empty());
        feeds.entry(owner.clone()).or_default().sender.subscribe()
    }

    /// Tells everybody that the agents of the site have changed, and those who watch one of `resources` that
    /// it has.
    pub(crate) fn agents_changed(&self, resources: impl Fn(&str) -> bool) {
        for feed in self.lock().values() {
            let touched = feed.watched.keys().filter(|uri| resources(uri));
            let touched = touched.map(|uri| Change::Resource(uri.clone()));
            for change in [Change::Tools, Change::Resources, Change::Prompts].into_iter().chain(touched) {
                let _ = feed.sender.send(change);
            }
        }
    }

    /// Tells everybody that the tools of an agent have changed.
    pub(crate) fn tools_changed(&self) {
        for feed in self.lock().values() {
            let _ = feed.sender.send(Change::Tools);
        }
    }

    /// Tells one owner that a resource has changed; false when nobody listens, and then nobody watches it any
    /// more.
    pub(crate) fn resource_changed(&self, owner: &Principal, uri: &str) -> bool {
        let mut feeds = self.lock();
        let Some(feed) = feeds.get_mut(owner) else { return false };
        let heard = feed.sender.send(Change::Resource(uri.to_owned())).is_ok();
        if !heard {
            feed.watched.remove(uri);
        }
        heard
    }

    /// Counts one who watches; `follow` starts what looks out, for the first one only.
    pub(crate) fn watch(&self, owner: &Principal, uri: &str, follow: impl FnOnce() -> Option<AbortHandle>) {
        let mut feeds = self.lock();
        let feed = feeds.entry(owner.clone()).or_default();
        if let Some(watched) = feed.watched.get_mut(uri) {
            watched.times += 1;
        } else if feed.watched.len() < MAX_WATCHED {
            let watched = Watched { times: 1, _follower: follow().map(EndOnDrop) };
            feed.watched.insert(uri.to_owned(), watched);
        }
    }

    /// Counts one who watches no more.
    pub(crate) fn unwatch(&self, owner: &Principal, uri: &str) {
        let mut feeds = self.lock();
        let Some(feed) = feeds.get_mut(owner) else { return };
        if let Some(watched) = feed.watched.get_mut(uri) {
            watched.times -= 1;
            if watched.times == 0 {
                feed.watched.remove(uri);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, Feed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Principal {
        format!("key:{name}").parse().unwrap()
    }

    #[test]
    fn only_the_owner_hears_of_a_resource() {
        let feeds = Feeds::default();
        let (mut one, mut two) = (feeds.listen(&owner("one")), feeds.listen(&owner("two")));
        assert!(feeds.resource_changed(&owner("one"), "a://b"));
        assert_eq!(one.try_recv().unwrap(), Change::Resource("a://b".into()));
        assert!(two.try_recv().is_err());
    }

    #[test]
    fn a_change_of_the_agents_reaches_everybody_and_those_who_watch_one() {
        let feeds = Feeds::default();
        let (mut one, mut two) = (feeds.listen(&owner("one")), feeds.listen(&owner("two")));
        feeds.watch(&owner("one"), "a://card", || None);
        feeds.agents_changed(|uri| uri.ends_with("card"));
        let heard = |listener: &mut broadcast::Receiver<Change>| {
            std::iter::from_fn(|| listener.try_recv().ok()).collect::<Vec<_>>().len()
        };
        assert_eq!((heard(&mut one), heard(&mut two)), (4, 3));
    }

    #[tokio::test]
    async fn a_follower_ends_with_the_last_who_watches() {
        let feeds = Feeds::default();
        let follower = tokio::spawn(std::future::pending::<()>());
        let handle = follower.abort_handle();
        feeds.watch(&owner("one"), "a", || Some(handle));
        feeds.watch(&owner("one"), "a", || panic!("it is followed already"));
        feeds.unwatch(&owner("one"), "a");
        assert!(!follower.is_finished());
        feeds.unwatch(&owner("one"), "a");
        assert!(follower.await.unwrap_err().is_cancelled());
    }

    #[test]
    fn what_nobody_hears_is_forgotten_and_the_number_is_bounded() {
        let feeds = Feeds::default();
        for number in 0..=MAX_WATCHED {
            feeds.watch(&owner("one"), &number.to_string(), || None);
        }
        assert_eq!(feeds.lock()[&owner("one")].watched.len(), MAX_WATCHED);
        assert!(!feeds.resource_changed(&owner("one"), "7"));
        assert_eq!(feeds.lock()[&owner("one")].watched.len(), MAX_WATCHED - 1);
    }
}
