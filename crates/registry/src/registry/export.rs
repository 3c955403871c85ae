//! Export: entries in the forms in which others keep them.
//!
//! Promises: pure; every entry of a catalogue is valid by its schema. Which entries are handed on is decided
//! elsewhere.

use agentsite_protocol::listing::{Listing, MCP_SERVER_CARD};
use serde_json::{Value, json};

/// An entry as it stands in an `ai-catalog.json`.
pub(super) fn catalogue_entry(listing: &Listing) -> Value {
    let mut entry = json!({
        "identifier": listing.id,
        "displayName": listing.name,
        "type": listing.media_type,
        "description": listing.description,
        "updatedAt": listing.updated_at,
    });
    let document = listing.document.clone().filter(|_| listing.url.is_none());
    match (&listing.url, document) {
        (Some(url), _) => entry["url"] = json!(url),
        (None, Some(document)) => entry["data"] = document,
        (None, None) => entry["data"] = json!({ "name": listing.name, "description": listing.description }),
    }
    if !listing.version.is_empty() {
        entry["version"] = json!(listing.version);
    }
    if !listing.tags.is_empty() {
        entry["tags"] = json!(listing.tags);
    }
    let skills: Vec<&str> = listing.skills.iter().map(|skill| skill.name.as_str()).collect();
    if !skills.is_empty() {
        entry["capabilities"] = json!(skills);
    }
    // The form wants two to five of them, or none.
    let examples: Vec<&String> = listing.skills.iter().flat_map(|skill| &skill.examples).take(5).collect();
    if examples.len() >= 2 {
        entry["representativeQueries"] = json!(examples);
    }
    entry
}

/// A tool server as a `server.json` of the MCP registry; nothing for other entries.
pub(super) fn server_file(listing: &Listing) -> Option<Value> {
    if listing.media_type != MCP_SERVER_CARD && !listing.protocols.iter().any(|protocol| protocol == "mcp") {
        return None;
    }
    if let Some(document) = listing.document.clone().filter(|document| document["name"].is_string()) {
        return Some(document);
    }
    let mut parts = listing.id.as_str().trim_start_matches("urn:air:").split(':');
    let publisher = parts.next().unwrap_or("unknown");
    let reversed: Vec<&str> = publisher.split('.').rev().collect();
    let name = format!("{}/{}", reversed.join("."), parts.next_back().unwrap_or("server"));
    let version = if listing.version.is_empty() { "0.0.0" } else { &listing.version };
    let mut file = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name,
        // The registry's own limit.
        "description": listing.description.chars().take(100).collect::<String>(),
        "version": version,
    });
    if let Some(url) = &listing.url {
        file["remotes"] = json!([{ "type": "streamable-http", "url": url }]);
    }
    Some(file)
}
