//! Offers: which tools there are, under which names, and what each does.
//!
//! Promises: names are unique, of letters that every client takes and no longer than it takes, and the same
//! each time; the order does not change by itself. Above a number that a model can still read only the way to
//! the tools is listed, and they all can be called.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_host::{Exchange, SkillEntry, Toolbox};
use agentsite_protocol::JsonMap;
use agentsite_protocol::mcp::{TaskSupport, Tool};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::parts::ToolkitParts;
use super::service::Service;
use super::talk;
use crate::local_agents::Entry;

/// Longest name of a tool that clients take.
const MAX_NAME: usize = 64;

/// Operations of agents that are listed one by one; with more, models choose badly and the list fills their
/// memory.
const MAX_LISTED: usize = 100;

/// Between the name of an agent and that of its tool; agents' names have no underscores, so it never stands
/// in one.
const BETWEEN: &str = "__";

/// What a tool does.
#[derive(Debug, Clone)]
pub(super) enum Offer {
    /// Something about the site itself.
    Service(Service),
    /// Talks to an agent.
    Agent(Arc<Entry>),
    /// Uses a skill of an agent that declares its arguments.
    Skill(Arc<Entry>, usize),
    /// Uses a tool of an agent that is a set of them.
    Tool(Arc<Entry>, Arc<dyn Toolbox>, Box<Tool>),
}

/// The tools of one agent that is talked to.
pub(super) fn of_agent(entry: &Arc<Entry>) -> Vec<(String, Offer)> {
    let mut taken = BTreeSet::new();
    named(vec![Offer::Agent(entry.clone())].into_iter().chain(skills(entry)), false, &mut taken)
}

/// All tools of the site, those about the site itself first.
pub(super) async fn of_site(site: &ToolkitParts, exchange: &Exchange) -> Vec<(String, Offer)> {
    let mut taken = BTreeSet::new();
    let mut all = named(Service::ALL.into_iter().map(Offer::Service), true, &mut taken);
    for entry in site.local.list(&exchange.caller) {
        let offers = match entry.runner.toolbox() {
            Some(toolbox) => tools(&entry, &toolbox, exchange).await,
            None => vec![Offer::Agent(entry.clone())].into_iter().chain(skills(&entry)).collect(),
        };
        all.extend(named(offers, true, &mut taken));
    }
    all
}

/// The tool of this name of one agent that is talked to.
pub(super) fn in_agent(entry: &Arc<Entry>, name: &str) -> Option<Offer> {
    if entry.manifest.name.as_str() == name {
        return Some(Offer::Agent(entry.clone()));
    }
    of_agent(entry).into_iter().find(|(own, _)| own == name).map(|(_, offer)| offer)
}

/// The tool of this name of the whole site. Most calls mean an agent by its name; for them nothing else is
/// looked at.
pub(super) async fn in_site(site: &ToolkitParts, exchange: &Exchange, name: &str) -> Option<Offer> {
    let agent = name.parse().ok().and_then(|name| site.local.visible(&exchange.caller, &name).ok());
    if let Some(entry) = agent.filter(|entry| entry.runner.toolbox().is_none()) {
        return Some(Offer::Agent(entry));
    }
    of_site(site, exchange).await.into_iter().find(|(own, _)| own == name).map(|(_, offer)| offer)
}

/// The schema of a tool's arguments where it is not the site's own: only then may it want them in the head of
/// a request, too.
pub(super) fn foreign_schema(offer: &Offer) -> Option<Value> {
    match offer {
        Offer::Service(_) | Offer::Agent(_) => None,
        Offer::Skill(entry, at) => schema(&entry.manifest.skills[*at]).cloned().map(Value::Object),
        Offer::Tool(_, _, tool) => Some(tool.input_schema.clone()),
    }
}

/// Those that are listed: all while they are few, else only the way to them.
pub(super) fn listed(all: Vec<(String, Offer)>) -> Vec<Tool> {
    let operations = all.iter().filter(|(_, offer)| !matches!(offer, Offer::Service(_))).count();
    let many = operations > MAX_LISTED;
    let shown = all.into_iter().filter(|(_, offer)| match offer {
        Offer::Service(service) => many || !service.is_for_many(),
        _ => !many,
    });
    shown.map(|(name, offer)| described(name, &offer)).collect()
}

/// The tools of an agent; when they cannot be had now, the agent itself, which then says why.
async fn tools(entry: &Arc<Entry>, toolbox: &Arc<dyn Toolbox>, exchange: &Exchange) -> Vec<Offer> {
    match toolbox.tools(exchange).await {
        Ok(tools) => {
            let offer = |tool: &Tool| Offer::Tool(entry.clone(), toolbox.clone(), Box::new(tool.clone()));
            tools.iter().map(offer).collect()
        }
        Err(_) => vec![Offer::Agent(entry.clone())],
    }
}

/// The skills of an agent that declare their arguments.
fn skills(entry: &Arc<Entry>) -> Vec<Offer> {
    let declared = entry.manifest.skills.iter().enumerate().filter(|(_, skill)| schema(skill).is_some());
    declared.map(|(at, _)| Offer::Skill(entry.clone(), at)).collect()
}

fn schema(skill: &SkillEntry) -> Option<&JsonMap> {
    skill.input_schema.as_ref()?.table()
}

/// Gives each its name; with the agent's before it where there are several agents.
fn named(
    offers: impl IntoIterator<Item = Offer>,
    several: bool,
    taken: &mut BTreeSet<String>,
) -> Vec<(String, Offer)> {
    let name = |offer: &Offer| match offer {
        Offer::Service(service) => service.name().to_owned(),
        Offer::Agent(entry) => entry.manifest.name.to_string(),
        Offer::Skill(entry, at) => below(entry, &entry.manifest.skills[*at].id, several),
        Offer::Tool(entry, _, tool) => below(entry, &tool.name, several),
    };
    offers.into_iter().map(|offer| (unique(&name(&offer), taken), offer)).collect()
}

fn below(entry: &Entry, name: &str, several: bool) -> String {
    if several { format!("{}{BETWEEN}{name}", entry.manifest.name) } else { name.to_owned() }
}

/// A name that every client takes and that is not taken; one that had to be changed ends with a mark of the
/// whole.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect();
    let is_sound = plain == name && (1..=MAX_NAME).contains(&plain.len());
    let mut chosen = if is_sound { plain.clone() } else { marked(&plain, name, 0) };
    for attempt in 1.. {
        if taken.insert(chosen.clone()) {
            break;
        }
        chosen = marked(&plain, name, attempt);
    }
    chosen
}

fn marked(plain: &str, name: &str, attempt: u32) -> String {
    let mark = Sha256::digest(format!("{name}{attempt}"));
    let mark = format!("_{:02x}{:02x}{:02x}{:02x}", mark[0], mark[1], mark[2], mark[3]);
    let kept: String = plain.chars().take(MAX_NAME - mark.len()).collect();
    kept + &mark
}

/// A tool as clients see it.
pub(super) fn described(name: String, offer: &Offer) -> Tool {
    match offer {
        Offer::Service(service) => service.tool(),
        Offer::Agent(entry) => Tool {
            name,
            description: Some(about(entry)),
            input_schema: talk::words_input(),
            output_schema: Some(talk::words_output()),
            annotations: Some(hints(entry)),
            tasks: TaskSupport::Optional,
            ..Tool::default()
        },
        Offer::Skill(entry, at) => {
            let skill = &entry.manifest.skills[*at];
            Tool {
                name,
                title: skill.name.clone(),
                description: Some(format!("{} (agent {})", skill.description, entry.manifest.name)),
                input_schema: schema(skill)
                    .cloned()
                    .map_or_else(|| json!({ "type": "object" }), Value::Object),
                output_schema: skill
                    .output_schema
                    .as_ref()
                    .and_then(|one| one.table().cloned())
                    .map(Value::Object),
                annotations: Some(hints(entry)),
                tasks: TaskSupport::Optional,
                ..Tool::default()
            }
        }
        Offer::Tool(_, _, tool) => Tool { name, ..(**tool).clone() },
    }
}

/// What an agent does, in words for a model.
fn about(entry: &Entry) -> String {
    let mut words = entry.manifest.description.clone();
    for skill in entry.skills() {
        if skill.description != entry.manifest.description {
            words.push_str(&format!("\n- {}: {}", skill.name, skill.description));
        }
        if let Some(example) = skill.examples.first() {
            words.push_str(&format!("\n  For example: {example}"));
        }
    }
    words
}

/// What is known about the effects of an agent: only that some change nothing in the world.
fn hints(entry: &Entry) -> JsonMap {
    let pure = entry.runner.is_pure();
    let hints = json!({ "readOnlyHint": pure, "openWorldHint": !pure });
    hints.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_letters_that_every_client_takes() {
        let mut taken = BTreeSet::new();
        assert_eq!(unique("calc", &mut taken), "calc");
        for odd in ["a.b/c", &"x".repeat(80), "", "calc", "über"] {
            let name = unique(odd, &mut taken);
            assert!((1..=MAX_NAME).contains(&name.len()), "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
        }
        assert_eq!(taken.len(), 6, "each is another one: {taken:?}");
        assert_eq!(unique("a.b/c", &mut BTreeSet::new()), unique("a.b/c", &mut BTreeSet::new()));
    }
}
