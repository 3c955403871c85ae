//! Detail: an agent as `server.json` and as a server card describe a server of tools.
//!
//! Promises: names are in reverse-DNS form, texts within the lengths of the schemas, whatever the agent says
//! of itself. A registered server keeps the `server.json` that it came with. It does not know who asks.

use agentsite_protocol::Visibility;
use agentsite_protocol::listing::{Listing, MCP_SERVER_CARD};
use agentsite_site::SiteSection;
use serde_json::{Map, Value, json};

/// The schema of `server.json` that we write.
const SERVER_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// The schema of the server cards that we write.
const CARD_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json";

/// Revisions of MCP that are spoken under `/mcp`, newest first.
const REVISIONS: [&str; 5] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Longest description and title, in characters, and longest name: those of the schemas.
const MAX_LINE: usize = 100;
const MAX_NAME: usize = 200;

/// Version of one that names none.
const NO_VERSION: &str = "0.0.0";

/// Members of a registered `server.json` that are passed on.
const PASSED_ON: [&str; 4] = ["repository", "websiteUrl", "packages", "icons"];

/// Whether an agent is a server of tools.
pub(super) fn is_server(listing: &Listing) -> bool {
    listing.media_type == MCP_SERVER_CARD || listing.protocols.iter().any(|protocol| protocol == "mcp")
}

/// An agent as `server.json` has it.
pub(super) fn detail(listing: &Listing, base: &str) -> Value {
    let known = listing.document.as_ref().and_then(Value::as_object);
    let text = |name: &str| known.and_then(|known| known.get(name)?.as_str());
    let name =
        text("name").filter(|name| is_name(name)).map_or_else(|| name(listing.id.as_str()), str::to_owned);
    let mut detail = json!({
        "$schema": SERVER_SCHEMA,
        "name": name,
        "title": line(if listing.name.is_empty() { &name } else { &listing.name }),
        "description": line(if listing.description.is_empty() { &name } else { &listing.description }),
        "version": version(&listing.version),
    });
    if let Some(known) = known.filter(|_| !listing.local) {
        pass_on(known, &mut detail);
    }
    if listing.local {
        detail["remotes"] = json!([remote(listing, base)]);
    }
    detail
}

/// The card of an agent of this site.
pub(super) fn card(listing: &Listing, base: &str) -> Value {
    let mut card = detail(listing, base);
    card["$schema"] = CARD_SCHEMA.into();
    card["remotes"][0]["supportedProtocolVersions"] = json!(REVISIONS);
    card
}

/// The card of the site itself, under whose address every agent is a tool.
pub(super) fn site_card(site: &SiteSection, base: &str) -> Value {
    let host =
        base.split_once("://").map_or(base, |(_, rest)| rest).split(['/', ':']).next().unwrap_or_default();
    json!({
        "$schema": CARD_SCHEMA,
        "name": format!("{}/agentsite", reversed(host)),
        "title": line(&site.name),
        "description": line(if site.description.is_empty() { &site.name } else { &site.description }),
        "version": env!("CARGO_PKG_VERSION"),
        "remotes": [{ "type": "streamable-http", "url": format!("{base}/mcp"), "supportedProtocolVersions": REVISIONS }],
    })
}

fn remote(listing: &Listing, base: &str) -> Value {
    let mut remote = json!({ "type": "streamable-http", "url": format!("{base}/mcp/{}", listing.name) });
    if listing.visibility != Visibility::Public {
        remote["headers"] = json!([{
            "name": "Authorization", "description": "An API key of this site: Bearer KEY", "isRequired": true, "isSecret": true,
        }]);
    }
    remote
}

fn pass_on(known: &Map<String, Value>, detail: &mut Value) {
    for name in PASSED_ON {
        if let Some(value) = known.get(name) {
            detail[name] = value.clone();
        }
    }
    if let Some(Value::Array(remotes)) = known.get("remotes") {
        detail["remotes"] = remotes.clone().into();
    }
}

/// `urn:air:example.org:agents:calc` as `org.example/calc`.
fn name(id: &str) -> String {
    let mut parts = id.strip_prefix("urn:air:").unwrap_or(id).split(':');
    let publisher = reversed(parts.next().unwrap_or_default());
    let last = parts.next_back().filter(|last| !last.is_empty()).unwrap_or("agent");
    format!("{publisher}/{last}").chars().take(MAX_NAME).collect()
}

/// A domain from its end; an address stays as it is.
fn reversed(host: &str) -> String {
    let fit =
        |letter: char| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '-' };
    let host: String = host.chars().take(MAX_NAME / 2).map(fit).collect();
    if host.parse::<std::net::IpAddr>().is_ok() || host.is_empty() {
        return if host.is_empty() { "local".into() } else { host };
    }
    host.rsplit('.').collect::<Vec<_>>().join(".")
}

/// Whether a name is as the schema wants it: `namespace/name`.
fn is_name(name: &str) -> bool {
    let of = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    let parts = name.split_once('/').filter(|_| (3..=MAX_NAME).contains(&name.len()));
    parts.is_some_and(|(space, name)| of(space, ".-") && of(name, "._-"))
}

/// Foreign text on one line, as long as the schema takes it.
fn line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_LINE {
        return if line.is_empty() { "-".into() } else { line };
    }
    line.chars().take(MAX_LINE - 1).chain(['…']).collect()
}

/// A version that the schema takes: no range, and not the word for the newest.
fn version(text: &str) -> String {
    let plain = !text.is_empty()
        && text.len() <= 255
        && text != "latest"
        && !text.contains(['^', '~', '*', '<', '>', '=']);
    if plain { text.to_owned() } else { NO_VERSION.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_reverse_dns_form() {
        for (id, told) in [
            ("urn:air:agents.example.org:agents:calc", "org.example.agents/calc"),
            ("urn:air:localhost:agents:calc", "localhost/calc"),
            ("urn:air:127.0.0.1:agents:calc", "127.0.0.1/calc"),
            ("urn:air:---1-:agents:calc", "---1-/calc"),
        ] {
            assert_eq!(name(id), told);
            assert!(is_name(told), "{told}");
        }
        for bad in ["calc", "a/b/c", "/x", "x/", "a b/c"] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn texts_and_versions_fit_the_schema() {
        assert_eq!(line(&"ä ".repeat(200)).chars().count(), 100);
        assert_eq!(line(" \n "), "-");
        assert_eq!(version("1.2.3"), "1.2.3");
        for bad in ["", "latest", "^1.2", ">=1", "1.*"] {
            assert_eq!(version(bad), NO_VERSION, "{bad}");
        }
    }
}
