//! The table `[sandbox]` of an `agent.toml`: what the programs of an agent may see, reach and use besides the
//! usual.
//!
//! Promises: left out, it is the sandbox that fits most programs; each key widens or narrows one thing. It
//! enforces nothing: the crate's sandbox does.

use agentsite_protocol::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the programs of an agent may see, reach and use besides the usual.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// Whether the agent's programs are confined. Turn it off only for programs that you trust like the site
    /// itself.
    pub enabled: bool,
    /// Files and folders that they may read and execute: absolute, below your home (`~/data`), or relative to
    /// the agent's folder.
    pub read: Vec<String>,
    /// Files, folders and devices that they may also change.
    pub write: Vec<String>,
    /// Whether they may use the network.
    pub network: bool,
    /// Most memory of all processes of one program together (of each process where the site cannot make
    /// control groups).
    pub memory: ByteSize,
    /// Most processes and threads of one program.
    pub processes: u64,
    /// Largest file that they may write; `runtime.file_size_limit` wins.
    pub file_size: ByteSize,
}

impl Sandbox {
    /// What an operator should know of an agent whose programs are not confined.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let words = "its sandbox is off: it can read and change whatever the site can; remove `enabled = false` from [sandbox], and declare what it needs";
        (!self.enabled).then(|| words.to_owned())
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            enabled: true,
            read: Vec::new(),
            write: Vec::new(),
            network: true,
            memory: ByteSize(2 << 30),
            processes: 512,
            file_size: ByteSize(4 << 30),
        }
    }
}
