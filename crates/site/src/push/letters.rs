//! Letters: what lies in the outbox, as the people who run the site see it, and what they may do with it.
//!
//! Promises: a letter names its receiver by origin only and holds nothing secret. Sending one again gives it a new deadline; dropping one
//! forgets it. It sends nothing itself: the worker does.

use agentsite_protocol::{JournalLine, JournalSubject, TaskId, Timestamp};
use agentsite_store::{Change, OutboxChange, OutboxQuery, Parcel};
use serde::Serialize;

use super::Push;
use super::deliver::delivery_id;
use crate::{SiteError, kinds};

/// One delivery that waits or was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Letter {
    /// Its number in the outbox.
    pub id: u64,
    /// The id that its receiver sees.
    pub delivery: String,
    /// The task it tells of.
    pub task: Option<TaskId>,
    /// The number of the event it tells of.
    pub event: u64,
    /// Its receiver's id within the task.
    pub config: String,
    /// Where the receiver is: scheme, host and port.
    pub receiver: String,
    /// `waiting` or `dead`.
    pub state: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next, or was to be.
    pub due: Timestamp,
    /// When it is given up.
    pub deadline: Timestamp,
    /// What last went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Push {
    /// What lies in the outbox, in the order in which it came.
    pub(crate) async fn letters(&self, query: OutboxQuery) -> Result<Vec<Letter>, SiteError> {
        let mut letters = Vec::new();
        let mut known = (None, Vec::new());
        for parcel in self.store.outbox(query).await? {
            if let Some(task) = parcel.row.task
                && known.0 != Some(task)
            {
                known = (Some(task), self.store.push_configs(task).await?);
            }
            let config = known.1.iter().find(|config| Some(&config.id) == parcel.row.lane.as_ref());
            let receiver = config.map_or_else(String::new, |config| origin(&config.url));
            letters.push(letter(parcel, receiver));
        }
        Ok(letters)
    }

    /// One letter.
    pub(crate) async fn letter(&self, id: u64) -> Result<Letter, SiteError> {
        let query = OutboxQuery { id: Some(id), limit: 1, ..OutboxQuery::default() };
        self.letters(query).await?.pop().ok_or(SiteError::NoSuchLetter(id))
    }

    /// Sends a letter again, as if it were new.
    pub(crate) async fn send_again(&self, by: &str, id: u64) -> Result<Letter, SiteError> {
        let letter = self.letter(id).await?;
        let now = self.ids.clock().now();
        let replay = OutboxChange::Replay { id, due: now, deadline: now.plus(self.settings.deadline.0) };
        self.change(by, &letter, replay, "sends again").await?;
        self.bell.ring();
        self.letter(id).await.or(Ok(letter))
    }

    /// Forgets a letter.
    pub(crate) async fn forget(&self, by: &str, id: u64) -> Result<(), SiteError> {
        let letter = self.letter(id).await?;
        self.change(by, &letter, OutboxChange::Done(id), "drops").await
    }

    async fn change(
        &self,
        by: &str,
        letter: &Letter,
        change: OutboxChange,
        verb: &str,
    ) -> Result<(), SiteError> {
        let text = format!("{verb} the letter to {} about event {}", letter.receiver, letter.event);
        let mut line = JournalLine::new(kinds::delivery::CHANGED, self.ids.clock().now(), by, text)
            .about(JournalSubject::Delivery(letter.id));
        line.task = letter.task;
        Ok(self.store.commit(Change::new(line).edit(change)).await?)
    }
}

fn letter(parcel: Parcel, receiver: String) -> Letter {
    let Parcel { id, attempts, error, dead, row } = parcel;
    let event = row.body.parse().unwrap_or_default();
    let config = row.lane.unwrap_or_default();
    let delivery = row.task.map(|task| delivery_id(task.as_bytes(), &config, event)).unwrap_or_default();
    let state = if dead { "dead" } else { "waiting" };
    let (task, due, deadline) = (row.task, row.due, row.deadline);
    Letter { id, delivery, task, event, config, receiver, state, attempts, due, deadline, error }
}

/// Scheme, host and port of an address: all that anybody but its owner and its receiver may see of it.
pub(super) fn origin(url: &str) -> String {
    url::Url::parse(url)
        .map_or_else(|_| "an address that cannot be read".into(), |url| url.origin().ascii_serialization())
}
