//! An agent elsewhere as a tool: found by its card, asked by A2A.
//!
//! Promises: its card is fetched when it is first needed and again when it is old; every request passes the
//! site's egress. It sends no credentials and keeps no conversation: each question is independent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_client::{A2aClient, A2aLimits, RemoteTask, Reply, SendOptions};
use agentsite_egress::Egress;
use agentsite_protocol::{AgentCard, Artifact, Message, Role, TaskState, Timestamp};
use url::Url;

use crate::Job;

/// How long a card counts before it is fetched again.
const CARD_AGE: Duration = Duration::from_secs(600);

/// How long the card may take; a run waits for it before its first word.
const CARD_PATIENCE: Duration = Duration::from_secs(3);

/// How long an answer may take. The task's own time limit ends it sooner.
const ANSWER_PATIENCE: Duration = Duration::from_secs(600);

/// Largest answer that is read; what the model sees of it is cut much shorter.
const MAX_ANSWER: usize = 4 << 20;

/// An agent elsewhere.
#[derive(Debug)]
pub(super) struct RemoteAgent {
    url: Url,
    egress: Egress,
    // A std lock: held for a copy, never across an await.
    known: Mutex<Option<(Timestamp, A2aClient)>>,
}

impl RemoteAgent {
    /// The agent with its card at this address.
    pub(super) fn new(url: Url, egress: &Egress) -> Self {
        Self { url, egress: egress.clone(), known: Mutex::default() }
    }

    /// Its description as text for a model; or why it cannot be called now.
    pub(super) async fn describe(&self, now: Timestamp) -> Result<String, String> {
        self.client(now).await.map(|client| described(client.card()))
    }

    /// Asks and waits for the answer.
    pub(super) async fn ask(&self, job: &Job, words: String) -> Result<String, String> {
        let client = self.client(job.ids.clock().now()).await?.with_headers(job.ephemeral.trace_headers());
        let message = Message::text(job.ids.message(), Role::User, words);
        match client.send(&message, SendOptions::default()).await {
            Ok(Reply::Message(words)) => Ok(words.plain_text()),
            Ok(Reply::Task(task)) => answer(&task),
            Err(error) => {
                // Its card may have changed; the next question looks again.
                *self.lock() = None;
                Err(error.to_string())
            }
        }
    }

    async fn client(&self, now: Timestamp) -> Result<A2aClient, String> {
        let known = self.lock().clone();
        if let Some((_, client)) = known.filter(|(at, _)| now.since(*at) < CARD_AGE) {
            return Ok(client);
        }
        let limits =
            A2aLimits { call_timeout: ANSWER_PATIENCE, max_answer: MAX_ANSWER, ..A2aLimits::default() };
        let asking = tokio::time::timeout(CARD_PATIENCE, A2aClient::resolve(&self.egress, &self.url, None));
        let late = |_| format!("the card of {} did not come within {} s", self.url, CARD_PATIENCE.as_secs());
        let client = asking.await.map_err(late)?.map_err(|error| error.to_string())?.with_limits(limits);
        *self.lock() = Some((now, client.clone()));
        Ok(client)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Timestamp, A2aClient)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn described(card: &AgentCard) -> String {
    let skills = card.skills.iter().map(|skill| format!(" {}: {}", skill.name, skill.description));
    std::iter::once(format!("{}: {}", card.name, card.description)).chain(skills).collect()
}

/// The outcome of a task: its answer, or the text that explains why there is none.
fn answer(task: &RemoteTask) -> Result<String, String> {
    let words = task.status.message.as_ref().map(Message::plain_text).unwrap_or_default();
    let made: Vec<String> =
        task.artifacts.iter().map(Artifact::plain_text).filter(|text| !text.is_empty()).collect();
    let state = task.status.state;
    match state {
        TaskState::Completed if made.is_empty() => Ok(words),
        TaskState::Completed => Ok(made.join("\n")),
        TaskState::InputRequired => {
            Err(format!("the agent asks a question: {words}; ask again with all that it needs"))
        }
        _ if words.is_empty() => Err(format!("the agent's task is {}", state.word())),
        _ => Err(format!("the agent's task is {}: {words}", state.word())),
    }
}
