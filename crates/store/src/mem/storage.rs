//! What each account holds, in memory: counted anew whenever it is asked.
//!
//! Promises: the shortest statement of what every store counts. It keeps no sums, so it cannot be wrong about
//! them.

use agentsite_protocol::{Principal, PushConfig, TaskId, account_of};

use super::content::Content;
use crate::sqlite::REDACTED;
use crate::storage::{Accounts, Growth, JOURNAL, SITE, fixed, grow};
use crate::{Change, ConversationChange, DeliveryChange, Edit, PushChange, StorageLimits, StoreError};

/// What an account is called; the site's own has no owner.
fn account(owner: &str) -> String {
    if owner.is_empty() { SITE.into() } else { account_of(owner).to_owned() }
}

fn receiver(config: &PushConfig) -> u64 {
    fixed::RECEIVER + serde_json::to_string(config).map_or(0, |body| body.len() as u64)
}

impl Content {
    /// The sums of all accounts.
    pub(super) fn accounts(&self, limits: StorageLimits) -> Accounts {
        let mut accounts = Accounts::new(limits);
        let mut count = |owner: &str, bytes: u64| accounts.append(&account(owner), bytes);
        for kept in self.tasks.values() {
            count(kept.head.owner.as_str(), fixed::TASK + kept.bytes);
        }
        for ((task, _), config) in &self.push {
            count(self.owner_of(*task).as_ref().map_or("", Principal::as_str), receiver(config));
        }
        self.outbox.sizes().for_each(|(account, bytes)| count(account, bytes));
        self.listings.sizes().for_each(|(owner, bytes)| count(owner, bytes));
        self.conversations.sizes().for_each(|(owner, bytes)| count(owner, bytes));
        for (name, (value, owner)) in &self.settings {
            let owner = owner.as_ref().map_or("", Principal::as_str);
            count(owner, fixed::SETTING + (name.len() + value.len()) as u64);
        }
        self.rooms.sizes().for_each(|(owner, bytes)| count(owner, bytes));
        self.records.sizes().for_each(|(owner, bytes)| count(owner, bytes));
        for stored in &self.journal {
            let text = if stored.line.text == REDACTED { 0 } else { stored.line.text.len() };
            count(JOURNAL, fixed::LINE + (stored.line.actor.len() + text) as u64);
        }
        accounts
    }

    fn owner_of(&self, task: TaskId) -> Option<Principal> {
        self.tasks.get(&task).map(|kept| kept.head.owner.clone())
    }

    /// Refuses a change that the limits do not allow.
    pub(super) fn guard_storage(&self, change: &Change, limits: StorageLimits) -> Result<(), StoreError> {
        if limits == StorageLimits::default() {
            return Ok(());
        }
        self.accounts(limits).guard(&self.growth(change), change.admittance)
    }

    fn growth(&self, change: &Change) -> Growth {
        let mut growth = Growth::new();
        for edit in &change.edits {
            if let Some((owner, bytes)) = self.adds(change, edit) {
                grow(&mut growth, &owner, bytes);
            }
        }
        growth
    }

    /// What an edit would add, and to whose storage.
    fn adds(&self, change: &Change, edit: &Edit) -> Option<(String, u64)> {
        let of = |owner: &Principal| owner.account().to_owned();
        match edit {
            Edit::Task(task) => {
                let first = if task.expect_seq == 0 { fixed::TASK } else { 0 };
                Some((of(&task.head.owner), first + super::tasks::size(&task.events)))
            }
            Edit::Push(push) => {
                let PushChange::Put(task, config) = &**push else { return None };
                let opened = change.tasks().find(|opened| opened.head.id == *task);
                let owner = opened.map(|opened| opened.head.owner.clone()).or_else(|| self.owner_of(*task));
                Some((of(&owner?), receiver(config)))
            }
            Edit::Delivery(DeliveryChange::Add(row)) => {
                Some((row.account.clone(), fixed::DELIVERY + row.body.len() as u64))
            }
            Edit::Setting(setting) => {
                let (owner, value) = setting.owner.as_ref().zip(setting.value.as_ref())?;
                let before = self.settings.get(&setting.name).map_or(0, |(value, _)| value.len());
                Some((of(owner), value.len().saturating_sub(before) as u64))
            }
            Edit::Room(change) => Some((of(&change.head.owner), change.adds())),
            Edit::Record(change) => self.records.adds(change).map(|(owner, bytes)| (of(owner), bytes)),
            Edit::Listing(change) => {
                self.listings.adds(change).map(|(owner, bytes)| (account_of(owner).to_owned(), bytes))
            }
            Edit::Conversation(change) => {
                let (new, words) = match change {
                    ConversationChange::Put(new) => (new, 0),
                    ConversationChange::Said { conversation, words, .. } => {
                        (conversation, fixed::TURN + words.len() as u64)
                    }
                    ConversationChange::Ended { .. } | ConversationChange::Remove { .. } => return None,
                };
                let first = if new.revision == 1 { fixed::CONVERSATION + new.title.len() as u64 } else { 0 };
                Some((of(&new.owner), first + words))
            }
            _ => None,
        }
    }
}
