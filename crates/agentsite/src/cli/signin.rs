//! `agentsite signin`: a new one-time link to sign in with a browser.
//!
//! Promises: the link alone goes to stdout. Whoever opens it first is signed in as admin; it ends after 15 minutes.

use serde_json::Value;

use super::shell::{Shell, field};
use crate::exit::{CliError, Exit};

/// Prints the link.
pub(super) async fn run(shell: &Shell) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.post("api/signin-links", &serde_json::json!({})).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
    } else {
        shell.output.line(&field(&answer, "url"))?;
        shell.output.note("opens once, within 15 minutes");
    }
    Ok(Exit::Ok)
}
