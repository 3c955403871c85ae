//! `agentsite identity`: who the running site is, a change of its keys, and proofs for other hubs.
//!
//! Promises: shows public keys only. A rotation is the site's own work, in one transaction; this command
//! requests and prints it, as it does the challenges of other hubs, which the site serves or signs.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::shell::{RunningClient, Shell, escaped, field, list};
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
    /// Rotate the keys; the old ones sign a record that names them, and stay published.
    Rotate,
    /// Sign the challenge of an entry in another hub; write it into a file for `agentsite hub verify ID
    /// --answer FILE`.
    Answer {
        /// The word that the hub shows.
        word: String,
        /// The id of the entry in that hub.
        #[arg(long, value_name = "ID")]
        entry: String,
    },
    /// Serve the challenge of another hub for an hour; without an argument, list the served challenges.
    ServeChallenge {
        /// The word that the hub shows.
        word: Option<String>,
        /// Stop serving it.
        #[arg(long, requires = "word")]
        rm: bool,
    },
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    let identity: Value = match arguments.verb {
        Verb::Show => site.get("api/identity").await?,
        Verb::Rotate => site.post("api/identity/rotate", &json!({})).await?,
        Verb::Answer { word, entry } => {
            let asked = json!({ "word": word, "entry": entry });
            let answer: Value = site.post("api/identity/answer", &asked).await?;
            shell.output.json(&answer)?;
            return Ok(Exit::Ok);
        }
        Verb::ServeChallenge { word, rm } => return serve(shell, &site, word.as_deref(), rm).await,
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

/// Serves a challenge, withdraws it, or lists those that are served.
async fn serve(shell: &Shell, site: &RunningClient, word: Option<&str>, rm: bool) -> Result<Exit, CliError> {
    let Some(word) = word else {
        let served: Value = site.get("api/identity/challenges").await?;
        if shell.output.is_json() {
            shell.output.json(&served)?;
            return Ok(Exit::Ok);
        }
        let row = |one: &Value| vec![field(one, "word"), field(one, "until")];
        let rows: Vec<Vec<String>> = list(&served, "challenges").iter().map(row).collect();
        shell.output.table(&["WORD", "UNTIL"], &rows)?;
        return Ok(Exit::Ok);
    };
    let answer = if rm {
        site.delete(&format!("api/identity/challenges/{}", escaped(word))).await?;
        json!({ "removed": word })
    } else {
        site.post("api/identity/challenges", &json!({ "word": word })).await?
    };
    if shell.output.is_json() {
        shell.output.json(&answer)?;
    } else if rm {
        shell.output.line(&format!("{word} is no longer served"))?;
    } else {
        shell.output.line(&format!("{word} is served until {}", field(&answer, "until")))?;
    }
    Ok(Exit::Ok)
}
