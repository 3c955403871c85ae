//! Link: what a program that connects to a site, to be one of its agents, and the site say to each other.
//!
//! Promises: one pair of types for both ends, written and read here only, so that a site and a program cannot
//! drift apart. Frames are JSON-RPC 2.0, one for each text frame of a WebSocket; what is inside them are the
//! nouns of A2A (Message, Artifact, Part). Unknown members and unknown methods are passed over. Everything
//! foreign is bounded before it is parsed.
//!
//! It does not use sockets, does not decide who may connect and names no error code: those are the gateway's.

mod method;
mod read;
mod write;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{AgentName, Artifact, ContextId, Message, Skill, TaskId, Timestamp, Visibility};

pub use read::{BadFrame, FrameId};

/// The version of these words; a program that names another one is refused.
pub const AGENT_SESSION_VERSION: u32 = 1;

/// Largest frame that either end takes: a message of the largest size that a site takes, its history, and the
/// JSON around them.
pub const MAX_FRAME: usize = 4 << 20;

/// Longest reason that a connection is closed with: a close frame holds no more (RFC 6455, section 5.5).
pub const MAX_REASON: usize = 123;

/// What a program says of itself when it connects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Introduction {
    /// The version of the protocol.
    #[serde(default = "this_version")]
    pub protocol: u32,
    /// Unique in the site.
    pub name: AgentName,
    /// What the agent does, in a sentence.
    pub description: String,
    /// The agent's own version.
    #[serde(default = "first_version")]
    pub version: String,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// Who may find and call it.
    #[serde(default)]
    pub visibility: Visibility,
    /// Tasks that it works on at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// Longest time for one task, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// How often a task is begun again when the connection or the site went away under it.
    #[serde(default)]
    pub retry: u32,
    /// What the site gave it when it was last connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

const fn this_version() -> u32 {
    AGENT_SESSION_VERSION
}

fn first_version() -> String {
    "1.0.0".into()
}

impl Introduction {
    /// The introduction of an agent of which only this is known.
    #[must_use]
    pub fn new(name: AgentName, description: impl Into<String>) -> Self {
        Self {
            protocol: AGENT_SESSION_VERSION,
            name,
            description: description.into(),
            version: first_version(),
            skills: Vec::new(),
            visibility: Visibility::default(),
            concurrency: None,
            timeout_seconds: None,
            retry: 0,
            resume: None,
        }
    }
}

/// What a site answers to an introduction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// The version of the protocol.
    pub protocol: u32,
    /// The name under which the agent is called.
    pub name: AgentName,
    /// Where it is called.
    pub urls: AgentUrls,
    /// For how many seconds the site keeps the agent's place after the connection has ended.
    pub lease_seconds: u64,
    /// What to send with the next introduction, to take the place of this connection.
    pub resume: String,
    /// Something the operator of the agent should look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Where an agent that is connected is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUrls {
    /// By A2A.
    pub a2a: String,
    /// By MCP.
    pub mcp: String,
}

/// A task for a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// The task; all messages about it use this id.
    pub task: TaskId,
    /// Its conversation.
    pub context: ContextId,
    /// One for the first run.
    pub attempt: u32,
    /// All text of the message, for programs that need nothing else.
    pub text: String,
    /// What was said last by the caller.
    pub message: Message,
    /// What was said in this task before, oldest first; the oldest are left out when there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// When the work must be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What the agent asked for when it needed a permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// In which trace the caller asks, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What belongs to the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// How far a program is with a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A further piece of the answer, which is the artifact `answer`.
    Text(String),
    /// What it is doing, as text.
    Status(String),
    /// The same as a message with parts; only the parts count.
    Said(Message),
    /// An artifact, or a chunk of one.
    Artifact {
        /// The artifact or chunk.
        artifact: Artifact,
        /// Joins the artifact of the same id.
        append: bool,
        /// No more chunks of it follow.
        last_chunk: bool,
    },
}

/// How a task ends for now.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// In which way.
    pub way: EndingWay,
    /// Its words; only the parts count.
    pub message: Option<Message>,
    /// The same for programs that only produce text.
    pub text: Option<String>,
}

impl Ending {
    /// An ending without words.
    #[must_use]
    pub const fn new(way: EndingWay) -> Self {
        Self { way, message: None, text: None }
    }

    /// An ending with words.
    #[must_use]
    pub fn saying(way: EndingWay, text: impl Into<String>) -> Self {
        Self { way, message: None, text: Some(text.into()) }
    }
}

/// In which way a task ends for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndingWay {
    /// It is done.
    Completed,
    /// It failed; the text gives the reason.
    Failed,
    /// The agent refuses the task; the text gives the reason.
    Rejected,
    /// It was asked to stop, and has stopped.
    Canceled,
    /// It needs input from its caller; the text is the question.
    InputRequired,
    /// It needs a credential from its caller; the text names it.
    AuthRequired,
}

/// What a program says.
#[derive(Debug, Clone, PartialEq)]
pub enum FromAgent {
    /// Who it is; the first frame, and the only one that is answered.
    Register {
        /// The answer bears it.
        id: FrameId,
        /// What it says of itself.
        introduction: Box<Introduction>,
    },
    /// How far it is.
    Step {
        /// With this task.
        task: TaskId,
        /// How far.
        progress: Progress,
    },
    /// It is done with a task.
    End {
        /// The task.
        task: TaskId,
        /// How.
        ending: Ending,
    },
    /// Whether the site is there.
    Ping {
        /// The answer bears it.
        id: FrameId,
    },
    /// Something that this version does not know; answered when it bears an id, else passed over.
    Unknown {
        /// The answer bears it.
        id: Option<FrameId>,
        /// How it is called.
        method: String,
    },
}

/// What a site says.
#[derive(Debug, Clone, PartialEq)]
pub enum FromSite {
    /// The program is an agent of the site from now on.
    Welcome {
        /// Of the introduction.
        id: FrameId,
        /// What it needs to know.
        welcome: Box<Welcome>,
    },
    /// The site does not do what was asked.
    Refused {
        /// Of the request.
        id: Option<FrameId>,
        /// Why, and what to do.
        why: String,
    },
    /// Work.
    Run(Box<Assignment>),
    /// Stop the work on a task, or do not start it: its caller no longer waits.
    Cancel {
        /// The task.
        task: TaskId,
    },
    /// Something the operator of the program should look at.
    Notice {
        /// As text.
        text: String,
    },
    /// The site is there.
    Pong {
        /// Of the ping.
        id: FrameId,
    },
    /// Something that this version does not know; passed over.
    Unknown,
}
