//! Cards: how the site presents its agents, and itself, to other agents.
//!
//! Promises: addresses are always the site's own, also for agents that live elsewhere; nothing of an agent's inner address leaks. Only
//! what works is declared.

use agentsite_protocol::{
    AgentCapabilities, AgentCard, AgentInterface, AgentName, AgentProvider, Caller, JsonMap, Skill,
};
use serde_json::json;

use super::{Entry, Hub};
use crate::SiteSettings;

/// The version of A2A spoken at the declared addresses.
const A2A_VERSION: &str = "1.0";

/// The bindings of A2A that are spoken, the preferred one first: the one that every client knows.
const BINDINGS: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

/// Skills on the site's own card; a longer card helps nobody to choose, and search is the better way.
const MAX_SITE_SKILLS: usize = 200;

impl Entry {
    /// The agent's card with the site's addresses.
    pub(crate) fn card(&self, base: &str, settings: &SiteSettings) -> AgentCard {
        let remote = self.runner.card();
        let modes = |own: Option<Vec<String>>| {
            own.filter(|modes| !modes.is_empty())
                .unwrap_or_else(|| vec!["text/plain".into(), "application/json".into()])
        };
        AgentCard {
            name: self.manifest.name.to_string(),
            description: self.manifest.description.clone(),
            version: self.manifest.version.clone(),
            supported_interfaces: interfaces(&format!("{base}/a2a/{}", self.manifest.name)),
            provider: Some(provider(base, settings)),
            capabilities: capabilities(),
            default_input_modes: modes(remote.as_ref().map(|card| card.default_input_modes.clone())),
            default_output_modes: modes(remote.as_ref().map(|card| card.default_output_modes.clone())),
            skills: self
                .skills()
                .into_iter()
                .map(|skill| complete(skill, &self.manifest.description))
                .collect(),
            extra: security(),
        }
    }
}

/// A skill in which no required member is empty: the readings of the rules for signing differ about those, and a card without any
/// verifies under all of them.
fn complete(mut skill: Skill, description: &str) -> Skill {
    if skill.tags.is_empty() {
        skill.tags.push(skill.id.clone());
    }
    if skill.description.is_empty() {
        skill.description = description.to_owned();
    }
    skill
}

impl Hub {
    /// The card of the site itself, whose agent is the concierge.
    pub(crate) fn site_card(
        &self,
        caller: &Caller,
        base: &str,
        settings: &SiteSettings,
        concierge: &AgentName,
    ) -> AgentCard {
        let entries = self.list(caller);
        let of_agent = |entry: &std::sync::Arc<Entry>| {
            let name = entry.manifest.name.clone();
            entry
                .skills()
                .into_iter()
                .map(|skill| complete(skill, &entry.manifest.description))
                .map(move |skill| Skill { id: format!("{name}/{}", skill.id), ..skill })
                .collect::<Vec<_>>()
        };
        let own = self.get(concierge).map(|entry| entry.skills()).unwrap_or_default();
        let own = own.into_iter().map(|skill| complete(skill, &settings.description));
        let skills = own.chain(entries.iter().flat_map(of_agent)).take(MAX_SITE_SKILLS).collect();
        AgentCard {
            name: settings.name.clone(),
            description: settings.description.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            supported_interfaces: interfaces(&format!("{base}/a2a")),
            provider: Some(provider(base, settings)),
            capabilities: capabilities(),
            default_input_modes: vec!["text/plain".into()],
            default_output_modes: vec!["text/plain".into()],
            skills,
            extra: security(),
        }
    }
}

/// The bindings at this address, the preferred one first.
fn interfaces(url: &str) -> Vec<AgentInterface> {
    let interface = |binding: &&str| AgentInterface {
        url: url.into(),
        protocol_binding: (*binding).into(),
        protocol_version: A2A_VERSION.into(),
        tenant: None,
    };
    BINDINGS.iter().map(interface).collect()
}

fn provider(base: &str, settings: &SiteSettings) -> AgentProvider {
    AgentProvider { organization: settings.name.clone(), url: base.into() }
}

fn capabilities() -> AgentCapabilities {
    AgentCapabilities { streaming: true, ..AgentCapabilities::default() }
}

/// Keys are taken as bearer tokens; none is needed for public agents, so no requirement is declared.
fn security() -> JsonMap {
    let mut extra = JsonMap::new();
    let scheme =
        json!({ "httpAuthSecurityScheme": { "scheme": "Bearer", "description": "An API key of this site" } });
    extra.insert("securitySchemes".into(), json!({ "key": scheme }));
    extra
}
