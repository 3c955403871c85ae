//! Calls: which requests are running, and which of them a notice or a question belongs to.
//!
//! Promises: a question of a server reaches the caller whose call it is about, and no other: when several
//! calls are running and the server does not name one, it waits until only one is left, and is refused after
//! a while. It does not communicate with servers: `call` does. It does not keep calls that wait for answers:
//! `parked` does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::mcp::{Abilities, Change, InputRequest, Notice};
use rmcp::model::{ProgressToken, RequestId};
use serde_json::Value;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

/// Changes that may wait for a listener; one that is further behind learns so and reads everything again.
const CHANGE_QUEUE: usize = 64;

/// Questions of one call that may wait to be put to the caller; more than a few at once is a flood.
const QUESTION_QUEUE: usize = 16;

/// How long a question waits until it is clear which call it is about. Other calls end in the meantime, or
/// the server gets a refusal.
const UNCLEAR: Duration = Duration::from_secs(30);

/// Identifies a request from before it is sent until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallMark(u64);

/// The receiver of a call's notices.
pub(super) type OnNotice = Arc<dyn Fn(Notice) + Send + Sync>;

/// A question of a server, and the way back.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) request: InputRequest,
    pub(super) answer: oneshot::Sender<Value>,
}

/// Why a question was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum QuestionRefused {
    #[error("this client cannot answer that")]
    Unable,
    #[error("no running call matches this question")]
    NoCall,
    #[error("several calls are running, and the question does not name one of them")]
    Unclear,
    #[error("too many questions at once")]
    TooMany,
    #[error("the caller did not answer")]
    NoAnswer,
}

/// All calls of one connection.
pub(super) struct Calls {
    /// A std lock: it is held for a few map operations and never across an await.
    open: Mutex<Open>,
    moved: Notify,
    changes: broadcast::Sender<Change>,
    abilities: Abilities,
}

#[derive(Default)]
struct Open {
    last: u64,
    running: BTreeMap<CallMark, Running>,
}

struct Running {
    request: Option<RequestId>,
    token: Option<ProgressToken>,
    on_notice: OnNotice,
    questions: mpsc::Sender<Question>,
    life: Arc<Notify>,
    waits: bool,
}

/// Which call a question is about.
enum Addressee {
    Of(mpsc::Sender<Question>),
    NoCall,
    Unclear,
}

/// What reaches a call: questions, and signs of life.
pub(super) type CallSignals = (mpsc::Receiver<Question>, Arc<Notify>);

impl Calls {
    pub(super) fn new(abilities: Abilities) -> Self {
        let (changes, _) = broadcast::channel(CHANGE_QUEUE);
        Self { open: Mutex::default(), moved: Notify::new(), changes, abilities }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call known before it leaves.
    pub(super) fn begin(&self, on_notice: OnNotice) -> (CallMark, CallSignals) {
        let (questions, asked) = mpsc::channel(QUESTION_QUEUE);
        let life = Arc::new(Notify::new());
        let running =
            Running { request: None, token: None, on_notice, questions, life: life.clone(), waits: false };
        let mut open = self.open();
        open.last += 1;
        let mark = CallMark(open.last);
        open.running.insert(mark, running);
        (mark, (asked, life))
    }

    /// The request of a call is about to leave under this id.
    pub(super) fn sent(&self, mark: CallMark, request: RequestId, token: Option<ProgressToken>) {
        if let Some(running) = self.open().running.get_mut(&mark) {
            running.request = Some(request);
            running.token = token;
        }
    }

    /// A call is over, whichever way.
    pub(super) fn end(&self, mark: CallMark) {
        self.open().running.remove(&mark);
        self.moved.notify_waiters();
    }

    /// A call that was set aside waits for answers of its caller, not for the server.
    pub(super) fn set_aside(&self, mark: CallMark) {
        if let Some(running) = self.open().running.get_mut(&mark) {
            running.waits = true;
        }
        self.moved.notify_waiters();
    }

    /// A parked call is resumed by a caller that receives its notices here.
    pub(super) fn taken_up(&self, mark: CallMark, on_notice: OnNotice) {
        if let Some(running) = self.open().running.get_mut(&mark) {
            running.waits = false;
            running.on_notice = on_notice;
        }
    }

    /// Puts a question to the caller whose call it is about, and waits for the answer.
    pub(super) async fn ask(
        &self,
        origin: Option<RequestId>,
        request: InputRequest,
    ) -> Result<Value, QuestionRefused> {
        if !self.abilities.allows(&request) {
            return Err(QuestionRefused::Unable);
        }
        let clear = self.addressee_in_time(origin.as_ref());
        let questions =
            tokio::time::timeout(UNCLEAR, clear).await.map_err(|_| QuestionRefused::Unclear)??;
        let (answer, answered) = oneshot::channel();
        questions.try_send(Question { request, answer }).map_err(|_| QuestionRefused::TooMany)?;
        answered.await.map_err(|_| QuestionRefused::NoAnswer)
    }

    /// Whether a question belongs to exactly one running call.
    pub(super) fn is_clear(&self, origin: Option<&RequestId>) -> bool {
        matches!(self.addressee(origin), Addressee::Of(_))
    }

    async fn addressee_in_time(
        &self,
        origin: Option<&RequestId>,
    ) -> Result<mpsc::Sender<Question>, QuestionRefused> {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            match self.addressee(origin) {
                Addressee::Of(questions) => return Ok(questions),
                Addressee::NoCall => return Err(QuestionRefused::NoCall),
                Addressee::Unclear => moved.await,
            }
        }
    }

    fn addressee(&self, origin: Option<&RequestId>) -> Addressee {
        let open = self.open();
        let running = || open.running.values();
        if let Some(origin) = origin {
            let of = running().find(|call| call.request.as_ref() == Some(origin));
            return of.map_or(Addressee::NoCall, |call| Addressee::Of(call.questions.clone()));
        }
        let mut busy = running().filter(|call| !call.waits);
        match (busy.next(), busy.next()) {
            (Some(call), None) => return Addressee::Of(call.questions.clone()),
            (Some(_), Some(_)) => return Addressee::Unclear,
            (None, _) => {}
        }
        let mut waiting = running();
        match (waiting.next(), waiting.next()) {
            (Some(call), None) => Addressee::Of(call.questions.clone()),
            (Some(_), Some(_)) => Addressee::Unclear,
            (None, _) => Addressee::NoCall,
        }
    }

    /// A call tells how far it is.
    pub(super) fn progressed(&self, token: &ProgressToken, notice: Notice) {
        let of = {
            let open = self.open();
            let found = open.running.values().find(|call| call.token.as_ref() == Some(token));
            found.map(|call| (call.life.clone(), call.on_notice.clone()))
        };
        if let Some((life, on_notice)) = of {
            life.notify_one();
            on_notice(notice);
        }
    }

    /// The server logs something; delivered to the only running call, because a log line does not name its
    /// call.
    pub(super) fn logged(&self, notice: Notice) {
        let of = {
            let open = self.open();
            let mut busy = open.running.values().filter(|call| !call.waits);
            match (busy.next(), busy.next()) {
                (Some(call), None) => Some(call.on_notice.clone()),
                _ => None,
            }
        };
        if let Some(on_notice) = of {
            on_notice(notice);
        }
    }

    /// Something changed at the server.
    pub(super) fn changed(&self, change: Change) {
        let _ = self.changes.send(change);
    }

    /// Tells from now on what changes.
    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
