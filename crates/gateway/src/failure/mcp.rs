//! A failure as MCP tells it: a JSON-RPC error, and the HTTP status that goes with it in each era of the
//! protocol.
//!
//! Promises: codes come from the one table; an answer to a request whose id could not be read has none, as
//! MCP's schemas want it. Clients of the sessions read no body of anything but 200, so that only what HTTP
//! itself must see has another status there. It does not decide what is wrong.

use agentsite_site::{ToolFault, ToolkitError};
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Failure, Fault};

/// What sessions call a resource that is not there.
const OLD_NO_SUCH_RESOURCE: i32 = -32002;

const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;

/// The two ways in which MCP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With sessions: 2025-11-25 and before.
    Sessions,
    /// Each request by itself: 2026-07-28.
    Stateless,
}

/// The code in MCP of what has this code in A2A, whose own numbers mean nothing there.
pub(super) const fn code(rpc: i32) -> i32 {
    match rpc {
        -32006 => INTERNAL,
        -32009 => -32022,
        -32008..=-32001 => INVALID_PARAMS,
        other => other,
    }
}

impl Failure {
    /// Adds what programs can read of it in MCP.
    pub(crate) fn data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// The refusal of a question that the client did not say it can answer.
    pub(crate) fn needs(what: &str, capability: &Value) -> Self {
        let sentence =
            format!("this needs a client that can {what}; declare that capability, or use another client");
        Self::new(Fault::NeedsAbility, sentence).data(json!({ "requiredCapabilities": capability }))
    }

    /// The answer in MCP to the request of this id, which is JSON.
    pub(crate) fn mcp(&self, era: Era, id: Option<&str>) -> Response {
        self.respond(self.mcp_status(era), self.mcp_body(era, id))
    }

    /// The JSON-RPC error object; streams write it as an event.
    pub(crate) fn mcp_body(&self, era: Era, id: Option<&str>) -> Vec<u8> {
        let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
        format!(r#"{{"jsonrpc":"2.0",{id}"error":{}}}"#, self.mcp_error(era)).into_bytes()
    }

    /// The error itself.
    pub(crate) fn mcp_error(&self, era: Era) -> Value {
        let mut error = json!({ "code": self.mcp_code(era), "message": self.sentence });
        if let Some(data) = &self.data {
            error["data"] = Value::clone(data);
        }
        error
    }

    fn mcp_code(&self, era: Era) -> i32 {
        match (era, self.fault) {
            (Era::Sessions, Fault::NoSuchResource) => OLD_NO_SUCH_RESOURCE,
            _ => self.row().mcp,
        }
    }

    fn mcp_status(&self, era: Era) -> StatusCode {
        match (era, self.row().mcp) {
            (_, INTERNAL) => StatusCode::OK,
            (Era::Sessions, _) if !self.row().keeps_status => StatusCode::OK,
            (Era::Stateless, INVALID_PARAMS) => StatusCode::BAD_REQUEST,
            _ => self.status(),
        }
    }
}

impl From<ToolkitError> for Failure {
    fn from(error: ToolkitError) -> Self {
        let fault = match error {
            ToolkitError::Site(error) => return error.into(),
            ToolkitError::Tool(fault) => fault,
        };
        let sentence = fault.to_string();
        match fault {
            ToolFault::NoSuchTool(_) | ToolFault::NoSuchPrompt(_) | ToolFault::BadArguments(_) => {
                Self::new(Fault::BadParams, sentence)
            }
            ToolFault::NoSuchResource(uri) => {
                Self::new(Fault::NoSuchResource, sentence).data(json!({ "uri": uri }))
            }
            ToolFault::NeedsAbility { capability, .. } => {
                Self::new(Fault::NeedsAbility, sentence).data(json!({ "requiredCapabilities": capability }))
            }
            ToolFault::Down(_) | ToolFault::Failed(_) => Self::new(Fault::AgentFailed, sentence),
        }
    }
}
