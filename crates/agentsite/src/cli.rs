//! The command line: verbs and the flags that all of them know.
//!
//! Promises: one file for each verb with its arguments and what it does; `serve` is the default verb; errors
//! are one sentence on stderr and one of the exit codes in `exit`. It contains no logic beyond choosing the
//! verb.

mod agent;
mod audit;
mod backup;
mod bench;
mod call;
mod card;
mod completions;
mod config;
mod connect;
mod demo;
mod doctor;
mod find;
mod hub;
mod identity;
mod init;
mod key;
mod logs;
mod manual;
mod mcp;
mod mcp_check;
mod migrate;
mod open;
mod outbox;
mod peer;
mod restore;
mod serve;
mod shell;
mod status;
mod task;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::exit::{CliError, Exit};
use crate::output::{Output, Style};
use shell::Shell;

/// What a verb does.
type Work<'a> = Pin<Box<dyn Future<Output = Result<Exit, CliError>> + 'a>>;

/// Longest that the end of the process waits for blocking work, such as a name lookup that never answers.
const LAST_WORK: Duration = Duration::from_millis(200);

/// Caddy for agents: one binary makes a folder of agents a site on the agent web.
///
/// `agentsite` alone starts a site in the current folder, on this machine only, with four demo agents. Put
/// agents into agents/NAME/ (see `agentsite agent new`); they are there within a second.
#[derive(Debug, Parser)]
#[command(name = "agentsite", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    everywhere: GlobalFlags,
    #[command(flatten, next_help_heading = "Options of serve")]
    serve: serve::Flags,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Flags that every verb knows.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GlobalFlags {
    /// Address and port of the site [default: 127.0.0.1:4747].
    #[arg(long, global = true, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Folder for everything that the site writes [default: agentsite-data].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Folder with one folder for each agent [default: agents].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) agents: Option<PathBuf>,
    /// Configuration file [default: agentsite.toml, if there is one].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Answer in JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print without colours, as with the variable NO_COLOR.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Print more details.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// The command.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the site (the default without a command).
    Serve(serve::Flags),
    /// Write a commented agentsite.toml and a first agent into the current folder.
    Init(init::Arguments),
    /// Create, list, show and remove agents.
    Agent(agent::Arguments),
    /// Register, prove, list, import and export agents from elsewhere.
    Hub(hub::Arguments),
    /// Call an agent and print its answer.
    Call(call::Arguments),
    /// Find the agents that can do what you need, said in plain language.
    Find(find::Arguments),
    /// Add, list, ban and invite other sites of the mesh.
    Peer(peer::Arguments),
    /// List, show, follow and cancel tasks.
    Task(task::Arguments),
    /// List, show, retry and drop deliveries to receivers.
    Outbox(outbox::Arguments),
    /// Create, list and revoke API keys.
    Key(key::Arguments),
    /// Show the identity of the site, and rotate its keys.
    Identity(identity::Arguments),
    /// Say who signed the card of an agent.
    Card(card::Arguments),
    /// Sign a browser in: print a one-time link, good for 15 minutes, and open it.
    #[command(alias = "signin")]
    Open(open::Arguments),
    /// Show the running site and every piece of background work.
    Status,
    /// Print the log of the running site, and follow it.
    Logs(logs::Arguments),
    /// Check everything that a site needs, and name the fix for what is wrong.
    Doctor,
    /// Serve MCP over stdin and stdout for the site of this folder; start one when none runs.
    Mcp(mcp::Arguments),
    /// Print or write the configuration with which Claude, Cursor, VS Code, Codex and others reach the agents
    /// of this site.
    Connect(connect::Arguments),
    /// Check, show and document the configuration.
    Config(config::Arguments),
    /// List what happened, and check that only the site has changed its data.
    Audit(audit::Arguments),
    /// Write a copy of the whole site (data, agents, configuration) to a file, while it runs or not; or list
    /// what is in one.
    Backup(backup::BackupArguments),
    /// Restore a backup; the site must not be running.
    Restore(backup::RestoreArguments),
    /// Copy the data of a stopped site from its data folder into PostgreSQL, or back, and verify the copy.
    Migrate(migrate::Arguments),
    /// Show what sites do together: `demo planet` starts several on this machine.
    Demo(demo::Arguments),
    /// One site of a demo.
    #[command(hide = true)]
    DemoSite,
    /// Measure this program on this machine, as ratios taken in one run.
    Bench(bench::Arguments),
    /// The server that `bench` compares with.
    #[command(hide = true)]
    BenchBare,
    /// One part of what `bench search` measures.
    #[command(hide = true)]
    BenchSearch(bench::SearchArguments),
    /// What the conformance suite of MCP runs as a client.
    #[command(hide = true)]
    McpCheck(mcp_check::Arguments),
    /// Print the completions of a shell.
    Completions(completions::Arguments),
    /// Print this manual as Markdown.
    #[command(hide = true)]
    HelpMarkdown,
}

/// Reads the command line, does what it says and gives the exit code.
pub(crate) fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Ok };
        }
    };
    let variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let plain = cli.everywhere.no_color || variables.get("NO_COLOR").is_some_and(|value| !value.is_empty());
    let output = Output::new(cli.everywhere.json, cli.everywhere.verbose, plain);
    match run(cli, variables, output) {
        Ok(exit) => exit,
        Err(error) => {
            let sentence = error.to_string();
            if !sentence.is_empty() {
                output.alert(Style::Bad, &format!("agentsite: {sentence}"));
            }
            error.exit()
        }
    }
}

fn run(cli: Cli, variables: BTreeMap<String, String>, output: Output) -> Result<Exit, CliError> {
    let Cli { everywhere, serve: flags, verb } = cli;
    let stray = flags.first_given().filter(|_| !matches!(verb, None | Some(Verb::Serve(_))));
    if let Some(flag) = stray {
        return Err(CliError::usage(format!("{flag} is an option of serve; see `agentsite serve --help`")));
    }
    let shell = Shell::new(everywhere, variables, output);
    match verb {
        None => on_all_cores(serve::run(&shell, flags)),
        Some(Verb::Serve(more)) => on_all_cores(serve::run(&shell, flags.or(more))),
        Some(Verb::Init(arguments)) => init::run(&shell, &arguments),
        Some(Verb::Agent(arguments)) => on_one_core(agent::run(&shell, arguments)),
        Some(Verb::Call(arguments)) => on_one_core(call::run(&shell, arguments)),
        Some(Verb::Find(arguments)) => on_one_core(find::run(&shell, arguments)),
        Some(Verb::Task(arguments)) => on_one_core(task::run(&shell, arguments)),
        Some(Verb::Peer(arguments)) => on_one_core(peer::run(&shell, arguments)),
        Some(Verb::Hub(arguments)) => on_one_core(hub::run(&shell, arguments)),
        Some(Verb::Outbox(arguments)) => on_one_core(outbox::run(&shell, arguments)),
        Some(Verb::Key(arguments)) => on_one_core(key::run(&shell, arguments)),
        Some(Verb::Identity(arguments)) => on_one_core(identity::run(&shell, arguments)),
        Some(Verb::Card(arguments)) => on_one_core(card::run(&shell, arguments)),
        Some(Verb::Open(arguments)) => on_one_core(open::run(&shell, &arguments)),
        Some(Verb::Status) => on_one_core(status::run(&shell)),
        Some(Verb::Logs(arguments)) => on_one_core(logs::run(&shell, arguments)),
        Some(Verb::Doctor) => on_one_core(doctor::run(&shell)),
        Some(Verb::Mcp(arguments)) => on_all_cores(mcp::run(&shell, arguments)),
        Some(Verb::Connect(arguments)) => on_one_core(connect::run(&shell, &arguments)),
        Some(Verb::Config(arguments)) => config::run(&shell, &arguments),
        Some(Verb::Audit(arguments)) => on_one_core(audit::run(&shell, arguments)),
        Some(Verb::Backup(arguments)) => on_one_core(backup::backup(&shell, arguments)),
        Some(Verb::Restore(arguments)) => on_one_core(backup::restore(&shell, arguments)),
        Some(Verb::Migrate(arguments)) => on_one_core(migrate::run(&shell, arguments)),
        Some(Verb::Demo(arguments)) => on_one_core(demo::run(&shell, arguments)),
        Some(Verb::DemoSite) => on_all_cores(demo::serve_until_closed(&shell)),
        Some(Verb::Bench(arguments)) => on_one_core(bench::run(arguments, output)),
        Some(Verb::BenchBare) => on_all_cores(bench::serve_bare(output)),
        Some(Verb::BenchSearch(arguments)) => on_all_cores(bench::search_part(arguments, output)),
        Some(Verb::McpCheck(arguments)) => on_one_core(mcp_check::run(&shell, arguments)),
        Some(Verb::Completions(arguments)) => completions::run(&arguments, &mut Cli::command()),
        Some(Verb::HelpMarkdown) => {
            output.piece(&manual::page(Cli::command()))?;
            Ok(Exit::Ok)
        }
    }
}

/// A site uses every core.
fn on_all_cores<'a>(work: impl Future<Output = Result<Exit, CliError>> + 'a) -> Result<Exit, CliError> {
    finish(Builder::new_multi_thread().enable_all().build(), Box::pin(work))
}

/// A question to a site needs no threads.
fn on_one_core<'a>(work: impl Future<Output = Result<Exit, CliError>> + 'a) -> Result<Exit, CliError> {
    finish(Builder::new_current_thread().enable_all().build(), Box::pin(work))
}

/// Runs a verb to its end. The future is boxed, because the runtime would otherwise be compiled three times
/// for each verb.
fn finish(runtime: std::io::Result<Runtime>, work: Work<'_>) -> Result<Exit, CliError> {
    let runtime = runtime.map_err(|error| CliError::error(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(work);
    runtime.shutdown_timeout(LAST_WORK);
    exit
}

#[cfg(test)]
mod tests;
