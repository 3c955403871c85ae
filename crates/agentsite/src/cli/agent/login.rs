//! `agentsite agent login` and `logout`: a person lets an agent in at its server.
//!
//! Promises: the address to open is printed, and opened where there is a browser; the browser comes back to a
//! port of this machine, or the person pastes its final address when the browser is elsewhere. Codes go to
//! the site and are not shown. Tokens are never sent here.

use std::io::{BufRead, IsTerminal};
use std::process::{Command, Stdio};
use std::time::Duration;

use agentsite_protocol::{AgentName, Period};
use clap::Args;
use serde_json::{Value, json};
use url::Url;

use super::landing::{CallbackListener, WaitingBrowser, is_answer};
use crate::cli::shell::{RunningClient, Shell, field};
use crate::exit::{CliError, Exit};

/// How long the agent may take to be ready after a login before the rest is left to `agent ls`.
const READY: Duration = Duration::from_secs(10);

/// How often the site is asked whether it is.
const LOOK: Duration = Duration::from_millis(200);

/// Arguments of `agent login`.
#[derive(Debug, Args)]
pub(super) struct Login {
    /// Its name.
    name: AgentName,
    /// Only print the address; do not open a browser.
    #[arg(long)]
    no_browser: bool,
    /// Do not wait for a browser: paste the address to which it was sent, for a browser on another machine.
    #[arg(long, conflicts_with = "timeout")]
    paste: bool,
    /// Port of this machine to which the browser comes back, for clients registered with a fixed one
    /// [default: a free one].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// How long to wait for the browser.
    #[arg(long, value_name = "PERIOD", default_value = "5m")]
    timeout: Period,
}

/// Logs an agent in.
pub(super) async fn login(shell: &Shell, arguments: Login) -> Result<Exit, CliError> {
    let (name, site) = (&arguments.name, shell.site()?);
    let landing = CallbackListener::open(arguments.port.unwrap_or(0)).await?;
    let redirect = landing.redirect().clone();
    let begun: Value =
        site.post(&format!("api/agents/{name}/login"), &json!({ "redirect": redirect })).await?;
    let address: Url = field(&begun, "url").parse().map_err(|_| {
        CliError::error("the site gave no login address; its log says why (`agentsite logs`)")
    })?;
    let state = address.query_pairs().find(|(key, _)| key == "state").map(|(_, value)| value.into_owned());
    let state =
        state.ok_or_else(|| CliError::error("the address of the authorization server has no state"))?;
    show(shell, &address)?;
    if arguments.paste {
        // Nothing listens there: the browser shows at once where it wanted to go.
        drop(landing);
        let back = pasted(shell, &redirect, &state)?;
        finish(&site, name, &back).await?;
    } else {
        if !arguments.no_browser && std::io::stdout().is_terminal() {
            open_browser(shell, &address);
        }
        shell
            .output
            .note(&format!("open this address in a browser of this machine; waiting {}", arguments.timeout));
        let visitor = landed(shell, &landing, &state, &arguments).await?;
        answered(&site, name, visitor).await?;
    }
    print_login(shell, &site, name).await
}

/// Logs an agent out.
pub(super) async fn logout(shell: &Shell, name: &AgentName) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.post(&format!("api/agents/{name}/logout"), &json!({})).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
    } else if answer["wasLoggedIn"] == true {
        shell.output.line(&format!("{name} is logged out; its stored login was deleted"))?;
    } else {
        shell.output.line(&format!("{name} was not logged in"))?;
    }
    Ok(Exit::Ok)
}

fn show(shell: &Shell, address: &Url) -> Result<(), CliError> {
    if shell.output.is_json() {
        shell.output.json(&json!({ "url": address }))?;
    } else {
        shell.output.line(address.as_str())?;
    }
    Ok(())
}

/// Opens the address in the person's browser; where there is none, the printed address serves as well.
fn open_browser(shell: &Shell, address: &Url) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(address.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        shell.output.note("no browser could be opened from here");
    }
}

/// Waits for the browser.
async fn landed(
    shell: &Shell,
    landing: &CallbackListener,
    state: &str,
    arguments: &Login,
) -> Result<WaitingBrowser, CliError> {
    let waiting = tokio::time::timeout(arguments.timeout.0, landing.visitor(state, shell.output)).await;
    waiting.unwrap_or_else(|_| {
        Err(CliError::error(format!(
            "the login did not finish within {}; start again with `agentsite agent login {}`, with --paste when the \
             browser is on another machine",
            arguments.timeout, arguments.name
        )))
    })
}

/// Hands the answer to the site, and tells the browser how it went.
async fn answered(site: &RunningClient, name: &AgentName, visitor: WaitingBrowser) -> Result<(), CliError> {
    let done = finish(site, name, &visitor.address).await;
    match &done {
        Ok(()) => visitor.respond(true, &format!("{name} is logged in. You can close this page.")).await,
        Err(error) => visitor.respond(false, &error.to_string()).await,
    }
    done
}

/// The address that the person pastes.
fn pasted(shell: &Shell, redirect: &Url, state: &str) -> Result<Url, CliError> {
    shell.output.note(&format!(
        "open this address in a browser; it ends at a page that cannot be shown, with an address that \
         begins with {redirect}: paste that address here"
    ));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let back: Url = line.trim().parse().map_err(|_| {
        CliError::error(format!("this is not a URL: paste the whole address, which begins with {redirect}"))
    })?;
    if !is_answer(&back, redirect, state) {
        return Err(CliError::error(
            "this is not the answer to the current login (its state differs); start again",
        ));
    }
    Ok(back)
}

async fn finish(site: &RunningClient, name: &AgentName, back: &Url) -> Result<(), CliError> {
    let _: Value = site.post(&format!("api/agents/{name}/login/answer"), &json!({ "url": back })).await?;
    Ok(())
}

/// Reports the health of the agent after the login.
async fn print_login(shell: &Shell, site: &RunningClient, name: &AgentName) -> Result<Exit, CliError> {
    let path = format!("api/agents/{name}");
    let ready = async {
        loop {
            let agent: Value = site.get(&path).await?;
            if agent["health"] == "ready" {
                return Ok::<_, CliError>(agent);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let agent = match tokio::time::timeout(READY, ready).await {
        Ok(agent) => agent?,
        Err(_) => site.get(&path).await?,
    };
    if shell.output.is_json() {
        shell
            .output
            .json(&json!({ "loggedIn": true, "health": agent["health"], "reason": agent["reason"] }))?;
    } else {
        shell.output.line(&format!("{name} is logged in; it is {}", field(&agent, "health")))?;
        if !agent["reason"].is_null() {
            shell.output.note(&field(&agent, "reason"));
        }
    }
    Ok(Exit::Ok)
}
