//! Front: what every handler works with, and the way each request takes before it reaches the site.
//!
//! Promises: no handler gets a Caller but from here, so that every one was recognised and counted. It does not route and
//! does not know any protocol.

use std::net::SocketAddr;
use std::sync::Arc;

use agentsite_protocol::{AccessToken, Caller};
use agentsite_site::{Site, SiteError};
use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use prometheus_client::registry::Registry;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::caller::{Claim, Door, SESSION_COOKIE};
use crate::charts::Charts;
use crate::failure::{Failure, Fault};
use crate::limits::{Throttle, read_body};
use crate::line::Line;
use crate::settings::GatewaySettings;
use crate::transcripts::Transcripts;

/// Most sockets at once: the agents that a site takes, and some that are just about to say who they are.
const MAX_SOCKETS: usize = 1_100;

/// What every handler works with.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) site: Site,
    pub(crate) settings: GatewaySettings,
    pub(crate) registry: Arc<Registry>,
    /// Cancelled when the gateway stops: streams end, no connection is accepted.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the time to finish is over: whoever waits for an agent is told how far it is.
    pub(crate) closing: CancellationToken,
    /// Places for sockets, which stay open for as long as their programs run.
    pub(crate) sockets: Arc<Semaphore>,
    /// How the site fared over the last day.
    pub(crate) charts: Charts,
    /// Conversations with programs that tell the whole transcript each time.
    pub(crate) transcripts: Transcripts,
    listen: SocketAddr,
    door: Door,
    throttle: Throttle,
}

impl Front {
    pub(crate) fn new(
        settings: GatewaySettings,
        site: Site,
        registry: Arc<Registry>,
        listen: SocketAddr,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let (door, throttle) = (Door::new(&settings), Throttle::new(&settings.rates));
        Arc::new(Self {
            site,
            settings,
            registry,
            stop,
            closing: CancellationToken::new(),
            sockets: Arc::new(Semaphore::new(MAX_SOCKETS)),
            charts: Charts::default(),
            transcripts: Transcripts::default(),
            listen,
            door,
            throttle,
        })
    }

    /// Recognises the caller and lets it in.
    pub(crate) async fn admit(&self, parts: &Parts) -> Result<Caller, Failure> {
        self.admit_claim(parts, self.door.claim(line(parts)?, parts)?).await
    }

    /// The same for programs that must send a placeholder as their key where none is needed.
    pub(crate) async fn admit_program(&self, parts: &Parts) -> Result<Caller, Failure> {
        self.admit_claim(parts, self.door.claim_of_program(line(parts)?, parts)?).await
    }

    async fn admit_claim(&self, parts: &Parts, claim: Claim<'_>) -> Result<Caller, Failure> {
        let caller = match self.recognise(claim, parts).await {
            Ok(caller) => caller,
            Err(failure) => {
                // Whoever tries keys out is slowed down by address.
                self.admit_stranger(parts)?;
                return Err(failure);
            }
        };
        self.throttle.admit(&caller)?;
        Ok(caller)
    }

    /// Counts a request by the address it comes from, whoever sent it.
    pub(crate) fn admit_stranger(&self, parts: &Parts) -> Result<(), Failure> {
        self.throttle.admit(&Caller::anonymous(self.door.peer(line(parts)?, &parts.headers)))
    }

    async fn recognise(&self, claim: Claim<'_>, parts: &Parts) -> Result<Caller, Failure> {
        let (secret, otherwise) = match claim {
            Claim::Secret(secret)
                if AccessToken::looks_like(secret) && self.site.token_issuer().is_some() =>
            {
                // Boxed, because few requests come this way and the future of every face would have to have room for it.
                return Ok(Box::pin(self.site.caller_by_token(secret, &self.own_addresses(parts))).await?);
            }
            Claim::Secret(secret) => return Ok(self.site.caller_by_key(secret).await?),
            Claim::Session { secret, otherwise } => (secret, otherwise),
            plain => return plain_caller(&plain),
        };
        match self.site.caller_by_session(secret).await {
            // A browser whose session ended is what it would be without the cookie.
            Err(SiteError::BadKey) => plain_caller(&(*otherwise)?),
            known => Ok(known?),
        }
    }

    /// Recognises the caller and refuses one of whom nothing is known.
    pub(crate) async fn admit_known(&self, parts: &Parts) -> Result<Caller, Failure> {
        let caller = self.admit(parts).await?;
        if caller.is_anonymous() {
            let sentence =
                "this needs an API key: send Authorization: Bearer KEY (make one with `agentsite key new`)";
            return Err(Failure::new(Fault::Unauthenticated, sentence));
        }
        Ok(caller)
    }

    /// Recognises the caller of a WebSocket; refuses one of whom nothing is known, and pages of other origins.
    pub(crate) async fn admit_socket(&self, parts: &Parts) -> Result<Caller, Failure> {
        self.door.refuse_pages_of_others(parts)?;
        self.admit_known(parts).await
    }

    /// Reads a request body within the limits.
    pub(crate) async fn body(&self, body: Body) -> Result<Bytes, Failure> {
        read_body(body, &self.settings.limits).await
    }

    /// The addresses of the site for which a token may have been made, when the site knows its own address: all of it, a face, or the very
    /// place that is asked. Where the address is only the caller's word there is none: a token made for another site would count here.
    fn own_addresses(&self, parts: &Parts) -> Vec<String> {
        if !self.owns_base(parts) {
            return Vec::new();
        }
        let base = self.base(parts);
        let path = parts.uri.path().trim_end_matches('/');
        let face = path.split('/').nth(1).map(|face| format!("{base}/{face}"));
        let mut addresses = vec![format!("{base}{path}"), base];
        addresses.extend(face);
        addresses
    }

    /// The address under which this caller reaches the site, without a trailing slash.
    pub(crate) fn base(&self, parts: &Parts) -> String {
        line(parts).map_or_else(|_| String::new(), |line| self.door.base(line, parts, self.listen))
    }

    /// Whether [`Self::base`] is more than the caller's word, so that the site may sign under it.
    pub(crate) fn owns_base(&self, parts: &Parts) -> bool {
        line(parts).is_ok_and(|line| self.door.owns_base(line, parts, self.listen))
    }

    /// Whether this caller reaches the site by TLS.
    fn is_secure(&self, parts: &Parts) -> bool {
        line(parts).is_ok_and(|line| self.door.is_secure(line, parts, self.listen))
    }

    /// The cookie that holds a browser's session; no script and no other site gets at it.
    pub(crate) fn session_cookie(&self, parts: &Parts, secret: &str) -> String {
        let secure = if self.is_secure(parts) { "; Secure" } else { "" };
        format!("{SESSION_COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/{secure}")
    }
}

fn plain_caller(claim: &Claim<'_>) -> Result<Caller, Failure> {
    match claim {
        Claim::Anonymous(address) => Ok(Caller::anonymous(*address)),
        Claim::OpenAdmin => Ok(Caller::admin()),
        Claim::Secret(_) | Claim::Session { .. } => {
            Err(Failure::new(Fault::Unauthenticated, "this credential is not accepted here"))
        }
    }
}

/// The connection of a request; the server puts it there.
pub(crate) fn line(parts: &Parts) -> Result<&Arc<Line>, Failure> {
    parts.extensions.get().ok_or_else(|| Failure::new(Fault::Internal, "the request has no connection"))
}
