//! Call: an entry as an agent that is called through the site.
//!
//! Promises: pure; the agent has limits of its own, never more callers than the entry, and never callers
//! without a key: the site is not a relay for strangers. No credential of the site goes with it. It does not
//! start the agent.

use agentsite_host::{A2aRuntime, Limits, Manifest, McpRuntime, Runtime};
use agentsite_protocol::listing::Standing;
use agentsite_protocol::{AgentInstance, BadName, Period, Principal, Timestamp, Visibility};
use agentsite_store::Registration;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::error::RegistryError;

/// Letters of an entry's own name that its agent here bears; the rest is for the mark that makes it unique.
const NAME_LETTERS: usize = 24;

/// Bytes of the mark: enough that no two of a hub's entries have the same.
const MARK: usize = 5;

/// Longest time for one task of such an agent: it may be slow, and its caller waits for it.
const TIMEOUT: Period = Period::seconds(5 * 60);

/// Tasks of such an agent at work at once, and those that may wait: few, because many agents are open.
const CONCURRENCY: usize = 4;
const QUEUE: usize = 64;

/// An entry as an agent that is called through the site.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryAgent {
    /// How it is called; the same as of a file with `kind = "a2a"` or `"mcp"`.
    pub manifest: Manifest,
    /// To whom the entry belongs.
    pub owner: Principal,
    /// What tells it from every other agent that an entry of the same name may lead to.
    pub instance: AgentInstance,
    /// Since when the entry is registered.
    pub since: Timestamp,
    /// What its callers should look at.
    pub warnings: Vec<String>,
}

impl EntryAgent {
    /// The agent of an entry.
    pub(crate) fn of(entry: &Registration) -> Result<Self, RegistryError> {
        Ok(Self {
            manifest: manifest(entry)?,
            owner: entry.listing.owner.clone(),
            instance: instance(entry),
            since: entry.listing.registered_at,
            warnings: entry.listing.warnings.clone(),
        })
    }
}

/// The agent that an entry is called through.
fn manifest(entry: &Registration) -> Result<Manifest, RegistryError> {
    let listing = &entry.listing;
    if matches!(listing.standing, Standing::Suspended | Standing::Lapsed) {
        let why = "the entry does not count at the moment; resume or refresh it first";
        return Err(RegistryError::BadListing(why.into()));
    }
    let speaks = |protocol: &str| listing.protocols.iter().any(|one| one == protocol);
    let (card, endpoint) = (listing.url.as_deref(), entry.endpoint.as_deref());
    let address = match (speaks("a2a"), speaks("mcp")) {
        (true, _) => card.or(endpoint),
        (false, true) => endpoint.or(card),
        (false, false) => None,
    };
    let address = address.ok_or_else(|| {
        RegistryError::BadListing("the entry names no address at which it is called by A2A or MCP".into())
    })?;
    let address = web_address(address)?;
    let runtime = if speaks("a2a") {
        let agent = A2aRuntime::elsewhere(address);
        // An agent of another site gets the proof that this site calls, and is called through the mesh when
        // its address on the web fails.
        Runtime::A2a(match (listing.owner.peer_did(), card.and(endpoint)) {
            (Some(site), Some(second)) => agent.of_site(site).also_at(web_address(second)?),
            (Some(site), None) => agent.of_site(site),
            (None, _) => agent,
        })
    } else {
        Runtime::Mcp(McpRuntime::elsewhere(address))
    };
    let name = name_of(listing.id.as_str(), &listing.name)
        .parse()
        .map_err(|error: BadName| RegistryError::BadListing(error.to_string()))?;
    let mut manifest = Manifest::new(name, listing.description.clone(), runtime);
    if !listing.version.is_empty() {
        manifest.version.clone_from(&listing.version);
    }
    manifest.limits =
        Limits { timeout: TIMEOUT, concurrency: CONCURRENCY, queue: QUEUE, ..Limits::default() };
    // Never for anonymous callers, whatever the entry says: they call it where it is.
    manifest.visibility = listing.visibility.min(Visibility::Peers);
    Ok(manifest)
}

/// An address of the web at which an entry is called.
fn web_address(text: &str) -> Result<Url, RegistryError> {
    let refused = |why: String| RegistryError::BadListing(format!("it cannot be called: {why}"));
    let address = Url::parse(text).map_err(|error| refused(error.to_string()))?;
    if matches!(address.scheme(), "http" | "https") {
        return Ok(address);
    }
    Err(refused("the address must begin with https:// or http://".into()))
}

/// What tells this agent from every other that an entry of the same name may lead to: whose entry it is, and
/// at which origin it is called.
fn instance(entry: &Registration) -> AgentInstance {
    let address = entry.endpoint.as_deref().or(entry.listing.url.as_deref()).unwrap_or_default();
    let origin = Url::parse(address).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    AgentInstance::of("entry", &[entry.listing.id.as_str(), entry.listing.owner.as_str(), &origin])
}

/// A name that tells people what it is and that no other entry has.
fn name_of(id: &str, name: &str) -> String {
    let letter = |one: char| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '-' };
    let letters: String = name.chars().map(letter).collect();
    let words: Vec<&str> = letters.split('-').filter(|word| !word.is_empty()).collect();
    let word: String = words.join("-").chars().take(NAME_LETTERS).collect();
    let mark: String = Sha256::digest(id).iter().take(MARK).map(|byte| format!("{byte:02x}")).collect();
    let parts = ["far", word.trim_end_matches('-'), &mark].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::AgentName;

    use super::*;

    #[test]
    fn names_are_names_whatever_an_entry_calls_itself() {
        let mut names = Vec::new();
        for (id, name) in [
            ("a", "Weather — für Züge!"),
            ("b", "日本"),
            ("c", "../../etc"),
            ("d", &"x-".repeat(200)),
            ("e", "Weather"),
        ] {
            let name = name_of(id, name);
            assert!(name.parse::<AgentName>().is_ok() && name.starts_with("far-"), "{name}");
            assert!(!names.contains(&name));
            names.push(name);
        }
        assert!(names[0].starts_with("far-weather-f-r-z-ge-"), "{}", names[0]);
    }

    #[test]
    fn only_addresses_of_the_web_are_called() {
        assert!(web_address("https://w.example.org/a2a").is_ok());
        for address in ["file:///etc/passwd", "w.example.org", "", "https://\"\n[sandbox]"] {
            assert!(matches!(web_address(address), Err(RegistryError::BadListing(_))), "{address}");
        }
    }

    #[test]
    fn an_entry_of_another_owner_or_at_another_origin_is_another_agent() {
        let entry = |owner: &str, endpoint: &str| -> Registration {
            let listing = serde_json::json!({
                "id": "urn:air:w.example.org:agents:w", "name": "w", "description": "", "mediaType": "x", "local": false,
                "visibility": "public", "owner": owner, "standing": "active", "proof": "none", "live": true, "trust": 0.5,
                "registeredAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
            });
            serde_json::from_value(serde_json::json!({ "listing": listing, "endpoint": endpoint }))
                .expect("an entry")
        };
        let known = instance(&entry("key:a", "https://w.example.org/a2a"));
        assert_eq!(
            known,
            instance(&entry("key:a", "https://w.example.org/v2")),
            "it moved within its origin"
        );
        assert_ne!(known, instance(&entry("key:b", "https://w.example.org/a2a")));
        assert_ne!(known, instance(&entry("key:a", "https://evil.example/a2a")));
    }
}
