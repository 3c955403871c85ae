//! `agentsite peer`: other sites of the mesh, added, listed, banned, invited and joined.
//!
//! Promises: talks to the running site and decides nothing itself.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::shell::{Shell, escaped, field, list};
use crate::exit::{CliError, Exit};

/// Arguments of `peer`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add a site as a peer: it is dialed, and may call agents with visibility = "peers".
    Add {
        /// Address in the mesh (192.0.2.1:4101, /dns4/site.example/tcp/4101), or the URL of the site.
        #[arg(value_name = "ADDRESS|URL")]
        target: String,
    },
    /// List sites that are connected, were added or are banned.
    Ls,
    /// Remove a peer that was added.
    Rm {
        /// Its DID or the beginning of it, its domain or its title.
        site: String,
    },
    /// Ban a site: its connections end, its agents go, its calls are refused.
    Ban {
        /// Its DID or the beginning of it, its domain or its title.
        site: String,
    },
    /// Lift the ban of a site.
    Allow {
        /// Its DID or the beginning of it, its domain or its title.
        site: String,
    },
    /// Print a link by which another site joins the network of this one; as secret as the key of the network.
    Invite,
    /// Join the network of an invite, and add the site that sent it.
    Join {
        /// What `agentsite peer invite` printed there.
        link: String,
    },
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    let named = |word: &str, verb: &str| format!("api/mesh/peers/{}{verb}", escaped(word));
    let (answer, said): (Value, &str) = match &arguments.verb {
        Verb::Ls => return ls(shell, &site.get("api/mesh").await?),
        Verb::Add { target } => {
            (site.post("api/mesh/peers", &json!({ "target": target })).await?, "is a peer now")
        }
        Verb::Rm { site: word } => {
            site.delete(&named(word, "")).await?;
            (json!({ "site": word }), "is no longer a peer")
        }
        Verb::Ban { site: word } => (site.post(&named(word, "/ban"), &json!({})).await?, "is banned"),
        Verb::Allow { site: word } => {
            (site.post(&named(word, "/allow"), &json!({})).await?, "is allowed again")
        }
        Verb::Invite => {
            let invite: Value = site.post("api/mesh/invite", &json!({})).await?;
            return show_invite(shell, &invite);
        }
        Verb::Join { link } => (
            site.post("api/mesh/join", &json!({ "link": link })).await?,
            "is a peer now; its network is joined",
        ),
    };
    if shell.output.is_json() {
        shell.output.json(&answer)?;
    } else {
        shell.output.line(&format!("{} {said}", field(&answer, "site")))?;
    }
    Ok(Exit::Ok)
}

fn show_invite(shell: &Shell, invite: &Value) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(invite)?;
        return Ok(Exit::Ok);
    }
    shell.output.line(&field(invite, "link"))?;
    if invite["private"] == true {
        shell.output.note("this link opens the network to its holder; send it like a password");
    }
    shell.output.note("on the other site: agentsite peer join LINK");
    Ok(Exit::Ok)
}

fn ls(shell: &Shell, mesh: &Value) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(mesh)?;
        return Ok(Exit::Ok);
    }
    if mesh["enabled"] != true {
        shell.output.note("this site is not in the mesh; start it with --mesh, or set [mesh] enabled = true");
        return Ok(Exit::Ok);
    }
    let row = |peer: &Value| {
        vec![
            field(peer, "site"),
            field(peer, "title"),
            state(peer),
            field(peer, "address"),
            peer["latencyMs"].as_f64().map(|ms| format!("{ms:.0} ms")).unwrap_or_default(),
            peer["score"].as_f64().map(|score| format!("{score:.1}")).unwrap_or_default(),
            field(peer, "agents"),
            format!("{} / {}", kilobytes(&peer["bytesIn"]), kilobytes(&peer["bytesOut"])),
        ]
    };
    let rows: Vec<Vec<String>> = list(mesh, "peers").iter().map(row).collect();
    let head = ["SITE", "TITLE", "STATE", "ADDRESS", "LATENCY", "SCORE", "AGENTS", "KB IN / OUT"];
    shell.output.table(&head, &rows)?;
    let addresses = list(mesh, "addresses");
    let addresses: Vec<&str> = addresses.iter().filter_map(Value::as_str).collect();
    shell.output.note(&format!(
        "this site is {} at {}; {} of its agents are published, {} of others listed",
        field(mesh, "site"),
        if addresses.is_empty() { "no address".to_owned() } else { addresses.join(", ") },
        field(mesh, "published"),
        field(mesh, "listed"),
    ));
    Ok(Exit::Ok)
}

fn state(peer: &Value) -> String {
    let is_away = peer["connected"] != true && !peer["bannedUntil"].is_string();
    let words = [
        (peer["bannedUntil"].is_string(), "banned"),
        (peer["connected"] == true && peer["relayed"] == true, "connected by relay"),
        (peer["connected"] == true && peer["relayed"] != true, "connected"),
        (is_away && peer["live"] == false, "not reachable"),
        (is_away && peer["live"] != false, "not connected"),
        (peer["added"] == true, "added"),
    ];
    let words: Vec<&str> = words.into_iter().filter_map(|(holds, word)| holds.then_some(word)).collect();
    words.join(", ")
}

fn kilobytes(bytes: &Value) -> String {
    bytes.as_u64().unwrap_or_default().div_ceil(1_024).to_string()
}
