//! HTTP: the streamable HTTP of MCP through the egress.
//!
//! Promises: nothing goes past the egress, an answer and each event of a stream is bounded, and a server of
//! the older revisions is recognized by how it refuses what it does not know. Sessions, resumption and the
//! standard headers are the engine's.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentsite_egress::{Egress, EgressAnswer, EgressError, EgressRequest};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::{ACCEPT, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError as EngineSseError,
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use url::Url;

use super::Limits;
use super::login::Login;
use crate::sse::{SseBreak, SseError, SseEvent, SseLimits, sse_events};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How long a goodbye may take: no caller waits for it.
const GOODBYE: Duration = Duration::from_secs(5);

type Events = BoxStream<'static, Result<Sse, EngineSseError>>;
type Failure = StreamableHttpError<EgressError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Streamable HTTP through the egress.
#[derive(Clone)]
pub(super) struct Http {
    egress: Egress,
    headers: HeaderMap,
    login: Option<Arc<Login>>,
    limits: Limits,
}

impl Http {
    pub(super) fn new(egress: Egress, headers: HeaderMap, login: Option<Arc<Login>>, limits: Limits) -> Self {
        Self { egress, headers, login, limits }
    }

    async fn request(
        &self,
        method: Method,
        url: &str,
        token: Option<String>,
        session: Option<Arc<str>>,
        headers: Headers,
    ) -> Result<EgressRequest, Failure> {
        let unfit = |what| StreamableHttpError::Client(EgressError::Address { url: String::new(), what });
        let url = Url::parse(url).map_err(|_| unfit("it is not an address"))?;
        let mut request = self.egress.request(method, url).headers(&self.headers);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            let session = HeaderValue::from_str(&session)
                .map_err(|_| unfit("its session id does not fit into a header"))?;
            request = request.header(SESSION, session);
        }
        let token = match (token, &self.login) {
            (None, Some(login)) => Box::pin(login.token()).await?,
            (token, _) => token,
        };
        if let Some(token) = token {
            request = request.bearer(&token);
        }
        Ok(request)
    }
}

impl StreamableHttpClient for Http {
    type Error = EgressError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let in_session = session.is_some();
        let request = self.request(Method::POST, &uri, token, session, headers).await?.header(ACCEPT, BOTH);
        let request = request.json(&message).map_err(StreamableHttpError::Client)?;
        let request = request.timeout(self.limits.call).limit(self.limits.message);
        let answer = request.send().await.map_err(StreamableHttpError::Client)?;
        let status = answer.status();
        if let Some(challenge) = challenge(&answer) {
            return Err(challenge);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refusal(answer, &message, in_session).await;
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = header(&answer, &SESSION).map(str::to_owned);
        if answer.is_type("text/event-stream") {
            let of = match &message {
                ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            return Ok(StreamableHttpPostResponse::Sse(events(answer, self.limits.message, of), session));
        }
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if !wants_answer {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !answer.is_type("application/json") {
            let kind = header(&answer, &http::header::CONTENT_TYPE).map(str::to_owned);
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let body = answer.bytes().await.map_err(StreamableHttpError::Client)?;
        match super::lines::message_of(&body) {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            None => Err(StreamableHttpError::UnexpectedServerResponse("it is not a message of MCP".into())),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        let request = self.request(Method::DELETE, &uri, token, Some(session), headers).await?;
        let answer = request.timeout(GOODBYE).send().await.map_err(StreamableHttpError::Client)?;
        match answer.status() {
            status if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        let mut request =
            self.request(Method::GET, &uri, token, session, headers).await?.header(ACCEPT, EVENTS);
        if let Some(last) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
            request = request.header(LAST_EVENT, last);
        }
        let request = request.timeout(self.limits.connect);
        let answer = request.send().await.map_err(StreamableHttpError::Client)?;
        if let Some(challenge) = challenge(&answer) {
            return Err(challenge);
        }
        match answer.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(status_error(&answer).into()),
            _ if answer.is_type("text/event-stream") => Ok(events(answer, self.limits.message, None)),
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

fn header<'a>(answer: &'a EgressAnswer, name: &HeaderName) -> Option<&'a str> {
    answer.headers().get(name).and_then(|value| value.to_str().ok())
}

fn status_error(answer: &EgressAnswer) -> HttpStatusError {
    HttpStatusError::new(answer.status().as_u16(), header(answer, &RETRY_AFTER).map(str::to_owned))
}

/// A server's request for another authorization.
fn challenge(answer: &EgressAnswer) -> Option<Failure> {
    let words = header(answer, &WWW_AUTHENTICATE).unwrap_or_default().to_owned();
    match answer.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(words))),
        StatusCode::FORBIDDEN if !words.is_empty() => {
            let scope = WWWAuthenticateParams::parse(&words, answer.url()).scope;
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(words, scope)))
        }
        _ => None,
    }
}

/// What an HTTP error means: the server's own error when it has one, a server of older revisions when it does
/// not know discovery.
async fn refusal(
    answer: EgressAnswer,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    let (status, failed) = (answer.status(), status_error(&answer));
    let body = answer.bytes().await.unwrap_or_default();
    let said = match super::lines::message_of(&body) {
        Some(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    if let ClientJsonRpcMessage::Request(request) = message {
        let asks_who = matches!(request.request, ClientRequest::DiscoverRequest(_));
        let client_error = status.is_client_error() && status != StatusCode::FORBIDDEN;
        let why = match said {
            Some(error) => Some(error.error),
            None if asks_who && client_error && !in_session => {
                Some(ErrorData::invalid_request(format!("HTTP {status}"), None))
            }
            None => None,
        };
        if let Some(why) = why {
            // Errors of this kind often have no id, or one that we never sent.
            let answer = ServerJsonRpcMessage::error(why, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
    }
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(failed.into());
    }
    Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}"))))
}

/// The events of an answer, each of them bounded: a larger one ends the stream, and the request whose stream
/// it is.
fn events(answer: EgressAnswer, most: usize, of: Option<RequestId>) -> Events {
    let events = sse_events(answer.endless(), SseLimits::new(most)).map(move |event| match (event, &of) {
        (Ok(SseEvent { event, data, id, retry }), _) => {
            let retry = retry.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
            Ok(Sse { event, data, id, retry })
        }
        (Err(SseBreak::Decode(SseError::LineTooLong(_) | SseError::EventTooLarge(_))), Some(id)) => {
            let data = serde_json::to_string(&super::lines::spoiled(id.clone(), most)).unwrap_or_default();
            Ok(Sse::default().data(data))
        }
        (Err(broken), _) => Err(EngineSseError::Body(Box::new(io::Error::other(broken)))),
    });
    events.boxed()
}
