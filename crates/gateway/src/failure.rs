//! Failure: everything that can go wrong at this door, and the one table of its codes.
//!
//! Promises: each fault has one row with its HTTP status, JSON-RPC code, status word of HTTP+JSON and gRPC,
//! reason, and word for the REST face; nothing else in the workspace names them. The rows of A2A follow its
//! specification 1.0.1, section 5.4. The sentence is for the caller; causes inside the site go to the log
//! only. Those of MCP follow its revisions 2025-11-25 and 2026-07-28.

use std::borrow::Cow;
use std::time::Duration;

use agentsite_site::{ConversationError, RegistryError, RoomError, SiteError, StoreError, TaskError};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::Outcome;
use crate::operator::OperatorError;

mod ard;
mod grpc;
mod mcp;
mod openai;
mod socket;

#[cfg(test)]
mod tests;

pub(crate) use ard::{ArdError, ServersError};
pub(crate) use grpc::{GRPC, grpc_success};
pub(crate) use mcp::Era;
pub(crate) use socket::Closing;

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    NoSuchTask,
    NotCancelable,
    PushNotSupported,
    TaskEnded,
    TaskBusy,
    Unsupported,
    ContentType,
    AgentFailed,
    ExtensionRequired,
    Version,
    NotJson,
    BadRequest,
    NoSuchMethod,
    BadParams,
    IdReused,
    Internal,
    NoSuchAgent,
    NoSuchPath,
    NoSuchKey,
    NoSuchLetter,
    Unauthenticated,
    Forbidden,
    ScopeNeeded,
    TooLarge,
    TooSlow,
    TooMany,
    AgentBusy,
    StoreFull,
    StoreUnavailable,
    Stopping,
    TimedOut,
    NoSuchResource,
    NoSuchSession,
    NotAcceptable,
    HeaderMismatch,
    NeedsAbility,
    ProtocolVersion,
    NoSuchEntry,
    Moved,
    StorageLimit,
    QuotaExceeded,
}

/// One row of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    #[serde(skip)]
    fault: Fault,
    /// Word of the REST face.
    pub(crate) word: &'static str,
    /// HTTP status wherever HTTP speaks for itself.
    pub(crate) status: u16,
    /// JSON-RPC code.
    pub(crate) rpc: i32,
    /// JSON-RPC code of MCP, whose own numbers are others than those of A2A.
    pub(crate) mcp: i32,
    /// Error code of ARD.
    pub(crate) ard: &'static str,
    /// Status by its name in `google.rpc.Code`, for HTTP+JSON and gRPC.
    pub(crate) code: &'static str,
    /// Reason in the ErrorInfo detail; empty where the specification has no detail.
    pub(crate) reason: &'static str,
    /// Whether an answer by JSON-RPC keeps the HTTP status. All others are 200, because the official clients
    /// read no body of anything else.
    pub(crate) keeps_status: bool,
}

/// JSON-RPC code of faults that A2A does not name: the first of the range that JSON-RPC leaves to servers.
const OURS: i32 = -32000;

/// Status of what is refused as things stand, though it is sound.
const PRECONDITION: &str = "FAILED_PRECONDITION";

/// Status of what is wrong however things stand.
const ARGUMENT: &str = "INVALID_ARGUMENT";

/// Status of what is more than there is space for.
const EXHAUSTED: &str = "RESOURCE_EXHAUSTED";

const fn row(
    fault: Fault,
    word: &'static str,
    status: u16,
    rpc: i32,
    code: &'static str,
    reason: &'static str,
) -> Row {
    Row {
        fault,
        word,
        status,
        rpc,
        mcp: mcp::code(rpc),
        ard: ard::code(status),
        code,
        reason,
        keeps_status: rpc == OURS,
    }
}

/// The table. Its order is that of [`Fault`].
pub(crate) const TABLE: [Row; 41] = [
    row(Fault::NoSuchTask, "no_such_task", 404, -32001, "NOT_FOUND", "TASK_NOT_FOUND"),
    row(Fault::NotCancelable, "not_cancelable", 400, -32002, PRECONDITION, "TASK_NOT_CANCELABLE"),
    row(
        Fault::PushNotSupported,
        "push_not_supported",
        400,
        -32003,
        PRECONDITION,
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    row(Fault::TaskEnded, "task_ended", 400, -32004, PRECONDITION, "UNSUPPORTED_OPERATION"),
    row(Fault::TaskBusy, "task_busy", 400, -32004, PRECONDITION, "UNSUPPORTED_OPERATION"),
    row(Fault::Unsupported, "unsupported", 400, -32004, PRECONDITION, "UNSUPPORTED_OPERATION"),
    row(Fault::ContentType, "content_type", 400, -32005, ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED"),
    row(Fault::AgentFailed, "agent_failed", 500, -32006, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    row(
        Fault::ExtensionRequired,
        "extension_required",
        400,
        -32008,
        PRECONDITION,
        "EXTENSION_SUPPORT_REQUIRED",
    ),
    row(Fault::Version, "version", 400, -32009, PRECONDITION, "VERSION_NOT_SUPPORTED"),
    row(Fault::NotJson, "not_json", 400, -32700, ARGUMENT, ""),
    row(Fault::BadRequest, "bad_request", 400, -32600, ARGUMENT, "INVALID_REQUEST"),
    row(Fault::NoSuchMethod, "no_such_method", 404, -32601, "UNIMPLEMENTED", ""),
    row(Fault::BadParams, "bad_params", 400, -32602, ARGUMENT, "INVALID_PARAMS"),
    row(Fault::IdReused, "id_reused", 400, -32602, ARGUMENT, "INVALID_PARAMS"),
    row(Fault::Internal, "internal", 500, -32603, "INTERNAL", "INTERNAL_ERROR"),
    row(Fault::NoSuchAgent, "no_such_agent", 404, OURS, "NOT_FOUND", "AGENT_NOT_FOUND"),
    row(Fault::NoSuchPath, "no_such_path", 404, OURS, "NOT_FOUND", "PATH_NOT_FOUND"),
    row(Fault::NoSuchKey, "no_such_key", 404, OURS, "NOT_FOUND", "KEY_NOT_FOUND"),
    row(Fault::NoSuchLetter, "no_such_letter", 404, OURS, "NOT_FOUND", "LETTER_NOT_FOUND"),
    row(Fault::Unauthenticated, "unauthenticated", 401, OURS, "UNAUTHENTICATED", "UNAUTHENTICATED"),
    row(Fault::Forbidden, "forbidden", 403, OURS, "PERMISSION_DENIED", "PERMISSION_DENIED"),
    row(Fault::ScopeNeeded, "insufficient_scope", 403, OURS, "PERMISSION_DENIED", "INSUFFICIENT_SCOPE"),
    row(Fault::TooLarge, "too_large", 413, OURS, EXHAUSTED, "REQUEST_TOO_LARGE"),
    row(Fault::TooSlow, "too_slow", 408, OURS, "DEADLINE_EXCEEDED", "REQUEST_TOO_SLOW"),
    row(Fault::TooMany, "too_many_requests", 429, OURS, EXHAUSTED, "RATE_LIMITED"),
    row(Fault::AgentBusy, "agent_busy", 429, OURS, EXHAUSTED, "AGENT_BUSY"),
    row(Fault::StoreFull, "store_full", 507, OURS, EXHAUSTED, "STORE_FULL"),
    row(Fault::StoreUnavailable, "store_unavailable", 503, OURS, "UNAVAILABLE", "STORE_UNAVAILABLE"),
    row(Fault::Stopping, "stopping", 503, OURS, "UNAVAILABLE", "SITE_STOPPING"),
    row(Fault::TimedOut, "timed_out", 503, OURS, "UNAVAILABLE", "TIMED_OUT"),
    row(Fault::NoSuchResource, "no_such_resource", 404, -32602, "NOT_FOUND", "RESOURCE_NOT_FOUND"),
    row(Fault::NoSuchSession, "no_such_session", 404, OURS, "NOT_FOUND", "SESSION_NOT_FOUND"),
    row(Fault::NotAcceptable, "not_acceptable", 406, OURS, ARGUMENT, "NOT_ACCEPTABLE"),
    row(Fault::HeaderMismatch, "header_mismatch", 400, -32020, ARGUMENT, "HEADER_MISMATCH"),
    row(Fault::NeedsAbility, "needs_ability", 400, -32021, PRECONDITION, "CAPABILITY_REQUIRED"),
    row(Fault::ProtocolVersion, "protocol_version", 400, -32022, PRECONDITION, "VERSION_NOT_SUPPORTED"),
    row(Fault::NoSuchEntry, "no_such_entry", 404, OURS, "NOT_FOUND", "ENTRY_NOT_FOUND"),
    row(Fault::Moved, "moved", 409, OURS, PRECONDITION, "CHANGED_MEANWHILE"),
    row(Fault::StorageLimit, "storage_limit", 507, OURS, EXHAUSTED, "STORAGE_LIMIT"),
    row(Fault::QuotaExceeded, "quota_exceeded", 429, OURS, EXHAUSTED, "QUOTA_EXCEEDED"),
];

/// A fault with the words for its caller.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) sentence: Cow<'static, str>,
    retry_after: Option<Duration>,
    facts: Vec<(&'static str, String)>,
    violations: Vec<Violation>,
    /// What MCP says besides the sentence.
    data: Option<Box<serde_json::Value>>,
}

/// A field that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Violation {
    /// Where, in the caller's own spelling.
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) description: String,
}

/// An error of the REST face.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct RestError<'a> {
    error: RestErrorDetail<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct RestErrorDetail<'a> {
    code: &'static str,
    message: &'a str,
}

impl Failure {
    pub(crate) fn new(fault: Fault, sentence: impl Into<Cow<'static, str>>) -> Self {
        Self {
            fault,
            sentence: sentence.into(),
            retry_after: None,
            facts: Vec::new(),
            violations: Vec::new(),
            data: None,
        }
    }

    /// Says when to try again.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds a fact that programs can read.
    pub(crate) fn fact(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Names the fields that are wrong.
    pub(crate) fn violations(mut self, violations: Vec<Violation>) -> Self {
        self.violations = violations;
        self
    }

    /// The row of the table.
    pub(crate) fn row(&self) -> &'static Row {
        let row = &TABLE[self.fault as usize];
        debug_assert_eq!(row.fault, self.fault, "the table stands in the order of the faults");
        row
    }

    /// The status where HTTP speaks for itself.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The refusal of a method that an address does not have; its status is 405 in every face.
    pub(crate) fn wrong_method(method: &Method) -> Self {
        let sentence = format!("{method} is not possible at this address; the Allow header names what is");
        Self::new(Fault::BadRequest, sentence)
    }

    /// The answer of the REST face: `{"error":{"code":…,"message":…}}`.
    pub(crate) fn rest(&self) -> Response {
        self.respond_json(&RestError {
            error: RestErrorDetail { code: self.row().word, message: &self.sentence },
        })
    }

    /// The answer by JSON-RPC; `id` is the request's own, as JSON.
    pub(crate) fn rpc(&self, id: &str) -> Response {
        let status = if self.row().keeps_status { self.status() } else { StatusCode::OK };
        self.respond(status, self.rpc_body(id))
    }

    /// The answer of the HTTP+JSON binding, as AIP-193 has it, in this media type.
    pub(crate) fn status_answer(&self, media: &'static str) -> Response {
        let row = self.row();
        let mut error =
            serde_json::json!({ "code": row.status, "status": row.code, "message": self.sentence });
        if !row.reason.is_empty() {
            error["details"] = self.details();
        }
        let body = serde_json::json!({ "error": error });
        let mut response = self.respond(self.status(), body.to_string().into_bytes());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        response
    }

    /// The JSON-RPC error object around this failure; streams write it as an event.
    pub(crate) fn rpc_body(&self, id: &str) -> Vec<u8> {
        let mut error = serde_json::json!({ "code": self.row().rpc, "message": self.sentence });
        if !self.row().reason.is_empty() {
            error["data"] = self.details();
        }
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
    }

    /// Whose vocabulary the reason is of.
    fn domain(&self) -> &'static str {
        if self.row().rpc == OURS { "agentsite" } else { "a2a-protocol.org" }
    }

    fn details(&self) -> serde_json::Value {
        let facts: serde_json::Map<_, _> =
            self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let mut details = vec![serde_json::json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.row().reason,
            "domain": self.domain(),
            "metadata": facts,
        })];
        if !self.violations.is_empty() {
            details.push(serde_json::json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": self.violations,
            }));
        }
        details.into()
    }

    /// The whole answer, with this body.
    fn respond_json(&self, body: &impl Serialize) -> Response {
        self.respond(self.status(), serde_json::to_vec(body).unwrap_or_default())
    }

    /// Puts the headers on that belong to the fault, whatever the body is.
    pub(crate) fn respond(&self, status: StatusCode, body: impl Into<Body>) -> Response {
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        response.extensions_mut().insert(Outcome::of(self.status()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.fault == Fault::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer realm="agentsite""#));
        }
        if let Some(wait) = self.retry_after {
            // Rounded up: a caller that comes exactly then must find the door open.
            let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Where a handler does not say otherwise, a failure is answered as the REST face does.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        self.rest()
    }
}

/// The row of an error of the site.
const fn fault_of(error: &SiteError) -> Fault {
    match error {
        SiteError::NoSuchAgent(_) | SiteError::NoSuchListing(_) => Fault::NoSuchAgent,
        SiteError::QuotaExceeded(_) => Fault::QuotaExceeded,
        SiteError::BadListing(_) | SiteError::Unreachable(_) => Fault::BadParams,
        SiteError::NoSuchTask(_) | SiteError::NoSuchReceiver(_) => Fault::NoSuchTask,
        SiteError::PushOff => Fault::PushNotSupported,
        SiteError::BadPush(_) => Fault::BadParams,
        SiteError::NoSuchLetter(_) => Fault::NoSuchLetter,
        SiteError::NotFound(_) => Fault::NoSuchResource,
        SiteError::ConversationMoved => Fault::Moved,
        SiteError::BadConversation(_) => Fault::BadParams,
        SiteError::NotCancelable(_) => Fault::NotCancelable,
        SiteError::TaskEnded(_) => Fault::TaskEnded,
        SiteError::TaskBusy(_) => Fault::TaskBusy,
        SiteError::ContextMismatch | SiteError::BadMessage(_) | SiteError::BadQuery(_) => Fault::BadParams,
        SiteError::ExtensionRequired(_) => Fault::ExtensionRequired,
        SiteError::IdReused => Fault::IdReused,
        SiteError::MediaType { .. } => Fault::ContentType,
        SiteError::Busy { .. } => Fault::AgentBusy,
        SiteError::AgentReplaced(_) => Fault::Unsupported,
        SiteError::Forbidden(_) | SiteError::NameTaken(_) | SiteError::AdminToken => Fault::Forbidden,
        SiteError::BadKey | SiteError::BadToken(_) => Fault::Unauthenticated,
        SiteError::ScopeNeeded(_) => Fault::ScopeNeeded,
        SiteError::Stopping => Fault::Stopping,
        SiteError::Store(StoreError::Moved(_) | StoreError::Foreign(_)) => Fault::Moved,
        SiteError::Store(StoreError::Full) => Fault::StoreFull,
        SiteError::Store(StoreError::Unavailable(_) | StoreError::Fenced) => Fault::StoreUnavailable,
        SiteError::Store(StoreError::OverLimit { .. }) => Fault::StorageLimit,
        SiteError::Store(_) | SiteError::Identity | SiteError::Search(_) => Fault::Internal,
        SiteError::Agent(_) => Fault::AgentFailed,
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        SiteError::from(error).into()
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        SiteError::from(error).into()
    }
}

impl From<ConversationError> for Failure {
    fn from(error: ConversationError) -> Self {
        SiteError::from(error).into()
    }
}

impl From<RoomError> for Failure {
    fn from(error: RoomError) -> Self {
        SiteError::from(error).into()
    }
}

impl From<SiteError> for Failure {
    fn from(error: SiteError) -> Self {
        let fault = fault_of(&error);
        if fault == Fault::Internal {
            tracing::error!(error = %error, "a request failed inside the site");
            return Self::new(fault, "the site could not do this; its log says why, try again later");
        }
        if fault == Fault::StoreUnavailable {
            // The reason names the server, which is no caller's concern.
            tracing::error!(error = %error, "a request failed because the database did not take it");
            let words = match error {
                SiteError::Store(StoreError::Fenced) => {
                    "this process of the site is joining it again; try again in a moment"
                }
                _ => "the database of this site does not answer; try again in a moment",
            };
            return Self::new(fault, words).retry_after(RETRY_LATER);
        }
        let failure = Self::new(fault, error.to_string());
        match error {
            SiteError::Busy { retry_after, .. } => failure.retry_after(retry_after),
            SiteError::Store(StoreError::OverLimit { setting, used, limit, .. }) => failure
                .fact("setting", setting)
                .fact("used", used.to_string())
                .fact("limit", limit.to_string()),
            SiteError::Stopping | SiteError::Store(_) => failure.retry_after(RETRY_LATER),
            SiteError::NotCancelable(state) | SiteError::TaskEnded(state) | SiteError::TaskBusy(state) => {
                failure.fact("state", state.word())
            }
            SiteError::BadPush(wrong) => {
                let violation = Violation { field: wrong.field.to_owned(), description: wrong.what };
                failure.violations(vec![violation])
            }
            _ => failure,
        }
    }
}

impl From<OperatorError> for Failure {
    fn from(error: OperatorError) -> Self {
        let fault = match &error {
            OperatorError::Moved | OperatorError::Exists(_) => Fault::Moved,
            OperatorError::Wrong(_) => Fault::BadParams,
            OperatorError::File(_) => Fault::Unsupported,
        };
        Self::new(fault, error.to_string())
    }
}

/// When to come back to a site that restarts or whose disk is full: about as long as a restart takes.
const RETRY_LATER: Duration = Duration::from_secs(5);
