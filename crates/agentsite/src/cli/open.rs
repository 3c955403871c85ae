//! `agentsite open`: a new one-time link that signs a browser in as admin, opened in the browser.
//!
//! Promises: the link alone goes to stdout. The browser that opens it first is signed in; the link expires
//! after 15 minutes. Where there is no display, or with `--no-browser`, the link is only printed. A browser
//! that cannot be started is a note, not an error.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::Value;

use super::shell::{Shell, field};
use crate::exit::{CliError, Exit};

/// Arguments of `open`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print the link, open nothing.
    #[arg(long)]
    no_browser: bool,
}

/// Prints the link and opens it.
pub(super) async fn run(shell: &Shell, arguments: &Arguments) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.post("api/signin-links", &serde_json::json!({})).await?;
    let link = field(&answer, "url");
    if shell.output.is_json() {
        shell.output.json(&answer)?;
    } else {
        shell.output.line(&link)?;
        shell.output.note("signs one browser in as admin; works once, within 15 minutes");
    }
    let opener = opener(std::env::consts::OS, &shell.variables).filter(|_| !arguments.no_browser);
    if let Some(opener) = opener
        && !shell.output.is_json()
        && let Err(error) = start(opener, &link)
    {
        shell.output.note(&format!("{opener} could not be started ({error}); open the link yourself"));
    }
    Ok(Exit::Ok)
}

/// The program that opens a link in the browser of this desktop, if there is one.
fn opener(system: &str, variables: &BTreeMap<String, String>) -> Option<&'static str> {
    let has = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
    match system {
        "macos" if !has("SSH_CONNECTION") => Some("open"),
        "linux" if has("DISPLAY") || has("WAYLAND_DISPLAY") => Some("xdg-open"),
        _ => None,
    }
}

/// Starts the opener and does not wait: some openers last as long as the browser.
fn start(opener: &str, link: &str) -> std::io::Result<()> {
    let quiet = Stdio::null;
    Command::new(opener).arg(link).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_opened_only_where_there_is_a_display() {
        let with = |name: &str| BTreeMap::from([(name.to_owned(), ":0".to_owned())]);
        assert_eq!(opener("linux", &BTreeMap::new()), None);
        assert_eq!(opener("linux", &with("DISPLAY")), Some("xdg-open"));
        assert_eq!(opener("linux", &with("WAYLAND_DISPLAY")), Some("xdg-open"));
        assert_eq!(opener("macos", &BTreeMap::new()), Some("open"));
        assert_eq!(opener("macos", &with("SSH_CONNECTION")), None);
    }
}
