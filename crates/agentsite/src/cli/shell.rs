//! What every verb uses: the flags, the environment, the configuration and the connection to the running
//! site.
//!
//! Promises: the configuration is read only by verbs that need it, so that a broken file cannot keep the
//! others from working; a site that cannot be reached is reported in one sentence with its own exit code.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use agentsite_client::sse::{SseEvent, SseLimits, sse_events};
use agentsite_client::{ClientError, SiteClient, Token};
use agentsite_egress::Egress;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::HeaderValue;
use http::header::ACCEPT;
use url::Url;

use super::GlobalFlags;
use crate::config::{ConfigError, Loaded, Reader};
use crate::exit::{CliError, Exit};
use crate::instance::DataFolder;
use crate::output::Output;

/// The variable that holds a token for the site, instead of the one in the data folder.
const TOKEN_VARIABLE: &str = "AGENTSITE_TOKEN";

/// How long a stream may take to begin.
const FIRST_EVENT: Duration = Duration::from_secs(30);

/// How long a site may take to show that it is there; a healthy one needs milliseconds, another program on
/// its port may be silent.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);

/// Most bytes of a stream of events: ten thousand events, each of them large.
const MAX_EVENTS: usize = 1 << 30;

/// Largest event that is read: more than the largest message that a site can be set to take.
const MAX_EVENT: usize = 64 << 20;

/// What every verb uses.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    pub(super) everywhere: GlobalFlags,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) output: Output,
}

impl Shell {
    /// Puts the pieces together; reads nothing yet.
    pub(super) fn new(everywhere: GlobalFlags, variables: BTreeMap<String, String>, output: Output) -> Self {
        Self { everywhere, variables, output }
    }

    /// Reads the configuration with the flags that all verbs know.
    pub(super) fn config(&self) -> Result<Loaded, CliError> {
        self.config_with(Vec::new()).map_err(|error| config_error(&error))
    }

    /// Reads the configuration with further flags.
    pub(super) fn config_with(&self, more: Vec<(&'static str, String)>) -> Result<Loaded, ConfigError> {
        self.reader(more).load()
    }

    /// Where the configuration comes from, with further flags.
    pub(super) fn reader(&self, more: Vec<(&'static str, String)>) -> Reader {
        let mut flags = self.everywhere.flags();
        flags.extend(more);
        Reader::new(self.everywhere.config.as_deref(), self.variables.clone(), flags)
    }

    /// The data folder.
    pub(super) fn data(&self) -> Result<DataFolder, CliError> {
        Ok(DataFolder::at(&self.config()?.config.data))
    }

    /// The way to the running site.
    pub(super) fn site(&self) -> Result<RunningClient, CliError> {
        let loaded = self.config()?;
        let data = DataFolder::at(&loaded.config.data);
        let announced: Option<Url> = data.running().and_then(|site| site.url.parse().ok());
        // The announced address shows whether the site serves TLS; the flag does not.
        let own = match &self.everywhere.listen {
            Some(_) => announced.filter(|url| is_at(url, loaded.config.listen)),
            None => Some(announced.ok_or_else(|| data.not_running())?),
        };
        // The admin token goes to the site of this data folder and to no other program.
        let kept = own.as_ref().and_then(|_| data.token());
        let token = self.variables.get(TOKEN_VARIABLE).cloned().or(kept).map(|token| Token::new(&token));
        let base = match own {
            Some(url) => url,
            None => format!("http://{}", loaded.config.listen).parse().map_err(|_| data.not_running())?,
        };
        let client = SiteClient::new(&Egress::unguarded(), base, token.clone());
        Ok(RunningClient { client, token, data, named: self.everywhere.listen.is_some() })
    }
}

/// Whether a site that listens there is reached at this address.
fn is_at(url: &Url, listen: SocketAddr) -> bool {
    let host: Option<IpAddr> = match url.host() {
        Some(url::Host::Ipv4(ip)) => Some(ip.into()),
        Some(url::Host::Ipv6(ip)) => Some(ip.into()),
        _ => None,
    };
    let same_host =
        host.is_none_or(|ip| ip == listen.ip() || listen.ip().is_unspecified() && ip.is_loopback());
    same_host && url.port_or_known_default() == Some(listen.port())
}

/// An error of the configuration as the end of the program.
pub(super) fn config_error(error: &ConfigError) -> CliError {
    CliError::error(error.to_string())
}

impl GlobalFlags {
    /// The flags that set keys of the configuration.
    fn flags(&self) -> Vec<(&'static str, String)> {
        let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        let flags = [
            ("listen", self.listen.clone()),
            ("data", self.data.as_ref().map(path)),
            ("agents", self.agents.as_ref().map(path)),
        ];
        flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// A client of the running site that tells its errors as the end of the program.
#[derive(Debug, Clone)]
pub(super) struct RunningClient {
    /// The client.
    pub(super) client: SiteClient,
    token: Option<Token>,
    data: DataFolder,
    /// Whether the user named the address.
    named: bool,
}

impl RunningClient {
    /// What an error of the client means here.
    pub(super) fn error(&self, error: &ClientError) -> CliError {
        match error {
            ClientError::NoConnection(why) | ClientError::Unreachable(why) if why.contains("certificate") => {
                CliError::new(
                    Exit::Refused,
                    format!(
                        "the certificate of the site is not trusted here: set public_url to its host name, \
                     or SSL_CERT_FILE to the file of its issuer ({why})"
                    ),
                )
            }
            ClientError::NoConnection(why) | ClientError::Unreachable(why)
                if self.named || self.client.base().scheme() == "https" =>
            {
                CliError::new(Exit::NotRunning, format!("no site answers at {}: {why}", self.client.base()))
            }
            ClientError::NoConnection(_) | ClientError::Unreachable(_) => self.data.not_running(),
            ClientError::Status { status: 404, message, .. } => CliError::new(Exit::NotFound, message),
            ClientError::Status { status: 401 | 403 | 429 | 503 | 507, message, .. } => {
                CliError::new(Exit::Refused, message)
            }
            other if other.is_unknown_task() => CliError::new(Exit::NotFound, other.to_string()),
            other => CliError::error(other.to_string()),
        }
    }

    /// Asks for a value.
    pub(super) async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.client.get(path).await.map_err(|error| self.error(&error))
    }

    /// Sends a value and gets one back.
    pub(super) async fn post<B: serde::Serialize, T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, CliError> {
        self.client.post(path, body).await.map_err(|error| self.error(&error))
    }

    /// Removes something.
    pub(super) async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.client.delete(path).await.map_err(|error| self.error(&error))
    }

    /// Follows a stream of events, for as long as it lasts.
    pub(super) async fn events(
        &self,
        path: &str,
    ) -> Result<BoxStream<'static, Result<SseEvent, CliError>>, CliError> {
        let failed = |error: ClientError| self.error(&error);
        let url =
            self.client.base().join(path).map_err(|error| CliError::error(format!("`{path}`: {error}")))?;
        let mut request =
            Egress::unguarded().get(url).header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        request = request.timeout(FIRST_EVENT).limit(MAX_EVENTS);
        if let Some(token) = &self.token {
            request = request.bearer(token.secret());
        }
        let answer = request.send().await.map_err(|error| failed(error.into()))?;
        if !answer.status().is_success() {
            // Asked again without a stream, the site says in its own words what is wrong.
            self.get::<serde_json::Value>(path).await?;
            return Err(CliError::error(format!("the site answered {}", answer.status())));
        }
        let events = sse_events(answer.stream(), SseLimits::new(MAX_EVENT));
        let broken = |error| CliError::error(format!("the stream was interrupted: {error}"));
        Ok(events.map(move |event| event.map_err(broken)).boxed())
    }

    /// The token that is sent to it.
    pub(super) const fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Whether a site answers.
    pub(super) async fn answers(&self) -> bool {
        let asked = tokio::time::timeout(SIGN_OF_LIFE, self.client.get_text("healthz")).await;
        matches!(asked, Ok(Ok(_) | Err(ClientError::Status { .. })))
    }
}

/// A value encoded for a path or a query.
pub(super) fn escaped(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// A field of an answer as text; empty when it is not there.
pub(super) fn field(value: &serde_json::Value, name: &str) -> String {
    match &value[name] {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The elements of an answer that is a list, or of the list under `name` in it.
pub(super) fn list(value: &serde_json::Value, name: &str) -> Vec<serde_json::Value> {
    let found = value.as_array().or_else(|| value[name].as_array());
    found.cloned().unwrap_or_default()
}
