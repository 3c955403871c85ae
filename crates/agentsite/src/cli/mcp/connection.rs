//! The connection to the site that a bridge serves.
//!
//! Promises: finds the site that runs in the folder, again whenever it was lost; starts one in this process
//! when there is none, on this machine only, that ends with the bridge. A site that the caller named is never
//! replaced by another, and only gets the token that was set for it.

use std::time::Duration;

use agentsite_client::Token;
use agentsite_egress::{Egress, EgressRequest};
use agentsite_protocol::AgentName;
use http::Method;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::super::serve::Flags;
use super::super::shell::{Shell, config_error};
use super::assistant;
use crate::config::TelemetrySection;
use crate::exit::{CliError, Exit};
use crate::serve::{self, EmbeddedMode, Startup};

/// The variable that holds a token for the site.
const TOKEN_VARIABLE: &str = "AGENTSITE_TOKEN";

/// Where a site that the bridge starts listens: any free port of this machine.
const HERE: &str = "127.0.0.1:0";

/// The default log level of such a site, because its log goes into that of another program.
const QUIET: &str = "warn";

/// How often another program that starts a site in the same folder is looked for, and how often in all: a
/// start takes about a second.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const LOOKS: usize = 25;

/// How a site is asked.
#[derive(Debug, Clone)]
pub(super) struct Address {
    url: Url,
    token: Option<Token>,
}

impl Address {
    /// A request to the endpoint.
    pub(super) fn request(&self, method: Method) -> EgressRequest {
        let request = Egress::unguarded().request(method, self.url.clone());
        match &self.token {
            Some(token) => request.bearer(token.secret()),
            None => request,
        }
    }

    /// Where that is, for people.
    pub(super) fn shown(&self) -> &str {
        self.url.as_str()
    }
}

/// The way to the site.
pub(super) struct SiteConnection {
    shell: Shell,
    /// The site that the caller named.
    named: Option<Url>,
    agent: Option<AgentName>,
    /// The assistant with whose key it calls; an admin's when none is named.
    assistant: Option<String>,
    /// The site as it was found last.
    found: Option<Address>,
    /// The site that runs in this process.
    own: Option<OwnSite>,
    /// Whether a site of another process was found before.
    is_guest: bool,
    /// Cancelled when the site of this process has ended, as a signal makes it do.
    ended: CancellationToken,
}

/// A site in this process.
struct OwnSite {
    stop: CancellationToken,
    running: JoinHandle<Result<Exit, CliError>>,
}

impl SiteConnection {
    pub(super) fn new(
        shell: &Shell,
        named: Option<Url>,
        agent: Option<AgentName>,
        assistant: Option<String>,
    ) -> Result<Self, CliError> {
        if named.as_ref().is_some_and(|url| !matches!(url.scheme(), "http" | "https")) {
            return Err(CliError::usage("--site: give an http(s) URL"));
        }
        Ok(Self {
            shell: shell.clone(),
            named,
            agent,
            assistant,
            found: None,
            own: None,
            is_guest: false,
            ended: CancellationToken::new(),
        })
    }

    /// The site, found or started.
    pub(super) async fn address(&mut self) -> Result<Address, CliError> {
        if let Some(found) = &self.found {
            return Ok(found.clone());
        }
        let address = match &self.named {
            Some(url) => {
                let token = self.shell.variables.get(TOKEN_VARIABLE).map(|token| Token::new(token));
                self.endpoint(url, token)?
            }
            None => self.here().await?,
        };
        self.found = Some(address.clone());
        Ok(address)
    }

    /// The site did not answer: it is looked for anew next time.
    pub(super) fn lost(&mut self) {
        self.found = None;
    }

    /// Ends the site of this process, if there is one.
    pub(super) async fn close(&mut self) {
        if let Some(own) = self.own.take() {
            own.stop.cancel();
            let _ = own.running.await;
        }
    }

    /// Cancelled when the site of this process has ended by itself.
    pub(super) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// The site as far as it is there; starts none.
    pub(super) async fn known(&mut self) -> Option<Address> {
        if self.found.is_none() && self.named.is_none() {
            self.found = self.announced().await.ok().flatten();
        }
        self.found.clone()
    }

    async fn here(&mut self) -> Result<Address, CliError> {
        // Its operator may be restarting the site, and must find its data free.
        let looks = if self.is_guest { LOOKS } else { 1 };
        if let Some(address) = self.look(looks).await? {
            return Ok(address);
        }
        match self.start().await {
            Ok(()) => self
                .announced()
                .await?
                .ok_or_else(|| CliError::error("the site that was started does not answer")),
            // Another program may have been faster; its site serves as well.
            Err(error) => self.look(LOOKS).await?.ok_or(error),
        }
    }

    /// Looks for the site of another process.
    async fn look(&mut self, times: usize) -> Result<Option<Address>, CliError> {
        for time in 0..times {
            if time > 0 {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            if let Some(address) = self.announced().await? {
                self.is_guest = true;
                return Ok(Some(address));
            }
        }
        Ok(None)
    }

    /// The site that is announced in the data folder, if it answers.
    async fn announced(&self) -> Result<Option<Address>, CliError> {
        let mut shell = self.shell.clone();
        if self.own.is_some() {
            // It listens on a free port, regardless of the named address.
            shell.everywhere.listen = None;
        }
        let site = match shell.site() {
            Ok(site) => site,
            Err(error) if error.exit() == Exit::NotRunning => return Ok(None),
            Err(error) => return Err(error),
        };
        if !site.answers().await {
            return Ok(None);
        }
        let token = match &self.assistant {
            Some(name) => Some(assistant::key(&shell, name, self.agent.as_ref()).await?),
            None => site.token().cloned(),
        };
        self.endpoint(site.client.base(), token).map(Some)
    }

    fn endpoint(&self, base: &Url, token: Option<Token>) -> Result<Address, CliError> {
        let mut url = base.as_str().trim_end_matches('/').to_owned();
        url.push_str("/mcp");
        if let Some(agent) = &self.agent {
            url.push_str(&format!("/{agent}"));
        }
        let url = url.parse().map_err(|_| CliError::error(format!("`{url}` is not a URL")))?;
        Ok(Address { url, token })
    }

    /// Starts a site like `agentsite` alone, on this machine only, and waits until it is ready.
    async fn start(&mut self) -> Result<(), CliError> {
        let mut shell = self.shell.clone();
        shell.everywhere.listen = Some(HERE.into());
        let reader = shell.reader(Flags::default().keys());
        let mut loaded = reader.load().map_err(|error| config_error(&error))?;
        let log = &mut loaded.config.telemetry.log;
        if *log == TelemetrySection::default().log {
            QUIET.clone_into(log);
        }
        let (ready, is_ready) = oneshot::channel();
        let stop = CancellationToken::new();
        let startup = Startup {
            loaded,
            reader,
            output: shell.output,
            guest: Some(EmbeddedMode { ready, stop: stop.clone() }),
        };
        let ended = self.ended.clone();
        let running = tokio::spawn(async move {
            let exit = Box::pin(serve::run(startup)).await;
            if exit.is_ok() {
                ended.cancel();
            }
            exit
        });
        match is_ready.await {
            Ok(()) => {
                self.own = Some(OwnSite { stop, running });
                Ok(())
            }
            Err(_) => match running.await {
                Ok(Err(error)) => Err(error),
                _ => Err(CliError::error("the site could not be started")),
            },
        }
    }
}
