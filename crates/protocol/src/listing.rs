//! Listing: one agent in the hub, whether the site runs it or only knows it.
//!
//! Promises: agents of the site and agents registered from elsewhere have one form here, so that every face
//! lists, finds and exports both the same way. What nobody has checked is not claimed: such an entry is `not
//! checked`. It does not fetch, verify or rank; what it says of identity and liveness was found out by
//! others.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Money, Skill, Timestamp, Visibility};

/// Media type of an A2A card in a catalogue.
pub const A2A_CARD: &str = "application/a2a-agent-card+json";

/// Media type of an MCP server's card in a catalogue.
pub const MCP_SERVER_CARD: &str = "application/mcp-server-card+json";

/// One agent in the hub.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// By what it is named everywhere: `urn:air:<publisher>:<namespace>:<name>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its own version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The media type of its document, such as [`A2A_CARD`].
    pub media_type: String,
    /// Where its document is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its document itself, where it was posted and lies nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// Key words of the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// By which protocols it is called: `a2a`, `mcp`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// Further interfaces by which the same agent is called, besides the one that the entry describes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<ListedInterface>,
    /// Media types it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types it gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Whether this site runs it.
    pub local: bool,
    /// Who may find it.
    pub visibility: Visibility,
    /// To whom the entry belongs; only this one and the people who run the site change it.
    pub owner: String,
    /// Whether it counts.
    pub standing: Standing,
    /// What is known of who stands behind it.
    pub proof: Proof,
    /// Whether it answered when it was last checked; false as well when it was never checked, see
    /// `checked_at`. Of an agent of this site: whether it is ready.
    pub live: bool,
    /// How far it is trusted, from 0 to 1; 0.5 when nothing is known.
    pub trust: f64,
    /// What a call costs; a bare number is credits.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::money::listed_price"
    )]
    pub price: Option<Money>,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// What people should look at before they trust it, such as a name that looks like another's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// When it came.
    pub registered_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was last checked, whether it answered or not; none while nobody has contacted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// When it last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
    /// Until when it stands without being renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Timestamp>,
}

/// A further interface of an agent: the same agent by another protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedInterface {
    /// By what the interface is named in catalogues.
    pub id: String,
    /// The media type of its document, such as [`MCP_SERVER_CARD`].
    pub media_type: String,
    /// Where its document is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl ListedInterface {
    /// By which protocol the agent is called there, if its document says so.
    #[must_use]
    pub fn protocol(&self) -> Option<&'static str> {
        match self.media_type.as_str() {
            A2A_CARD => Some("a2a"),
            MCP_SERVER_CARD => Some("mcp"),
            _ => None,
        }
    }
}

impl Listing {
    /// What is known of whether it answers, in a word for people.
    #[must_use]
    pub const fn reachability(&self) -> &'static str {
        match (self.live, self.local || self.checked_at.is_some()) {
            (true, true) => "answers",
            (false, true) => "no answer",
            (_, false) => "not checked",
        }
    }
}

/// Whether an entry counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It is found and listed.
    #[default]
    Active,
    /// It waits until its owner has proven to be its owner; only owner and operators see it.
    Pending,
    /// Owner or operator took it out for a while; only they see it.
    Suspended,
    /// Its lease ran out; only owner and operators see it, and it comes back when it answers.
    Lapsed,
}

/// What is known of who stands behind an entry, the stronger the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Nothing.
    #[default]
    None,
    /// This site runs it.
    Site,
    /// Its document came from the domain that it names.
    Domain,
    /// Its document is signed by a key of that domain, or of a DID.
    Signature,
}

/// The name of an agent everywhere: `urn:air:<publisher>:<namespace>:<name>`. What may not stand in it
/// becomes `-`.
#[must_use]
pub fn air_urn(publisher: &str, namespace: &str, name: &str) -> String {
    let part = |text: &str, more: &str| -> String {
        let fit =
            |letter: char| if letter.is_ascii_alphanumeric() || more.contains(letter) { letter } else { '-' };
        let text: String = text.chars().take(MAX_URN_PART).map(fit).collect();
        if text.is_empty() { "-".into() } else { text }
    };
    format!("urn:air:{}:{}:{}", part(publisher, ".-"), part(namespace, "._-"), part(name, "._-"))
}

/// Longest part of a name, in characters: a domain name has at most 253.
const MAX_URN_PART: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_only_what_may_stand_in_it() {
        assert_eq!(air_urn("example.org", "agents", "calc"), "urn:air:example.org:agents:calc");
        assert_eq!(air_urn("[::1]:8080", "a b", ""), "urn:air:---1--8080:a-b:-");
    }
}
