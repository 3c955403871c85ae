//! Why something could not be fetched from outside.
//!
//! Promises: each sentence says what happened and what to do; none holds a credential or a query string. A
//! refusal by the guard and a failing network are different variants, because only a network failure is worth
//! a retry.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use url::Url;

/// Why something could not be fetched from outside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The address is not one that a site may ask.
    #[error("`{url}` cannot be used: {what}")]
    Address {
        /// The address, shortened.
        url: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The address leads into a private network.
    #[error(
        "{host} is {address}, which is not on the public internet: if this is intended, allow it in the \
         configuration with [egress] allow = [\"{allow}\"]"
    )]
    Private {
        /// The host as it was named.
        host: String,
        /// Where it leads.
        address: IpAddr,
        /// What the operator would have to write.
        allow: String,
    },
    /// The name has no address.
    #[error("{host} has no address: check the spelling, and that this machine can resolve names ({reason})")]
    Unresolved {
        /// The name.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// No connection was established, so nothing was sent.
    #[error("{origin} cannot be reached: {reason}")]
    NoConnection {
        /// Scheme, host and port.
        origin: String,
        /// What the network says.
        reason: String,
    },
    /// The connection broke, or its data was invalid.
    #[error("{origin} cannot be reached: {reason}")]
    Unreachable {
        /// Scheme, host and port.
        origin: String,
        /// What the network says.
        reason: String,
    },
    /// It took too long.
    #[error("{origin} did not answer within {}", seconds(*.after))]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// It answered with more than is taken.
    #[error("{origin} answered with more than {limit} bytes; ask for less, or raise the limit")]
    TooLarge {
        /// Scheme, host and port.
        origin: String,
        /// What is taken.
        limit: usize,
    },
    /// It sends from one place to the next.
    #[error("{origin} redirects more than {limit} times; use the final address")]
    Redirects {
        /// Scheme, host and port of the last stop.
        origin: String,
        /// How many redirects are followed.
        limit: usize,
    },
    /// It answered with an error status where a document or an answer was wanted.
    #[error("{message}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// What was answered, and what to do.
        message: String,
    },
    /// The settings cannot be used.
    #[error("the egress settings cannot be used: {0}")]
    Settings(String),
}

impl EgressError {
    /// Whether this site refused the address or could not use it, so that nothing was sent: another try does
    /// not help, unless the name resolves by then.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Address { .. }
                | Self::Private { .. }
                | Self::Unresolved { .. }
                | Self::Redirects { .. }
                | Self::Settings(_)
        )
    }
}

fn seconds(after: Duration) -> String {
    if after.subsec_millis() == 0 {
        format!("{} s", after.as_secs())
    } else {
        format!("{} ms", after.as_millis())
    }
}

/// A name that leads into private networks only; travels from the resolver through the HTTP client to
/// [`failure_of`].
#[derive(Debug, Clone, thiserror::Error)]
#[error("{host} leads to {address}, which is not on the public internet")]
pub(super) struct LeadsInside {
    pub(super) host: String,
    pub(super) address: IpAddr,
}

/// A name without an address; travels the same way.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{host}: {reason}")]
pub(super) struct NoAddress {
    pub(super) host: String,
    pub(super) reason: String,
}

/// Scheme, host and port of an address: all that a message may show of it.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Reads what went wrong out of an error of the HTTP client.
pub(super) fn failure_of(error: &reqwest::Error, url: &Url, waited: Duration) -> EgressError {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    let mut last = String::new();
    while let Some(cause) = source {
        if let Some(inside) = cause.downcast_ref::<LeadsInside>() {
            let port = url.port_or_known_default().unwrap_or_default();
            let allow = format!("{}:{port}", inside.host);
            return EgressError::Private { host: inside.host.clone(), address: inside.address, allow };
        }
        if let Some(nowhere) = cause.downcast_ref::<NoAddress>() {
            return EgressError::Unresolved { host: nowhere.host.clone(), reason: nowhere.reason.clone() };
        }
        last = cause.to_string();
        source = cause.source();
    }
    if error.is_connect() {
        return EgressError::NoConnection { origin: origin(url), reason: last };
    }
    if error.is_timeout() {
        return EgressError::TimedOut { origin: origin(url), after: waited };
    }
    EgressError::Unreachable { origin: origin(url), reason: last }
}
