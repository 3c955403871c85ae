//! How the answers of agents come back into their room.
//!
//! Promises: a task that was opened for a room and has ended, or asks back, is posted once, in the name of
//! its agent: the id of the message is made from the task. The hook (`hook`) only notes which tasks these
//! are; a worker posts them. What a process that died did not post is found again at the start (`call`).

use agentsite_protocol::room::{Envelope, FailBlock, MemberId, MessageType, RoomBudget};
use agentsite_protocol::{Caller, Message, MessageId, Part, RoomId, Task, TaskId, TaskState};
use agentsite_tasks::{TaskError, Worker};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::address::{self, CallReason};
use super::error::RoomError;
use super::handle::Rooms;

/// Where the message of a call says what it is about.
const ABOUT: &str = "agentsite.room.call";

/// Writes into the message of a call what it is about.
pub(super) fn note_call(message: &mut Message, to: &Envelope, reason: &CallReason) {
    let task = match reason {
        CallReason::Assigned(task) => Some(task.as_str()),
        CallReason::Addressed => None,
    };
    let about = json!({ "message": to.id.as_str(), "sender": to.sender_id.as_str(), "task": task });
    message.extra.insert("metadata".into(), json!({ ABOUT: about }));
}

impl Rooms {
    /// Posts answers until the token fires.
    pub(crate) async fn post_answers(self, worker: Worker, stop: CancellationToken) {
        loop {
            for (room, task) in self.0.answers.take() {
                if let Err(error) = self.post_answer(room, task).await {
                    tracing::warn!(%room, %task, %error, "the answer of an agent could not be posted");
                }
            }
            worker.idle("all answers are posted");
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.0.answers.noted() => {}
            }
        }
    }

    /// Posts the answer of a task that was opened for a room, unless it is there. What the rules of the room
    /// refuse is dropped: the room has moved on.
    pub(crate) async fn post_answer(&self, room: RoomId, id: TaskId) -> Result<(), RoomError> {
        let Some(stored) = self.0.store.room(room).await? else { return Ok(()) };
        let task = match self.0.tasks.get(&Caller::inside(stored.head.owner), id).await {
            Err(TaskError::NoSuchTask(_)) => return Ok(()),
            task => task?,
        };
        if task.room != Some(room) || !task.head.state.is_settled() {
            return Ok(());
        }
        let Some(envelope) = self.answer_of(room, &task) else { return Ok(()) };
        let tokens = task.usage.input_tokens.saturating_add(task.usage.output_tokens);
        let cost = RoomBudget { tokens: Some(tokens), calls: Some(1), ..RoomBudget::default() };
        match Box::pin(self.append(envelope, Some(cost), None)).await {
            Ok(_) | Err(RoomError::IdReused | RoomError::NoSuchRoom(_)) => Ok(()),
            Err(RoomError::Refused(refusal)) => {
                tracing::debug!(%room, %refusal, agent = %task.head.agent, "the room refused an answer");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn answer_of(&self, room: RoomId, task: &Task) -> Option<Envelope> {
        let about = task.history.first()?.extra.get("metadata")?.get(ABOUT)?;
        let text = |name: &str| about.get(name).and_then(Value::as_str);
        let reason = match text("task") {
            Some(task) => CallReason::Assigned(task.parse().ok()?),
            None => CallReason::Addressed,
        };
        let id: MessageId = format!("task-{}-{}", task.head.id, task.head.seq).parse().ok()?;
        let mut base = self.envelope(room, &MemberId::agent(&task.head.agent), MessageType::Discuss);
        (base.id, base.reply_to) = (id, text("message").and_then(|id| id.parse().ok()));
        let said = task.answer();
        if task.head.state == TaskState::Completed {
            return Some(address::answer(base, &said, &reason));
        }
        let why = if said.is_empty() { format!("The task is {}.", task.head.state) } else { said };
        base.content = vec![Part::text(why)];
        if let CallReason::Assigned(assigned) = reason
            && task.head.state.is_terminal()
        {
            (base.kind, base.task_id) = (MessageType::Fail, Some(assigned));
            base.fail = Some(FailBlock { code: Some(task.head.state.word().into()), ..FailBlock::default() });
        }
        Some(base)
    }
}
