//! A failure as programs made for OpenAI's interface read it: `{"error":{"message","type","param","code"}}`.
//!
//! Promises: status, sentence and wrong field are those of the one table and of every other face; only the
//! words of `type` and `code` are those that such programs know. What failed inside an agent, or lasts until
//! something is removed, is marked so that they do not try it again by themselves.

use axum::response::Response;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{Failure, Fault};

/// This header says to the official clients whether to try again; without it they repeat whatever failed
/// with a 5xx, and an agent's work would be done twice.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl Failure {
    /// The whole answer.
    pub(crate) fn openai(&self) -> Response {
        let mut response = self.respond(self.status(), json!({ "error": self.openai_error() }).to_string());
        let lasts = self.status().is_server_error() || self.fault == Fault::QuotaExceeded;
        if lasts && self.retry_after.is_none() {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }

    /// What stands under `error`.
    pub(crate) fn openai_error(&self) -> Value {
        let param = self.violations.first().map(|wrong| wrong.field.as_str());
        json!({ "message": self.sentence, "type": self.openai_type(), "param": param, "code": self.openai_code() })
    }

    fn openai_type(&self) -> &'static str {
        match self.fault {
            Fault::TooMany | Fault::AgentBusy => "rate_limit_error",
            Fault::QuotaExceeded => "insufficient_quota",
            Fault::Forbidden => "permission_error",
            _ if self.status().is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// The word that programs compare with, where there is one that they know; else ours.
    fn openai_code(&self) -> &'static str {
        match self.fault {
            Fault::NoSuchAgent => "model_not_found",
            Fault::Unauthenticated => "invalid_api_key",
            Fault::TooMany | Fault::AgentBusy => "rate_limit_exceeded",
            Fault::QuotaExceeded => "insufficient_quota",
            Fault::Unsupported => "unsupported_parameter",
            Fault::BadParams => "invalid_value",
            Fault::AgentFailed => "server_error",
            _ => self.row().word,
        }
    }
}
