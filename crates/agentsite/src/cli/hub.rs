//! `agentsite hub`: agents from elsewhere that the site knows.
//!
//! Promises: talks to the running site and decides nothing itself. An agent's document may be a file or an
//! address. Import reports every refused line by its number and continues, up to a bound.

mod transfer;

use agentsite_protocol::Money;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::shell::{RunningClient, Shell, escaped, field, list};
use crate::exit::{CliError, Exit};
use crate::output::Style;

/// Arguments of `hub`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Register an agent or a tool server by its address, or by a file with its card.
    Add {
        /// Address of an agent, of its card or of a tool server; or a file with a card or a server.json.
        #[arg(value_name = "URL|FILE")]
        source: String,
        /// Who may find it: private, peers or public.
        #[arg(long, default_value = "public")]
        visibility: String,
    },
    /// List entries by id.
    Ls {
        /// Only those after this id.
        #[arg(long)]
        after: Option<String>,
        /// Maximum number of entries.
        #[arg(short = 'n', long, default_value_t = 100)]
        limit: usize,
    },
    /// Show one entry, and what its owner must do to prove to be the owner.
    Show {
        /// Its id.
        id: String,
    },
    /// Prove to own an entry: by its challenge served on its domain, or signed in a file.
    Verify {
        /// Its id.
        id: String,
        /// File with the signed challenge: {"protected": …, "signature": …}.
        #[arg(long, value_name = "FILE")]
        answer: Option<std::path::PathBuf>,
    },
    /// Look at an entry now.
    Refresh {
        /// Its id.
        id: String,
    },
    /// Take an entry out for a while.
    Suspend {
        /// Its id.
        id: String,
    },
    /// Bring an entry back.
    Resume {
        /// Its id.
        id: String,
    },
    /// Remove an entry permanently.
    Rm {
        /// Its id.
        id: String,
    },
    /// Import many entries: from an ai-catalog.json, a server.json, another site or registry, or a file of
    /// JSON lines.
    Import {
        /// Address or file.
        #[arg(value_name = "URL|FILE")]
        source: String,
        /// Give up when more lines than this cannot be taken.
        #[arg(long, default_value_t = 1_000, value_name = "COUNT")]
        max_bad: usize,
    },
    /// Export all entries: to a file, or to stdout.
    Export {
        /// In which form.
        #[arg(long, value_enum, default_value_t = Format::Jsonl)]
        format: Format,
        /// The file; stdout when left out.
        #[arg(long, value_name = "FILE")]
        to: Option<std::path::PathBuf>,
    },
}

/// Forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One entry a line, as this program keeps them.
    Jsonl,
    /// An ai-catalog.json (ARD).
    Catalog,
    /// Tool servers as server.json of the MCP registry, one a line.
    Servers,
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    match arguments.verb {
        Verb::Add { source, visibility } => add(shell, &site, &source, &visibility).await,
        Verb::Ls { after, limit } => ls(shell, &site, after, limit).await,
        Verb::Show { id } => show(shell, &site.get(&path(&id, "")).await?),
        Verb::Verify { id, answer } => {
            let body = match answer {
                None => json!({}),
                Some(file) => json!({ "answer": transfer::read_json(&file)? }),
            };
            show(shell, &site.post(&path(&id, "/verify"), &body).await?)
        }
        Verb::Refresh { id } => show(shell, &site.post(&path(&id, "/refresh"), &json!({})).await?),
        Verb::Suspend { id } => show(shell, &site.post(&path(&id, "/suspend"), &json!({})).await?),
        Verb::Resume { id } => show(shell, &site.post(&path(&id, "/resume"), &json!({})).await?),
        Verb::Rm { id } => {
            site.delete(&path(&id, "")).await?;
            if shell.output.is_json() {
                shell.output.json(&json!({ "removed": id }))?;
            } else {
                shell.output.line(&format!("removed {id}"))?;
            }
            Ok(Exit::Ok)
        }
        Verb::Import { source, max_bad } => transfer::import(shell, &site, &source, max_bad).await,
        Verb::Export { format, to } => transfer::export(shell, &site, format, to.as_deref()).await,
    }
}

fn path(id: &str, verb: &str) -> String {
    format!("api/hub/{}{verb}", escaped(id))
}

fn is_address(source: &str) -> bool {
    source.starts_with("http://") || source.starts_with("https://")
}

async fn add(shell: &Shell, site: &RunningClient, source: &str, visibility: &str) -> Result<Exit, CliError> {
    let body = if is_address(source) {
        json!({ "url": source, "visibility": visibility })
    } else {
        json!({ "card": transfer::read_json(std::path::Path::new(source))?, "visibility": visibility })
    };
    show(shell, &site.post("api/hub", &body).await?)
}

async fn ls(
    shell: &Shell,
    site: &RunningClient,
    after: Option<String>,
    limit: usize,
) -> Result<Exit, CliError> {
    let mut path = format!("api/hub?limit={limit}");
    path.extend(after.map(|after| format!("&after={}", escaped(&after))));
    let answer: Value = site.get(&path).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let row = |entry: &Value| {
        let [id, name, standing, proof, owner] =
            ["id", "name", "standing", "proof", "owner"].map(|name| field(entry, name));
        vec![id, name, standing, proof, state(entry).to_owned(), field(entry, "checkedAt"), owner]
    };
    let rows: Vec<Vec<String>> = list(&answer, "items").iter().map(row).collect();
    let head = ["ID", "NAME", "STANDING", "PROOF", "STATE", "CHECKED", "OWNER"];
    shell.output.table(&head, &rows)?;
    if let Some(next) = answer["next"].as_str() {
        shell.output.note(&format!("there are more: agentsite hub ls --after {next}"));
    }
    Ok(Exit::Ok)
}

/// The price of an entry as people write it, such as `2.5` or `0.50 USD`; empty when it has none.
fn price(entry: &Value) -> String {
    let price = serde_json::from_value::<Money>(entry["price"].clone());
    price.map(|price| price.to_string()).unwrap_or_default()
}

/// Whether an entry answers, as far as the site has checked.
fn state(entry: &Value) -> &'static str {
    match (entry["checkedAt"].is_string(), entry["live"].as_bool().unwrap_or_default()) {
        (false, _) => "not checked",
        (true, true) => "answers",
        (true, false) => "no answer",
    }
}

fn show(shell: &Shell, entry: &Value) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(entry)?;
        return Ok(Exit::Ok);
    }
    let names = [
        "id",
        "name",
        "description",
        "version",
        "url",
        "mediaType",
        "standing",
        "proof",
        "state",
        "checkedAt",
        "visibility",
        "owner",
        "region",
        "price",
        "key",
        "registeredAt",
        "updatedAt",
        "seenAt",
        "leaseUntil",
        "nextLook",
    ];
    for name in names {
        let value = match name {
            "state" => state(entry).to_owned(),
            "price" => price(entry),
            _ => field(entry, name),
        };
        if !value.is_empty() {
            shell.output.line(&format!("{name:<13} {value}"))?;
        }
    }
    let skills = list(&entry["skills"], "");
    if !skills.is_empty() {
        let named: Vec<String> = skills.iter().take(12).map(|skill| field(skill, "name")).collect();
        shell.output.line(&format!("{:<13} {} ({})", "skills", skills.len(), named.join(", ")))?;
    }
    for one in list(&entry["interfaces"], "") {
        let words = format!("{} {}", field(&one, "mediaType"), field(&one, "url"));
        shell.output.line(&format!("{:<13} {words}", "interface"))?;
    }
    for warning in list(&entry["warnings"], "") {
        shell.output.alert(Style::Warn, warning.as_str().unwrap_or_default());
    }
    if let Some(word) = entry["challenge"]["word"].as_str() {
        let at = field(&entry["challenge"], "serveAt");
        shell.output.note(&format!(
            "to prove that it is yours, serve the text {word} at {at}, or sign it with the card's key; then: agentsite hub verify {}",
            field(entry, "id")
        ));
    }
    Ok(Exit::Ok)
}
