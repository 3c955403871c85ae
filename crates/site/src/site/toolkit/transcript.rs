//! Transcript: a task as a page that a person can read.
//!
//! Promises: everything that was said and made is there in order, in Markdown; bytes are named, not shown.
//! What agents and callers wrote cannot pass for a heading of the page.

use agentsite_protocol::{Artifact, Message, Part, Role, Task};

/// Longest text of one part; the artifact itself has all of it.
const MAX_TEXT: usize = 20_000;

/// The page.
pub(super) fn transcript(task: &Task) -> String {
    let head = &task.head;
    let mut page = format!(
        "# Task {}\n\nAgent **{}**, {}. Began {}, changed {}. Context `{}`.\n",
        head.id,
        head.agent,
        head.state.word(),
        head.created_at,
        head.updated_at,
        head.context
    );
    page.push_str("\n## What was said\n");
    for message in task.history.iter().chain(&task.status.message) {
        page.push_str(&said(task, message));
    }
    if !task.artifacts.is_empty() {
        page.push_str("\n## What was made\n");
        task.artifacts.iter().for_each(|artifact| page.push_str(&made(artifact)));
    }
    page
}

fn said(task: &Task, message: &Message) -> String {
    let who = match message.role {
        Role::User => "Caller".to_owned(),
        Role::Agent => task.head.agent.to_string(),
    };
    format!("\n**{who}:**\n\n{}", parts(&message.parts))
}

fn made(artifact: &Artifact) -> String {
    let name = artifact.name.as_deref().unwrap_or(&artifact.artifact_id);
    format!("\n**{}** (`{}`)\n\n{}", one_line(name), one_line(&artifact.artifact_id), parts(&artifact.parts))
}

fn parts(parts: &[Part]) -> String {
    parts.iter().map(|part| quoted(&in_words(part))).collect()
}

fn in_words(part: &Part) -> String {
    let kind = part.media_type.as_deref().unwrap_or("unknown type");
    let name = part.filename.as_deref().unwrap_or("without a name");
    match (&part.text, &part.raw, &part.url, &part.data) {
        (Some(text), ..) => text.clone(),
        (None, Some(raw), ..) => format!("[file {name}, {kind}, {} bytes]", raw.len() / 4 * 3),
        (None, None, Some(url), _) => format!("[file {name}, {kind}, at {url}]"),
        (None, None, None, Some(data)) => serde_json::to_string_pretty(data).unwrap_or_default(),
        (None, None, None, None) => String::new(),
    }
}

/// UpstreamMatch words as a quotation, so that they are not taken for the page's own.
fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(MAX_TEXT).collect();
    let mark = if cut.len() < text.len() { "\n[…]" } else { "" };
    let lines: Vec<String> = format!("{cut}{mark}").lines().map(|line| format!("> {line}")).collect();
    lines.join("\n") + "\n"
}

fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && *c != '`' && *c != '*').take(100).collect()
}
