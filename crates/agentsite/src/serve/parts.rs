//! From the values of the configuration to the settings of each part.
//!
//! Promises: pure translation, apart from reading the certificate; what the configuration does not name keeps
//! the part's own default.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use agentsite_dev::conformance::{self, Kit};
use agentsite_egress::{Egress, EgressSettings};
use agentsite_gateway::{AnonymousAccess, Division, GatewaySettings, HttpLimits, Rate, Rates, TlsSettings};
use agentsite_protocol::AgentName;
use agentsite_site::{
    PushSettings, Recovery, Retention, SiteSettings, StorageLimits, StorageSettings, TokenIssuer,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::{Anonymous, Config, LimitsSection, StorageSection};
use crate::exit::CliError;

/// Open files that are enough for every connection and every program that the limits allow at once.
const ENOUGH_FILES: u64 = 65_536;

/// Raises the number of files that may be open at once as far as the system lets us: many systems begin with
/// 1024, which is for programs that serve nobody.
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

/// The authorization server whose tokens are taken; its addresses were checked when the configuration was
/// read.
fn issuer(config: &Config) -> Option<TokenIssuer> {
    let oauth = &config.oauth;
    let url = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
    Some(TokenIssuer {
        issuer: url(&oauth.issuer)?,
        jwks_url: url(&oauth.jwks_url),
        audience: oauth.audience.clone(),
        grant: oauth.grant.clone(),
        admin: oauth.admin,
    })
}

/// What the site is told.
pub(super) fn site_settings(config: &Config) -> SiteSettings {
    SiteSettings {
        name: config.site.name.clone(),
        description: config.site.description.clone(),
        default_agent: default_agent(config),
        hybrid_cards: config.site.hybrid_cards && config.conformance != Kit::Newer,
        retention: Retention {
            keep_tasks: config.retention.tasks,
            max_age: config.retention.age,
            journal_age: config.retention.journal_age,
            journal_size: config.retention.journal_size,
            anonymous_age: config.retention.anonymous_age,
            anonymous_full: match config.storage.anonymous.0 {
                0 => u64::MAX,
                most => most / 4 * 3,
            },
            ..Retention::default()
        },
        max_message: config.limits.body,
        max_connected: config.limits.sockets,
        drain: config.site.drain,
        push: PushSettings {
            enabled: config.push.enabled,
            deadline: config.push.deadline,
            timeout: config.push.timeout,
        },
        hub: config.hub.clone(),
        issuer: issuer(config),
        upstreams: config.site.upstreams.clone(),
        ..SiteSettings::default()
    }
}

/// What the store is told.
pub(super) fn storage_settings(config: &Config) -> StorageSettings {
    let StorageSection { address, anonymous, key, admin, total, ballast, reserve } = config.storage.clone();
    let limits = StorageLimits {
        address: address.0,
        anonymous: anonymous.0,
        key: key.0,
        admin: admin.0,
        total: total.0,
    };
    StorageSettings { limits, ballast: ballast.0, reserve: reserve.0 }
}

/// The agent that answers for the site itself, if it is not the concierge.
fn default_agent(config: &Config) -> Option<AgentName> {
    if config.conformance != Kit::None {
        return conformance::NAME.parse().ok();
    }
    config.site.default_agent.clone()
}

/// What the gateway is told.
pub(super) fn gateway_settings(config: &Config) -> Result<GatewaySettings, CliError> {
    let proxies = config.trusted_proxies.iter().map(|proxy| proxy.parse()).collect::<Result<_, _>>();
    let (limits, rates) = limits(&config.limits);
    Ok(GatewaySettings {
        listen: config.listen,
        tls: tls(config)?,
        public_url: config.public_url.clone(),
        trusted_proxies: proxies.map_err(|error| CliError::error(format!("trusted_proxies: {error}")))?,
        anonymous: match config.anonymous {
            Anonymous::None => AnonymousAccess::None,
            Anonymous::Public => AnonymousAccess::Public,
            Anonymous::Admin => AnonymousAccess::Admin,
        },
        tls_elsewhere: config.tls_elsewhere,
        limits,
        rates,
        metrics_public: config.telemetry.metrics_public,
        ..GatewaySettings::default()
    })
}

fn limits(section: &LimitsSection) -> (HttpLimits, Rates) {
    let bytes = |size: agentsite_protocol::ByteSize| usize::try_from(size.0).unwrap_or(usize::MAX);
    let usual = HttpLimits::default();
    let total = |total: usize| Division {
        total,
        reserve: part(total, section.reserve),
        per_address: 0,
        per_owner: 0,
    };
    let http = HttpLimits {
        body: bytes(section.body),
        body_time: section.body_time.0,
        head: bytes(section.head),
        body_rate: bytes(section.body_rate),
        body_memory: memory(bytes(section.body_memory), section.reserve),
        send_time: section.send_time.0,
        connections: Division {
            per_address: section.connections_per_address,
            per_owner: section.connections_per_key,
            ..total(section.connections)
        },
        requests: Division {
            per_address: section.requests_per_address,
            per_owner: section.requests_per_key,
            ..total(section.requests)
        },
        streams: Division {
            per_address: section.streams_per_address,
            per_owner: section.streams_per_key,
            ..total(section.streams)
        },
        sockets: Division { total: section.sockets, per_owner: section.sockets_per_key, ..usual.sockets },
        unregistered: Division {
            per_address: section.unregistered_per_address,
            per_owner: section.unregistered_per_key,
            ..usual.unregistered
        },
        register_time: section.register_time.0,
        socket_memory: memory(bytes(section.socket_memory), 0),
        ..usual
    };
    let rates = Rates {
        key: Rate { per_second: section.key_rate, burst: section.key_burst },
        anonymous: Rate { per_second: section.anonymous_rate, burst: section.anonymous_burst },
        ..Rates::default()
    };
    (http, rates)
}

/// Memory of which one address has an eighth and one key a quarter.
fn memory(total: usize, reserve: u8) -> Division {
    Division { total, reserve: part(total, reserve), per_address: total / 8, per_owner: total / 4 }
}

/// So many percent.
fn part(total: usize, percent: u8) -> usize {
    total / 100 * usize::from(percent) + total % 100 * usize::from(percent) / 100
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

/// The bound address, or loopback when it stands for all addresses.
fn reachable(bound: SocketAddr) -> SocketAddr {
    match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), bound.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), bound.port()),
        _ => bound,
    }
}

/// Tells what an earlier run had left.
pub(super) fn tell_recovery(recovery: &Recovery) {
    let Recovery { requeued, retried, failed, waiting, put_off } = *recovery;
    if put_off > 0 {
        tracing::warn!(put_off, "the disk is full: work of an earlier run waits until there is space");
    }
    if requeued + retried + failed > 0 {
        tracing::info!(requeued, retried, failed, waiting, "an earlier run had left work behind; it goes on");
    }
}
