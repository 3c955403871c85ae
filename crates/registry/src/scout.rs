//! Scout: the seam through which the registry looks at what others publish, and a search asks other
//! registries.
//!
//! Promises: every look is bounded in size and time. The real one is the egress, so that the inside of the
//! operator's network is not looked at unless the operator allowed it; tests have one that follows a
//! script. What is said about a refused address tells nothing of the inside of the network.

use std::sync::Arc;
use std::time::Duration;

use agentsite_client::mcp::{Address, McpClient, Options as McpOptions};
use agentsite_egress::{Answered, Egress, EgressError, Fetched};
use agentsite_protocol::Rng;
use futures::future::BoxFuture;
use url::Url;

/// What a look gives, or why there is nothing, in words for the owner of the address.
pub type Looked<'a, T> = BoxFuture<'a, Result<T, String>>;

/// A tool server as it tells of itself.
#[derive(Debug, Clone, Default)]
pub struct ToolServer {
    /// Its name, or empty.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is for, or empty.
    pub description: String,
    /// Name and description of each tool.
    pub tools: Vec<(String, String)>,
}

/// Looks at what others publish.
pub trait Scout: Send + Sync + std::fmt::Debug + 'static {
    /// Fetches a document, unless it still has this mark.
    fn fetch(&self, url: Url, etag: Option<String>, limit: usize, timeout: Duration) -> Looked<'_, Fetched>;

    /// Posts a question in JSON.
    fn ask(&self, url: Url, question: Vec<u8>, limit: usize, timeout: Duration) -> Looked<'_, Answered>;

    /// Looks whether a server answers.
    fn probe(&self, url: Url, timeout: Duration) -> Looked<'_, ()>;

    /// Asks a tool server who it is and which tools it has.
    fn meet(&self, url: Url, timeout: Duration) -> Looked<'_, ToolServer>;
}

/// The scout that goes out by the egress.
#[derive(Debug)]
pub struct EgressScout {
    /// The one way out of the site.
    pub egress: Egress,
    /// Chance for the ids of requests to tool servers.
    pub rng: Arc<dyn Rng>,
}

impl Scout for EgressScout {
    fn fetch(&self, url: Url, etag: Option<String>, limit: usize, timeout: Duration) -> Looked<'_, Fetched> {
        Box::pin(async move {
            self.egress
                .document(&url, etag.as_deref(), limit, timeout)
                .await
                .map_err(|error| words(&url, &error))
        })
    }

    fn ask(&self, url: Url, question: Vec<u8>, limit: usize, timeout: Duration) -> Looked<'_, Answered> {
        Box::pin(async move {
            self.egress.ask(&url, question, limit, timeout).await.map_err(|error| words(&url, &error))
        })
    }

    fn probe(&self, url: Url, timeout: Duration) -> Looked<'_, ()> {
        Box::pin(async move { self.egress.answers(&url, timeout).await.map_err(|error| words(&url, &error)) })
    }

    fn meet(&self, url: Url, timeout: Duration) -> Looked<'_, ToolServer> {
        Box::pin(async move {
            self.egress.check(&url).map_err(|_| refused(&url))?;
            let mut options = McpOptions::new(self.rng.clone());
            (options.limits.connect, options.limits.request, options.log) = (timeout, timeout, None);
            let failed = |error: &dyn std::fmt::Display| {
                format!("no tool server answers at {}: {error}", url.origin().ascii_serialization())
            };
            let address = Address::url(url.clone(), self.egress.clone());
            let client = McpClient::connect(address, options).await.map_err(|error| failed(&error))?;
            let tools = client.tools().await.map_err(|error| failed(&error))?;
            let about = client.about();
            Ok(ToolServer {
                name: about.title.clone().unwrap_or_else(|| about.name.clone()),
                version: about.version.clone(),
                description: about.instructions.clone().unwrap_or_default(),
                tools: tools
                    .into_iter()
                    .map(|tool| (tool.name, tool.description.unwrap_or_default()))
                    .collect(),
            })
        })
    }
}

fn words(url: &Url, error: &EgressError) -> String {
    if error.is_refusal() { refused(url) } else { error.to_string() }
}

fn refused(url: &Url) -> String {
    let origin = url.origin().ascii_serialization();
    format!(
        "this site may not ask {origin}; use an address on the open internet, or let the operator name it in egress.allow"
    )
}
