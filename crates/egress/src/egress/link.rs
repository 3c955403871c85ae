//! Links: requests to sites that have no address on the web, and the proof of who calls.
//!
//! Such a site has a host name of its own below [`LINK_DOMAIN`] (a name that DNS never has, RFC 9476), and is
//! reached by a stream that the mesh opens; what travels there is HTTP, as everywhere. A request to another
//! site, on whichever way, carries a token by which this one proves that the call is its own.
//!
//! Promises: without [`Links`] every such host is refused; with them, no name is resolved and no socket is
//! opened here. A token is made anew for each request and never follows a redirect to another origin. It does
//! not know sites, keys or the mesh: [`Links`] does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use url::{Host, Url};

use super::failure::origin;
use super::{Egress, EgressError, Version};

/// The domain of hosts that are reached through links.
pub const LINK_DOMAIN: &str = "agentsite.alt";

/// How long a link may take to be opened: a site may have to be found first, and a relay asked.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// A stream of bytes to another site.
pub trait LinkIo: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> LinkIo for T {}

/// How other sites are reached, and how this one proves to them who calls.
pub trait Links: fmt::Debug + Send + Sync {
    /// Opens a stream to the site that this host names; the error says why there is none.
    fn open(&self, host: &str) -> BoxFuture<'static, Result<Box<dyn LinkIo>, String>>;

    /// The DID of the site that this host names.
    fn site_of(&self, host: &str) -> Option<String>;

    /// A new token for one call to the site with this DID, for a user of this one; none when this site does
    /// not call others.
    fn token(&self, site: &str, user: Option<&str>) -> Option<String>;
}

impl Egress {
    /// Lays the links to other sites; all clones share them. Only the first ones count.
    pub fn lay_links(&self, links: Arc<dyn Links>) {
        let _ = self.links.set(links);
    }

    /// The same way out whose requests prove to the site with this DID that this one calls.
    #[must_use]
    pub fn calling_site(&self, did: &str) -> Self {
        Self { audience: Some(did.into()), ..self.clone() }
    }

    /// The same way out whose requests to other sites are those of this user; what they learn of it is
    /// decided by [`Links`].
    #[must_use]
    pub fn calling_for(&self, user: &str) -> Self {
        Self { user: Some(user.into()), ..self.clone() }
    }

    pub(super) fn links(&self) -> Option<&Arc<dyn Links>> {
        self.links.get()
    }

    /// The proof for a request to this address, if it goes to another site.
    pub(super) fn site_token(&self, url: &Url) -> Option<HeaderValue> {
        let links = self.links()?;
        let site = match link_host(url) {
            Some(host) => links.site_of(host)?,
            None => self.audience.as_deref()?.to_owned(),
        };
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", links.token(&site, self.user.as_deref())?)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The host of an address that is reached through a link.
pub(super) fn link_host(url: &Url) -> Option<&str> {
    let Some(Host::Domain(host)) = url.host() else { return None };
    let label = host.strip_suffix(LINK_DOMAIN)?.strip_suffix('.')?;
    (!label.is_empty()).then_some(host)
}

/// One request through a link.
pub(super) struct LinkRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) url: &'a Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<&'a Bytes>,
    pub(super) version: Version,
    pub(super) user_agent: &'a str,
}

impl LinkRequest<'_> {
    /// Opens a stream, sends the request and waits for the head of the answer.
    pub(super) async fn send(self, links: &dyn Links, host: &str) -> Result<reqwest::Response, EgressError> {
        let from = origin(self.url);
        let failed = |reason: String| EgressError::NoConnection { origin: from.clone(), reason };
        let opened = tokio::time::timeout(OPEN_TIMEOUT, links.open(host)).await;
        let stream = opened.map_err(|_| failed("it took too long".into()))?.map_err(failed)?;
        let broken = |error: hyper::Error| EgressError::Unreachable {
            origin: origin(self.url),
            reason: error.to_string(),
        };
        let request = self.request()?;
        let response = match self.version {
            Version::Two => by_http2(stream, request).await,
            Version::Any | Version::One => by_http1(stream, request).await,
        };
        Ok(response.map_err(broken)?.map(reqwest::Body::wrap).into())
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, EgressError> {
        let body = self.body.cloned().unwrap_or_default();
        let unfit = |error: http::Error| EgressError::Settings(error.to_string());
        let target = match self.version {
            // HTTP/2 names the host in the target, HTTP/1 in a header.
            Version::Two => self.url.as_str(),
            _ => &self.url[url::Position::BeforePath..url::Position::AfterQuery],
        };
        let mut request = Request::builder().method(self.method).uri(target);
        if self.version != Version::Two {
            request = request.header(HOST, self.url.host_str().unwrap_or_default());
        }
        let mut request = request.header(USER_AGENT, self.user_agent).body(Full::new(body)).map_err(unfit)?;
        request.headers_mut().extend(self.headers.clone());
        Ok(request)
    }
}

async fn by_http1(
    stream: Box<dyn LinkIo>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the answer, or when its reader drops it.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a link ended badly");
        }
    });
    sender.send_request(request).await
}

async fn by_http2(
    stream: Box<dyn LinkIo>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a link ended badly");
        }
    });
    sender.send_request(request).await
}

/// Whether a request already says who calls.
pub(super) fn is_authorized(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_below_the_domain_are_links() {
        let host = |url: &str| link_host(&Url::parse(url).unwrap()).map(str::to_owned);
        assert_eq!(host("http://abc.agentsite.alt/a2a").as_deref(), Some("abc.agentsite.alt"));
        for other in [
            "http://agentsite.alt/",
            "http://.agentsite.alt/",
            "http://evilagentsite.alt/",
            "http://abc.agentsite.alt.example.org/",
            "http://127.0.0.1/",
        ] {
            assert_eq!(host(other), None, "{other}");
        }
    }
}
