//! Reading: keeps what can be found in step with the documents.
//!
//! Promises: one task reads; those who ask wait for a look that began after they asked, but not for long. Only what changed is read again. What cannot be read is
//! told in the agent's log, once for each version. Better vectors follow in the background and never hold up a question.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use agentsite_host::{AgentLog, Health, LogSource};
use agentsite_protocol::{Clock, Timestamp};
use agentsite_search::{Embedders, Entry, Facts, FindError, Finder, FinderSettings};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::passage::{Passage, cut};
use super::read::{Unreadable, blocks};
use super::scan::{Found, Source, load};
use super::shelf::{MAX_PASSAGES, Shelf};

/// How old the last look may be when somebody asks: a look costs the time of a few thousand directory entries.
const FRESH: Duration = Duration::from_secs(1);

/// How often is looked when nobody asks.
const EVERY: Duration = Duration::from_secs(30);

/// How long somebody who asks waits for documents to be read; after that the answer comes from what is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Entries that get their better vectors at once: what is lost when a question comes in between.
const DEEPEN: usize = 8;

/// Most passages of one document.
const MAX_PASSAGES_OF_ONE: usize = 5_000;

/// What is known of the documents, and the task that keeps it so.
#[derive(Debug)]
pub(super) struct Reading {
    source: Source,
    finder: Finder,
    // A std lock: held to place one document or to look up a few passages, never across an await.
    shelf: RwLock<Shelf>,
    log: AgentLog,
    clock: Arc<dyn Clock>,
    ring: Notify,
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
        embedders: Embedders,
        log: AgentLog,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FindError> {
        let settings = FinderSettings { folder: None, embedders };
        let (finder, _) = Finder::open(settings, &|_| ())?;
        let (state, shelf, ring) = (watch::Sender::default(), RwLock::default(), Notify::new());
        Ok(Self { source, finder, shelf, log, clock, ring, state })
    }

    /// What finds passages by their ids.
    pub(super) fn finder(&self) -> &Finder {
        &self.finder
    }

    /// What was read.
    pub(super) fn shelf(&self) -> RwLockReadGuard<'_, Shelf> {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf_mut(&self) -> RwLockWriteGuard<'_, Shelf> {
        self.shelf.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the library is made of, in words.
    pub(super) fn source(&self) -> String {
        self.source.words()
    }

    /// Whether questions can be answered.
    pub(super) fn health(&self) -> Health {
        let state = self.state.borrow();
        match &state.fault {
            Some(fault) => Health::Down(fault.clone()),
            None if state.ended == 0 => Health::Starting,
            None => Health::Ready,
        }
    }

    /// Waits until a look has ended that began after now, unless the last one is fresh; gives how far the reading is.
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

    /// Looks again and again until told to stop.
    pub(super) async fn keep(self: Arc<Self>, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.look() => {}
            }
            let rest = async {
                self.deepen().await;
                tokio::time::sleep(EVERY).await;
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.ring.notified() => {}
                () = rest => {}
            }
        }
    }

    async fn look(&self) {
        let now = self.clock.now();
        self.state.send_modify(|state| {
            state.begun += 1;
            state.at = Some(now);
        });
        let source = self.source.clone();
        let scan = tokio::task::spawn_blocking(move || source.scan()).await;
        let scan =
            scan.map_err(|error| error.to_string()).and_then(|scan| scan.map_err(|error| error.to_string()));
        let (found, fault) = match scan {
            Ok(scan) => {
                if self.state.borrow().ended == 0 {
                    scan.passed_over.iter().for_each(|what| self.note(what));
                }
                (scan.found, None)
            }
            Err(error) => {
                let fix = "make the folder, or correct `path` in agent.toml";
                (Vec::new(), Some(format!("{} cannot be read ({error}); {fix}", self.source.words())))
            }
        };
        self.take_over(found).await;
        self.state.send_modify(|state| {
            state.ended = state.begun;
            state.unread = 0;
            state.fault = fault;
        });
    }

    async fn take_over(&self, found: Vec<Found>) {
        let mut changes = self.shelf().changes(found);
        for file in &changes.gone {
            let ids = self.shelf().ids(file);
            self.shelf_mut().remove(file);
            self.complain(self.finder.remove(&ids));
        }
        // Small ones first, so that the most can be found early.
        changes.read.sort_by_key(|found| found.version.size);
        let all = changes.read.len();
        for (at, found) in changes.read.into_iter().enumerate() {
            self.state.send_modify(|state| state.unread = all - at);
            match tokio::task::spawn_blocking(move || (passages(&found), found)).await {
                Ok((passages, found)) => self.place(&found, passages).await,
                Err(error) => self.note(&format!("the reading broke off: {error}")),
            }
        }
    }

    async fn place(&self, found: &Found, read: Result<Vec<Passage>, Unreadable>) {
        let before = self.shelf().ids(&found.file);
        let free = MAX_PASSAGES.saturating_sub(self.shelf().len().saturating_sub(before.len()));
        let read = read.and_then(|read| if read.len() > free { Err(Unreadable::Full) } else { Ok(read) });
        let named = read.map(|read| {
            let id = |(at, passage)| (format!("{}#{at}", found.file), passage);
            read.into_iter().enumerate().map(id).collect::<Vec<(String, Passage)>>()
        });
        let entries: Vec<Entry> = named.iter().flatten().map(|(id, passage)| entry(id, passage)).collect();
        let kept = entries.len();
        let stale: Vec<String> = before.into_iter().skip(kept).collect();
        match named {
            Ok(named) => self.shelf_mut().place(&found.file, found.version, named),
            Err(error) => {
                self.note(&format!("{} {error}", found.file));
                self.shelf_mut().give_up(&found.file, found.version, error.to_string());
            }
        }
        self.complain(self.finder.remove(&stale));
        self.complain(self.finder.put(entries, false).await);
    }

    async fn deepen(&self) {
        loop {
            match self.finder.deepen(DEEPEN).await {
                Ok(0) => return,
                Ok(_) => tokio::task::yield_now().await,
                Err(error) => return self.note(&error.to_string()),
            }
        }
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

/// A passage as it is found. Each belongs to itself, so that no document is held to the share of one owner.
fn entry(id: &str, passage: &Passage) -> Entry {
    let file = Path::new(&*passage.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = std::iter::once(file).chain(passage.heading.iter().cloned()).collect::<Vec<_>>().join(" › ");
    let facts = Facts { owner: id.to_owned(), ..Facts::default() };
    Entry { id: id.to_owned(), name, text: passage.text.clone(), passages: Vec::new(), facts }
}
