//! The verb of a site by which its callers talk with agents from elsewhere: an entry of the hub is opened as
//! an agent of this site.
//!
//! Promises: only who sees the entry opens it, and only callers who are known talk through it: the site is no
//! relay for strangers. It runs like any agent elsewhere that a file declares: through the egress, with a
//! circuit for each endpoint, within limits, with durable tasks. It is not listed, because the hub lists the
//! entry. It is closed when the entry is suspended, removed or seen by fewer, and when too many are open. No
//! credential of the site goes with it.

use std::sync::{Arc, Mutex, PoisonError};

use agentsite_host::{A2aRuntime, AgentLog, Limits, Manifest, McpRuntime, Runtime, Workshop};
use agentsite_protocol::listing::Standing;
use agentsite_protocol::{AgentInstance, AgentName, BadName, Caller, Ids, Period, Principal, Visibility};
use agentsite_store::Registration;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::agents::Agents;
use crate::SiteError;
use crate::hub::{Entry, Holder, Hub};
use crate::registry::Registry;
use agentsite_tasks::Tasks;

/// Most entries that are open at once: each costs a supervisor and perhaps a connection.
const MAX_OPEN: usize = 64;

/// Letters of an entry's own name that its agent here bears; the rest is for the mark that makes it unique.
const NAME_LETTERS: usize = 24;

/// Bytes of the mark: enough that no two of a hub's entries have the same.
const MARK: usize = 5;

/// Longest time for one task of such an agent: it may be slow, and its caller waits for it.
const TIMEOUT: Period = Period::seconds(5 * 60);

/// Tasks of such an agent at work at once, and those that may wait: few, because many agents are open.
const CONCURRENCY: usize = 4;
const QUEUE: usize = 64;

/// The entries that are open, the one opened longest ago first.
#[derive(Debug, Default)]
struct OpenEntries {
    // A std lock: held for a look at a short list, never across an await.
    open: Mutex<Vec<(String, AgentName)>>,
}

impl OpenEntries {
    /// Notes an entry as opened just now; gives those that must make room.
    fn opened(&self, id: &str, name: &AgentName) -> Vec<(String, AgentName)> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(known, _)| known != id);
        open.push((id.to_owned(), name.clone()));
        let over = open.len().saturating_sub(MAX_OPEN);
        open[..open.len() - 1].iter().take(if over > 0 { MAX_OPEN } else { 0 }).cloned().collect()
    }

    fn closed(&self, id: &str) -> Option<AgentName> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|(known, _)| known == id)?;
        Some(open.remove(at).1)
    }
}

/// The agents from elsewhere that are called through this site.
#[derive(Debug)]
pub(super) struct Far {
    open: OpenEntries,
    registry: Arc<Registry>,
    hub: Arc<Hub>,
    agents: Agents,
    workshop: Workshop,
    tasks: Tasks,
    ids: Ids,
}

impl Far {
    /// Opens entries of this registry as agents.
    pub(super) fn new(registry: Arc<Registry>, agents: Agents) -> Self {
        let (hub, workshop) = (agents.hub.clone(), agents.workshop.clone());
        let (tasks, ids) = (agents.tasks.clone(), agents.ids.clone());
        Self { open: OpenEntries::default(), registry, hub, agents, workshop, tasks, ids }
    }

    /// Opens an entry of the hub, so that it is called like an agent of this site; gives the name by which it
    /// is called.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`] when it is not for this caller; [`SiteError::BadListing`] when it cannot
    /// be called or no more may be open.
    pub(super) async fn open(&self, caller: &Caller, id: &str) -> Result<AgentName, SiteError> {
        let entry = self.registry.entry_for(caller, id).await?;
        let manifest = manifest(&entry)?;
        let name = manifest.name.clone();
        let holder = Some(Holder {
            owner: entry.listing.owner.parse().unwrap_or_else(|_| Principal::site()),
            instance: instance(&entry),
            since: entry.listing.registered_at,
            warnings: entry.listing.warnings.clone(),
        });
        let before = self.hub.get(&name);
        if before.as_ref().is_some_and(|known| !known.hidden) {
            let why = format!("an agent of this site is called {name}; rename it, then try again");
            return Err(SiteError::BadListing(why));
        }
        let same = |known: &Arc<Entry>| known.manifest == manifest && known.holder == holder;
        if before.as_ref().is_some_and(same) {
            self.open.opened(id, &name);
            return Ok(name);
        }
        self.make_room(id, &name).await?;
        let log = AgentLog::new(self.ids.clock().clone());
        let runner = self.workshop.launch(&manifest, None, &log);
        let runner = runner.map_err(|error| SiteError::BadListing(format!("{name}: {error}")))?;
        self.hub.put(Entry { hidden: true, ..Entry::held(manifest, runner, log, None, holder) });
        if let Some(before) = before {
            before.runner.stop().await;
        }
        self.agents.relay_changes(&name);
        self.tasks.recover(Some(&name)).await?;
        Ok(name)
    }

    /// Closes an entry, if it is open: whoever opens it again is judged anew.
    pub(super) async fn close(&self, id: &str) {
        if let Some(name) = self.open.closed(id) {
            self.agents.uninstall(&name).await;
        }
    }

    /// Closes the idle entry that was opened longest ago when one more would be too many.
    async fn make_room(&self, id: &str, name: &AgentName) -> Result<(), SiteError> {
        let others = self.open.opened(id, name);
        if others.is_empty() {
            return Ok(());
        }
        let idle = |name: &AgentName| {
            self.hub.get(name).is_none_or(|entry| entry.running() == 0 && entry.waiting() == 0)
        };
        let Some((idle, _)) = others.iter().find(|(_, name)| idle(name)) else {
            self.open.closed(id);
            let why = format!(
                "{MAX_OPEN} agents from elsewhere are at work through this site; try again in a minute"
            );
            return Err(SiteError::BadListing(why));
        };
        self.close(idle).await;
        Ok(())
    }
}

/// The agent that an entry is called through.
fn manifest(entry: &Registration) -> Result<Manifest, SiteError> {
    let listing = &entry.listing;
    if matches!(listing.standing, Standing::Suspended | Standing::Lapsed) {
        let why = "the entry does not count at the moment; resume or refresh it first";
        return Err(SiteError::BadListing(why.into()));
    }
    let speaks = |protocol: &str| listing.protocols.iter().any(|one| one == protocol);
    let (card, endpoint) = (listing.url.as_deref(), entry.endpoint.as_deref());
    let address = match (speaks("a2a"), speaks("mcp")) {
        (true, _) => card.or(endpoint),
        (false, true) => endpoint.or(card),
        (false, false) => None,
    };
    let address = address.ok_or_else(|| {
        SiteError::BadListing("the entry names no address at which it is called by A2A or MCP".into())
    })?;
    let address = web_address(address)?;
    let runtime = if speaks("a2a") {
        Runtime::A2a(A2aRuntime::elsewhere(address))
    } else {
        Runtime::Mcp(McpRuntime::elsewhere(address))
    };
    let name = name_of(&listing.id, &listing.name)
        .parse()
        .map_err(|error: BadName| SiteError::BadListing(error.to_string()))?;
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
fn web_address(text: &str) -> Result<Url, SiteError> {
    let refused = |why: String| SiteError::BadListing(format!("it cannot be called: {why}"));
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
    AgentInstance::of("entry", &[&entry.listing.id, &entry.listing.owner, &origin])
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
            assert!(matches!(web_address(address), Err(SiteError::BadListing(_))), "{address}");
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

    #[test]
    fn the_one_opened_longest_ago_makes_room_first() {
        let far = OpenEntries::default();
        let name: AgentName = "far-x".parse().expect("a name");
        for number in 0..MAX_OPEN {
            assert!(far.opened(&number.to_string(), &name).is_empty());
        }
        assert!(far.opened("0", &name).is_empty(), "opened again is not one more");
        let others = far.opened("new", &name);
        assert_eq!((others[0].0.as_str(), others.len()), ("1", MAX_OPEN));
        assert!(far.closed("1").is_some() && far.closed("1").is_none());
    }
}
