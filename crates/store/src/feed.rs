//! The change feed: what commits touched, so that caches and watchers stay in step with every handle of a
//! store.
//!
//! Promises: whatever a commit touched is in the feed of its topic before the commit is acknowledged; a
//! refused change leaves nothing. Readers follow from a cursor; one that is too far behind, or from another
//! opening of the store, gets [`Changes::Gap`] and reads everything again. Order is promised for one entity,
//! not among several. An entry says that something changed, not how: read it. The feed lies in memory: a file
//! has one process, so nothing of it must outlive that (see docs/decisions/0028-the-shape-of-the-store.md).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{ConversationId, KeyId, RoomId, TaskId};
use tokio::sync::watch;

use crate::{Edit, KeyChange};

/// Entries of a topic that are kept: far more than a reader falls behind between two looks, some 60 kB for
/// each topic.
const RETAINED: usize = 1_024;

/// Entries of the topic of registry entries that are kept: four full imports, each of which is one commit.
const RETAINED_LISTINGS: usize = 4_096;

/// What readers of the feed tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// API keys and sessions made, replaced or revoked; not their last use.
    Keys,
    /// Settings of the site.
    Settings,
    /// Records of collections.
    Records,
    /// Entries of the registry.
    Listings,
    /// Conversations; the end of a turn shows as a change of its task.
    Conversations,
    /// Tasks.
    Tasks,
    /// Rooms: new events; not the cursors of members.
    Rooms,
}

impl Topic {
    /// All of them, in the order of the feeds.
    pub const ALL: [Self; 7] = [
        Self::Keys,
        Self::Settings,
        Self::Records,
        Self::Listings,
        Self::Conversations,
        Self::Tasks,
        Self::Rooms,
    ];

    /// How many entries of it are kept.
    pub(crate) const fn retained(self) -> usize {
        if matches!(self, Self::Listings) { RETAINED_LISTINGS } else { RETAINED }
    }
}

/// Something that a commit touched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entity {
    /// A key or session.
    Key(KeyId),
    /// A setting, by name.
    Setting(String),
    /// A record.
    Record {
        /// Its collection.
        collection: String,
        /// Its key.
        key: String,
    },
    /// An entry of the registry.
    Listing(ListingId),
    /// A conversation.
    Conversation(ConversationId),
    /// A task.
    Task(TaskId),
    /// A room.
    Room(RoomId),
}

impl Entity {
    /// The topic that it belongs to.
    #[must_use]
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Key(_) => Topic::Keys,
            Self::Setting(_) => Topic::Settings,
            Self::Record { .. } => Topic::Records,
            Self::Listing(_) => Topic::Listings,
            Self::Conversation(_) => Topic::Conversations,
            Self::Task(_) => Topic::Tasks,
            Self::Room(_) => Topic::Rooms,
        }
    }

    /// A record.
    pub(crate) fn record((collection, key): (&str, &str)) -> Self {
        Self::Record { collection: collection.to_owned(), key: key.to_owned() }
    }

    /// What an edit touches, if that is in a feed.
    pub(crate) fn of_edit(edit: &Edit) -> Option<Self> {
        match edit {
            Edit::Task(change) => Some(Self::Task(change.head.id)),
            Edit::Key(change) => Self::of_key(change),
            Edit::Setting(change) => Some(Self::Setting(change.name.clone())),
            Edit::Record(change) => Some(Self::record(change.place())),
            Edit::Listing(change) => Some(Self::Listing(change.id().clone())),
            Edit::Conversation(change) => change.assumes().map(|(id, ..)| Self::Conversation(id)),
            Edit::Room(change) => Some(Self::Room(change.head.id)),
            Edit::Push(_)
            | Edit::RoomCursor(_)
            | Edit::Notify(_)
            | Edit::Delivery(_)
            | Edit::Usage(_)
            | Edit::Forget(_)
            | Edit::SignedHead(_) => None,
        }
    }

    /// What a change of a key touches; its last use is no news.
    pub(crate) fn of_key(change: &KeyChange) -> Option<Self> {
        match change {
            KeyChange::Put(key) => Some(Self::Key(key.id.clone())),
            KeyChange::Remove(id) => Some(Self::Key(id.clone())),
            KeyChange::Used(..) => None,
        }
    }
}

/// A place in the feed of a topic; only good for the opening of the store that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeCursor {
    opening: u64,
    /// How many entries the topic has had since the store was opened.
    seq: u64,
}

impl ChangeCursor {
    pub(crate) const fn at(opening: u64, seq: u64) -> Self {
        Self { opening, seq }
    }

    pub(crate) const fn parts(self) -> (u64, u64) {
        (self.opening, self.seq)
    }
}

/// What a reader finds after its cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// What was touched since, oldest first; one entity may come several times.
    Page {
        /// The entities.
        items: Vec<Entity>,
        /// Where to go on.
        next: ChangeCursor,
    },
    /// Some entries are gone: the reader reads everything again and continues from here.
    Gap(ChangeCursor),
}

/// The feeds of one opening of a store.
#[derive(Debug)]
pub(crate) struct Feed([TopicFeed; Topic::ALL.len()]);

#[derive(Debug)]
struct TopicFeed {
    // A std lock: held to append or copy a few entries, never across an await.
    entries: Mutex<VecDeque<Entity>>,
    /// The end of the feed; wakes those who wait for more.
    end: watch::Sender<ChangeCursor>,
}

impl Default for Feed {
    fn default() -> Self {
        // Another number for each opening of this process, so that a cursor of an earlier one is recognised;
        // none is 0.
        static OPENINGS: AtomicU64 = AtomicU64::new(1);
        let opening = OPENINGS.fetch_add(1, Ordering::Relaxed);
        Self(Topic::ALL.map(|_| TopicFeed {
            entries: Mutex::default(),
            end: watch::Sender::new(ChangeCursor { opening, seq: 0 }),
        }))
    }
}

impl Feed {
    /// Appends what committed changes have touched.
    pub(crate) fn publish(&self, touched: impl IntoIterator<Item = Entity>) {
        let mut ends = [0; Topic::ALL.len()];
        for entity in touched {
            let topic = entity.topic();
            let at = topic as usize;
            let mut entries = self.0[at].lock();
            if entries.len() == topic.retained() {
                entries.pop_front();
            }
            entries.push_back(entity);
            // Under the lock, so that the end always fits the entries.
            self.0[at].end.send_if_modified(|end| {
                end.seq += 1;
                false
            });
            ends[at] += 1;
        }
        for (feed, _) in self.0.iter().zip(ends).filter(|(_, new)| *new > 0) {
            feed.end.send_modify(|_| {});
        }
    }

    /// Entries after a cursor, at most so many.
    pub(crate) fn changes(&self, topic: Topic, after: ChangeCursor, limit: usize) -> Changes {
        let feed = &self.0[topic as usize];
        let entries = feed.lock();
        let end = *feed.end.borrow();
        let missed = end.seq.checked_sub(after.seq).filter(|_| after.opening == end.opening);
        let missed = missed.and_then(|missed| usize::try_from(missed).ok());
        let Some(missed) = missed.filter(|missed| *missed <= entries.len()) else { return Changes::Gap(end) };
        let rest = entries.iter().skip(entries.len() - missed);
        let items: Vec<Entity> = rest.take(limit.max(1)).cloned().collect();
        let next = ChangeCursor { seq: after.seq + items.len() as u64, ..end };
        Changes::Page { items, next }
    }

    /// The end of a topic, and a way to wait for more.
    pub(crate) fn watch(&self, topic: Topic) -> watch::Receiver<ChangeCursor> {
        self.0[topic as usize].end.subscribe()
    }
}

impl TopicFeed {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Entity>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
