//! Finding: the index of the agents, kept in step with them.
//!
//! Promises: whoever asks finds the agents as they are at that moment: what changed among them is put into
//! the index before a question is answered, also when the worker has not come to it. Work of the index never
//! holds up the runtime. An index that lost something gets it again at the start. It does not rank (`search`
//! does) and does not decide who may see what (`find` does).

mod registered;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentsite_host::Health;
use agentsite_peers::Peers;
use agentsite_protocol::listing::Listing;
use agentsite_protocol::{AgentCard, AgentName, Filter, Ids, Timestamp};
use agentsite_registry::{EntryWatch, Federation, Registry};
use agentsite_search::{Audience, EncodeProgress, Entry, Facts, FindError, Finder, FinderSettings, digest};
use agentsite_store::SharedStore;
use agentsite_tasks::{Capability, WorkerScope};
use futures::future::BoxFuture;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::listings::{own_listing, searchable};
use crate::{SiteError, SiteSettings, Worker, local_agents};
use registered::Registered;

/// How the ids of the site's own agents begin in the index. Those of others are their names everywhere, which
/// begin otherwise.
const OWN: &str = "agent:";

/// Questions at work at once: each keeps a core busy while it is not waiting for an endpoint, and more
/// threads would only take turns.
const AT_ONCE: usize = 16;

/// Entries that get their full vectors at a time: a portion ends within a second or two, so that a stop is
/// never held up.
const PORTION: usize = 8;

/// How often is looked for what nobody tells of, such as an agent elsewhere that learned a skill.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How long the worker leaves an index or an embedder alone that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// How many entries are read between two lines of the log that tell how far the index is.
const TELL_EVERY: usize = 100_000;

/// The index of the agents.
#[derive(Debug)]
pub(super) struct Finding {
    finder: Arc<Finder>,
    places: Semaphore,
    /// How often something was written, so that kept queries are asked again after it.
    writes: AtomicU64,
    /// What the index has of each of the site's own agents.
    // Held across awaits on purpose: whoever writes keeps it until the index has acknowledged, so that an
    // older state never overtakes a newer one.
    own: Mutex<BTreeMap<AgentName, Known>>,
    /// What the index does not have yet of the entries of others; held across awaits for the same reason.
    registered: Mutex<Registered>,
}

/// What was put into the index, as far as it shows whether it still holds.
#[derive(Debug)]
struct Known {
    entry: Arc<local_agents::Entry>,
    card: Option<Arc<AgentCard>>,
    live: bool,
}

impl Known {
    fn of(entry: &Arc<local_agents::Entry>) -> Self {
        let live = entry.runner.health() == Health::Ready;
        Self { entry: entry.clone(), card: entry.runner.card(), live }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        let cards = match (&self.card, &other.card) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        cards && Arc::ptr_eq(&self.entry, &other.entry)
    }
}

impl Finding {
    /// Opens the index; `entries` names those of others that change from now on.
    pub(super) async fn open(settings: FinderSettings, entries: EntryWatch) -> Result<Self, SiteError> {
        let opened = spawn_blocking(move || Finder::open(settings, &tell)).await;
        let (finder, opened) = opened.map_err(|_| SiteError::Stopping)??;
        if let Some(damage) = opened.damage {
            tracing::warn!(entries = opened.entries, "The index of the agents is being rebuilt: {damage}");
        }
        Ok(Self {
            finder: Arc::new(finder),
            places: Semaphore::new(AT_ONCE),
            writes: AtomicU64::new(0),
            own: Mutex::default(),
            registered: Mutex::new(Registered::new(entries)),
        })
    }

    /// How the index fares.
    pub(super) fn status(&self) -> SearchStatus {
        let model = self.finder.model().to_string();
        SearchStatus { entries: self.finder.len(), model, pending: self.finder.shallow() }
    }

    /// Works with the index on a thread of its own: reading many vectors would hold up everybody else.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Finder) -> Result<T, FindError> + Send + 'static,
    ) -> Result<T, SiteError> {
        let _place = self.places.acquire().await.map_err(|_| SiteError::Stopping)?;
        let (finder, runtime) = (self.finder.clone(), Handle::current());
        match spawn_blocking(move || runtime.block_on(work(&finder))).await {
            Ok(done) => Ok(done?),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(SiteError::Stopping),
        }
    }
}

/// The id of an own agent in the index.
pub(super) fn own_id(name: &AgentName) -> String {
    format!("{OWN}{name}")
}

/// The own agent of this id in the index.
pub(super) fn own_name(id: &str) -> Option<AgentName> {
    id.strip_prefix(OWN)?.parse().ok()
}

/// Asks the saved queries again.
pub(super) type AskAgain = Arc<dyn Fn() -> BoxFuture<'static, Result<(), SiteError>> + Send + Sync>;

/// What a site knows of agents everywhere, and finds among it.
#[derive(Debug, Clone)]
pub struct Search {
    pub(super) finding: Arc<Finding>,
    pub(super) local: Arc<local_agents::LocalAgents>,
    pub(super) registry: Arc<Registry>,
    pub(super) federation: Arc<Federation>,
    pub(super) peers: Peers,
    pub(super) store: SharedStore,
    pub(super) ids: Ids,
    pub(super) settings: Arc<SiteSettings>,
    pub(super) started_at: Timestamp,
}

/// How the index of the agents fares.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchStatus {
    /// Agents that can be found.
    pub entries: usize,
    /// The model that makes the vectors which count.
    pub model: String,
    /// Entries that still have only quick vectors.
    pub pending: usize,
}

impl Search {
    /// What the search contributes to a site; `queries` are asked again when the index changed.
    pub(super) fn capability(&self, ask_again: AskAgain) -> Capability {
        let (search, opened) = (self.clone(), self.clone());
        let about = "Keeps the index of agents in step and makes their full vectors.";
        Capability::new("search")
            .prepare(move || {
                let search = opened.clone();
                async move {
                    // The index is brought in step later, too, so this does not keep the site from starting.
                    if let Err(error) = search.drop_strangers().await {
                        tracing::warn!(%error, "Agents that went while the site was stopped could not be taken out of the index.");
                    }
                    Ok(())
                }
            })
            .worker("search", about, WorkerScope::Process, move |worker, stop| {
                search.clone().keep_in_step(ask_again.clone(), worker, stop)
            })
    }

    /// An agent that the site runs, in the form of the registry.
    pub(super) fn own_listing(&self, entry: &local_agents::Entry, base: &str) -> Listing {
        own_listing(entry, base, (&self.settings, self.started_at, self.local.changed_at()))
    }

    /// Puts into the index what changed among all agents since it was last looked.
    pub(super) async fn settle(&self) -> Result<(), SiteError> {
        self.settle_own().await?;
        if self.settle_registered().await? {
            self.finding.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Puts into the index what changed among the site's own agents since it was last looked.
    async fn settle_own(&self) -> Result<(), SiteError> {
        let finding = &self.finding;
        let mut own = finding.own.lock().await;
        let agents: BTreeMap<AgentName, Known> = self.own_agents();
        let gone: Vec<AgentName> = own.keys().filter(|name| !agents.contains_key(*name)).cloned().collect();
        let (mut put, mut revise) = (Vec::new(), Vec::new());
        for (name, now) in &agents {
            match own.get(name) {
                Some(before) if before.says_the_same(now) && before.live == now.live => {}
                Some(before) if before.says_the_same(now) => revise.push(self.entry_of(now)),
                _ => put.push(self.entry_of(now)),
            }
        }
        if put.is_empty() && revise.is_empty() && gone.is_empty() {
            return Ok(());
        }
        finding.apart(async move |finder| write(finder, put, revise, &gone).await).await?;
        *own = agents;
        finding.writes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The agents that are found, as they are now.
    fn own_agents(&self) -> BTreeMap<AgentName, Known> {
        let all = self.local.all();
        let shown = all.iter().filter(|entry| !entry.hidden);
        shown.map(|entry| (entry.manifest.name.clone(), Known::of(entry))).collect()
    }

    fn entry_of(&self, known: &Known) -> Entry {
        let mut entry = searchable(&self.own_listing(&known.entry, ""));
        entry.id = own_id(&known.entry.manifest.name);
        // When the site was started says nothing of an agent, and would make every start rewrite the index.
        entry.facts = Facts { since: None, live: known.live, ..entry.facts };
        entry
    }

    /// Takes out of the index the own agents that an earlier process put there and nobody knows any more.
    async fn drop_strangers(&self) -> Result<(), SiteError> {
        let known: Vec<String> = self.own_agents().keys().map(own_id).collect();
        let work = async move |finder: &Finder| {
            let mut ids = finder.matching(&Filter::default(), &Audience::everything());
            ids.retain(|id| id.starts_with(OWN) && !known.contains(id));
            if ids.is_empty() { Ok(()) } else { finder.remove(&ids) }
        };
        self.finding.apart(work).await
    }

    /// Keeps the index in step and gives its entries their full vectors, until the site stops.
    async fn keep_in_step(self, ask_again: AskAgain, worker: Worker, stop: CancellationToken) {
        let mut asked = 0;
        loop {
            let begun = tokio::time::Instant::now();
            let wait = match self.settle_and_deepen(&ask_again, &worker, &mut asked).await {
                Ok(true) => Duration::ZERO,
                Ok(false) => LOOK_AGAIN,
                Err(error) => {
                    worker.failing(&error.to_string());
                    AFTER_FAILURE
                }
            };
            // A pass reads all agents, so under constant change it may use at most half of the time. Searches
            // bring the index up to date themselves.
            let rest = begun.elapsed().min(LOOK_AGAIN);
            let changed = async {
                self.local.changed.notified().await;
                tokio::time::sleep(rest).await;
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
                () = changed => {}
            }
        }
    }

    /// One look; true when more is left to do. Kept queries are asked again when something was written since
    /// they were `asked`.
    async fn settle_and_deepen(
        &self,
        ask_again: &AskAgain,
        worker: &Worker,
        asked: &mut u64,
    ) -> Result<bool, SiteError> {
        self.settle().await?;
        if self.catch_up().await? {
            self.finding.writes.fetch_add(1, Ordering::Relaxed);
        }
        let writes = self.finding.writes.load(Ordering::Relaxed);
        if writes != *asked {
            ask_again().await?;
            *asked = writes;
        }
        let deeper = self.finding.apart(async |finder| finder.deepen(PORTION).await).await?;
        let entries = self.finding.finder.len();
        if deeper == 0 {
            worker.idle(&format!("{entries} agents can be found"));
        } else {
            worker.working(&format!("gave {deeper} agents their full vectors; {entries} can be found"));
        }
        Ok(deeper > 0)
    }
}

/// Writes what changed; entries that the index has as they are, from an earlier process, stay untouched.
async fn write(
    finder: &Finder,
    put: Vec<Entry>,
    revise: Vec<Entry>,
    gone: &[AgentName],
) -> Result<(), FindError> {
    put_missing(finder, put).await?;
    if !revise.is_empty() {
        finder.revise(revise.into_iter().map(|entry| (entry.id, entry.facts)).collect())?;
    }
    if !gone.is_empty() {
        finder.remove(&gone.iter().map(own_id).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Puts those entries that the index does not have as they are.
async fn put_missing(finder: &Finder, mut put: Vec<Entry>) -> Result<(), FindError> {
    put.retain(|entry| finder.digest(&entry.id) != Some(digest(entry)));
    if put.is_empty() { Ok(()) } else { finder.put(put, false).await }
}

fn tell(progress: EncodeProgress) {
    if progress.of >= TELL_EVERY && progress.done.is_multiple_of(TELL_EVERY) {
        tracing::info!(done = progress.done, of = progress.of, "Reading the index of the agents.");
    }
}
