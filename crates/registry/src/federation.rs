//! Federation: the registries elsewhere that a search asks too, and what of their answers counts.
//!
//! Promises: all of them together take no longer than [`TOGETHER`]; each is asked to look at its own agents
//! only, so that no question goes in circles; one that fails is paused for a while, and what one answered
//! is remembered for half a minute. What they say is cut to the bounds of an import, belongs to the registry
//! that was asked, and displaces nothing of this site. Follows section 5.4 of ARD. It does not search here,
//! verifies nothing of what others say, and hands on no trust manifest.

mod answer;
mod memory;
mod rest;
mod share;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_egress::Answered;
use agentsite_protocol::listing::{A2A_CARD, ListingId, MCP_SERVER_CARD};
use agentsite_protocol::{Clock, Filter, Query};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use url::Url;

use crate::registry::ForeignEntry;
use crate::scout::Scout;
use memory::Memory;
use rest::Rest;

/// How long all registries together may take: a person waits for the answer.
const TOGETHER: Duration = Duration::from_secs(2);

/// Most registries that one search asks; those named after them are only referred to.
const MAX_ASKED: usize = 8;

/// Results that one registry is asked for: two usual pages.
const RESULTS: usize = 20;

/// Largest answer that is read: every result with a card of its own inside.
const MAX_ANSWER: usize = 512 << 10;

/// Searches that ask elsewhere at the same time; each holds up to [`MAX_ASKED`] connections. Further ones
/// answer from here.
const AT_ONCE: usize = 32;

/// Longest sentence about why a registry did not answer, in letters: it may be the registry's own.
const MAX_WHY: usize = 300;

/// What registries elsewhere are asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpstreamQuery {
    /// What is looked for, in plain language.
    pub text: String,
    /// What a match must be, in the terms of ARD.
    pub filter: Map<String, Value>,
    /// What binds the prefixes of these terms.
    pub context: Option<Value>,
}

impl UpstreamQuery {
    /// A query in the terms of ARD.
    ///
    /// # Errors
    /// The name of a condition that no other registry can apply.
    pub fn of(query: &Query) -> Result<Self, &'static str> {
        let Filter { tags, protocols, live, max_price, min_trust, .. } = &query.filter;
        let (live, numbers) = (*live, [("maxPrice", max_price.is_some()), ("minTrust", min_trust.is_some())]);
        let lists = query.filter.lists();
        let here_only = lists.iter().filter(|(name, _)| !matches!(*name, "tags" | "protocols"));
        if let Some((name, _)) = here_only.into_iter().find(|(_, values)| !values.is_empty()) {
            return Err(name);
        }
        if let Some((name, _)) = numbers.into_iter().find(|(_, is_set)| *is_set) {
            return Err(name);
        }
        if live {
            return Err("live");
        }
        let mut filter = Map::new();
        if !tags.is_empty() {
            filter.insert("tags".into(), json!(tags));
        }
        let media = |protocol: &String| match protocol.to_lowercase().as_str() {
            "a2a" => Some(A2A_CARD),
            "mcp" => Some(MCP_SERVER_CARD),
            _ => None,
        };
        if !protocols.is_empty() {
            let types: Vec<&str> = protocols.iter().filter_map(media).collect();
            if types.is_empty() {
                return Err("protocols");
            }
            filter.insert("type".into(), json!(types));
        }
        Ok(Self { text: query.text.clone(), filter, context: None })
    }

    /// The request of ARD. Other registries are not to ask further ones.
    fn body(&self) -> Vec<u8> {
        let mut query = json!({ "text": self.text });
        if !self.filter.is_empty() {
            query["filter"] = json!(self.filter);
        }
        if let Some(context) = &self.context {
            query["@context"] = context.clone();
        }
        json!({ "query": query, "federation": "none", "pageSize": RESULTS }).to_string().into_bytes()
    }
}

/// An agent that another registry found.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamMatch {
    /// What that registry says of it, cut to what this site keeps of others.
    pub entry: ForeignEntry,
    /// How well it fits by that registry's word, from 0 to 1.
    pub score: f64,
    /// The registry: its search address without `/search`, where the whole entry can be had.
    pub source: String,
    /// Its place among the registries.
    upstream: usize,
}

/// Which registries were asked, and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// How many were to be asked.
    pub asked: usize,
    /// How many answered.
    pub answered: usize,
    /// Those that did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Unanswered>,
}

/// A registry that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// Its search address.
    pub registry: String,
    /// Why.
    pub why: String,
}

/// What is known elsewhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpstreamMatches {
    /// The agents, each once.
    pub entries: Vec<UpstreamMatch>,
    /// Who was asked.
    pub coverage: Coverage,
}

impl UpstreamMatches {
    /// Puts what was found elsewhere among what was found here, by score; both have scores from 0 to 1. Of
    /// the places so far one registry has at most half and one more, as long as others have something left.
    #[must_use]
    pub fn beside<T>(self, own: Vec<(f64, T)>, tell: impl Fn(UpstreamMatch) -> Option<T>) -> Vec<T> {
        let told = self.entries.into_iter().filter_map(|one| {
            let (score, upstream) = (one.score, one.upstream);
            tell(one).map(|told| (score, upstream, told))
        });
        share::merge(own, told.collect())
    }
}

/// The registries elsewhere.
#[derive(Debug)]
pub struct Federation {
    upstreams: Vec<Upstream>,
    scout: Arc<dyn Scout>,
    clock: Arc<dyn Clock>,
    // A std lock: held for a look-up or an insert, never across an await.
    memory: Mutex<Memory>,
    places: Semaphore,
}

#[derive(Debug)]
struct Upstream {
    url: Url,
    source: String,
    /// Who publishes there.
    host: String,
    // A std lock: held for a few comparisons.
    rest: Mutex<Rest>,
}

impl Federation {
    /// The registries with these search addresses; what is no address was refused before, and is left out
    /// here.
    #[must_use]
    pub fn new(addresses: &[String], scout: Arc<dyn Scout>, clock: Arc<dyn Clock>) -> Self {
        let upstream = |address: &String| {
            let url = Url::parse(address).ok()?;
            let whole = url.as_str().trim_end_matches('/');
            let source = whole.strip_suffix("/search").unwrap_or(whole).to_owned();
            let host = url.host_str()?.to_owned();
            Some(Upstream { url, source, host, rest: Mutex::default() })
        };
        let upstreams = addresses.iter().filter_map(upstream).take(MAX_ASKED).collect();
        Self { upstreams, scout, clock, memory: Mutex::default(), places: Semaphore::new(AT_ONCE) }
    }

    /// Whether there is no registry to ask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upstreams.is_empty()
    }

    /// Asks all of them.
    pub async fn ask(&self, asked: &UpstreamQuery) -> UpstreamMatches {
        let mut coverage = Coverage { asked: self.upstreams.len(), ..Coverage::default() };
        let Ok(_place) = self.places.try_acquire() else {
            let why = "this site asks elsewhere for many others already; try again soon";
            coverage.failed = self.upstreams.iter().map(|upstream| unanswered(upstream, why)).collect();
            return UpstreamMatches { coverage, ..UpstreamMatches::default() };
        };
        let body = asked.body();
        let asks =
            self.upstreams.iter().enumerate().map(|(place, upstream)| self.ask_one(place, upstream, &body));
        let answers = futures::future::join_all(asks).await;
        let mut known: BTreeMap<ListingId, UpstreamMatch> = BTreeMap::new();
        for (upstream, answer) in self.upstreams.iter().zip(answers) {
            match answer {
                Ok(found) => {
                    coverage.answered += 1;
                    found.iter().for_each(|one| self.take(&mut known, one));
                }
                Err(why) => coverage.failed.push(unanswered(upstream, &why)),
            }
        }
        UpstreamMatches { entries: known.into_values().collect(), coverage }
    }

    /// Takes an agent once: from the registry of its own publisher if that knows it, else from the one that
    /// the operator named first.
    fn take(&self, known: &mut BTreeMap<ListingId, UpstreamMatch>, one: &UpstreamMatch) {
        let own = |one: &UpstreamMatch| self.upstreams[one.upstream].host == one.entry.id.publisher();
        match known.entry(one.entry.id.clone()) {
            Entry::Vacant(free) => drop(free.insert(one.clone())),
            Entry::Occupied(mut taken) => {
                if own(one) && !own(taken.get()) {
                    taken.insert(one.clone());
                }
            }
        }
    }

    async fn ask_one(
        &self,
        place: usize,
        upstream: &Upstream,
        body: &[u8],
    ) -> Result<Arc<Vec<UpstreamMatch>>, String> {
        let now = self.clock.now();
        if let Some(known) = self.memory().recall(place, body, now) {
            return Ok(known);
        }
        if let Some(rest) = lock(&upstream.rest).left(now) {
            return Err(format!("it failed before and is paused for {} s", rest.as_secs() + 1));
        }
        let ask = self.scout.ask(upstream.url.clone(), body.to_vec(), MAX_ANSWER, TOGETHER);
        let late = |_| Err(format!("it did not answer within {} s", TOGETHER.as_secs()));
        let answered = tokio::time::timeout(TOGETHER, ask).await.unwrap_or_else(late);
        let read = match answered {
            // It works; only this question is not for it.
            Ok(Answered::Refused(why)) => {
                lock(&upstream.rest).answered();
                return Err(why);
            }
            Ok(Answered::Answer(bytes)) => answer::read(&bytes, RESULTS).map(|found| (found, bytes.len())),
            Err(why) => Err(why),
        };
        match read {
            Ok((found, size)) => {
                lock(&upstream.rest).answered();
                let (source, upstream) = (&upstream.source, place);
                let foreign =
                    |(entry, score)| UpstreamMatch { entry, score, source: source.clone(), upstream };
                let found: Arc<Vec<UpstreamMatch>> = Arc::new(found.into_iter().map(foreign).collect());
                self.memory().keep(place, body, now, found.clone(), size);
                Ok(found)
            }
            Err(why) => {
                let rest = lock(&upstream.rest).failed(self.clock.now());
                let (registry, rest) = (upstream.url.as_str(), rest.as_secs());
                tracing::warn!(registry, why, rest, "A registry elsewhere did not answer; it is left alone.");
                Err(why)
            }
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }
}

/// Reads any bytes as the answer of another registry, for the fuzzer.
pub(crate) fn fuzz_answer(bytes: &[u8]) {
    let found = answer::read(bytes, RESULTS).unwrap_or_default();
    assert!(found.len() <= RESULTS, "no more is read than was asked for");
}

fn unanswered(upstream: &Upstream, why: &str) -> Unanswered {
    Unanswered { registry: upstream.url.to_string(), why: why.chars().take(MAX_WHY).collect() }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
