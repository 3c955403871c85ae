//! Which command is possible in which state, and what follows from it.
//!
//! Promises: pure; either events or a refusal that says why and what to do. The table below is the only place
//! where transitions are decided.

use serde_json::Value;

use super::{MAX_EVENTS, Task, TaskEvent, TaskEventKind, TaskState};
use crate::{Artifact, Message, Timestamp, Usage};

/// A command to a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A runner is about to begin.
    Start,
    /// The caller answers or adds something.
    Say(Message),
    /// The runner reports on the way.
    Report(Step),
    /// The runner is done with this run.
    Finish(Outcome),
    /// The caller cancels it.
    Cancel(Option<Message>),
    /// The deadline has passed; the text names the limit.
    Expire(Message),
    /// The site was stopped or died under it and it may be tried again.
    Requeue(Message),
    /// Another process of the site takes it up, whether it has begun or not; the message says so.
    HandOver(Message),
}

/// What a runner reports while it works.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It says how it goes.
    Status(Message),
    /// It made something, or a further piece of it.
    Artifact {
        /// The thing or the piece.
        artifact: Artifact,
        /// Whether it continues the artifact of the same id.
        append: bool,
        /// Whether nothing more of it will come.
        last_chunk: bool,
    },
    /// It asks to be reminded of this in its next run.
    Memo(Value),
    /// It used tokens or calls.
    Used(Usage),
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Done.
    Completed(Option<Message>),
    /// Ended by an error; the text describes it.
    Failed(Message),
    /// The agent refuses the task; the text gives the reason.
    Rejected(Message),
    /// The agent stopped because it was asked to.
    Canceled(Option<Message>),
    /// It needs an answer of the caller.
    InputRequired(Message),
    /// It needs a permission or a credential.
    AuthRequired(Message),
}

/// Why a command is not possible now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The task has ended.
    #[error("the task has ended ({}); send a new message without its id to start another", .0.word())]
    Ended(TaskState),
    /// The agent is working and accepts no further message now.
    #[error("the task is {}; wait until it asks for input, or cancel it", .0.word())]
    Busy(TaskState),
    /// The runner reports on a task that it does not hold.
    #[error("the task is {} and no runner works on it", .0.word())]
    NotWorking(TaskState),
    /// The task has said too much.
    #[error("the task has reached {MAX_EVENTS} events")]
    TooManyEvents,
}

impl Task {
    /// Decides what follows from a command. The events are numbered on from the task's last one; apply them
    /// in order.
    ///
    /// # Errors
    /// [`Refusal`] when the command is not possible in this state; nothing has changed then.
    pub fn decide(&self, command: Command, now: Timestamp) -> Result<Vec<TaskEvent>, Refusal> {
        let state = self.head.state;
        if state.is_terminal() {
            return Err(Refusal::Ended(state));
        }
        let ends = matches!(command, Command::Finish(_) | Command::Cancel(_) | Command::Expire(_));
        if self.head.seq + 2 > MAX_EVENTS && !ends {
            return Err(Refusal::TooManyEvents);
        }
        let kinds = self.consequences(command)?;
        let numbered = (self.head.seq + 1..).zip(kinds);
        Ok(numbered.map(|(seq, kind)| TaskEvent { task: self.head.id, seq, at: now, kind }).collect())
    }

    fn consequences(&self, command: Command) -> Result<Vec<TaskEventKind>, Refusal> {
        let state = self.head.state;
        match command {
            Command::Start if state == TaskState::Submitted => {
                Ok(vec![TaskEventKind::Started { attempt: self.attempt + 1 }])
            }
            Command::Start => Err(Refusal::Busy(state)),
            Command::Say(message) if state.is_interrupted() => {
                Ok(vec![TaskEventKind::Said { message }, status(TaskState::Submitted, None)])
            }
            Command::Say(_) => Err(Refusal::Busy(state)),
            Command::Report(step) if state == TaskState::Working => Ok(vec![report(step)]),
            Command::Finish(outcome) if state == TaskState::Working => Ok(vec![finish(outcome)]),
            // An agent may turn a task away before it begins, and a runner that cannot be started fails it.
            Command::Finish(outcome @ (Outcome::Rejected(_) | Outcome::Failed(_))) => {
                Ok(vec![finish(outcome)])
            }
            Command::Report(_) | Command::Finish(_) => Err(Refusal::NotWorking(state)),
            Command::Cancel(message) => Ok(vec![status(TaskState::Canceled, message)]),
            Command::Expire(message) => Ok(vec![status(TaskState::Failed, Some(message))]),
            Command::Requeue(message) if state == TaskState::Working => {
                Ok(vec![status(TaskState::Submitted, Some(message))])
            }
            Command::HandOver(message) if matches!(state, TaskState::Submitted | TaskState::Working) => {
                Ok(vec![status(TaskState::Submitted, Some(message))])
            }
            Command::Requeue(_) | Command::HandOver(_) => Err(Refusal::NotWorking(state)),
        }
    }
}

fn status(state: TaskState, message: Option<Message>) -> TaskEventKind {
    TaskEventKind::Status { state, message }
}

fn report(step: Step) -> TaskEventKind {
    match step {
        Step::Status(message) => status(TaskState::Working, Some(message)),
        Step::Artifact { artifact, append, last_chunk } => {
            TaskEventKind::Artifact { artifact, append, last_chunk }
        }
        Step::Memo(memo) => TaskEventKind::Memo { memo },
        Step::Used(usage) => TaskEventKind::Used { usage },
    }
}

fn finish(outcome: Outcome) -> TaskEventKind {
    match outcome {
        Outcome::Completed(message) => status(TaskState::Completed, message),
        Outcome::Failed(message) => status(TaskState::Failed, Some(message)),
        Outcome::Rejected(message) => status(TaskState::Rejected, Some(message)),
        Outcome::Canceled(message) => status(TaskState::Canceled, message),
        Outcome::InputRequired(message) => status(TaskState::InputRequired, Some(message)),
        Outcome::AuthRequired(message) => status(TaskState::AuthRequired, Some(message)),
    }
}
