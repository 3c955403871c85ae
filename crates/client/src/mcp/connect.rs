//! Connect: the first words with a tool server.
//!
//! Promises: revision 2026-07-28 is tried first, and a server that does not know it is greeted in the older
//! way; the first words are bounded in time like everything else. It does not try again when a server is
//! down.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ErrorCode, ErrorData, Implementation,
    ProtocolVersion, ServerPeerInfo,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::answer::QuestionRouter;
use super::call::Shared;
use super::calls::Calls;
use super::http::Http;
use super::lines::Lines;
use super::listening::Listening;
use super::login::Login;
use super::parked::Parked;
use super::tap::Tap;
use super::tasks::TaskTools;
use super::{About, Address, Authorization, Connection, MAX_LOGINS, McpError, Options};

/// How long a goodbye may take.
pub(super) const GOODBYE: Duration = Duration::from_secs(5);

type Engine = RunningService<RoleClient, QuestionRouter>;

/// How long the question for the newest revision may stay unanswered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// A few seconds, then the older greeting is sent. Fits a server on the network: each request has its own
    /// answer.
    Brief,
    /// As long as the server may take to start. A process that is slow to start finds every earlier request
    /// in its pipe, and would take a second greeting for a mistake.
    Answered,
}

/// What a connection is made of before the first word.
struct Beginning {
    shared: Shared,
    fate: Arc<OnceLock<String>>,
    login: Option<Arc<Login>>,
    options: Options,
}

/// Connects to a server.
pub(super) async fn connect(address: Address, options: Options) -> Result<Connection, McpError> {
    let calls = Arc::new(Calls::new(options.abilities));
    let parked = Arc::new(Parked::new(&options.limits, options.rng.clone()));
    let mut beginning =
        Beginning { shared: Shared { calls, parked }, fate: Arc::default(), login: None, options };
    let connection = match address {
        Address::Pipes { read, write } => {
            let lines = Lines::new(read, write, beginning.options.limits.message, beginning.fate.clone());
            beginning.greet(|| lines.clone(), Probe::Answered).await?
        }
        Address::Url { url, egress, authorization, headers } => {
            if let Authorization::OAuth(oauth) = &authorization {
                let login = Login::new(url.clone(), egress.clone(), oauth.clone());
                beginning.login = Some(Arc::new(login));
            }
            let http = Http::new(egress, headers, beginning.login.clone(), beginning.options.limits);
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            config.max_sse_event_size = beginning.options.limits.message;
            if let Authorization::Bearer(token) = &authorization {
                config = config.auth_header(token.secret());
            }
            beginning
                .greet(
                    || StreamableHttpClientTransport::with_client(http.clone(), config.clone()),
                    Probe::Brief,
                )
                .await?
        }
    };
    connection.wish_for_logs().await;
    Ok(connection)
}

impl Beginning {
    /// Greets a server in the new way, and in the older way when it says that it knows only that.
    async fn greet<T: Transport<RoleClient> + 'static>(
        self,
        transport: impl Fn() -> T,
        probe: Probe,
    ) -> Result<Connection, McpError> {
        let mut logins = 0;
        let (engine, alive) = loop {
            let turn = self.login.as_ref().map_or(0, |login| login.turn());
            let error = match self.hello(&transport, probe).await {
                Ok(connected) => break connected,
                Err(error) => error,
            };
            match (error.auth_challenge(), &self.login) {
                (Some(challenge), Some(login)) if logins < MAX_LOGINS => {
                    Box::pin(login.renew(challenge, turn)).await?;
                }
                (Some(_), Some(login)) if login.is_unattended() => return Err(McpError::LoginNeeded),
                _ => return Err(self.failure(error)),
            }
            logins += 1;
        };
        let info = engine
            .peer()
            .peer_info()
            .ok_or_else(|| McpError::BadAnswer("it does not introduce itself".into()))?;
        Ok(Connection {
            peer: engine.peer().clone(),
            engine: Mutex::new(Some(engine)),
            listening: Listening::default(),
            about: about(&info),
            revision: info.protocol_version.to_string(),
            modern: !info.protocol_version.has_initialize(),
            shared: self.shared,
            options: self.options,
            fate: self.fate,
            login: self.login,
            alive,
            task_tools: TaskTools::default(),
        })
    }

    async fn hello<T: Transport<RoleClient> + 'static>(
        &self,
        transport: &impl Fn() -> T,
        probe: Probe,
    ) -> Result<(Engine, watch::Receiver<()>), ClientInitializeError> {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let new = match probe {
            Probe::Answered if self.options.initialize_first => ClientLifecycleMode::Initialize,
            Probe::Answered => ClientLifecycleMode::Discover { preferred_versions },
            Probe::Brief => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
        };
        match self.serve(transport(), new).await {
            // The server has started and does not know the question, so the pipe is free for the older one.
            Err(ClientInitializeError::JsonRpcError(error))
                if probe == Probe::Answered && is_older(&error) =>
            {
                self.serve(transport(), ClientLifecycleMode::Initialize).await
            }
            Err(ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. })
                if server_supported.iter().any(ProtocolVersion::has_initialize) =>
            {
                self.serve(transport(), ClientLifecycleMode::Initialize).await
            }
            // A lax server of an older revision answers anything with something.
            Err(ClientInitializeError::ExpectedInitResult(_)) => {
                self.serve(transport(), ClientLifecycleMode::Initialize).await
            }
            other => other,
        }
    }

    async fn serve<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        mode: ClientLifecycleMode,
    ) -> Result<(Engine, watch::Receiver<()>), ClientInitializeError> {
        let (alive, living) = watch::channel(());
        let tap = Tap::new(transport, self.shared.calls.clone(), alive);
        let roots = self.options.roots.clone();
        let answering = QuestionRouter { config: self.config(), calls: self.shared.calls.clone(), roots };
        let serving = serve_client_with_lifecycle(answering, tap, mode);
        let served = tokio::time::timeout(self.options.limits.connect, serving).await;
        let engine = served.map_err(|_| ClientInitializeError::Cancelled)??;
        Ok((engine, living))
    }

    fn failure(&self, error: ClientInitializeError) -> McpError {
        match (self.fate.get(), error) {
            (Some(why), _) => McpError::TooLarge(why.clone()),
            (None, ClientInitializeError::Cancelled) => {
                McpError::TimedOut { what: "say who it is", after: self.options.limits.connect }
            }
            (None, error) => McpError::from(error),
        }
    }

    /// Who we are, and what we can do.
    fn config(&self) -> ClientConfig {
        let able = self.options.abilities;
        let mut capabilities = serde_json::Map::new();
        if able.forms || able.urls {
            let mut kinds = serde_json::Map::new();
            kinds.extend(able.forms.then(|| ("form".to_owned(), json!({}))));
            kinds.extend(able.urls.then(|| ("url".to_owned(), json!({}))));
            capabilities.insert("elicitation".into(), Value::Object(kinds));
        }
        capabilities.extend(able.sampling.then(|| ("sampling".to_owned(), json!({}))));
        capabilities.extend(able.roots.then(|| ("roots".to_owned(), json!({}))));
        let capabilities: ClientCapabilities =
            serde_json::from_value(Value::Object(capabilities)).unwrap_or_default();
        let name = Implementation::new(self.options.name.clone(), self.options.version.clone());
        ClientConfig::new(capabilities, name).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

impl Connection {
    /// Sends the wanted log level to a server of an older revision; newer ones get it with every request.
    async fn wish_for_logs(&self) {
        let Some(level) = self.options.log else { return };
        if self.modern || !self.about.logging {
            return;
        }
        let request = CustomRequest::new("logging/setLevel", Some(json!({ "level": level })));
        if let Err(error) = self.ask::<Value>("log", ClientRequest::CustomRequest(request)).await {
            tracing::debug!(%error, "a tool server that logs does not accept a log level");
        }
    }
}

/// Whether a server that refuses to list its versions is one of an older revision; newer ones have their own
/// codes.
fn is_older(error: &ErrorData) -> bool {
    !matches!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH)
}

fn about(info: &ServerPeerInfo) -> About {
    let has = &info.capabilities;
    let server = info.server_info.clone();
    About {
        name: server.as_ref().map(|server| server.name.clone()).unwrap_or_default(),
        title: server.as_ref().and_then(|server| server.title.clone()),
        version: server.map(|server| server.version).unwrap_or_default(),
        instructions: info.instructions.clone(),
        tools: has.tools.is_some(),
        resources: has.resources.is_some(),
        subscriptions: has.resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true)),
        prompts: has.prompts.is_some(),
        completions: has.completions.is_some(),
        logging: has.logging.is_some(),
    }
}
