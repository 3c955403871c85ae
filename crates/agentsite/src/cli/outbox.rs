//! `agentsite outbox`: deliveries that wait or were given up, and what to do with them.
//!
//! Promises: shows a receiver by its origin only; `retry` and `drop` are the only changes. With `--dead` both
//! take all that were given up.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::shell::{RunningClient, Shell, field, list};
use crate::exit::{CliError, Exit};

/// Deliveries fetched at once when all are meant.
const PAGE: usize = 500;

/// Arguments of `outbox`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List deliveries, the oldest first.
    Ls {
        /// Only those that were given up.
        #[arg(long)]
        dead: bool,
        /// Only those of this task.
        #[arg(long)]
        task: Option<String>,
        /// Only those after this one.
        #[arg(long)]
        after: Option<u64>,
        /// Maximum number of deliveries.
        #[arg(short = 'n', long, default_value_t = 100)]
        limit: usize,
    },
    /// Show one delivery and why it failed.
    Show {
        /// Its number.
        id: u64,
    },
    /// Send deliveries again, with a new deadline.
    Retry(Which),
    /// Delete deliveries permanently.
    Drop(Which),
}

/// Which deliveries are meant.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Their numbers.
    ids: Vec<u64>,
    /// All that were given up.
    #[arg(long)]
    dead: bool,
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    match arguments.verb {
        Verb::Ls { dead, task, after, limit } => {
            let mut path = format!("api/outbox?limit={limit}");
            path.push_str(if dead { "&state=dead" } else { "" });
            path.extend(task.map(|task| format!("&task={}", super::shell::escaped(&task))));
            path.extend(after.map(|after| format!("&after={after}")));
            let answer: Value = site.get(&path).await?;
            ls(shell, &answer, limit)
        }
        Verb::Show { id } => {
            let delivery: Value = site.get(&format!("api/outbox/{id}")).await?;
            show(shell, &delivery)
        }
        Verb::Retry(which) => {
            let ids = which.ids(&site).await?;
            for id in &ids {
                let _: Value = site.post(&format!("api/outbox/{id}/retry"), &serde_json::json!({})).await?;
            }
            done(shell, "retried", "sent again", &ids)
        }
        Verb::Drop(which) => {
            let ids = which.ids(&site).await?;
            for id in &ids {
                site.delete(&format!("api/outbox/{id}")).await?;
            }
            done(shell, "dropped", "dropped", &ids)
        }
    }
}

impl Which {
    /// The numbers that are meant.
    async fn ids(self, site: &RunningClient) -> Result<Vec<u64>, CliError> {
        let mut ids = self.ids;
        if !self.dead {
            return Ok(ids);
        }
        loop {
            let after = ids.last().copied().unwrap_or_default();
            let path = format!("api/outbox?state=dead&limit={PAGE}&after={after}");
            let page: Value = site.get(&path).await?;
            let deliveries = list(&page, "letters");
            ids.extend(deliveries.iter().filter_map(|delivery| delivery["id"].as_u64()));
            if deliveries.len() < PAGE {
                return Ok(ids);
            }
        }
    }
}

fn ls(shell: &Shell, answer: &Value, limit: usize) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(answer)?;
        return Ok(Exit::Ok);
    }
    let deliveries = list(answer, "letters");
    let row = |delivery: &Value| {
        ["id", "state", "receiver", "task", "event", "attempts", "due", "error"]
            .map(|name| field(delivery, name))
            .to_vec()
    };
    let rows: Vec<Vec<String>> = deliveries.iter().map(row).collect();
    let heads = ["ID", "STATE", "RECEIVER", "TASK", "EVENT", "TRIES", "DUE", "LAST ERROR"];
    shell.output.table(&heads, &rows)?;
    if let Some(last) = deliveries.last().filter(|_| deliveries.len() >= limit) {
        shell.output.note(&format!("there may be more: agentsite outbox ls --after {}", field(last, "id")));
    }
    Ok(Exit::Ok)
}

fn show(shell: &Shell, delivery: &Value) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(delivery)?;
        return Ok(Exit::Ok);
    }
    for name in [
        "id", "state", "receiver", "config", "task", "event", "delivery", "attempts", "due", "deadline",
        "error",
    ] {
        let value = field(delivery, name);
        if !value.is_empty() {
            shell.output.line(&format!("{name:<9} {value}"))?;
        }
    }
    Ok(Exit::Ok)
}

fn done(shell: &Shell, name: &str, words: &str, ids: &[u64]) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ name: ids }))?;
    } else {
        shell.output.line(&format!("{} deliveries {words}", ids.len()))?;
    }
    Ok(Exit::Ok)
}
