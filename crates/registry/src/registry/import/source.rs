//! Source: what an address has to import: a catalogue, a page of a registry, or one agent.
//!
//! Promises: a document is read within bounds; a catalogue that names the registry of its own origin is read
//! there in full, page by page, and the answer says what comes next. It admits nothing itself.

use agentsite_egress::Fetched;
use agentsite_protocol::{Caller, Visibility, read_unambiguous};
use agentsite_store::ListingFilter;
use serde_json::Value;
use url::Url;

use super::super::{OwnNames, Registry, address};
use super::{ImportReport, MAX_BATCH};
use crate::error::RegistryError;

/// Largest catalogue that is fetched: ten thousand entries of a kilobyte and a half.
const MAX_CATALOGUE: usize = 16 << 20;

/// Most further catalogues that one names.
const MAX_NESTED: usize = 64;

/// Media type of a catalogue inside a catalogue.
const CATALOGUE: &str = "application/ai-catalog+json";

/// Media type of a registry in a catalogue. It lists everything page by page, of which a catalogue has only
/// the first part.
const REGISTRY: &str = "application/ai-registry+json";

/// Entries asked of a registry at once: the most that the specification lets one answer have.
const REGISTRY_PAGE: usize = 100;

impl Registry {
    /// Takes what an address has: a catalogue, a page of a registry, or one agent. The answer names where it
    /// continues.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub async fn import_from(
        &self,
        caller: &Caller,
        url: &str,
        own: OwnNames<'_>,
    ) -> Result<ImportReport, RegistryError> {
        let url = &address(url)?;
        self.check_may_register(caller).await?;
        let (value, from) = self.source(url).await?;
        let (value, from, note) = self.whole_list(value, from).await;
        let Some(listed) = entries_of(&value) else { return self.import_one(caller, url, own).await };
        let is = |entry: &Value, media: &str| entry["type"] == media && entry["url"].is_string();
        let nested = listed.iter().filter(|entry| is(entry, CATALOGUE));
        let nested = nested.filter_map(|entry| from.join(entry["url"].as_str()?).ok());
        let mut whole = ImportReport {
            nested: nested.take(MAX_NESTED).map(String::from).collect(),
            next: next_page(&value, &from),
            total: value["total"].as_u64(),
            note,
            ..ImportReport::default()
        };
        let agents = listed.iter().filter(|entry| !is(entry, CATALOGUE) && !is(entry, REGISTRY));
        let agents: Vec<(usize, &Value)> = (1..).zip(agents).collect();
        for batch in agents.chunks(MAX_BATCH) {
            let batch = batch.iter().map(|(place, value)| (*place, Ok((*value).clone()))).collect();
            whole.add(self.import(caller, batch).await?);
        }
        Ok(whole)
    }

    /// Takes the one agent at an address.
    async fn import_one(
        &self,
        caller: &Caller,
        url: &Url,
        own: OwnNames<'_>,
    ) -> Result<ImportReport, RegistryError> {
        let known = self.store.count_listings(ListingFilter::default()).await?;
        self.register_at(caller, url, Visibility::Public, own).await?;
        let added = self.store.count_listings(ListingFilter::default()).await? > known;
        let (added, renewed) = (usize::from(added), usize::from(!added));
        Ok(ImportReport { added, renewed, listed: 1, ..ImportReport::default() })
    }

    /// The list of the registry that a catalogue names on its own origin, which has every entry; the
    /// catalogue itself when there is none, and a note when the registry cannot be read.
    async fn whole_list(&self, value: Value, from: Url) -> (Value, Url, Option<String>) {
        let entries = value["entries"].as_array().into_iter().flatten();
        let mut registries = entries.filter(|entry| entry["type"] == REGISTRY);
        let registry = registries.find_map(|entry| {
            let mut url = from.join(entry["url"].as_str()?).ok()?;
            url.set_path(&format!("{}/agents", url.path().trim_end_matches('/')));
            url.set_query(Some(&format!("pageSize={REGISTRY_PAGE}")));
            (url.origin() == from.origin()).then_some(url)
        });
        let Some(registry) = registry else { return (value, from, None) };
        let fetched = self.scout.fetch(registry.clone(), None, MAX_CATALOGUE, self.settings.timeout.0).await;
        let why = match fetched {
            Ok(Fetched::Document { bytes, url, .. }) => match read_unambiguous(&bytes) {
                Ok(list) if list["items"].is_array() => return (list, url, None),
                _ => "it gave no list".to_owned(),
            },
            Ok(Fetched::NotModified) => "it gave no list".to_owned(),
            Err(why) => why,
        };
        let note = format!(
            "The registry {registry} could not be read ({why}), so only the catalogue was imported, which may have a part of the entries."
        );
        (value, from, Some(note))
    }

    /// The document at an address, or what a site has at its well-known places.
    async fn source(&self, url: &Url) -> Result<(Value, Url), RegistryError> {
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
        Err(RegistryError::Unreachable(why))
    }
}

/// The entries of a catalogue, of a page of a registry, or of one of the MCP registry.
fn entries_of(value: &Value) -> Option<&Vec<Value>> {
    ["entries", "items", "servers"].into_iter().find_map(|key| value[key].as_array())
}

/// Where the next page of a list begins: the page token of ARD, or the cursor of the MCP registry.
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
