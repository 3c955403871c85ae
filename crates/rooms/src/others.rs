//! How followers of conversations hear of what other processes of the site change.
//!
//! Promises: a turn that another process adds, ends or changes, and a conversation that it changes or
//! removes, reaches the followers in this process. Nothing is read without followers. Followers may hear
//! twice of a change of their own process; each is a hint to read again.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_protocol::{ConversationId, TaskId};
use agentsite_store::{Entity, SharedStore, StoreError, Topic, Touched};
use agentsite_tasks::{Capability, Processes, Taken, WorkerScope, follow_topic};

use crate::feed::{ConversationFeed, FeedChange};

/// Adds the background work that follows other processes; none where one process serves the site.
pub(crate) fn following(
    capability: Capability,
    feed: &Arc<ConversationFeed>,
    store: SharedStore,
    processes: &Processes,
) -> Capability {
    if !processes.is_shared() {
        return capability;
    }
    let (turns, conversations) = ((feed.clone(), store.clone()), (feed.clone(), store));
    capability
        .worker(
            "turn-feed",
            "Tells followers of conversations what other processes answer.",
            WorkerScope::Process,
            move |worker, stop| {
                let (feed, store) = turns.clone();
                let reading = store.clone();
                let take =
                    move |touched| -> Taken { Box::pin(tell_turns(feed.clone(), reading.clone(), touched)) };
                follow_topic(store, Topic::Tasks, take, worker, stop)
            },
        )
        .worker(
            "conversation-feed",
            "Tells followers of conversations what other processes change.",
            WorkerScope::Process,
            move |worker, stop| {
                let (feed, store) = conversations.clone();
                let reading = store.clone();
                let take = move |touched| -> Taken {
                    Box::pin(tell_conversations(feed.clone(), reading.clone(), touched))
                };
                follow_topic(store, Topic::Conversations, take, worker, stop)
            },
        )
}

async fn tell_turns(
    feed: Arc<ConversationFeed>,
    store: SharedStore,
    touched: Touched,
) -> Result<String, StoreError> {
    let Some(entities) = wanted(&feed, touched) else { return Ok(idle()) };
    let tasks: BTreeSet<TaskId> = entities
        .into_iter()
        .filter_map(|entity| if let Entity::Task(id) = entity { Some(id) } else { None })
        .collect();
    for id in tasks {
        if let Some(turn) = store.turn(id).await?
            && let Some(head) = store.task(id).await?
        {
            feed.publish(&head.owner, turn.conversation, FeedChange::Turn(id, head.state));
        }
    }
    Ok(idle())
}

async fn tell_conversations(
    feed: Arc<ConversationFeed>,
    store: SharedStore,
    touched: Touched,
) -> Result<String, StoreError> {
    let Some(entities) = wanted(&feed, touched) else { return Ok(idle()) };
    let ids: BTreeSet<ConversationId> = entities
        .into_iter()
        .filter_map(|entity| if let Entity::Conversation(id) = entity { Some(id) } else { None })
        .collect();
    for id in ids {
        match store.conversation(id).await? {
            Some(conversation) => feed.publish(&conversation.owner, id, FeedChange::Changed),
            None => feed.publish_missed(),
        }
    }
    Ok(idle())
}

/// What followers are to hear of; none without followers, or when they read everything again.
fn wanted(feed: &ConversationFeed, touched: Touched) -> Option<Vec<Entity>> {
    if feed.is_idle() {
        return None;
    }
    match touched {
        Touched::Entities(entities) => Some(entities),
        Touched::All => {
            feed.publish_missed();
            None
        }
    }
}

fn idle() -> String {
    "followers have heard of everything".into()
}
