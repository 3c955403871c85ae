//! Ephemeral input: what was sent with a message and is not part of the task.
//!
//! Promises: it lives in memory for one run only; it is never written to the store, the journal or a log. A
//! run that is tried again after a restart comes without it, and an agent that still needs a credential asks
//! for it again.

use std::fmt;

use agentsite_protocol::TraceContext;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

use crate::TaskBudget;

/// What was sent with a message for this one run.
#[derive(Debug, Clone, Default)]
pub struct Ephemeral {
    /// What the agent asked for when it needed a permission.
    pub credential: Option<Credential>,
    /// Extensions of the protocol that the caller requests, by their URIs.
    pub extensions: Vec<String>,
    /// In which trace the caller asks; passed on to whomever the agent calls.
    pub trace: Option<TraceContext>,
    /// What a tool wanted to be reminded of when it asked its caller before the task began.
    pub state: Option<Value>,
    /// What the message that led to this one may still spend.
    pub budget: TaskBudget,
}

impl Ephemeral {
    /// The headers that carry the trace on; none when there is none.
    #[must_use]
    pub fn trace_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some(trace) = &self.trace else { return headers };
        let pairs = [("traceparent", Some(trace.parent())), ("tracestate", trace.state())];
        for (name, value) in pairs {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// A secret that a caller hands to an agent in the course of a task.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

impl Credential {
    /// Takes the secret over.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself, for the agent alone.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Credential(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_does_not_show_itself() {
        let ephemeral = Ephemeral { credential: Some(Credential::new("s3cret")), ..Ephemeral::default() };
        assert!(!format!("{ephemeral:?}").contains("s3cret"));
    }
}
