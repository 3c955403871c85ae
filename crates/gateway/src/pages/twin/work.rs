//! The twins of the pages about work: registering, tasks, running the site.
//!
//! Promises: tasks are those of this caller; what only the people who run the site may know is refused by the site itself. It changes nothing: where a page
//! has a form, its twin names the operation that the form stands for.

use agentsite_protocol::{Caller, Message, Part, TaskId};
use agentsite_site::{SiteError, TaskFilter};

use super::line;
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Tasks of the list.
const TASKS: usize = 50;

/// Registering an agent.
pub(super) fn register(base: &str) -> String {
    format!(
        "# Register an agent\n\n`POST {base}/api/hub` with `{{\"url\": \"https://agent.example.org\"}}` or `{{\"card\": {{…}}}}` and a key. The answer says whether it \
         counts (`standing`), who stands behind it (`proof`), and otherwise the challenge: a word to serve on the agent's host. Then `POST {base}/api/hub/ID/verify`.\n"
    )
}

/// The tasks of a caller, the last changed first.
pub(super) async fn tasks(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    known(caller)?;
    let page = front.site.tasks(caller, TaskFilter::default(), None, TASKS).await?;
    let mut text = format!(
        "# Tasks\n\nAPI: `GET {base}/api/tasks`\n\n| task | agent | state | changed |\n|---|---|---|---|\n"
    );
    for head in &page.items {
        let row = format!(
            "| [{}]({base}/tasks/{}.md) | {} | {} | {} |\n",
            head.id,
            head.id,
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
    let task = front.site.task(caller, id).await?;
    let wire = task.wire(None);
    let mut text = format!(
        "# Task {id}\n\n- agent: {}\n- state: {}\n- conversation: {}\n- changed: {}\n- API: GET {base}/api/tasks/{id}\n\n## Messages\n\n",
        task.head.agent,
        task.head.state.word(),
        task.head.context,
        task.head.updated_at
    );
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
    Ok(text)
}

/// How the site fares.
pub(super) async fn operations(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    let status = front.site.status(caller).await?;
    let mut text = format!(
        "# Operations\n\n- version: {}\n- since: {}\n- agents: {}\n- live tasks: {}\n- API: GET {base}/api/status, /api/journal, /api/keys, /api/outbox, /api/identity\n\n",
        status.version,
        status.started_at,
        status.agents.len(),
        status.live_tasks
    );
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
        let sentence = "tasks are told to callers that are known; send Authorization: Bearer KEY";
        return Err(Failure::new(Fault::Unauthenticated, sentence));
    }
    Ok(())
}
