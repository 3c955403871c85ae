//! Draft: what a foreign document says of an agent, cut to what the hub keeps.
//!
//! Promises: whatever a document holds, a draft is small: texts are cut, lists are cut, control characters
//! go. A document that is none of the known forms is refused with a sentence. It decides nothing about who
//! published it.

use agentsite_protocol::agent_session::Introduction;
use agentsite_protocol::listing::{A2A_CARD, ListedInterface, Listing, MCP_SERVER_CARD};
use agentsite_protocol::{AgentCard, Money, Skill, Visibility, legacy};
use serde_json::Value;
use url::Url;

use crate::error::RegistryError;
use crate::scout::ToolServer;

/// Longest name, in letters; people read it in one line.
const MAX_NAME: usize = 200;
/// Longest description, in letters: two pages; the longest honest one seen has a third of it.
const MAX_DESCRIPTION: usize = 4_000;
/// Longest description of a skill, in letters.
const MAX_SKILL_TEXT: usize = 2_000;
/// Most skills that are kept; the largest tool servers have about a hundred.
const MAX_SKILLS: usize = 256;
/// Most examples of a skill, and letters of each.
const MAX_EXAMPLES: (usize, usize) = (16, 500);
/// Most tags of a whole or of a skill, and letters of each.
const MAX_TAGS: (usize, usize) = (64, 64);
/// Most media types, and letters of each.
const MAX_MODES: (usize, usize) = (32, 128);
/// Longest address; servers commonly refuse more.
const MAX_URL: usize = 2_048;
/// Largest document that is kept whole, in bytes of JSON: posted cards and server files are far smaller.
const MAX_DOCUMENT: usize = 128 << 10;

/// Most further interfaces of one agent; there are two protocols, each in a few bindings.
pub(super) const MAX_INTERFACES: usize = 8;

/// Media types under which a catalogue names a document of the MCP registry.
const MCP_SERVER: &str = "application/mcp-server+json";

/// What a foreign document says of an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    /// The name everywhere that it claims.
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) version: String,
    pub(super) media_type: String,
    /// Where its document is.
    pub(super) url: Option<String>,
    /// Its document, where it lies nowhere else.
    pub(super) document: Option<Value>,
    /// Where it is called.
    pub(super) endpoint: Option<String>,
    pub(super) skills: Vec<Skill>,
    pub(super) tags: Vec<String>,
    pub(super) protocols: Vec<String>,
    /// Further interfaces of the same agent.
    pub(super) interfaces: Vec<ListedInterface>,
    /// The identifier of the agent of which this is a further interface.
    pub(super) interface_of: Option<String>,
    pub(super) input_modes: Vec<String>,
    pub(super) output_modes: Vec<String>,
    pub(super) visibility: Option<Visibility>,
    pub(super) price: Option<Money>,
    pub(super) region: Option<String>,
}

impl Draft {
    /// Reads any form that an agent is handed on in: a card, an entry of a catalogue, a server file of the
    /// MCP registry, a line of an export.
    pub(super) fn read(value: &Value) -> Result<Self, RegistryError> {
        if value.get("mediaType").is_some() && value.get("owner").is_some() {
            return Self::of_listing(value);
        }
        if value.get("identifier").is_some() && value.get("type").is_some() {
            return Self::of_catalogue_entry(value);
        }
        if value.get("server").is_some_and(Value::is_object) {
            return Self::of_server_file(&value["server"]);
        }
        let is_server = ["packages", "remotes"].iter().any(|key| value.get(key).is_some_and(Value::is_array));
        let schema = value["$schema"].as_str().unwrap_or_default();
        if is_server || schema.contains("server.schema.json") {
            return Self::of_server_file(value);
        }
        Self::of_card(value)
    }

    /// Reads an A2A card of either version.
    pub(super) fn of_card(value: &Value) -> Result<Self, RegistryError> {
        let card: AgentCard = serde_json::from_value(legacy::upgrade_card(value.clone()))
            .map_err(|error| bad(format!("this is no agent card: {error}")))?;
        let endpoint = card.supported_interfaces.iter().find(|one| is_address(&one.url));
        Self {
            media_type: A2A_CARD.into(),
            endpoint: endpoint.map(|one| one.url.clone()),
            document: Some(value.clone()),
            protocols: vec!["a2a".into()],
            name: card.name,
            description: card.description,
            version: card.version,
            skills: card.skills,
            input_modes: card.default_input_modes,
            output_modes: card.default_output_modes,
            ..Self::default()
        }
        .bounded()
    }

    /// What a program says of itself that connects.
    fn of_introduction(introduction: &Introduction) -> Result<Self, RegistryError> {
        Self {
            name: introduction.name.to_string(),
            description: introduction.description.clone(),
            version: introduction.version.clone(),
            media_type: A2A_CARD.into(),
            skills: introduction.skills.clone(),
            visibility: Some(introduction.visibility),
            ..Self::default()
        }
        .bounded()
    }

    /// What a tool server says of itself.
    pub(super) fn of_tool_server(server: ToolServer, url: &Url) -> Result<Self, RegistryError> {
        let name =
            if server.name.is_empty() { url.host_str().unwrap_or_default().into() } else { server.name };
        let skills: Vec<Skill> = server.tools.into_iter().map(|(name, text)| skill(name, text)).collect();
        let named: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).take(8).collect();
        let told = format!("A tool server with {} tools: {}.", skills.len(), named.join(", "));
        Self {
            description: if server.description.is_empty() { told } else { server.description },
            name,
            version: server.version,
            media_type: MCP_SERVER_CARD.into(),
            url: Some(url.to_string()),
            endpoint: Some(url.to_string()),
            skills,
            protocols: vec!["mcp".into()],
            ..Self::default()
        }
        .bounded()
    }

    /// Reads a `server.json` of the MCP registry.
    fn of_server_file(value: &Value) -> Result<Self, RegistryError> {
        let full = text(value, "name");
        if full.is_empty() {
            return Err(bad("this is no server.json: it has no name".into()));
        }
        let short = full.rsplit('/').next().unwrap_or(&full).to_owned();
        let title = text(value, "title");
        let remote = value["remotes"].as_array().into_iter().flatten().map(|one| text(one, "url"));
        let remote = remote.into_iter().find(|url| is_address(url));
        Self {
            name: if title.is_empty() { short } else { title },
            description: text(value, "description"),
            version: text(value, "version"),
            media_type: MCP_SERVER_CARD.into(),
            endpoint: remote,
            document: Some(value.clone()),
            protocols: vec!["mcp".into()],
            ..Self::default()
        }
        .bounded()
    }

    /// Reads an entry of an `ai-catalog.json`.
    pub(super) fn of_catalogue_entry(value: &Value) -> Result<Self, RegistryError> {
        let media_type = text(value, "type");
        let url = Some(text(value, "url")).filter(|url| is_address(url));
        let mut draft = match (value.get("data"), media_type.as_str()) {
            (Some(data), A2A_CARD) => Self::of_card(data)?,
            (Some(data), MCP_SERVER_CARD | MCP_SERVER) => Self::of_server_file(data).unwrap_or_default(),
            (Some(data), _) => Self { document: Some(data.clone()), ..Self::default() },
            (None, _) if url.is_none() => {
                return Err(bad("the entry has neither `data` nor an address in `url`".into()));
            }
            (None, _) => Self::default(),
        };
        draft.protocols = match media_type.as_str() {
            A2A_CARD => vec!["a2a".into()],
            MCP_SERVER_CARD | MCP_SERVER => vec!["mcp".into()],
            _ => Vec::new(),
        };
        draft.id = Some(text(value, "identifier"));
        draft.name = text(value, "displayName");
        let description = text(value, "description");
        draft.description = if description.is_empty() { draft.description } else { description };
        let version = text(value, "version");
        draft.version = if version.is_empty() { draft.version } else { version };
        (draft.media_type, draft.url) = (media_type, url);
        draft.interface_of = Some(text(&value["metadata"], "interfaceOf")).filter(|id| !id.is_empty());
        draft.tags.extend(texts(value, "tags"));
        if draft.skills.is_empty() {
            draft.skills =
                texts(value, "capabilities").into_iter().map(|name| skill(name, String::new())).collect();
        }
        let asked = texts(value, "representativeQueries");
        if !asked.is_empty() {
            let mut whole = skill(draft.name.clone(), draft.description.clone());
            whole.examples = asked;
            draft.skills.push(whole);
        }
        draft.bounded()
    }

    /// Reads a line of an export; what it says of standing, proof and owner counts for nothing here.
    fn of_listing(value: &Value) -> Result<Self, RegistryError> {
        // An export of this program has every member; others may write a few of them.
        let mut whole = serde_json::json!({
            "id": "", "name": "", "description": "", "local": false, "visibility": "public", "standing": "active",
            "proof": "none", "live": false, "trust": 0.5, "registeredAt": "1970-01-01T00:00:00Z",
            "updatedAt": "1970-01-01T00:00:00Z",
        });
        if let (Some(whole), Some(given)) = (whole.as_object_mut(), value.as_object()) {
            whole.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        // Another hub's owners are not principals here, and what it calls the entry is only a claim.
        for (key, instead) in [("owner", "site"), ("id", "urn:air:unknown:agents:unknown")] {
            if whole[key].is_string() {
                whole[key] = instead.into();
            }
        }
        let listing: Listing = serde_json::from_value(whole)
            .map_err(|error| bad(format!("this is no entry of a hub: {error}")))?;
        Self {
            id: Some(text(value, "id")).filter(|id| !id.is_empty()),
            name: listing.name,
            description: listing.description,
            version: listing.version,
            media_type: listing.media_type,
            url: listing.url.filter(|url| is_address(url)),
            document: listing.document,
            endpoint: None,
            skills: listing.skills,
            tags: listing.tags,
            protocols: listing.protocols,
            interfaces: listing.interfaces,
            interface_of: None,
            input_modes: listing.input_modes,
            output_modes: listing.output_modes,
            visibility: Some(listing.visibility),
            price: listing.price,
            region: listing.region,
        }
        .bounded()
    }

    /// Cuts everything to what the hub keeps.
    pub(super) fn bounded(mut self) -> Result<Self, RegistryError> {
        self.name = line(&self.name, MAX_NAME);
        if self.name.is_empty() {
            return Err(bad("the agent has no name".into()));
        }
        self.description = clean(&self.description, MAX_DESCRIPTION);
        self.version = line(&self.version, MAX_TAGS.1);
        self.media_type = line(&self.media_type, MAX_MODES.1);
        self.skills.truncate(MAX_SKILLS);
        self.skills = self.skills.iter().map(bounded_skill).collect();
        self.tags.extend(self.skills.iter().flat_map(|skill| skill.tags.clone()));
        self.tags = lines(&self.tags, MAX_TAGS);
        self.tags.sort_unstable();
        self.tags.dedup();
        self.interfaces.truncate(MAX_INTERFACES);
        self.interfaces.retain(|one| one.id.len() <= MAX_URL && one.url.as_deref().is_none_or(is_address));
        self.protocols
            .extend(self.interfaces.iter().filter_map(ListedInterface::protocol).map(str::to_owned));
        self.protocols = lines(&self.protocols, MAX_TAGS);
        let mut known = std::collections::BTreeSet::new();
        self.protocols.retain(|protocol| known.insert(protocol.clone()));
        self.input_modes = lines(&self.input_modes, MAX_MODES);
        self.output_modes = lines(&self.output_modes, MAX_MODES);
        self.region = self.region.map(|region| line(&region, MAX_TAGS.1)).filter(|region| !region.is_empty());
        let size = |document: &Value| serde_json::to_vec(document).map_or(usize::MAX, |bytes| bytes.len());
        if self.document.as_ref().is_some_and(|document| size(document) > MAX_DOCUMENT) {
            if self.url.is_none() && self.endpoint.is_none() {
                return Err(bad(format!(
                    "the document is larger than {MAX_DOCUMENT} bytes; serve it and register its address"
                )));
            }
            self.document = None;
        }
        Ok(self)
    }

    /// The host that the document says the agent is at.
    pub(super) fn host(&self) -> Option<String> {
        let url = Url::parse(self.endpoint.as_deref()?).ok()?;
        url.host_str().map(str::to_owned)
    }
}

/// Cuts what a program that connects says of itself to what the registry keeps of an entry; skills without
/// an id, and all but the first of one id, are left out.
///
/// # Errors
/// [`RegistryError::BadListing`] when it has no name.
pub fn bounded_introduction(said: Introduction) -> Result<Introduction, RegistryError> {
    let draft = Draft::of_introduction(&said)?;
    let mut skills = draft.skills;
    skills.retain(|skill| !skill.id.is_empty());
    let mut ids: Vec<String> = Vec::new();
    skills.retain(|skill| {
        !ids.contains(&skill.id) && {
            ids.push(skill.id.clone());
            true
        }
    });
    Ok(Introduction { description: draft.description, version: draft.version, skills, ..said })
}

/// Who publishes at an address, as it stands in the name everywhere.
pub(super) fn publisher(url: &Url) -> String {
    let host = url.host_str().unwrap_or("unknown").trim_matches(['[', ']']);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}-{port}"))
}

/// Whether a text is an address that could be asked.
fn is_address(text: &str) -> bool {
    text.len() <= MAX_URL
        && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn bounded_skill(given: &Skill) -> Skill {
    Skill {
        id: line(&given.id, MAX_NAME),
        name: line(&given.name, MAX_NAME),
        description: clean(&given.description, MAX_SKILL_TEXT),
        tags: lines(&given.tags, MAX_TAGS),
        examples: lines(&given.examples, MAX_EXAMPLES),
        input_modes: lines(&given.input_modes, MAX_MODES),
        output_modes: lines(&given.output_modes, MAX_MODES),
        extra: Default::default(),
    }
}

fn skill(name: String, description: String) -> Skill {
    Skill { id: name.clone(), name, description, ..Skill::default() }
}

/// A text without control characters, cut to so many letters.
fn clean(text: &str, most: usize) -> String {
    let kept = text.trim().chars().filter(|letter| !letter.is_control() || *letter == '\n');
    kept.take(most).collect()
}

fn line(text: &str, most: usize) -> String {
    clean(&text.replace(['\n', '\r', '\t'], " "), most)
}

fn lines(all: &[String], (most, letters): (usize, usize)) -> Vec<String> {
    let all = all.iter().map(|text| line(text, letters)).filter(|text| !text.is_empty());
    all.take(most).collect()
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let all = value[key].as_array().into_iter().flatten();
    all.filter_map(|one| one.as_str().map(str::to_owned)).take(MAX_SKILLS).collect()
}

pub(super) fn bad(sentence: String) -> RegistryError {
    RegistryError::BadListing(sentence)
}

#[cfg(test)]
mod tests;
