//! The shape of `agentsite.toml`: every key, its type, its default and its meaning.
//!
//! Promises: these types, and the sections that the crates below declare for themselves, are the only place
//! where a key is declared; the reader, the environment variables, the schema and the documentation are made
//! from them. Unknown keys are errors. The words above each key are what users read. It checks nothing beyond
//! types: `config` does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use agentsite_client::EmbeddingsSection;
use agentsite_dev::conformance::Kit;
use agentsite_egress::EgressSection;
use agentsite_gateway::{HttpLimits, Rates};
use agentsite_host::llm::ModelSection;
use agentsite_protocol::{AgentName, ByteSize, Period, Scope};
use agentsite_site::{HubSettings, PushSettings, Retention};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

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
    /// File with the certificate chain (PEM). With tls_key it makes the site speak HTTPS.
    pub(crate) tls_cert: Option<PathBuf>,
    /// File with the private key of the certificate (PEM).
    pub(crate) tls_key: Option<PathBuf>,
    /// Address under which others reach the site, such as `https://agents.example.org`.
    pub(crate) public_url: Option<String>,
    /// Reverse proxies whose forwarded headers are believed, by address or by range like `10.0.0.0/8`.
    pub(crate) trusted_proxies: Vec<String>,
    /// Whether a proxy in front of the site speaks TLS for it, so that it may listen openly without a
    /// certificate.
    pub(crate) tls_elsewhere: bool,
    /// What callers without a key may use.
    pub(crate) anonymous: Anonymous,
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
    /// How receivers are told about tasks (push notifications).
    pub(crate) push: PushSection,
    /// How agents from elsewhere are registered and kept fresh.
    pub(crate) hub: HubSettings,
    /// The authorization server whose tokens callers may show instead of a key (OAuth 2.1).
    pub(crate) oauth: OauthSection,
    /// How agents are found.
    pub(crate) search: SearchSection,
    /// Logs and traces.
    pub(crate) telemetry: TelemetrySection,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4747)),
            data: "agentsite-data".into(),
            agents: "agents".into(),
            key_file: None,
            demos: true,
            conformance: Kit::default(),
            tls_cert: None,
            tls_key: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            tls_elsewhere: false,
            anonymous: Anonymous::default(),
            site: SiteSection::default(),
            limits: LimitsSection::default(),
            retention: RetentionSection::default(),
            storage: StorageSection::default(),
            models: BTreeMap::new(),
            egress: EgressSection::default(),
            push: PushSection::default(),
            hub: HubSettings::default(),
            oauth: OauthSection::default(),
            search: SearchSection::default(),
            telemetry: TelemetrySection::default(),
        }
    }
}

/// Reads an address with its port; `localhost` stands for loopback.
fn address<'de, D: Deserializer<'de>>(input: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(input)?;
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(&text).parse().map_err(|_| {
        serde::de::Error::custom(format!(
            "`{text}` is no address: write it with its port, like 127.0.0.1:4747"
        ))
    })
}

/// What callers without a key may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Anonymous {
    /// Nothing.
    None,
    /// Agents whose visibility is public.
    #[default]
    Public,
    /// Everything; allowed on this machine only.
    Admin,
}

/// How the site introduces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SiteSection {
    /// Name on the site's card.
    pub(crate) name: String,
    /// What the site is for, in a sentence.
    pub(crate) description: String,
    /// Agent that answers for the site itself, at `/a2a` and on its card, in place of the concierge, which
    /// finds the right agent.
    #[schemars(with = "Option<String>")]
    pub(crate) default_agent: Option<AgentName>,
    /// Whether cards carry beside the words of A2A 1.0 those that readers of 0.3 look for.
    pub(crate) hybrid_cards: bool,
    /// Search addresses of other registries (ARD, like `https://finder.example/search`). A search asks the
    /// first eight of them too, unless it says otherwise, so they learn what is looked for; callers are
    /// referred to all of them.
    pub(crate) upstreams: Vec<String>,
    /// How long a stop waits for work that is under way.
    pub(crate) drain: Period,
}

impl Default for SiteSection {
    fn default() -> Self {
        Self {
            name: "agentsite".into(),
            description: "A site of agents".into(),
            default_agent: None,
            hybrid_cards: true,
            upstreams: Vec::new(),
            drain: Period::seconds(10),
        }
    }
}

/// What one request and one caller may cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsSection {
    /// Largest body of a request, and so the largest message.
    pub(crate) body: ByteSize,
    /// Longest that the body of a request may take to arrive.
    pub(crate) body_time: Period,
    /// Bytes per second at which the body of a request must arrive on average after its first five seconds; 0
    /// means no minimum.
    pub(crate) body_rate: ByteSize,
    /// Memory for the bodies of requests that have not arrived completely. One address has an eighth of it,
    /// one key a quarter.
    pub(crate) body_memory: ByteSize,
    /// Largest head of a request.
    pub(crate) head: ByteSize,
    /// Longest that a caller may leave an answer unread before the site ends it.
    pub(crate) send_time: Period,
    /// Percent of all connections, requests and streams that only authenticated callers may use.
    pub(crate) reserve: u8,
    /// Connections at once. When there are more, the site ends one of the address that has most.
    pub(crate) connections: usize,
    /// Connections at once from one address (IPv6: one /64 network) on which nobody has authenticated. A
    /// proxy in trusted_proxies may have more.
    pub(crate) connections_per_address: usize,
    /// Connections at once that stay open for one key whatever others do.
    pub(crate) connections_per_key: usize,
    /// Requests at once.
    pub(crate) requests: usize,
    /// Requests at once from one address without a key.
    pub(crate) requests_per_address: usize,
    /// Requests at once of one key.
    pub(crate) requests_per_key: usize,
    /// Streams of events at once.
    pub(crate) streams: usize,
    /// Streams of events at once to one address without a key.
    pub(crate) streams_per_address: usize,
    /// Streams of events at once to one key.
    pub(crate) streams_per_key: usize,
    /// Programs that are connected by WebSocket to be agents at once.
    pub(crate) sockets: usize,
    /// Programs that one key has connected at once.
    pub(crate) sockets_per_key: usize,
    /// WebSockets of one key whose programs have not registered as an agent yet.
    pub(crate) unregistered_per_key: usize,
    /// WebSockets from one address whose programs have not registered as an agent yet.
    pub(crate) unregistered_per_address: usize,
    /// How long a program may take to register after it has connected.
    pub(crate) register_time: Period,
    /// Memory for messages from connected programs that are not complete or not handled yet. One key has a
    /// quarter of it.
    pub(crate) socket_memory: ByteSize,
    /// Requests per second of one API key; 0 means no limit.
    pub(crate) key_rate: u32,
    /// Requests that one API key may send at once before its rate counts.
    pub(crate) key_burst: u32,
    /// Requests per second of one address without a key; 0 means no limit.
    pub(crate) anonymous_rate: u32,
    /// Requests that one address without a key may send at once before its rate counts.
    pub(crate) anonymous_burst: u32,
}

impl Default for LimitsSection {
    fn default() -> Self {
        let (http, rates) = (HttpLimits::default(), Rates::default());
        Self {
            body: ByteSize(http.body as u64),
            body_time: Period(http.body_time),
            body_rate: ByteSize(http.body_rate as u64),
            body_memory: ByteSize(http.body_memory.total as u64),
            head: ByteSize(http.head as u64),
            send_time: Period(http.send_time),
            reserve: 25,
            connections: http.connections.total,
            connections_per_address: http.connections.per_address,
            connections_per_key: http.connections.per_owner,
            requests: http.requests.total,
            requests_per_address: http.requests.per_address,
            requests_per_key: http.requests.per_owner,
            streams: http.streams.total,
            streams_per_address: http.streams.per_address,
            streams_per_key: http.streams.per_owner,
            sockets: http.sockets.total,
            sockets_per_key: http.sockets.per_owner,
            unregistered_per_key: http.unregistered.per_owner,
            unregistered_per_address: http.unregistered.per_address,
            register_time: Period(http.register_time),
            socket_memory: ByteSize(http.socket_memory.total as u64),
            key_rate: rates.key.per_second,
            key_burst: rates.key.burst,
            anonymous_rate: rates.anonymous.per_second,
            anonymous_burst: rates.anonymous.burst,
        }
    }
}

/// How long finished work is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetentionSection {
    /// Finished tasks that are kept at most; the oldest go first.
    pub(crate) tasks: usize,
    /// Age at which a finished task goes.
    pub(crate) age: Period,
    /// Age at which a line of the journal goes.
    pub(crate) journal_age: Period,
    /// Size of the journal above which its oldest lines go.
    pub(crate) journal_size: ByteSize,
    /// Age at which a finished task of a caller without a key goes. When such callers have used three
    /// quarters of storage.anonymous, their oldest finished tasks go from the age of ten minutes on.
    pub(crate) anonymous_age: Period,
}

impl Default for RetentionSection {
    fn default() -> Self {
        let site = Retention::default();
        Self {
            tasks: site.keep_tasks,
            age: site.max_age,
            journal_age: site.journal_age,
            journal_size: site.journal_size,
            anonymous_age: site.anonymous_age,
        }
    }
}

/// How much may be stored. `0B` means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StorageSection {
    /// Most that one address without a key may store. An IPv6 network (/64) counts as one address.
    pub(crate) address: ByteSize,
    /// Most that all callers without a key may store together.
    pub(crate) anonymous: ByteSize,
    /// Most that one key, or one user of the authorization server, may store.
    pub(crate) key: ByteSize,
    /// Most that an admin may store.
    pub(crate) admin: ByteSize,
    /// Most that is stored in all.
    pub(crate) total: ByteSize,
    /// Size of a file that is removed when the disk is full, so that deleting still works. At most a
    /// sixteenth of the disk.
    pub(crate) ballast: ByteSize,
    /// Free space of the disk below which new work is refused. At most a twentieth of the disk.
    pub(crate) reserve: ByteSize,
}

impl Default for StorageSection {
    fn default() -> Self {
        // Callers without a key: one of them gets 64 messages of the largest size a day, and eight at once
        // fill the share of all, which is a fortieth of the whole at most. A key gets a month of a busy
        // program; sixteen full ones fill the site.
        Self {
            address: ByteSize(64 << 20),
            anonymous: ByteSize(512 << 20),
            key: ByteSize(2 << 30),
            admin: ByteSize(0),
            total: ByteSize(32 << 30),
            ballast: ByteSize(32 << 20),
            reserve: ByteSize(256 << 20),
        }
    }
}

/// How receivers are told about tasks (push notifications).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PushSection {
    /// Whether callers may name receivers. They must be on the open internet and speak HTTPS, or be named in
    /// egress.allow.
    pub(crate) enabled: bool,
    /// How long a delivery is tried before it is given up and kept as a dead letter (`agentsite outbox ls`).
    pub(crate) deadline: Period,
    /// Longest that a receiver may take to answer.
    pub(crate) timeout: Period,
}

impl Default for PushSection {
    fn default() -> Self {
        let push = PushSettings::default();
        Self { enabled: push.enabled, deadline: push.deadline, timeout: push.timeout }
    }
}

/// The authorization server whose tokens callers may show instead of a key (OAuth 2.1).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OauthSection {
    /// Name and address of the server, as its tokens write it, such as
    /// `https://login.example.org/realms/agents`. Its tokens must be made for the site's own address (set
    /// public_url), or for a name in oauth.audience.
    pub(crate) issuer: Option<String>,
    /// Where the server's keys are. Found through the server's own description when left out.
    pub(crate) jwks_url: Option<String>,
    /// For whom tokens may be made beside the site's own addresses.
    pub(crate) audience: Vec<String>,
    /// Scopes that everybody with a token has: call, call:AGENT. Otherwise the token's own scopes count.
    #[schemars(with = "Vec<String>")]
    pub(crate) grant: Vec<Scope>,
    /// Whether the scope admin in a token counts.
    pub(crate) admin: bool,
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
    /// Whether everybody may read `/metrics`; otherwise only admins and callers on this machine.
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
