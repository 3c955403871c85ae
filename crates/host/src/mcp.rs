//! MCP servers as agents: a program that the site starts and keeps alive, or a server elsewhere.
//!
//! Promises: the server is unchanged; its tools are the skills of the agent and are called in structured
//! form, or in plain words when there is a model. What its tools say of themselves is pinned. A server that
//! dies is started again, slower each time, and affects no other agent. Everything that leaves the site goes
//! through its egress. It does not know the wire: the client does.

mod hosted;
mod plain_text;
mod questions;
mod remote;
mod session;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agentsite_client::mcp::{Address, Limits, McpClient, OAuth, Options, RegisteredClient};
use agentsite_protocol::{AgentCard, Outcome};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use url::Url;

use crate::child::{Bulletin, ChildCommand, Keeper, Pipes, bulletin};
use crate::llm::{LlmRunner, Sampler};
use crate::sandbox::Bounds;
use crate::{
    AgentLog, CHANGE_QUEUE, Health, Job, LaunchError, LlmRuntime, LogSource, Manifest, McpRuntime, Reporter,
    Runner, ServerAuth, ServerGrant, ServerLogin, ToolPins, Toolbox, ToolboxRunner, Workshop,
};
use hosted::{HostedServer, MessageToolbox};
use plain_text::{Interpretation, Interpreter};
use questions::SiteAnswers;
use remote::{Access, RemoteServer};
use session::{Session, Shared};

/// How much larger than its content a message of the protocol may be: escapes, and bytes in base64.
const WRAPPING: u64 = 2;

/// The prompt of the model that answers for a tool server.
const PROMPT: &str =
    "Answer by using the tools; do not guess what a tool could tell. Say so when no tool fits.";

/// Runs tasks at a tool server.
#[derive(Debug)]
pub(crate) struct McpRunner {
    server: Arc<HostedServer>,
    calls: ToolboxRunner,
    interpreter: Arc<Interpreter>,
    tokens_per_task: u64,
    keeper: TaskTracker,
    stop: CancellationToken,
    /// Dropping the runner stops the keeper, and that the server.
    _stop_when_dropped: DropGuard,
}

/// Where the server is.
enum ServerLocation {
    /// We start it and talk through its pipes.
    Here(ChildCommand),
    /// It is there already.
    Elsewhere(RemoteServer),
}

impl McpRunner {
    /// Makes the runner and starts its keeper in the background; must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`LaunchError`] when a variable that the manifest names is not set.
    pub(crate) fn launch(
        runtime: &McpRuntime,
        manifest: &Manifest,
        folder: Option<&Path>,
        workshop: &Workshop,
        log: &AgentLog,
    ) -> Result<Arc<dyn Runner>, LaunchError> {
        let (way, roots) = way(runtime, manifest, folder, workshop, log)?;
        let login = if let ServerLocation::Elsewhere(server) = &way { server.access.login() } else { None };
        let (changes, _) = broadcast::channel(CHANGE_QUEUE);
        let (pins, complaint) = ToolPins::open(runtime.approve, folder, changes.clone());
        if let Some(complaint) = complaint {
            log.push(LogSource::Site, &complaint);
        }
        let shared = Shared { pins: Arc::new(pins), changes, doubt: Arc::new(Notify::new()) };
        let (bulletin, watch) = bulletin(log);
        let (patience, stop) = (runtime.start_timeout.0, CancellationToken::new());
        let session = Session {
            options: Options { roots: roots.clone(), ..options(runtime, manifest, workshop) },
            start_timeout: patience,
            probes: runtime.url.is_some(),
            shared: shared.clone(),
            login: login.clone(),
            log: log.clone(),
            stayed_silent: AtomicBool::new(false),
        };
        let keeper = TaskTracker::new();
        let span = tracing::info_span!("mcp_keeper", agent = %manifest.name);
        keeper.spawn(keep(way, session, bulletin, stop.clone()).instrument(span));
        keeper.close();
        let model = model_of(runtime, manifest);
        let clerk = SiteAnswers {
            roots,
            sampler: runtime.sampling.then(|| Sampler::new(&model, manifest, workshop)),
        };
        let output = manifest.limits.output;
        let log_of = log.clone();
        let server = HostedServer { watch, shared, clerk, patience, output, login, log: log_of };
        let server = Arc::new(server);
        let speech = || LlmRunner::over(server.clone(), &model, manifest, workshop, log.clone());
        Ok(Arc::new(Self {
            calls: ToolboxRunner::new(Arc::new(MessageToolbox(server.clone()))),
            interpreter: Arc::new(Interpreter::new(server.clone(), runtime.talk.then(speech))),
            server,
            tokens_per_task: manifest.budget.tokens_per_task,
            keeper,
            _stop_when_dropped: stop.clone().drop_guard(),
            stop,
        }))
    }
}

/// Keeps the server until it is stopped.
async fn keep(way: ServerLocation, session: Session, bulletin: Bulletin<McpClient>, stop: CancellationToken) {
    let session = Arc::new(session);
    match way {
        ServerLocation::Elsewhere(server) => server.keep(session, bulletin, stop).await,
        ServerLocation::Here(command) => {
            let keeper = Keeper::new(command, Arc::new(bulletin), session.log.clone(), stop);
            let serve =
                |pipes: Pipes, bulletin: Arc<Bulletin<McpClient>>| -> BoxFuture<'static, Option<String>> {
                    let session = session.clone();
                    let address = Address::pipes(pipes.stdout, pipes.stdin);
                    Box::pin(async move { session.serve(address, &bulletin).await.reason() })
                };
            keeper.run(serve).await;
        }
    }
}

/// Where the server is, and which folders it gets to know.
fn way(
    runtime: &McpRuntime,
    manifest: &Manifest,
    folder: Option<&Path>,
    workshop: &Workshop,
    log: &AgentLog,
) -> Result<(ServerLocation, Value), LaunchError> {
    if let Some(url) = &runtime.url {
        let egress = workshop.egress.clone();
        let access = match (&runtime.auth, workshop.token(runtime.token_env.as_deref())?) {
            (Some(auth), _) => access(auth, url, manifest, workshop, log)?,
            (None, Some(token)) => Access::Token(token),
            (None, None) => Access::Anybody,
        };
        let server = RemoteServer { url: url.clone(), egress, access };
        return Ok((ServerLocation::Elsewhere(server), json!({ "roots": [] })));
    }
    let McpRuntime { command, env, pass_env, memory, cpu, file_size, open_files, .. } = runtime;
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let bounds = Bounds::of(*memory, *cpu, *file_size, *open_files);
    let confined = workshop.confinement.of(manifest, folder, bounds)?;
    let command = ChildCommand::new(command.clone(), folder, &workshop.environment, pass_env, env, confined);
    let roots = Url::from_directory_path(command.folder()).map_or_else(
        |()| json!({ "roots": [] }),
        |url| json!({ "roots": [{ "uri": url, "name": "agent" }] }),
    );
    Ok((ServerLocation::Here(command), roots))
}

/// How the site gets a token from the server's authorization server.
fn access(
    auth: &ServerAuth,
    url: &Url,
    manifest: &Manifest,
    workshop: &Workshop,
    log: &AgentLog,
) -> Result<Access, LaunchError> {
    let variable = auth.client_secret_env.as_deref();
    let secret = workshop.secret("client_secret_env", "the client's secret", variable)?;
    let client = auth.client_id.clone().map(|id| RegisteredClient { id, secret });
    let (scopes, agent) = (auth.scopes.clone(), manifest.name.clone());
    match (auth.grant, client) {
        (ServerGrant::Machine, Some(client)) => {
            Ok(Access::Machine(Box::new(OAuth { scopes, ..OAuth::machine(client) })))
        }
        (ServerGrant::Machine, None) => {
            Err(LaunchError::Setup("auth = \"machine\" needs client_id and client_secret_env".into()))
        }
        (ServerGrant::Login, client) => {
            let kept = OAuth::kept(agent.to_string(), workshop.credentials.clone());
            let oauth = OAuth { client, scopes, client_name: format!("agentsite: {agent}"), ..kept };
            let (egress, clock) = (workshop.egress.clone(), workshop.ids.clock().clone());
            let login = ServerLogin::new(agent, url.clone(), egress, oauth, clock, log.clone());
            Ok(Access::Login(Arc::new(login)))
        }
    }
}

fn options(runtime: &McpRuntime, manifest: &Manifest, workshop: &Workshop) -> Options {
    let options = Options::new(workshop.ids.rng().clone());
    let usual = Limits::default();
    let output = manifest.limits.output.0.saturating_mul(WRAPPING);
    let message = usual.message.max(usize::try_from(output).unwrap_or(usize::MAX));
    Options {
        limits: Limits {
            message,
            call: manifest.limits.timeout.0.max(usual.call),
            connect: runtime.start_timeout.0.max(usual.connect),
            ..usual
        },
        ..options
    }
}

/// The model that answers for the server, and for its tools where that is allowed.
fn model_of(runtime: &McpRuntime, manifest: &Manifest) -> LlmRuntime {
    let about = format!("You are the agent {}. {}\n", manifest.name, manifest.description);
    let prompt = runtime.prompt.clone().unwrap_or_else(|| format!("{about}{PROMPT}"));
    LlmRuntime::plain(Some(prompt), runtime.model.clone())
}

impl Runner for McpRunner {
    fn run(&self, mut job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        // What the server's tools ask of the site's model counts for the whole task.
        job.ephemeral.budget =
            job.ephemeral.budget.below(&job.agent, self.tokens_per_task, job.used.tokens());
        let (calls, interpreter) = (self.calls.clone(), self.interpreter.clone());
        Box::pin(async move {
            let cancel = job.cancel.clone();
            let meaning = tokio::select! {
                biased;
                () = cancel.cancelled() => return Outcome::Canceled(None),
                meaning = interpreter.understand(&job) => meaning,
            };
            match meaning {
                Interpretation::Call(message) => calls.run(Job { message, ..job }, report).await,
                Interpretation::Talk => interpreter.talk(job, report).await,
            }
        })
    }

    fn memory(&self) -> usize {
        self.interpreter.memory()
    }

    fn health(&self) -> Health {
        self.server.watch.health()
    }

    fn card(&self) -> Option<Arc<AgentCard>> {
        self.calls.card()
    }

    fn toolbox(&self) -> Option<Arc<dyn Toolbox>> {
        Some(self.server.clone())
    }

    fn pins(&self) -> Option<Arc<ToolPins>> {
        Some(self.server.shared.pins.clone())
    }

    fn notice(&self) -> Option<String> {
        self.server.watch.notice().or_else(|| self.server.shared.pins.notice())
    }

    fn login(&self) -> Option<Arc<ServerLogin>> {
        self.server.login.clone()
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.stop.cancel();
        let keeper = self.keeper.clone();
        Box::pin(async move { keeper.wait().await })
    }
}
