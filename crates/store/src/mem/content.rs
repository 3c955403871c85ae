//! What a store holds, as plain maps: the shortest statement of what every store must do.
//!
//! Promises: `apply` checks all guards before it writes anything. Every query is written for clearness and
//! looks at everything it holds; it deliberately has no index.

use std::collections::{BTreeMap, HashMap, VecDeque};

use agentsite_protocol::{
    AgentName, KeyId, MessageId, Principal, PushConfig, TaskEvent, TaskHead, TaskId, Timestamp, Usage,
};

use super::conversations::Conversations;
use super::listings::Listings;
use super::members::Processes;
use super::outbox::Outbox;
use super::records::Records;
use super::rooms::Rooms;
use crate::{Change, ConversationChange, Edit, KeyRecord, ProcessId, StorageLimits, StoreError, StoredLine};

type SentId = (Principal, AgentName, MessageId);

#[derive(Default)]
pub(super) struct Content {
    pub(super) tasks: BTreeMap<TaskId, MemTask>,
    pub(super) sent: HashMap<SentId, (TaskId, [u8; 16])>,
    pub(super) journal: VecDeque<StoredLine>,
    lines: u64,
    pub(super) push: BTreeMap<(TaskId, String), PushConfig>,
    pub(super) outbox: Outbox,
    pub(super) keys: BTreeMap<KeyId, KeyRecord>,
    pub(super) settings: BTreeMap<String, (String, Option<Principal>)>,
    pub(super) records: Records,
    pub(super) listings: Listings,
    pub(super) conversations: Conversations,
    pub(super) rooms: Rooms,
    pub(super) usage: BTreeMap<(AgentName, i64), Usage>,
    pub(super) processes: Processes,
}

/// A task with its events, one list per commit.
#[derive(Debug)]
pub(super) struct MemTask {
    pub(super) head: TaskHead,
    /// What its events take.
    pub(super) bytes: u64,
    pub(super) commits: Vec<Vec<TaskEvent>>,
    pub(super) expires_at: Option<Timestamp>,
    /// Whether it is a turn of a conversation, which keeps it.
    pub(super) kept: bool,
    /// The process that works on it; it counts only while that process is living.
    pub(super) holder: Option<ProcessId>,
}

impl Content {
    /// Makes a change that comes from this process, or from a handle that has not joined.
    pub(super) fn apply(
        &mut self,
        change: Change,
        limits: StorageLimits,
        by: Option<ProcessId>,
    ) -> Result<(), StoreError> {
        self.guard_process(by)?;
        change.tasks().try_for_each(|task| self.guard(task, by))?;
        self.conversations.guard(change.conversations())?;
        self.listings.guard(change.listings())?;
        self.records.guard(change.records())?;
        self.rooms.guard(change.rooms())?;
        self.guard_storage(&change, limits)?;
        for line in change.journal {
            self.lines += 1;
            self.journal.push_back(StoredLine { seq: self.lines, line });
        }
        change.edits.into_iter().for_each(|edit| self.edit(edit, by));
        Ok(())
    }

    /// Makes an edit whose guards have been checked.
    fn edit(&mut self, edit: Edit, by: Option<ProcessId>) {
        match edit {
            Edit::Task(change) => self.put_task(*change, by),
            Edit::Push(change) => self.change_push(*change),
            Edit::Notify(notify) => self.notify(&notify),
            Edit::Delivery(change) => self.outbox.change(change),
            Edit::Key(change) => self.change_key(*change),
            Edit::Setting(change) => self.change_setting(change),
            Edit::Record(change) => self.records.change(change),
            Edit::Usage(change) => self.add_usage(change),
            Edit::Listing(change) => self.listings.change(change),
            Edit::Conversation(change) => self.talk(change),
            Edit::Room(change) => self.rooms.change(*change),
            Edit::RoomCursor(change) => self.rooms.move_cursor(&change),
            Edit::Forget(id) => self.forget(id),
            // What lies in memory has no chain.
            Edit::SignedHead(_) => {}
        }
    }

    fn forget(&mut self, id: TaskId) {
        let ended = self.tasks.get_mut(&id).filter(|kept| kept.head.state.is_terminal() && !kept.kept);
        ended.into_iter().for_each(|kept| kept.expires_at = Some(Timestamp::from_millis(0)));
    }

    fn talk(&mut self, change: ConversationChange) {
        if let Some(kept) = change.keeps().and_then(|task| self.tasks.get_mut(&task)) {
            kept.kept = true;
        }
        for task in self.conversations.change(change) {
            if let Some(kept) = self.tasks.get_mut(&task) {
                (kept.kept, kept.expires_at) = (false, Some(Timestamp::from_millis(0)));
            }
        }
    }
}
