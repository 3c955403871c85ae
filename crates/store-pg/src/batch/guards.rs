//! The guards of a change, and what it would add to whose storage.
//!
//! Promises: pure. The refusals and their order are those of every store: the process, repeats, holders, old
//! readings of tasks, then conversations, entries and records, then the limits of storage.

use std::collections::HashMap;

use agentsite_protocol::{ConversationId, PushConfig, account_of};
use agentsite_store::engine::{self, Growth, fixed, grow};
use agentsite_store::{
    ConversationChange, DeliveryChange, Edit, ListingChange, ProcessId, PushChange, RecordChange, StoreError,
};

use super::Asked;
use super::seen::{Seen, account};
use crate::ready::{Ready, ReadyEdit, ReadyTask};

/// Owner and revision of a row as the edits of one change see it, one after the other.
type Meanwhile<K> = HashMap<K, Option<(String, u64)>>;

impl Seen {
    /// Refuses a change that does not fit.
    pub(crate) fn guard(&self, asked: &Asked<'_>) -> Result<(), StoreError> {
        if asked.by.is_some_and(|process| !self.living.contains(&process.number())) {
            return Err(StoreError::Fenced);
        }
        asked.ready.tasks().try_for_each(|task| self.guard_task(task, asked.by))?;
        self.guard_conversations(asked.ready)?;
        self.guard_listings(asked.ready)?;
        self.guard_records(asked.ready)?;
        self.rooms.guard(asked.ready)
    }

    fn guard_task(&self, task: &ReadyTask, by: Option<ProcessId>) -> Result<(), StoreError> {
        let id = task.change.head.id;
        if let Some((first, hash)) = task.sent.and_then(|key| self.sent.get(&key)) {
            let same_body = task.change.sent.as_ref().is_some_and(|sent| sent.body_hash.as_slice() == hash);
            return Err(StoreError::Duplicate { task: *first, same_body });
        }
        let kept = self.tasks.get(&id);
        match kept.and_then(|kept| self.holder(kept)) {
            Some(process) if Some(process) != by => return Err(StoreError::Held { task: id, process }),
            _ => {}
        }
        let (expected, found) = (task.change.expect_seq, kept.map_or(0, |kept| kept.seq));
        if found != expected {
            return Err(StoreError::Stale { task: id, expected, found });
        }
        if kept.is_some_and(|kept| kept.root != task.root) { Err(engine::other_root(id)) } else { Ok(()) }
    }

    fn guard_conversations(&self, ready: &Ready) -> Result<(), StoreError> {
        let mut meanwhile: Meanwhile<ConversationId> = HashMap::new();
        for edit in ready.others() {
            let Edit::Conversation(change) = edit else { continue };
            let Some((id, owner, expected, stays)) = engine::conversation_guard(change) else { continue };
            let kept = || self.conversations.get(&id).map(|kept| (kept.owner.clone(), kept.revision));
            let found = meanwhile.get(&id).cloned().unwrap_or_else(kept);
            check_row(found.as_ref(), owner.as_str(), expected, &id.to_string())?;
            if let ConversationChange::Said { turn, .. } = change
                && turn.parent.is_some_and(|parent| self.turns.get(&parent) != Some(&id))
            {
                return Err(StoreError::Moved(id.to_string()));
            }
            meanwhile.insert(id, stays.then(|| (owner.to_string(), expected + 1)));
        }
        Ok(())
    }

    fn guard_listings(&self, ready: &Ready) -> Result<(), StoreError> {
        let mut meanwhile: Meanwhile<String> = HashMap::new();
        for edit in &ready.edits {
            let ReadyEdit::Listing { change, .. } = edit else { continue };
            let (id, owner, expected) = engine::listing_guard(change);
            let kept = || self.listings.get(id).map(|kept| (kept.owner.clone(), kept.revision));
            let found = meanwhile.get(id).cloned().unwrap_or_else(kept);
            check_row(found.as_ref(), owner.as_str(), expected, id)?;
            let after = matches!(change, ListingChange::Put(_)).then(|| (owner.to_string(), expected + 1));
            meanwhile.insert(id.to_owned(), after);
        }
        Ok(())
    }

    fn guard_records(&self, ready: &Ready) -> Result<(), StoreError> {
        let mut meanwhile: HashMap<(&str, &str), u64> = HashMap::new();
        for edit in ready.others() {
            let Edit::Record(change) = edit else { continue };
            let (collection, key, expected, after) = engine::record_guard(change);
            let kept = || {
                let place = (collection.to_owned(), key.to_owned());
                self.records.get(&place).map_or(0, |kept| kept.revision)
            };
            if meanwhile.get(&(collection, key)).copied().unwrap_or_else(kept) != expected {
                return Err(StoreError::Moved(format!("{collection} {key}")));
            }
            meanwhile.insert((collection, key), after);
        }
        Ok(())
    }

    /// What a change would add, and to whose storage, before anything of it is written.
    pub(crate) fn growth(&self, ready: &Ready) -> Growth {
        let mut growth = Growth::new();
        for edit in &ready.edits {
            if let Some((account, bytes)) = self.adds(ready, edit) {
                grow(&mut growth, &account, bytes);
            }
        }
        growth
    }

    fn adds(&self, ready: &Ready, edit: &ReadyEdit) -> Option<(String, u64)> {
        match edit {
            ReadyEdit::Task(task) => Some((task.change.head.owner.account().to_owned(), event_bytes(task))),
            ReadyEdit::Listing { change: ListingChange::Put(new), body } => {
                let before = self.listings.get(new.listing.id.as_str()).map_or(0, |kept| kept.bytes);
                let bytes = (fixed::LISTING + body.len() as u64).saturating_sub(before);
                Some((account(new.listing.owner.as_str()), bytes))
            }
            ReadyEdit::Listing { .. } => None,
            ReadyEdit::Other(edit) => self.other_adds(ready, edit),
        }
    }

    fn other_adds(&self, ready: &Ready, edit: &Edit) -> Option<(String, u64)> {
        match edit {
            Edit::Push(push) => {
                let PushChange::Put(task, config) = &**push else { return None };
                let opened = ready.tasks().find(|opened| opened.change.head.id == *task);
                let owner = opened.map(|opened| opened.change.head.owner.to_string());
                let owner = owner.or_else(|| Some(self.tasks.get(task)?.owner.clone()))?;
                Some((account(&owner), receiver_bytes(config)))
            }
            Edit::Delivery(DeliveryChange::Add(row)) => {
                Some((row.account.clone(), fixed::DELIVERY + row.body.len() as u64))
            }
            Edit::Setting(setting) => {
                let (owner, value) = setting.owner.as_ref().zip(setting.value.as_ref())?;
                let bytes = fixed::SETTING + (setting.name.len() + value.len()) as u64;
                let before = self.settings.get(&setting.name).map_or(0, |kept| kept.bytes);
                Some((owner.account().to_owned(), bytes.saturating_sub(before)))
            }
            Edit::Record(RecordChange::Put { collection, record }) => {
                let bytes = fixed::SETTING + (record.key.len() + record.body.len()) as u64;
                let place = ((*collection).to_owned(), record.key.clone());
                let before = self.records.get(&place).map_or(0, |kept| kept.bytes);
                Some((record.owner.as_ref()?.account().to_owned(), bytes.saturating_sub(before)))
            }
            Edit::Room(change) => Some((change.head.owner.account().to_owned(), engine::room_adds(change))),
            Edit::Conversation(change) => {
                let (new, words) = match change {
                    ConversationChange::Put(new) => (new, 0),
                    ConversationChange::Said { conversation, words, .. } => {
                        (conversation, fixed::TURN + words.len() as u64)
                    }
                    ConversationChange::Ended { .. } | ConversationChange::Remove { .. } => return None,
                };
                let first = if new.revision == 1 { fixed::CONVERSATION + new.title.len() as u64 } else { 0 };
                Some((account_of(new.owner.as_str()).to_owned(), first + words))
            }
            _ => None,
        }
    }
}

/// Refuses a row of another owner or another revision.
fn check_row(
    found: Option<&(String, u64)>,
    owner: &str,
    expected: u64,
    name: &str,
) -> Result<(), StoreError> {
    if found.is_some_and(|(of, _)| of != owner) {
        return Err(StoreError::Foreign(name.to_owned()));
    }
    if found.map_or(0, |(_, revision)| *revision) == expected {
        Ok(())
    } else {
        Err(StoreError::Moved(name.to_owned()))
    }
}

/// What the events of a change take, with the task itself when it is new.
pub(crate) fn event_bytes(task: &ReadyTask) -> u64 {
    let first = if task.change.expect_seq == 0 { fixed::TASK } else { 0 };
    fixed::EVENTS + first + task.body.len() as u64
}

/// What a receiver takes.
pub(crate) fn receiver_bytes(config: &PushConfig) -> u64 {
    fixed::RECEIVER + written(config).len() as u64
}

/// A receiver as text.
pub(crate) fn written(config: &PushConfig) -> String {
    serde_json::to_string(config).expect("a config of texts is always written")
}
