//! Prompts from what agents say they can be asked, and completions of names and ids.
//!
//! Promises: one prompt for each skill that has examples, named `agent/skill`, in the order of these names.
//! Completions know only what the caller may see.

use std::sync::Arc;

use agentsite_host::ToolFault;
use agentsite_protocol::mcp::{
    Completing, CompletionOf, Completions, Content, Prompt, PromptArgument, PromptCall, PromptMessage,
    PromptText,
};
use agentsite_protocol::{Caller, Skill};

use super::resources::{ARTIFACT, CARD, TASK};
use super::{Toolkit, ToolkitError};
use crate::local_agents::Entry;

/// The place of a prompt that free text fills.
const REQUEST: &str = "request";

/// Most completions, as the protocol wants it.
const MAX_COMPLETIONS: usize = 100;

/// The skills with examples, by the names of their prompts.
fn askable(entries: &[Arc<Entry>]) -> impl Iterator<Item = (String, &Arc<Entry>, Skill)> {
    entries.iter().flat_map(|entry| {
        let skills = entry.skills().into_iter().filter(|skill| !skill.examples.is_empty());
        skills.map(move |skill| (format!("{}/{}", entry.manifest.name, skill.id), entry, skill))
    })
}

impl Toolkit {
    /// What the agents of this toolkit can be asked.
    pub(super) fn site_prompts(&self, caller: &Caller) -> Vec<Prompt> {
        let entries = self.agents(caller);
        let prompt = |(name, _, skill): (String, &Arc<Entry>, Skill)| Prompt {
            name,
            title: Some(skill.name),
            description: Some(skill.description),
            arguments: vec![PromptArgument {
                name: REQUEST.into(),
                description: Some(format!("What you want, such as: {}", skill.examples[0])),
                ..PromptArgument::default()
            }],
            ..Prompt::default()
        };
        askable(&entries).map(prompt).collect()
    }

    /// What is to be said to a model so that it asks the agent.
    pub(super) fn site_prompt(&self, caller: &Caller, call: &PromptCall) -> Result<PromptText, ToolkitError> {
        let entries = self.agents(caller);
        let found = askable(&entries).find(|(name, ..)| *name == call.name);
        let (_, entry, skill) =
            found.ok_or_else(|| ToolFault::NoSuchPrompt(agentsite_tasks::excerpt(&call.name)))?;
        let request = call.arguments.get(REQUEST).map(String::as_str).filter(|text| !text.trim().is_empty());
        let words = format!(
            "Use the agent `{}` for this: {}",
            entry.manifest.name,
            request.unwrap_or(&skill.examples[0])
        );
        let messages = vec![PromptMessage::user(Content::text(words))];
        Ok(PromptText { description: Some(skill.description), messages, ..PromptText::default() })
    }

    /// Names, ids and examples that begin with what was typed.
    pub(super) async fn site_completions(
        &self,
        caller: &Caller,
        completing: &Completing,
    ) -> Result<Completions, ToolkitError> {
        let known = match &completing.of {
            CompletionOf::Prompt(name) => {
                let entries = self.agents(caller);
                let found = askable(&entries).find(|(known, ..)| known == name);
                found.map(|(.., skill)| skill.examples).unwrap_or_default()
            }
            CompletionOf::Template(form) if form == CARD => {
                self.agents(caller).iter().map(|entry| entry.manifest.name.to_string()).collect()
            }
            CompletionOf::Template(form) if form == ARTIFACT && completing.argument == "artifact" => {
                let task = completing.others.get("id").and_then(|id| id.parse().ok());
                let task = match task {
                    Some(id) => self.own_task(caller, id).await.ok(),
                    None => None,
                };
                task.into_iter()
                    .flat_map(|task| task.artifacts)
                    .map(|artifact| artifact.artifact_id)
                    .collect()
            }
            CompletionOf::Template(form) if form == TASK || form == ARTIFACT => {
                let tasks = self.last_tasks(caller, MAX_COMPLETIONS).await?;
                tasks.into_iter().map(|head| head.id.to_string()).collect()
            }
            CompletionOf::Template(_) => Vec::new(),
        };
        let typed = completing.value.to_lowercase();
        let mut values: Vec<String> =
            known.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect();
        let total = values.len();
        values.truncate(MAX_COMPLETIONS);
        Ok(Completions { has_more: Some(total > values.len()), total: Some(total as u64), values })
    }
}
