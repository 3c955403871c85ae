//! Tasks: how a message becomes work, and how work is followed, continued and ended.
//!
//! Promises: one runner owns each live task; everything else reads its log. A task is changed in one commit
//! with what the hooks of other capabilities add, and shown only after it. Tasks that ended or wait for their
//! caller cost no memory.
//!
//! The rules of the lifecycle are in `protocol`; how agents run is in `host`. It names no other capability of
//! the site: they register a [`TaskHook`].

mod agent;
mod anonymous_caller;
mod asked;
mod cancel_guard;
mod check;
mod commit;
mod contribution;
mod error;
mod follow;
mod graph;
mod handle;
mod hook;
mod job;
mod journal;
mod lane;
mod live;
mod log;
mod message_only;
mod origin;
mod paused;
mod recover;
mod replay;
mod request;
mod runner;
mod send;
mod supervisor;
mod watch;

pub(crate) use agent::{AgentDirectory, TaskAgent};
pub use asked::AskedTask;
pub(crate) use cancel_guard::CancelGuard;
pub(crate) use check::{check_message, excerpt};
pub(crate) use contribution::Contribution;
pub use error::TaskError;
pub use graph::TaskGraph;
pub use handle::Tasks;
pub(crate) use handle::WeakTasks;
#[cfg(test)]
pub(crate) use hook::TaskIntent;
pub(crate) use hook::{TaskHook, TaskHooks, TaskMoment};
pub(crate) use job::REMEMBERED;
pub(crate) use lane::{Admission, Slot};
pub(crate) use origin::Origin;
pub use recover::Recovery;
pub(crate) use request::TaskRequest;
pub use send::Sent;
pub(crate) use supervisor::TaskParts;
pub use watch::TaskWatch;
