//! Anonymous callers: ids that carry their own proof.
//!
//! Promises: an anonymous caller is not its address. What it opens belongs to one conversation at that
//! address; a caller who shows the id of the task, or of the conversation, as the site gave it out may go on
//! with it, and no other. The ids that are given out are those of the store, enciphered with a key of the
//! site: 128 bits that cannot be guessed. An id as it stands in the log, the journal, an agent's environment
//! or an admin's list answers like one that does not exist. Standard clients need nothing for this: they send
//! ids back as they got them. It does not count requests or bytes: that is done by address
//! (`Principal::account`).
//!
//! The cipher is a balanced Feistel network over SHA-256 (Luby and Rackoff 1988: four rounds give a strong
//! permutation; six are made).

use agentsite_protocol::{ContextId, Message, Task, TaskEvent, TaskEventKind, TaskHead, TaskId};
use sha2::{Digest, Sha256};

/// Rounds of the network: two more than the proof asks for.
const ROUNDS: u8 = 6;

/// What is enciphered, so that a task and a conversation never share an id.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Task = 1,
    Context = 2,
}

/// Turns ids of the store into those that anonymous callers get, and back.
#[derive(Clone, Copy)]
pub struct IdCipher([u8; 32]);

/// Shows nothing: a key must not reach a log.
impl std::fmt::Debug for IdCipher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("IdCipher")
    }
}

impl IdCipher {
    /// The cipher of this key.
    #[must_use]
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    fn half(&self, kind: Kind, round: u8, half: u64) -> u64 {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update([kind as u8, round]);
        hash.update(half.to_be_bytes());
        let digest = hash.finalize();
        u64::from_be_bytes(std::array::from_fn(|at| digest[at]))
    }

    fn seal(&self, kind: Kind, id: [u8; 16]) -> [u8; 16] {
        let (mut left, mut right) = halves(id);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.half(kind, round, right));
        }
        joined(left, right)
    }

    fn open(&self, kind: Kind, id: [u8; 16]) -> [u8; 16] {
        let (mut left, mut right) = halves(id);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.half(kind, round, left), left);
        }
        joined(left, right)
    }

    /// The id of a task as an anonymous caller gets it.
    pub(crate) fn shown_task(&self, id: TaskId) -> TaskId {
        TaskId::from_bytes(self.seal(Kind::Task, *id.as_bytes()))
    }

    /// The id of the store that this one stands for; that of no task when it was not given out.
    pub(crate) fn read_task(&self, id: TaskId) -> TaskId {
        TaskId::from_bytes(self.open(Kind::Task, *id.as_bytes()))
    }

    /// The id of a conversation as an anonymous caller gets it. One that the caller chose and that is no UUID
    /// stays as it is.
    #[must_use]
    pub fn shown_context(&self, context: &ContextId) -> ContextId {
        plain_uuid(context).map_or_else(|| context.clone(), |id| context_of(self.seal(Kind::Context, id)))
    }

    /// The id of the store that this one stands for.
    pub(crate) fn read_context(&self, context: &ContextId) -> ContextId {
        plain_uuid(context).map_or_else(|| context.clone(), |id| context_of(self.open(Kind::Context, id)))
    }

    fn mapped(
        message: &mut Message,
        task: impl Fn(TaskId) -> TaskId,
        context: impl Fn(&ContextId) -> ContextId,
    ) {
        if let Some(id) = message.task_id.as_ref().and_then(|id| id.parse().ok()) {
            message.task_id = Some(task(id).to_string());
        }
        message.context_id = message.context_id.as_ref().map(context);
        let referred: Vec<TaskId> = message.references(usize::MAX).into_iter().map(task).collect();
        if !referred.is_empty() {
            message.refer_to(&referred);
        }
    }

    /// A message as an anonymous caller gets it.
    pub(crate) fn show_message(&self, message: &mut Message) {
        Self::mapped(message, |id| self.shown_task(id), |context| self.shown_context(context));
    }

    /// A message of an anonymous caller with the ids of the store.
    pub(crate) fn read_message(&self, message: &mut Message) {
        Self::mapped(message, |id| self.read_task(id), |context| self.read_context(context));
    }

    /// The head of a task as an anonymous caller gets it.
    pub(crate) fn show_head(&self, head: &mut TaskHead) {
        head.id = self.shown_task(head.id);
        head.context = self.shown_context(&head.context);
        head.parent = head.parent.map(|parent| self.shown_task(parent));
    }

    /// A task as an anonymous caller gets it.
    #[must_use]
    pub fn show_task(&self, mut task: Task) -> Task {
        self.show_head(&mut task.head);
        task.history.iter_mut().chain(task.status.message.as_mut()).for_each(|one| self.show_message(one));
        task
    }

    /// An event as an anonymous caller gets it.
    #[must_use]
    pub fn show_event(&self, event: &TaskEvent) -> TaskEvent {
        let mut event = event.clone();
        event.task = self.shown_task(event.task);
        match &mut event.kind {
            TaskEventKind::Opened(opening) => {
                opening.context = self.shown_context(&opening.context);
                opening.parent = opening.parent.map(|parent| self.shown_task(parent));
                self.show_message(&mut opening.message);
            }
            TaskEventKind::Said { message } | TaskEventKind::Status { message: Some(message), .. } => {
                self.show_message(message);
            }
            TaskEventKind::Started { .. }
            | TaskEventKind::Status { message: None, .. }
            | TaskEventKind::Artifact { .. }
            | TaskEventKind::Memo { .. }
            | TaskEventKind::Used { .. } => {}
        }
        event
    }
}

fn halves(id: [u8; 16]) -> (u64, u64) {
    let whole = u128::from_be_bytes(id);
    ((whole >> 64) as u64, whole as u64)
}

fn joined(left: u64, right: u64) -> [u8; 16] {
    (u128::from(left) << 64 | u128::from(right)).to_be_bytes()
}

/// The bytes of a conversation's id that is a UUID as the site writes it.
pub(crate) fn plain_uuid(context: &ContextId) -> Option<[u8; 16]> {
    let id: TaskId = context.as_str().parse().ok()?;
    (id.to_string() == context.as_str()).then(|| *id.as_bytes())
}

/// The id of a conversation that has these bytes.
pub(crate) fn context_of(id: [u8; 16]) -> ContextId {
    TaskId::from_bytes(id).to_string().parse().expect("a UUID is an id")
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Role;

    use super::*;

    #[test]
    fn what_is_given_out_comes_back_and_is_not_what_is_kept() {
        let (cipher, other) = (IdCipher::new([7; 32]), IdCipher::new([8; 32]));
        for number in 0..=255 {
            let id = TaskId::from_bytes([number; 16]);
            let shown = cipher.shown_task(id);
            assert_ne!(shown, id);
            assert_eq!(cipher.read_task(shown), id);
            assert_ne!(cipher.read_task(id), id, "an id of the store is not one that was given out");
            assert_ne!(other.read_task(shown), id, "each site has a key of its own");
            let context = context_of([number; 16]);
            assert_eq!(cipher.read_context(&cipher.shown_context(&context)), context);
            assert_ne!(cipher.shown_context(&context).as_str(), shown.to_string());
        }
        let chosen: ContextId = "my-conversation".parse().unwrap();
        assert_eq!(cipher.shown_context(&chosen), chosen);
    }

    #[test]
    fn every_id_of_a_message_is_mapped() {
        let cipher = IdCipher::new([7; 32]);
        let id = TaskId::from_bytes([1; 16]);
        let mut message = Message::text("m".parse().unwrap(), Role::User, "x");
        (message.task_id, message.context_id) = (Some(id.to_string()), Some(context_of([2; 16])));
        message.refer_to(&[id]);
        let before = message.clone();
        cipher.show_message(&mut message);
        let written = serde_json::to_string(&message).unwrap();
        assert!(
            !written.contains(&id.to_string()) && !written.contains(context_of([2; 16]).as_str()),
            "{written}"
        );
        cipher.read_message(&mut message);
        assert_eq!(message, before);
    }
}
