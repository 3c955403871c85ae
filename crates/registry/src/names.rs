//! Names: for whom the names of agents and of registry entries are reserved after they were given up.
//!
//! Promises: a released name stays reserved for its previous owner for the retention period, so that no other
//! owner receives what is still sent to it; the reservation is written in the same transaction as the change
//! that released the name, and survives restarts. The names of the site's own agents are remembered, so that
//! a folder which was removed while the site was stopped counts as released. Names of suspended and
//! unreadable agent folders stay reserved as long as the folders are there. The list is bounded, for each
//! owner and in all.
//!
//! It does not know which agents run, and a reservation is not what protects a task: a task is
//! bound to the agent instance that it was opened with, not to its name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{
    AgentName, Caller, Ids, JournalKind, JournalLine, JournalSubject, Principal, PrincipalKind, Timestamp,
};
use agentsite_store::{
    Admittance, Change, Collection, RecordChange, SettingChange, SharedStore, StoreError, Unjournaled,
};
use serde::{Deserialize, Serialize};

use crate::error::{RegistryError, admin_only};
use crate::kinds;

/// The setting in which an earlier version kept everything.
const OLD_SETTING: &str = "names";

/// The names of the site's own agents. A record is made and removed, never changed.
const OWN: Collection<AgentName> = Collection::new("names.own");

/// The released names.
const RELEASED: Collection<ReleasedName> = Collection::new("names.released");

/// All collections of this capability.
pub(crate) const COLLECTIONS: &[&str] = &[OWN.name(), RELEASED.name()];

/// The revision of each released name's record.
type Revisions = BTreeMap<String, u64>;

/// Most released names of one owner: as many agents as an owner may have by default. The oldest reservation
/// ends first.
const MAX_OF_OWNER: usize = 100;

/// Most released names in all: the list is held in memory, some 100 kB at most. The owner with the most loses
/// its oldest one first.
const MAX_IN_ALL: usize = 1_000;

/// A name that was given up and is reserved for its previous owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleasedName {
    /// The name of an agent, or the identifier of a registry entry.
    pub name: String,
    /// Who had it: `site` for an agent of the site itself.
    pub owner: Principal,
    /// When it was given up.
    pub released_at: Timestamp,
    /// Until when it is reserved.
    pub reserved_until: Timestamp,
}

/// What happens to a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// Its owner gave it up or lost it.
    Released {
        /// The name of an agent, or the identifier of an entry.
        name: String,
        /// Who had it.
        owner: Principal,
    },
    /// An agent of the site itself gave it up.
    ReleasedBySite(AgentName),
    /// It has an owner now.
    Taken(String),
    /// An agent of the site itself has it now.
    TakenBySite(AgentName),
}

/// The names that are reserved for their previous owners. Only admins see and end reservations. Tasks are not
/// affected: they stay bound to the agent that they were opened with.
#[derive(Debug)]
pub struct Names {
    store: SharedStore,
    ids: Ids,
    /// How long a released name is reserved.
    keep: Duration,
    // Std locks: held for a look or a swap, never across an await.
    book: Mutex<Book>,
    /// Names of agent folders that are there and do not run: suspended ones and those that cannot be read.
    idle: Mutex<BTreeSet<AgentName>>,
    /// The revisions of the records of released names; held while a change is written, so that the list on
    /// disk is the list in memory.
    revisions: tokio::sync::Mutex<Revisions>,
}

/// What is written down, as records; an earlier version wrote it as one text.
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
    /// Reads what an earlier process wrote; a name that is given up stays reserved for `keep`.
    ///
    /// # Errors
    /// [`RegistryError::Store`] when the store cannot be read.
    pub async fn open(store: SharedStore, ids: Ids, keep: Duration) -> Result<Self, RegistryError> {
        take_over(&store).await?;
        let (book, revisions) = Book::read(&store).await?;
        let (idle, book) = (Mutex::default(), Mutex::new(book));
        Ok(Self { store, ids, keep, book, idle, revisions: tokio::sync::Mutex::new(revisions) })
    }

    /// The names that were given up and are reserved for their previous owners, the one released longest ago
    /// first.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for all but admins.
    pub fn list(&self, caller: &Caller) -> Result<Vec<ReleasedName>, RegistryError> {
        admin_only(caller)?;
        Ok(self.released())
    }

    /// Ends a reservation, so that anybody may take the name.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for all but admins; [`RegistryError::NoSuchReservation`].
    pub async fn release(&self, caller: &Caller, name: &str) -> Result<(), RegistryError> {
        if self.list(caller)?.iter().all(|one| one.name != name) {
            return Err(RegistryError::NoSuchReservation(name.chars().take(200).collect()));
        }
        let (now, text) = (self.ids.clock().now(), format!("released the name {name}"));
        let line = JournalLine::new(kinds::NAME_RELEASED, now, caller.owner().as_str(), text)
            .about(JournalSubject::Name(name.to_owned()));
        Ok(self.commit(Change::new(line), &[NameChange::Taken(name.to_owned())]).await?)
    }

    /// Refuses a name that is reserved for another owner than this caller.
    ///
    /// # Errors
    /// [`RegistryError::NameTaken`] says until when.
    pub fn check(&self, caller: &Caller, name: &str) -> Result<(), RegistryError> {
        let is_idle = || {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.iter().any(|one| one.as_str() == name)
        };
        if is_idle() {
            let why = format!(
                "The name {name} belongs to an agent of this site that is suspended or cannot be loaded. Choose another name."
            );
            return Err(RegistryError::NameTaken(why));
        }
        self.lock().check(name, caller.owner(), caller.is_admin(), self.ids.clock().now())
    }

    /// Writes a change together with what it means for names, in one transaction.
    ///
    /// # Errors
    /// What the store refuses; nothing is changed then.
    pub async fn commit(&self, change: Change, names: &[NameChange]) -> Result<(), StoreError> {
        let mut revisions = self.revisions.lock().await;
        let now = self.ids.clock().now();
        // Another process may have changed the same names: then it is decided again, once.
        for last in [false, true] {
            let before = self.lock().clone();
            let mut after = before.clone();
            for name in names {
                after.apply(name, now, now.plus(self.keep));
            }
            let mut next = revisions.clone();
            let edits = after.edits_from(&before, &mut next)?;
            match self.store.commit(change.clone().edits(edits)).await {
                Ok(()) => {
                    (*self.lock(), *revisions) = (after, next);
                    break;
                }
                Err(StoreError::Moved(_)) if !last => {
                    let (book, read) = Book::read(&self.store).await?;
                    (*self.lock(), *revisions) = (book, read);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the names again, after another process changed them.
    ///
    /// # Errors
    /// What the store reports.
    pub(crate) async fn read_again(&self) -> Result<(), StoreError> {
        let mut revisions = self.revisions.lock().await;
        let (book, read) = Book::read(&self.store).await?;
        (*self.lock(), *revisions) = (book, read);
        Ok(())
    }

    /// Notes that an agent of the site itself has a name; written if that is new.
    ///
    /// # Errors
    /// What the store refuses.
    pub async fn hold(&self, name: &AgentName) -> Result<(), StoreError> {
        if self.lock().is_held(name) {
            return Ok(());
        }
        let line = self.line(kinds::AGENT_ADDED, format!("has the agent {name} now"));
        let change = Change::new(line.about_agent(name.clone()));
        self.commit(change, &[NameChange::TakenBySite(name.clone())]).await
    }

    /// Reserves the name of an agent of the site itself that was taken out.
    ///
    /// # Errors
    /// What the store refuses.
    pub async fn release_own(&self, name: &AgentName) -> Result<(), StoreError> {
        let line = self.line(kinds::AGENT_REMOVED, format!("has the agent {name} no longer"));
        let change = Change::new(line.about_agent(name.clone()));
        self.commit(change, &[NameChange::ReleasedBySite(name.clone())]).await
    }

    fn line(&self, kind: JournalKind, text: String) -> JournalLine {
        JournalLine::new(kind, self.ids.clock().now(), "site", text)
    }

    /// Brings the list in step with the agents that the site itself has: those that were there before and are
    /// not now were released.
    ///
    /// # Errors
    /// What the store refuses.
    pub async fn keep_step(&self, own: &BTreeSet<AgentName>) -> Result<(), StoreError> {
        let before = self.lock().site.clone();
        let gone: Vec<AgentName> = before.difference(own).cloned().collect();
        let new: Vec<AgentName> = own.iter().filter(|name| !self.lock().is_held(name)).cloned().collect();
        let lost =
            (!gone.is_empty()).then(|| format!("has {} agents no longer: {}", gone.len(), listed(&gone)));
        let won = (!new.is_empty()).then(|| format!("has {} new agents: {}", new.len(), listed(&new)));
        let lost = lost.map(|text| self.line(kinds::AGENT_REMOVED, text));
        let mut lines = lost.into_iter().chain(won.map(|text| self.line(kinds::AGENT_ADDED, text)));
        let Some(first) = lines.next() else { return Ok(()) };
        let change = lines.fold(Change::new(first), Change::line);
        let gone = gone.into_iter().map(NameChange::ReleasedBySite);
        let changes: Vec<NameChange> = gone.chain(new.into_iter().map(NameChange::TakenBySite)).collect();
        self.commit(change, &changes).await
    }

    /// Says which agent folders are there without running.
    pub fn set_idle(&self, names: BTreeSet<AgentName>) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The names that are reserved now, the one released longest ago first.
    #[must_use]
    pub fn released(&self) -> Vec<ReleasedName> {
        let now = self.ids.clock().now();
        self.lock().released.iter().filter(|one| now < one.reserved_until).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// What the store has, with the revisions of the released names.
    async fn read(store: &SharedStore) -> Result<(Self, Revisions), StoreError> {
        let site = OWN.all(store).await?.into_iter().map(|one| one.value).collect();
        let all = RELEASED.all(store).await?;
        let revisions = all.iter().map(|one| (one.key.clone(), one.revision)).collect();
        let mut released: Vec<ReleasedName> = all.into_iter().map(|one| one.value).collect();
        released.sort_by_key(|one| one.released_at);
        Ok((Self { site, released }, revisions))
    }

    fn check(
        &self,
        name: &str,
        owner: &Principal,
        is_admin: bool,
        now: Timestamp,
    ) -> Result<(), RegistryError> {
        let Some(one) = self.released.iter().find(|one| one.name == name) else { return Ok(()) };
        let is_own = one.owner == *owner || (is_admin && is_operator(&one.owner));
        if is_own || now >= one.reserved_until {
            return Ok(());
        }
        Err(RegistryError::NameTaken(format!(
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
                self.release(name.as_str(), &Principal::site(), now, until);
            }
            NameChange::Taken(name) => self.released.retain(|one| one.name != *name),
            NameChange::TakenBySite(name) => {
                self.released.retain(|one| one.name != name.as_str());
                self.site.insert(name.clone());
            }
        }
    }

    fn release(&mut self, name: &str, owner: &Principal, now: Timestamp, until: Timestamp) {
        self.released.retain(|one| one.name != name);
        let (name, owner) = (name.to_owned(), owner.clone());
        self.released.push(ReleasedName { name, owner, released_at: now, reserved_until: until });
        let mut counts: BTreeMap<&Principal, usize> = BTreeMap::new();
        for one in &self.released {
            *counts.entry(&one.owner).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((owner, count)) = most.map(|(owner, count)| (owner.clone(), count)) else { return };
        if count > MAX_OF_OWNER || self.released.len() > MAX_IN_ALL {
            let oldest = self.released.iter().position(|one| one.owner == owner);
            oldest.map(|at| self.released.remove(at));
        }
    }

    /// The changes of records that lead from `before` to this, and the revisions afterwards.
    fn edits_from(&self, before: &Self, revisions: &mut Revisions) -> Result<Vec<RecordChange>, StoreError> {
        let mut edits = Vec::new();
        for name in before.site.difference(&self.site) {
            edits.push(OWN.remove(name.as_str(), 1));
        }
        for name in self.site.difference(&before.site) {
            edits.push(OWN.put(name.as_str(), None, 0, name)?);
        }
        for one in
            before.released.iter().filter(|one| self.released.iter().all(|other| other.name != one.name))
        {
            let revision = revisions.remove(&one.name).unwrap_or(0);
            edits.push(RELEASED.remove(&one.name, revision));
        }
        for one in self.released.iter().filter(|one| !before.released.contains(one)) {
            let revision = revisions.entry(one.name.clone()).or_default();
            edits.push(RELEASED.put(&one.name, None, *revision, one)?);
            *revision += 1;
        }
        Ok(edits)
    }
}

/// Takes over what an earlier version kept in one setting.
async fn take_over(store: &SharedStore) -> Result<(), RegistryError> {
    let Some(text) = store.setting(OLD_SETTING).await? else { return Ok(()) };
    let damaged =
        |error| RegistryError::Store(StoreError::Corrupt(format!("setting {OLD_SETTING}: {error}")));
    let book: Book = serde_json::from_str(&text).map_err(damaged)?;
    let edits = book.edits_from(&Book::default(), &mut Revisions::new())?;
    let gone = SettingChange { name: OLD_SETTING.into(), value: None, owner: None };
    // The same data in another place is no new work.
    let change = Change::unjournaled(Unjournaled::Migration).admittance(Admittance::Always);
    Ok(store.commit(change.edits(edits).edit(gone)).await?)
}

/// Names for a line: the first few.
fn listed(names: &[AgentName]) -> String {
    const FEW: usize = 8;
    let few: Vec<&str> = names.iter().take(FEW).map(AgentName::as_str).collect();
    let more = if names.len() > FEW { ", …" } else { "" };
    format!("{}{more}", few.join(", "))
}

/// Whether admins had the name, by a folder or by a program of theirs that connected.
fn is_operator(owner: &Principal) -> bool {
    matches!(owner.kind(), PrincipalKind::Site | PrincipalKind::Admin)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentsite_store::MemStore;

    use super::*;
    use crate::tests::ids;

    const DAY: i64 = 86_400_000;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_millis(days * DAY)
    }

    fn released(name: &str, owner: &str) -> NameChange {
        NameChange::Released { name: name.into(), owner: by(owner) }
    }

    fn by(owner: &str) -> Principal {
        owner.parse().unwrap()
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
        let why = book.check("poet", &by("key:b"), true, at(29)).unwrap_err().to_string();
        assert!(
            why.contains("reserved for its previous owner") && why.contains("agent release poet"),
            "{why}"
        );
        assert!(book.check("poet", &by("key:a"), false, at(1)).is_ok(), "the previous owner");
        assert!(book.check("poet", &by("key:b"), false, at(30)).is_ok(), "afterwards");
        assert!(book.check("other", &by("key:b"), false, at(1)).is_ok());
    }

    #[test]
    fn a_name_of_the_sites_own_agent_is_its_admins() {
        let name: AgentName = "calc".parse().unwrap();
        let book = after(&[NameChange::TakenBySite(name.clone()), NameChange::ReleasedBySite(name)]);
        assert!(book.check("calc", &by("key:a"), false, at(1)).is_err());
        assert!(book.check("calc", &by("admin"), true, at(1)).is_ok());
    }

    #[test]
    fn one_owner_can_not_crowd_out_the_reservations_of_others() {
        let mut book = after(&[released("poet", "key:a")]);
        for number in 0..2 * MAX_IN_ALL {
            book.apply(&released(&format!("n{number}"), &format!("key:{}", number % 3)), at(0), at(30));
        }
        assert!(book.released.len() <= 3 * MAX_OF_OWNER + 1);
        assert!(book.check("poet", &by("key:b"), false, at(1)).is_err());
    }

    async fn opened(store: &SharedStore) -> Names {
        Names::open(store.clone(), ids(), Duration::from_secs(86_400)).await.unwrap()
    }

    #[tokio::test]
    async fn what_is_written_is_read_again() {
        let store: SharedStore = Arc::new(MemStore::default());
        let names = opened(&store).await;
        let (calc, echo): (AgentName, AgentName) = ("calc".parse().unwrap(), "echo".parse().unwrap());
        names.keep_step(&[calc.clone(), echo.clone()].into()).await.unwrap();
        names.release_own(&calc).await.unwrap();
        names.hold(&calc).await.unwrap();
        names.release_own(&calc).await.unwrap();
        names.release_own(&calc).await.unwrap();
        let again = opened(&store).await;
        assert_eq!(*again.lock(), *names.lock());
        assert_eq!(again.lock().site, [echo].into());
        again.hold(&calc).await.unwrap();
        assert_eq!(opened(&store).await.released(), Vec::new());
    }

    #[tokio::test]
    async fn what_an_earlier_version_kept_in_a_setting_is_taken_over() {
        let store: SharedStore = Arc::new(MemStore::default());
        let book = after(&[released("poet", "key:a"), NameChange::TakenBySite("calc".parse().unwrap())]);
        let value = Some(serde_json::to_string(&book).unwrap());
        let setting = SettingChange { name: OLD_SETTING.into(), value, owner: None };
        store.commit(Change::unjournaled(Unjournaled::Migration).edit(setting)).await.unwrap();
        for _ in 0..2 {
            assert_eq!(*opened(&store).await.lock(), book);
            assert_eq!(store.setting(OLD_SETTING).await.unwrap(), None);
        }
    }
}
