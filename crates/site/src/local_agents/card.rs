//! Cards: how the site presents its agents, and itself, to other agents.
//!
//! Promises: addresses are always the site's own, also for agents that live elsewhere; nothing of an agent's
//! inner address leaks. Only what works is declared.

use agentsite_host::{Answers, Repeats, SkillEntry};
use agentsite_protocol::extension::SEND_ONCE;
use agentsite_protocol::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentName, AgentProvider, Caller, JsonMap,
    Skill, Visibility, legacy,
};
use serde_json::{Value, json};

use super::media::MODES;
use super::{Entry, LocalAgents};
use crate::{SiteSettings, TaskError};

/// The bindings of A2A that are spoken at an address of HTTP and their versions, the preferred one first: the
/// one that every client knows.
const BINDINGS: [(&str, &str); 2] = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0")];

/// The older version, declared last, for those who know no other.
const OLDER: (&str, &str) = ("JSONRPC", "0.3");

/// The binding that has one address for the whole site, and the agent in each request.
const GRPC: (&str, &str) = ("GRPC", "1.0");

/// Skills on the site's own card; a longer card helps nobody to choose, and search is the better way.
const MAX_SITE_SKILLS: usize = 200;

/// Extensions of an agent elsewhere that are passed on; cards declare a handful.
const MAX_EXTENSIONS: usize = 32;

/// Longest part of a foreign name that is repeated in an error.
const MAX_URI_SHOWN: usize = 200;

impl Entry {
    /// The agent's card with the site's addresses.
    pub(crate) fn card(&self, base: &str, settings: &SiteSettings) -> AgentCard {
        self.card_at(Some(&self.manifest.name), base, settings)
    }

    /// The card of the site itself, for which this agent answers.
    pub(crate) fn card_for_site(&self, base: &str, settings: &SiteSettings) -> AgentCard {
        self.card_at(None, base, settings)
    }

    fn card_at(&self, agent: Option<&AgentName>, base: &str, settings: &SiteSettings) -> AgentCard {
        let remote = self.runner.card();
        let or = |own: Option<Vec<String>>, usual: &[&str]| {
            let usual = || usual.iter().map(|mode| (*mode).to_owned()).collect();
            own.filter(|modes| !modes.is_empty()).unwrap_or_else(usual)
        };
        let taken = self.manifest.runtime.intake().modes();
        AgentCard {
            name: self.manifest.name.to_string(),
            description: self.manifest.description.clone(),
            version: self.manifest.version.clone(),
            supported_interfaces: interfaces(base, agent),
            provider: Some(provider(base, settings)),
            capabilities: self.capabilities(remote.as_deref(), settings),
            default_input_modes: or(remote.as_ref().map(|card| card.default_input_modes.clone()), taken),
            default_output_modes: or(remote.as_ref().map(|card| card.default_output_modes.clone()), &MODES),
            skills: self.shown_skills(|skill| skill.visibility == Visibility::Public),
            extra: security(self.manifest.visibility),
        }
    }

    /// What known callers see besides: all skills, and the bounds within which the agent works.
    pub(crate) fn extended_card(&self, base: &str, settings: &SiteSettings) -> AgentCard {
        let mut card = self.card(base, settings);
        card.skills = self.shown_skills(|_| true);
        let limits = &self.manifest.limits;
        let params = json!({
            "timeoutSeconds": limits.timeout.0.as_secs(),
            "concurrency": limits.concurrency,
            "queue": limits.queue,
            "outputBytes": limits.output.0,
            "messageBytes": settings.max_message.0,
        });
        if let Value::Object(params) = params {
            card.capabilities.extensions.push(AgentExtension::limits(params));
        }
        card
    }

    /// What the agent can do. One that opens a task for every message does not promise to take each only
    /// once, and neither does one that may answer without a task, because nothing is kept of that.
    fn capabilities(&self, remote: Option<&AgentCard>, settings: &SiteSettings) -> AgentCapabilities {
        let mut declared = capabilities(remote, settings);
        if self.manifest.repeats == Repeats::New || self.manifest.answers != Answers::Task {
            declared.extensions.retain(|one| one.uri != SEND_ONCE);
        }
        declared
    }

    /// Refuses a caller that does not use an extension without which an agent elsewhere takes no message.
    pub(crate) fn check_extensions(&self, wanted: &[String]) -> Result<(), TaskError> {
        let Some(card) = self.runner.card() else { return Ok(()) };
        let lacks = |one: &&AgentExtension| one.required && !wanted.contains(&one.uri);
        match card.capabilities.extensions.iter().find(lacks) {
            Some(one) => Err(TaskError::ExtensionRequired(one.uri.chars().take(MAX_URI_SHOWN).collect())),
            None => Ok(()),
        }
    }

    /// The skills of the file that `shows` picks, or all that an agent elsewhere tells of itself; none of
    /// them incomplete.
    fn shown_skills(&self, shows: impl Fn(&SkillEntry) -> bool) -> Vec<Skill> {
        let skills = if self.manifest.skills.is_empty() {
            self.skills()
        } else {
            self.manifest.skills.iter().filter(|skill| shows(skill)).map(Skill::from).collect()
        };
        skills.into_iter().map(|skill| complete(skill, &self.manifest.description)).collect()
    }
}

/// A skill in which no required member is empty: the readings of the rules for signing differ about those,
/// and a card without any verifies under all of them.
fn complete(mut skill: Skill, description: &str) -> Skill {
    if skill.tags.is_empty() {
        skill.tags.push(skill.id.clone());
    }
    if skill.description.is_empty() {
        skill.description = description.to_owned();
    }
    skill
}

impl LocalAgents {
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
                .shown_skills(|skill| skill.visibility == Visibility::Public)
                .into_iter()
                .map(move |skill| Skill { id: format!("{name}/{}", skill.id), ..skill })
                .collect::<Vec<_>>()
        };
        let own = self.get(concierge).map(|entry| entry.skills()).unwrap_or_default();
        let own = own.into_iter().map(|skill| complete(skill, &settings.site.description));
        let skills = own.chain(entries.iter().flat_map(of_agent)).take(MAX_SITE_SKILLS).collect();
        AgentCard {
            name: settings.site.name.clone(),
            description: settings.site.description.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            supported_interfaces: interfaces(base, None),
            provider: Some(provider(base, settings)),
            capabilities: capabilities(None, settings),
            default_input_modes: vec!["text/plain".into()],
            default_output_modes: vec!["text/plain".into()],
            skills,
            // The concierge answers everybody.
            extra: JsonMap::new(),
        }
    }
}

/// The bindings in which an agent is called, or the site itself, the preferred one first.
fn interfaces(base: &str, agent: Option<&AgentName>) -> Vec<AgentInterface> {
    let url = agent.map_or_else(|| format!("{base}/a2a"), |agent| format!("{base}/a2a/{agent}"));
    let interface = |(binding, version): (&str, &str), url: String, tenant| AgentInterface {
        url,
        protocol_binding: binding.into(),
        protocol_version: version.into(),
        tenant,
    };
    let mut interfaces: Vec<_> =
        BINDINGS.iter().map(|binding| interface(*binding, url.clone(), None)).collect();
    interfaces.push(interface(GRPC, grpc_target(base), agent.map(ToString::to_string)));
    interfaces.push(interface(OLDER, url, None));
    interfaces
}

/// The host and port of an address, as gRPC names a target.
fn grpc_target(base: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("http", base));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    // A colon within brackets belongs to the address.
    let name_ends = authority.rfind(']').unwrap_or(0);
    match (authority[name_ends..].contains(':'), scheme) {
        (true, _) => authority.to_owned(),
        (false, "https") => format!("{authority}:443"),
        (false, _) => format!("{authority}:80"),
    }
}

/// The card with what readers of A2A 0.3 look for beside what those of 1.0 do. It does not tell them of an
/// extended card: in 0.3 that is never given without a credential, and people at this machine need none.
pub(crate) fn for_both_versions(card: AgentCard) -> AgentCard {
    let hybrid = serde_json::to_value(&card).map(legacy::hybrid_card).and_then(serde_json::from_value);
    let mut hybrid: AgentCard = hybrid.unwrap_or(card);
    hybrid.extra.remove("supportsAuthenticatedExtendedCard");
    hybrid
}

fn provider(base: &str, settings: &SiteSettings) -> AgentProvider {
    AgentProvider { organization: settings.site.name.clone(), url: base.into() }
}

/// What every agent of a site can do, and the extensions that an agent elsewhere knows besides.
fn capabilities(remote: Option<&AgentCard>, settings: &SiteSettings) -> AgentCapabilities {
    let mut extensions = AgentExtension::of_every_agent();
    let theirs = remote.map(|card| card.capabilities.extensions.as_slice()).unwrap_or_default();
    for one in theirs.iter().take(MAX_EXTENSIONS) {
        if !extensions.iter().any(|known| known.uri == one.uri) {
            extensions.push(one.clone());
        }
    }
    AgentCapabilities {
        streaming: true,
        push_notifications: settings.push.enabled,
        extended_agent_card: true,
        extensions,
        ..AgentCapabilities::default()
    }
}

/// Keys are taken as bearer tokens. Declared only where one is needed: readers take what is declared for what
/// is required, and checkers of conformance call an agent that then answers without it broken.
fn security(visibility: Visibility) -> JsonMap {
    let mut extra = JsonMap::new();
    if visibility != Visibility::Public {
        let scheme = json!({ "scheme": "Bearer", "description": "An API key of this site" });
        let scheme = json!({ "httpAuthSecurityScheme": scheme });
        extra.insert("securitySchemes".into(), json!({ "key": scheme }));
        // No scopes, so no list: a list that is empty is read differently by those who verify signatures.
        extra.insert("securityRequirements".into(), json!([{ "schemes": { "key": {} } }]));
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_of_grpc_has_a_port_and_no_scheme() {
        for (base, target) in [
            ("http://127.0.0.1:4747", "127.0.0.1:4747"),
            ("https://agents.example.org", "agents.example.org:443"),
            ("http://agents.example.org/below", "agents.example.org:80"),
            ("https://agents.example.org:8443/below", "agents.example.org:8443"),
            ("https://[2001:db8::1]", "[2001:db8::1]:443"),
            ("http://[::1]:4747", "[::1]:4747"),
        ] {
            assert_eq!(grpc_target(base), target, "{base}");
        }
    }

    #[test]
    fn an_agent_is_named_as_the_tenant_and_the_site_has_none() {
        let told = |agent: Option<&AgentName>| -> Vec<_> {
            let all = interfaces("http://x:1", agent).into_iter();
            all.map(|one| format!("{} {} {:?}", one.protocol_binding, one.url, one.tenant)).collect()
        };
        let echo = "echo".parse().unwrap();
        assert_eq!(
            told(Some(&echo)),
            [
                "JSONRPC http://x:1/a2a/echo None",
                "HTTP+JSON http://x:1/a2a/echo None",
                "GRPC x:1 Some(\"echo\")",
                "JSONRPC http://x:1/a2a/echo None",
            ]
        );
        assert_eq!(told(None)[2], "GRPC x:1 None");
    }
}
