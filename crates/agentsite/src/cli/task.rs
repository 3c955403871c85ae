//! `agentsite task`: list, show, follow, cancel and repeat tasks of the running site, and show what they
//! started.
//!
//! Promises: lists come in pages and say when there is more; `watch` prints every event once, from the first
//! to the last, also when the task has ended. Only `cancel` and `retry` change anything.

use agentsite_protocol::TaskState;
use clap::{Args, Subcommand};
use futures::StreamExt;
use serde_json::Value;

use super::shell::{RunningClient, Shell, escaped, field, list};
use crate::exit::{CliError, Exit};

/// Arguments of `task`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List tasks, the last changed first.
    Ls {
        /// Only of this agent.
        #[arg(long)]
        agent: Option<String>,
        /// Only in this state: submitted, working, input-required, auth-required, completed, failed,
        /// canceled, rejected.
        #[arg(long)]
        state: Option<String>,
        /// Only of this conversation.
        #[arg(long)]
        context: Option<String>,
        /// Maximum number of tasks.
        #[arg(short = 'n', long, default_value_t = 50)]
        limit: usize,
        /// Where the last page ended.
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Show one task with its answer.
    Show {
        /// Its id.
        id: String,
    },
    /// Ask the agent to stop.
    Cancel {
        /// Its id.
        id: String,
    },
    /// Delete an ended task with everything that was said in it.
    Rm {
        /// Its id.
        id: String,
    },
    /// Ask the agent of an ended task the same again.
    Retry {
        /// Its id.
        id: String,
    },
    /// Show a task and the tasks that it started.
    Graph {
        /// Its id.
        id: String,
    },
    /// Print the events of a task until it ends.
    Watch {
        /// Its id.
        id: String,
        /// Only events after this number.
        #[arg(long, default_value_t = 0)]
        after: u64,
    },
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let site = shell.site()?;
    match arguments.verb {
        Verb::Ls { agent, state, context, limit, cursor } => {
            let filter = [("agent", agent), ("state", state), ("context", context), ("cursor", cursor)];
            ls(shell, &site, filter, limit).await
        }
        Verb::Show { id } => {
            let task: Value = site.get(&format!("api/tasks/{}", escaped(&id))).await?;
            show(shell, &task)?;
            Ok(Exit::Ok)
        }
        Verb::Cancel { id } => {
            let path = format!("api/tasks/{}/cancel", escaped(&id));
            let task: Value = site.post(&path, &serde_json::json!({})).await?;
            show(shell, &task)?;
            Ok(Exit::Ok)
        }
        Verb::Rm { id } => {
            site.delete(&format!("api/tasks/{}", escaped(&id))).await?;
            Ok(Exit::Ok)
        }
        Verb::Retry { id } => {
            let path = format!("api/tasks/{}/retry", escaped(&id));
            let task: Value = site.post(&path, &serde_json::json!({})).await?;
            show(shell, &task)?;
            Ok(Exit::Ok)
        }
        Verb::Graph { id } => {
            let graph: Value = site.get(&format!("api/tasks/{}/graph", escaped(&id))).await?;
            draw(shell, &graph)?;
            Ok(Exit::Ok)
        }
        Verb::Watch { id, after } => watch(shell, &site, &id, after).await,
    }
}

async fn ls(
    shell: &Shell,
    site: &RunningClient,
    filter: [(&str, Option<String>); 4],
    limit: usize,
) -> Result<Exit, CliError> {
    let given = filter.into_iter().filter_map(|(name, value)| Some(format!("&{name}={}", escaped(&value?))));
    let answer: Value = site.get(&format!("api/tasks?limit={limit}{}", given.collect::<String>())).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let row = |task: &Value| {
        vec![
            field(task, "id"),
            field(task, "agent"),
            word(task),
            field(task, "updatedAt"),
            field(task, "contextId"),
        ]
    };
    let rows: Vec<Vec<String>> = list(&answer, "tasks").iter().map(row).collect();
    shell.output.table(&["ID", "AGENT", "STATE", "CHANGED", "CONTEXT"], &rows)?;
    if let Some(cursor) = answer["next"].as_str() {
        shell.output.note(&format!("there is more: agentsite task ls --cursor {cursor}"));
    }
    Ok(Exit::Ok)
}

/// A task and those that it started, each below the one that started it with a dot for each step.
fn draw(shell: &Shell, graph: &Value) -> Result<(), CliError> {
    if shell.output.is_json() {
        shell.output.json(graph)?;
        return Ok(());
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let tasks = list(graph, "tasks");
    // Those that are still to be shown, the next one last.
    let mut left: Vec<(usize, &Value)> = tasks.first().map(|root| (0, root)).into_iter().collect();
    while let Some((depth, task)) = left.pop() {
        let agent = format!("{}{}", "· ".repeat(depth), field(task, "agent"));
        rows.push(vec![agent, word(task), field(task, "id"), field(task, "updatedAt")]);
        let children = tasks.iter().skip(1).filter(|child| child["parent"] == task["id"]);
        left.extend(children.map(|child| (depth + 1, child)).collect::<Vec<_>>().into_iter().rev());
    }
    shell.output.table(&["AGENT", "STATE", "ID", "CHANGED"], &rows)?;
    if graph["cut"].as_bool() == Some(true) {
        shell.output.note("there are more tasks than shown");
    }
    Ok(())
}

/// The state of a task as one word, whatever the form of the answer.
fn word(task: &Value) -> String {
    let state = if task["state"].is_null() { &task["status"]["state"] } else { &task["state"] };
    let read: Option<TaskState> = serde_json::from_value(state.clone()).ok();
    read.map_or_else(|| state.as_str().unwrap_or_default().to_owned(), |state| state.word().to_owned())
}

fn show(shell: &Shell, task: &Value) -> Result<(), CliError> {
    if shell.output.is_json() {
        return Ok(shell.output.json(task)?);
    }
    for (label, value) in [
        ("task", field(task, "id")),
        ("agent", field(task, "agent")),
        ("context", field(task, "contextId")),
        ("state", word(task)),
        ("since", field(&task["status"], "timestamp")),
    ] {
        if !value.is_empty() {
            shell.output.line(&format!("{label:<8} {value}"))?;
        }
    }
    for message in list(task, "history") {
        let who = if message["role"] == "ROLE_USER" { "asked" } else { "said" };
        shell.output.line(&format!("{who:<8} {}", texts(&message)))?;
    }
    let words = texts(&task["status"]["message"]);
    if !words.is_empty() {
        shell.output.line(&format!("{:<8} {words}", "said"))?;
    }
    for artifact in list(task, "artifacts") {
        shell.output.line(&format!("{:<8} {}", "made", texts(&artifact)))?;
    }
    Ok(())
}

/// The parts of a message or an artifact: text as it is, data as JSON, files by their name or address.
fn texts(value: &Value) -> String {
    let shown = |part: &Value| match &part["text"] {
        Value::String(text) => text.clone(),
        _ if !part["data"].is_null() => part["data"].to_string(),
        _ => {
            let named = [&part["filename"], &part["url"]].into_iter().find_map(Value::as_str);
            format!("[file {}]", named.unwrap_or("without a name"))
        }
    };
    list(value, "parts").iter().map(shown).collect::<Vec<_>>().join("\n")
}

/// Follows the events until the task is settled.
async fn watch(shell: &Shell, site: &RunningClient, id: &str, after: u64) -> Result<Exit, CliError> {
    let mut events = site.events(&format!("api/tasks/{}/events?after={after}", escaped(id))).await?;
    while let Some(event) = events.next().await.transpose()? {
        if event.event.as_deref() == Some(SETTLED) {
            break;
        }
        let event: Value = serde_json::from_str(&event.data.unwrap_or_default()).unwrap_or_default();
        if shell.output.is_json() {
            shell.output.json(&event)?;
        } else {
            shell.output.line(&sentence(&event))?;
        }
    }
    let task: Value = site.get(&format!("api/tasks/{}", escaped(id))).await?;
    Ok(exit_of(&word(&task)))
}

/// The event that ends the stream of a task.
const SETTLED: &str = "settled";

fn exit_of(state: &str) -> Exit {
    match TaskState::from_word(state) {
        Some(TaskState::InputRequired | TaskState::AuthRequired) => Exit::NeedsInput,
        Some(TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => Exit::TaskFailed,
        _ => Exit::Ok,
    }
}

/// An event in a line.
fn sentence(event: &Value) -> String {
    let what = match event["kind"].as_str().unwrap_or_default() {
        "opened" | "said" => format!("asked: {}", texts(&event["message"])),
        "started" => format!("started, attempt {}", field(event, "attempt")),
        "status" => match texts(&event["message"]) {
            words if words.is_empty() => word(event),
            words => format!("{}: {words}", word(event)),
        },
        "artifact" => format!("made: {}", texts(&event["artifact"])),
        "used" => format!("used: {}", event["usage"]),
        other => other.to_owned(),
    };
    format!("{:>4}  {}  {what}", field(event, "seq"), field(event, "at"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_in_both_forms() {
        assert_eq!(word(&serde_json::json!({"state": "working"})), "working");
        assert_eq!(
            word(&serde_json::json!({"status": {"state": "TASK_STATE_INPUT_REQUIRED"}})),
            "input-required"
        );
    }

    #[test]
    fn events_are_told_in_a_line_each() {
        let event = serde_json::json!({
            "seq": 3, "at": "2023-11-14T22:13:20.120Z", "kind": "status", "state": "TASK_STATE_WORKING",
            "message": {"parts": [{"text": "half way"}]}
        });
        assert_eq!(sentence(&event), "   3  2023-11-14T22:13:20.120Z  working: half way");
        let event = serde_json::json!({"seq": 4, "at": "t", "kind": "artifact", "artifact": {"parts": [{"text": "4"}]}});
        assert_eq!(sentence(&event), "   4  t  made: 4");
    }

    #[test]
    fn the_end_of_a_task_is_the_end_of_the_program() {
        assert_eq!(exit_of("completed"), Exit::Ok);
        assert_eq!(exit_of("failed"), Exit::TaskFailed);
        assert_eq!(exit_of("input-required"), Exit::NeedsInput);
    }
}
