//! Why an agent or a site could not be used.
//!
//! Promises: each sentence says what happened, in the other side's text where there is one; no sentence
//! contains a credential. Callers ask by meaning (`is_unknown_task`, `may_pass`) and need not know the codes
//! of the protocol.

use std::time::Duration;

use serde_json::Value;

use agentsite_egress::{CircuitOpen, CircuitPermit, EgressError};

/// JSON-RPC code of A2A for a task that does not exist.
const TASK_NOT_FOUND: i64 = -32001;
/// JSON-RPC code of A2A for a task that cannot be cancelled, because it has ended.
const TASK_NOT_CANCELABLE: i64 = -32002;
/// JSON-RPC code of A2A for what an agent does not support, such as following a task that has ended.
const UNSUPPORTED: i64 = -32004;
/// JSON-RPC code of A2A for a version that the agent does not support.
const VERSION_NOT_SUPPORTED: i64 = -32009;
/// HTTP statuses of a proxy or server without a working backend. Only the second says that the request was
/// not taken.
const BAD_GATEWAY: u16 = 502;
const UNAVAILABLE: u16 = 503;
const GATEWAY_TIMEOUT: u16 = 504;
/// JSON-RPC code for a method that does not exist.
const NO_METHOD: i64 = -32601;

/// Why an agent or a site could not be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// The address is not allowed; a retry does not help.
    #[error(transparent)]
    Egress(EgressError),
    /// No connection came about: nothing was sent.
    #[error("{0}")]
    NoConnection(String),
    /// The connection broke; what was sent may have arrived.
    #[error("{0}")]
    Unreachable(String),
    /// The endpoint failed again and again and is paused for a while: nothing was sent.
    #[error("{endpoint} is paused for {} s, because it failed repeatedly: {why}", .rest.as_secs() + 1)]
    Resting {
        /// Which one.
        endpoint: String,
        /// What went wrong last.
        why: String,
        /// How long still.
        rest: Duration,
    },
    /// It took too long.
    #[error("{0}")]
    TimedOut(String),
    /// It answered with more than is taken.
    #[error("{0}")]
    TooLarge(String),
    /// The stream ended before the task did.
    #[error("{from} ended the stream before the task was done")]
    Cut {
        /// Who ended it.
        from: String,
    },
    /// The answer is not what the protocol says.
    #[error("{from} sent an unexpected answer: {what}")]
    BadAnswer {
        /// Who answered.
        from: String,
        /// What is wrong with it.
        what: String,
    },
    /// The agent refused, in the protocol's own form.
    #[error("{message}")]
    Refused {
        /// The protocol's number for the reason.
        code: i64,
        /// The other side's words.
        message: String,
        /// What it adds.
        data: Option<Value>,
    },
    /// The server refused with an HTTP status.
    #[error("{message}")]
    Status {
        /// The status.
        status: u16,
        /// The server's own word for the reason, when it has one.
        code: Option<String>,
        /// The server's sentence, or one about the status.
        message: String,
    },
    /// The agent offers no binding or version that we support.
    #[error("{0}")]
    Unsupported(String),
}

impl ClientError {
    /// Whether the other side does not know the task.
    #[must_use]
    pub fn is_unknown_task(&self) -> bool {
        matches!(self, Self::Refused { code: TASK_NOT_FOUND, .. })
    }

    /// Whether the other side cannot do this, or not with this task.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Refused { code: UNSUPPORTED | NO_METHOD | TASK_NOT_CANCELABLE, .. })
    }

    /// Whether the same request may succeed later: the network failed, or the server was busy or broken for a
    /// moment.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoConnection(_) | Self::Resting { .. } => true,
            Self::Unreachable(_) | Self::TimedOut(_) | Self::Cut { .. } => true,
            Self::Status { status, .. } => matches!(status, 429 | 500..=599),
            Self::Egress(EgressError::Unresolved { .. }) => true,
            _ => false,
        }
    }
}

impl ClientError {
    /// Whether the agent certainly did not get the request, so that it may be sent another way: no connection
    /// was made, the address was refused, the server reports that it cannot serve now, or it does not support
    /// this version.
    pub(crate) fn never_arrived(&self) -> bool {
        match self {
            Self::NoConnection(_) | Self::Resting { .. } | Self::Egress(_) => true,
            Self::Status { status, .. } => *status == UNAVAILABLE,
            Self::Refused { code, .. } => *code == VERSION_NOT_SUPPORTED,
            _ => false,
        }
    }

    /// Reports to the circuit of an endpoint how a call went: an error of the network or of a server that
    /// cannot serve is a failure, all else an answer.
    pub(crate) fn report(outcome: Option<&Self>, permit: CircuitPermit) {
        match outcome.filter(|error| error.is_failing()) {
            None => permit.answered(),
            Some(error) => permit.failed(&error.to_string()),
        }
    }

    /// Whether the way to the agent failed, so that another may succeed; what was sent may have arrived all
    /// the same.
    pub(crate) fn is_failing(&self) -> bool {
        match self {
            Self::NoConnection(_) | Self::Unreachable(_) | Self::TimedOut(_) => true,
            Self::Status { status, .. } => matches!(*status, BAD_GATEWAY | UNAVAILABLE | GATEWAY_TIMEOUT),
            Self::Egress(EgressError::Unresolved { .. }) => true,
            _ => false,
        }
    }
}

impl From<EgressError> for ClientError {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::NoConnection { .. } => Self::NoConnection(error.to_string()),
            EgressError::Unreachable { .. } => Self::Unreachable(error.to_string()),
            EgressError::TimedOut { .. } => Self::TimedOut(error.to_string()),
            EgressError::TooLarge { .. } => Self::TooLarge(error.to_string()),
            EgressError::Status { status, message } => Self::Status { status, code: None, message },
            other => Self::Egress(other),
        }
    }
}

impl From<CircuitOpen> for ClientError {
    fn from(CircuitOpen { endpoint, why, rest }: CircuitOpen) -> Self {
        Self::Resting { endpoint, why, rest }
    }
}
