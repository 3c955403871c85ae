//! Which conversation at the agent continues which conversation of ours.
//!
//! Promises: bounded, the one unused for longest is forgotten first; a conversation belongs to its owner, so
//! that two callers who choose the same id do not meet. It is kept in memory only: after a restart a
//! conversation begins anew at the agent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{ContextId, Principal};

/// Conversations remembered per agent; at 200 bytes each this is a fifth of a megabyte.
const MOST: usize = 1_024;

/// Remembers the agent's own ids of conversations.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    // A std lock: held for a look-up or an insertion, never across an await.
    known: Mutex<StoredContext>,
}

#[derive(Debug, Default)]
struct StoredContext {
    remote: HashMap<(Principal, ContextId), (ContextId, u64)>,
    uses: u64,
}

impl Contexts {
    /// The agent's id for this conversation.
    pub(super) fn find(&self, owner: &Principal, ours: &ContextId) -> Option<ContextId> {
        let mut known = self.lock();
        known.uses += 1;
        let now = known.uses;
        let (remote, used) = known.remote.get_mut(&(owner.clone(), ours.clone()))?;
        *used = now;
        Some(remote.clone())
    }

    /// Remembers the agent's id for this conversation.
    pub(super) fn remember(&self, owner: &Principal, ours: &ContextId, remote: ContextId) {
        let mut known = self.lock();
        known.uses += 1;
        let now = known.uses;
        known.remote.insert((owner.clone(), ours.clone()), (remote, now));
        if known.remote.len() > MOST {
            let oldest = known.remote.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|key| known.remote.remove(&key));
        }
    }

    fn lock(&self) -> MutexGuard<'_, StoredContext> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ContextId {
        text.parse().unwrap()
    }

    #[test]
    fn a_conversation_belongs_to_its_owner() {
        let contexts = Contexts::default();
        let (anna, bert) =
            ("key:anna".parse::<Principal>().unwrap(), "key:bert".parse::<Principal>().unwrap());
        contexts.remember(&anna, &id("holiday"), id("r1"));
        assert_eq!(contexts.find(&anna, &id("holiday")), Some(id("r1")));
        assert_eq!(contexts.find(&bert, &id("holiday")), None);
    }

    #[test]
    fn the_one_unused_for_longest_is_forgotten() {
        let contexts = Contexts::default();
        let owner = "local".parse::<Principal>().unwrap();
        for number in 0..MOST {
            contexts.remember(&owner, &id(&format!("c{number}")), id("r"));
        }
        assert!(contexts.find(&owner, &id("c0")).is_some());
        contexts.remember(&owner, &id("new"), id("r"));
        assert!(contexts.find(&owner, &id("c0")).is_some(), "it was just used");
        assert!(contexts.find(&owner, &id("c1")).is_none());
    }
}
