//! Listing: one agent in the hub, whether the site runs it or only knows it.
//!
//! Promises: agents of the site and agents registered from elsewhere have one form here, so that every face
//! lists, finds and exports both the same way. Claims contain only what was checked: such an entry is
//! `not checked`. It does not fetch, verify or rank; what it says of identity and liveness was found out by
//! others.

mod id;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Money, Principal, Skill, Timestamp, Visibility};

pub use id::{BadListingId, ListingId};

/// Media type of an A2A card in a catalogue.
pub const A2A_CARD: &str = "application/a2a-agent-card+json";

/// Media type of an MCP server's card in a catalogue.
pub const MCP_SERVER_CARD: &str = "application/mcp-server-card+json";

/// One agent in the hub.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// By what it is named everywhere.
    pub id: ListingId,
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
    /// The document itself, when it was posted and is published nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// Keywords of the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The protocols that call it: `a2a`, `mcp`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// Further interfaces of the same agent, besides the one that the entry describes.
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
    /// The owner of the entry; only the owner and admins change it.
    pub owner: Principal,
    /// Whether it counts.
    pub standing: Standing,
    /// How well the owner of the entry is verified.
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
    /// When it was registered.
    pub registered_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was last checked, whether it answered or not; none before the first contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// When it last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
    /// Until when it is valid without renewal.
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
    /// The protocol of the agent there, if its document names one.
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
    /// Whether it answers, as a word for people.
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

/// How well the owner of an entry is verified, in increasing order.
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
