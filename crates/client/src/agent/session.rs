//! Session: one connection of an agent to its site, from the introduction to the end.
//!
//! Promises: reads continuously, independent of the handlers; each task runs in its own spawned task that
//! ends with the session. The connection to a silent site is closed. It does not connect again: see
//! [`super::Agent::serve`].

use std::collections::HashMap;
use std::time::Duration;

use agentsite_egress::{Egress, EgressSocket};
use agentsite_protocol::TaskId;
use agentsite_protocol::agent_session::{
    Assignment, Ending, EndingWay, FrameId, FromAgent, FromSite, Introduction, MAX_FRAME, Welcome,
};
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use url::Url;

use super::{AgentError, Handler, Work};
use crate::Token;

/// How long the site may take to let the program in.
const ENTRY_TIME: Duration = Duration::from_secs(20);

/// How long the connection may be silent: the site pings three times as often.
const SILENCE: Duration = Duration::from_secs(60);

/// Frames that may wait to be sent before handlers are slowed down.
const OUT_QUEUE: usize = 64;

/// How long a handler may take to end after a cancel; then it is dropped.
const GRACE: Duration = Duration::from_secs(5);

/// Close codes after which automatic reconnection is pointless; the table is in the gateway.
const LASTING: [u16; 7] = [1003, 1007, 1008, 1009, 4001, 4003, 4004];

/// One connection of an agent to its site.
pub(super) struct Session {
    socket: EgressSocket,
}

impl Session {
    /// Connects and introduces the agent.
    pub(super) async fn open(
        egress: &Egress,
        address: &Url,
        key: Option<&Token>,
        introduction: &Introduction,
    ) -> Result<(Self, Welcome), AgentError> {
        let mut request = egress.trusting(address).get(address.clone()).timeout(ENTRY_TIME);
        if let Some(key) = key {
            request = request.bearer(key.secret());
        }
        let socket = match request.socket(MAX_FRAME).await? {
            Ok(socket) => socket,
            Err(answer) => {
                let status = answer.status();
                let body: Value =
                    serde_json::from_slice(&answer.bytes().await.unwrap_or_default()).unwrap_or_default();
                let why = body["error"]["message"].as_str().unwrap_or("this address does not accept agents");
                let why = format!("{address} answered {status}: {why}");
                // A request that is wrong stays wrong; a site that is busy or away does not.
                let lasting = status.is_client_error() && !matches!(status.as_u16(), 408 | 429);
                return Err(if lasting { AgentError::Refused(why) } else { AgentError::Closed(why) });
            }
        };
        let mut session = Self { socket };
        let introduced = async {
            let id = FrameId::number(1);
            let frame = FromAgent::Register { id, introduction: Box::new(introduction.clone()) }.write();
            session.send(frame).await?;
            session.welcome().await
        };
        let late = |_| AgentError::Closed("the site did not answer to the introduction".into());
        let welcome = tokio::time::timeout(ENTRY_TIME, introduced).await.map_err(late)??;
        Ok((session, welcome))
    }

    async fn welcome(&mut self) -> Result<Welcome, AgentError> {
        loop {
            match self.receive().await? {
                Some(FromSite::Welcome { welcome, .. }) => return Ok(*welcome),
                Some(FromSite::Refused { why, .. }) => return Err(AgentError::Refused(why)),
                _ => {}
            }
        }
    }

    /// Works until the connection ends; gives the reason.
    pub(super) async fn work(&mut self, handler: &Handler, notice: impl Fn(&str)) -> AgentError {
        let (out, mut frames) = mpsc::channel(OUT_QUEUE);
        let mut cancels: HashMap<TaskId, watch::Sender<bool>> = HashMap::new();
        let mut at_work: JoinSet<TaskId> = JoinSet::new();
        loop {
            let heard = tokio::select! {
                heard = tokio::time::timeout(SILENCE, self.receive()) => heard,
                Some(frame) = frames.recv() => match self.send(frame).await {
                    Ok(()) => continue,
                    Err(error) => return error,
                },
                Some(done) = at_work.join_next() => {
                    if let Ok(task) = done {
                        cancels.remove(&task);
                    }
                    continue;
                }
            };
            match heard {
                Err(_) => return AgentError::Closed("the site sent nothing for too long".into()),
                Ok(Err(error)) => return error,
                Ok(Ok(Some(FromSite::Run(assignment)))) => {
                    let (cancel, cancelled) = watch::channel(false);
                    let work = Work { task: assignment.task, out: out.clone(), cancelled };
                    cancels.insert(assignment.task, cancel);
                    at_work.spawn(attend(handler.clone(), *assignment, work));
                }
                Ok(Ok(Some(FromSite::Cancel { task }))) => {
                    if let Some(cancel) = cancels.get(&task) {
                        cancel.send_replace(true);
                    }
                }
                Ok(Ok(Some(FromSite::Notice { text } | FromSite::Refused { why: text, .. }))) => {
                    notice(&text);
                }
                Ok(Ok(_)) => {}
            }
        }
    }

    /// Waits for the next frame; `None` for one without words. Cancellation safe.
    async fn receive(&mut self) -> Result<Option<FromSite>, AgentError> {
        match self.socket.next().await {
            Some(Ok(Message::Text(text))) => FromSite::read(text.as_bytes())
                .map(Some)
                .map_err(|error| AgentError::Closed(format!("the site sent something unexpected: {error}"))),
            Some(Ok(Message::Close(reason))) => Err(closed(reason)),
            Some(Ok(_)) => Ok(None),
            Some(Err(error)) => Err(AgentError::Closed(error.to_string())),
            None => Err(AgentError::Closed("the site hung up".into())),
        }
    }

    async fn send(&mut self, frame: String) -> Result<(), AgentError> {
        let sent = tokio::time::timeout(SILENCE, self.socket.send(Message::text(frame))).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(AgentError::Closed(error.to_string())),
            Err(_) => Err(AgentError::Closed("the site does not read its input".into())),
        }
    }
}

/// Does one task and tells how it ended.
async fn attend(handler: Handler, assignment: Assignment, work: Work) -> TaskId {
    let (task, out) = (work.task, work.out.clone());
    let given_up = {
        let work = work.clone();
        async move {
            work.cancelled().await;
            tokio::time::sleep(GRACE).await;
        }
    };
    let ending = tokio::select! {
        biased;
        ending = handler(assignment, work) => ending,
        () = given_up => Ending::new(EndingWay::Canceled),
    };
    // When the session is over, its callers are gone.
    let _ = out.send(FromAgent::End { task, ending }.write()).await;
    task
}

fn closed(reason: Option<CloseFrame>) -> AgentError {
    let Some(reason) = reason else { return AgentError::Closed("the site closed it".into()) };
    let (code, words) = (u16::from(reason.code), reason.reason.to_string());
    if LASTING.contains(&code) { AgentError::Refused(words) } else { AgentError::Closed(words) }
}
