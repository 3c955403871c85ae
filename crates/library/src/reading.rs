//! Reading: keeps what can be found in step with the documents.
//!
//! Promises: one task reads; a caller waits for a scan that began after its question, but not for long. Only
//! what changed is read again, and only what an earlier process did not encode is encoded. Documents that the
//! program carries are not touched before the first question. What cannot be read is written to the agent's
//! log, once for each version. Better vectors follow in the background, with a share of one core, and never
//! hold up a question. It does not choose what answers a question: `answer` does.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use agentsite_host::{AgentLog, Health, LogSource};
use agentsite_protocol::{Clock, Filter, Timestamp};
use agentsite_search::{Audience, Embedders, Entry, Facts, FindError, Finder, FinderSettings, digest};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::document::Found;
use super::folders::{IndexFolder, WriteTurn};
use super::passage::{Passage, cut};
use super::read::{Unreadable, blocks};
use super::scan::{Source, load};
use super::shelf::{MAX_PASSAGES, Shelf};

/// How old the last look may be for a question: a look costs the time of a few thousand directory
/// entries.
const FRESH: Duration = Duration::from_secs(1);

/// How often folders are scanned when no question comes.
const EVERY: Duration = Duration::from_secs(30);

/// How long a caller waits for documents to be read; after that the answer comes from what is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Entries that get their better vectors at a time: some tens of milliseconds of one core, for which a
/// question may have to wait.
const DEEPEN: usize = 1;

/// How many times as long as it took to make better vectors is rested after it: a quarter of one core is
/// used, so that calls are not disturbed.
const REST: u32 = 3;

/// How long better vectors wait after they could not be made or written.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// Most passages of one document.
const MAX_PASSAGES_OF_ONE: usize = 5_000;

/// What is known of the documents, and the task that keeps it so.
#[derive(Debug)]
pub(super) struct Reading {
    source: Source,
    embedders: Embedders,
    folder: IndexFolder,
    /// There once the index was opened, which takes a while when it is large.
    finder: OnceLock<Arc<Finder>>,
    // A std lock: held to place one document or to look up a few passages, never across an await.
    shelf: RwLock<Shelf>,
    log: AgentLog,
    clock: Arc<dyn Clock>,
    /// Notified by callers.
    ring: Notify,
    /// Rung when entries may lack their better vectors.
    shallow: Notify,
    state: watch::Sender<State>,
}

/// How far the reading is.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Looks that were begun, and ended.
    begun: u64,
    ended: u64,
    /// When the last one began.
    at: Option<Timestamp>,
    /// Documents that are still to be read.
    pub(super) unread: usize,
    /// Why there is nothing to be read.
    fault: Option<String>,
}

impl Reading {
    /// Prepares an empty shelf.
    pub(super) fn new(
        source: Source,
        folder: IndexFolder,
        embedders: Embedders,
        log: AgentLog,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (state, shelf, finder) = (watch::Sender::default(), RwLock::default(), OnceLock::new());
        let (ring, shallow) = (Notify::new(), Notify::new());
        Self { source, embedders, folder, finder, shelf, log, clock, ring, shallow, state }
    }

    /// What finds passages by their ids; `None` while it is being opened.
    pub(super) fn finder(&self) -> Option<&Arc<Finder>> {
        self.finder.get()
    }

    /// What makes vectors.
    pub(super) fn embedders(&self) -> &Embedders {
        &self.embedders
    }

    /// What was read.
    pub(super) fn shelf(&self) -> RwLockReadGuard<'_, Shelf> {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf_mut(&self) -> RwLockWriteGuard<'_, Shelf> {
        self.shelf.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the library contains, as text.
    pub(super) fn source(&self) -> String {
        self.source.words()
    }

    /// Whether questions can be answered.
    pub(super) fn health(&self) -> Health {
        let state = self.state.borrow();
        match &state.fault {
            Some(fault) => Health::Down(fault.clone()),
            None if state.ended == 0 && !self.source.is_carried() => Health::Starting,
            None => Health::Ready,
        }
    }

    /// Waits until a look has ended that began after now, unless the last one is fresh; gives how far the
    /// reading is.
    pub(super) async fn fresh(&self) -> State {
        let mut seen = self.state.subscribe();
        let begun = {
            let state = seen.borrow();
            let idle = state.ended == state.begun && state.ended > 0;
            if idle && state.at.is_some_and(|at| self.clock.now().since(at) < FRESH) {
                return state.clone();
            }
            state.begun
        };
        self.ring.notify_one();
        let settled = seen.wait_for(|state| state.ended > begun);
        let _ = tokio::time::timeout(PATIENCE, settled).await;
        self.state.borrow().clone()
    }

    /// Scans repeatedly until stopped.
    pub(super) async fn keep(self: Arc<Self>, stop: CancellationToken) {
        let all = async {
            if self.source.is_carried() {
                self.ring.notified().await;
            }
            let turn = self.folder.turn().await;
            tokio::join!(self.keep_looking(&turn), self.keep_deepening(&turn));
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = all => {}
        }
    }

    /// Waits until all writes are done, once the keeper has ended.
    pub(super) async fn settled(&self) {
        drop(self.folder.turn().await);
    }

    /// Reads everything now, for stories.
    #[cfg(test)]
    pub(super) async fn read_all(&self) {
        self.look(&self.folder.turn().await).await;
    }

    async fn keep_looking(&self, turn: &WriteTurn) {
        loop {
            self.look(turn).await;
            tokio::select! {
                () = self.ring.notified() => {}
                () = tokio::time::sleep(EVERY), if !self.source.is_carried() => {}
            }
        }
    }

    /// Gives entries their better vectors, with rests between.
    async fn keep_deepening(&self, turn: &WriteTurn) {
        loop {
            self.shallow.notified().await;
            let Some(finder) = self.finder().cloned() else { continue };
            loop {
                let (begun, finder) = (Instant::now(), finder.clone());
                match written(turn, async move { finder.deepen(DEEPEN).await }).await {
                    Ok(0) => break,
                    Ok(_) => tokio::time::sleep(begun.elapsed() * REST).await,
                    Err(error) => {
                        self.note(&error.to_string());
                        tokio::time::sleep(AFTER_FAILURE).await;
                    }
                }
            }
        }
    }

    /// Opens the index that an earlier process left, or begins one.
    async fn open(&self) -> Arc<Finder> {
        let settings = |folder| FinderSettings { folder, embedders: self.embedders.clone() };
        let kept = settings(self.folder.path.clone());
        let opened = spawn_blocking(move || Finder::open(kept, &|_| ())).await;
        let opened = opened.map_err(|error| error.to_string());
        let finder = match opened.and_then(|opened| opened.map_err(|error| error.to_string())) {
            Ok((finder, opened)) => {
                let damage = opened.damage;
                damage.iter().for_each(|why| self.note(&format!("the index is rebuilt: {why}")));
                finder
            }
            Err(error) => {
                self.note(&format!("{error}; the index is only in memory"));
                Finder::open(settings(None), &|_| ()).expect("an index in memory has no folder").0
            }
        };
        self.finder.get_or_init(|| Arc::new(finder)).clone()
    }

    async fn look(&self, turn: &WriteTurn) {
        let now = self.clock.now();
        self.state.send_modify(|state| {
            state.begun += 1;
            state.at = Some(now);
        });
        let source = self.source.clone();
        let scan = spawn_blocking(move || source.scan()).await;
        let scan =
            scan.map_err(|error| error.to_string()).and_then(|scan| scan.map_err(|error| error.to_string()));
        let fault = match scan {
            Ok(scan) => {
                if self.state.borrow().ended == 0 {
                    scan.passed_over.iter().for_each(|what| self.note(what));
                }
                self.take_over(scan.found, turn).await;
                None
            }
            // What was made of the documents stays: a folder that is away for a while need not be encoded
            // again.
            Err(error) => {
                let fix = "make the folder, or correct `path` in agent.toml";
                Some(format!("{} cannot be read ({error}); {fix}", self.source.words()))
            }
        };
        self.state.send_modify(|state| {
            state.ended = state.begun;
            state.unread = 0;
            state.fault = fault;
        });
    }

    async fn take_over(&self, found: Vec<Found>, turn: &WriteTurn) {
        let mut changes = self.shelf().changes(found);
        let all = changes.read.len();
        self.state.send_modify(|state| state.unread = all);
        let first = self.finder().is_none();
        let finder = if let Some(finder) = self.finder() { finder.clone() } else { self.open().await };
        for file in &changes.gone {
            let ids = self.shelf().ids(file);
            self.shelf_mut().remove(file);
            self.complain(replace(&finder, Vec::new(), ids, turn).await);
        }
        // Small ones first, so that the most can be found early.
        changes.read.sort_by_key(|found| found.version.size);
        for (at, found) in changes.read.into_iter().enumerate() {
            self.state.send_modify(|state| state.unread = all - at);
            match spawn_blocking(move || (passages(&found), found)).await {
                Ok((passages, found)) => self.place(&finder, &found, passages, turn).await,
                Err(error) => self.note(&format!("the reading was interrupted: {error}")),
            }
        }
        if first {
            let known: HashSet<String> = self.shelf().all_ids().cloned().collect();
            let mut strangers = finder.matching(&Filter::default(), &Audience::everything());
            strangers.retain(|id| !known.contains(id));
            self.complain(replace(&finder, Vec::new(), strangers, turn).await);
        }
        if first || all > 0 {
            self.shallow.notify_one();
        }
    }

    async fn place(
        &self,
        finder: &Arc<Finder>,
        found: &Found,
        read: Result<Vec<Passage>, Unreadable>,
        turn: &WriteTurn,
    ) {
        let before = self.shelf().ids(&found.file);
        let free = MAX_PASSAGES.saturating_sub(self.shelf().len().saturating_sub(before.len()));
        let read = read.and_then(|read| if read.len() > free { Err(Unreadable::Full) } else { Ok(read) });
        let named = read.map(|read| name(&found.file, read));
        let mut entries: Vec<Entry> =
            named.iter().flatten().map(|(id, passage)| entry(id, passage)).collect();
        let kept: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        let stale: Vec<String> = before.into_iter().filter(|id| !kept.contains(id.as_str())).collect();
        entries.retain(|entry| finder.digest(&entry.id) != Some(digest(entry)));
        match named {
            Ok(named) => self.shelf_mut().place(&found.file, found.version, named),
            Err(error) => {
                self.note(&format!("{} {error}", found.file));
                self.shelf_mut().give_up(&found.file, found.version, error.to_string());
            }
        }
        self.complain(replace(finder, entries, stale, turn).await);
    }

    fn complain(&self, done: Result<(), FindError>) {
        if let Err(error) = done {
            self.note(&error.to_string());
        }
    }

    fn note(&self, what: &str) {
        self.log.push(LogSource::Site, what);
    }
}

/// Reads a document and cuts it.
fn passages(found: &Found) -> Result<Vec<Passage>, Unreadable> {
    let blocks = blocks(found.kind, &load(found)?)?;
    Ok(cut(&found.file.as_str().into(), &blocks, MAX_PASSAGES_OF_ONE))
}

/// Passages with their ids, which depend on their text: a passage that moved in the next version of a
/// document is not encoded again.
fn name(file: &str, passages: Vec<Passage>) -> Vec<(String, Passage)> {
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let id = |passage: Passage| {
        let digest = digest(&entry(file, &passage));
        let again = seen.entry(digest).and_modify(|count| *count += 1).or_default();
        (format!("{file}#{digest:016x}.{again}"), passage)
    };
    passages.into_iter().map(id).collect()
}

/// Takes entries out of the index and puts others in.
async fn replace(
    finder: &Arc<Finder>,
    put: Vec<Entry>,
    gone: Vec<String>,
    turn: &WriteTurn,
) -> Result<(), FindError> {
    if put.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let finder = finder.clone();
    written(turn, async move {
        let remover = finder.clone();
        let removed = spawn_blocking(move || remover.remove(&gone)).await;
        removed.unwrap_or_else(|error| Err(FindError::Write(error.to_string())))?;
        if put.is_empty() { Ok(()) } else { finder.put(put, false).await }
    })
    .await
}

/// Completes the write, also when its waiter is stopped: no other writer gets the turn before.
async fn written<T: Send + 'static>(
    turn: &WriteTurn,
    work: impl Future<Output = Result<T, FindError>> + Send + 'static,
) -> Result<T, FindError> {
    let turn = turn.clone();
    let done = tokio::spawn(async move {
        let done = work.await;
        drop(turn);
        done
    });
    done.await.unwrap_or_else(|error| Err(FindError::Write(error.to_string())))
}

/// A passage as it is found. Each belongs to itself, so that no document is held to the share of one owner.
fn entry(id: &str, passage: &Passage) -> Entry {
    let file = Path::new(&*passage.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = std::iter::once(file).chain(passage.heading.iter().cloned()).collect::<Vec<_>>().join(" › ");
    let facts = Facts { owner: id.to_owned(), ..Facts::default() };
    Entry { id: id.to_owned(), name, text: passage.text.clone(), facts, ..Entry::default() }
}
