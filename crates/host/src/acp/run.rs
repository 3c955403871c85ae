//! One run of one task at an ACP agent.
//!
//! Promises: a message becomes a prompt in the session of its conversation; a question of the agent becomes a
//! question of the task, and the caller's next message continues the same turn. When that turn is lost
//! meanwhile, the caller learns of it and may begin again. A run that is cancelled or no longer listened to
//! cancels the turn.
//!
//! It keeps no clock: the site ends a run that takes too long.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{ByteSize, Message, Outcome, Role, Step};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connection::{Connection, RequestError};
use super::permission;
use super::prompt;
use super::sessions::{SessionGuard, Sessions, Waiting};
use super::story::{Listener, Stop};
use super::turn::{Progress, Turn};
use crate::child::Watch;
use crate::{Job, Permissions, Reporter};

/// What the runs of an agent share.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) watch: Watch<Connection>,
    pub(super) sessions: Sessions,
    pub(super) folder: PathBuf,
    pub(super) permissions: Permissions,
    pub(super) output: ByteSize,
    pub(super) start_timeout: Duration,
}

/// What a run asks to be reminded of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Memo {
    /// The agent's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Whether a turn waits for an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asked: bool,
    /// Whether the turn was lost and the caller was asked what to do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
}

/// Why a run ends without an outcome of the agent.
enum End {
    Stopped,
    Failed(String),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Gone => Self::Stopped,
            Stop::TooMuch => Self::Failed(String::new()),
        }
    }
}

/// What a run holds while it works.
#[derive(Default)]
struct ActiveTurn {
    turn: Option<Turn>,
    // After the turn: the conversation is free when the turn has ended.
    seat: Option<SessionGuard>,
}

/// One run of one task.
pub(super) struct AcpRun {
    pub(super) house: Arc<SharedState>,
    pub(super) job: Job,
    pub(super) report: Reporter,
}

impl AcpRun {
    /// Does it.
    pub(super) async fn run(self) -> Outcome {
        let mut hold = ActiveTurn::default();
        let end = tokio::select! {
            biased;
            () = self.job.cancel.cancelled() => Err(End::Stopped),
            end = self.work(&mut hold) => end,
        };
        if end.is_err()
            && let Some(turn) = hold.turn.take()
        {
            turn.cancel().await;
        }
        match end {
            Ok(outcome) => outcome,
            Err(End::Stopped) => Outcome::Canceled(None),
            Err(End::Failed(why)) if why.is_empty() => self.job.failed(format!(
                "the agent made more than {}; raise limits.output in its agent.toml if that is intended",
                self.house.output
            )),
            Err(End::Failed(why)) => self.job.failed(why),
        }
    }

    async fn work(&self, hold: &mut ActiveTurn) -> Result<Outcome, End> {
        let memo = self.job.memo.as_ref().and_then(|memo| Memo::deserialize(memo).ok()).unwrap_or_default();
        let seat = hold.seat.insert(self.house.sessions.seat(&self.job.owner, &self.job.context).await);
        match self.house.sessions.take(seat, self.job.task) {
            Waiting::Mine(turn) => self.resume(hold, *turn).await,
            Waiting::Other(task) => Err(End::Failed(format!(
                "this conversation waits for an answer in task {task}; answer there, cancel that task, or \
                 start another conversation"
            ))),
            Waiting::Nothing if memo.asked => self.lost(memo.session).await,
            Waiting::Nothing => self.begin(hold, &memo).await,
        }
    }

    /// Continues a turn that waited for the caller.
    async fn resume(&self, hold: &mut ActiveTurn, turn: Turn) -> Result<Outcome, End> {
        let turn = hold.turn.insert(turn);
        let chosen = turn.question().and_then(|request| permission::chosen(request, &self.job.message));
        let Some(option) = chosen else { return self.ask(hold, "That is not one of the options.\n").await };
        turn.answer(&option);
        turn.park(false);
        self.follow(hold, true).await
    }

    /// Begins a turn with the caller's message, or with the first one of the task when the task is repeated.
    async fn begin(&self, hold: &mut ActiveTurn, memo: &Memo) -> Result<Outcome, End> {
        let first = self.job.history.iter().find(|message| message.role == Role::User);
        let again = first.filter(|_| memo.lost && means_again(&self.job.message));
        let message = again.unwrap_or(&self.job.message);
        let connection = self.connection().await?;
        let mut blocks = prompt::blocks(&message.parts, connection.abilities()).map_err(End::Failed)?;
        let Some(seat) = &hold.seat else { return Err(End::Stopped) };
        let sessions = &self.house.sessions;
        let opened = sessions.session(seat, &connection, &self.house.folder, memo.session.as_deref()).await;
        let session = opened.map_err(|trouble| no_session(&connection, &trouble))?;
        if session.fresh {
            let here = if again.is_none() && memo.lost { self.job.history.as_slice() } else { &[] };
            let record = prompt::record(self.job.conversation.iter().chain(here));
            blocks.splice(0..0, record);
        }
        if connection.abilities().load {
            self.note(Memo { session: Some(session.id.clone()), ..Memo::default() }).await?;
        }
        let turn = Turn::begin(connection, session.id, blocks).await;
        hold.turn = Some(turn.map_err(|_| End::Failed(DIED.into()))?);
        self.follow(hold, false).await
    }

    /// The talk with the agent, once it is ready.
    async fn connection(&self) -> Result<Arc<Connection>, End> {
        let unready = |reason| End::Failed(format!("the agent cannot be called now: {reason}"));
        let mut watch = self.house.watch.clone();
        let connection = watch.ready(self.house.start_timeout).await.map_err(unready)?;
        if !connection.is_closed() {
            return Ok(connection);
        }
        // It has just ended, and its keeper does not know yet.
        watch.renewed(&connection).await;
        watch.ready(self.house.start_timeout).await.map_err(unready)
    }

    /// Follows the turn until it asks or ends.
    async fn follow(&self, hold: &mut ActiveTurn, resumed: bool) -> Result<Outcome, End> {
        let Some(turn) = &mut hold.turn else { return Err(End::Stopped) };
        let to = Listener { job: &self.job, report: &self.report, most: self.house.output };
        let progress = turn.go_on(to, self.house.permissions).await?;
        match progress {
            Progress::Asks => self.ask(hold, "").await,
            Progress::Ended(answer) => Ok(self.outcome(&answer)),
            Progress::Refused(error) => {
                Err(End::Failed(format!("the agent could not do it: {}", error.words())))
            }
            Progress::Lost if resumed => {
                let session = turn.session().to_owned();
                self.lost(Some(session)).await
            }
            Progress::Lost => Err(End::Failed(DIED.into())),
            Progress::OutputLimit => Err(End::Failed(
                "the agent produced more than can be stored while it waited for an answer; send the request \
                 again"
                    .into(),
            )),
        }
    }

    /// Asks the caller the agent's question and lets the turn wait.
    async fn ask(&self, hold: &mut ActiveTurn, before: &str) -> Result<Outcome, End> {
        let (Some(turn), Some(seat)) = (hold.turn.take(), &hold.seat) else { return Err(End::Stopped) };
        let question = turn.question().map(|request| permission::question(&self.job, request));
        let Some(mut question) = question else { return Err(End::Stopped) };
        if let Some(text) = question.parts.first_mut().and_then(|part| part.text.as_mut()) {
            text.insert_str(0, before);
        }
        self.note(Memo { session: Some(turn.session().to_owned()), asked: true, lost: false }).await?;
        self.house.sessions.park(seat, self.job.task, turn);
        Ok(Outcome::InputRequired(question))
    }

    /// Tells the caller that the turn is no longer there.
    async fn lost(&self, session: Option<String>) -> Result<Outcome, End> {
        self.note(Memo { session, asked: false, lost: true }).await?;
        let words = "The agent was stopped while it waited for your answer, and its work on the request is \
                     lost. Answer \"again\" to start over, or write what it should do instead.";
        Ok(Outcome::InputRequired(self.job.words(words)))
    }

    async fn note(&self, memo: Memo) -> Result<(), End> {
        let memo = serde_json::to_value(memo).expect("a text and two flags have a JSON form");
        self.report.step(Step::Memo(memo)).await.map_err(|_| End::Stopped)
    }

    /// What the end of a turn means for the task.
    fn outcome(&self, answer: &Value) -> Outcome {
        let stopped = |what: &str| {
            self.job.failed(format!(
                "the agent stopped before it was done: it reached its limit of {what}; ask for less, or say in the same conversation that it should continue"
            ))
        };
        match answer["stopReason"].as_str() {
            Some("end_turn") => Outcome::Completed(None),
            Some("cancelled") => {
                Outcome::Canceled(Some(self.job.words("The agent reports that the work was cancelled.")))
            }
            Some("refusal") => {
                Outcome::Rejected(self.job.words("The agent refuses to do this; ask for something else."))
            }
            Some("max_tokens") => stopped("tokens"),
            Some("max_turn_requests") => stopped("requests to its model"),
            Some(other) => {
                let other: String = other.chars().take(100).collect();
                self.job.failed(format!("the agent stopped for an unknown reason: {other}"))
            }
            None => self.job.failed("the agent did not report how it ended; see its log"),
        }
    }
}

/// The error when the process ends in the middle of a turn.
const DIED: &str =
    "the agent's program ended while it worked on this; it is started again, so send the request once more";

/// Whether the caller wants the lost work to be repeated.
fn means_again(message: &Message) -> bool {
    let text = message.plain_text().trim().trim_end_matches(['.', '!']).to_lowercase();
    matches!(text.as_str(), "again" | "begin again" | "yes" | "y" | "ok")
}

fn no_session(connection: &Connection, trouble: &RequestError) -> End {
    End::Failed(match trouble {
        RequestError::Lost => DIED.into(),
        RequestError::Refused(error) if error.wants_sign_in() => {
            let known = connection.abilities().auth_methods.join(", ");
            format!(
                "the agent requires its owner to sign in first; set auth_method in its agent.toml to one \
                 of: {known}"
            )
        }
        RequestError::Refused(error) => format!("the agent creates no session: {}", error.words()),
    })
}
