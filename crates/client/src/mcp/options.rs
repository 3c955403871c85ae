//! Options: the address of a tool server, our identity, and the limits on its answers.
//!
//! Promises: every limit on a foreign server is defined here with its reason. It does not connect.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentsite_egress::Egress;
use agentsite_protocol::Rng;
use agentsite_protocol::mcp::{Abilities, LogLevel};
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

use super::oauth::OAuth;
use crate::Token;

/// The output of a process.
pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// The input of a process.
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Where a tool server is.
#[expect(clippy::large_enum_variant, reason = "there is one for each connection")]
pub enum Address {
    /// A process that the caller started and watches: its output and its input.
    Pipes {
        /// Its output.
        read: Box<dyn AsyncRead + Send + Unpin>,
        /// Its input.
        write: Box<dyn AsyncWrite + Send + Unpin>,
    },
    /// A server on the network, by streamable HTTP.
    Url {
        /// Its address.
        url: Url,
        /// The way out.
        egress: Egress,
        /// How we may come in.
        authorization: Authorization,
        /// Headers that go with every request, such as those of a gateway before it.
        headers: HeaderMap,
    },
}

impl Address {
    /// A process by its output and its input.
    pub fn pipes(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::Pipes { read: Box::new(read), write: Box::new(write) }
    }

    /// A server that asks for no authorization.
    #[must_use]
    pub fn url(url: Url, egress: Egress) -> Self {
        Self::Url { url, egress, authorization: Authorization::None, headers: HeaderMap::new() }
    }

    /// The same address with authorization; a process needs none.
    #[must_use]
    pub fn authorized(mut self, by: Authorization) -> Self {
        if let Self::Url { authorization, .. } = &mut self {
            *authorization = by;
        }
        self
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipes { .. } => out.write_str("Pipes"),
            Self::Url { url, .. } => write!(out, "Url({url})"),
        }
    }
}

/// How we may come in.
#[derive(Debug, Clone, Default)]
#[expect(clippy::large_enum_variant, reason = "there is one for each connection")]
pub enum Authorization {
    /// Anonymous.
    #[default]
    None,
    /// With a token that the caller has.
    Bearer(Token),
    /// With a token that is requested when the server requires one.
    OAuth(OAuth),
}

/// Our identity and capabilities for a server, and the limits on its answers.
#[derive(Debug, Clone)]
pub struct Options {
    /// Our name for programs.
    pub name: String,
    /// Our version.
    pub version: String,
    /// What we can do when the server asks back.
    pub abilities: Abilities,
    /// The level from which the server should send log lines; none when absent.
    pub log: Option<LogLevel>,
    /// What is taken.
    pub limits: Limits,
    /// Where the ids of parked calls come from.
    pub rng: Arc<dyn Rng>,
    /// The answer to `roots/list` when no call is running whose caller could be asked.
    pub roots: Value,
    /// Greets a process in the way of the older revisions at once, for one that does not answer what it does
    /// not know.
    pub initialize_first: bool,
}

impl Options {
    /// The site's own name, every ability but tasks, and the usual limits.
    #[must_use]
    pub fn new(rng: Arc<dyn Rng>) -> Self {
        Self {
            name: "agentsite".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            abilities: Abilities { tasks: false, ..Abilities::ALL },
            log: Some(LogLevel::Info),
            limits: Limits::default(),
            rng,
            roots: json!({ "roots": [] }),
            initialize_first: false,
        }
    }
}

/// How much is taken from a server, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the first words with the server; a package runner may fetch the server first.
    pub connect: Duration,
    /// For anything that is not a call: lists, completions, subscriptions.
    pub request: Duration,
    /// How long a call may be silent; every notice of progress begins it anew.
    pub call_silence: Duration,
    /// How long a call may take in all, however much progress it tells.
    pub call: Duration,
    /// How large one message may be: space for a picture in base64, far from what fills a machine.
    pub message: usize,
    /// How many pages of a list are asked for.
    pub pages: usize,
    /// How many items of a list are taken.
    pub items: usize,
    /// How large a list may be in all.
    pub list: usize,
    /// How many calls may wait for an answer of our side at once.
    pub parked: usize,
    /// How long a call waits for an answer of our side; people take their time.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            request: Duration::from_secs(30),
            call_silence: Duration::from_secs(300),
            call: Duration::from_secs(3600),
            message: 16 << 20,
            pages: 100,
            items: 10_000,
            list: 16 << 20,
            parked: 64,
            patience: Duration::from_secs(1800),
        }
    }
}
