//! Why a site did not do what was asked.
//!
//! Promises: variants are what a caller can act on, and each sentence says what to do. Codes and statuses are
//! the gateway's.

use std::time::Duration;

use agentsite_peers::PeersError;
use agentsite_protocol::listing::BadListingId;
use agentsite_protocol::room::RoomRefusal;
use agentsite_protocol::{AgentName, BadPushConfig, BadQuery, TaskState};
use agentsite_registry::RegistryError;
use agentsite_rooms::ConversationError;
use agentsite_rooms::room::RoomError;
use agentsite_search::FindError;
use agentsite_store::StoreError;
use agentsite_tasks::TaskError;

/// Why a site did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// There is none, or it is not for this caller.
    #[error("{}", TaskError::NoSuchAgent(.0.clone()))]
    NoSuchAgent(String),
    /// There is none, or it belongs to another owner.
    #[error("{}", TaskError::NoSuchTask(.0.clone()))]
    NoSuchTask(String),
    /// It has ended.
    #[error("{}", TaskError::NotCancelable(*.0))]
    NotCancelable(TaskState),
    /// It has ended and takes no further message.
    #[error("{}", TaskError::TaskEnded(*.0))]
    TaskEnded(TaskState),
    /// It is at work and takes no message now.
    #[error("{}", TaskError::TaskBusy(*.0))]
    TaskBusy(TaskState),
    /// The agent that the task was opened with has gone, and its name belongs to another one.
    #[error("{}", TaskError::AgentReplaced(.0.clone()))]
    AgentReplaced(AgentName),
    /// The name is reserved or belongs to another owner.
    #[error("{0}")]
    NameTaken(String),
    /// The message names another conversation than its task's.
    #[error("{}", TaskError::ContextMismatch)]
    ContextMismatch,
    /// The message is not well formed.
    #[error("{0}")]
    BadMessage(String),
    /// The agent wants its callers to use an extension of the protocol.
    #[error("{}", TaskError::ExtensionRequired(.0.clone()))]
    ExtensionRequired(String),
    /// A part is of a type that the agent does not take.
    #[error("{}", media_type(.given, .taken))]
    MediaType {
        /// The type of the part.
        given: String,
        /// The types that the agent takes.
        taken: String,
    },
    /// Two different messages with one id.
    #[error("{}", TaskError::IdReused)]
    IdReused,
    /// Too many tasks wait for the agent.
    #[error("{}", queue_full(.agent, *.retry_after))]
    Busy {
        /// The agent.
        agent: AgentName,
        /// When a place may be free.
        retry_after: Duration,
    },
    /// The operator has switched pushes off.
    #[error(
        "push notifications are not supported by this agent; follow the task as a stream, or read it again"
    )]
    PushOff,
    /// A push config cannot be taken.
    #[error(transparent)]
    BadPush(BadPushConfig),
    /// The task has no such receiver.
    #[error("the task has no push config `{0}`")]
    NoSuchReceiver(String),
    /// The outbox has no such letter.
    #[error("there is no letter {0} in the outbox; it may have been delivered")]
    NoSuchLetter(u64),
    /// There is none, or it is not for this caller.
    #[error("{}", RegistryError::NoSuchListing(.0.clone()))]
    NoSuchListing(String),
    /// What was to be registered cannot be taken, or an answer to a challenge does not hold.
    #[error("{0}")]
    BadListing(String),
    /// What was to be registered does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// Only the people who run the site may do this.
    #[error("{0}")]
    Forbidden(String),
    /// The credential is unknown, revoked or expired.
    #[error("this key is unknown, revoked or expired; make a new one with `agentsite key new`")]
    BadKey,
    /// The admin token is replaced, not revoked: without it the command line would be locked out.
    #[error(
        "the admin token cannot be revoked, because the command line uses it; replace it with `agentsite key rotate-admin`"
    )]
    AdminToken,
    /// The token of an authorization server does not count; the words say why.
    #[error("{0}")]
    BadToken(String),
    /// The caller is known and may do less than this.
    #[error("{0}")]
    ScopeNeeded(String),
    /// The keys in the store cannot be read.
    #[error(
        "the site's own keys in the store cannot be read; restore a backup with `agentsite restore BACKUP`"
    )]
    Identity,
    /// What is looked for cannot be looked for.
    #[error(transparent)]
    BadQuery(#[from] BadQuery),
    /// It was changed since it was read.
    #[error("{}", ConversationError::Changed)]
    ConversationMoved,
    /// Something about a conversation is not right.
    #[error("{0}")]
    BadConversation(String),
    /// What a capability keeps for callers has nothing under this id, or it belongs to another owner. The
    /// sentence names it.
    #[error("{0}")]
    NotFound(String),
    /// The caller, or the site, has as much of something as it may. The sentence says what to remove.
    #[error("{0}")]
    QuotaExceeded(String),
    /// The index did not answer or could not be written.
    #[error(transparent)]
    Search(#[from] FindError),
    /// The site is closing.
    #[error("{}", TaskError::Stopping)]
    Stopping,
    /// The store did not take it.
    #[error(transparent)]
    Store(StoreError),
    /// The agent could not be set up, or a message-only agent failed.
    #[error("{0}")]
    Agent(String),
}

impl SiteError {
    /// Whether the disk is full, so that the same request may succeed later.
    #[must_use]
    pub const fn is_store_full(&self) -> bool {
        matches!(self, Self::Store(StoreError::Full))
    }
}

impl From<StoreError> for SiteError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped(_) => Self::Stopping,
            other => Self::Store(other),
        }
    }
}

/// The errors of tasks are told as those of the site, because the table of the gateway knows these.
impl From<TaskError> for SiteError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::NoSuchAgent(name) => Self::NoSuchAgent(name),
            TaskError::NoSuchTask(id) => Self::NoSuchTask(id),
            TaskError::NotCancelable(state) => Self::NotCancelable(state),
            TaskError::TaskEnded(state) => Self::TaskEnded(state),
            TaskError::TaskBusy(state) => Self::TaskBusy(state),
            TaskError::AgentReplaced(agent) => Self::AgentReplaced(agent),
            TaskError::ContextMismatch => Self::ContextMismatch,
            TaskError::BadMessage(why) => Self::BadMessage(why),
            TaskError::ExtensionRequired(uri) => Self::ExtensionRequired(uri),
            TaskError::MediaType { given, taken } => Self::MediaType { given, taken },
            TaskError::IdReused => Self::IdReused,
            TaskError::QueueFull { agent, retry_after } => Self::Busy { agent, retry_after },
            TaskError::Forbidden(why) => Self::Forbidden(why),
            TaskError::Agent(why) => Self::Agent(why),
            TaskError::Stopping => Self::Stopping,
            TaskError::Store(error) => Self::Store(error),
        }
    }
}

/// Errors of the registry become errors of the site, because the table of the gateway maps these.
impl From<RegistryError> for SiteError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::NoSuchListing(id) => Self::NoSuchListing(id),
            RegistryError::BadListing(why) => Self::BadListing(why),
            RegistryError::Unreachable(why) => Self::Unreachable(why),
            RegistryError::Forbidden(why) => Self::Forbidden(why),
            RegistryError::NameTaken(why) => Self::NameTaken(why),
            RegistryError::NoSuchReservation(_) => Self::NotFound(error.to_string()),
            RegistryError::BadChallenge(why) => Self::BadMessage(why),
            RegistryError::TooManyListings(_) | RegistryError::TooManyChallenges(_) => {
                Self::QuotaExceeded(error.to_string())
            }
            RegistryError::Store(error) => error.into(),
        }
    }
}

/// Errors of the mesh become errors of the site, because the table of the gateway maps these.
impl From<PeersError> for SiteError {
    fn from(error: PeersError) -> Self {
        match error {
            PeersError::Forbidden | PeersError::Banned(_) => Self::Forbidden(error.to_string()),
            PeersError::NotFound(why) => Self::NotFound(why),
            PeersError::Token(_) => Self::BadToken(error.to_string()),
            PeersError::Overlay(_) | PeersError::NotHere(_) => Self::Unreachable(error.to_string()),
            PeersError::Registry(error) => error.into(),
            PeersError::Store(error) => error.into(),
            PeersError::Off | PeersError::Bad(_) => Self::BadMessage(error.to_string()),
        }
    }
}

/// Errors of conversations become errors of the site, because the table of the gateway maps these.
impl From<ConversationError> for SiteError {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::NoSuchConversation(_) | ConversationError::NoSuchTurn(_) => {
                Self::NotFound(error.to_string())
            }
            ConversationError::Changed => Self::ConversationMoved,
            ConversationError::Invalid(why) => Self::BadConversation(why),
            ConversationError::TooManyConversations(_) | ConversationError::TooManyTurns(_) => {
                Self::QuotaExceeded(error.to_string())
            }
            ConversationError::Anonymous => Self::Forbidden(error.to_string()),
            ConversationError::Task(error) => error.into(),
            ConversationError::Stopping => Self::Stopping,
            ConversationError::Store(error) => Self::Store(error),
        }
    }
}

/// Errors of rooms become errors of the site in the same way.
impl From<RoomError> for SiteError {
    fn from(error: RoomError) -> Self {
        match error {
            RoomError::NoSuchRoom(_) | RoomError::BadLink => Self::NotFound(error.to_string()),
            RoomError::Refused(RoomRefusal::NotAllowed(..))
            | RoomError::OtherSender(..)
            | RoomError::Anonymous => Self::Forbidden(error.to_string()),
            RoomError::Refused(_) | RoomError::Invalid(_) => Self::BadConversation(error.to_string()),
            RoomError::IdReused => Self::IdReused,
            RoomError::TooManyRooms(_) => Self::QuotaExceeded(error.to_string()),
            RoomError::Busy => Self::ConversationMoved,
            RoomError::Task(error) => error.into(),
            RoomError::Stopping => Self::Stopping,
            RoomError::Store(error) => Self::Store(error),
        }
    }
}

/// The sentence of tasks for content that an agent does not take.
fn media_type(given: &str, taken: &str) -> TaskError {
    TaskError::MediaType { given: given.to_owned(), taken: taken.to_owned() }
}

/// A text that cannot be an id is asked for like an id that does not exist.
impl From<BadListingId> for SiteError {
    fn from(error: BadListingId) -> Self {
        RegistryError::from(error).into()
    }
}

/// The sentence of tasks for a full queue.
fn queue_full(agent: &AgentName, retry_after: Duration) -> TaskError {
    TaskError::QueueFull { agent: agent.clone(), retry_after }
}

/// Refuses all but admins.
pub(crate) fn admin_only(caller: &agentsite_protocol::Caller) -> Result<(), SiteError> {
    if caller.is_admin() {
        return Ok(());
    }
    Err(SiteError::Forbidden(
        "only the people who run this site may do that; use a key with the scope admin".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_capabilities_keep_their_sentences() {
        let agent: AgentName = "echo".parse().unwrap();
        let of_tasks = || {
            [
                TaskError::NoSuchAgent("a".into()),
                TaskError::NoSuchTask("t".into()),
                TaskError::ExtensionRequired("urn:x".into()),
                TaskError::MediaType { given: "image/png".into(), taken: "text/plain".into() },
                TaskError::QueueFull { agent: agent.clone(), retry_after: Duration::from_secs(3) },
                TaskError::IdReused,
                TaskError::Store(StoreError::Full),
            ]
        };
        for error in of_tasks() {
            let sentence = error.to_string();
            assert_eq!(SiteError::from(error).to_string(), sentence);
        }
        let of_conversations = [
            ConversationError::NoSuchConversation("c".into()),
            ConversationError::NoSuchTurn("t".into()),
            ConversationError::Changed,
            ConversationError::Invalid("why".into()),
            ConversationError::TooManyConversations(7),
            ConversationError::TooManyTurns(7),
            ConversationError::Anonymous,
            ConversationError::Stopping,
            ConversationError::Store(StoreError::Full),
        ];
        for error in of_conversations.into_iter().chain(of_tasks().map(ConversationError::from)) {
            let sentence = error.to_string();
            assert_eq!(SiteError::from(error).to_string(), sentence);
        }
    }
}
