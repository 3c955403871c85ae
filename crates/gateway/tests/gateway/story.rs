//! A site with a gateway in front, and ways to ask it.
//!
//! The site has real agents: `echo` (public, tasks), `parrot` (public, messages), `hidden` (private), `steps`
//! (streams lines), `long` (works until it is canceled).

use std::net::SocketAddr;
use std::sync::Arc;

use agentsite_gateway::{Gateway, GatewaySettings};
use agentsite_host::{Environment, Manifest, Workshop};
use agentsite_protocol::{Caller, Period, Scope};
use agentsite_site::{Site, SiteSettings, World};
use agentsite_store::MemStore;
use prometheus_client::registry::Registry;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The agents of every story.
const AGENTS: [&str; 5] = [
    r#"
    name = "echo"
    description = "Says it back"
    visibility = "public"
    [[skills]]
    id = "echo"
    name = "Echo"
    description = "Repeats the message"
    tags = ["echo"]
    examples = ["it's <me> & \"you\""]
    [runtime]
    kind = "builtin"
    builtin = "echo"
    "#,
    r#"
    name = "parrot"
    description = "Says it back without a record"
    visibility = "public"
    answers = "message"
    [runtime]
    kind = "builtin"
    builtin = "echo"
    "#,
    r#"
    name = "hidden"
    description = "For the people who run the site <b>only</b>"
    visibility = "private"
    [runtime]
    kind = "builtin"
    builtin = "echo"
    "#,
    r#"
    name = "steps"
    description = "Writes three lines"
    visibility = "public"
    [runtime]
    kind = "exec"
    command = ["sh", "-c", "for step in one two three; do echo $step; done"]
    "#,
    r#"
    name = "long"
    description = "Works until it is canceled"
    visibility = "public"
    [runtime]
    kind = "exec"
    command = ["sh", "-c", "exec sleep 600"]
    "#,
];

/// A running site.
pub(crate) struct Story {
    pub(crate) site: Site,
    pub(crate) address: SocketAddr,
    /// Shows the admin key wherever a request shows nothing else.
    pub(crate) http: Client,
    /// The key of `http`.
    pub(crate) admin: String,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

impl Story {
    /// A site with default settings.
    pub(crate) async fn begin() -> Self {
        Self::with(GatewaySettings::default()).await
    }

    /// A site whose gateway has these settings; the address is always a free port of this machine.
    pub(crate) async fn with(settings: GatewaySettings) -> Self {
        Self::of(settings, site().await).await
    }

    /// The same in front of a site of its own.
    pub(crate) async fn of(mut settings: GatewaySettings, site: Site) -> Self {
        settings.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut registry = Registry::default();
        settings.metrics.register(&mut registry);
        let gateway = Gateway::bind(settings, site.clone(), Arc::new(registry)).await.unwrap();
        let (address, stop) = (gateway.local_addr(), CancellationToken::new());
        let serving = tokio::spawn(gateway.serve(stop.clone()));
        let made = site.keys().create(&Caller::admin(), "admin", vec![Scope::Admin], None).await.unwrap();
        let (http, admin) = (client_with(&made.secret), made.secret);
        Self { site, address, http, admin, stop, serving: Some(serving) }
    }

    /// A caller without any credential.
    pub(crate) fn guest(&self) -> Guest {
        Guest { address: self.address, http: client() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(self.url(path))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(self.url(path))
    }

    /// A JSON-RPC call to an agent by an admin.
    pub(crate) async fn call(&self, agent: &str, method: &str, params: Value) -> Value {
        body(self.rpc(agent, method, params).send().await.unwrap()).await
    }

    /// The request of [`Self::call`], to be changed before it is sent.
    pub(crate) fn rpc(&self, agent: &str, method: &str, params: Value) -> RequestBuilder {
        called(self.post(&format!("/a2a/{agent}")), method, params)
    }

    /// An API key with these scopes.
    pub(crate) async fn key(&self, scopes: &[&str]) -> String {
        let scopes: Vec<Scope> = scopes.iter().map(|scope| scope.parse().unwrap()).collect();
        self.site.keys().create(&Caller::local(), "test", scopes, None).await.unwrap().secret
    }

    /// Opens a task of `long` that stays at work, and gives its id.
    pub(crate) async fn long_task(&self) -> String {
        let mut params = says("go on");
        params["configuration"] = json!({ "returnImmediately": true });
        let answer = self.call("long", "SendMessage", params).await;
        answer["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Tells the gateway to stop.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the gateway has stopped.
    pub(crate) async fn stopped(&mut self) {
        self.stop.cancel();
        if let Some(serving) = self.serving.take() {
            serving.await.unwrap();
        }
    }
}

/// A caller without any credential.
pub(crate) struct Guest {
    address: SocketAddr,
    pub(crate) http: Client,
}

impl Guest {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(self.url(path))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(self.url(path))
    }

    /// A JSON-RPC call to an agent.
    pub(crate) fn rpc(&self, agent: &str, method: &str, params: Value) -> RequestBuilder {
        called(self.post(&format!("/a2a/{agent}")), method, params)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the parameters where they call")]
fn called(request: RequestBuilder, method: &str, params: Value) -> RequestBuilder {
    let body = json!({ "jsonrpc": "2.0", "id": "r1", "method": method, "params": params });
    request.header("a2a-version", "1.0").json(&body)
}

impl Drop for Story {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A site with the agents of every story.
pub(crate) async fn site() -> Site {
    site_with(SiteSettings::default(), agentsite_egress::Egress::default()).await
}

/// The same with settings and a way out of its own.
pub(crate) async fn site_with(mut settings: SiteSettings, egress: agentsite_egress::Egress) -> Site {
    let world = World::system();
    let workshop = Workshop {
        credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
        confinement: agentsite_host::Confinement::none(),
        ids: world.ids(),
        egress,
        circuits: agentsite_egress::Circuits::new(world.ids().rng().clone()),
        models: agentsite_host::llm::ModelSettings::default(),
        environment: Environment::new([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
    };
    settings.site.drain = Period::seconds(1);
    let store = Arc::new(MemStore::new());
    let site = Site::open(settings, world, store, workshop).await.unwrap();
    for agent in AGENTS {
        site.agents().install(Manifest::read(agent).unwrap(), None).await.unwrap();
    }
    site.start().await.unwrap();
    site
}

/// A client that follows no redirect and believes every certificate.
pub(crate) fn client() -> Client {
    client_of(reqwest::header::HeaderMap::new())
}

/// The same, with this key wherever a request shows nothing else.
pub(crate) fn client_with(key: &str) -> Client {
    let bearer = format!("Bearer {key}").parse().unwrap();
    client_of([(reqwest::header::AUTHORIZATION, bearer)].into_iter().collect())
}

fn client_of(headers: reqwest::header::HeaderMap) -> Client {
    // Another test of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        .tls_danger_accept_invalid_certs(true)
        .no_proxy()
        .build()
        .unwrap()
}

/// Parameters of a message with this text.
pub(crate) fn says(text: &str) -> Value {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    json!({ "message": { "messageId": format!("m{number}"), "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

/// The body of an answer as JSON.
pub(crate) async fn body(response: Response) -> Value {
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
