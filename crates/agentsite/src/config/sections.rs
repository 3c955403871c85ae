//! The shape of `agentsite.toml`: every key, its type, its default and its meaning.
//!
//! Promises: each section is one type of the crate that uses it; here they are joined, with the keys at the
//! top and the sections that only the binary uses. A key is declared nowhere else: the reader, the
//! environment variables, the schema and the documentation are made from these types. Unknown keys are
//! errors. The text above each key is what users read. It checks nothing beyond types: `config` does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use agentsite_client::EmbeddingsSection;
use agentsite_dev::conformance::Kit;
use agentsite_egress::EgressSection;
use agentsite_gateway::{AnonymousAccess, LimitsSection};
use agentsite_host::llm::ModelSection;
use agentsite_site::{
    ClusterSection, HubSettings, MeshSettings, OauthSection, PushSection, RetentionSection, SiteSection,
};
use agentsite_store::StorageSection;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The configuration of a site. Everything has a default; an empty file, or none, is a working site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "agentsite.toml")]
pub(crate) struct Config {
    /// Address and port to listen on. An address that others can reach needs TLS.
    #[serde(deserialize_with = "address")]
    #[schemars(with = "String")]
    pub(crate) listen: SocketAddr,
    /// Folder for everything that the site writes. It is made when it is missing.
    pub(crate) data: PathBuf,
    /// PostgreSQL database for the data of a site that several processes serve, such as
    /// `postgres://agentsite@db.example/agentsite?sslmode=verify-full`. Without it the data is in one file in
    /// the data folder, for one process. A password is better kept out of this file: see store_file.
    #[serde(serialize_with = "without_password")]
    pub(crate) store: Option<String>,
    /// File with the URL of the database, in the place of store.
    pub(crate) store_file: Option<PathBuf>,
    /// Folder with one folder for each agent.
    pub(crate) agents: PathBuf,
    /// File with the key that secrets in the data are encrypted with: 64 hexadecimal digits. It is made when
    /// it is missing. Without it the key is site.key in the data folder; the variable AGENTSITE_DATA_KEY and
    /// the systemd credential agentsite-data-key come before both.
    pub(crate) key_file: Option<PathBuf>,
    /// Whether the built-in agents echo, calc, clock and library are there.
    pub(crate) demos: bool,
    /// For which of the A2A compatibility kits the built-in agent `conformance` is there and answers for the
    /// site itself, and webhooks may go to this machine; never for a site that others use.
    pub(crate) conformance: Kit,
    /// File with the certificate chain (PEM). Together with tls_key it makes the site serve HTTPS.
    pub(crate) tls_cert: Option<PathBuf>,
    /// File with the private key of the certificate (PEM).
    pub(crate) tls_key: Option<PathBuf>,
    /// Address under which others reach the site, such as `https://agents.example.org`.
    pub(crate) public_url: Option<String>,
    /// Reverse proxies whose forwarded headers are believed, by address or by range like `10.0.0.0/8`.
    pub(crate) trusted_proxies: Vec<String>,
    /// Whether a proxy in front of the site terminates TLS, so that the site may listen on other addresses
    /// than loopback without a certificate.
    #[serde(alias = "tls_elsewhere")]
    pub(crate) tls_terminated_by_proxy: bool,
    /// What callers without a key may use.
    pub(crate) anonymous: AnonymousAccess,
    /// How the site introduces itself.
    pub(crate) site: SiteSection,
    /// What one request and one caller may cost.
    pub(crate) limits: LimitsSection,
    /// How long finished work is kept.
    pub(crate) retention: RetentionSection,
    /// How much may be stored.
    pub(crate) storage: StorageSection,
    /// Model servers for agents of kind llm, by a name of your choice. OPENAI_API_KEY and ANTHROPIC_API_KEY
    /// in the environment, and an Ollama on this machine, are found without an entry.
    pub(crate) models: BTreeMap<String, ModelSection>,
    /// What the site may reach.
    pub(crate) egress: EgressSection,
    /// How receivers are notified about tasks (push notifications).
    pub(crate) push: PushSection,
    /// How agents from elsewhere are registered and kept fresh.
    pub(crate) hub: HubSettings,
    /// Whether and how the site takes part in the mesh, where sites find each other's agents.
    pub(crate) mesh: MeshSettings,
    /// The authorization server whose tokens callers may show instead of a key (OAuth 2.1).
    pub(crate) oauth: OauthSection,
    /// How agents are found.
    pub(crate) search: SearchSection,
    /// How this process takes part in serving a site whose database several processes share.
    pub(crate) cluster: ClusterSection,
    /// Logs and traces.
    pub(crate) telemetry: TelemetrySection,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4747)),
            data: "agentsite-data".into(),
            store: None,
            store_file: None,
            agents: "agents".into(),
            key_file: None,
            demos: true,
            conformance: Kit::default(),
            tls_cert: None,
            tls_key: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            tls_terminated_by_proxy: false,
            anonymous: AnonymousAccess::default(),
            site: SiteSection::default(),
            limits: LimitsSection::default(),
            retention: RetentionSection::default(),
            storage: StorageSection::default(),
            models: BTreeMap::new(),
            egress: EgressSection::default(),
            push: PushSection::default(),
            hub: HubSettings::default(),
            mesh: MeshSettings::default(),
            oauth: OauthSection::default(),
            search: SearchSection::default(),
            cluster: ClusterSection::default(),
            telemetry: TelemetrySection::default(),
        }
    }
}

/// Reads an address with its port; `localhost` means loopback.
fn address<'de, D: Deserializer<'de>>(input: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(input)?;
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(&text).parse().map_err(|_| {
        serde::de::Error::custom(format!(
            "`{text}` is not an address: write it with its port, like 127.0.0.1:4747"
        ))
    })
}

/// Writes the URL of a database as people may read it.
fn without_password<S: Serializer>(store: &Option<String>, out: S) -> Result<S::Ok, S::Error> {
    store.as_deref().map(shown_store).serialize(out)
}

/// The URL of a database with stars in the place of its password.
pub(crate) fn shown_store(store: &str) -> String {
    match url::Url::parse(store) {
        Ok(mut url) if url.password().is_some() => {
            // A URL with a password has a host, so it can be given another one.
            let _ = url.set_password(Some("***"));
            url.into()
        }
        Ok(url) => url.into(),
        Err(_) => "(not a URL)".into(),
    }
}

/// How agents are found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SearchSection {
    /// An endpoint of the OpenAI style (`/embeddings`) whose model takes the place of the built-in one.
    pub(crate) embeddings: EmbeddingsSection,
}

/// Logs and traces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TelemetrySection {
    /// What is logged: error, warn, info, debug, trace, or rules like `info,agentsite_site=debug`.
    pub(crate) log: String,
    /// How log lines look.
    pub(crate) log_format: LogFormat,
    /// Where traces go, as OTLP over HTTP, such as `http://127.0.0.1:4318`. No traces are sent when left out.
    pub(crate) otlp_endpoint: Option<String>,
    /// Whether every caller may read `/metrics`; otherwise only admins.
    pub(crate) metrics_public: bool,
}

impl Default for TelemetrySection {
    fn default() -> Self {
        Self {
            log: "info".into(),
            log_format: LogFormat::default(),
            otlp_endpoint: None,
            metrics_public: false,
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Human on a terminal, else JSON.
    #[default]
    Auto,
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}
