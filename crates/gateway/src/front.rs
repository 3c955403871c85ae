//! Front: what every handler works with, and the way each request takes before it reaches the site.
//!
//! Promises: no handler gets a Caller but from here, so that every one was recognised and counted. It does
//! not route and does not know any protocol.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_protocol::{AccessToken, Caller, Principal, SiteToken};
use agentsite_site::{Site, SiteError};
use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::arriving::Bodies;
use crate::caller::{Authenticator, Credential, SESSION_COOKIE};
use crate::charts::Charts;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::failure::{Failure, Fault};
use crate::limits::read_body;
use crate::metrics::RefusalReason;
use crate::settings::GatewaySettings;
use crate::shares::{Full, Holder, Shares};
use crate::throttle::Throttle;
use crate::transcripts::Transcripts;
use crate::visit::{StreamPlace, Visit};

/// When to come back for something whose share is used up: about as long as a request or a short stream
/// takes.
pub(crate) const TRY_AGAIN: Duration = Duration::from_secs(2);

/// What every handler works with.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) site: Site,
    pub(crate) settings: GatewaySettings,
    pub(crate) registry: Arc<Registry>,
    /// Cancelled when the gateway stops: streams end, no connection is accepted.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the time to finish is over: a caller that waits for an agent gets its task as it is.
    pub(crate) closing: CancellationToken,
    /// The open connections, but for those that have become sockets.
    // A std lock: held when a connection comes, goes or is proven, never across an await.
    pub(crate) connections: Mutex<Connections<Arc<Connection>>>,
    /// Requests under way.
    pub(crate) requests: Arc<Shares>,
    /// Open streams of events.
    pub(crate) streams: Arc<Shares>,
    /// Bodies that are arriving.
    pub(crate) bodies: Arc<Bodies>,
    /// Sockets, which stay open for as long as their programs run.
    pub(crate) sockets: Arc<Shares>,
    /// Sockets whose program has not registered.
    pub(crate) unregistered: Arc<Shares>,
    /// Bytes of messages that come by sockets.
    pub(crate) socket_memory: Arc<Shares>,
    /// How the site fared over the last day.
    pub(crate) charts: Charts,
    /// Conversations with programs that tell the whole transcript each time.
    pub(crate) transcripts: Transcripts,
    listen: SocketAddr,
    authenticator: Authenticator,
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
        let (limits, processes) = (settings.limits, site.process_count());
        let throttle = Throttle::new(&settings.rates, processes.clone());
        let authenticator = Authenticator::new(&settings);
        // What a caller may have at once holds for the whole site; memory is that of a process.
        let divided = |division| Shares::divided(division, processes.clone());
        Arc::new(Self {
            site,
            settings,
            registry,
            stop,
            closing: CancellationToken::new(),
            connections: Mutex::new(Connections::new(limits.connections)),
            requests: divided(limits.requests),
            streams: divided(limits.streams),
            bodies: Arc::new(Bodies {
                memory: Shares::new(limits.body_memory),
                // As many as may be under way, because each of them will be.
                slow: Shares::new(limits.requests),
            }),
            sockets: divided(limits.sockets),
            unregistered: divided(limits.unregistered),
            socket_memory: Shares::new(limits.socket_memory),
            charts: Charts::default(),
            transcripts: Transcripts::default(),
            listen,
            authenticator,
            throttle,
        })
    }

    /// Recognises the caller and lets it in.
    pub(crate) async fn admit(&self, parts: &Parts) -> Result<Caller, Failure> {
        self.admit_credential(parts, self.authenticator.credential(connection(parts)?, parts)?).await
    }

    /// The same for programs that must send a placeholder as their key where none is needed.
    pub(crate) async fn admit_program(&self, parts: &Parts) -> Result<Caller, Failure> {
        self.admit_credential(parts, self.authenticator.credential_of_program(connection(parts)?, parts)?)
            .await
    }

    async fn admit_credential(&self, parts: &Parts, credential: Credential<'_>) -> Result<Caller, Failure> {
        let caller = match self.recognise(credential, parts).await {
            Ok(caller) => caller,
            Err(failure) => {
                // A caller that tries keys out is slowed down by address.
                self.admit_stranger(parts)?;
                return Err(failure);
            }
        };
        if self.is_unvouched(parts, &caller)? {
            self.admit_stranger(parts)?;
        }
        self.throttle(&caller)?;
        self.count(parts, &caller)?;
        Ok(caller)
    }

    /// Whether this is a site that nobody here added and that came by an address: everybody can make as many
    /// such identities as it likes, so it is counted by its address, too.
    fn is_unvouched(&self, parts: &Parts, caller: &Caller) -> Result<bool, Failure> {
        let did = caller.owner().peer_did().filter(|_| caller.is_peer());
        let came_by_address = connection(parts)?.site.is_none();
        Ok(came_by_address && did.is_some_and(|did| !self.site.peers().is_added(did)))
    }

    /// Counts a request by the address it comes from; the credential is not looked at.
    pub(crate) fn admit_stranger(&self, parts: &Parts) -> Result<(), Failure> {
        self.throttle(&Caller::anonymous(self.address(parts)?))
    }

    fn throttle(&self, caller: &Caller) -> Result<(), Failure> {
        self.throttle.admit(caller).inspect_err(|_| self.settings.metrics.refused(RefusalReason::Rate))
    }

    /// The address of the caller, also behind proxies that are trusted.
    pub(crate) fn address(&self, parts: &Parts) -> Result<IpAddr, Failure> {
        Ok(self.authenticator.peer(connection(parts)?, &parts.headers))
    }

    /// Gives the request its caller's share until it is answered; a connection on which a caller has
    /// authenticated is known from then on.
    fn count(&self, parts: &Parts, caller: &Caller) -> Result<(), Failure> {
        let (visit, address) = (visit(parts)?, self.address(parts)?);
        let holder = match self.is_unvouched(parts, caller)? {
            true => Holder::Address(address.into()),
            false => Holder::of(caller, address),
        };
        if visit.connection.is_unproven() && !matches!(holder, Holder::Address(_)) {
            self.prove(&visit.connection, &holder);
        }
        visit.enter(&self.requests, holder).map_err(|full| {
            let own = "you have as many requests under way here as you may; wait for one to be answered";
            let all = "as many requests are under way here as this site takes; try again soon";
            self.no_share(RefusalReason::Requests, full, own, all)
        })
    }

    /// Counts a stream of another site as a connection of that site, which the transport has proven.
    pub(crate) fn prove_site(&self, connection: &Connection) {
        let owner = connection.site.as_deref().and_then(|did| Principal::peer(did).ok());
        if let Some(owner) = owner {
            self.prove(connection, &Holder::Owner(owner));
        }
    }

    fn prove(&self, connection: &Connection, holder: &Holder) {
        let owner = if let Holder::Owner(owner) = holder { Some(owner) } else { None };
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.prove(connection.id, owner) {
            connection.set_proven();
        }
    }

    /// Takes a place for a stream that answers this request.
    pub(crate) fn open_stream(&self, parts: &Parts) -> Result<StreamPlace, Failure> {
        visit(parts)?.stream(&self.streams).map_err(|full| {
            let own = "you have as many streams open here as you may (limits.streams_per_address, limits.streams_per_key); \
                       close one, or use GetTask instead";
            let all = "as many streams are open here as this site takes; try again soon, or use GetTask instead";
            self.no_share(RefusalReason::Streams, full, own, all)
        })
    }

    /// The refusal of something whose share is used up: the caller's own, or that of all.
    pub(crate) fn no_share(
        &self,
        what: RefusalReason,
        full: Full,
        own: &'static str,
        all: &'static str,
    ) -> Failure {
        self.settings.metrics.refused(what);
        let sentence = if full == Full::Own { own } else { all };
        Failure::new(Fault::TooMany, sentence).retry_after(TRY_AGAIN)
    }

    /// Whether connections from this address come from a proxy that the operator trusts.
    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        self.settings.trusted_proxies.iter().any(|network| network.contains(address))
    }

    async fn recognise(&self, credential: Credential<'_>, parts: &Parts) -> Result<Caller, Failure> {
        let (secret, otherwise) = match credential {
            Credential::Site { did, token } => {
                return Ok(self.site.peers().caller_on_stream(&did, token).map_err(SiteError::from)?);
            }
            Credential::Secret(secret) if SiteToken::looks_like(secret) => {
                // Boxed, because few requests come this way.
                return Ok(Box::pin(self.site.peers().caller_by_token(secret))
                    .await
                    .map_err(SiteError::from)?);
            }
            Credential::Secret(secret)
                if AccessToken::looks_like(secret) && self.site.keys().issuer().is_some() =>
            {
                // Boxed, because few requests come this way and the future of every face would have to have
                // space for it.
                return Ok(
                    Box::pin(self.site.keys().caller_by_token(secret, &self.own_addresses(parts))).await?
                );
            }
            Credential::Secret(secret) => return Ok(self.site.keys().caller(secret).await?),
            Credential::Session { secret, otherwise } => (secret, otherwise),
            plain => return plain_caller(&plain),
        };
        match self.site.keys().caller_by_session(secret).await {
            // A browser whose session ended is what it would be without the cookie.
            Err(SiteError::BadKey) => plain_caller(&(*otherwise)?),
            known => Ok(known?),
        }
    }

    /// Recognises the caller and refuses one of whom nothing is known.
    pub(crate) async fn admit_known(&self, parts: &Parts) -> Result<Caller, Failure> {
        let caller = self.admit(parts).await?;
        if caller.is_anonymous() || caller.is_peer() {
            let sentence =
                "this needs an API key: send Authorization: Bearer KEY (make one with `agentsite key new`)";
            return Err(Failure::new(Fault::Unauthenticated, sentence));
        }
        Ok(caller)
    }

    /// Recognises the caller of a WebSocket; refuses one of whom nothing is known, and pages of other
    /// origins.
    pub(crate) async fn admit_socket(&self, parts: &Parts) -> Result<Caller, Failure> {
        self.authenticator.refuse_pages_of_others(parts)?;
        self.admit_known(parts).await
    }

    /// Reads a request body within the limits.
    pub(crate) async fn body(&self, body: Body) -> Result<Bytes, Failure> {
        read_body(body, &self.settings.limits).await.inspect_err(|failure| match failure.fault {
            Fault::TooSlow => self.settings.metrics.refused(RefusalReason::SlowBody),
            Fault::TooMany => self.settings.metrics.refused(RefusalReason::Bodies),
            _ => {}
        })
    }

    /// The addresses of the site for which a token may have been made, when the site knows its own address:
    /// all of it, a face, or the very place that is asked. Where the address is only the caller's word there
    /// is none: a token made for another site would count here.
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
        connection(parts).map_or_else(
            |_| String::new(),
            |connection| self.authenticator.base(connection, parts, self.listen),
        )
    }

    /// Whether [`Self::base`] is more than the caller's word, so that the site may sign under it.
    pub(crate) fn owns_base(&self, parts: &Parts) -> bool {
        connection(parts).is_ok_and(|connection| self.authenticator.owns_base(connection, parts, self.listen))
    }

    /// Whether this caller reaches the site by TLS.
    fn is_secure(&self, parts: &Parts) -> bool {
        connection(parts).is_ok_and(|connection| self.authenticator.is_secure(connection, parts, self.listen))
    }

    /// The cookie that holds a browser's session; no script and no other site gets at it.
    pub(crate) fn session_cookie(&self, parts: &Parts, secret: &str) -> String {
        let secure = if self.is_secure(parts) { "; Secure" } else { "" };
        format!("{SESSION_COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/{secure}")
    }
}

fn plain_caller(credential: &Credential<'_>) -> Result<Caller, Failure> {
    match credential {
        Credential::Anonymous(address) => Ok(Caller::anonymous(*address)),
        Credential::OpenAdmin => Ok(Caller::admin()),
        Credential::Secret(_) | Credential::Session { .. } | Credential::Site { .. } => {
            Err(Failure::new(Fault::Unauthenticated, "this credential is not accepted here"))
        }
    }
}

/// The connection of a request.
pub(crate) fn connection(parts: &Parts) -> Result<&Arc<Connection>, Failure> {
    Ok(&visit(parts)?.connection)
}

/// The visit that a request is; the server puts it there.
pub(crate) fn visit(parts: &Parts) -> Result<&Arc<Visit>, Failure> {
    parts.extensions.get().ok_or_else(|| Failure::new(Fault::Internal, "the request has no connection"))
}
