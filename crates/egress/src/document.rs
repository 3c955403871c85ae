//! Documents of others: conditional fetches, posted questions, and probes of servers.
//!
//! Promises: bounded in size and time; redirects are followed as the egress follows them (for a question:
//! never), and the answer names its final address. A question that is refused differs from one that gets no
//! answer. It does not interpret what it fetches.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::Instant;
use url::Url;

use crate::{Egress, EgressError};

/// Longest mark of a version that is kept; servers write a hash.
const MAX_ETAG: usize = 256;

/// The result of a conditional fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// It is as it was when it had this mark.
    NotModified,
    /// Here it is.
    Document {
        /// The document.
        bytes: Bytes,
        /// The mark of this version.
        etag: Option<String>,
        /// What its server says it is.
        content_type: String,
        /// Its final address, after redirects.
        url: Url,
    },
}

/// The result of a posted question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// Here is the answer.
    Answer(Bytes),
    /// The server works and refuses this question; the text is its answer.
    Refused(String),
}

/// The result of one request for a document.
enum FetchAttempt {
    Fetched(Fetched),
    /// The server asks to wait this long; else it is this error.
    Later(Duration, EgressError),
}

impl Egress {
    /// Posts a question in JSON.
    ///
    /// # Errors
    /// [`EgressError`] when no answer comes; a question that is refused is an answer.
    pub async fn ask(
        &self,
        url: &Url,
        question: impl Into<Bytes>,
        limit: usize,
        timeout: Duration,
    ) -> Result<Answered, EgressError> {
        let accept = HeaderValue::from_static("application/json");
        let request = self.post(url.clone()).header(ACCEPT, accept).body("application/json", question);
        let answer = request.limit(limit).timeout(timeout).send().await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Answered::Answer(answer.bytes().await?));
        }
        let message = format!("{} answered {status}", url.origin().ascii_serialization());
        let passes = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        if status.is_client_error() && !passes {
            return Ok(Answered::Refused(message));
        }
        Err(EgressError::Status { status: status.as_u16(), message })
    }

    /// Fetches a document, unless it still has this mark. A server that asks to wait (429 with `Retry-After`)
    /// is asked again within the timeout.
    ///
    /// # Errors
    /// [`EgressError`] says why there is none.
    pub async fn document(
        &self,
        url: &Url,
        etag: Option<&str>,
        limit: usize,
        timeout: Duration,
    ) -> Result<Fetched, EgressError> {
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.document_once(url, etag, limit, left).await? {
                FetchAttempt::Fetched(fetched) => return Ok(fetched),
                FetchAttempt::Later(wait, _) if wait < until.saturating_duration_since(Instant::now()) => {
                    tokio::time::sleep(wait).await;
                }
                FetchAttempt::Later(_, error) => return Err(error),
            }
        }
    }

    async fn document_once(
        &self,
        url: &Url,
        etag: Option<&str>,
        limit: usize,
        timeout: Duration,
    ) -> Result<FetchAttempt, EgressError> {
        let accept = HeaderValue::from_static("application/json, text/plain;q=0.5, */*;q=0.1");
        let mut request = self.get(url.clone()).header(ACCEPT, accept).limit(limit).timeout(timeout);
        if let Some(mark) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            request = request.header(IF_NONE_MATCH, mark);
        }
        let answer = request.send().await?;
        let status = answer.status();
        if status == StatusCode::NOT_MODIFIED {
            return Ok(FetchAttempt::Fetched(Fetched::NotModified));
        }
        if !status.is_success() {
            let advice =
                if status == StatusCode::TOO_MANY_REQUESTS { "try again later" } else { "check the address" };
            let message = format!("{url} answered {status}; {advice}");
            let error = EgressError::Status { status: status.as_u16(), message };
            return match retry_after(answer.headers()) {
                Some(wait) if status == StatusCode::TOO_MANY_REQUESTS => Ok(FetchAttempt::Later(wait, error)),
                _ => Err(error),
            };
        }
        let etag = text(answer.headers(), &ETAG).filter(|etag| etag.len() <= MAX_ETAG);
        let content_type = text(answer.headers(), &CONTENT_TYPE).unwrap_or_default();
        let url = answer.url().clone();
        Ok(FetchAttempt::Fetched(Fetched::Document { bytes: answer.bytes().await?, etag, content_type, url }))
    }

    /// Checks whether a server answers; the content does not matter, unless it reports an error.
    ///
    /// # Errors
    /// [`EgressError`] says how it fails.
    pub async fn answers(&self, url: &Url, timeout: Duration) -> Result<(), EgressError> {
        let status = self.get(url.clone()).without_redirects().timeout(timeout).send().await?.status();
        if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED {
            let message = format!("{} answered {status}", url.origin().ascii_serialization());
            return Err(EgressError::Status { status: status.as_u16(), message });
        }
        Ok(())
    }
}

/// How long a server asks to wait, in seconds; a date is not understood.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    text(headers, &RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
