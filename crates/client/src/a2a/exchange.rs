//! Exchange: one request at one endpoint, in its binding and version.
//!
//! Promises: everything goes through the egress, is bounded in time and size, and is read only after the
//! status was checked. It does not choose endpoints and tries nothing twice. The wire forms are in the
//! neighbouring files.

use std::time::Duration;

use agentsite_egress::{Egress, EgressAnswer, EgressRequest};
use agentsite_protocol::extension::RESUME;
use futures::StreamExt;
use futures::stream;
use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;

use super::endpoint::{Dialect, Endpoint};
use super::events::{self, Numbered, NumberedStream, ReadItem};
use super::operation::Operation;
use super::wire::StreamItem;
use super::{A2aLimits, grpc, jsonrpc, older, rest};
use crate::{ClientError, Token};

/// The header in which a client names the extensions that it requests.
const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");

/// One request.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    pub(super) egress: &'a Egress,
    pub(super) endpoint: &'a Endpoint,
    pub(super) token: Option<&'a Token>,
    pub(super) headers: &'a HeaderMap,
    pub(super) limits: A2aLimits,
    /// For the head of the answer.
    pub(super) timeout: Duration,
    /// Which request of the client it is.
    pub(super) number: u64,
    /// Whether the agent numbers its events when it is asked to.
    pub(super) resumes: bool,
    /// How the agent is named in errors.
    pub(super) from: String,
}

impl Exchange<'_> {
    /// Asks, and reads one answer.
    pub(super) async fn answer<T: DeserializeOwned>(
        &self,
        operation: &Operation<'_>,
    ) -> Result<T, ClientError> {
        let request = self.request(operation)?.limit(self.limits.max_answer);
        let answer = request.send().await?;
        if self.endpoint.dialect == Dialect::Grpc {
            let reading = grpc::read_answer(answer, &self.from, operation, self.limits);
            let late = |_| ClientError::TimedOut(format!("{} took too long to answer", self.from));
            return tokio::time::timeout(self.timeout, reading).await.map_err(late)?;
        }
        let (status, bytes) = (answer.status(), answer.bytes().await?);
        if !status.is_success() {
            return Err(self.refusal(status.as_u16(), &bytes));
        }
        match self.endpoint.dialect {
            Dialect::Rest => rest::read_answer(&self.from, &bytes),
            Dialect::JsonRpc03 => older::read_answer(&self.from, operation, &bytes),
            _ => jsonrpc::read_answer(&self.from, &bytes),
        }
    }

    /// Sends the request, and yields the answer piece by piece.
    pub(super) async fn open(&self, operation: &Operation<'_>) -> Result<NumberedStream, ClientError> {
        if self.endpoint.dialect == Dialect::Grpc {
            let mut request = self.request(operation)?.limit(self.limits.max_stream);
            if self.resumes {
                request = request.header(EXTENSIONS, self.with_resume());
            }
            let answer = request.send().await?;
            return grpc::items(answer, &self.from, self.limits);
        }
        let request = self
            .request(operation)?
            .header(ACCEPT, HeaderValue::from_static("text/event-stream"))
            .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .limit(self.limits.max_stream);
        let answer = request.send().await?;
        let read: ReadItem = match self.endpoint.dialect {
            Dialect::Rest => rest::read_item,
            Dialect::JsonRpc03 => older::read_item,
            _ => jsonrpc::read_answer,
        };
        self.opened(answer, read).await
    }

    /// The items of an answer, which may also be one plain answer: an error before the first event.
    async fn opened(&self, answer: EgressAnswer, read: ReadItem) -> Result<NumberedStream, ClientError> {
        let status = answer.status();
        if status.is_success() && answer.is_type("text/event-stream") {
            return Ok(events::items(answer, self.from.clone(), self.limits, read));
        }
        let bytes = answer.bytes().await?;
        if !status.is_success() {
            return Err(self.refusal(status.as_u16(), &bytes));
        }
        let item: StreamItem = read(&self.from, &bytes)?;
        Ok(stream::iter([Ok(Numbered { id: None, item })]).boxed())
    }

    fn request(&self, operation: &Operation<'_>) -> Result<EgressRequest, ClientError> {
        let mut request = match self.endpoint.dialect {
            Dialect::Rest => rest::request(self.egress, self.endpoint, operation)?,
            Dialect::Grpc => grpc::request(self.egress, self.endpoint, operation)?,
            Dialect::JsonRpc03 => older::request(self.egress, self.endpoint, operation, self.number)?,
            Dialect::JsonRpc => jsonrpc::request(self.egress, self.endpoint, operation, self.number)?,
        };
        request = request.headers(self.headers);
        if let Some(token) = self.token {
            request = request.bearer(token.secret());
        }
        Ok(request.timeout(self.timeout))
    }

    /// The extensions that the caller requests, and the one that numbers events: gRPC has no other place for
    /// the numbers.
    fn with_resume(&self) -> HeaderValue {
        let wanted = self.headers.get(EXTENSIONS).and_then(|value| value.to_str().ok());
        let both = wanted.map(|wanted| format!("{wanted},{RESUME}"));
        let both = both.and_then(|both| HeaderValue::from_str(&both).ok());
        both.unwrap_or(HeaderValue::from_static(RESUME))
    }

    fn refusal(&self, status: u16, bytes: &[u8]) -> ClientError {
        match self.endpoint.dialect {
            Dialect::Rest => rest::read_status(&self.from, status, bytes),
            _ => jsonrpc::read_status(&self.from, status, bytes),
        }
    }
}
