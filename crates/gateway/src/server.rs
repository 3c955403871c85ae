//! The server: listening, accepting, and ending connections.
//!
//! Promises: at most so many connections at once, divided fairly (`connections`); one that sends nothing,
//! sends its head a byte at a time, or does not read its answers is ended; running out of files slows
//! accepting down and does not end it. When told to stop it accepts no more, lets requests finish within the
//! site's drain period, and ends what is left. It does not look into requests.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use agentsite_site::Site;
use axum::Router;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use prometheus_client::registry::Registry;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::Connection;
use crate::connections::{Admission, ConnectionSource};
use crate::front::Front;
use crate::metrics::RefusalReason;
use crate::router;
use crate::settings::{AnonymousAccess, GatewaySettings, HttpLimits};
use crate::tls::{self, TlsError};
use crate::wire::Wire;

/// How long accepting rests when the machine has no file left for a connection.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// How long connections have after the drain period to send what is written.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How often a connection is looked at for idleness; limits are kept to within this.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Shortest time between two looks, for limits that are set very low.
const LOOK_LEAST: Duration = Duration::from_millis(10);

/// How often an HTTP/2 peer is asked whether it is still there, and how long it has to say so.
const PING_EVERY: Duration = Duration::from_secs(20);

/// Bytes that an HTTP/2 peer may send of one body before the site has taken them, and of all bodies of a
/// connection: what a connection can make the site hold without being counted.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;

/// Why the gateway cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Another program listens there.
    #[error("{0} is in use by another program: stop it, or choose another address with --listen")]
    InUse(SocketAddr),
    /// The system will not have it.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Certificate or key are wrong.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Plain HTTP for the whole network.
    #[error(
        "{0} is not a loopback address, and keys would travel unencrypted: give --tls-cert and --tls-key, or set \
         tls_terminated_by_proxy = true when a proxy in front speaks TLS"
    )]
    NoTls(SocketAddr),
    /// Everybody would be an admin.
    #[error(
        "anonymous = \"admin\" makes every caller an admin, and {0}: set anonymous = \"public\" or \"none\", and sign in with \
         `agentsite open`"
    )]
    OpenAdmin(&'static str),
    /// The public address is none.
    #[error("public_url = \"{0}\" is not an address: write it like https://agents.example.org")]
    BadPublicUrl(String),
}

/// Every face of a site, bound to an address.
pub struct Gateway {
    listener: TcpListener,
    local: SocketAddr,
    tls: Option<TlsAcceptor>,
    settings: GatewaySettings,
    site: Site,
    registry: Arc<Registry>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gateway")
            .field("local", &self.local)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Takes the address. Requests wait until [`Self::serve`].
    ///
    /// # Errors
    /// [`GatewayError`] says what to change.
    pub async fn bind(
        settings: GatewaySettings,
        site: Site,
        registry: Arc<Registry>,
    ) -> Result<Self, GatewayError> {
        check(&settings)?;
        let tls = settings.tls.as_ref().map(tls::acceptor).transpose()?;
        let address = settings.listen;
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => GatewayError::InUse(address),
            _ => GatewayError::Listen { address, source },
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, local, tls, settings, site, registry })
    }

    /// The address that was taken; tells the port when 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `stop` is cancelled, then lets requests finish within the site's drain period.
    ///
    /// Boxed here, so that the code of every connection is compiled in this crate, which is optimised for
    /// speed: the body of an `async fn` is compiled by the crate that awaits it.
    pub fn serve(self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.accept_all(stop))
    }

    async fn accept_all(self, stop: CancellationToken) {
        let front = Front::new(self.settings, self.site, self.registry, self.local, stop.clone());
        let connections = TaskTracker::new();
        let (drawing, until) = (Arc::clone(&front), stop.clone());
        connections.spawn(async move {
            drawing.charts.keep(&drawing.site, &drawing.settings.metrics, &until).await;
        });
        let house = Arc::new(House {
            router: router::join(&front),
            http: http(&front.settings.limits),
            front,
            tls: self.tls,
        });
        let site = house.front.site.clone();
        for id in 0.. {
            tokio::select! {
                (stream, peer) = accept(&self.listener) => {
                    let connection = Connection::new(id, peer.ip(), house.tls.is_some());
                    let Some(open) = house.admit(connection) else { continue };
                    let house = Arc::clone(&house);
                    connections.spawn(async move { house.receive(stream, &open.connection).await });
                }
                arrived = site.peers().next_stream() => {
                    let Some(open) = house.admit(Connection::of_site(id, arrived.site)) else { continue };
                    house.front.prove_site(&open.connection);
                    let house = Arc::clone(&house);
                    connections.spawn(async move {
                        let _open = house.front.settings.metrics.connection();
                        house.speak(arrived.stream, &open.connection).await;
                    });
                }
                () = stop.cancelled() => break,
            }
        }
        drop(self.listener);
        connections.close();
        house.drain(&connections).await;
    }
}

/// Refuses settings that would open the site to everybody by accident.
fn check(settings: &GatewaySettings) -> Result<(), GatewayError> {
    let loopback = settings.listen.ip().to_canonical().is_loopback();
    if settings.anonymous == AnonymousAccess::Admin
        && let Some(reachable) = reachable_from_outside(settings, loopback)
    {
        return Err(GatewayError::OpenAdmin(reachable));
    }
    if !loopback && settings.tls.is_none() && !settings.tls_terminated_by_proxy {
        return Err(GatewayError::NoTls(settings.listen));
    }
    if let Some(url) = &settings.public_url {
        let uri: Option<http::Uri> = url.parse().ok();
        let sound =
            uri.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
        if !sound {
            return Err(GatewayError::BadPublicUrl(url.chars().take(200).collect()));
        }
    }
    Ok(())
}

/// What says that callers on other machines reach this site, directly or through a proxy.
fn reachable_from_outside(settings: &GatewaySettings, loopback: bool) -> Option<&'static str> {
    let signs = [
        (!loopback, "other machines reach the address in `listen`"),
        (settings.public_url.is_some(), "`public_url` says that others reach this site"),
        (settings.tls_terminated_by_proxy, "`tls_terminated_by_proxy` says that a proxy is in front"),
        (!settings.trusted_proxies.is_empty(), "`trusted_proxies` says that a proxy is in front"),
    ];
    signs.into_iter().find_map(|(holds, sentence)| holds.then_some(sentence))
}

/// Waits for a connection; an error of the machine is waited out.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_the_caller(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "No connection can be accepted now; raise the limit of open files (ulimit -n).");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
}

fn is_of_the_caller(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn http(limits: &HttpLimits) -> auto::Builder<TokioExecutor> {
    /// Smallest buffer that hyper takes.
    const MIN_BUFFER: usize = 8192;
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head.max(MIN_BUFFER));
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY);
    http
}

/// What all connections share.
struct House {
    front: Arc<Front>,
    router: Router,
    http: auto::Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
}

/// A connection among those that are counted, until it is dropped.
struct Open {
    front: Arc<Front>,
    connection: Arc<Connection>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.front.connections.lock().unwrap_or_else(PoisonError::into_inner).close(self.connection.id);
    }
}

impl House {
    /// Takes a connection in; ends the one that must make space for it, if any.
    fn admit(&self, connection: Arc<Connection>) -> Option<Open> {
        let place = connection.peer.into();
        let source = if self.front.is_proxy(connection.peer) {
            ConnectionSource::Proxy(place)
        } else {
            ConnectionSource::Direct(place)
        };
        let mut connections = self.front.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let admission = connections
            .admit(connection.id, source, Arc::clone(&connection), |connection| connection.standing());
        drop(connections);
        if !matches!(admission, Admission::Open) {
            self.front.settings.metrics.refused(RefusalReason::Connections);
        }
        match admission {
            Admission::Open => {}
            Admission::Instead(ended) => ended.cut.cancel(),
            Admission::Refused => return None,
        }
        Some(Open { front: Arc::clone(&self.front), connection })
    }

    async fn receive(&self, stream: TcpStream, connection: &Arc<Connection>) {
        let _open = self.front.settings.metrics.connection();
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
        let Some(tls) = &self.tls else { return self.speak(stream, connection).await };
        let agreed = tokio::time::timeout(self.front.settings.limits.head_time, tls.accept(stream));
        let agreed = tokio::select! {
            agreed = agreed => agreed,
            () = connection.cut.cancelled() => return,
        };
        match agreed {
            Ok(Ok(stream)) => self.speak(stream, connection).await,
            Ok(Err(error)) => tracing::debug!(%error, peer = %connection.peer, "no TLS could be agreed"),
            Err(_) => tracing::debug!(peer = %connection.peer, "TLS took too long"),
        }
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: &Arc<Connection>,
    ) {
        let stream = Wire::new(stream, Arc::clone(connection));
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let (front, router, connection) =
                (Arc::clone(&self.front), self.router.clone(), Arc::clone(connection));
            async move {
                let response = router::answer(&front, router, &connection, request).await;
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let mut served = pin!(self.http.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let mut look =
            tokio::time::interval(self.front.settings.limits.head_time.clamp(LOOK_LEAST, LOOK_EVERY));
        // A token of its own: each look at a shared one would take the same lock on every connection.
        let stop = self.front.stop.child_token();
        let (mut leaving, mut told_to_leave) = (false, false);
        loop {
            tokio::select! {
                biased;
                ended = served.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended badly");
                    }
                    return;
                }
                () = stop.cancelled(), if !leaving => {
                    leaving = true;
                    served.as_mut().graceful_shutdown();
                }
                () = connection.cut.cancelled() => return,
                _ = look.tick() => match connection.idle() {
                    _ if self.is_unread(connection) => return,
                    Some(_) if told_to_leave => return,
                    Some(idle) if idle > self.patience(connection) => {
                        served.as_mut().graceful_shutdown();
                        told_to_leave = true;
                    }
                    _ => told_to_leave = false,
                },
            }
        }
    }

    /// Whether the other end has stopped reading; answers that it does not read on their own are given up.
    fn is_unread(&self, connection: &Connection) -> bool {
        let limit = self.front.settings.limits.send_time;
        let blocked = connection.blocked().is_some_and(|blocked| blocked > limit);
        for _ in 0..connection.abandon_unread(limit) + usize::from(blocked) {
            self.front.settings.metrics.refused(RefusalReason::SlowReader);
        }
        blocked
    }

    /// How long a connection may idle: one that never asked anything only as long as a head may take.
    fn patience(&self, connection: &Connection) -> Duration {
        let limits = &self.front.settings.limits;
        if connection.has_asked() { limits.idle_time } else { limits.head_time }
    }

    /// Ends every connection, whatever it does.
    fn cut_all(&self) {
        let open = self.front.connections.lock().unwrap_or_else(PoisonError::into_inner);
        open.handles().for_each(|connection| connection.cut.cancel());
    }

    /// Waits for the connections to end, and ends those that do not.
    async fn drain(&self, connections: &TaskTracker) {
        let drain = self.front.site.settings().site.drain.0;
        if tokio::time::timeout(drain, connections.wait()).await.is_ok() {
            return;
        }
        self.front.closing.cancel();
        if tokio::time::timeout(LAST_WORDS, connections.wait()).await.is_err() {
            tracing::warn!(left = connections.len(), "Some connections did not end in time and are cut.");
            self.cut_all();
            connections.wait().await;
        }
    }
}
