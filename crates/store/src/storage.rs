//! Storage: how many bytes each account holds, and who may add more.
//!
//! Promises: every store counts the same way, row by row, with a fixed part for indexes and heads, so that
//! the sum of what was added and removed equals a recount. A change is refused before anything of it is
//! written when it would take an account, all anonymous accounts together, or the site above its limit; what
//! removes bytes and what ends a task is never refused. Tokens, sums of usage and the index for search are
//! not counted: their number is bounded elsewhere.

mod section;

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::StoreError;

pub use section::StorageSection;

/// The account of the journal, which no limit refuses: it is cut to its size by retention.
pub const JOURNAL: &str = "journal";

/// The account of what belongs to the site itself.
pub const SITE: &str = "site";

/// How much of a limit running work may go beyond it: an eighth, so that work that was accepted can usually
/// finish.
const RUNNING_SHARE: u64 = 8;

/// Fixed bytes of rows beside their texts: what heads, keys and indexes of such a row take in a SQLite file,
/// rounded up.
pub mod fixed {
    /// A task.
    pub const TASK: u64 = 640;
    /// The events of one commit.
    pub const EVENTS: u64 = 64;
    /// A line of the journal.
    pub const LINE: u64 = 96;
    /// A push config.
    pub const RECEIVER: u64 = 96;
    /// A row of the outbox.
    pub const DELIVERY: u64 = 192;
    /// An entry of the registry.
    pub const LISTING: u64 = 320;
    /// A conversation.
    pub const CONVERSATION: u64 = 384;
    /// A turn of a conversation.
    pub const TURN: u64 = 320;
    /// A setting or a record.
    pub const SETTING: u64 = 64;
    /// A room, with a few members.
    pub const ROOM: u64 = 1_024;
    /// An event of a room: hashes, signature, ids and the indexes over them.
    pub const ROOM_EVENT: u64 = 384;
}

/// The limits of a store in bytes; 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageLimits {
    /// One address without a key.
    pub address: u64,
    /// All callers without a key together.
    pub anonymous: u64,
    /// One key, or one user of an authorization server.
    pub key: u64,
    /// One admin.
    pub admin: u64,
    /// The whole site.
    pub total: u64,
}

/// What an operator can set about the storage of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageSettings {
    /// What accounts may hold.
    pub limits: StorageLimits,
    /// Bytes of the ballast that is thrown off when the disk is full; 0 for none.
    pub ballast: u64,
    /// Free bytes of the disk below which new work is refused; 0 for none.
    pub reserve: u64,
}

/// How much space the disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskState {
    /// Enough.
    #[default]
    Ample,
    /// Less than the reserve: new work is refused, running work continues.
    Low,
    /// None: only ends and removals are written.
    Full,
}

/// The disk below a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// How much space it has.
    pub state: DiskState,
    /// Free bytes.
    pub free: u64,
    /// Bytes inside of the database that are free and used again before it grows.
    pub reusable: u64,
    /// Bytes of the ballast.
    pub ballast: u64,
    /// Size of the disk; 0 when there is none.
    pub size: u64,
}

impl Disk {
    /// Refuses a growth for which there is no space.
    pub(crate) fn guard(&self, growth: &Growth, admittance: Admittance) -> Result<(), StoreError> {
        let refused = match (self.state, admittance) {
            (DiskState::Ample, _) | (_, Admittance::Always) | (DiskState::Low, Admittance::Running) => false,
            (DiskState::Low, Admittance::New) | (DiskState::Full, _) => true,
        };
        if refused && growth.iter().any(|(_, more)| *more > 0) { Err(StoreError::Full) } else { Ok(()) }
    }
}

/// What a store holds, by account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageUse {
    /// Bytes of all accounts and the journal.
    pub total: u64,
    /// Bytes of all callers without a key.
    pub anonymous: u64,
    /// Bytes of the journal.
    pub journal: u64,
    /// How many accounts hold something.
    pub accounts: u64,
    /// The accounts that were asked for, those with most first.
    pub largest: Vec<(String, u64)>,
    /// The limits.
    pub limits: StorageLimits,
    /// The disk.
    pub disk: Disk,
}

/// Which accounts are wanted.
#[derive(Debug, Clone, Default)]
pub struct StorageQuery {
    /// So many of the largest.
    pub largest: usize,
    /// This one, first.
    pub account: Option<String>,
    /// Count every row anew instead of telling the sums; reads the whole store.
    pub recount: bool,
}

/// How a change stands to the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admittance {
    /// New work: refused at the limit.
    #[default]
    New,
    /// Steps of work that was accepted: refused an eighth above the limit.
    Running,
    /// Must be written: ends, removals, and the site's own upkeep.
    Always,
}

/// How the accounts of callers without a key begin.
pub const ANONYMOUS: &str = "anon:";
/// The first name after all of them.
pub const AFTER_ANONYMOUS: &str = "anon;";

/// Whether an account is that of a caller without a key.
#[must_use]
pub fn is_anonymous(account: &str) -> bool {
    account.starts_with(ANONYMOUS)
}

/// An account as people read it.
pub(crate) fn words(account: &str) -> String {
    match account {
        "anonymous" => "callers without a key".into(),
        SITE => "this site".into(),
        _ => match account.strip_prefix(ANONYMOUS) {
            Some(address) => format!("callers without a key at {address}"),
            None => account.to_owned(),
        },
    }
}

/// What an account would grow by.
pub type Growth = Vec<(String, u64)>;

/// Adds to the growth of an owner's account.
pub fn grow(growth: &mut Growth, account: &str, bytes: u64) {
    match growth.iter_mut().find(|(name, _)| name == account) {
        Some((_, sum)) => *sum += bytes,
        None => growth.push((account.to_owned(), bytes)),
    }
}

/// The sums of all accounts.
#[derive(Debug, Default)]
pub struct Accounts {
    limits: StorageLimits,
    held: HashMap<String, u64>,
    anonymous: u64,
    total: u64,
    /// What was added and taken since the last [`Self::keep`] or [`Self::undo`].
    recent: Vec<(String, i64)>,
    /// Accounts whose sums differ from those that were last written down.
    unwritten: BTreeSet<String>,
    /// Whether something happened that cannot be found again by the places of rows alone, so that the sums
    /// must be written down.
    must_write: bool,
}

impl Accounts {
    /// Sums of nothing yet.
    #[must_use]
    pub fn new(limits: StorageLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The sums as another process has left them: those of some accounts, of all anonymous accounts and of
    /// everything. Only these accounts may grow or shrink.
    #[must_use]
    pub fn of(limits: StorageLimits, held: HashMap<String, u64>, anonymous: u64, total: u64) -> Self {
        Self { limits, held, anonymous, total, ..Self::default() }
    }

    /// What was added to and taken from each account since the sums were read, by name.
    #[must_use]
    pub fn differences(&self) -> std::collections::BTreeMap<String, i64> {
        let mut sums = std::collections::BTreeMap::new();
        for (account, bytes) in &self.recent {
            *sums.entry(account.clone()).or_insert(0) += bytes;
        }
        sums
    }

    /// Refuses a growth that the limits do not allow.
    ///
    /// # Errors
    /// [`StoreError::OverLimit`].
    pub fn guard(&self, growth: &Growth, admittance: Admittance) -> Result<(), StoreError> {
        if admittance == Admittance::Always {
            return Ok(());
        }
        let most = |limit: u64| match (limit, admittance) {
            (0, _) => u64::MAX,
            (limit, Admittance::Running) => limit.saturating_add(limit / RUNNING_SHARE),
            (limit, _) => limit,
        };
        let check = |setting, account: &str, used: u64, more: u64, limit: u64| {
            if used.saturating_add(more) <= most(limit) {
                return Ok(());
            }
            Err(StoreError::OverLimit { setting, account: account.to_owned(), used, more, limit })
        };
        for (account, more) in growth.iter().filter(|(_, more)| *more > 0) {
            let (setting, limit) = self.limit_of(account);
            check(setting, account, self.held(account), *more, limit)?;
            if is_anonymous(account) {
                check("storage.anonymous", "anonymous", self.anonymous, *more, self.limits.anonymous)?;
            }
            check("storage.total", SITE, self.total, *more, self.limits.total)?;
        }
        Ok(())
    }

    fn limit_of(&self, account: &str) -> (&'static str, u64) {
        match account {
            account if is_anonymous(account) => ("storage.address", self.limits.address),
            "local" | "admin" => ("storage.admin", self.limits.admin),
            "" | SITE | JOURNAL => ("storage.total", 0),
            _ => ("storage.key", self.limits.key),
        }
    }

    fn held(&self, account: &str) -> u64 {
        self.held.get(account).copied().unwrap_or(0)
    }

    /// Counts rows that were appended: events and journal lines, which are found again by their places.
    pub fn append(&mut self, account: &str, bytes: u64) {
        self.count(account, bytes.cast_signed());
    }

    /// Counts other rows that were added.
    pub fn add(&mut self, account: &str, bytes: u64) {
        self.must_write |= bytes > 0;
        self.count(account, bytes.cast_signed());
    }

    /// Counts rows that were removed.
    pub fn take(&mut self, account: &str, bytes: u64) {
        self.must_write |= bytes > 0;
        self.count(account, -bytes.cast_signed());
    }

    fn count(&mut self, account: &str, bytes: i64) {
        if bytes != 0 {
            self.recent.push((account.to_owned(), bytes));
            self.apply(account, bytes);
        }
    }

    fn apply(&mut self, account: &str, bytes: i64) {
        let held = match self.held.get_mut(account) {
            Some(held) => held,
            None => self.held.entry(account.to_owned()).or_default(),
        };
        *held = held.saturating_add_signed(bytes);
        if *held == 0 {
            self.held.remove(account);
        }
        self.total = self.total.saturating_add_signed(bytes);
        if is_anonymous(account) {
            self.anonymous = self.anonymous.saturating_add_signed(bytes);
        }
        if !self.unwritten.contains(account) {
            self.unwritten.insert(account.to_owned());
        }
    }

    /// What was counted is on disk.
    pub(crate) fn keep(&mut self) {
        self.recent.clear();
    }

    /// What was counted did not come to be.
    pub(crate) fn undo(&mut self) {
        for (account, bytes) in std::mem::take(&mut self.recent) {
            self.apply(&account, -bytes);
        }
        self.must_write = true;
    }

    /// Whether the sums must be written down with this commit.
    pub(crate) fn must_write(&self) -> bool {
        self.must_write
    }

    /// The sums that differ from what was last written down.
    pub(crate) fn unwritten(&self) -> impl Iterator<Item = (&str, u64)> {
        self.unwritten.iter().map(|account| (account.as_str(), self.held(account)))
    }

    /// The sums are written down on disk.
    pub(crate) fn written(&mut self) {
        self.unwritten.clear();
        self.must_write = false;
    }

    /// The bytes of all anonymous accounts.
    #[must_use]
    pub fn anonymous(&self) -> u64 {
        self.anonymous
    }

    /// The bytes of the journal.
    #[must_use]
    pub fn journal(&self) -> u64 {
        self.held(JOURNAL)
    }

    /// What is held, for people.
    #[must_use]
    pub fn view(&self, query: &StorageQuery) -> StorageUse {
        let mut all: Vec<(&String, &u64)> = Vec::new();
        if query.largest > 0 {
            all.extend(&self.held);
        }
        all.sort_by(|(one, mine), (two, other)| other.cmp(mine).then(one.cmp(two)));
        let mut largest: Vec<(String, u64)> =
            query.account.iter().map(|account| (account.clone(), self.held(account))).collect();
        largest.extend(all.into_iter().take(query.largest).map(|(account, held)| (account.clone(), *held)));
        StorageUse {
            total: self.total,
            anonymous: self.anonymous,
            journal: self.journal(),
            accounts: self.held.len() as u64,
            largest,
            limits: self.limits,
            disk: Disk::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> StorageLimits {
        StorageLimits { address: 100, anonymous: 150, key: 400, admin: 0, total: 500 }
    }

    fn refused(accounts: &Accounts, account: &str, more: u64, how: Admittance) -> Option<&'static str> {
        match accounts.guard(&vec![(account.to_owned(), more)], how) {
            Ok(()) => None,
            Err(StoreError::OverLimit { setting, .. }) => Some(setting),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn each_kind_of_account_has_its_limit() {
        let mut accounts = Accounts::new(limits());
        assert_eq!(refused(&accounts, "anon:192.0.2.1", 100, Admittance::New), None);
        assert_eq!(refused(&accounts, "anon:192.0.2.1", 101, Admittance::New), Some("storage.address"));
        accounts.append("anon:192.0.2.1", 100);
        assert_eq!(refused(&accounts, "anon:192.0.2.2", 51, Admittance::New), Some("storage.anonymous"));
        assert_eq!(refused(&accounts, "key:a", 400, Admittance::New), None);
        assert_eq!(refused(&accounts, "key:a", 401, Admittance::New), Some("storage.key"));
        assert_eq!(refused(&accounts, "admin", 401, Admittance::New), Some("storage.total"));
        assert_eq!(refused(&accounts, "admin", 401, Admittance::Always), None);
    }

    #[test]
    fn running_work_may_go_an_eighth_further() {
        let mut accounts = Accounts::new(limits());
        accounts.append("key:a", 400);
        assert_eq!(refused(&accounts, "key:a", 50, Admittance::New), Some("storage.key"));
        assert_eq!(refused(&accounts, "key:a", 50, Admittance::Running), None);
        assert_eq!(refused(&accounts, "key:a", 51, Admittance::Running), Some("storage.key"));
    }

    #[test]
    fn what_did_not_come_to_be_is_not_counted() {
        let mut accounts = Accounts::new(limits());
        accounts.append("key:a", 10);
        accounts.keep();
        accounts.add("key:a", 5);
        accounts.take("key:b", 0);
        accounts.undo();
        assert_eq!((accounts.held("key:a"), accounts.total), (10, 10));
    }
}
