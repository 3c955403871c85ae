//! Session: what the server remembers of a client of the revisions before 2026-07-28, and the table of all of
//! them.
//!
//! Promises: a session belongs to its caller and to one set of tools; for everybody else it does not exist.
//! Sessions are in memory only and bounded, in all and for each caller; one that is idle for long, or the
//! oldest idle one when there are too many, is forgotten, and its client begins anew, as the protocol says.
//! It does not read or write messages.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::mcp::Abilities;
use agentsite_protocol::{AgentName, Caller, Principal, Rng};
use agentsite_site::{LogLevel, Toolkit};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::version::Revision;
use crate::failure::{Failure, Fault};

/// Most sessions in all; one costs about 2 KiB while it is idle.
const MAX_SESSIONS: usize = 4096;

/// Most sessions of one caller: every window of every program of one person.
const MAX_OF_CALLER: usize = 64;

/// How long a session is remembered that is not used: over lunch, and not over night.
const IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Most requests of a session at work at once.
const MAX_RUNNING: usize = 64;

/// Most streams that have ended and wait for a client to come back.
const MAX_ENDED: usize = 16;

/// Most bytes of a stream that has ended for it to be kept: clients come back for answers that were cut off,
/// not for files.
const MAX_ENDED_BYTES: usize = 256 << 10;

/// Most resources that a session follows.
const MAX_SUBSCRIPTIONS: usize = 100;

/// Random bytes in the id of a session: it cannot be guessed.
const ID_BYTES: usize = 24;

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    // A std lock: held for a look-up or a change of the table, never across an await.
    all: Mutex<HashMap<String, Arc<Session>>>,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    owner: Principal,
    agent: Option<AgentName>,
    pub(super) revision: Revision,
    pub(super) abilities: Abilities,
    /// Fires when the session ends.
    pub(super) ended: CancellationToken,
    /// The stream of what belongs to no request.
    pub(super) general: Arc<Feed>,
    // A std lock: held for a change of what is remembered, never across an await.
    state: Mutex<Remembered>,
}

#[derive(Debug)]
struct Remembered {
    used: Instant,
    level: LogLevel,
    streams: BTreeMap<u64, Arc<Feed>>,
    next_stream: u64,
    questions: HashMap<u64, oneshot::Sender<Answered>>,
    next_question: u64,
    /// Requests at work by their id.
    running: HashMap<String, CancellationToken>,
    subscriptions: BTreeMap<String, Toolkit>,
}

/// What a client says to a question: a result, or the words of an error.
pub(super) type Answered = Result<Value, String>;

impl Sessions {
    /// Begins a session.
    pub(super) fn open(
        &self,
        caller: &Caller,
        agent: Option<AgentName>,
        revision: Revision,
        abilities: Abilities,
        rng: &dyn Rng,
    ) -> Result<Arc<Session>, Failure> {
        let mut bytes = [0; ID_BYTES];
        rng.fill(&mut bytes);
        let session = Arc::new(Session {
            id: URL_SAFE_NO_PAD.encode(bytes),
            owner: caller.owner().clone(),
            agent,
            revision,
            abilities,
            ended: CancellationToken::new(),
            general: Feed::new(0),
            state: Mutex::new(Remembered::new()),
        });
        let mut all = self.table();
        all.retain(|_, known| known.is_used() || known.state().used.elapsed() < IDLE || known.end());
        let own = all.values().filter(|known| known.owner == session.owner).count();
        if own >= MAX_OF_CALLER || all.len() >= MAX_SESSIONS {
            let of_caller = own >= MAX_OF_CALLER;
            let idle =
                all.values().filter(|known| !known.is_used() && (!of_caller || known.owner == session.owner));
            let oldest = idle.min_by_key(|known| known.state().used).map(|known| known.id.clone());
            let Some(forgotten) = oldest.and_then(|id| all.remove(&id)) else {
                let sentence = "too many sessions are open; end some with DELETE, or come back later";
                return Err(Failure::new(Fault::TooMany, sentence).retry_after(Duration::from_secs(60)));
            };
            forgotten.end();
        }
        all.insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// The session of this id, for whom it belongs to.
    pub(super) fn find(
        &self,
        id: &str,
        caller: &Caller,
        agent: Option<&AgentName>,
    ) -> Result<Arc<Session>, Failure> {
        let found = self.table().get(id).cloned();
        let own = found.filter(|session| session.owner == *caller.owner() && session.agent.as_ref() == agent);
        let session = own.ok_or_else(|| {
            Failure::new(
                Fault::NoSuchSession,
                "there is no such session, or it has ended; begin again with `initialize`",
            )
        })?;
        session.state().used = Instant::now();
        Ok(session)
    }

    /// Ends a session and everything in it.
    pub(super) fn close(&self, session: &Session) {
        self.table().remove(&session.id);
        session.end();
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn new() -> Self {
        Self {
            used: Instant::now(),
            level: LogLevel::Info,
            streams: BTreeMap::new(),
            next_stream: 1,
            questions: HashMap::new(),
            next_question: 1,
            running: HashMap::new(),
            subscriptions: BTreeMap::new(),
        }
    }

    /// Forgets streams that have ended and are too many or too large to wait for a client that lost its line.
    fn tidy(&mut self) {
        self.streams.retain(|_, feed| !feed.is_done() || feed.size() <= MAX_ENDED_BYTES);
        let ended: Vec<u64> =
            self.streams.iter().filter(|(_, feed)| feed.is_done()).map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            self.streams.remove(number);
        }
    }
}

/// A request at work in a session; it is forgotten when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    session: Arc<Session>,
    id: String,
    pub(super) feed: Arc<Feed>,
    pub(super) cancel: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.feed.finish();
        let mut state = self.session.state();
        state.running.remove(&self.id);
        state.tidy();
    }
}

impl Session {
    fn state(&self) -> MutexGuard<'_, Remembered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody works in it or listens to it now. The table itself holds it once.
    fn is_used(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    /// Ends everything in it; always says false, for it is not kept.
    fn end(&self) -> bool {
        self.ended.cancel();
        let mut state = self.state();
        state.questions.clear();
        for (uri, toolkit) in std::mem::take(&mut state.subscriptions) {
            toolkit.watch(&uri, false);
        }
        false
    }

    /// Begins a request with a stream of its own.
    pub(super) fn begin(self: &Arc<Self>, id: &str) -> Result<Running, Failure> {
        let mut state = self.state();
        if state.running.len() >= MAX_RUNNING {
            let sentence =
                format!("{MAX_RUNNING} requests of this session are at work already; wait for one to end");
            return Err(Failure::new(Fault::TooMany, sentence).retry_after(Duration::from_secs(1)));
        }
        if state.running.contains_key(id) {
            return Err(Failure::new(
                Fault::BadRequest,
                "a request of this id is at work; give each its own",
            ));
        }
        state.tidy();
        let cancel = self.ended.child_token();
        state.running.insert(id.to_owned(), cancel.clone());
        let feed = Feed::new(state.next_stream);
        state.next_stream += 1;
        state.streams.insert(feed.number, Arc::clone(&feed));
        Ok(Running { session: Arc::clone(self), id: id.to_owned(), feed, cancel })
    }

    /// The client no longer wants the answer to this request.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(token) = self.state().running.get(id) {
            token.cancel();
        }
    }

    /// The stream of this number.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<Feed>> {
        if number == 0 { Some(Arc::clone(&self.general)) } else { self.state().streams.get(&number).cloned() }
    }

    /// Registers a question and gives its number and where its answer will come.
    pub(super) fn question(&self) -> (u64, oneshot::Receiver<Answered>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        let number = state.next_question;
        state.next_question += 1;
        // Questions whose asker gave up are forgotten here.
        state.questions.retain(|_, waiting| !waiting.is_closed());
        state.questions.insert(number, sender);
        (number, receiver)
    }

    /// Hands an answer to the one who asked; false when there is none.
    pub(super) fn answer(&self, number: u64, answered: Answered) -> bool {
        let waiting = self.state().questions.remove(&number);
        waiting.is_some_and(|waiting| waiting.send(answered).is_ok())
    }

    /// From which level on log lines are wanted.
    pub(super) fn level(&self) -> LogLevel {
        self.state().level
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        self.state().level = level;
    }

    /// Follows a resource, or no longer.
    pub(super) fn subscribe(&self, uri: &str, toolkit: &Toolkit, on: bool) -> Result<(), Failure> {
        let mut state = self.state();
        if on && state.subscriptions.len() >= MAX_SUBSCRIPTIONS && !state.subscriptions.contains_key(uri) {
            let sentence =
                format!("this session follows {MAX_SUBSCRIPTIONS} resources already; unsubscribe from one");
            return Err(Failure::new(Fault::TooMany, sentence));
        }
        let changed = if on {
            state.subscriptions.insert(uri.to_owned(), toolkit.clone()).is_none()
        } else {
            state.subscriptions.remove(uri).is_some()
        };
        drop(state);
        if changed {
            toolkit.watch(uri, on);
        }
        Ok(())
    }

    /// Whether a resource is followed.
    pub(super) fn follows(&self, uri: &str) -> bool {
        self.state().subscriptions.contains_key(uri)
    }

    /// The resources that are followed.
    pub(super) fn followed(&self) -> Vec<String> {
        self.state().subscriptions.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use agentsite_site::SystemRng;

    use super::*;

    fn open(sessions: &Sessions, caller: &Caller) -> Result<Arc<Session>, Failure> {
        sessions.open(caller, None, Revision::V2025_11_25, Abilities::default(), &SystemRng)
    }

    #[tokio::test]
    async fn a_session_exists_only_for_its_caller_and_its_tools() {
        let sessions = Sessions::default();
        let session = open(&sessions, &Caller::local()).unwrap();
        assert!(session.id.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(sessions.find(&session.id, &Caller::local(), None).is_ok());
        let agent: AgentName = "echo".parse().unwrap();
        let other = Caller::anonymous([192, 0, 2, 1].into());
        for found in [
            sessions.find(&session.id, &other, None),
            sessions.find(&session.id, &Caller::local(), Some(&agent)),
            sessions.find("x", &Caller::local(), None),
        ] {
            assert_eq!(found.unwrap_err().fault, Fault::NoSuchSession);
        }
        sessions.close(&session);
        assert!(session.ended.is_cancelled());
        assert!(sessions.find(&session.id, &Caller::local(), None).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_sessions_make_space_and_used_ones_do_not() {
        let sessions = Sessions::default();
        let caller = Caller::local();
        let first = open(&sessions, &caller).unwrap().id.clone();
        for _ in 0..MAX_OF_CALLER {
            tokio::time::advance(Duration::from_millis(1)).await;
            open(&sessions, &caller).unwrap();
        }
        assert!(sessions.find(&first, &caller, None).is_err(), "the oldest was forgotten");
        let kept: Vec<_> = sessions.table().values().cloned().collect();
        assert_eq!(kept.len(), MAX_OF_CALLER);
        assert_eq!(open(&sessions, &caller).unwrap_err().fault, Fault::TooMany);
        drop(kept);
        tokio::time::advance(IDLE).await;
        open(&sessions, &caller).unwrap();
        assert_eq!(sessions.table().len(), 1);
    }

    #[tokio::test]
    async fn requests_of_a_session_are_bounded_and_can_be_ended() {
        let sessions = Sessions::default();
        let session = open(&sessions, &Caller::local()).unwrap();
        let running: Vec<Running> =
            (0..MAX_RUNNING).map(|id| session.begin(&id.to_string()).unwrap()).collect();
        assert_eq!(session.begin("more").unwrap_err().fault, Fault::TooMany);
        session.cancel("3");
        assert!(running[3].cancel.is_cancelled() && !running[4].cancel.is_cancelled());
        drop(running);
        let again = session.begin("3").unwrap();
        assert_eq!(session.begin("3").unwrap_err().fault, Fault::BadRequest);
        drop(again);
        assert_eq!(session.state().streams.len(), MAX_ENDED);
    }

    #[tokio::test]
    async fn an_answer_reaches_whoever_asked_once() {
        let session = open(&Sessions::default(), &Caller::local()).unwrap();
        let (number, waiting) = session.question();
        assert!(session.answer(number, Ok(Value::Null)));
        assert!(!session.answer(number, Ok(Value::Null)));
        assert_eq!(waiting.await.unwrap(), Ok(Value::Null));
    }
}
