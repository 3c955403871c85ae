//! Resources: cards of agents, transcripts of tasks and what was made in them, by addresses of the site's own
//! scheme.
//!
//! Promises: a card is for those who may call the agent, a task for its owner; every other address answers as
//! one where nothing is. The cards come first, by name, then the caller's last tasks.

use agentsite_host::ToolFault;
use agentsite_protocol::mcp::{Contents, Resource, ResourceTemplate};
use agentsite_protocol::{AgentName, Artifact, Caller, Part, Task, TaskHead, TaskId};
use agentsite_store::TaskFilter;

use super::transcript::transcript;
use super::{Toolkit, ToolkitError};
use crate::SiteError;
use crate::local_agents::AGENT_RESOURCES;

/// How the addresses of tasks begin.
const TASK_RESOURCES: &str = "agentsite://tasks/";

/// Tasks that are listed; all others are reached by their ids.
const LISTED_TASKS: usize = 20;

/// The form of a card's address.
pub(super) const CARD: &str = "agentsite://agents/{name}/card";

/// The form of a transcript's address.
pub(super) const TASK: &str = "agentsite://tasks/{id}";

/// The form of an artifact's address.
pub(super) const ARTIFACT: &str = "agentsite://tasks/{id}/artifacts/{artifact}";

/// What an address stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Card(AgentName),
    Task(TaskId),
    Artifact(TaskId, String),
}

impl Address {
    /// Reads an address; `None` when it is none of the site's own.
    pub(super) fn read(uri: &str) -> Option<Self> {
        if let Some(rest) = uri.strip_prefix(AGENT_RESOURCES) {
            return rest.strip_suffix("/card")?.parse().ok().map(Self::Card);
        }
        let rest = uri.strip_prefix(TASK_RESOURCES)?;
        match rest.split_once("/artifacts/") {
            None => rest.parse().ok().map(Self::Task),
            Some((id, artifact)) => Some(Self::Artifact(id.parse().ok()?, artifact.to_owned())),
        }
    }
}

/// The address of a transcript.
pub(super) fn task_uri(id: TaskId) -> String {
    format!("{TASK_RESOURCES}{id}")
}

/// The address of an artifact, whatever its id is made of.
pub(super) fn artifact_uri(task: TaskId, id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let id: String = id
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("{TASK_RESOURCES}{task}/artifacts/{id}")
}

fn card_uri(name: &AgentName) -> String {
    format!("{AGENT_RESOURCES}{name}/card")
}

/// The families of addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |form: &str, name: &str, about: &str, kind: Option<&str>| ResourceTemplate {
        uri_template: form.into(),
        name: name.into(),
        description: Some(about.into()),
        mime_type: kind.map(str::to_owned),
        ..ResourceTemplate::default()
    };
    vec![
        template(CARD, "agent-card", "What an agent says of itself", Some("application/json")),
        template(
            TASK,
            "task-transcript",
            "What was said and made in one of your tasks",
            Some("text/markdown"),
        ),
        template(ARTIFACT, "task-artifact", "One thing that was made in one of your tasks", None),
    ]
}

impl Toolkit {
    /// The cards of the agents and the caller's last tasks.
    pub(super) async fn site_resources(&self, caller: &Caller) -> Result<Vec<Resource>, ToolkitError> {
        let mut all: Vec<Resource> = self
            .agents(caller)
            .iter()
            .map(|entry| Resource {
                uri: card_uri(&entry.manifest.name),
                name: format!("{}-card", entry.manifest.name),
                title: Some(format!("Card of {}", entry.manifest.name)),
                description: Some(entry.manifest.description.clone()),
                mime_type: Some("application/json".into()),
                ..Resource::default()
            })
            .collect();
        let tasks = self.last_tasks(caller, LISTED_TASKS).await?;
        all.extend(tasks.iter().map(|head| Resource {
            uri: task_uri(head.id),
            name: head.id.to_string(),
            title: Some(format!("Task of {}, {}", head.agent, head.state.word())),
            description: Some(format!("What was said and made, as of {}", head.updated_at)),
            mime_type: Some("text/markdown".into()),
            ..Resource::default()
        }));
        Ok(all)
    }

    /// Reads what an address stands for.
    pub(super) async fn site_resource(
        &self,
        caller: &Caller,
        uri: &str,
    ) -> Result<Vec<Contents>, ToolkitError> {
        let nothing = || ToolkitError::from(ToolFault::NoSuchResource(agentsite_tasks::excerpt(uri)));
        let hidden = |error: SiteError| match error {
            SiteError::NoSuchTask(_) | SiteError::NoSuchAgent(_) => nothing(),
            other => other.into(),
        };
        match Address::read(uri).ok_or_else(nothing)? {
            Address::Card(name) => self.card(caller, &name, uri).map_err(hidden),
            Address::Task(id) => {
                let task = self.own_task(caller, id).await.map_err(hidden)?;
                Ok(vec![Contents::text(uri, "text/markdown", transcript(&task))])
            }
            Address::Artifact(id, _) => {
                let task = self.own_task(caller, id).await.map_err(hidden)?;
                let made = |artifact: &&Artifact| artifact_uri(id, &artifact.artifact_id) == uri;
                let artifact = task.artifacts.iter().find(made).ok_or_else(nothing)?;
                Ok(artifact.parts.iter().map(|part| contents(uri, part)).collect())
            }
        }
    }

    /// A card: signed and with addresses where it is known under which address the site is reached.
    fn card(&self, caller: &Caller, name: &AgentName, uri: &str) -> Result<Vec<Contents>, SiteError> {
        let own = self.agents(caller).iter().any(|entry| entry.manifest.name == *name);
        if !own {
            return Err(SiteError::NoSuchAgent(name.to_string()));
        }
        let card = match &self.base {
            Some(base) => self.site.cards.get(caller, name, base)?,
            None => {
                let mut card = self.site.local.visible(caller, name)?.card("", &self.site.settings);
                (card.supported_interfaces, card.provider) = (Vec::new(), None);
                card
            }
        };
        let text = serde_json::to_string_pretty(&card).unwrap_or_default();
        Ok(vec![Contents::text(uri, "application/json", text)])
    }

    /// A task of this toolkit that the caller may see.
    pub(super) async fn own_task(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        let task = self.site.tasks.get(caller, id).await?;
        if self.agent().is_none_or(|agent| *agent == task.head.agent) {
            Ok(task)
        } else {
            Err(SiteError::NoSuchTask(id.to_string()))
        }
    }

    /// The caller's own last tasks, of the agents of this toolkit.
    pub(super) async fn last_tasks(&self, caller: &Caller, most: usize) -> Result<Vec<TaskHead>, SiteError> {
        let filter = TaskFilter {
            owner: Some(caller.owner().clone()),
            agent: self.agent().cloned(),
            ..TaskFilter::default()
        };
        Ok(self.site.tasks.list(caller, filter, None, most).await?.items)
    }
}

/// One part as the content of a resource.
fn contents(uri: &str, part: &Part) -> Contents {
    let media_type = part.media_type.clone();
    if let Some(blob) = &part.raw {
        return Contents {
            uri: uri.into(),
            mime_type: media_type.or_else(|| Some("application/octet-stream".into())),
            blob: Some(blob.clone()),
            ..Contents::default()
        };
    }
    let (kind, text) = match (&part.text, &part.url, &part.data) {
        (Some(text), _, _) => ("text/plain", text.clone()),
        (None, Some(url), _) => ("text/uri-list", url.clone()),
        (None, None, Some(data)) => ("application/json", data.to_string()),
        (None, None, None) => ("text/plain", String::new()),
    };
    Contents::text(uri, media_type.unwrap_or_else(|| kind.into()), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_are_not() {
        let id: TaskId = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
        assert_eq!(
            Address::read("agentsite://agents/calc/card"),
            Some(Address::Card("calc".parse().unwrap()))
        );
        assert_eq!(Address::read(&task_uri(id)), Some(Address::Task(id)));
        let odd = artifact_uri(id, "a b/ü");
        assert_eq!(odd, format!("agentsite://tasks/{id}/artifacts/a%20b%2F%C3%BC"));
        assert!(matches!(Address::read(&odd), Some(Address::Artifact(of, _)) if of == id));
        for other in [
            "agentsite://agents/../card",
            "agentsite://agents/calc",
            "agentsite://tasks/7",
            "file:///etc",
            "",
        ] {
            assert_eq!(Address::read(other), None, "{other}");
        }
    }
}
