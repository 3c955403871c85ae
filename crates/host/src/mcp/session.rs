//! Session: one life of the connection to a tool server, from the first words to its end.
//!
//! Promises: the server is declared ready once its tools are known. They are listed again when the server
//! reports a change, at most once a second; changes are passed on. It does not start, stop or restart a
//! server: its keeper does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentsite_client::mcp::{Address, McpClient, McpError, Options};
use agentsite_protocol::Period;
use agentsite_protocol::mcp::Tool;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;

use crate::child::Bulletin;
use crate::{AgentLog, Change, LogSource, ServerLogin, ToolPins};

/// Least time between two listings of the tools; a server that reports changes continuously is listed this
/// often.
const LOOK: Duration = Duration::from_secs(1);

/// How often a server elsewhere is asked for its tools: nothing else reveals that it is gone, or that its
/// tools changed without notice.
const PROBE: Duration = Duration::from_secs(60);

/// Probes that a server elsewhere may miss in a row before it counts as gone.
const MISSED_PROBES: u32 = 3;

/// Most tools that are taken from one server.
const MAX_TOOLS: usize = 1_000;

/// Most bytes that all tools of a server may say of themselves; models and people read them.
const MAX_TOOL_BYTES: usize = 2 << 20;

/// What the keepers of a server share with its users.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    /// The tools and what was approved of them.
    pub(super) pins: Arc<ToolPins>,
    /// Where changes are reported.
    pub(super) changes: broadcast::Sender<Change>,
    /// Notified by users that found the server gone.
    pub(super) doubt: Arc<Notify>,
}

/// How each connection to a server is led.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) options: Options,
    pub(super) start_timeout: Duration,
    /// Whether the server is asked now and then if it is still there.
    pub(super) probes: bool,
    pub(super) shared: Shared,
    /// The login that the server requires.
    pub(super) login: Option<Arc<ServerLogin>>,
    pub(super) log: AgentLog,
    /// Whether the server did not answer the last handshake of the newer revision.
    pub(super) stayed_silent: AtomicBool,
}

/// Why a connection is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Disconnect {
    /// The server hung up.
    HungUp,
    /// The text gives the reason.
    Because(String),
    /// The server requires a login.
    LoginNeeded,
    /// There was a login or logout; the next connection uses it.
    LoginChanged,
}

impl Disconnect {
    /// The text, if any.
    pub(super) fn reason(self) -> Option<String> {
        match self {
            Self::Because(why) => Some(why),
            Self::LoginNeeded => Some(McpError::LoginNeeded.to_string()),
            Self::HungUp | Self::LoginChanged => None,
        }
    }
}

/// When the tools are listed.
struct ToolRefresh {
    last: Instant,
    due: Option<Instant>,
    missed: u32,
}

impl Session {
    /// Connects and stays until the server is lost; says why it is.
    pub(super) async fn serve(&self, address: Address, bulletin: &Bulletin<McpClient>) -> Disconnect {
        let client = match self.first_words(address).await {
            Ok(client) => client,
            Err(lost) => return lost,
        };
        bulletin.ready(client.clone());
        // Listeners received nothing while the server was away.
        for change in [Change::Tools, Change::Resources, Change::Prompts] {
            let _ = self.shared.changes.send(change);
        }
        let lost = self.follow(&client).await;
        client.close().await;
        lost
    }

    /// Resolves after a login or logout; never for a server without a login.
    pub(super) async fn login_changed(&self) {
        match &self.login {
            Some(login) => login.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Shakes hands and takes the first look at the tools.
    async fn first_words(&self, address: Address) -> Result<McpClient, Disconnect> {
        let talk = async {
            let initialize_first = self.stayed_silent.load(Ordering::Relaxed);
            let options = Options { initialize_first, ..self.options.clone() };
            let client = Box::pin(McpClient::connect(address, options)).await?;
            let tools = client.tools().await?;
            Ok::<_, McpError>((client, tools))
        };
        match tokio::time::timeout(self.start_timeout, talk).await {
            Err(_) => {
                // It may be one that ignores what it does not know; its next life is greeted in the other
                // way.
                self.stayed_silent.fetch_xor(true, Ordering::Relaxed);
                let limit = Period(self.start_timeout);
                Err(Disconnect::Because(format!("its server did not answer within {limit}; see its log")))
            }
            Ok(Err(error)) => Err(self.why(&error)),
            Ok(Ok((client, tools))) => {
                self.see(tools);
                Ok(client)
            }
        }
    }

    /// Follows the server until it is lost.
    async fn follow(&self, client: &McpClient) -> Disconnect {
        let mut changes = client.changes();
        let now = Instant::now();
        let mut looks = ToolRefresh { last: now, due: self.probes.then(|| now + PROBE), missed: 0 };
        loop {
            let due = looks.due;
            let look = async { tokio::time::sleep_until(due.unwrap_or(now)).await };
            tokio::select! {
                error = client.closed() => return self.why(&error),
                change = changes.recv() => match self.pass_on(change) {
                    Ok(false) => {}
                    Ok(true) => looks.due = Some(looks.last + LOOK),
                    Err(RecvError::Closed | RecvError::Lagged(_)) => return Disconnect::HungUp,
                },
                () = self.login_changed() => return Disconnect::LoginChanged,
                () = self.shared.doubt.notified(), if self.probes => looks.due = Some(looks.last + LOOK),
                () = look, if due.is_some() => {
                    if let Some(lost) = self.look(client, &mut looks).await {
                        return lost;
                    }
                }
            }
        }
    }

    /// Tells others what changed; whether it is the tools, at which we look first.
    fn pass_on(&self, change: Result<Change, RecvError>) -> Result<bool, RecvError> {
        match change {
            Ok(Change::Tools) => Ok(true),
            Ok(other) => {
                let _ = self.shared.changes.send(other);
                Ok(false)
            }
            Err(RecvError::Lagged(_)) => {
                for change in [Change::Resources, Change::Prompts] {
                    let _ = self.shared.changes.send(change);
                }
                Ok(true)
            }
            Err(RecvError::Closed) => Err(RecvError::Closed),
        }
    }

    /// Looks at the tools again; why the server is lost when it missed too many looks.
    async fn look(&self, client: &McpClient, looks: &mut ToolRefresh) -> Option<Disconnect> {
        looks.last = Instant::now();
        looks.due = self.probes.then(|| looks.last + PROBE);
        match client.tools().await {
            Ok(tools) => {
                looks.missed = 0;
                if self.see(tools) {
                    let _ = self.shared.changes.send(Change::Tools);
                }
                None
            }
            Err(McpError::LoginNeeded) => Some(Disconnect::LoginNeeded),
            Err(error) => {
                looks.missed += 1;
                self.note(&format!("its tools cannot be listed: {error}"));
                if self.probes && error.is_down() {
                    looks.due = Some(looks.last + LOOK);
                }
                let lost = self.probes && looks.missed >= MISSED_PROBES;
                lost.then(|| Disconnect::Because(format!("its server does not answer: {error}")))
            }
        }
    }

    /// Takes over the tools, as many as are taken; whether they differ from those before.
    fn see(&self, mut tools: Vec<Tool>) -> bool {
        let (offered, mut bytes) = (tools.len(), 0_usize);
        tools.retain(|tool| {
            bytes = bytes.saturating_add(serde_json::to_vec(tool).map_or(MAX_TOOL_BYTES, |text| text.len()));
            bytes <= MAX_TOOL_BYTES
        });
        tools.truncate(MAX_TOOLS);
        if tools.len() < offered {
            self.note(&format!(
                "only {} of its {offered} tools are offered: at most {MAX_TOOLS}, and {MAX_TOOL_BYTES} bytes in all",
                tools.len()
            ));
        }
        let seen = self.shared.pins.see(tools);
        if let Some(words) = &seen.said {
            self.note(words);
            tracing::warn!("{words}");
        }
        seen.changed
    }

    /// Why a connection broke.
    fn why(&self, error: &McpError) -> Disconnect {
        match error {
            McpError::LoginNeeded => Disconnect::LoginNeeded,
            McpError::Down(_) if !self.probes => Disconnect::HungUp,
            error => Disconnect::Because(format!("its server cannot be used: {error}")),
        }
    }

    fn note(&self, text: &str) {
        self.log.push(LogSource::Site, text);
    }
}
