//! Why a room did not do what was asked.
//!
//! Promises: variants are what a caller can act on, and each sentence says what to do. Codes and statuses are
//! the gateway's, which has these errors as those of the site.

use agentsite_protocol::room::RoomRefusal;
use agentsite_store::StoreError;
use agentsite_tasks::TaskError;

/// Why a room did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// There is none, or the caller does not belong to it.
    #[error("there is no room `{0}` here")]
    NoSuchRoom(String),
    /// The rules of the room do not allow it.
    #[error(transparent)]
    Refused(RoomRefusal),
    /// The message names another sender than the caller.
    #[error("the message names the sender `{0}`, but you are `{1}`: send in your own name")]
    OtherSender(String, String),
    /// The id was used for another message.
    #[error("{}", TaskError::IdReused)]
    IdReused,
    /// Something is not well formed.
    #[error("{0}")]
    Invalid(String),
    /// The caller has as many rooms as it may.
    #[error("you are in {0} rooms, as many as you may; leave one first")]
    TooManyRooms(usize),
    /// The link is unknown, used up or expired.
    #[error("the link is not valid; ask for a new one")]
    BadLink,
    /// Too many others write to the room at the same moment.
    #[error("the room changes too quickly; try again in a moment")]
    Busy,
    /// The caller is anonymous.
    #[error("rooms are for those who are known here; sign in or send an API key")]
    Anonymous,
    /// What is wrong with an agent or a task.
    #[error(transparent)]
    Task(TaskError),
    /// The site is closing.
    #[error("{}", TaskError::Stopping)]
    Stopping,
    /// The store did not take it.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for RoomError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped(_) => Self::Stopping,
            other => Self::Store(other),
        }
    }
}

impl From<TaskError> for RoomError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Store(error) => error.into(),
            TaskError::Stopping => Self::Stopping,
            other => Self::Task(other),
        }
    }
}

impl From<RoomRefusal> for RoomError {
    fn from(refusal: RoomRefusal) -> Self {
        Self::Refused(refusal)
    }
}
