//! OpenAPI tools: any REST API by its OpenAPI document, as a set of tools.
//!
//! Promises: one tool for each operation of a document of version 3.0 or 3.1, in a fixed order. Everything
//! goes through the site's egress: the document where it is an address, and every call. Arguments are checked
//! before anything is sent, and encoded in place; credentials go only where the operator's words and the
//! document's agree. A document that is not available yet is fetched again, with growing pauses.
//!
//! It does not hold the API to its document: answers are passed on unchanged. References to other documents
//! are not followed.

mod answer;
mod api;
mod arguments;
mod credentials;
mod document;
mod operation;
mod request;
mod runner;
mod schema;

#[cfg(test)]
mod tests;

use std::path::{Component, Path};
use std::sync::Arc;
use std::time::Duration;

use agentsite_egress::{Egress, EgressError};
use agentsite_protocol::mcp::{Reply, Tool, ToolCall, ToolResult};
use base64::Engine;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use crate::child::{Bulletin, Supervision, Watch, bulletin};
use crate::{About, AgentLog, Exchange, Health, LogSource, ToolFault, Toolbox};
use api::{Api, DocumentLocation};

pub use credentials::Credentials;
pub use document::DocumentError;
pub(crate) use runner::OpenApiRunner;

/// How long a document may take.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an API may take to answer; the limits of the task end a run earlier.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Largest answer of an API that is taken; a model reads less, and programs can ask for less.
const MOST_ANSWER: usize = 4 << 20;

/// How long a caller waits for a document that is being fetched.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why an API is not available by its document.
#[derive(Debug, thiserror::Error)]
pub enum OpenApiError {
    /// The file cannot be read.
    #[error("{file}: {source}; check the path, it is relative to the agent's folder")]
    File {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is outside the agent's folder.
    #[error("{0} is outside the agent's folder; put the document there, or give its address")]
    Outside(String),
    /// The document is not what it should be.
    #[error("{source_name}: {error}")]
    Document {
        /// Where it comes from.
        source_name: String,
        /// What is wrong with it.
        error: DocumentError,
    },
    /// The document cannot be fetched.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The document's server answers with an error.
    #[error("{url} answered {status} instead of a document; check the address")]
    Status {
        /// The address.
        url: Url,
        /// What it answered.
        status: u16,
    },
}

/// What is used of an API, and how.
#[derive(Debug, Clone, Default)]
pub struct OpenApiSource {
    /// A file in the agent's folder, or an address.
    pub document: String,
    /// Where all operations go instead of to the document's servers.
    pub base_url: Option<Url>,
    /// The secrets that the API requires.
    pub credentials: Credentials,
}

/// The operations of an API as tools.
#[derive(Debug)]
pub struct OpenApiTools {
    watch: Watch<Api>,
    egress: Egress,
    credentials: Credentials,
    /// Dropping the tools stops the search for the document.
    _stop_when_dropped: DropGuard,
}

/// Opens an API. A file is read at once; an address is asked in the background, so this must be called inside
/// a tokio runtime.
///
/// # Errors
/// [`OpenApiError`] when the file cannot be used.
pub fn open(
    source: OpenApiSource,
    folder: &Path,
    egress: &Egress,
    log: &AgentLog,
) -> Result<Arc<OpenApiTools>, OpenApiError> {
    let (bulletin, watch) = bulletin(log);
    let stop = CancellationToken::new();
    let mut whereabouts =
        DocumentLocation { document: None, base: source.base_url, guarded: !source.credentials.is_empty() };
    match address(&source.document) {
        None => {
            let bytes = file(folder, &source.document)?;
            let wrong = |error| OpenApiError::Document { source_name: source.document.clone(), error };
            bulletin.ready(Api::read(&bytes, &whereabouts).map_err(wrong)?);
        }
        Some(url) => {
            whereabouts.document = Some(url.clone());
            let search = Search { url, whereabouts, egress: egress.clone(), bulletin, log: log.clone() };
            // It ends with the tools, or when the document was found; nothing has to be waited for.
            tokio::spawn(stop.clone().run_until_cancelled_owned(search.run()));
        }
    }
    let (egress, credentials) = (egress.clone(), source.credentials);
    Ok(Arc::new(OpenApiTools { watch, egress, credentials, _stop_when_dropped: stop.drop_guard() }))
}

/// Reads a document and counts its tools without calling anything, for checks in advance.
///
/// # Errors
/// [`DocumentError`] says what is wrong with it.
pub fn examine(document: &[u8]) -> Result<usize, DocumentError> {
    let base = Url::parse("https://example.org/").ok();
    Api::read(document, &DocumentLocation { base, ..DocumentLocation::default() }).map(|api| api.tools.len())
}

/// The address that a document is named by, if it is one.
fn address(document: &str) -> Option<Url> {
    let remote = document.starts_with("http://") || document.starts_with("https://");
    if remote { Url::parse(document).ok() } else { None }
}

fn file(folder: &Path, name: &str) -> Result<Vec<u8>, OpenApiError> {
    use std::io::Read;

    let unread = |source| OpenApiError::File { file: name.to_owned(), source };
    let path = Path::new(name);
    if path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(OpenApiError::Outside(name.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(folder.join(path)).map_err(unread)?;
    file.take(document::MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
    Ok(bytes)
}

/// The search for a document at an address.
struct Search {
    url: Url,
    whereabouts: DocumentLocation,
    egress: Egress,
    bulletin: Bulletin<Api>,
    log: AgentLog,
}

impl Search {
    /// Asks until the document is there.
    async fn run(self) {
        let (mut supervision, began) = (Supervision::default(), Instant::now());
        loop {
            match self.fetch().await {
                Ok(api) => return self.bulletin.ready(api),
                Err(error) => {
                    let wait = supervision.lost(began.elapsed());
                    let told = format!("{error}; next attempt in {}", agentsite_protocol::Period(wait));
                    self.log.push(LogSource::Site, &told);
                    self.bulletin.down(told);
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    async fn fetch(&self) -> Result<Api, OpenApiError> {
        let request = self.egress.get(self.url.clone()).timeout(DOCUMENT_TIMEOUT).limit(document::MOST_BYTES);
        let answer = request.send().await?;
        if !answer.status().is_success() {
            return Err(OpenApiError::Status { url: self.url.clone(), status: answer.status().as_u16() });
        }
        let bytes = answer.bytes().await?;
        let wrong = |error| OpenApiError::Document { source_name: self.url.to_string(), error };
        Api::read(&bytes, &self.whereabouts).map_err(wrong)
    }
}

impl OpenApiTools {
    /// Whether the document is there.
    #[must_use]
    pub fn health(&self) -> Health {
        self.watch.health()
    }

    async fn api(&self) -> Result<Arc<Api>, ToolFault> {
        if let Ok(api) = self.watch.now() {
            return Ok(api);
        }
        let down = |reason| ToolFault::Down(format!("the API cannot be used now: {reason}"));
        self.watch.clone().ready(PATIENCE).await.map_err(down)
    }

    async fn use_tool(&self, call: ToolCall) -> Result<Reply<ToolResult>, ToolFault> {
        let api = self.api().await?;
        let operation = api.operation(&call.name).ok_or_else(|| ToolFault::NoSuchTool(call.name.clone()))?;
        let wrong = arguments::complaints(&operation.tool.input_schema, &call.arguments);
        if !wrong.is_empty() {
            return Ok(Reply::Done(ToolResult::error(format!(
                "The arguments are wrong: {}.",
                wrong.join("; ")
            ))));
        }
        let request = match request::build(operation, &call.arguments, &self.credentials) {
            Ok(request) => request,
            Err(why) => return Ok(Reply::Done(ToolResult::error(why))),
        };
        let mut asking = self.egress.request(operation.method.clone(), request.url);
        if let Some(body) = request.body {
            asking = asking.body("application/octet-stream", body);
        }
        let accept = http::HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.5");
        let asking = asking.header(http::header::ACCEPT, accept).headers(&request.headers);
        let asked = asking.timeout(CALL_TIMEOUT).limit(MOST_ANSWER).send().await;
        let answered = match asked {
            Ok(answer) => answer::read(operation, answer).await,
            Err(error) => Err(error),
        };
        match answered {
            Ok(result) => Ok(Reply::Done(result)),
            Err(error @ EgressError::TooLarge { .. }) => Ok(Reply::Done(ToolResult::error(format!(
                "{error}; ask for less, with a filter or a smaller page"
            )))),
            Err(error) => Err(ToolFault::Down(error.to_string())),
        }
    }
}

impl Toolbox for OpenApiTools {
    fn about(&self) -> About {
        self.watch.way().map(|api| api.about.clone()).unwrap_or_default()
    }

    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        Box::pin(async { Ok(self.api().await?.tools.clone()) })
    }

    fn call(
        &self,
        exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = exchange.cancel.cancelled() => Err(ToolFault::Failed("the call was cancelled".into())),
                reply = self.use_tool(call) => reply,
            }
        })
    }
}

/// Bytes in base64.
fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
