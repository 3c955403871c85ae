//! One request through the egress, and the answer to it.
//!
//! Promises: a request always ends: in time, or with an error; an answer is never read beyond its limit. Only
//! `GET` follows redirects, unless the caller handles them; each hop is checked like the first address, and
//! what the caller added (credentials among it) goes to the first origin only. It knows nothing of JSON-RPC
//! or agents.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::BodyStream;
use serde::Serialize;
use url::Url;

use super::failure::{failure_of, origin};
use super::link::{LinkRequest, is_authorized, link_host};
use super::{Egress, EgressError, Version};

/// How long the head of an answer may take when the caller says nothing.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How large an answer may be when the caller says nothing: a hundred times the largest card seen.
const MAX_ANSWER: usize = 1 << 20;

/// A request that is being put together; [`EgressRequest::send`] sends it.
#[derive(Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct EgressRequest {
    egress: Egress,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
    timeout: Duration,
    limit: usize,
    version: Version,
    follows: bool,
    /// Whether a redirect led to another origin, which gets no credential.
    has_strayed: bool,
}

impl EgressRequest {
    pub(super) fn new(egress: Egress, method: Method, url: Url) -> Self {
        Self {
            egress,
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            timeout: TIMEOUT,
            limit: MAX_ANSWER,
            version: Version::Any,
            follows: true,
            has_strayed: false,
        }
    }

    /// Sets a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets headers, replacing those of the same name.
    pub fn headers(mut self, headers: &HeaderMap) -> Self {
        for (name, value) in headers {
            self.headers.insert(name.clone(), value.clone());
        }
        self
    }

    /// Sends a token along; one that no header can hold is left out.
    pub fn bearer(self, token: &str) -> Self {
        match HeaderValue::from_str(&format!("Bearer {token}")) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.header(AUTHORIZATION, value)
            }
            Err(_) => self,
        }
    }

    /// Sends bytes as the body.
    pub fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self.header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// Sends a value as JSON.
    ///
    /// # Errors
    /// [`EgressError::Settings`] when the value has no JSON form, such as a map with keys that are not text.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Result<Self, EgressError> {
        let written = serde_json::to_vec(body).map_err(|error| EgressError::Settings(error.to_string()))?;
        Ok(self.body("application/json", written))
    }

    /// Sets how long the head of the answer may take, and again how long its body may take.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Uses HTTP/2 from the first byte, also without TLS: for gRPC.
    pub const fn http2(mut self) -> Self {
        self.version = Version::Two;
        self
    }

    /// Uses HTTP/1.1, the only version that supports an upgrade.
    pub(super) const fn http1(mut self) -> Self {
        self.version = Version::One;
        self
    }

    /// Gives a redirect back as the answer that it is.
    pub const fn without_redirects(mut self) -> Self {
        self.follows = false;
        self
    }

    /// Sets how large the answer may be.
    pub const fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sends the request and waits for the head of the answer.
    ///
    /// # Errors [`EgressError`] when the address is refused or nothing answers in time. An HTTP error status
    /// is an answer.
    pub async fn send(self) -> Result<EgressAnswer, EgressError> {
        let (url, timeout) = (self.url.clone(), self.timeout);
        let late = |_| EgressError::TimedOut { origin: origin(&url), after: timeout };
        tokio::time::timeout(timeout, self.follow()).await.map_err(late)?
    }

    async fn follow(mut self) -> Result<EgressAnswer, EgressError> {
        let redirects = self.egress.max_redirects();
        for _ in 0..=redirects {
            let response = self.hop().await?;
            let target = if self.follows && self.method == Method::GET { redirect(&response) } else { None };
            let Some(target) = target else {
                return Ok(EgressAnswer {
                    response,
                    url: self.url,
                    timeout: self.timeout,
                    limit: self.limit,
                });
            };
            self.turn_to(&target)?;
        }
        Err(EgressError::Redirects { origin: origin(&self.url), limit: redirects })
    }

    async fn hop(&self) -> Result<reqwest::Response, EgressError> {
        let client = self.egress.client_for(&self.url, self.version)?;
        let mut headers = self.headers.clone();
        if !self.has_strayed
            && !is_authorized(&headers)
            && let Some(token) = self.egress.site_token(&self.url)
        {
            headers.insert(AUTHORIZATION, token);
        }
        if let (Some(host), Some(links)) = (link_host(&self.url), self.egress.links()) {
            let request = LinkRequest {
                method: &self.method,
                url: &self.url,
                headers,
                body: self.body.as_ref(),
                version: self.version,
                user_agent: &self.egress.settings.user_agent,
            };
            return request.send(links.as_ref(), host).await;
        }
        let mut request = client.request(self.method.clone(), self.url.clone()).headers(headers);
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|error| failure_of(&error, &self.url, self.timeout))
    }

    /// Prepares the next hop: the target is joined to the present address, and another origin does not get
    /// our headers.
    fn turn_to(&mut self, target: &HeaderValue) -> Result<(), EgressError> {
        let refuse = |what| EgressError::Address { url: origin(&self.url), what };
        let text = target.to_str().map_err(|_| refuse("it redirects to an address that cannot be read"))?;
        let next =
            self.url.join(text).map_err(|_| refuse("it redirects to an address that cannot be read"))?;
        if self.url.scheme() == "https" && next.scheme() != "https" {
            return Err(refuse("it redirects from https to an address without encryption"));
        }
        if next.origin() != self.url.origin() && link_host(&next).is_some() {
            return Err(refuse("it redirects to a site of the mesh; name that site instead"));
        }
        if next.origin() != self.url.origin() {
            self.has_strayed = true;
            self.headers = self.headers.remove(ACCEPT).into_iter().map(|accept| (ACCEPT, accept)).collect();
        }
        self.url = next;
        Ok(())
    }
}

fn redirect(response: &reqwest::Response) -> Option<HeaderValue> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if redirects { response.headers().get(LOCATION).cloned() } else { None }
}

/// The head of an answer, with its body still to be read.
#[derive(Debug)]
pub struct EgressAnswer {
    pub(super) response: reqwest::Response,
    url: Url,
    timeout: Duration,
    limit: usize,
}

impl EgressAnswer {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The final address, after redirects.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Whether the body is of this media type, with any parameters.
    #[must_use]
    pub fn is_type(&self, media_type: &str) -> bool {
        let named =
            self.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        named.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// [`EgressError`] when it is too large, too slow or cut off.
    pub async fn bytes(self) -> Result<Bytes, EgressError> {
        let (url, timeout, limit) = (self.url.clone(), self.timeout, self.limit);
        let announced = self.response.content_length().unwrap_or(0);
        if announced > limit as u64 {
            return Err(EgressError::TooLarge { origin: origin(&url), limit });
        }
        let reading = async {
            let mut whole = BytesMut::new();
            let mut body = self.stream();
            while let Some(piece) = body.try_next().await? {
                whole.extend_from_slice(&piece);
            }
            Ok(whole.freeze())
        };
        let late = |_| EgressError::TimedOut { origin: origin(&url), after: timeout };
        tokio::time::timeout(timeout, reading).await.map_err(late)?
    }

    /// The body piece by piece, as it comes, up to the limit. There is no time limit: the reader sets one per
    /// piece.
    pub fn stream(self) -> BoxStream<'static, Result<Bytes, EgressError>> {
        let (url, limit, timeout) = (self.url, self.limit, self.timeout);
        let mut taken = 0_usize;
        let pieces = self.response.bytes_stream();
        let checked = pieces.map(move |piece| {
            let piece = piece.map_err(|error| failure_of(&error, &url, timeout))?;
            taken = taken.saturating_add(piece.len());
            if taken > limit {
                return Err(EgressError::TooLarge { origin: origin(&url), limit });
            }
            Ok(piece)
        });
        checked.boxed()
    }

    /// The body piece by piece without an end, for a reader that bounds each message in it.
    pub fn endless(mut self) -> BoxStream<'static, Result<Bytes, EgressError>> {
        self.limit = usize::MAX;
        self.stream()
    }

    /// The body with what follows it, up to the limit. There is no time limit: the reader sets one.
    pub fn pieces(self) -> BoxStream<'static, Result<BodyPiece, EgressError>> {
        let (url, limit, timeout) = (self.url, self.limit, self.timeout);
        let mut taken = 0_usize;
        let frames = BodyStream::new(http::Response::<reqwest::Body>::from(self.response).into_body());
        let pieces = frames.filter_map(move |frame| {
            let piece = match frame {
                Err(error) => Some(Err(failure_of(&error, &url, timeout))),
                Ok(frame) => match frame.into_data() {
                    Ok(data) => {
                        taken = taken.saturating_add(data.len());
                        let too_large = || EgressError::TooLarge { origin: origin(&url), limit };
                        Some(if taken > limit { Err(too_large()) } else { Ok(BodyPiece::Data(data)) })
                    }
                    Err(frame) => {
                        frame.into_trailers().ok().map(|trailers| Ok(BodyPiece::Trailers(trailers)))
                    }
                },
            };
            std::future::ready(piece)
        });
        pieces.boxed()
    }
}

/// A piece of an answer.
#[derive(Debug)]
pub enum BodyPiece {
    /// Of its body.
    Data(Bytes),
    /// The headers after the body.
    Trailers(HeaderMap),
}
