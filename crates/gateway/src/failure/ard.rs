//! A failure as registries of agents tell it: `{"errorCode","message"}` in ARD, `{"error"}` in the registry
//! API of MCP.
//!
//! Promises: status and sentence are those of the one table and of every other face. ARD names codes for five
//! statuses (specification, appendix B); what it does not name counts as the caller's mistake below 500 and
//! as the site's from there on.

use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use super::Failure;

/// The code in ARD of what has this status.
pub(super) const fn code(status: u16) -> &'static str {
    match status {
        401 | 403 => "UNAUTHENTICATED",
        404 => "NOT_FOUND",
        429 => "RATE_LIMIT_EXCEEDED",
        501 => "NOT_IMPLEMENTED",
        500.. => "INTERNAL_ERROR",
        _ => "INVALID_ARGUMENT",
    }
}

/// An error in ARD.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArdError<'a> {
    error_code: &'static str,
    message: &'a str,
}

/// An error in the registry API of MCP.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServersError<'a> {
    error: &'a str,
}

impl Failure {
    /// The whole answer in ARD.
    pub(crate) fn ard(&self) -> Response {
        self.respond_json(&ArdError { error_code: self.row().ard, message: &self.sentence })
    }

    /// The whole answer in the registry API of MCP.
    pub(crate) fn mcp_registry(&self) -> Response {
        self.respond_json(&ServersError { error: &self.sentence })
    }
}
