//! Connected: the agents whose programs connect to the site, as the store keeps them.
//!
//! Promises: a name belongs to the owner who connected first under it, and stays reserved for that owner for
//! a while after it is given up; of a resume token only its hash is kept. Each change is one commit with its
//! line in the journal. There is a bounded number of them. After a restart all of them are known again.
//!
//! It does not run agents and does not know sockets: `host` does the one, `gateway` the other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_host::{
    Answers, Budget, ConnectedRunner, Limits, Manifest, Presence, Repeats, Runtime, Sandbox, SkillEntry,
};
use agentsite_protocol::agent_session::Introduction;
use agentsite_protocol::{
    AgentInstance, AgentName, Ids, JournalKind, JournalLine, Period, Principal, Skill, Timestamp, Visibility,
};
use agentsite_registry::{NameChange, Names};
use agentsite_store::{Change, Collection, Revised, SharedStore, StoreError};
use agentsite_tasks::{Capability, RecordChanges};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::Notify;

use crate::SiteError;

/// Most skills of one agent, as in an `agent.toml`.
const MAX_SKILLS: usize = 100;

/// Most tasks that a program may work on at once: their frames fit the queue of its session.
const MAX_CONCURRENCY: usize = 64;

/// Longest time that a program may ask for one task.
const MAX_TIMEOUT: u64 = 24 * 3_600;

/// Most times that a task is begun again.
const MAX_RETRY: u32 = 5;

/// Begins every resume token, so that one is recognised where it should not be.
const TOKEN_PREFIX: &str = "asl_";

/// A program connected, again or for the first time, or went away.
const CONNECTED: JournalKind = JournalKind::new("agent.connected");
/// An agent whose program connects was taken out.
const DISCONNECTED: JournalKind = JournalKind::new("agent.disconnected");

/// Where they are kept, by name.
const COLLECTION: Collection<StoredAgent> = Collection::new("connected-agents");

/// What connected agents contribute to a site, besides their worker.
pub(crate) fn capability() -> Capability {
    Capability::new("connected")
        .kinds(const { &[CONNECTED, DISCONNECTED] })
        .collections(const { &[COLLECTION.name()] })
}

/// The setting in which an earlier version listed the names of all of them.
const OLD_LIST: &str = "connected";

/// An agent whose program connects, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredAgent {
    /// What it said of itself, cut to bounds; without a token.
    pub(crate) introduction: Introduction,
    pub(crate) owner: Principal,
    /// SHA-256 of its resume token, in hexadecimal.
    token: String,
    pub(crate) registered_at: Timestamp,
    /// When its program was last known to be connected.
    pub(crate) seen_at: Timestamp,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

/// One of them with the runner that all its connections share.
#[derive(Debug, Clone)]
pub(crate) struct ConnectedEntry {
    pub(crate) record: StoredAgent,
    /// The revision of its record in the store.
    pub(crate) revision: u64,
    pub(crate) runner: Arc<ConnectedRunner>,
    /// What was last written of its presence.
    pub(crate) told: Presence,
}

/// By what right a program connects under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nobody had the name.
    New,
    /// It shows the token of the agent.
    Token,
    /// It is the owner's, and no other program is connected.
    Owner,
}

/// The agents whose programs connect.
#[derive(Debug)]
pub(crate) struct Connected {
    store: SharedStore,
    names: Arc<Names>,
    pub(crate) ids: Ids,
    // A std lock: held for a look-up or an insert, never across an await.
    kept: Mutex<BTreeMap<AgentName, ConnectedEntry>>,
    /// Held while one is added or taken out, so that the quota holds.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// Rung when a program comes or goes.
    pub(crate) changed: Arc<Notify>,
    read: Mutex<Vec<(StoredAgent, u64)>>,
}

impl Connected {
    /// Reads what an earlier process kept; [`Self::take_read`] hands it out once.
    pub(crate) async fn open(store: SharedStore, ids: Ids, names: Arc<Names>) -> Result<Self, SiteError> {
        adopt(&store).await?;
        let now = ids.clock().now();
        let mut read = Vec::new();
        for Revised { revision, value: mut record, .. } in COLLECTION.all(&store).await? {
            if let Err(reserved) = record.introduction.name.check_choice() {
                tracing::warn!(%reserved, "An agent that had connected under a reserved name was left out.");
                continue;
            }
            // Programs could not connect while the site was stopped.
            record.seen_at = record.seen_at.max(now);
            read.push((record, revision));
        }
        Ok(Self {
            store,
            names,
            ids,
            kept: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            changed: Arc::default(),
            read: Mutex::new(read),
        })
    }

    /// What the store has of the agents that were touched; none for one that was taken out.
    pub(crate) async fn stored(
        &self,
        changes: &RecordChanges,
    ) -> Result<Vec<(AgentName, Option<(StoredAgent, u64)>)>, StoreError> {
        let mut found = Vec::new();
        match changes {
            RecordChanges::Keys(keys) => {
                for key in keys {
                    let Ok(name) = key.parse() else { continue };
                    let record = COLLECTION.get(&self.store, key).await?;
                    found.push((name, record.map(|one| (one.value, one.revision))));
                }
            }
            RecordChanges::All => {
                let all = COLLECTION.all(&self.store).await?;
                found.extend(
                    all.into_iter()
                        .filter_map(|one| Some((one.key.parse().ok()?, Some((one.value, one.revision))))),
                );
                let gone: Vec<AgentName> = self.lock().keys().cloned().collect();
                let gone = gone.into_iter().filter(|name| found.iter().all(|(other, _)| other != name));
                found.extend(gone.collect::<Vec<_>>().into_iter().map(|name| (name, None)));
            }
        }
        Ok(found)
    }

    /// Takes one out of memory that another process took out of the store.
    pub(crate) fn forget(&self, name: &AgentName) -> Option<ConnectedEntry> {
        self.lock().remove(name)
    }

    /// What an earlier process kept.
    pub(crate) fn take_read(&self) -> Vec<(StoredAgent, u64)> {
        std::mem::take(&mut self.read.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn get(&self, name: &AgentName) -> Option<ConnectedEntry> {
        self.lock().get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<ConnectedEntry> {
        self.lock().values().cloned().collect()
    }

    /// Those whose programs are not here or whose presence was not written yet, and how many others there
    /// are.
    pub(crate) fn away(&self) -> (Vec<ConnectedEntry>, usize) {
        let kept = self.lock();
        let is_here = |kept: &ConnectedEntry| matches!(kept.runner.presence(), Presence::Here { .. });
        let away: Vec<ConnectedEntry> = kept.values().filter(|kept| !is_here(kept)).cloned().collect();
        let here = kept.len() - away.len();
        (away, here)
    }

    pub(crate) fn count_of(&self, owner: &Principal) -> usize {
        self.lock().values().filter(|kept| kept.record.owner == *owner).count()
    }

    /// Puts one into memory; the store has it already.
    pub(crate) fn hold(&self, kept: ConnectedEntry) {
        self.lock().insert(kept.record.introduction.name.clone(), kept);
    }

    /// Refuses one more than there may be.
    pub(crate) fn check_space(&self, most: usize) -> Result<(), SiteError> {
        if self.lock().len() < most {
            return Ok(());
        }
        let what = format!(
            "{most} agents are connected to this site, as many as may be (limits.sockets); try again later"
        );
        Err(SiteError::QuotaExceeded(what))
    }

    /// Writes one with its line in the journal; gives the revision that it has then.
    pub(crate) async fn write(
        &self,
        record: &StoredAgent,
        actor: &Principal,
        text: String,
    ) -> Result<u64, SiteError> {
        let name = &record.introduction.name;
        let before = self.lock().get(name).map_or(0, |kept| kept.revision);
        let put = COLLECTION.put(name.as_str(), Some(&record.owner), before, record)?;
        let change = Change::new(self.line(CONNECTED, actor, name, text)).edit(put);
        self.names.commit(change, &[NameChange::Taken(name.to_string())]).await?;
        Ok(before + 1)
    }

    /// Takes one out of store and memory; gives what it was. Its name stays reserved for its owner.
    pub(crate) async fn remove(
        &self,
        name: &AgentName,
        actor: &Principal,
        text: String,
    ) -> Result<Option<ConnectedEntry>, SiteError> {
        let Some(kept) = self.get(name) else { return Ok(None) };
        let owner = kept.record.owner.clone();
        let released = NameChange::Released { name: name.to_string(), owner };
        let line = self.line(DISCONNECTED, actor, name, text);
        let change = Change::new(line).edit(COLLECTION.remove(name.as_str(), kept.revision));
        self.names.commit(change, &[released]).await?;
        Ok(self.lock().remove(name))
    }

    /// A new resume token.
    pub(crate) fn token(&self) -> String {
        let mut bytes = [0; 32];
        self.ids.rng().fill(&mut bytes);
        format!("{TOKEN_PREFIX}{}", hex(&bytes))
    }

    fn line(&self, kind: JournalKind, actor: &Principal, name: &AgentName, text: String) -> JournalLine {
        JournalLine::new(kind, self.ids.clock().now(), actor.as_str(), text).about_agent(name.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentName, ConnectedEntry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredAgent {
    /// What tells its owner from every other that may have its name later.
    pub(crate) fn instance(&self) -> AgentInstance {
        AgentInstance::of("connected", &[self.owner.as_str()])
    }

    pub(crate) fn new(introduction: Introduction, owner: Principal, token: &str, now: Timestamp) -> Self {
        let introduction = Introduction { resume: None, ..introduction };
        let token = hash(token);
        Self { introduction, owner, token, registered_at: now, seen_at: now, warnings: Vec::new() }
    }
}

/// By what right a program that belongs to `owner` connects under a name that `known` may have; `here` is
/// whether another one is connected.
pub(crate) fn claim(
    known: Option<&StoredAgent>,
    here: bool,
    owner: &Principal,
    token: Option<&str>,
) -> Result<Claim, SiteError> {
    let Some(known) = known else { return Ok(Claim::New) };
    let name = &known.introduction.name;
    if known.owner != *owner {
        return Err(SiteError::Forbidden(format!(
            "the name {name} belongs to another owner; choose another"
        )));
    }
    let shown = token.is_some_and(|token| hash(token).as_bytes().ct_eq(known.token.as_bytes()).into());
    match (shown, here) {
        (true, _) => Ok(Claim::Token),
        (false, false) => Ok(Claim::Owner),
        (false, true) => Err(SiteError::Forbidden(format!(
            "another program of yours is connected as {name}; send its resume token to take its place, or choose another name"
        ))),
    }
}

/// The manifest of an agent, made from what its program said.
pub(crate) fn manifest(said: &Introduction) -> Manifest {
    let limits = Limits::default();
    let timeout = said.timeout_seconds.map(|seconds| Period::seconds(seconds.clamp(1, MAX_TIMEOUT)));
    Manifest {
        name: said.name.clone(),
        description: said.description.clone(),
        version: said.version.clone(),
        visibility: said.visibility,
        callers: Vec::new(),
        answers: Answers::Task,
        repeats: Repeats::Same,
        skills: said.skills.iter().take(MAX_SKILLS).map(skill).collect(),
        runtime: Runtime::Connected,
        limits: Limits {
            concurrency: said.concurrency.unwrap_or(limits.concurrency).clamp(1, MAX_CONCURRENCY),
            timeout: timeout.unwrap_or(limits.timeout),
            retry: said.retry.min(MAX_RETRY),
            ..limits
        },
        budget: Budget::default(),
        sandbox: Sandbox::default(),
    }
}

fn skill(skill: &Skill) -> SkillEntry {
    SkillEntry {
        id: skill.id.clone(),
        name: Some(skill.name.clone()).filter(|name| !name.is_empty()),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: skill.examples.clone(),
        input_modes: skill.input_modes.clone(),
        output_modes: skill.output_modes.clone(),
        visibility: Visibility::Public,
        input_schema: None,
        output_schema: None,
    }
}

/// Takes over what an earlier version kept in settings.
async fn adopt(store: &SharedStore) -> Result<(), SiteError> {
    Ok(COLLECTION.adopt_listed(store, OLD_LIST, OLD_LIST, |record| record.owner.clone()).await?)
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> StoredAgent {
        let introduction = Introduction::new("greeter".parse().unwrap(), "Greets.");
        StoredAgent::new(
            introduction,
            "key:a".parse::<Principal>().unwrap(),
            "token",
            Timestamp::from_millis(0),
        )
    }

    #[test]
    fn a_name_is_its_owners_and_a_connection_is_its_tokens() {
        let (own, other) = ("key:a".parse::<Principal>().unwrap(), "key:b".parse::<Principal>().unwrap());
        let known = record();
        let said =
            |here, owner, token| claim(Some(&known), here, owner, token).map_err(|error| error.to_string());
        assert_eq!(claim(None, false, &other, None).unwrap(), Claim::New);
        assert_eq!(said(true, &own, Some("token")), Ok(Claim::Token));
        assert_eq!(said(false, &own, None), Ok(Claim::Owner));
        assert!(said(true, &own, Some("guess")).unwrap_err().contains("another program of yours"));
        assert!(said(false, &other, Some("token")).unwrap_err().contains("belongs to another owner"));
    }

    #[test]
    fn the_token_is_not_stored() {
        let stored = serde_json::to_string(&record()).unwrap();
        assert!(!stored.contains("\"token\":\"token\"") && stored.contains(&hash("token")), "{stored}");
    }

    #[test]
    fn what_a_program_asks_for_is_bounded() {
        let mut said = Introduction::new("greeter".parse().unwrap(), "Greets.");
        (said.concurrency, said.timeout_seconds, said.retry) = (Some(0), Some(u64::MAX), u32::MAX);
        let limits = manifest(&said).limits;
        assert_eq!((limits.concurrency, limits.retry), (1, MAX_RETRY));
        assert_eq!(limits.timeout, Period::seconds(MAX_TIMEOUT));
        said.concurrency = Some(usize::MAX);
        assert_eq!(manifest(&said).limits.concurrency, MAX_CONCURRENCY);
    }

    #[tokio::test]
    async fn what_an_earlier_version_kept_in_settings_is_taken_over_once() {
        let store: SharedStore = Arc::new(agentsite_store::MemStore::default());
        let set = |name: &str, value: String| agentsite_store::SettingChange {
            name: name.into(),
            value: Some(value),
            owner: None,
        };
        let settings = vec![
            set("connected", "greeter lost".into()),
            set("connected:greeter", serde_json::to_string(&record()).unwrap()),
        ];
        store
            .commit(Change::unjournaled(agentsite_store::Unjournaled::Migration).edits(settings))
            .await
            .unwrap();
        for _ in 0..2 {
            adopt(&store).await.unwrap();
            let all = COLLECTION.all(&store).await.unwrap();
            assert_eq!(all, [Revised { key: "greeter".into(), revision: 1, value: record() }]);
            for gone in ["connected", "connected:greeter"] {
                assert_eq!(store.setting(gone).await.unwrap(), None, "{gone}");
            }
        }
    }
}
