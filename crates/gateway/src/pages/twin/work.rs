//! The twins of the pages about work: registering, tasks, running the site.
//!
//! Promises: tasks are those of this caller; what only admins may know is refused by the
//! site itself. It changes nothing: where a page has a form, its twin names the operation that the form
//! stands for.

use agentsite_protocol::{Caller, Message, Part, TaskId};
use agentsite_site::{AskedTask, SiteError, TaskFilter};

use super::line;
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Tasks of the list.
const TASKS: usize = 50;

/// The operations behind the page about running the site.
const OPERATED: &str = "`GET /api/status`, `GET /api/charts?range=15m`, `GET /api/logs` (followed with `Accept: text/event-stream`), \
     `GET /api/journal?text=…&kind=…&since=…`, `GET /api/config`, `POST /api/config/check`, `POST /api/config`, `POST /api/doctor`, \
     `GET /api/keys`, `POST /api/keys`, `DELETE /api/keys/ID`, `GET /api/outbox`, `GET /api/identity`";

/// Registering an agent.
pub(super) fn register(base: &str) -> String {
    format!(
        "# Register an agent\n\n`POST {base}/api/hub` with `{{\"url\": \"https://agent.example.org\"}}` or `{{\"card\": {{…}}}}` and a key. The answer says whether it \
         counts (`standing`), who stands behind it (`proof`), and otherwise the challenge: a word to serve on the agent's host. Then `POST {base}/api/hub/ID/verify`.\n"
    )
}

/// A new agent of the site itself.
pub(super) fn create(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    if !caller.is_admin() {
        let sentence = "Only an admin may create agents. Use a key with the scope admin.";
        return Err(Failure::new(Fault::Forbidden, sentence));
    }
    let mut text = format!(
        "# New agent\n\n`POST {base}/api/agents` with `{{\"name\", \"template\", \"description\", \"visibility\", \"model\"}}`, the last three as you like; \
         `POST {base}/api/workshop/draft` with the same shows the files without writing them. Change one later: `GET`, `PUT {base}/api/agents/NAME/manifest`, \
         `POST {base}/api/agents/NAME/suspend`, `…/resume`, `DELETE {base}/api/agents/NAME`.\n\n| template | what it is | a first question |\n|---|---|---|\n"
    );
    for template in front.settings.workshop.iter().flat_map(|workshop| workshop.templates()) {
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            template.id,
            line(&template.about),
            line(&template.example)
        ));
    }
    Ok(text)
}

/// The tasks of a caller, the last changed first.
pub(super) async fn tasks(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    known(caller)?;
    let page = front.site.tasks().asked(caller, TaskFilter::default(), "", None, TASKS).await?;
    let mut text = format!(
        "# Tasks\n\nAPI: `GET {base}/api/tasks`, narrowed by `agent`, `state`, `since`, `text` and `context`\n\n| task | asked | agent | state | changed |\n|---|---|---|---|---|\n"
    );
    for AskedTask { head, asked } in &page.items {
        let row = format!(
            "| [{}]({base}/tasks/{}.md) | {} | {} | {} | {} |\n",
            head.id,
            head.id,
            line(asked),
            head.agent,
            head.state.word(),
            head.updated_at
        );
        text.push_str(&row);
    }
    Ok(text)
}

/// One task: what was said and made.
pub(super) async fn task(front: &Front, caller: &Caller, id: &str, base: &str) -> Result<String, Failure> {
    known(caller)?;
    let id: TaskId = id.parse().map_err(|_| SiteError::NoSuchTask(id.chars().take(40).collect()))?;
    let task = front.site.tasks().get(caller, id).await?;
    let wire = task.wire(None);
    let mut text = format!(
        "# Task {id}\n\n- agent: {}\n- state: {}\n- conversation: {}\n- changed: {}\n- API: GET {base}/api/tasks/{id}\n\n## Messages\n\n",
        task.head.agent,
        task.head.state.word(),
        task.head.context,
        task.head.updated_at
    );
    let graph = front.site.tasks().graph(caller, id).await?;
    let told = serde_json::to_value(&wire).unwrap_or_default();
    let said = told["history"].as_array().into_iter().flatten().chain(told["status"].get("message"));
    for message in said.filter_map(|one| serde_json::from_value::<Message>(one.clone()).ok()) {
        text.push_str(&format!("- {}: {}\n", line(&format!("{:?}", message.role)), words(&message.parts)));
    }
    text.push_str("\n## Artifacts\n\n");
    for artifact in told["artifacts"].as_array().into_iter().flatten() {
        let parts: Vec<Part> = serde_json::from_value(artifact["parts"].clone()).unwrap_or_default();
        text.push_str(&format!(
            "- {}: {}\n",
            line(artifact["artifactId"].as_str().unwrap_or_default()),
            words(&parts)
        ));
    }
    text.push_str(&format!(
        "\n## Tasks that it started\n\nAPI: GET {base}/api/tasks/{id}/graph; POST …/cancel, …/retry\n\n"
    ));
    for head in graph.tasks.iter().skip(1) {
        let parent = head.parent.map(|parent| parent.to_string()).unwrap_or_default();
        let state = head.state.word();
        text.push_str(&format!(
            "- [{}]({base}/tasks/{}.md): {}, {state}, started by {parent}\n",
            head.id, head.id, head.agent
        ));
    }
    Ok(text)
}

/// How the site fares.
pub(super) async fn operations(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    let status = front.site.status(caller).await?;
    let mut text = format!(
        "# Operations\n\n- version: {}\n- since: {}\n- agents: {}\n- live tasks: {}\n",
        status.version,
        status.started_at,
        status.agents.len(),
        status.live_tasks
    );
    let (connections, streams) = front.settings.metrics.open();
    text.push_str(&format!("- open: {connections} connections, {streams} streams\n"));
    if let Some(memory) = crate::process::resident_bytes() {
        text.push_str(&format!("- memory: {memory} bytes\n"));
    }
    let store = &status.store;
    text.push_str(&format!(
        "- store: {} tasks, {} bytes on disk, schema {}, {} commits since the start\n- outbox: {} waiting, {} given up\n- search: {} agents with {}, {} wait for full vectors\n",
        store.tasks, store.bytes, store.schema, store.commits, store.outbox, store.dead, status.search.entries, status.search.model, status.search.pending
    ));
    text.push_str(&format!("\nAPI, below {base}: {OPERATED}\n\n"));
    text.push_str("## Agents\n\n| agent | health | running | waiting |\n|---|---|---|---|\n");
    for agent in &status.agents {
        text.push_str(&format!(
            "| {} | {} | {} of {} | {} of {} |\n",
            agent.name, agent.health, agent.running, agent.concurrency, agent.queued, agent.queue
        ));
    }
    text.push('\n');
    if let Some(last) = front.settings.operator.as_ref().and_then(|operator| operator.last_examination()) {
        text.push_str(&format!("## Doctor, {}\n\n", last.ran_at));
        for check in &last.checks {
            text.push_str(&format!("- {} {}: {}\n", check.verdict, line(&check.name), line(&check.words)));
        }
        text.push('\n');
    }
    for broken in &status.broken {
        text.push_str(&format!("- broken: {}\n", line(&serde_json::to_string(broken).unwrap_or_default())));
    }
    text.push_str("## Background work\n\n");
    for worker in &status.workers {
        text.push_str(&format!("- {}\n", line(&serde_json::to_string(worker).unwrap_or_default())));
    }
    Ok(text)
}

fn words(parts: &[Part]) -> String {
    let told = parts.iter().map(|part| match (&part.text, &part.filename) {
        (Some(text), _) => line(text),
        (None, Some(name)) => format!("(file {})", line(name)),
        (None, None) => "(data)".to_owned(),
    });
    told.collect::<Vec<_>>().join(" ")
}

fn known(caller: &Caller) -> Result<(), Failure> {
    if caller.is_anonymous() {
        let sentence = "tasks are shown to known callers; send Authorization: Bearer KEY";
        return Err(Failure::new(Fault::Unauthenticated, sentence));
    }
    Ok(())
}
