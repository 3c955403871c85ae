//! `agentsite identity`: who the running site is, and a change of its keys.
//!
//! Promises: shows public keys only. A rotation is the site's own work, in one transaction; here it is asked for and told.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::shell::{Shell, field, list};
use crate::exit::{CliError, Exit};

/// Arguments of `identity`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the keys of the site and how they changed.
    Show,
    /// Take new keys; the old ones sign a record that names them, and stay published.
    Rotate,
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    let identity: Value = match arguments.verb {
        Verb::Show => site.get("api/identity").await?,
        Verb::Rotate => site.post("api/identity/rotate", &serde_json::json!({})).await?,
    };
    if shell.output.is_json() {
        shell.output.json(&identity)?;
        return Ok(Exit::Ok);
    }
    shell.output.line(&field(&identity, "didKey"))?;
    let present = list(&identity, "kids");
    let row = |key: &Value| {
        let state = if present.contains(&key["kid"]) { "present" } else { "former" };
        vec![state.to_owned(), field(key, "alg"), field(key, "kid")]
    };
    let rows: Vec<Vec<String>> = list(&identity["jwks"], "keys").iter().map(row).collect();
    shell.output.table(&["KEY", "ALGORITHM", "NAME"], &rows)?;
    let changes = list(&identity, "rotations").len();
    shell.output.note(&format!("in use since {}; {changes} rotation records", field(&identity, "since")));
    Ok(Exit::Ok)
}
