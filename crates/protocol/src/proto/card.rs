//! AgentCard in protobuf, with all that belongs to it.
//!
//! Promises: a card that was read from JSON is written with every field that A2A 1.0 names, signatures and
//! security schemes among them. Cards are rare and small, so they are converted through JSON: the members
//! kept in `extra` need no extra code.

use std::collections::BTreeMap;

use prost_types::Struct;
use serde::{Deserialize, Serialize};

use super::flows::OAuthFlows;
use super::{Problem, WrongField, from_json, is_default, json, to_json};

/// What an agent says of itself.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCard {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it does.
    #[prost(string, tag = "2")]
    pub description: String,
    /// Addresses, the preferred one first.
    #[prost(message, repeated, tag = "3")]
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who runs it.
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Its own version.
    #[prost(string, tag = "5")]
    pub version: String,
    /// Where more is written about it.
    #[prost(string, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// Which optional parts of A2A it supports.
    #[prost(message, optional, tag = "7")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<AgentCapabilities>,
    /// Ways to show who calls.
    #[prost(btree_map = "string, message", tag = "8")]
    #[serde(skip_serializing_if = "is_default")]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Which of them are needed.
    #[prost(message, repeated, tag = "9")]
    #[serde(skip_serializing_if = "is_default")]
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types it takes.
    #[prost(string, repeated, tag = "10")]
    pub default_input_modes: Vec<String>,
    /// Media types it gives.
    #[prost(string, repeated, tag = "11")]
    pub default_output_modes: Vec<String>,
    /// What it can do.
    #[prost(message, repeated, tag = "12")]
    pub skills: Vec<AgentSkill>,
    /// Who vouches for it.
    #[prost(message, repeated, tag = "13")]
    #[serde(skip_serializing_if = "is_default")]
    pub signatures: Vec<AgentCardSignature>,
    /// Its picture.
    #[prost(string, optional, tag = "14")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

impl TryFrom<&crate::AgentCard> for AgentCard {
    type Error = WrongField;

    fn try_from(card: &crate::AgentCard) -> Result<Self, WrongField> {
        from_json(serde_json::to_value(card).map_err(|_| WrongField::new("", Problem::Type))?)
    }
}

impl TryFrom<AgentCard> for crate::AgentCard {
    type Error = WrongField;

    fn try_from(card: AgentCard) -> Result<Self, WrongField> {
        from_json(to_json(&card)?)
    }
}

/// One address of an agent.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentInterface {
    /// Where requests go.
    #[prost(string, tag = "1")]
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON` or `GRPC`.
    #[prost(string, tag = "2")]
    pub protocol_binding: String,
    /// Sent along where several agents share an address.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub tenant: String,
    /// Version of A2A served there.
    #[prost(string, tag = "4")]
    pub protocol_version: String,
}

/// Who runs an agent.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentProvider {
    /// Page of the organisation.
    #[prost(string, tag = "1")]
    pub url: String,
    /// Its name.
    #[prost(string, tag = "2")]
    pub organization: String,
}

/// Which optional parts of A2A an agent supports.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// Streams its answers.
    #[prost(bool, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Calls back when a task changes.
    #[prost(bool, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    /// What it supports beyond A2A.
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub extensions: Vec<AgentExtension>,
    /// Has more to tell to callers who sign in.
    #[prost(bool, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

/// Something an agent supports beyond A2A.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentExtension {
    /// Its name, a URI.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub uri: String,
    /// How the agent uses it.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// Whether callers must know it.
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub required: bool,
    /// What the extension itself defines.
    #[prost(message, optional, tag = "4")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub params: Option<Struct>,
}

/// One thing an agent can do.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSkill {
    /// Unique within the agent.
    #[prost(string, tag = "1")]
    pub id: String,
    /// A name for people.
    #[prost(string, tag = "2")]
    pub name: String,
    /// What it does.
    #[prost(string, tag = "3")]
    pub description: String,
    /// Key words.
    #[prost(string, repeated, tag = "4")]
    pub tags: Vec<String>,
    /// Requests that it answers.
    #[prost(string, repeated, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub examples: Vec<String>,
    /// Media types it takes.
    #[prost(string, repeated, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub input_modes: Vec<String>,
    /// Media types it gives.
    #[prost(string, repeated, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub output_modes: Vec<String>,
    /// What a caller must show for it.
    #[prost(message, repeated, tag = "8")]
    #[serde(skip_serializing_if = "is_default")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A signature over a card.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentCardSignature {
    /// The protected header, base64url.
    #[prost(string, tag = "1")]
    pub protected: String,
    /// The signature, base64url.
    #[prost(string, tag = "2")]
    pub signature: String,
    /// The header that is not protected.
    #[prost(message, optional, tag = "3")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub header: Option<Struct>,
}

/// A list of texts, for maps of lists.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StringList {
    /// The texts.
    #[prost(string, repeated, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub list: Vec<String>,
}

/// Schemes that are needed together, with their scopes.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct SecurityRequirement {
    /// Scopes by scheme.
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub schemes: BTreeMap<String, StringList>,
}

/// A way to show who calls.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
pub struct SecurityScheme {
    /// The way.
    #[prost(oneof = "Scheme", tags = "1, 2, 3, 4, 5")]
    #[serde(flatten)]
    pub scheme: Option<Scheme>,
}

/// The ways to show who calls.
#[derive(Clone, PartialEq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scheme {
    /// A key in a header, a query or a cookie.
    #[prost(message, tag = "1")]
    ApiKeySecurityScheme(ApiKeySecurityScheme),
    /// The Authorization header.
    #[prost(message, tag = "2")]
    HttpAuthSecurityScheme(HttpAuthSecurityScheme),
    /// OAuth 2.
    #[prost(message, tag = "3")]
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2SecurityScheme(OAuth2SecurityScheme),
    /// OpenID Connect.
    #[prost(message, tag = "4")]
    OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme),
    /// A certificate of the caller.
    #[prost(message, tag = "5")]
    MtlsSecurityScheme(MutualTlsSecurityScheme),
}

/// A key in a header, a query or a cookie.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiKeySecurityScheme {
    /// About it.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// `header`, `query` or `cookie`.
    #[prost(string, tag = "2")]
    pub location: String,
    /// Name of the header, parameter or cookie.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// The Authorization header.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpAuthSecurityScheme {
    /// About it.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// `Bearer`, `Basic` and the like.
    #[prost(string, tag = "2")]
    pub scheme: String,
    /// What kind of token it is.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub bearer_format: String,
}

/// OAuth 2.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuth2SecurityScheme {
    /// About it.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// The ways to a token.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<OAuthFlows>,
    /// Where the server describes itself.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub oauth2_metadata_url: String,
}

/// OpenID Connect.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenIdConnectSecurityScheme {
    /// About it.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// Where the provider describes itself.
    #[prost(string, tag = "2")]
    pub open_id_connect_url: String,
}

/// A certificate of the caller.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct MutualTlsSecurityScheme {
    /// About it.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
}
