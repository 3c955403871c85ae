//! Why a tool server could not be used.
//!
//! Promises: each sentence says what happened, in the server's own text where there is one, and no sentence
//! contains a credential. Callers ask by meaning (`is_down`, `is_bad_request`) and need not know the codes of
//! the protocol.

use std::time::Duration;

use agentsite_egress::EgressError;
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;

/// The code under which a too large answer travels through the engine; no server can use it, because it is
/// out of their range.
pub(super) const TOO_LARGE: ErrorCode = ErrorCode(i32::MIN);

/// Why a tool server could not be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum McpError {
    /// The address is not allowed; a retry does not help.
    #[error(transparent)]
    Egress(EgressError),
    /// The server is not there, or broke off; a new connection may help.
    #[error("{0}")]
    Down(String),
    /// It took too long.
    #[error("the tool server did not {what} within {} s", .after.as_secs())]
    TimedOut {
        /// What it should have done.
        what: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// It said more than is taken.
    #[error("{0}")]
    TooLarge(String),
    /// The answer is not what the protocol says.
    #[error("the tool server sent an unexpected answer: {0}")]
    BadAnswer(String),
    /// The server refused, in the protocol's own form.
    #[error("{message}")]
    Refused {
        /// The protocol's number for the reason.
        code: i64,
        /// The server's words.
        message: String,
        /// What it adds.
        data: Option<Value>,
    },
    /// The server supports no common revision, or does not offer this.
    #[error("{0}")]
    Unsupported(String),
    /// The server requires an authorization that we do not have.
    #[error("{0}")]
    Unauthorized(String),
    /// The server requires a login: there was none, or its token is refused.
    #[error("the tool server requires a login")]
    LoginNeeded,
    /// The call that asked the question waits no longer.
    #[error(
        "the call that asked this question is gone (the tool server was restarted, or too much time passed); make the call again"
    )]
    CallGone,
    /// Too many calls wait for answers of our side.
    #[error("{0} calls of this tool server wait for answers already; answer those first")]
    TooManyParked(usize),
}

impl McpError {
    /// Whether the server is gone, so that a new connection is needed or may help.
    #[must_use]
    pub const fn is_down(&self) -> bool {
        matches!(self, Self::Down(_) | Self::Egress(_) | Self::TimedOut { .. })
    }

    /// Whether the server does not take the request as it was made: an unknown tool, or arguments that do not
    /// fit.
    #[must_use]
    pub fn is_bad_request(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == i64::from(ErrorCode::INVALID_PARAMS.0))
    }

    /// Whether the server does not have this resource.
    #[must_use]
    pub fn is_unknown_resource(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == i64::from(ErrorCode::RESOURCE_NOT_FOUND.0))
    }

    /// Whether the server does not have the operation.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code == i64::from(ErrorCode::METHOD_NOT_FOUND.0),
            Self::Unsupported(_) => true,
            _ => false,
        }
    }
}

impl McpError {
    /// Whether the headers of a request did not say what its body says; nothing was done.
    pub(super) fn misses_headers(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == i64::from(ErrorCode::HEADER_MISMATCH.0))
    }
}

impl From<EgressError> for McpError {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::NoConnection { .. }
            | EgressError::Unreachable { .. }
            | EgressError::TimedOut { .. } => Self::Down(error.to_string()),
            EgressError::TooLarge { .. } => Self::TooLarge(error.to_string()),
            other => Self::Egress(other),
        }
    }
}

impl From<ServiceError> for McpError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => refused(error),
            ServiceError::TransportSend(error) => of_transport(&error),
            ServiceError::TransportClosed => Self::Down("the tool server ended the connection".into()),
            ServiceError::UnexpectedResponse => Self::BadAnswer("it is the answer to another request".into()),
            other => Self::Down(other.to_string()),
        }
    }
}

impl From<ClientInitializeError> for McpError {
    fn from(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::ConnectionClosed(_) => {
                Self::Down("the tool server ended before it introduced itself".into())
            }
            ClientInitializeError::TransportError { error, .. } => of_transport(&error),
            ClientInitializeError::JsonRpcError(error) => refused(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => Self::from(*fallback),
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                let theirs: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).collect();
                Self::Unsupported(format!("the tool server supports only {}", theirs.join(", ")))
            }
            other => Self::BadAnswer(short(&other.to_string())),
        }
    }
}

fn refused(error: rmcp::ErrorData) -> McpError {
    if error.code == TOO_LARGE {
        return McpError::TooLarge(error.message.into_owned());
    }
    McpError::Refused { code: i64::from(error.code.0), message: short(&error.message), data: error.data }
}

/// Longest text of a server within an error; whole pages would not help.
const MAX_WORDS: usize = 2_000;

fn short(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect()
}

/// The challenge of a server that refused a request because it requires another authorization: nothing was
/// done, so the request may be repeated.
pub(super) fn challenge_of(error: &ServiceError) -> Option<&str> {
    let ServiceError::TransportSend(error) = error else { return None };
    error.error.downcast_ref::<StreamableHttpError<EgressError>>()?.auth_challenge()
}

/// Reads what went wrong out of an error of a transport.
pub(super) fn of_transport(error: &DynamicTransportError) -> McpError {
    match error.error.downcast_ref::<StreamableHttpError<EgressError>>() {
        Some(StreamableHttpError::Client(error)) => McpError::from(error.clone()),
        Some(StreamableHttpError::AuthRequired(_)) => McpError::Unauthorized(
            "the tool server requires an authorization: give it a token, or log in".into(),
        ),
        Some(StreamableHttpError::InsufficientScope(_)) => {
            McpError::Unauthorized("the authorization does not cover this".into())
        }
        Some(StreamableHttpError::Auth(error)) => {
            McpError::Unauthorized(format!("the login to the tool server failed: {error}"))
        }
        Some(StreamableHttpError::UnexpectedServerResponse(what)) => McpError::BadAnswer(short(what)),
        Some(StreamableHttpError::UnexpectedContentType(kind)) => {
            McpError::BadAnswer(format!("the content type {kind:?} is not one of MCP"))
        }
        Some(other) => McpError::Down(short(&other.to_string())),
        None => McpError::Down(format!("the tool server cannot be written to: {}", error.error)),
    }
}
