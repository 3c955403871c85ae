//! `agentsite status`: the running site at a glance, with every piece of background work.
//!
//! Promises: what it prints is what the site says; `--json` is the site's own answer. It changes nothing.

use serde_json::Value;

use super::shell::{Shell, field, list};
use crate::exit::{CliError, Exit};
use agentsite_protocol::ByteSize;

/// Prints the status.
pub(super) async fn run(shell: &Shell) -> Result<Exit, CliError> {
    let site = shell.site()?;
    let status: Value = site.get("api/status").await?;
    let output = shell.output;
    if output.is_json() {
        output.json(&status)?;
        return Ok(Exit::Ok);
    }
    output.line(&format!(
        "{} {} at {}",
        field(&status, "name"),
        field(&status, "version"),
        site.client.base()
    ))?;
    output.line(&format!("since {}", field(&status, "startedAt")))?;
    let store = &status["store"];
    let bytes = ByteSize(store["bytes"].as_u64().unwrap_or_default() & !0xfff);
    let live = field(&status, "liveTasks");
    output.line(&format!("tasks {} ({live} live), {bytes} on disk", field(store, "tasks")))?;
    output.line(&storage(&status["storage"]))?;
    output.line(&process(&status))?;
    let count = |name: &str| store[name].as_u64().unwrap_or_default();
    if count("outbox") + count("dead") > 0 {
        output.line(&format!(
            "outbox {} waiting, {} dead (agentsite outbox ls)",
            count("outbox"),
            count("dead")
        ))?;
    }

    let processes = list(&status, "processes");
    if !processes.is_empty() {
        output.line("")?;
        let rows: Vec<Vec<String>> = processes.iter().map(process_row).collect();
        output
            .table(&["PROCESS", "NAME", "VERSION", "SINCE", "TASKS", "AGENTS", "DOES FOR THE SITE"], &rows)?;
        for process in &processes {
            for difference in list(process, "differences") {
                let (id, what) = (field(process, "id"), difference.as_str().unwrap_or_default().to_owned());
                output.note(&format!("process {id}: {what}"));
            }
        }
    }

    output.line("")?;
    let agent = |agent: &Value| {
        vec![
            field(agent, "name"),
            field(agent, "health"),
            field(agent, "running"),
            field(agent, "queued"),
            explained(agent),
        ]
    };
    let agents: Vec<Vec<String>> = list(&status, "agents").iter().map(agent).collect();
    output.table(&["AGENT", "HEALTH", "RUNNING", "QUEUED", "REASON"], &agents)?;

    output.line("")?;
    let worker = |worker: &Value| {
        vec![
            field(worker, "name"),
            field(worker, "state"),
            field(worker, "errors"),
            field(worker, "since"),
            field(worker, "detail"),
        ]
    };
    let workers: Vec<Vec<String>> = list(&status, "workers").iter().map(worker).collect();
    output.table(&["WORKER", "STATE", "ERRORS", "SINCE", "DETAIL"], &workers)?;
    for broken in list(&status, "broken") {
        output.note(&format!("broken: {}:{}", field(&broken, "file"), field(&broken, "error")));
    }
    Ok(Exit::Ok)
}

/// One process of the site.
fn process_row(process: &Value) -> Vec<String> {
    let leases = list(process, "leases");
    let leases = leases.iter().filter_map(Value::as_str).map(|name| name.trim_start_matches("worker/"));
    let (own, connected) = (field(process, "agents"), list(process, "connected").len());
    vec![
        format!("{}{}", field(process, "id"), if process["this"] == true { " (this one)" } else { "" }),
        field(process, "name"),
        field(process, "version"),
        field(process, "joinedAt"),
        field(process, "tasks"),
        if connected == 0 { own } else { format!("{own} + {connected} connected") },
        leases.collect::<Vec<_>>().join(", "),
    ]
}

/// Why an agent is not ready, or what its operator should look at.
pub(super) fn explained(agent: &Value) -> String {
    let reason = field(agent, "reason");
    if reason.is_empty() { field(agent, "notice") } else { reason }
}

/// Who stores how much, in a line.
fn storage(storage: &Value) -> String {
    let size = |value: &Value| ByteSize(round(value.as_u64().unwrap_or_default()));
    let limits = &storage["limits"];
    let of = |name: &str| match limits[name].as_u64() {
        Some(0) | None => String::new(),
        Some(limit) => format!(" of {}", ByteSize(limit)),
    };
    let disk = match storage["disk"]["state"].as_str() {
        Some("low") => ", the disk is nearly full: new work is refused",
        Some("full") => ", the disk is full: only deleting works",
        _ => "",
    };
    let largest = storage["largest"].as_array().and_then(|all| all.first());
    let largest = largest.map_or_else(String::new, |one| {
        format!("; most by {} ({})", one[0].as_str().unwrap_or_default(), size(&one[1]))
    });
    format!(
        "stored {}{}, without a key {}{}, journal {}{largest}; {} free{disk}",
        size(&storage["total"]),
        of("total"),
        size(&storage["anonymous"]),
        of("anonymous"),
        size(&storage["journal"]),
        size(&storage["disk"]["free"]),
    )
}

/// Whole kilobytes, or megabytes from ten of them on: what people compare.
const fn round(bytes: u64) -> u64 {
    if bytes < 10 << 20 { bytes & !0x3ff } else { bytes & !0xf_ffff }
}

/// What the process holds open, in a line.
fn process(status: &Value) -> String {
    let memory = ByteSize(status["process"]["memory"].as_u64().unwrap_or_default() & !0xf_ffff);
    let refused = status["refused"].as_object().into_iter().flatten();
    let refused: Vec<String> = refused
        .filter(|(_, count)| count.as_u64().is_some_and(|count| count > 0))
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    let refused =
        if refused.is_empty() { String::new() } else { format!("; refused: {}", refused.join(", ")) };
    format!(
        "memory {memory}, {} connections, {} streams, {} connected programs{refused}; {} agents can be found",
        field(status, "connections"),
        field(status, "streams"),
        field(status, "sockets"),
        field(&status["search"], "entries")
    )
}
