//! Entry: an agent of the hub as ARD describes it.
//!
//! Promises: every entry is valid by the schema of the catalogue; its identifier is the agent's name
//! everywhere. An agent of this site that also is a server of tools has two forms, each with an identifier of
//! its own; so has an agent from elsewhere for each of its interfaces. An entry that was never checked is not
//! `live` and has no `checkedAt`. The trust manifest of an own agent is signed by the site unless the site's
//! address is only the caller's word. It decides nothing about who may see what.

use agentsite_protocol::listing::{Listing, ListingId, MCP_SERVER_CARD, Proof};
use agentsite_protocol::{Timestamp, did_web};
use agentsite_site::{Site, UpstreamMatch};
use serde_json::{Map, Value, json};

use super::path::publisher;

/// Media type of a registry's entry.
pub(super) const REGISTRY: &str = "application/ai-registry+json";

/// The namespace of the agents that a site runs, and that of the same ones as servers of tools.
const OWN: (&str, &str) = ("agents", "mcp");

/// The trust framework of our manifests: the canonical JSON (RFC 8785) of the manifest without `signature`,
/// signed as a detached JWS by a key of the `did:web`. See docs/ard.md.
const TRUST_SCHEMA: &str = "urn:agentsite:trust:detached-jws";

/// Queries that an entry names: from 2 to 5, as the schema of the catalogue wants it.
const QUERIES: std::ops::RangeInclusive<usize> = 2..=5;

/// Longest text of a query in an entry, in characters.
const MAX_EXAMPLE: usize = 300;

/// Most capabilities and tags of an entry; cards may be foreign.
const MAX_TOKENS: usize = 64;

/// Under which address and by whose word entries are written.
#[derive(Debug, Clone)]
pub(super) struct EntryAuthor {
    /// The site's address.
    pub(super) base: String,
    /// Whether the address is more than the caller's word, so that the site may sign under it.
    pub(super) signs: bool,
}

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) members: Map<String, Value>,
    /// When it came.
    pub(super) created: Timestamp,
}

impl Entry {
    /// Its name everywhere.
    pub(super) fn identifier(&self) -> &str {
        self.members.get("identifier").and_then(Value::as_str).unwrap_or_default()
    }
}

/// The forms of an agent, the first one as the hub knows it.
pub(super) fn forms(site: &Site, listing: &Listing, voice: &EntryAuthor) -> Vec<Entry> {
    let artifact = artifact((&listing.url, &listing.document), (&listing.name, &listing.description));
    let mut forms = vec![form(site, listing, voice, listing.id.as_str(), &listing.media_type, artifact)];
    if let Some(name) = tool_server(listing) {
        let url = format!("{}/mcp/{name}/server-card", voice.base);
        let id = ListingId::of(listing.id.publisher(), OWN.1, name);
        forms.push(form(site, listing, voice, id.as_str(), MCP_SERVER_CARD, ("url", url.into())));
    }
    for one in &listing.interfaces {
        if let Some(url) = &one.url {
            forms.push(form(site, listing, voice, &one.id, &one.media_type, ("url", url.as_str().into())));
        }
    }
    // Readers can tell that the others are the same agent.
    for other in forms.iter_mut().skip(1) {
        other.members["metadata"]["interfaceOf"] = listing.id.as_str().into();
    }
    forms
}

/// The agent behind an identifier: its name in the hub.
pub(super) fn hub_name(identifier: &str) -> String {
    let last = identifier.rsplit(':').next().unwrap_or_default();
    let publisher = publisher(identifier);
    if ListingId::of(publisher, OWN.1, last) == identifier {
        ListingId::of(publisher, OWN.0, last).into()
    } else {
        identifier.into()
    }
}

/// The name of an agent of this site that is a server of tools too, and not known as one already.
fn tool_server(listing: &Listing) -> Option<&str> {
    let also = listing.local
        && listing.media_type != MCP_SERVER_CARD
        && listing.protocols.iter().any(|protocol| protocol == "mcp");
    also.then_some(listing.name.as_str())
}

/// Where the document of an agent is, or the document itself; a short one where there is neither.
fn artifact(
    place: (&Option<String>, &Option<Value>),
    (name, description): (&str, &str),
) -> (&'static str, Value) {
    match place {
        (Some(url), _) => ("url", url.clone().into()),
        (None, Some(document @ Value::Object(_))) => ("data", document.clone()),
        (None, _) => ("data", json!({ "name": name, "description": description })),
    }
}

fn form(
    site: &Site,
    listing: &Listing,
    voice: &EntryAuthor,
    id: &str,
    media: &str,
    artifact: (&str, Value),
) -> Entry {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| {
        if !matches!(&value, Value::String(text) if text.is_empty())
            && !matches!(&value, Value::Array(items) if items.is_empty())
        {
            members.insert(name.to_owned(), value);
        }
    };
    put("identifier", id.into());
    put("displayName", if listing.name.is_empty() { id.into() } else { listing.name.clone().into() });
    put("type", media.into());
    put(artifact.0, artifact.1);
    put("description", listing.description.clone().into());
    put("tags", tokens(listing.tags.iter()));
    put("capabilities", tokens(listing.skills.iter().map(|skill| &skill.id)));
    put("representativeQueries", queries(listing).into());
    put("version", listing.version.clone().into());
    put("updatedAt", listing.updated_at.to_string().into());
    put("metadata", metadata(listing));
    if listing.local && listing.proof == Proof::Site {
        put("trustManifest", trust(site, voice, Some(id)));
    }
    Entry { members, created: listing.registered_at }
}

/// What another registry found, as it is shown here: only what helps to choose, for the whole entry is at its
/// `source`.
pub(super) fn foreign(found: &UpstreamMatch) -> Entry {
    let told = &found.entry;
    let mut members = Map::new();
    let (name, content) = artifact((&told.url, &told.document), (&told.name, &told.description));
    // Sentences that people could ask are in a skill of their own, which is not a capability.
    let skills = told.skills.iter().filter(|skill| skill.examples.is_empty());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    let score = (found.score * 100.0).round().clamp(0.0, 100.0) as u8;
    for (name, value) in [
        ("identifier", Value::from(told.id.as_str())),
        ("displayName", told.name.as_str().into()),
        ("type", told.media_type.as_str().into()),
        (name, content),
        ("description", told.description.as_str().into()),
        ("tags", tokens(told.tags.iter())),
        ("capabilities", tokens(skills.map(|skill| &skill.id))),
        ("version", told.version.as_str().into()),
        ("score", score.into()),
        ("source", found.source.as_str().into()),
    ] {
        if value != "" && value != json!([]) {
            members.insert(name.to_owned(), value);
        }
    }
    Entry { members, created: Timestamp::from_millis(0) }
}

fn tokens<'a>(texts: impl Iterator<Item = &'a String>) -> Value {
    texts.filter(|text| !text.is_empty()).take(MAX_TOKENS).map(|text| Value::from(text.as_str())).collect()
}

/// What people could ask it: its examples. Where there are too few, what its skills and it itself say of
/// themselves makes up for them.
fn queries(listing: &Listing) -> Vec<String> {
    let clean = |text: &str| {
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_EXAMPLE).collect::<String>()
    };
    let examples = listing.skills.iter().flat_map(|skill| &skill.examples).map(|text| clean(text));
    let mut queries: Vec<String> = Vec::new();
    for text in examples.filter(|text| !text.is_empty()) {
        if queries.len() < *QUERIES.end() && !queries.contains(&text) {
            queries.push(text);
        }
    }
    let said = listing.skills.iter().map(|skill| &skill.description).chain([&listing.description]);
    for text in said.map(|text| clean(text)).filter(|text| !text.is_empty()) {
        if queries.len() < *QUERIES.start() && !queries.contains(&text) {
            queries.push(text);
        }
    }
    if QUERIES.contains(&queries.len()) { queries } else { Vec::new() }
}

/// What the schema has no member for, as plain values: the schema takes no others here.
fn metadata(listing: &Listing) -> Value {
    let mut metadata = json!({
        "local": listing.local,
        "live": listing.live,
        "proof": listing.proof,
        "protocols": listing.protocols.join(","),
        "registeredAt": listing.registered_at,
    });
    if let Some(checked_at) = listing.checked_at {
        metadata["checkedAt"] = checked_at.to_string().into();
    }
    if let Some(region) = &listing.region {
        metadata["region"] = region.as_str().into();
    }
    if let Some(price) = listing.price {
        // Values of this object are plain ones: credits a number, other assets a text such as `0.50 USD`.
        metadata["price"] = match json!(price) {
            Value::Number(credits) => credits.into(),
            _ => price.to_string().into(),
        };
    }
    metadata
}

/// What the site says about the publisher of an entry, or of all entries.
pub(super) fn trust(site: &Site, voice: &EntryAuthor, entry: Option<&str>) -> Value {
    let mut manifest = json!({
        "identity": did_web(&voice.base).unwrap_or_else(|| site.cards().identity().did_key),
        "identityType": "did",
        "trustSchema": { "identifier": TRUST_SCHEMA, "version": "1.0", "verificationMethods": ["did:web"] },
    });
    if let Some(entry) = entry {
        // Names the entry, so that the signature cannot be carried to another one.
        manifest["provenance"] = json!([{ "relation": "publishedFrom", "sourceId": entry }]);
    }
    if voice.signs
        && let Some(signature) = site.cards().sign_manifest(&manifest, &voice.base)
    {
        manifest["signature"] = signature.into();
    }
    manifest
}

/// The entry of this site's own registry, by which others find where to search.
pub(super) fn registry(site: &Site, voice: &EntryAuthor) -> Value {
    let host =
        voice.base.split_once("://").map_or("", |(_, rest)| rest).split('/').next().unwrap_or_default();
    let id = registry_name(host);
    json!({
        "identifier": id,
        "displayName": format!("Agents of {}", site.name()),
        "type": REGISTRY,
        "url": voice.base,
        "description": "Search, facets and a list of every agent that this site runs or knows: POST /search, POST /explore, GET /agents below this address.",
        "representativeQueries": ["find me an agent that can do this", "which agents are there for this kind of work"],
        "updatedAt": site.cards().changed_at(),
        "trustManifest": trust(site, voice, Some(&id)),
    })
}

/// A registry elsewhere, to which callers are referred.
pub(super) fn referral(url: &str) -> Value {
    let host =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    json!({ "identifier": registry_name(host), "displayName": host, "type": REGISTRY, "url": url })
}

/// The name of the registry at a host; a port does not belong to the publisher.
fn registry_name(host: &str) -> String {
    let name = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name);
    ListingId::of(name, "registry", "hub").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_tools_is_the_same_agent() {
        assert_eq!(hub_name("urn:air:example.org:mcp:calc"), "urn:air:example.org:agents:calc");
        assert_eq!(hub_name("urn:air:example.org:agents:calc"), "urn:air:example.org:agents:calc");
        assert_eq!(hub_name("urn:air:example.org:x:mcp:calc"), "urn:air:example.org:x:mcp:calc");
    }

    #[test]
    fn a_referral_is_named_by_its_host() {
        let told = referral("https://finder.example:8443/search");
        assert_eq!(told["identifier"], "urn:air:finder.example:registry:hub");
        assert_eq!(told["url"], "https://finder.example:8443/search");
    }
}
