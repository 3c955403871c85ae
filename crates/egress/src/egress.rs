//! Egress: the one way out of a site.
//!
//! Promises: every request that leaves a site (cards, agents, models, webhooks) goes through here. Only http
//! and https, no credentials in addresses, no proxy from the environment, and no address that is not on the
//! public internet unless the operator allowed it; the address that was checked is the one that is connected
//! to, on every redirect again. It does not decide who may ask and does not retry. See
//! docs/decisions/0002-egress.md.

mod address;
mod allowed;
mod failure;
mod link;
mod request;
mod resolver;
mod socket;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Method;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use url::{Host, Url};

pub use address::Network;
pub use allowed::{AllowedTarget, BadTarget};
pub use failure::EgressError;
pub use link::{LINK_DOMAIN, LinkIo, Links};
pub use request::{BodyPiece, EgressAnswer, EgressRequest};
pub use socket::EgressSocket;

use address::is_global;
use link::link_host;
use resolver::{Filter, FilteredResolver, Lookup, system_lookup};

/// Longest address that is asked; servers commonly refuse more.
const MAX_URL: usize = 8_192;

/// How long a connection stays open for the next request; shorter than the 60 s after which common servers
/// close.
const KEEP_IDLE: Duration = Duration::from_secs(30);

/// Connections kept open to one host; agents of a site talk to few hosts, and often.
const KEEP_PER_HOST: usize = 16;

/// How the way out is laid.
#[derive(Debug, Clone)]
pub struct EgressSettings {
    /// What the operator allowed besides the public internet.
    pub allow: Vec<AllowedTarget>,
    /// How the site names itself to others.
    pub user_agent: String,
    /// How long a connection may take to be established.
    pub connect_timeout: Duration,
    /// How many redirects are followed.
    pub max_redirects: usize,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            user_agent: concat!("agentsite/", env!("CARGO_PKG_VERSION")).into(),
            connect_timeout: Duration::from_secs(5),
            max_redirects: 3,
        }
    }
}

/// The one way out of a site. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Egress {
    settings: Arc<EgressSettings>,
    /// For what is on the public internet or in an allowed network: checks every name.
    guarded: reqwest::Client,
    /// For hosts that the operator allowed by name: checks nothing.
    open: reqwest::Client,
    /// The same two for servers that use HTTP/2 from the first byte, as gRPC does.
    guarded_http2: reqwest::Client,
    open_http2: reqwest::Client,
    /// The same two for requests that turn into something else, which only HTTP/1.1 knows.
    guarded_http1: reqwest::Client,
    open_http1: reqwest::Client,
    /// How other sites are reached that have no address on the web; laid once, for all clones.
    links: Arc<OnceLock<Arc<dyn Links>>>,
    /// The DID of the site to which requests prove who calls.
    audience: Option<Arc<str>>,
    /// The user of this site for whom requests to other sites are made.
    user: Option<Arc<str>>,
}

/// Which version of HTTP a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// Whichever the server prefers.
    Any,
    /// HTTP/1.1, for sockets.
    One,
    /// HTTP/2 from the first byte, for gRPC.
    Two,
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Egress").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Default for Egress {
    fn default() -> Self {
        Self::new(EgressSettings::default()).expect("the default settings are valid")
    }
}

impl Egress {
    /// Lays the way out.
    ///
    /// # Errors
    /// [`EgressError::Settings`] when the name of the site cannot be sent.
    pub fn new(settings: EgressSettings) -> Result<Self, EgressError> {
        Self::with_lookup(settings, &system_lookup())
    }

    fn with_lookup(settings: EgressSettings, lookup: &Lookup) -> Result<Self, EgressError> {
        let tls = tls_config();
        let networks = settings.allow.iter().filter_map(AllowedTarget::network).collect();
        let client = |filter: &Filter, version: Version| {
            let resolver = FilteredResolver { filter: filter.clone(), lookup: lookup.clone() };
            http_client(&settings, tls.clone(), resolver, version)
        };
        let (filtered, all) = (Filter::Guarded(networks), Filter::Open);
        let (guarded, open) = (client(&filtered, Version::Any)?, client(&all, Version::Any)?);
        let (guarded_http2, open_http2) = (client(&filtered, Version::Two)?, client(&all, Version::Two)?);
        let (guarded_http1, open_http1) = (client(&filtered, Version::One)?, client(&all, Version::One)?);
        Ok(Self {
            settings: Arc::new(settings),
            guarded,
            open,
            guarded_http2,
            open_http2,
            guarded_http1,
            open_http1,
            links: Arc::default(),
            audience: None,
            user: None,
        })
    }

    /// A way out that refuses nothing: for a person who types addresses on the command line, never for a
    /// site.
    #[must_use]
    pub fn unguarded() -> Self {
        Self::default().with_allowed(AllowedTarget::Everywhere)
    }

    /// The same way out that may also go to one more target: a server that the site itself started, or a
    /// model server that the operator named. Connections are shared with the original. A network counts here
    /// only for addresses written as numbers.
    #[must_use]
    pub fn with_allowed(&self, target: AllowedTarget) -> Self {
        let mut settings = EgressSettings::clone(&self.settings);
        settings.allow.push(target);
        Self { settings: Arc::new(settings), ..self.clone() }
    }

    /// The same way out that may also go to the host and port of this address.
    #[must_use]
    pub fn trusting(&self, url: &Url) -> Self {
        AllowedTarget::of(url).map_or_else(|| self.clone(), |target| self.with_allowed(target))
    }

    /// Begins to ask for something.
    pub fn get(&self, url: Url) -> EgressRequest {
        self.request(Method::GET, url)
    }

    /// Begins to send something.
    pub fn post(&self, url: Url) -> EgressRequest {
        self.request(Method::POST, url)
    }

    /// Begins a request of any method.
    pub fn request(&self, method: Method, url: Url) -> EgressRequest {
        EgressRequest::new(self.clone(), method, url)
    }

    /// Checks whether an address may be asked, as far as that can be known without resolving its name.
    ///
    /// # Errors
    /// [`EgressError::Address`] or [`EgressError::Private`].
    pub fn check(&self, url: &Url) -> Result<(), EgressError> {
        self.client_for(url, Version::Any).map(|_| ())
    }

    /// Whether the operator named this very place, so that it may be asked without encryption, too.
    pub(crate) fn is_named(&self, url: &Url) -> bool {
        self.settings.allow.iter().any(|target| target.names(url))
    }

    fn max_redirects(&self) -> usize {
        self.settings.max_redirects
    }

    /// The client that may ask this address.
    fn client_for(&self, url: &Url, version: Version) -> Result<&reqwest::Client, EgressError> {
        let (guarded, open) = match version {
            Version::Any => (&self.guarded, &self.open),
            Version::One => (&self.guarded_http1, &self.open_http1),
            Version::Two => (&self.guarded_http2, &self.open_http2),
        };
        if let Some(what) = unfit(url) {
            let shown = url.as_str().split(['?', '#']).next().unwrap_or_default();
            let shown = if url.username().is_empty() && url.password().is_none() {
                shown
            } else {
                url.host_str().unwrap_or("")
            };
            return Err(EgressError::Address { url: shown.chars().take(200).collect(), what });
        }
        if let Some(refusal) = self.refused_link(url) {
            return Err(refusal);
        }
        if self.is_named(url) {
            return Ok(open);
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => address.into(),
            Some(Host::Ipv6(address)) => address.into(),
            _ => return Ok(guarded),
        };
        if is_global(address) {
            return Ok(guarded);
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let allow = AllowedTarget::of(url).map(String::from).unwrap_or_default();
        Err(EgressError::Private { host, address, allow })
    }
}

impl Egress {
    /// Why a host that is reached through a link cannot be asked, if it cannot. What passes here is never
    /// given to a client that resolves names.
    fn refused_link(&self, url: &Url) -> Option<EgressError> {
        let host = link_host(url)?;
        let refuse = |what| Some(EgressError::Address { url: host.to_owned(), what });
        match self.links() {
            None => {
                refuse("it is a site of the mesh, and this one is not in the mesh; set [mesh] enabled = true")
            }
            Some(links) if links.site_of(host).is_none() => refuse("it does not name a site"),
            Some(_) if url.scheme() != "http" || url.port().is_some() => refuse(
                "a site of the mesh is addressed with http:// and without a port; the link is encrypted",
            ),
            Some(_) => None,
        }
    }
}

/// Why an address cannot be used, if it cannot.
fn unfit(url: &Url) -> Option<&'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        return Some("only http:// and https:// addresses are allowed");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it carries a user name or password; give the token in the configuration instead");
    }
    if url.host_str().is_none_or(|host| host.trim_matches('.').is_empty()) {
        return Some("it names no host");
    }
    if url.port() == Some(0) {
        return Some("port 0 is not a valid port");
    }
    if url.as_str().len() > MAX_URL {
        return Some("it is too long");
    }
    None
}

fn http_client(
    settings: &EgressSettings,
    mut tls: ClientConfig,
    resolver: FilteredResolver,
    version: Version,
) -> Result<reqwest::Client, EgressError> {
    let builder = reqwest::Client::builder();
    let builder = match version {
        Version::Any => builder,
        Version::One => {
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            builder.http1_only()
        }
        Version::Two => builder.http2_prior_knowledge(),
    };
    builder
        .user_agent(settings.user_agent.as_str())
        .connect_timeout(settings.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .pool_idle_timeout(KEEP_IDLE)
        .pool_max_idle_per_host(KEEP_PER_HOST)
        .tls_backend_preconfigured(tls)
        .dns_resolver(resolver)
        .build()
        .map_err(|error| EgressError::Settings(error.to_string()))
}

/// TLS with the certificates that this machine trusts. A machine without any can still use http; https then
/// fails with the error of the TLS library, and the log names what to install.
fn tls_config() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = || {
        let builder = ClientConfig::builder_with_provider(provider.clone());
        builder.with_safe_default_protocol_versions().expect("the provider knows TLS 1.2 and 1.3")
    };
    let mut config = match versions().with_platform_verifier() {
        Ok(builder) => builder.with_no_client_auth(),
        Err(error) => {
            tracing::warn!(%error, "no trusted certificates on this machine: https addresses cannot be \
                                    reached; install ca-certificates");
            versions().with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}
