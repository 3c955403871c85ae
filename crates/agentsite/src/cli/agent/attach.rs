//! `agentsite agent attach`: runs an agent here and connects it to a site elsewhere.
//!
//! Promises: no port is opened; any agent folder or command runs on this machine, and the site sees an agent
//! like every other. The connection is made again when it is lost; the verb ends when the site will not have
//! the agent, or by a signal, and with it everything that it started. The token comes from AGENTSITE_TOKEN,
//! or is that of the site that runs here.

use std::path::PathBuf;
use std::sync::Arc;

use agentsite_client::Token;
use agentsite_client::agent::{Agent, Ending, EndingWay, News, Work};
use agentsite_client::mcp::InMemory;
use agentsite_egress::{Circuits, Egress};
use agentsite_host::{
    AgentLog, Confinement, Credential, Environment, Ephemeral, Job, Manifest, NoCalls, Reporter, Runner,
    Workshop,
};
use agentsite_protocol::agent_session::{Assignment, Introduction, Progress};
use agentsite_protocol::{
    AgentName, Ids, Message, Outcome, Principal, Step, TraceContext, Usage, Visibility,
};
use agentsite_site::World;
use clap::Args;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::cli::shell::Shell;
use crate::config::models::models;
use crate::exit::{CliError, Exit};

/// The variable that holds the token of the site; programs that are run do not see it.
const TOKEN_VARIABLE: &str = "AGENTSITE_TOKEN";

/// Arguments of `agent attach`.
#[derive(Debug, Args)]
pub(super) struct Attach {
    /// Address of the site [default: the site that runs here].
    #[arg(long, value_name = "URL")]
    site: Option<Url>,
    /// Its name in the site [default: that in the agent.toml].
    #[arg(long, required_unless_present = "from")]
    name: Option<AgentName>,
    /// What it does, in a sentence; others find it by these words.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Who may find and call it: private, peers or public.
    #[arg(long)]
    visibility: Option<Visibility>,
    /// Tasks that run at once.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// How often a task is retried when its connection is lost.
    #[arg(long, value_name = "N")]
    retry: Option<u32>,
    /// Folder with an agent.toml, instead of a command.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    from: Option<PathBuf>,
    /// The program and its arguments; it reads the message and prints the answer, as with kind = "exec".
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "from")]
    command: Vec<String>,
}

/// Runs the agent until the site will not have it, or a signal comes.
pub(super) async fn attach(shell: &Shell, arguments: Attach) -> Result<Exit, CliError> {
    let (manifest, folder) = manifest(shell, &arguments)?;
    let (site, token) = site(shell, arguments.site)?;
    let ids = World::system().ids();
    let log = AgentLog::new(ids.clock().clone());
    let launched = workshop(shell, &ids)?.launch(&manifest, Some(&folder), &log);
    let runner = launched.map_err(|error| CliError::error(error.to_string()))?;
    let output = shell.output;
    let agent = Agent::introduced(introduction(&manifest)).on_news(move |news| match news {
        News::Connected(welcome) => {
            output.note(&format!("connected as {}; called at {}", welcome.name, welcome.urls.a2a));
            welcome.warnings.iter().for_each(|warning| output.note(&format!("note: {warning}")));
        }
        News::Lost(error, wait) => {
            output.note(&format!("{error}; trying again in {} s", wait.as_secs().max(1)));
        }
        News::Notice(text) => output.note(&format!("the site says: {text}")),
    });
    let name = manifest.name.clone();
    let at_work = runner.clone();
    let handler = move |assignment, work| {
        let (runner, ids, name) = (at_work.clone(), ids.clone(), name.clone());
        async move { attend(&*runner, ids, name, assignment, work).await }
    };
    let egress = Egress::unguarded();
    let ended = tokio::select! {
        error = agent.serve(&egress, &site, token.as_ref(), handler) => {
            Err(CliError::new(Exit::Refused, error.to_string()))
        }
        () = asked_to_stop() => Ok(Exit::Ok),
    };
    runner.stop().await;
    ended
}

/// Waits for a signal that asks the program to end.
async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut term) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
    }
}

/// What is run, and where.
fn manifest(shell: &Shell, arguments: &Attach) -> Result<(Manifest, PathBuf), CliError> {
    let (mut manifest, folder) = match &arguments.from {
        Some(folder) => {
            let file = folder.join("agent.toml");
            let text =
                std::fs::read_to_string(&file).map_err(|error| CliError::file("read", &file, &error))?;
            let read = Manifest::read(&text);
            (read.map_err(|error| CliError::error(format!("{}:{error}", file.display())))?, folder.clone())
        }
        None => {
            let here =
                std::env::current_dir().map_err(|error| CliError::file("find", ".".as_ref(), &error))?;
            (of_command(shell, arguments)?, here)
        }
    };
    if let Some(name) = &arguments.name {
        manifest.name = name.clone();
    }
    if let Some(description) = &arguments.description {
        manifest.description.clone_from(description);
    }
    manifest.visibility = arguments.visibility.unwrap_or(manifest.visibility);
    manifest.limits.concurrency = arguments.concurrency.unwrap_or(manifest.limits.concurrency);
    manifest.limits.retry = arguments.retry.unwrap_or(manifest.limits.retry);
    Ok((manifest, folder))
}

/// The manifest of a command, which sees what the person who typed it sees.
fn of_command(shell: &Shell, arguments: &Attach) -> Result<Manifest, CliError> {
    let seen: Vec<&String> = shell.variables.keys().filter(|name| *name != TOKEN_VARIABLE).collect();
    let name = arguments.name.as_ref().map_or("agent", AgentName::as_str);
    let description =
        format!("Runs {} for each message.", arguments.command.first().map_or("", String::as_str));
    let table = serde_json::json!({
        "name": name,
        "description": description,
        "runtime": { "kind": "exec", "command": arguments.command, "pass_env": seen },
    });
    let text = toml::to_string(&table).map_err(|error| CliError::error(error.to_string()))?;
    Manifest::read(&text).map_err(|error| CliError::error(error.what))
}

/// Where the site is, and by what it knows who connects.
fn site(shell: &Shell, named: Option<Url>) -> Result<(Url, Option<Token>), CliError> {
    let given = shell.variables.get(TOKEN_VARIABLE).map(|token| Token::new(token));
    match named {
        Some(site) => Ok((site, given)),
        None => {
            let running = shell.site()?;
            Ok((running.client.base().clone(), running.token().cloned()))
        }
    }
}

fn workshop(shell: &Shell, ids: &Ids) -> Result<Workshop, CliError> {
    let config = shell.config()?.config;
    let (models, complaints) = models(&config, &shell.variables);
    complaints.iter().for_each(|complaint| shell.output.note(complaint));
    Ok(Workshop {
        ids: ids.clone(),
        egress: Egress::unguarded(),
        circuits: Circuits::new(ids.rng().clone()),
        models,
        environment: Environment::new(shell.variables.clone()),
        credentials: Arc::new(InMemory::default()),
        // A person starts this program with their own rights.
        confinement: Confinement::none(),
    })
}

fn introduction(manifest: &Manifest) -> Introduction {
    let skills = if manifest.skills.is_empty() { Vec::new() } else { manifest.card_skills() };
    Introduction {
        version: manifest.version.clone(),
        skills,
        visibility: manifest.visibility,
        concurrency: Some(manifest.limits.concurrency),
        timeout_seconds: Some(manifest.limits.timeout.0.as_secs()),
        retry: manifest.limits.retry,
        ..Introduction::new(manifest.name.clone(), manifest.description.clone())
    }
}

/// Does one task with the runner and passes on what it reports.
async fn attend(runner: &dyn Runner, ids: Ids, agent: AgentName, given: Assignment, work: Work) -> Ending {
    let cancel = CancellationToken::new();
    let (report, mut reports) = Reporter::channel();
    let mut run = runner.run(job(ids, agent, given, &cancel), report);
    loop {
        let step = tokio::select! {
            biased;
            () = work.cancelled(), if !cancel.is_cancelled() => {
                cancel.cancel();
                continue;
            }
            Some(step) = reports.recv() => step,
            outcome = &mut run => {
                while let Some(step) = reports.try_recv() {
                    let _ = pass_on(&work, step).await;
                }
                return ending(outcome);
            }
        };
        if pass_on(&work, step).await.is_err() {
            cancel.cancel();
        }
    }
}

fn job(ids: Ids, agent: AgentName, given: Assignment, cancel: &CancellationToken) -> Job {
    let trace = given.traceparent.as_deref();
    let trace = trace.and_then(|parent| TraceContext::read(parent, given.tracestate.as_deref()));
    Job {
        task: given.task,
        context: given.context,
        agent,
        owner: Principal::site(),
        message: given.message,
        history: given.history,
        conversation: Vec::new(),
        memo: None,
        attempt: given.attempt,
        retries: 0,
        deadline: given.deadline,
        depth: 0,
        ephemeral: Ephemeral {
            credential: given.credential.map(Credential::new),
            trace,
            ..Ephemeral::default()
        },
        used: Usage::default(),
        used_today: Usage::default(),
        cancel: cancel.clone(),
        ids,
        calls: Arc::new(NoCalls),
    }
}

async fn pass_on(work: &Work, step: Step) -> Result<(), agentsite_client::agent::Stopped> {
    match step {
        Step::Status(message) => work.step(Progress::Said(message)).await,
        Step::Artifact { artifact, append, last_chunk } => {
            work.step(Progress::Artifact { artifact, append, last_chunk }).await
        }
        // What the runner wants to remember or has used does not concern the site.
        Step::Memo(_) | Step::Used(_) => Ok(()),
    }
}

fn ending(outcome: Outcome) -> Ending {
    let said = |way, message: Option<Message>| Ending { way, message, text: None };
    match outcome {
        Outcome::Completed(message) => said(EndingWay::Completed, message),
        Outcome::Canceled(message) => said(EndingWay::Canceled, message),
        Outcome::Failed(message) => said(EndingWay::Failed, Some(message)),
        Outcome::Rejected(message) => said(EndingWay::Rejected, Some(message)),
        Outcome::InputRequired(message) => said(EndingWay::InputRequired, Some(message)),
        Outcome::AuthRequired(message) => said(EndingWay::AuthRequired, Some(message)),
    }
}
