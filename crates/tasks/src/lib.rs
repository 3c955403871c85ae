//! Tasks: how a message becomes work, and how work is followed, continued and ended.
//!
//! Promises: one runner owns each live task; everything else reads its log. A task is changed in one commit
//! with what the hooks of other capabilities add, and shown only after it. Tasks that ended or wait for their
//! caller cost no memory. A foreign id answers like one that does not exist.
//!
//! Start reading at [`Tasks`] (the verbs) and [`TaskHook`] (how another capability takes part); the owner of
//! a live task is `runner.rs`. The background work of a site is here, too, because the runs of tasks are
//! most of it and every capability above needs it: [`Lifetime`] says when it stops, [`Workers`] shows it.
//! [`Capability`] is the one value by which each capability of a site registers what it contributes.
//!
//! It names no other capability: they register a [`TaskHook`]. The rules of the lifecycle are in `protocol`;
//! how agents run is in `host`; which agents there are comes through an [`AgentDirectory`].

#![forbid(unsafe_code)]

mod agent;
mod anonymous;
mod anonymous_caller;
mod asked;
mod cancel_guard;
mod capability;
mod check;
mod cluster;
mod commit;
mod contribution;
mod control;
mod error;
mod feed;
mod follow;
mod followed;
mod graph;
mod handle;
mod hook;
mod job;
mod journal;
mod kinds;
mod lane;
mod lifetime;
mod live;
mod log;
mod message_only;
mod metrics;
mod moved;
mod order;
mod origin;
mod paused;
mod process_call;
mod processes;
mod record_feed;
mod recover;
mod replay;
mod request;
mod runner;
mod send;
mod singleton;
mod submission;
mod supervisor;
mod watch;
mod workers;

#[cfg(test)]
mod tests;

pub use agent::{AgentDirectory, TaskAgent};
pub use anonymous::IdCipher;
pub use asked::AskedTask;
pub use cancel_guard::CancelGuard;
pub use capability::{Capability, CapabilityWorker, CheckReport, CheckVerdict, RecordChanges, WorkerScope};
pub use check::{check_message, excerpt};
pub use contribution::Contribution;
pub use control::TaskControl;
pub use error::TaskError;
pub use feed::{Taken, follow_topic};
pub use graph::TaskGraph;
pub use handle::{Tasks, WeakTasks};
pub use hook::{TaskHook, TaskHooks, TaskIntent, TaskMoment};
pub use job::REMEMBERED;
pub use kinds::capability;
pub use lane::Slot;
pub use lifetime::Lifetime;
pub use metrics::{TaskFigures, TaskMetrics};
pub use origin::Origin;
pub use process_call::{ProcessCallError, ProcessCalls};
pub use processes::{ProcessReport, Processes};
pub use record_feed::record_feed;
pub use recover::Recovery;
pub use request::TaskRequest;
pub use send::Sent;
pub use submission::Submission;
pub use supervisor::TaskParts;
pub use watch::TaskWatch;
pub use workers::{Worker, WorkerView, Workers};
