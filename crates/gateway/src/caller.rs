//! Who calls: the holder of a key or token, a signed-in browser, or an anonymous caller.
//!
//! Promises: the decision is a pure function of the connection and the request's head. An address grants no
//! rights: a caller on this machine without a credential is anonymous, because a reverse proxy, an agent's
//! own process and every other user of the machine have the same address. A wrong credential never falls back
//! to something weaker. A foreign Origin or Host (another page, DNS rebinding) is refused. The site decides
//! what a caller may do.

use std::borrow::Cow;
use std::net::IpAddr;

use agentsite_protocol::{AccessToken, SiteToken};
use agentsite_site::KEY_PREFIX;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, header};

use crate::connection::Connection;
use crate::failure::{Failure, Fault};
use crate::settings::{AnonymousAccess, GatewaySettings, Network};

#[cfg(test)]
mod tests;

/// The cookie of a signed-in browser.
pub(crate) const SESSION_COOKIE: &str = "agentsite_session";

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Headers that only a proxy writes; a request with one of them was not made on this machine.
const PROXY_MARKS: [HeaderName; 3] = [header::FORWARDED, HeaderName::from_static("x-real-ip"), header::VIA];

/// Hops of a forwarded request that are looked at; real chains have two or three.
const MAX_HOPS: usize = 32;

/// What a request claims to be. Credentials are not checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    /// Shows an API key or the admin token.
    Secret(&'a str),
    /// Shows the session of a browser; `otherwise` holds when the session has ended.
    Session {
        /// The session.
        secret: &'a str,
        /// What the same request would be without the cookie.
        otherwise: Box<Result<Credential<'a>, CredentialRefusal>>,
    },
    /// Comes from this address without a credential.
    Anonymous(IpAddr),
    /// Comes through the mesh from a site.
    Site {
        /// Its DID, which the transport has proven.
        did: String,
        /// Its token, which may name one of its users.
        token: Option<&'a str>,
    },
    /// Comes from this machine without a credential, to a site whose operator set `anonymous = "admin"`.
    OpenAdmin,
}

/// Why a request is turned away before its credential is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialRefusal {
    /// Comes from a page of another origin.
    ForeignOrigin,
    /// Names a host that is not this one.
    ForeignHost,
    /// Shows nothing where something is needed.
    NoCredential,
    /// The credential is not readable.
    BadCredential,
}

impl From<CredentialRefusal> for Failure {
    fn from(refusal: CredentialRefusal) -> Self {
        match refusal {
            CredentialRefusal::ForeignOrigin => Self::new(
                Fault::Forbidden,
                "this request comes from a page of another origin; send an API key (Authorization: Bearer KEY) instead",
            ),
            CredentialRefusal::ForeignHost => Self::new(
                Fault::Forbidden,
                "the Host header names another host; use http://localhost, set public_url, or send an API key",
            ),
            CredentialRefusal::NoCredential => Self::new(
                Fault::Unauthenticated,
                "this site wants to know who calls; send Authorization: Bearer KEY (make one with `agentsite key new`)",
            ),
            CredentialRefusal::BadCredential => Self::new(
                Fault::Unauthenticated,
                "the Authorization header is not readable; send Authorization: Bearer KEY",
            ),
        }
    }
}

/// The rules by which callers are told apart.
#[derive(Debug)]
pub(crate) struct Authenticator {
    trusted: Vec<Network>,
    anonymous: AnonymousAccess,
    public_url: Option<String>,
}

impl Authenticator {
    pub(crate) fn new(settings: &GatewaySettings) -> Self {
        let public_url = settings.public_url.as_ref().map(|url| url.trim_end_matches('/').to_owned());
        Self { trusted: settings.trusted_proxies.clone(), anonymous: settings.anonymous, public_url }
    }

    /// Decides what a request claims to be.
    pub(crate) fn credential<'a>(
        &self,
        connection: &Connection,
        parts: &'a Parts,
    ) -> Result<Credential<'a>, CredentialRefusal> {
        let shown = secret(&parts.headers)?;
        if let Some(site) = &connection.site {
            // A stream is as good a proof as a token of the same site, so the token need not be proven.
            return match shown {
                Some(secret) if !SiteToken::looks_like(secret) => Ok(Credential::Secret(secret)),
                token => Ok(Credential::Site { did: site.clone(), token }),
            };
        }
        if let Some(secret) = shown {
            return Ok(Credential::Secret(secret));
        }
        let Some(secret) = session(&parts.headers) else {
            return self.without_credential(connection, parts);
        };
        if is_unsafe(&parts.method) && !self.is_same_origin(parts) {
            return Err(CredentialRefusal::ForeignOrigin);
        }
        let otherwise = Box::new(self.without_credential(connection, parts));
        Ok(Credential::Session { secret, otherwise })
    }

    /// The same for programs that must send a placeholder as their key where none is needed: a word that does
    /// not have the form of a key or a token counts as no credential. A wrong key stays wrong.
    pub(crate) fn credential_of_program<'a>(
        &self,
        connection: &Connection,
        parts: &'a Parts,
    ) -> Result<Credential<'a>, CredentialRefusal> {
        match self.credential(connection, parts)? {
            Credential::Secret(word) if !word.starts_with(KEY_PREFIX) && !AccessToken::looks_like(word) => {
                self.without_credential(connection, parts)
            }
            other => Ok(other),
        }
    }

    fn without_credential<'a>(
        &self,
        connection: &Connection,
        parts: &Parts,
    ) -> Result<Credential<'a>, CredentialRefusal> {
        let host = host(parts);
        let public = host.is_some_and(|host| self.is_public_host(host));
        let here = connection.peer.is_loopback() && !is_proxied(&parts.headers) && !public;
        if here && !host.is_some_and(is_loopback_host) {
            return Err(CredentialRefusal::ForeignHost);
        }
        let foreign = parts.headers.contains_key(header::ORIGIN) && !self.is_same_origin(parts);
        let cross_site = parts.headers.get(FETCH_SITE).is_some_and(|site| site == "cross-site");
        if foreign && here || is_unsafe(&parts.method) && (foreign || cross_site) {
            return Err(CredentialRefusal::ForeignOrigin);
        }
        match self.anonymous {
            AnonymousAccess::None => Err(CredentialRefusal::NoCredential),
            AnonymousAccess::Admin if here => Ok(Credential::OpenAdmin),
            AnonymousAccess::Public | AnonymousAccess::Admin => {
                Ok(Credential::Anonymous(self.peer(connection, &parts.headers)))
            }
        }
    }

    /// Refuses a request that a page of another origin made, whatever credential it bears: a browser opens a
    /// WebSocket for any page and sends its cookies along.
    pub(crate) fn refuse_pages_of_others(&self, parts: &Parts) -> Result<(), CredentialRefusal> {
        let foreign = parts.headers.contains_key(header::ORIGIN) && !self.is_same_origin(parts);
        if foreign { Err(CredentialRefusal::ForeignOrigin) } else { Ok(()) }
    }

    /// The address of the caller: the socket's, or the last hop before the proxies that we trust.
    pub(crate) fn peer(&self, connection: &Connection, headers: &HeaderMap) -> IpAddr {
        if !self.trusts(connection.peer) {
            return connection.peer;
        }
        let values: Vec<&str> =
            headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok()).collect();
        let mut nearest = connection.peer;
        for hop in values.iter().rev().flat_map(|value| value.rsplit(',')).take(MAX_HOPS) {
            let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
            nearest = address.to_canonical();
            if !self.trusts(nearest) {
                break;
            }
        }
        nearest
    }

    /// The address under which the caller reaches this site, without a trailing slash.
    pub(crate) fn base(
        &self,
        connection: &Connection,
        parts: &Parts,
        listen: std::net::SocketAddr,
    ) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let trusted = self.trusts(connection.peer);
        let forwarded = |name| if trusted { first_value(&parts.headers, name) } else { None };
        let https = forwarded(FORWARDED_PROTO)
            // A site of the mesh is addressed with http://: the link is encrypted, not the protocol in it.
            .map_or(connection.secure && connection.site.is_none(), |scheme| {
                scheme.eq_ignore_ascii_case("https")
            });
        let host = forwarded(FORWARDED_HOST).or_else(|| host(parts)).filter(|host| is_host_like(host));
        let host = host.map_or_else(|| Cow::from(listen.to_string()), Cow::from);
        format!("{}://{host}", if https { "https" } else { "http" })
    }

    /// Whether [`Self::base`] is surely this site's own address: the operator or a trusted proxy says so, or
    /// it is that of the connection. Otherwise it is only the caller's word, under which nothing is signed: a
    /// signed card that names another host would lead callers that trust the site's key there.
    pub(crate) fn owns_base(
        &self,
        connection: &Connection,
        parts: &Parts,
        listen: std::net::SocketAddr,
    ) -> bool {
        let host = host(parts).filter(|host| is_host_like(host));
        let of_connection = host.is_none_or(|host| {
            connection.peer.is_loopback() && is_loopback_host(host) || host == listen.to_string()
        });
        self.public_url.is_some() || self.trusts(connection.peer) || of_connection
    }

    /// Whether callers reach this site by TLS, ours or a proxy's.
    pub(crate) fn is_secure(
        &self,
        connection: &Connection,
        parts: &Parts,
        listen: std::net::SocketAddr,
    ) -> bool {
        self.base(connection, parts, listen).starts_with("https:")
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    fn is_public_host(&self, host: &str) -> bool {
        let public = self.public_url.as_deref().and_then(|url| url.split_once("://"));
        public
            .is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(host)))
    }

    /// Whether the browser says that the request comes from a page of this very site.
    fn is_same_origin(&self, parts: &Parts) -> bool {
        match parts.headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("null")) {
            Some(origin) => {
                let own = origin.split_once("://").zip(host(parts));
                own.is_some_and(|((_, from), host)| from.eq_ignore_ascii_case(host))
                    || self.public_url.as_deref().is_some_and(|url| url.eq_ignore_ascii_case(origin))
            }
            None => parts.headers.get(FETCH_SITE).is_some_and(|site| site == "same-origin"),
        }
    }
}

/// The key in the head of a request.
fn secret(headers: &HeaderMap) -> Result<Option<&str>, CredentialRefusal> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let text = value.to_str().map_err(|_| CredentialRefusal::BadCredential)?;
        let (scheme, secret) = text.split_once(' ').ok_or(CredentialRefusal::BadCredential)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(CredentialRefusal::BadCredential);
        }
        return Ok(Some(secret.trim()));
    }
    match headers.get(API_KEY) {
        Some(value) => {
            value.to_str().map(|secret| Some(secret.trim())).map_err(|_| CredentialRefusal::BadCredential)
        }
        None => Ok(None),
    }
}

/// The session in the cookies of a request.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == SESSION_COOKIE).map(|(_, value)| value)
}

/// What a browser calls itself, as the list of sessions shows it.
pub(crate) fn browser(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("browser")
}

fn is_unsafe(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The host the caller wanted: HTTP/2 names it in the target, HTTP/1 in a header.
pub(crate) fn host(parts: &Parts) -> Option<&str> {
    let named = parts.uri.authority().map(http::uri::Authority::as_str);
    named.or_else(|| parts.headers.get(header::HOST)?.to_str().ok())
}

fn is_proxied(headers: &HeaderMap) -> bool {
    PROXY_MARKS.iter().any(|name| headers.contains_key(name))
        || headers.keys().any(|name| name.as_str().starts_with("x-forwarded"))
}

fn is_loopback_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if port.is_empty() || is_port(port) => name,
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            Some(_) => return false,
            None => host,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a host may stand in a link: letters, digits and the marks of names, addresses and ports.
fn is_host_like(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
}

fn first_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()?.split(',').next().map(str::trim)
}
