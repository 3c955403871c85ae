//! How the capabilities of a process keep what they have in memory in step with the records that other
//! processes change.
//!
//! Promises: each capability that registered for it is called after records of its collections were touched,
//! by whichever process. A capability whose call fails is called again with everything. Where one process
//! serves the site there is nothing to follow: what is in memory was put there with its commit.

use std::collections::BTreeSet;

use agentsite_store::{Entity, SharedStore, StoreError, Topic, Touched};

use crate::capability::{Capability, RecordChanges, WorkerScope};
use crate::feed::{Taken, follow_topic};
use crate::processes::Processes;

/// The capability that brings the others in step.
#[must_use]
pub fn record_feed(store: SharedStore, processes: &Processes, followers: &[Capability]) -> Capability {
    let capability = Capability::new("record-feed");
    let followers: Vec<Capability> =
        followers.iter().filter(|capability| capability.follows_records()).cloned().collect();
    if !processes.is_shared() || followers.is_empty() {
        return capability;
    }
    let about = "Keeps what this process has in memory in step with what other processes change.";
    capability.worker("record-feed", about, WorkerScope::Process, move |worker, stop| {
        let followers = followers.clone();
        let take = move |touched: Touched| -> Taken { Box::pin(refresh(followers.clone(), touched)) };
        follow_topic(store.clone(), Topic::Records, take, worker, stop)
    })
}

async fn refresh(followers: Vec<Capability>, touched: Touched) -> Result<String, StoreError> {
    for follower in &followers {
        let changes = match &touched {
            Touched::All => RecordChanges::All,
            Touched::Entities(entities) => {
                let keys: BTreeSet<String> =
                    entities.iter().filter_map(|entity| key_of(entity, follower.collections)).collect();
                if keys.is_empty() {
                    continue;
                }
                RecordChanges::Keys(keys)
            }
        };
        follower.follow_records(changes).await?;
    }
    Ok("everything is in step".into())
}

fn key_of(entity: &Entity, collections: &[&str]) -> Option<String> {
    match entity {
        Entity::Record { collection, key } if collections.contains(&collection.as_str()) => Some(key.clone()),
        _ => None,
    }
}
