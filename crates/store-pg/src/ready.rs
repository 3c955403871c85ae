//! A change made ready for the writer: checked, serialised and hashed in the task that asks.
//!
//! Promises: whatever can be refused without the database is refused here, and whatever costs time without it
//! is spent here. It does not touch the database.

use agentsite_protocol::{JournalLine, TaskId};
use agentsite_store::engine::{self, Parts};
use agentsite_store::{
    Admittance, Change, ConversationChange, DeliveryChange, Edit, ListingChange, PushChange, RecordChange,
    StoreError, TaskChange,
};

/// Most bytes one change may hold, as in every engine.
const MAX_CHANGE: usize = 64 << 20;

/// Bytes a change is counted with besides its texts.
const BASE_COST: usize = 512;

/// A change the writer only has to guard and bind.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) journal: Vec<JournalLine>,
    pub(crate) edits: Vec<ReadyEdit>,
    pub(crate) admittance: Admittance,
    /// About how many bytes it will write.
    pub(crate) cost: usize,
}

/// An edit with what had to be computed for it.
#[derive(Debug)]
pub(crate) enum ReadyEdit {
    Task(Box<ReadyTask>),
    Listing { change: ListingChange, body: String },
    Other(Edit),
}

/// New events of a task as the row that will hold them.
#[derive(Debug)]
pub(crate) struct ReadyTask {
    pub(crate) change: TaskChange,
    pub(crate) root: i64,
    pub(crate) body: String,
    pub(crate) sent: Option<[u8; 16]>,
    /// Whether a conversation keeps it from the beginning.
    pub(crate) kept: bool,
}

impl Ready {
    pub(crate) fn new(change: Change) -> Result<Self, StoreError> {
        let Parts { journal, edits, admittance } = Parts::of(change)?;
        let keeps = |edit: &Edit| match edit {
            Edit::Conversation(ConversationChange::Said { turn, .. }) => Some(turn.task),
            _ => None,
        };
        let kept: Vec<TaskId> = edits.iter().filter_map(keeps).collect();
        let lines: usize = journal.iter().map(|line| line.text.len() + line.actor.len()).sum();
        let mut cost = BASE_COST + lines;
        let mut ready = Vec::with_capacity(edits.len());
        for edit in edits {
            let edit = ReadyEdit::new(edit, &kept)?;
            cost += edit.cost();
            ready.push(edit);
        }
        if cost > MAX_CHANGE {
            return Err(StoreError::Engine(format!(
                "one change may hold at most {MAX_CHANGE} bytes, this has {cost}"
            )));
        }
        Ok(Self { journal, edits: ready, admittance, cost })
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = &ReadyTask> {
        self.edits
            .iter()
            .filter_map(|edit| if let ReadyEdit::Task(task) = edit { Some(&**task) } else { None })
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().filter_map(|edit| if let ReadyEdit::Other(edit) = edit { Some(edit) } else { None })
    }
}

impl ReadyEdit {
    fn new(edit: Edit, kept: &[TaskId]) -> Result<Self, StoreError> {
        let wrong = |what: &str, error: &serde_json::Error| {
            StoreError::Engine(format!("{what} cannot be written as JSON: {error}"))
        };
        Ok(match edit {
            Edit::Task(change) => {
                let body = serde_json::to_string(&change.events).map_err(|error| wrong("events", &error))?;
                let key =
                    |key: &agentsite_store::SentKey| engine::sent_key(&key.owner, &key.agent, &key.message);
                let sent = change.sent.as_ref().map(key);
                let (root, kept) = (engine::root(&change.head), kept.contains(&change.head.id));
                Self::Task(Box::new(ReadyTask { change: *change, root, body, sent, kept }))
            }
            Edit::Listing(change) => {
                let body = match &change {
                    ListingChange::Put(new) => {
                        serde_json::to_string(new).map_err(|error| wrong("an entry", &error))?
                    }
                    ListingChange::Remove { .. } => String::new(),
                };
                Self::Listing { change, body }
            }
            other => Self::Other(other),
        })
    }

    /// About how many bytes it will write.
    fn cost(&self) -> usize {
        match self {
            Self::Task(task) => task.body.len(),
            Self::Listing { body, .. } => body.len(),
            Self::Other(Edit::Push(change)) => match &**change {
                PushChange::Put(_, config) => config.url.len() + config.token.len() + BASE_COST,
                PushChange::Remove(..) => 0,
            },
            Self::Other(Edit::Delivery(DeliveryChange::Add(row))) => row.body.len(),
            Self::Other(Edit::Setting(change)) => change.value.as_ref().map_or(0, String::len),
            Self::Other(Edit::Record(RecordChange::Put { record, .. })) => record.body.len(),
            Self::Other(Edit::Conversation(
                ConversationChange::Said { words, .. } | ConversationChange::Ended { words, .. },
            )) => words.len(),
            Self::Other(Edit::Room(change)) => {
                let bodies: usize = change.events.iter().map(|event| event.body.len()).sum();
                bodies + change.snapshot.as_ref().map_or(0, String::len)
            }
            Self::Other(_) => 0,
        }
    }
}
