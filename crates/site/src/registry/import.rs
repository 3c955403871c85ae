//! Import and export: many entries at once, from and to the forms in which others keep them.
//!
//! Promises: a batch is one commit; what cannot be taken of it is told by its place and does not hold up the rest. What a document claims
//! about standing, proof and owner counts for nothing: entries of those who run the site count at once, those of others when they have
//! been looked at. Long sources come page by page: each answer names what comes next, and whoever asks goes on.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use agentsite_host::Fetched;
use agentsite_protocol::listing::{Listing, MCP_SERVER_CARD, Proof};
use agentsite_protocol::{Caller, Visibility, read_unambiguous};
use agentsite_store::{Change, ListingChange, ListingFilter, Registration};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::did::Claim;
use super::draft::{Draft, bad};
use super::{Candidate, Registry, chance, name_everywhere};
use crate::SiteError;

/// Most entries of one batch: one transaction of some milliseconds.
pub(crate) const MAX_BATCH: usize = 1_000;

/// Largest line of a batch, in bytes.
const MAX_LINE: usize = 256 << 10;

/// Largest catalogue that is fetched: ten thousand entries of a kilobyte and a half.
const MAX_CATALOGUE: usize = 16 << 20;

/// Most further catalogues that one names.
const MAX_NESTED: usize = 64;

/// Media type of a catalogue inside a catalogue.
const CATALOGUE: &str = "application/ai-catalog+json";

/// What became of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// Entries that are new here.
    pub added: usize,
    /// Entries that were here and have been written anew.
    pub renewed: usize,
    /// What could not be taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedEntry>,
    /// Where the source goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Catalogues that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
}

/// An entry that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEntry {
    /// Its place in what was sent, from 1.
    pub place: usize,
    /// Why.
    pub why: String,
}

impl Imported {
    fn refuse(&mut self, place: usize, why: impl std::fmt::Display) {
        self.refused.push(RefusedEntry { place, why: why.to_string().chars().take(300).collect() });
    }
}

impl Registry {
    /// Takes lines of JSON, each a card, an entry of a catalogue, a server file or a line of an export.
    pub(crate) async fn import_lines(&self, caller: &Caller, lines: &[u8]) -> Result<Imported, SiteError> {
        let mut values = Vec::new();
        for (place, line) in (1..).zip(lines.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let value = if line.len() > MAX_LINE {
                Err(format!("the line is longer than {MAX_LINE} bytes"))
            } else {
                read_unambiguous(line).map_err(|error| error.to_string())
            };
            values.push((place, value));
        }
        if values.len() > MAX_BATCH {
            return Err(bad(format!("send at most {MAX_BATCH} lines at once; this has {}", values.len())));
        }
        self.import(caller, values).await
    }

    /// Takes what an address has: a catalogue, a page of a registry, or one agent.
    pub(crate) async fn import_from(
        &self,
        caller: &Caller,
        url: &Url,
        own: &[String],
    ) -> Result<Imported, SiteError> {
        self.check_may_register(caller).await?;
        let (value, from) = self.source(url).await?;
        let listed = ["entries", "items", "servers"].into_iter().find_map(|key| value[key].as_array());
        let Some(listed) = listed else {
            let known = self.store.count_listings(ListingFilter::default()).await?;
            self.register(caller, url, Visibility::Public, own).await?;
            let added = self.store.count_listings(ListingFilter::default()).await? > known;
            return Ok(Imported {
                added: usize::from(added),
                renewed: usize::from(!added),
                ..Imported::default()
            });
        };
        let is_nested = |entry: &&Value| entry["type"] == CATALOGUE && entry["url"].is_string();
        let nested =
            listed.iter().filter(is_nested).filter_map(|entry| from.join(entry["url"].as_str()?).ok());
        let mut whole = Imported {
            nested: nested.take(MAX_NESTED).map(String::from).collect(),
            next: next_page(&value, &from),
            ..Imported::default()
        };
        let own: Vec<(usize, Value)> =
            (1..).zip(listed.iter().filter(|entry| !is_nested(entry)).cloned()).collect();
        for batch in own.chunks(MAX_BATCH) {
            let batch = batch.iter().map(|(place, value)| (*place, Ok(value.clone()))).collect();
            let done = self.import(caller, batch).await?;
            whole.added += done.added;
            whole.renewed += done.renewed;
            whole.refused.extend(done.refused);
        }
        Ok(whole)
    }

    /// The document at an address, or what a site has at its well-known places.
    async fn source(&self, url: &Url) -> Result<(Value, Url), SiteError> {
        let mut well_known = url.clone();
        well_known.set_path(&format!("{}/.well-known/ai-catalog.json", url.path().trim_end_matches('/')));
        let mut why = String::new();
        for place in [url.clone(), well_known] {
            match self.scout.fetch(place, None, MAX_CATALOGUE, self.settings.timeout.0).await {
                Ok(Fetched::Document { bytes, url: from, .. }) => match read_unambiguous(&bytes) {
                    Ok(value) if value.is_object() => return Ok((value, from)),
                    _ => why = format!("{from} has no JSON object"),
                },
                Ok(Fetched::NotModified) => {}
                Err(error) => why = error,
            }
        }
        // A tool server may be there, which speaks only when it is spoken to.
        if self.scout.meet(url.clone(), self.settings.timeout.0).await.is_ok() {
            return Ok((Value::Null, url.clone()));
        }
        Err(SiteError::Unreachable(why))
    }

    /// Takes one batch in one commit.
    async fn import(
        &self,
        caller: &Caller,
        values: Vec<(usize, Result<Value, String>)>,
    ) -> Result<Imported, SiteError> {
        if caller.is_anonymous() && !caller.is_admin() {
            self.check_may_register(caller).await?;
        }
        let mut done = Imported::default();
        let mut drafts: BTreeMap<String, (usize, Candidate)> = BTreeMap::new();
        let mut claims: BTreeMap<String, Claim> = BTreeMap::new();
        for (place, value) in values {
            let read = value.and_then(|value| {
                let draft = Draft::read(&value).map_err(|error| error.to_string())?;
                Ok((draft, Claim::of(&value)))
            });
            match read {
                Err(why) => done.refuse(place, why),
                Ok((draft, claim)) => {
                    let candidate = unproven(draft);
                    let id = name_everywhere(&candidate, caller.is_admin());
                    match drafts.entry(id) {
                        Entry::Occupied(taken) => done.refuse(place, format!("{} comes twice", taken.key())),
                        Entry::Vacant(free) => {
                            claims.extend(claim.map(|claim| (free.key().clone(), claim)));
                            free.insert((place, candidate));
                        }
                    }
                }
            }
        }
        let claimed = drafts.iter_mut().filter_map(|(id, (_, one))| Some((one, claims.remove(id)?)));
        self.check_claims(claimed.collect()).await;
        let _one_at_a_time = self.adding.lock().await;
        let entries = self.batch(caller, drafts, &mut done).await?;
        if entries.is_empty() {
            return Ok(done);
        }
        let ids: Vec<String> = entries.iter().map(|entry| entry.listing.id.clone()).collect();
        let text = format!("imported {} entries, {} of them new", ids.len(), done.added);
        let journal = vec![self.line(caller.owner().as_str(), text)];
        let listings = entries.into_iter().map(|entry| ListingChange::Put(Box::new(entry))).collect();
        self.store.commit(Change { listings, journal, ..Change::default() }).await?;
        for id in ids {
            let _ = self.changes.send(id);
        }
        self.bell.notify_one();
        Ok(done)
    }

    /// The entries of a batch that may be written.
    async fn batch(
        &self,
        caller: &Caller,
        drafts: BTreeMap<String, (usize, Candidate)>,
        done: &mut Imported,
    ) -> Result<Vec<Registration>, SiteError> {
        let known = self.store.listings_of(drafts.keys().cloned().collect()).await?;
        let known: BTreeMap<String, Registration> =
            known.into_iter().map(|entry| (entry.listing.id.clone(), entry)).collect();
        let mut room = self.room(caller).await?;
        let mut entries = Vec::new();
        for (id, (place, candidate)) in drafts {
            let before = known.get(&id);
            if let Some(before) = before
                && let Err(error) = self.check_may_change(caller, before)
            {
                done.refuse(place, error);
                continue;
            }
            if before.is_none() && room == 0 {
                done.refuse(place, SiteError::TooManyListings(self.settings.quota));
                continue;
            }
            if before.is_none() {
                (room, done.added) = (room - 1, done.added + 1);
            } else {
                done.renewed += 1;
            }
            entries.push(self.imported_entry(caller, candidate, id, before));
        }
        self.warn_of_same_names(&mut entries).await?;
        Ok(entries)
    }

    fn imported_entry(
        &self,
        caller: &Caller,
        candidate: Candidate,
        id: String,
        before: Option<&Registration>,
    ) -> Registration {
        let visibility = candidate.draft.visibility.unwrap_or(Visibility::Public);
        let mut entry = self.entry(caller, candidate, id, before);
        entry.listing.visibility = visibility;
        entry.listing.seen_at = before.and_then(|before| before.listing.seen_at);
        if let Some(due) = &mut entry.due {
            // Those that count already are looked at some time within their lease, the others now.
            let now = self.ids.clock().now();
            let wait = self.settings.lease.0.mul_f64(chance(self.ids.rng().as_ref()));
            *due = if entry.vouched { now.plus(wait) } else { now };
        }
        entry
    }

    /// How many entries this caller may still add.
    async fn room(&self, caller: &Caller) -> Result<usize, SiteError> {
        if caller.is_admin() {
            return Ok(usize::MAX);
        }
        let owner = Some(caller.owner().to_string());
        let count = self.store.count_listings(ListingFilter { owner, ..ListingFilter::default() }).await?;
        Ok(self.settings.quota.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)))
    }

    /// Warns of names that look exactly alike; slips of a letter are not looked for in bulk.
    async fn warn_of_same_names(&self, entries: &mut [Registration]) -> Result<(), SiteError> {
        let shapes: BTreeSet<String> = entries.iter().map(|entry| entry.shape.clone()).collect();
        let holders = self.store.name_holders(shapes.into_iter().collect()).await?;
        for entry in entries {
            let other = holders.iter().find(|holder| {
                holder.shape == entry.shape
                    && holder.owner != entry.listing.owner
                    && holder.id != entry.listing.id
            });
            if let Some(other) = other {
                let warning =
                    format!("its name looks like that of {}, which belongs to somebody else", other.id);
                entry.listing.warnings.push(warning);
            }
        }
        Ok(())
    }
}

/// A draft of which nothing is known but what it says.
fn unproven(draft: Draft) -> Candidate {
    let at = draft.url.as_deref().and_then(|url| Url::parse(url).ok());
    Candidate { draft, proof: Proof::None, key: None, etag: None, warnings: Vec::new(), at }
}

/// Where a list goes on: the page token of ARD, or the cursor of the MCP registry.
fn next_page(value: &Value, from: &Url) -> Option<String> {
    let (name, token) = match (value["pageToken"].as_str(), value["metadata"]["nextCursor"].as_str()) {
        (Some(token), _) => ("pageToken", token),
        (None, Some(cursor)) => ("cursor", cursor),
        (None, None) => return None,
    };
    if token.is_empty() || token.len() > 2_048 {
        return None;
    }
    let kept: Vec<(String, String)> = from
        .query_pairs()
        .filter(|(key, _)| key != name)
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    let mut next = from.clone();
    next.query_pairs_mut().clear().extend_pairs(kept).append_pair(name, token);
    Some(next.into())
}

/// An entry as it stands in an `ai-catalog.json`.
#[must_use]
pub(crate) fn catalogue_entry(listing: &Listing) -> Value {
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
#[must_use]
pub(crate) fn server_file(listing: &Listing) -> Option<Value> {
    if listing.media_type != MCP_SERVER_CARD && !listing.protocols.iter().any(|protocol| protocol == "mcp") {
        return None;
    }
    if let Some(document) = listing.document.clone().filter(|document| document["name"].is_string()) {
        return Some(document);
    }
    let mut parts = listing.id.trim_start_matches("urn:air:").split(':');
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
