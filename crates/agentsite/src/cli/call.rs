//! `agentsite call`: send a message to an agent and print its answer as it arrives.
//!
//! Promises: the answer and nothing else goes to stdout; what happens on the way goes to stderr. A question
//! of the agent is answered on a terminal in the same task, and otherwise ends with its own exit code. The
//! token of the site is sent to the site only. An early end, of the stream or by the user, is not a success.
//! What to print is decided in `call/script.rs`; here it is sent and received.

mod script;

use std::io::{BufRead, IsTerminal, Read};
use std::time::Duration;

use agentsite_client::{
    A2aClient, A2aLimits, Binding, ClientError, Reply, SendOptions, StreamItem, TaskStream,
};
use agentsite_egress::Egress;
use agentsite_protocol::extension::TASK_AUTH_CREDENTIAL;
use agentsite_protocol::{AgentName, ContextId, JsonMap, Message, Role, TaskState};
use agentsite_site::World;
use clap::Args;
use futures::StreamExt;

use super::agent::{Taken, until_taken};
use super::shell::{RunningClient, Shell};
use crate::exit::{CliError, Exit};
use crate::folder::scan;
use crate::output::{Output, Style};
use script::{Line, Script};

/// Longest text that is read from stdin; a site accepts no larger message.
const MAX_TEXT: u64 = 64 << 20;

/// A person waits as long as the work takes, and ends it with a key.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);

/// Other people's agents may be silent for long while they work.
const SILENCE: Duration = Duration::from_secs(600);

/// How often a task whose stream was cut is looked for; with the pauses about six seconds.
const TRIES: u32 = 6;

/// Between two questions after a task; doubled each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long an agent may take to take note of a cancel; a person waits for it.
const CANCEL: Duration = Duration::from_secs(5);

/// Arguments of `call`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Name of an agent of the running site, NAME@SITE for one of another site in the mesh (its DID or the
    /// beginning of it, its domain or its title), or the address of any A2A agent.
    #[arg(value_name = "AGENT|AGENT@SITE|URL")]
    target: String,
    /// Text of the message; `-` reads it from stdin.
    #[arg(value_name = "TEXT|-")]
    text: Vec<String>,
    /// Print the answer as it comes (this is the default; with --json, print every event).
    #[arg(long, overrides_with = "no_stream")]
    stream: bool,
    /// Wait for the whole answer.
    #[arg(long, overrides_with = "stream")]
    no_stream: bool,
    /// Continue this conversation.
    #[arg(long, value_name = "ID")]
    context: Option<ContextId>,
    /// Answer the question of this task.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Call the agent in this binding only, instead of the one that its card prefers.
    #[arg(long, value_name = "jsonrpc|rest|grpc")]
    binding: Option<Binding>,
    /// Hand the agent the secret that is in this variable, when it asked for a credential; the site does not
    /// store it.
    #[arg(long, value_name = "VARIABLE", requires = "task")]
    credential_env: Option<String>,
}

impl Arguments {
    /// The metadata that carries a credential only to the agent.
    fn credential(&self, shell: &Shell) -> Result<Option<JsonMap>, CliError> {
        let Some(name) = &self.credential_env else { return Ok(None) };
        match shell.variables.get(name) {
            Some(secret) if !secret.is_empty() => {
                Ok(Some(JsonMap::from_iter([(TASK_AUTH_CREDENTIAL.into(), secret.as_str().into())])))
            }
            _ => Err(CliError::usage(format!("the variable {name} is not set; put the credential into it"))),
        }
    }
}

/// Calls the agent, and continues while it asks back and the terminal can answer.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let text = text(&arguments.text)?;
    let call = Call::open(shell, &arguments).await?;
    let mut message = call.message(text);
    message.context_id = arguments.context.clone();
    message.task_id = arguments.task.clone();
    if let Some(metadata) = arguments.credential(shell)? {
        message.extra.insert("metadata".into(), metadata.into());
    }
    loop {
        let whole = arguments.no_stream || !call.agent.card().capabilities.streaming;
        let mut script = Script::default();
        let working = async {
            if whole {
                call.wait(&message, &mut script).await
            } else {
                call.follow(&message, &mut script).await
            }
        };
        let interrupted = tokio::select! {
            done = working => done.map(|()| false)?,
            _ = tokio::signal::ctrl_c() => true,
        };
        if interrupted {
            return call.cancel(&script).await;
        }
        call.sum_up(&script).await?;
        let exit = script.exit();
        let interactive = std::io::stdin().is_terminal() && !shell.output.is_json();
        if exit != Exit::NeedsInput || !interactive || script.state == Some(TaskState::AuthRequired) {
            return Ok(exit);
        }
        let Some(answer) = answer_from_terminal()? else { return Ok(exit) };
        message = call.message(answer);
        message.task_id = script.task.clone();
        message.context_id = script.context.as_deref().and_then(|id| id.parse().ok());
    }
}

/// The name by which an agent is called at the running site; one of another site is opened there.
async fn named(site: &RunningClient, target: &str) -> Result<AgentName, CliError> {
    let parse = |name: &str| name.parse().map_err(|error| CliError::usage(format!("{error}")));
    let Some((agent, other)) = target.split_once('@') else { return parse(target) };
    let agent: AgentName = parse(agent)?;
    let asked = serde_json::json!({ "agent": agent, "site": other });
    let opened: serde_json::Value = site.post("api/mesh/open", &asked).await?;
    parse(opened["agent"].as_str().unwrap_or_default())
}

/// Whether the agents folder here has an agent of this name.
fn has_folder(shell: &Shell, name: &AgentName) -> Result<bool, CliError> {
    let agents = shell.config()?.config.agents;
    Ok(matches!(scan::folder_of(&agents, name), Ok(Some(folder)) if !scan::is_suspended(&folder)))
}

/// One agent that is called.
struct Call {
    agent: A2aClient,
    /// The site, when the agent is one of its own.
    site: Option<RunningClient>,
    world: World,
    output: Output,
    /// Print every event as JSON.
    events: bool,
}

impl Call {
    async fn open(shell: &Shell, arguments: &Arguments) -> Result<Self, CliError> {
        let target = &arguments.target;
        let (site, agent) = if target.starts_with("http://") || target.starts_with("https://") {
            let url = target
                .parse()
                .map_err(|error| CliError::usage(format!("`{target}` is not a URL: {error}")))?;
            let agent = A2aClient::resolve(&Egress::unguarded(), &url, None).await;
            (
                None,
                agent.and_then(|agent| arguments.binding.map_or(Ok(agent.clone()), |only| agent.only(only))),
            )
        } else {
            let site = shell.site()?;
            let name = named(&site, target).await?;
            let mut agent = site.client.a2a(&name, arguments.binding).await;
            // Its folder may have been written a moment ago.
            if matches!(agent, Err(ClientError::Status { status: 404, .. })) && has_folder(shell, &name)? {
                let taken = until_taken(shell, &name).await?;
                if let Taken::Refused(why) = taken {
                    return Err(CliError::error(format!("the site refuses the agent `{name}`: {why}")));
                }
                agent = site.client.a2a(&name, arguments.binding).await;
            }
            if matches!(agent, Err(ClientError::Status { status: 404, .. })) {
                let what = format!("there is no agent `{name}`; `agentsite agent ls` shows which there are");
                return Err(CliError::new(Exit::NotFound, what));
            }
            (Some(site), agent)
        };
        let agent = agent.map_err(|error| failure_of(site.as_ref(), &error))?.with_limits(limits());
        let events = shell.output.is_json() && arguments.stream;
        Ok(Self { agent, site, world: World::system(), output: shell.output, events })
    }

    fn message(&self, text: String) -> Message {
        Message::text(self.world.ids().message(), Role::User, text)
    }

    /// Sends the message and prints the answer as it comes. A stream that is cut is looked for at the agent
    /// again.
    async fn follow(&self, message: &Message, script: &mut Script) -> Result<(), CliError> {
        let mut cut = match self.read(self.agent.stream(message, &SendOptions::default()), script).await? {
            None => return Ok(()),
            Some(cut) => cut,
        };
        let mut pause = FIRST_PAUSE;
        for _ in 0..TRIES {
            let Some(task) = script.task.clone().filter(|_| cut.may_pass()) else { break };
            tokio::time::sleep(pause).await;
            pause *= 2;
            match self.agent.get_task(&task, Some(0)).await {
                Ok(task) => self.take(&StreamItem::Task(task), script)?,
                Err(error) => {
                    cut = error;
                    continue;
                }
            }
            if script.is_settled() {
                return Ok(());
            }
            match self.read(self.agent.subscribe(&task), script).await? {
                None => return Ok(()),
                Some(error) => cut = error,
            }
        }
        Err(self.failure(&cut))
    }

    /// Prints what a stream brings; gives the error that ended it.
    async fn read(
        &self,
        mut items: TaskStream,
        script: &mut Script,
    ) -> Result<Option<ClientError>, CliError> {
        while let Some(item) = items.next().await {
            match item {
                Ok(item) => self.take(&item, script)?,
                Err(error) => return Ok(Some(error)),
            }
        }
        Ok(None)
    }

    fn take(&self, item: &StreamItem, script: &mut Script) -> Result<(), CliError> {
        if self.events {
            self.output.json(item)?;
        }
        self.show(script.take(item))
    }

    /// Sends the message and prints the answer when it is whole; an agent that answers before is asked until
    /// it is done.
    async fn wait(&self, message: &Message, script: &mut Script) -> Result<(), CliError> {
        let reply =
            self.agent.send(message, SendOptions::default()).await.map_err(|error| self.failure(&error))?;
        let mut item = match reply {
            Reply::Task(task) => StreamItem::Task(task),
            Reply::Message(message) => StreamItem::Message(message),
        };
        let mut pause = FIRST_PAUSE;
        loop {
            self.show(script.take(&item))?;
            match &script.task {
                Some(task) if !script.is_settled() => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    let task =
                        self.agent.get_task(task, Some(0)).await.map_err(|error| self.failure(&error))?;
                    item = StreamItem::Task(task);
                }
                _ => return Ok(()),
            }
        }
    }

    /// Cancels the task on request of the user.
    async fn cancel(&self, script: &Script) -> Result<Exit, CliError> {
        let Some(task) = &script.task else {
            let what = "interrupted before the agent named a task; it may still work on it";
            return Err(CliError::new(Exit::TaskFailed, what));
        };
        let what = match tokio::time::timeout(CANCEL, self.agent.cancel_task(task)).await {
            Ok(Ok(task)) => format!("interrupted: the task {} is {}", task.id, task.status.state.word()),
            Ok(Err(error)) => format!("interrupted, but the task {task} could not be canceled: {error}"),
            Err(_) => format!(
                "interrupted, but the agent did not confirm the cancellation of the task \
                               {task}"
            ),
        };
        Err(CliError::new(Exit::TaskFailed, what))
    }

    fn show(&self, lines: Vec<Line>) -> Result<(), CliError> {
        if self.output.is_json() {
            return Ok(());
        }
        for line in lines {
            match line {
                Line::Answer(text) => self.output.piece(&text)?,
                Line::Status(text) => self.output.note(&text),
            }
        }
        Ok(())
    }

    /// Says how it ended.
    async fn sum_up(&self, script: &Script) -> Result<(), CliError> {
        if self.output.is_json() {
            return if self.events { Ok(()) } else { self.whole(script).await };
        }
        if script.needs_line_feed() {
            self.output.piece("\n")?;
        }
        let words = script.words.as_deref().unwrap_or_default();
        match script.exit() {
            Exit::NeedsInput => {
                self.output.alert(
                    Style::Warn,
                    if words.is_empty() { "the agent waits for an answer" } else { words },
                );
                if !std::io::stdin().is_terminal() {
                    let task = script.task.as_deref().unwrap_or_default();
                    self.output.note(&format!("answer with: agentsite call … --task {task} \"ANSWER\""));
                }
            }
            Exit::TaskFailed => {
                let state = script.state.map_or("failed", TaskState::word);
                self.output.alert(
                    Style::Bad,
                    &format!("the task was {state}: {words}").replace("was failed", "failed"),
                );
            }
            _ => {}
        }
        if self.output.is_verbose() {
            let (task, context) =
                (script.task.as_deref().unwrap_or("none"), script.context.as_deref().unwrap_or("none"));
            self.output.note(&format!("task {task}  context {context}"));
        }
        Ok(())
    }

    /// Prints the task, or the message when there is no task.
    async fn whole(&self, script: &Script) -> Result<(), CliError> {
        match (&script.task, &script.message) {
            (Some(task), _) => {
                let task = self.agent.get_task(task, None).await.map_err(|error| self.failure(&error))?;
                Ok(self.output.json(&task)?)
            }
            (None, Some(message)) => Ok(self.output.json(message)?),
            (None, None) => Ok(()),
        }
    }

    fn failure(&self, error: &ClientError) -> CliError {
        failure_of(self.site.as_ref(), error)
    }
}

fn limits() -> A2aLimits {
    A2aLimits { call_timeout: PATIENCE, idle_timeout: SILENCE, ..A2aLimits::default() }
}

fn failure_of(site: Option<&RunningClient>, error: &ClientError) -> CliError {
    match site {
        Some(site) => site.error(error),
        None => CliError::error(error.to_string()),
    }
}

/// The text of the arguments, or of stdin for `-` and for a pipe without arguments.
fn text(words: &[String]) -> Result<String, CliError> {
    let from_stdin = words == ["-"] || words.is_empty() && !std::io::stdin().is_terminal();
    if !from_stdin {
        return match words {
            [] => Err(CliError::usage(
                "the message has no text: write agentsite call AGENT \"TEXT\", or - to read it from stdin",
            )),
            words => Ok(words.join(" ")),
        };
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_TEXT).read_to_string(&mut text);
    read.map_err(|error| CliError::error(format!("cannot read the text from stdin: {error}")))?;
    if text.trim().is_empty() {
        Err(CliError::usage("stdin has no text: pipe the message into it"))
    } else {
        Ok(text)
    }
}

/// Reads an answer from the terminal; `None` when the person has left.
fn answer_from_terminal() -> Result<Option<String>, CliError> {
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let count = read.map_err(|error| CliError::error(format!("cannot read your answer: {error}")))?;
    let answer = answer.trim().to_owned();
    Ok((count > 0 && !answer.is_empty()).then_some(answer))
}
