//! Small lives of tasks, out of which the cases are told.
//!
//! A [`Life`] keeps the head as the caller of a store would, and gives the change for each step. Times are
//! small numbers after a fixed moment, ids sort by their number.

use agentsite_protocol::{
    JournalKind, JournalLine, Message, Opening, Principal, PushConfig, Role, TaskEvent, TaskEventKind,
    TaskHead, TaskId, TaskState, Timestamp, Usage,
};

use crate::{
    Change, DeliveryChange, DeliveryRequest, Edit, EventDeliveries, PushChange, SentKey, TaskChange,
    Unjournaled, UsageChange,
};

/// A task's id by number.
pub fn task_id(number: u64) -> TaskId {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    TaskId::from_bytes(bytes)
}

/// A moment by number.
pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

/// A whole opening change of task `number`, as a hurried test needs it.
pub fn opening(number: u64) -> Change {
    Life::new(number).open()
}

/// A task on its way.
#[derive(Debug, Clone)]
pub struct Life {
    pub head: TaskHead,
}

impl Life {
    /// A task of agent `echo` for the local caller, created at its own number.
    pub fn new(number: u64) -> Self {
        let moment = at(number as i64);
        Self {
            head: TaskHead {
                id: task_id(number),
                context: format!("c{number}").parse().unwrap(),
                agent: "echo".parse().unwrap(),
                owner: "local".parse::<Principal>().unwrap(),
                state: TaskState::Submitted,
                created_at: moment,
                updated_at: moment,
                seq: 0,
                parent: None,
            },
        }
    }

    pub fn owner(mut self, owner: &str) -> Self {
        self.head.owner = owner.parse().unwrap();
        self
    }

    pub fn agent(mut self, agent: &str) -> Self {
        self.head.agent = agent.parse().unwrap();
        self
    }

    pub fn context(mut self, context: &str) -> Self {
        self.head.context = context.parse().unwrap();
        self
    }

    pub fn parent(mut self, number: u64) -> Self {
        self.head.parent = Some(task_id(number));
        self
    }

    /// Its first event.
    pub fn open(&mut self) -> Change {
        let opening = Opening {
            instance: None,
            agent: self.head.agent.clone(),
            context: self.head.context.clone(),
            owner: self.head.owner.clone(),
            message: Message::text("m1".parse().unwrap(), Role::User, "hello"),
            parent: self.head.parent,
            deadline: None,
            ttl: None,
            conversation: None,
            room: None,
        };
        self.change(vec![TaskEventKind::Opened(Box::new(opening))])
    }

    /// Further events, the last of which leads to this state.
    pub fn go(&mut self, state: TaskState, millis: i64, events: usize) -> Change {
        self.head.state = state;
        self.head.updated_at = at(millis);
        self.change(vec![TaskEventKind::Status { state, message: None }; events])
    }

    /// Open and end in one commit.
    pub fn whole(&mut self, state: TaskState, millis: i64) -> Change {
        let mut change = self.open();
        let more = task_of(&mut self.go(state, millis, 2)).clone();
        let task = task_of(&mut change);
        task.events.extend(more.events);
        task.head = more.head;
        change
    }

    fn change(&mut self, kinds: Vec<TaskEventKind>) -> Change {
        let expect_seq = self.head.seq;
        let numbered = (expect_seq + 1..).zip(kinds);
        let event = |(seq, kind)| TaskEvent { task: self.head.id, seq, at: self.head.updated_at, kind };
        let events: Vec<TaskEvent> = numbered.map(event).collect();
        self.head.seq += events.len() as u64;
        bare().edit(TaskChange {
            head: self.head.clone(),
            expect_seq,
            events,
            sent: None,
            expires_at: None,
            released: false,
        })
    }
}

/// The kind of the lines of the cases.
pub const SAMPLE: JournalKind = JournalKind::new("sample.line");

/// A change of nothing, without a line.
pub fn bare() -> Change {
    Change::unjournaled(Unjournaled::Sample)
}

/// The first edit of a task in a change that has one.
pub fn task_of(change: &mut Change) -> &mut TaskChange {
    let task = change.edits.iter_mut().find_map(|edit| match edit {
        Edit::Task(task) => Some(&mut **task),
        _ => None,
    });
    task.unwrap()
}

/// Adds the message that caused a change of a task.
pub fn sent(mut change: Change, message: &str, body: u8) -> Change {
    let task = task_of(&mut change);
    let (owner, agent) = (task.head.owner.clone(), task.head.agent.clone());
    task.sent = Some(SentKey { owner, agent, message: message.parse().unwrap(), body_hash: [body; 16] });
    change
}

/// A change of one journal line.
pub fn line(millis: i64, text: &str) -> Change {
    Change::new(JournalLine::new(SAMPLE, at(millis), "local", text))
}

/// A row that must leave the site.
pub fn delivery(body: &str, due: i64) -> DeliveryRequest {
    DeliveryRequest {
        account: "local".into(),
        task: Some(task_id(1)),
        lane: None,
        kind: "push".into(),
        body: body.into(),
        due: at(due),
        deadline: at(10_000),
    }
}

/// A change of the outbox alone.
pub fn outbox_change(change: DeliveryChange) -> Change {
    bare().edit(change)
}

/// The same in a lane of its task.
pub fn in_lane(lane: &str, body: &str, due: i64) -> DeliveryRequest {
    DeliveryRequest { lane: Some(lane.into()), ..delivery(body, due) }
}

/// A receiver.
pub fn receiver(id: &str) -> PushConfig {
    PushConfig {
        id: id.into(),
        url: format!("https://example.org/{id}"),
        token: "secret".into(),
        ..PushConfig::default()
    }
}

/// A change of the receivers of a task alone.
pub fn push(change: PushChange) -> Change {
    bare().edit(change)
}

/// Notifies the receivers of a task of these events.
pub fn notice(number: u64, events: &[u64]) -> EventDeliveries {
    EventDeliveries { task: task_id(number), events: events.to_vec(), due: at(0), deadline: at(10_000) }
}

/// A change of usage alone.
pub fn used(agent: &str, day: i64, input_tokens: u64) -> Change {
    let usage = Usage { input_tokens, output_tokens: 2, turns: 1, calls: 0 };
    bare().edit(UsageChange { agent: agent.parse().unwrap(), day, usage })
}
