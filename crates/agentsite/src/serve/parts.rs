//! From the values of the configuration to the settings of each part.
//!
//! Promises: pure translation, apart from reading the certificate; what the configuration does not name keeps
//! the part's own default.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use agentsite_dev::conformance::{self, Kit};
use agentsite_egress::{Egress, EgressSettings};
use agentsite_gateway::{GatewaySettings, TlsSettings};
use agentsite_protocol::{AgentName, Clock};
use agentsite_site::{Recovery, SiteSection, SiteSettings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::mesh;
use crate::config::{Config, Loaded};
use crate::exit::CliError;

/// Open files that are enough for every connection and every program that the limits allow at once.
const ENOUGH_FILES: u64 = 65_536;

/// Ports after the usual one that are tried before any free one.
const NEXT_PORTS: u16 = 16;

/// Raises the number of files that may be open at once as far as the system lets us: many systems begin with
/// 1024, which is meant for programs that are not servers.
pub(super) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(ENOUGH_FILES, |most| most.min(ENOUGH_FILES));
    if limit.current.is_some_and(|now| now < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })
    {
        tracing::warn!(%error, "the limit of open files cannot be raised; many callers at once may be refused");
    }
}

/// The one way out.
pub(super) fn egress(config: &Config) -> Result<Egress, CliError> {
    let webhooks = conformance::WEBHOOKS.iter().filter(|_| config.conformance != Kit::None).copied();
    let named = config.egress.allow.iter().map(String::as_str);
    let allow = named.chain(webhooks).map(str::parse).collect::<Result<_, _>>();
    let allow = allow.map_err(|error| CliError::error(format!("egress.allow: {error}")))?;
    Egress::new(EgressSettings { allow, ..EgressSettings::default() })
        .map_err(|error| CliError::error(error.to_string()))
}

/// The settings of the site.
pub(super) fn site_settings(loaded: &Loaded, clock: &Arc<dyn Clock>) -> Result<SiteSettings, CliError> {
    let config = &loaded.config;
    let site = SiteSection {
        default_agent: default_agent(config),
        hybrid_cards: config.site.hybrid_cards && config.conformance != Kit::Newer,
        ..config.site.clone()
    };
    Ok(SiteSettings {
        site,
        retention: config.retention.clone(),
        anonymous_storage: config.storage.anonymous,
        max_message: config.limits.body,
        max_connected: config.limits.sockets,
        push: config.push.clone(),
        hub: config.hub.clone(),
        mesh: mesh::parts(loaded, clock)?,
        issuer: config.oauth.token_issuer(),
        ..SiteSettings::default()
    })
}

/// The agent that answers for the site itself, if it is not the concierge.
fn default_agent(config: &Config) -> Option<AgentName> {
    if config.conformance != Kit::None {
        return conformance::NAME.parse().ok();
    }
    config.site.default_agent.clone()
}

/// Where the site listens: the configured address, or one of the next ports when it is in use and was not
/// chosen, so that two sites on one machine need no settings.
pub(super) fn listen(loaded: &Loaded) -> SocketAddr {
    let usual = loaded.config.listen;
    let is_free = |address: &SocketAddr| match TcpListener::bind(address) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::AddrInUse,
    };
    if loaded.is_set("listen") || is_free(&usual) {
        return usual;
    }
    let next = (1..=NEXT_PORTS).map(|step| SocketAddr::new(usual.ip(), usual.port().saturating_add(step)));
    let taken = next.into_iter().find(is_free).unwrap_or_else(|| SocketAddr::new(usual.ip(), 0));
    tracing::warn!(
        "{usual} is in use by another program or another site; this site takes another port. Choose one with --listen."
    );
    taken
}

/// The settings of the gateway.
pub(super) fn gateway_settings(config: &Config) -> Result<GatewaySettings, CliError> {
    let proxies = config.trusted_proxies.iter().map(|proxy| proxy.parse()).collect::<Result<_, _>>();
    Ok(GatewaySettings {
        listen: config.listen,
        tls: tls(config)?,
        public_url: config.public_url.clone(),
        trusted_proxies: proxies.map_err(|error| CliError::error(format!("trusted_proxies: {error}")))?,
        anonymous: config.anonymous,
        tls_terminated_by_proxy: config.tls_terminated_by_proxy,
        limits: config.limits.http(),
        rates: config.limits.rates(),
        metrics_public: config.telemetry.metrics_public,
        ..GatewaySettings::default()
    })
}

fn tls(config: &Config) -> Result<Option<TlsSettings>, CliError> {
    let (Some(cert), Some(key)) = (&config.tls_cert, &config.tls_key) else { return Ok(None) };
    let (cert_pem, key_pem) = (super::read_file("tls_cert", cert)?, super::read_file("tls_key", key)?);
    Ok(Some(TlsSettings { cert_pem, key_pem }))
}

/// Where the site is reached from this machine. With TLS that is the public address, whose name the
/// certificate bears.
pub(super) fn local_url(config: &Config, bound: SocketAddr) -> String {
    let scheme = if config.tls_cert.is_some() { "https" } else { "http" };
    match &config.public_url {
        Some(url) if scheme == "https" => url.trim_end_matches('/').to_owned(),
        _ => format!("{scheme}://{}", reachable(bound)),
    }
}

/// The bound address, or loopback when it is a wildcard.
fn reachable(bound: SocketAddr) -> SocketAddr {
    match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), bound.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), bound.port()),
        _ => bound,
    }
}

/// Logs what an earlier run had left.
pub(super) fn log_recovery(recovery: &Recovery) {
    let Recovery { requeued, retried, failed, waiting, put_off } = *recovery;
    if put_off > 0 {
        tracing::warn!(put_off, "the disk is full: work of an earlier run waits until there is space");
    }
    if requeued + retried + failed > 0 {
        tracing::info!(requeued, retried, failed, waiting, "resuming work of an earlier run");
    }
}
