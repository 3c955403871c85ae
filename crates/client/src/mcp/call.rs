//! Call: one request from the moment it leaves until it is answered, and its pauses when the server asks
//! back.
//!
//! Promises: a call ends: with an answer, with a question that sets it aside, or in time with an error.
//! Dropping it at any moment tells the server to stop. It does not read answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_protocol::mcp::{InputNeeded, Reply, Round};
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotificationParam, ClientRequest, GetExtensions, RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::calls::{CallMark, Calls, OnNotice, Question};
use super::parked::Parked;
use super::{Limits, McpError, answer};

/// The one field of the state of a call that was set aside here; a server of revision 2026-07-28 gives a text
/// instead.
const STATE: &str = "call";

/// How a call went on.
pub(super) enum Outcome {
    /// The server answered.
    Answer(Box<ServerResult>),
    /// The server asked back, and the call was set aside.
    Paused(InputNeeded),
}

impl Outcome {
    /// Reads the answer, or gives the question in the form of an answer.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<Reply<T>, McpError> {
        match self {
            Self::Answer(result) => answer::read(*result),
            Self::Paused(needed) => Ok(Reply::Input(needed)),
        }
    }
}

/// Why a call did not continue.
pub(super) enum CallInterrupted {
    /// The engine or the server says so.
    Service(ServiceError),
    /// We say so.
    Known(McpError),
}

impl From<McpError> for CallInterrupted {
    fn from(error: McpError) -> Self {
        Self::Known(error)
    }
}

/// What calls of one connection share: the running ones, and the parked ones.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) calls: Arc<Calls>,
    pub(super) parked: Arc<Parked<Call>>,
}

/// One running request.
pub(super) struct Call {
    mark: CallMark,
    shared: Shared,
    limits: Limits,
    subject: String,
    handle: RequestHandle<RoleClient>,
    questions: mpsc::Receiver<Question>,
    life: Arc<Notify>,
    /// The questions that were put to the caller, by the names they got.
    asked: BTreeMap<String, oneshot::Sender<Value>>,
    count: usize,
    over: bool,
}

impl Call {
    /// Sends a request. `subject` is what it is about, so that answers to a question come back to the same
    /// thing.
    pub(super) async fn send(
        peer: &Peer<RoleClient>,
        shared: &Shared,
        limits: Limits,
        subject: String,
        mut request: ClientRequest,
        meta: RequestMetaObject,
        on_notice: OnNotice,
    ) -> Result<Self, CallInterrupted> {
        let (mark, (questions, life)) = shared.calls.begin(on_notice);
        request.extensions_mut().insert(mark);
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let handle = match peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => {
                shared.calls.end(mark);
                return Err(CallInterrupted::Service(error));
            }
        };
        let shared = shared.clone();
        let (asked, count, over) = (BTreeMap::new(), 0, false);
        Ok(Self { mark, shared, limits, subject, handle, questions, life, asked, count, over })
    }

    /// Takes up a call that was set aside, and gives it the answers it waits for.
    pub(super) fn resume(
        shared: &Shared,
        subject: &str,
        round: &Round,
        on_notice: OnNotice,
    ) -> Option<Result<Self, McpError>> {
        let id = round.state.as_ref()?.get(STATE)?.as_str()?;
        let Some(mut call) = shared.parked.take(id) else { return Some(Err(McpError::CallGone)) };
        shared.calls.taken_up(call.mark, on_notice);
        if call.subject != subject {
            return Some(Err(McpError::CallGone));
        }
        for (name, answer) in std::mem::take(&mut call.asked) {
            // A question without an answer is dropped here, which refuses it.
            if let Some(value) = round.answers.get(&name) {
                let _ = answer.send(value.clone());
            }
        }
        Some(Ok(call))
    }

    /// Waits until the call is answered, asks back, or takes too long.
    pub(super) async fn go_on(mut self) -> Result<Outcome, CallInterrupted> {
        let (silence, total) = (self.limits.call_silence, self.limits.call);
        let end = Instant::now() + total;
        let mut quiet = Instant::now() + silence;
        loop {
            tokio::select! {
                biased;
                answer = &mut self.handle.rx => {
                    self.over = true;
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    return answer.map(|result| Outcome::Answer(Box::new(result))).map_err(CallInterrupted::Service);
                }
                Some(question) = self.questions.recv() => return Ok(Outcome::Paused(self.set_aside(question)?)),
                () = self.life.notified() => quiet = Instant::now() + silence,
                () = tokio::time::sleep_until(quiet) => return Err(late(silence).into()),
                () = tokio::time::sleep_until(end) => return Err(late(total).into()),
            }
        }
    }

    fn set_aside(mut self, first: Question) -> Result<InputNeeded, McpError> {
        let mut requests = BTreeMap::new();
        let mut next = Some(first);
        while let Some(Question { request, answer }) = next {
            self.count += 1;
            let name = format!("question-{}", self.count);
            self.asked.insert(name.clone(), answer);
            requests.insert(name, request);
            next = self.questions.try_recv().ok();
        }
        let (shared, mark) = (self.shared.clone(), self.mark);
        let id = shared.parked.park(self)?;
        shared.calls.set_aside(mark);
        Ok(InputNeeded { requests, state: Some(json!({ STATE: id })) })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.shared.calls.end(self.mark);
        if self.over {
            return;
        }
        let (peer, id) = (self.handle.peer.clone(), self.handle.id.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let reason = Some("the caller no longer waits for it".to_owned());
                let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await;
            });
        }
    }
}

fn late(after: std::time::Duration) -> McpError {
    McpError::TimedOut { what: "answer", after }
}
