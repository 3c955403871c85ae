//! `agentsite key`: API keys, and the admin token of the command line itself.
//!
//! Promises: a key is shown once, when it is made; the site keeps only its hash. Scopes and periods are
//! checked before the site is asked. A new admin token goes into the data folder and nowhere else.

use agentsite_protocol::{Period, Scope};
use clap::{Args, Subcommand};
use serde_json::Value;

use super::shell::{Shell, escaped, field, list};
use crate::exit::{CliError, Exit};

/// Arguments of `key`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a key; it is shown once.
    New {
        /// What it is for.
        #[arg(long, default_value = "")]
        label: String,
        /// What it may do: call (every agent that is not private), call:AGENT or admin; may be given several
        /// times.
        #[arg(long = "scope", value_name = "SCOPE", default_value = "call")]
        scopes: Vec<Scope>,
        /// How long it is valid, such as 30d [default: no expiry].
        #[arg(long, value_name = "PERIOD")]
        expires: Option<Period>,
    },
    /// List keys and sessions of browsers.
    Ls,
    /// Revoke a key; it stops working at once.
    Revoke {
        /// Its id.
        id: String,
    },
    /// Replace the admin token in the data folder; the former one stops working at once.
    RotateAdmin,
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    match arguments.verb {
        Verb::New { label, scopes, expires } => {
            let body = serde_json::json!({ "label": label, "scopes": scopes, "expiresIn": expires });
            let made: Value = site.post("api/keys", &body).await?;
            new(shell, &made)
        }
        Verb::Ls => {
            let answer: Value = site.get("api/keys").await?;
            ls(shell, &answer)
        }
        Verb::Revoke { id } => {
            site.delete(&format!("api/keys/{}", escaped(&id))).await?;
            if shell.output.is_json() {
                shell.output.json(&serde_json::json!({ "revoked": id }))?;
            } else {
                shell.output.line(&format!("key {id} is revoked"))?;
            }
            Ok(Exit::Ok)
        }
        Verb::RotateAdmin => {
            let made: Value = site.post("api/admin-token", &serde_json::json!({})).await?;
            rotated(shell, &made)
        }
    }
}

/// Keeps the new token where every verb reads it.
fn rotated(shell: &Shell, made: &Value) -> Result<Exit, CliError> {
    shell.data()?.keep_token(&field(made, "secret"))?;
    let id = field(&made["key"], "id");
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "rotated": id }))?;
    } else {
        shell.output.line(&format!("the admin token is now {id}; the one before has stopped working"))?;
    }
    Ok(Exit::Ok)
}

fn new(shell: &Shell, made: &Value) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(made)?;
    } else {
        shell.output.line(&field(made, "secret"))?;
        shell.output.note("this is the only time the key is shown; send it as `Authorization: Bearer KEY`");
    }
    Ok(Exit::Ok)
}

fn ls(shell: &Shell, answer: &Value) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(answer)?;
        return Ok(Exit::Ok);
    }
    let row = |key: &Value| {
        let scopes: Vec<String> =
            list(key, "scopes").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let what = if key["session"] == true { "session".to_owned() } else { scopes.join(" ") };
        let or_never = |text: String| if text.is_empty() { "never".to_owned() } else { text };
        let (expires, used) = (or_never(field(key, "expiresAt")), or_never(field(key, "lastUsedAt")));
        vec![field(key, "id"), what, field(key, "createdAt"), expires, used, field(key, "label")]
    };
    let rows: Vec<Vec<String>> = list(answer, "keys").iter().map(row).collect();
    shell.output.table(&["ID", "SCOPES", "MADE", "EXPIRES", "LAST USED", "LABEL"], &rows)?;
    Ok(Exit::Ok)
}
