//! Names: for whom the names of agents and of registry entries are reserved after they were given up.
//!
//! Promises: a released name stays reserved for its previous owner for the retention period, so that nobody else receives what is still sent
//! to it; the reservation is written in the same transaction as the change that released the name, and survives restarts. The names of the
//! site's own agents are remembered, so that a folder which was removed while the site was stopped counts as released. Names of suspended and
//! unreadable agent folders stay reserved as long as the folders are there. The list is bounded, for each owner and in all.
//!
//! It does not know which agents run (`hub` does), and a reservation is not what protects a task: a task is bound to the agent instance that
//! it was opened with, whoever has the name later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{AgentName, Caller, Ids, JournalKind, JournalLine, Timestamp};
use agentsite_store::{Change, SettingChange, SharedStore, StoreError};
use serde::{Deserialize, Serialize};

use crate::{SiteError, kinds};

/// The setting that holds the list.
const SETTING: &str = "names";

/// Most released names of one owner: as many agents as an owner may have by default. The oldest reservation ends first.
const MAX_OF_OWNER: usize = 100;

/// Most released names in all: the list is written whole, some 100 kB at most. The owner with the most loses its oldest one first.
const MAX_IN_ALL: usize = 1_000;

/// The owner of the names of the site's own agents.
const SITE: &str = "site";

/// A name that was given up and is reserved for its previous owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleasedName {
    /// The name of an agent, or the identifier of a registry entry.
    pub name: String,
    /// Who had it: `site` for an agent of the site itself.
    pub owner: String,
    /// When it was given up.
    pub released_at: Timestamp,
    /// Until when it is reserved.
    pub reserved_until: Timestamp,
}

/// What happens to a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameChange {
    /// Its owner gave it up or lost it.
    Released { name: String, owner: String },
    /// An agent of the site itself gave it up.
    ReleasedBySite(AgentName),
    /// Somebody has it now.
    Taken(String),
    /// An agent of the site itself has it now.
    TakenBySite(AgentName),
}

/// The reserved names.
#[derive(Debug)]
pub(crate) struct Names {
    store: SharedStore,
    ids: Ids,
    /// How long a released name is reserved.
    keep: Duration,
    // Std locks: held for a look or a swap, never across an await.
    book: Mutex<Book>,
    /// Names of agent folders that are there and do not run: suspended ones and those that cannot be read.
    idle: Mutex<BTreeSet<AgentName>>,
    /// Held while a change is written, so that the list on disk is the list in memory.
    changing: tokio::sync::Mutex<()>,
}

/// What is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Book {
    /// The names of the site's own agents.
    #[serde(default)]
    site: BTreeSet<AgentName>,
    /// Released names, the one released longest ago first.
    #[serde(default)]
    released: Vec<ReleasedName>,
}

impl Names {
    /// Reads what an earlier process wrote.
    pub(crate) async fn open(store: SharedStore, ids: Ids, keep: Duration) -> Result<Self, SiteError> {
        let text = store.setting(SETTING).await?.unwrap_or_default();
        let book = if text.is_empty() {
            Book::default()
        } else {
            let damaged =
                |error| SiteError::Store(StoreError::Corrupt(format!("setting {SETTING}: {error}")));
            serde_json::from_str(&text).map_err(damaged)?
        };
        let (idle, changing) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { store, ids, keep, book: Mutex::new(book), idle, changing })
    }

    /// Refuses a name that is reserved for somebody else than this caller.
    pub(crate) fn check(&self, caller: &Caller, name: &str) -> Result<(), SiteError> {
        let is_idle = || {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.iter().any(|one| one.as_str() == name)
        };
        if is_idle() {
            let why = format!(
                "The name {name} belongs to an agent of this site that is suspended or cannot be loaded. Choose another name."
            );
            return Err(SiteError::NameTaken(why));
        }
        self.lock().check(name, caller.owner().as_str(), caller.is_admin(), self.ids.clock().now())
    }

    /// Writes a change together with what it means for names.
    pub(crate) async fn commit(&self, mut change: Change, names: &[NameChange]) -> Result<(), SiteError> {
        let _one_at_a_time = self.changing.lock().await;
        let now = self.ids.clock().now();
        let before = self.lock().clone();
        let mut after = before.clone();
        for name in names {
            after.apply(name, now, now.plus(self.keep));
        }
        if after != before {
            change = change.edit(after.setting()?);
        }
        self.store.commit(change).await?;
        *self.lock() = after;
        Ok(())
    }

    /// Notes that an agent of the site itself has a name; written if that is new.
    pub(crate) async fn hold(&self, name: &AgentName) -> Result<(), SiteError> {
        if self.lock().is_held(name) {
            return Ok(());
        }
        let line = self.line(kinds::agent::ADDED, format!("has the agent {name} now"));
        let change = Change::new(line.about_agent(name.clone()));
        self.commit(change, &[NameChange::TakenBySite(name.clone())]).await
    }

    /// Reserves the name of an agent of the site itself that was taken out.
    pub(crate) async fn release_own(&self, name: &AgentName) -> Result<(), SiteError> {
        let line = self.line(kinds::agent::REMOVED, format!("has the agent {name} no longer"));
        let change = Change::new(line.about_agent(name.clone()));
        self.commit(change, &[NameChange::ReleasedBySite(name.clone())]).await
    }

    fn line(&self, kind: JournalKind, text: String) -> JournalLine {
        JournalLine::new(kind, self.ids.clock().now(), "site", text)
    }

    /// Brings the list in step with the agents that the site itself has: those that were there before and are not now were released.
    pub(crate) async fn keep_step(&self, own: &BTreeSet<AgentName>) -> Result<(), SiteError> {
        let before = self.lock().site.clone();
        let gone: Vec<AgentName> = before.difference(own).cloned().collect();
        let new: Vec<AgentName> = own.iter().filter(|name| !self.lock().is_held(name)).cloned().collect();
        let lost =
            (!gone.is_empty()).then(|| format!("has {} agents no longer: {}", gone.len(), listed(&gone)));
        let won = (!new.is_empty()).then(|| format!("has {} new agents: {}", new.len(), listed(&new)));
        let lost = lost.map(|text| self.line(kinds::agent::REMOVED, text));
        let mut lines = lost.into_iter().chain(won.map(|text| self.line(kinds::agent::ADDED, text)));
        let Some(first) = lines.next() else { return Ok(()) };
        let change = lines.fold(Change::new(first), Change::line);
        let gone = gone.into_iter().map(NameChange::ReleasedBySite);
        let changes: Vec<NameChange> = gone.chain(new.into_iter().map(NameChange::TakenBySite)).collect();
        self.commit(change, &changes).await
    }

    /// Says which agent folders are there without running.
    pub(crate) fn set_idle(&self, names: BTreeSet<AgentName>) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The names that are reserved now, the one released longest ago first.
    pub(crate) fn released(&self) -> Vec<ReleasedName> {
        let now = self.ids.clock().now();
        self.lock().released.iter().filter(|one| now < one.reserved_until).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn check(&self, name: &str, owner: &str, is_admin: bool, now: Timestamp) -> Result<(), SiteError> {
        let Some(one) = self.released.iter().find(|one| one.name == name) else { return Ok(()) };
        let is_own = one.owner == owner || (is_admin && is_operator(&one.owner));
        if is_own || now >= one.reserved_until {
            return Ok(());
        }
        Err(SiteError::NameTaken(format!(
            "The name {name} was released on {} and is reserved for its previous owner until {}. Choose another name, or ask an admin to run `agentsite agent release {name}`.",
            one.released_at, one.reserved_until
        )))
    }

    fn is_held(&self, name: &AgentName) -> bool {
        self.site.contains(name) && self.released.iter().all(|one| one.name != name.as_str())
    }

    fn apply(&mut self, change: &NameChange, now: Timestamp, until: Timestamp) {
        match change {
            NameChange::Released { name, owner } => self.release(name, owner, now, until),
            NameChange::ReleasedBySite(name) => {
                self.site.remove(name);
                self.release(name.as_str(), SITE, now, until);
            }
            NameChange::Taken(name) => self.released.retain(|one| one.name != *name),
            NameChange::TakenBySite(name) => {
                self.released.retain(|one| one.name != name.as_str());
                self.site.insert(name.clone());
            }
        }
    }

    fn release(&mut self, name: &str, owner: &str, now: Timestamp, until: Timestamp) {
        self.released.retain(|one| one.name != name);
        let (name, owner) = (name.to_owned(), owner.to_owned());
        self.released.push(ReleasedName { name, owner, released_at: now, reserved_until: until });
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for one in &self.released {
            *counts.entry(&one.owner).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((owner, count)) = most.map(|(owner, count)| (owner.to_owned(), count)) else { return };
        if count > MAX_OF_OWNER || self.released.len() > MAX_IN_ALL {
            let oldest = self.released.iter().position(|one| one.owner == owner);
            oldest.map(|at| self.released.remove(at));
        }
    }

    fn setting(&self) -> Result<SettingChange, SiteError> {
        let text = serde_json::to_string(self).map_err(|error| StoreError::Engine(error.to_string()))?;
        Ok(SettingChange { name: SETTING.into(), value: Some(text), owner: None })
    }
}

/// Names for a line: the first few.
fn listed(names: &[AgentName]) -> String {
    const FEW: usize = 8;
    let few: Vec<&str> = names.iter().take(FEW).map(AgentName::as_str).collect();
    let more = if names.len() > FEW { ", …" } else { "" };
    format!("{}{more}", few.join(", "))
}

/// Whether the people who run the site had the name, by a folder or by a program of theirs that connected.
fn is_operator(owner: &str) -> bool {
    [SITE, "admin", "local"].contains(&owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_millis(days * DAY)
    }

    fn released(name: &str, owner: &str) -> NameChange {
        NameChange::Released { name: name.into(), owner: owner.into() }
    }

    fn after(changes: &[NameChange]) -> Book {
        let mut book = Book::default();
        for change in changes {
            book.apply(change, at(0), at(30));
        }
        book
    }

    #[test]
    fn a_released_name_is_its_previous_owners_until_the_time_is_over() {
        let book = after(&[released("poet", "key:a")]);
        let why = book.check("poet", "key:b", true, at(29)).unwrap_err().to_string();
        assert!(
            why.contains("reserved for its previous owner") && why.contains("agent release poet"),
            "{why}"
        );
        assert!(book.check("poet", "key:a", false, at(1)).is_ok(), "the previous owner");
        assert!(book.check("poet", "key:b", false, at(30)).is_ok(), "afterwards");
        assert!(book.check("other", "key:b", false, at(1)).is_ok());
    }

    #[test]
    fn a_name_of_the_sites_own_agent_is_its_admins() {
        let name: AgentName = "calc".parse().unwrap();
        let book = after(&[NameChange::TakenBySite(name.clone()), NameChange::ReleasedBySite(name)]);
        assert!(book.check("calc", "key:a", false, at(1)).is_err());
        assert!(book.check("calc", "admin", true, at(1)).is_ok());
    }

    #[test]
    fn one_owner_can_not_crowd_out_the_reservations_of_others() {
        let mut book = after(&[released("poet", "key:a")]);
        for number in 0..2 * MAX_IN_ALL {
            book.apply(&released(&format!("n{number}"), &format!("key:{}", number % 3)), at(0), at(30));
        }
        assert!(book.released.len() <= 3 * MAX_OF_OWNER + 1);
        assert!(book.check("poet", "key:b", false, at(1)).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let book = after(&[released("poet", "key:a"), NameChange::TakenBySite("calc".parse().unwrap())]);
        let text = book.setting().unwrap().value.unwrap();
        assert_eq!(serde_json::from_str::<Book>(&text).unwrap(), book);
    }
}
