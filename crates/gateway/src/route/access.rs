//! Access: who may use a route, and the one check of it.
//!
//! Promises: the check recognises and counts the caller before the handler runs, and hands it on with the
//! request, the only place where a handler behind it finds one. Rows with `Access::PerAgent` are the
//! exception: A2A, and MCP of one agent. It does not decide what a caller sees: the site does.

use agentsite_protocol::Caller;
use http::request::Parts;
use http::{HeaderMap, header};

use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, uncounted: what supervisors probe and what browsers load.
    Open,
    /// Everybody, counted by address; credentials are not looked at.
    Address,
    /// Every caller; the site shows each what is for it.
    Caller,
    /// The same for programs that must send a placeholder where no key is needed.
    Program,
    /// Callers with a credential.
    Known,
    /// Callers with a credential, from no page of another origin: they open a WebSocket.
    Socket,
    /// Callers with the scope `admin`.
    Admin,
    /// Admins, or everybody where the operator made the metrics public.
    Metrics,
    /// A browser that loads the page: everybody, counted by address. Readers of its text: every caller.
    Page,
    /// Every caller that may use the addressed agent. The handler recognises the caller, because the protocol
    /// decides what is looked at first and where the agent is named.
    PerAgent,
}

impl Access {
    /// Whether a request without a key is always refused.
    pub(crate) const fn needs_key(self) -> bool {
        matches!(self, Self::Known | Self::Socket | Self::Admin)
    }

    /// Lets a request in, with its caller, or refuses it.
    pub(super) async fn admit(self, front: &Front, parts: &mut Parts) -> Result<(), Failure> {
        let caller = match self {
            Self::Open | Self::PerAgent => return Ok(()),
            Self::Metrics if front.settings.metrics_public => return Ok(()),
            Self::Address => return front.admit_stranger(parts),
            Self::Page if loads_page(parts) => return front.admit_stranger(parts),
            Self::Caller | Self::Page => front.admit(parts).await?,
            Self::Program => front.admit_program(parts).await?,
            Self::Known => front.admit_known(parts).await?,
            Self::Socket => front.admit_socket(parts).await?,
            Self::Admin | Self::Metrics => only_admin(front.admit_known(parts).await?)?,
        };
        parts.extensions.insert(caller);
        Ok(())
    }
}

/// The caller that the check let in.
///
/// # Errors
/// A fault of the site when the route of the handler lets requests in without one.
pub(crate) fn caller(parts: &mut Parts) -> Result<Caller, Failure> {
    parts.extensions.remove().ok_or_else(|| {
        tracing::error!(path = parts.uri.path(), "A handler wants a caller, but its route recognises none.");
        Failure::new(Fault::Internal, "the site could not tell who calls; its log says why")
    })
}

/// Whether a request loads a page, rather than the text of it that programs read.
pub(crate) fn loads_page(parts: &Parts) -> bool {
    wants_html(&parts.headers) && !parts.uri.path().ends_with(".md")
}

/// Whether the caller is a browser or asks like one.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/html")
}

fn only_admin(caller: Caller) -> Result<Caller, Failure> {
    if caller.is_admin() {
        return Ok(caller);
    }
    Err(Failure::new(Fault::Forbidden, "Only an admin may do this. Use a key with the scope admin."))
}
