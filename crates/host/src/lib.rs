//! How an Agent runs: the Runner seam and its implementations.
//!
//! Promises: a [`Runner`] gets a [`Job`], reports steps on the way and ends with one outcome; it stops soon
//! after it is cancelled. A failing runner cannot affect another one. Every implementation passes the one
//! contract suite.
//!
//! It does not store tasks, does not queue and does not decide who may call: `site` does.

// `sandbox` holds the only unsafe blocks; see docs/decisions.

pub mod a2a;
mod acp;
pub mod builtin;
mod child;
mod connected;
mod contract;
mod ephemeral;
mod exec;
mod launch;
pub mod llm;
mod log;
mod login;
mod manifest;
mod mcp;
mod models;
pub mod openapi;
mod orphans;
mod pins;
mod preflight;
mod program;
mod runner;
mod sandbox;
mod schemas;
mod scripted;
mod site_server;
mod task_budget;
mod toolbox;
mod toolbox_runner;
mod workshop;

pub use connected::{AgentSession, ConnectedRunner, IsElsewhere, Presence, SESSION_QUEUE, SessionEnd};
pub use ephemeral::{Credential, Ephemeral};
pub use log::{AgentLog, LogLine, LogSource};
pub use login::{LoginBegun, LoginError, ServerLogin};
pub use manifest::{
    A2aBinding, A2aRuntime, AcpRuntime, Answers, Approve, Budget, Builtin, ExecRuntime, FileAccess,
    Instances, Intake, LibraryRuntime, Limits, LlmRuntime, Manifest, ManifestError, McpRuntime, ModelApi,
    OpenApiRuntime, Permissions, Repeats, Runtime, RuntimeKind, Sandbox, SchemaEntry, ServerAuth,
    ServerGrant, SkillEntry, Stdin, agent_schema,
};
pub use orphans::{SITE_MARK, end_orphans};
pub use pins::{PinError, PinState, PinnedTool, ToolPins};
pub use preflight::{Preflight, setup_notice};
pub use runner::{
    CallError, CallFrom, Calls, Gone, Health, Job, NoCalls, Reporter, Reports, Runner, STEP_QUEUE,
};
#[cfg(target_os = "linux")]
pub use sandbox::run_launcher;
pub use sandbox::{Confinement, ConfinementSettings, LAUNCHER_VERB, SandboxError};
pub use schemas::load_schemas;
pub use scripted::ScriptedRunner;
pub use site_server::{SiteServerRunner, StartServer};
pub use task_budget::TaskBudget;
pub use toolbox::{
    About, CHANGE_QUEUE, Change, Exchange, LogLevel, NOTICE_QUEUE, Notice, ToolFault, Toolbox,
};
pub use toolbox_runner::{ToolboxRunner, open_questions, result_of};
pub use workshop::{Environment, LaunchError, Workshop};
