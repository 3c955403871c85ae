//! Turn: one prompt and everything that follows from it until the agent answers it.
//!
//! Promises: updates are reported in order, and before the end of the turn. A turn that is dropped before its
//! end is cancelled at the agent, and its open questions are answered as cancelled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::connection::{Answered, Connection, RequestError, cancelled};
use super::permission;
use super::port::{Event, Inbox};
use super::story::{Listener, Stop, Story};
use super::wire::{PermissionRequest, RpcError};
use crate::Permissions;

/// How long an agent may take to end a turn that was cancelled; the caller waits for it, and the site at most
/// five seconds.
const CANCEL: Duration = Duration::from_secs(3);

/// Questions that may be open at once; further ones are answered as cancelled.
const MOST_QUESTIONS: usize = 16;

/// How far a turn has come.
#[derive(Debug)]
pub(super) enum Progress {
    /// The agent asks a question; see [`Turn::question`].
    Asks,
    /// The agent has ended the turn; the value is its answer.
    Ended(Value),
    /// The agent could not do it.
    Refused(RpcError),
    /// The agent's process ended.
    Lost,
    /// The agent said more than can be kept while it waited for a person.
    OutputLimit,
}

/// A prompt that is being answered.
#[derive(Debug)]
pub(super) struct Turn {
    connection: Arc<Connection>,
    session: String,
    inbox: Inbox,
    answer: oneshot::Receiver<Answered>,
    open: bool,
    questions: VecDeque<(Value, PermissionRequest)>,
    story: Story,
}

impl Turn {
    /// Sends a prompt.
    ///
    /// # Errors
    /// [`RequestError`] when it cannot be sent.
    pub(super) async fn begin(
        connection: Arc<Connection>,
        session: String,
        prompt: Vec<Value>,
    ) -> Result<Self, RequestError> {
        let inbox = connection.listen(&session);
        let params = json!({"sessionId": session, "prompt": prompt});
        let answer = connection.request("session/prompt", &params, Some(session.clone())).await?;
        let (open, questions, story) = (true, VecDeque::new(), Story::default());
        Ok(Self { connection, session, inbox, answer, open, questions, story })
    }

    /// Continues until the agent asks or ends.
    ///
    /// # Errors
    /// [`Stop`] when the task has ended or the agent exceeds its output limit.
    pub(super) async fn go_on(&mut self, to: Listener<'_>, rule: Permissions) -> Result<Progress, Stop> {
        loop {
            if !self.questions.is_empty() {
                self.story.flush(to).await?;
                return Ok(Progress::Asks);
            }
            tokio::select! {
                biased;
                event = self.inbox.next() => match event {
                    Some(event) => self.take(event, to, rule).await?,
                    None if self.connection.is_closed() => return Ok(Progress::Lost),
                    None => return Ok(Progress::OutputLimit),
                },
                answered = &mut self.answer => {
                    self.open = false;
                    while let Some(event) = self.inbox.now() {
                        self.take(event, to, Permissions::Reject).await?;
                    }
                    self.story.flush(to).await?;
                    return Ok(match answered.unwrap_or(Err(RequestError::Lost)) {
                        Ok(answer) => Progress::Ended(answer),
                        Err(RequestError::Refused(error)) => Progress::Refused(error),
                        Err(RequestError::Lost) => Progress::Lost,
                    });
                }
            }
        }
    }

    async fn take(&mut self, event: Event, to: Listener<'_>, rule: Permissions) -> Result<(), Stop> {
        match event {
            Event::Update(update) => self.story.take(update, to).await,
            Event::Question { id, request } => {
                match permission::by_rule(rule, &request) {
                    Some(answer) => drop(self.connection.answer(&id, Ok(answer))),
                    None if self.questions.len() < MOST_QUESTIONS => self.questions.push_back((id, request)),
                    None => drop(self.connection.answer(&id, Ok(cancelled()))),
                }
                Ok(())
            }
        }
    }

    /// The question that is open.
    pub(super) fn question(&self) -> Option<&PermissionRequest> {
        self.questions.front().map(|(_, request)| request)
    }

    /// Answers the question that is open.
    pub(super) fn answer(&mut self, option: &str) {
        if let Some((id, _)) = self.questions.pop_front() {
            self.connection.answer(&id, Ok(permission::selected(option)));
        }
    }

    /// Whether the turn waits for a person from now on.
    pub(super) fn park(&self, parked: bool) {
        self.inbox.park(parked);
    }

    /// The agent's id of the session.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Asks the agent to end the turn, and waits a little for it.
    pub(super) async fn cancel(mut self) {
        if !self.open {
            return;
        }
        self.break_off();
        let ending = async {
            loop {
                tokio::select! {
                    biased;
                    _ = &mut self.answer => break,
                    event = self.inbox.next() => match event {
                        Some(Event::Question { id, .. }) => drop(self.connection.answer(&id, Ok(cancelled()))),
                        Some(Event::Update(_)) => {}
                        None => break,
                    },
                }
            }
        };
        let _ = tokio::time::timeout(CANCEL, ending).await;
    }

    fn break_off(&mut self) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        self.connection.tell("session/cancel", &json!({"sessionId": self.session}));
        for (id, _) in self.questions.drain(..) {
            self.connection.answer(&id, Ok(cancelled()));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.break_off();
        self.connection.hang_up(&self.session);
    }
}
