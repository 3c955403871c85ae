//! Queries that are kept, so that whoever asked is told when an agent appears that fits.
//!
//! Promises: a kept query belongs to one owner and is nobody else's; there is a bounded number of them and of
//! what each remembers. What it tells is written with the letter that carries it in one transaction, so that
//! nothing is told twice or lost in a crash. It does not search: `site` does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{
    Ids, JournalKind, JournalLine, JournalSubject, Match, Principal, PushConfig, Query, Timestamp,
};
use agentsite_store::{
    Admittance, Change, Collection, DeliveryChange, DeliveryRequest, Revised, SharedStore, StoreError,
};
use agentsite_tasks::{Capability, RecordChanges};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::SiteError;

/// Kept queries of one owner; people follow a handful.
const MAX_OF_OWNER: usize = 20;

/// Kept queries of a site: all are asked again when agents change, which takes milliseconds each.
const MAX_IN_ALL: usize = 1_000;

/// Matches that a query remembers to show them again; older ones are in the hands of whoever was told.
const MAX_TOLD: usize = 100;

/// Agents that a query remembers as known; beyond, the longest known may be told again.
const MAX_SEEN: usize = 1_000;

/// Matches that wait for a slow reader of a stream; it then reads the list again.
const QUEUE: usize = 64;

/// Where they are kept, by id.
const COLLECTION: Collection<Stored> = Collection::new("queries");

/// A query was saved.
const SAVED: JournalKind = JournalKind::new("query.saved");
/// Agents appeared that a saved query fits.
const MATCHED: JournalKind = JournalKind::new("query.matched");
/// A saved query was removed.
const REMOVED: JournalKind = JournalKind::new("query.removed");

/// What saved queries contribute to a site.
pub(crate) fn capability(queries: &Arc<Queries>) -> Capability {
    let queries = queries.clone();
    Capability::new("queries")
        .kinds(const { &[SAVED, MATCHED, REMOVED] })
        .collections(const { &[COLLECTION.name()] })
        .follow(move |changes| {
            let queries = queries.clone();
            async move { queries.read_again(&changes).await }
        })
}

/// The setting in which an earlier version listed the ids of all of them.
const OLD_LIST: &str = "queries";

/// A query that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedQuery {
    /// Its name.
    pub id: String,
    /// To whom it belongs.
    pub owner: Principal,
    /// What is looked for.
    pub query: Query,
    /// The score from which on a match is told.
    pub min_score: f64,
    /// Who is told beside those who look here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushConfig>,
    /// Since when.
    pub created_at: Timestamp,
    /// The last agents that appeared, the oldest first.
    pub matches: Vec<QueryMatch>,
}

/// An agent that appeared and fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryMatch {
    /// 1 for the first that this query told of.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The agent.
    #[serde(rename = "match")]
    pub found: Match,
}

/// A kept query as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) kept: SavedQuery,
    /// The address of the site when it was made, for the names of matches.
    pub(crate) base: String,
    /// Agents that are known already.
    pub(crate) seen: Vec<String>,
    /// How many were told.
    pub(crate) told: u64,
    /// The revision of its record in the store; 0 before it is written.
    #[serde(skip)]
    pub(crate) revision: u64,
}

/// The queries of a site that are kept.
#[derive(Debug)]
pub(crate) struct Queries {
    store: SharedStore,
    ids: Ids,
    // A std lock: held for a look-up or an insert, never across an await.
    kept: Mutex<BTreeMap<String, Stored>>,
    /// Held while the list is changed, so that their number stays within its limit.
    changing: tokio::sync::Mutex<()>,
    appeared: broadcast::Sender<String>,
}

impl Queries {
    /// The kind of the letters that tell of a match.
    pub(crate) const KIND: &'static str = "match";

    pub(crate) async fn open(store: SharedStore, ids: Ids) -> Result<Self, SiteError> {
        COLLECTION.adopt_listed(&store, OLD_LIST, "query", |stored| stored.kept.owner.clone()).await?;
        let all = COLLECTION.all(&store).await?;
        let kept = all.into_iter().map(|one| (one.key.clone(), Stored::of(one))).collect();
        let (appeared, _) = broadcast::channel(QUEUE);
        Ok(Self { store, ids, kept: Mutex::new(kept), changing: tokio::sync::Mutex::default(), appeared })
    }

    /// Takes over what another process changed; those who follow a query hear of it.
    pub(crate) async fn read_again(&self, changes: &RecordChanges) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        let all = COLLECTION.all(&self.store).await?.into_iter();
        let read: BTreeMap<String, Stored> = all.map(|one| (one.key.clone(), Stored::of(one))).collect();
        let before = std::mem::replace(&mut *self.lock(), read);
        let now = self.lock();
        let revision = |queries: &BTreeMap<String, Stored>, id: &str| queries.get(id).map(|one| one.revision);
        let is_touched = |id: &&String| match changes {
            RecordChanges::All => true,
            RecordChanges::Keys(keys) => keys.contains(*id),
        };
        let changed = before.keys().chain(now.keys()).filter(is_touched);
        for id in changed.filter(|id| revision(&before, id) != revision(&now, id)) {
            let _ = self.appeared.send(id.clone());
        }
        Ok(())
    }

    /// Keeps a query.
    pub(crate) async fn add(&self, mut stored: Stored) -> Result<SavedQuery, SiteError> {
        let _one_at_a_time = self.changing.lock().await;
        let (all, own) = {
            let kept = self.lock();
            (kept.len(), kept.values().filter(|other| other.kept.owner == stored.kept.owner).count())
        };
        if own >= MAX_OF_OWNER || all >= MAX_IN_ALL {
            let own = own.max(1);
            let what = format!("you keep {own} queries, and there is no space for another; forget one first");
            return Err(SiteError::QuotaExceeded(what));
        }
        stored.kept.id = self.ids.push_config();
        stored.kept.created_at = self.ids.clock().now();
        let (by, id) = (stored.kept.owner.as_str(), &stored.kept.id);
        let line = self.line(SAVED, by, id, "saved a query".into());
        self.write(&mut stored, line, Vec::new()).await?;
        let kept = stored.kept.clone();
        self.lock().insert(kept.id.clone(), stored);
        Ok(kept)
    }

    /// The queries of an owner, by age.
    pub(crate) fn of(&self, owner: &Principal) -> Vec<SavedQuery> {
        let kept = self.lock();
        let mut own: Vec<SavedQuery> =
            kept.values().filter(|one| one.kept.owner == *owner).map(|one| one.kept.clone()).collect();
        own.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        own
    }

    /// One query of an owner.
    pub(crate) fn get(&self, owner: &Principal, id: &str) -> Result<SavedQuery, SiteError> {
        let kept = self.lock().get(id).filter(|one| one.kept.owner == *owner).map(|one| one.kept.clone());
        kept.ok_or_else(|| {
            let id: String = id.chars().take(60).collect();
            SiteError::NotFound(format!("there is no kept query `{id}` here"))
        })
    }

    /// Forgets a query; what it still had to tell is not told.
    pub(crate) async fn remove(&self, owner: &Principal, id: &str) -> Result<(), SiteError> {
        let _one_at_a_time = self.changing.lock().await;
        self.get(owner, id)?;
        let revision = self.lock().get(id).map_or(0, |stored| stored.revision);
        let line = self.line(REMOVED, owner.as_str(), id, "removed a saved query".into());
        self.store.commit(Change::new(line).edit(COLLECTION.remove(id, revision))).await?;
        self.lock().remove(id);
        let _ = self.appeared.send(id.to_owned());
        Ok(())
    }

    /// All of them, to be asked again.
    pub(crate) fn all(&self) -> Vec<Stored> {
        self.lock().values().cloned().collect()
    }

    /// Tells of agents that appeared; letters leave by `deadline`.
    pub(crate) async fn tell(
        &self,
        id: &str,
        found: Vec<Match>,
        deadline: Timestamp,
    ) -> Result<(), SiteError> {
        let _one_at_a_time = self.changing.lock().await;
        let Some(mut stored) = self.lock().get(id).cloned() else { return Ok(()) };
        let now = self.ids.clock().now();
        let mut outbox = Vec::new();
        let found: Vec<Match> = found.into_iter().filter(|found| !stored.seen.contains(&found.id)).collect();
        let new = found.len();
        if new == 0 {
            return Ok(());
        }
        for found in found {
            stored.told += 1;
            stored.seen.push(found.id.clone());
            stored.kept.matches.push(QueryMatch { seq: stored.told, at: now, found });
            if stored.kept.push.is_some() {
                outbox.push(DeliveryChange::Add(letter(&stored, now, deadline)));
            }
        }
        let over = stored.kept.matches.len().saturating_sub(MAX_TOLD);
        stored.kept.matches.drain(..over);
        let over = stored.seen.len().saturating_sub(MAX_SEEN);
        stored.seen.drain(..over);
        let text = format!("found {new} new matches for a saved query of {}", stored.kept.owner);
        let line = self.line(MATCHED, "site", id, text);
        self.write(&mut stored, line, outbox).await?;
        self.lock().insert(id.to_owned(), stored);
        let _ = self.appeared.send(id.to_owned());
        Ok(())
    }

    /// Ids of queries that told something or went.
    pub(crate) fn listen(&self) -> broadcast::Receiver<String> {
        self.appeared.subscribe()
    }

    async fn write(
        &self,
        stored: &mut Stored,
        line: JournalLine,
        outbox: Vec<DeliveryChange>,
    ) -> Result<(), SiteError> {
        let (id, owner) = (&stored.kept.id, Some(&stored.kept.owner));
        let record = COLLECTION.put(id, owner, stored.revision, stored)?;
        // What a kept query tells is bounded; only a new one is new work.
        let admittance = if stored.told > 0 { Admittance::Always } else { Admittance::New };
        let change = Change::new(line).edit(record).edits(outbox).admittance(admittance);
        self.store.commit(change).await?;
        stored.revision += 1;
        Ok(())
    }

    fn line(&self, kind: JournalKind, by: &str, id: &str, text: String) -> JournalLine {
        let line = JournalLine::new(kind, self.ids.clock().now(), by, text);
        line.about(JournalSubject::Query(id.to_owned()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Stored>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stored {
    fn of(record: Revised<Self>) -> Self {
        Self { revision: record.revision, ..record.value }
    }
}

/// A kept query as the store has it.
pub(crate) async fn read(store: &SharedStore, id: &str) -> Result<Option<Stored>, StoreError> {
    Ok(COLLECTION.get(store, id).await?.map(Stored::of))
}

/// The delivery of the last match that a query tells of.
fn letter(stored: &Stored, due: Timestamp, deadline: Timestamp) -> DeliveryRequest {
    let (lane, body) = (Some(stored.kept.id.clone()), stored.told.to_string());
    let account = stored.kept.owner.account().to_owned();
    DeliveryRequest { account, task: None, lane, kind: Queries::KIND.into(), body, due, deadline }
}
