//! AgentCard and Skill: what an agent says of itself.
//!
//! Promises: the shape is the A2A 1.0 card; fields of later versions survive a round trip. It does not sign
//! cards (`signature` does), does not fetch them and does not decide who may see one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentExtension, JsonMap};

/// Who may find and call an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Admins of the site, and its own agents.
    #[default]
    Private,
    /// Holders of an API key too, and other sites that this one knows.
    Peers,
    /// Every caller.
    Public,
}

/// An unknown visibility.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown visibility `{0}`: use private, peers or public")]
pub struct UnknownVisibility(pub String);

impl FromStr for Visibility {
    type Err = UnknownVisibility;

    fn from_str(text: &str) -> Result<Self, UnknownVisibility> {
        match text {
            "private" => Ok(Self::Private),
            "peers" => Ok(Self::Peers),
            "public" => Ok(Self::Public),
            other => Err(UnknownVisibility(other.chars().take(40).collect())),
        }
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Private => "private",
            Self::Peers => "peers",
            Self::Public => "public",
        })
    }
}

/// One thing an agent can do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Unique within the agent.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// Key words.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Requests that this skill answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types it takes, when they differ from the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types it gives, when they differ from the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Fields that this version does not read.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// One address under which an agent can be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// Where requests go.
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON` or `GRPC`.
    pub protocol_binding: String,
    /// Major and minor version of A2A served there.
    pub protocol_version: String,
    /// Sent along with each request where several agents share an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Which optional parts of A2A an agent supports.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// Streams its answers.
    pub streaming: bool,
    /// Calls back when a task changes.
    pub push_notifications: bool,
    /// Has more to tell to callers who sign in.
    pub extended_agent_card: bool,
    /// Extensions of the protocol that it knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// Fields that this version does not read.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Who runs an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProvider {
    /// Name of the organisation.
    pub organization: String,
    /// Its page.
    pub url: String,
}

/// What an agent says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// Addresses, the preferred one first.
    #[serde(default)]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Which optional parts of A2A it supports.
    #[serde(default)]
    pub capabilities: AgentCapabilities,
    /// Media types it takes.
    #[serde(default)]
    pub default_input_modes: Vec<String>,
    /// Media types it gives.
    #[serde(default)]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[serde(default)]
    pub skills: Vec<Skill>,
    /// Fields that this version does not read: `securitySchemes`, `signatures`, `documentationUrl` and newer
    /// ones.
    #[serde(flatten)]
    pub extra: JsonMap,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_of_a_later_version_survives_a_round_trip() {
        let wire = serde_json::json!({
            "name": "n", "description": "d", "version": "1",
            "supportedInterfaces": [{"url": "http://x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": false, "telepathy": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": [], "price": 3}],
            "signatures": [{"protected": "x", "signature": "y"}],
        });
        let card: AgentCard = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(card).unwrap(), wire);
    }

    #[test]
    fn a_bare_card_is_read() {
        let card: AgentCard =
            serde_json::from_str(r#"{"name":"n","description":"d","version":"1"}"#).unwrap();
        assert!(card.supported_interfaces.is_empty());
    }
}
