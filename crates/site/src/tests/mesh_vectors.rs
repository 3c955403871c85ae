//! Vectors that other sites put into their records are used by the search, and not made again.
//!
//! How they are made and checked is told in `peers`.

use agentsite_peers::PROTOCOL_MODEL;
use agentsite_protocol::Principal;
use agentsite_search::{EmbedError, Embedder, Embedders, FinderSettings, Hashed, ModelId, Vector};
use agentsite_store::{Change, Collection, ListingChange, Registration, Unjournaled};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::*;

const SITE: &str = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
const NUMBERS: usize = 384;

/// Where `peers` keeps records.
const RECORDS: Collection<String> = Collection::new("mesh_records");

/// The model of the protocol, which must not be asked for vectors.
#[derive(Debug)]
struct Silent(ModelId);

impl Embedder for Silent {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn dimensions(&self) -> usize {
        NUMBERS
    }

    fn embed<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async { Err(EmbedError::Endpoint("it was asked".into())) })
    }
}

fn vector(number: u8) -> String {
    URL_SAFE_NO_PAD.encode([number; NUMBERS])
}

/// An agent of another site: its entry, and its record with these vectors of skills.
async fn arrives(story: &Story, name: &str, skills: &[String], ignores_vectors: bool) {
    let listing = json!({
        "id": format!("urn:air:{}:agents:{name}", &SITE["did:key:".len()..]), "name": name,
        "description": "Forecasts the weather", "mediaType": "application/a2a-agent-card+json",
        "skills": [{ "id": "s", "name": "Forecast", "description": "Tells the weather of tomorrow", "tags": [] }],
        "local": false, "visibility": "public", "owner": Principal::peer(SITE).unwrap(), "standing": "active",
        "proof": "signature", "live": true, "trust": 0.5, "registeredAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
    });
    let entry: Value = json!({ "listing": listing, "revision": 1, "ignoresVectors": ignores_vectors });
    let entry: Registration = serde_json::from_value(entry).unwrap();
    let vectors = json!({
        "agent": vector(3), "dimensions": NUMBERS, "model": PROTOCOL_MODEL, "skills": skills,
    });
    let payload = json!({ "agent": { "vectors": vectors } }).to_string();
    let record = STANDARD_NO_PAD.encode([&[0; 64][..], payload.as_bytes()].concat());
    let record = RECORDS.put(&format!("{SITE} agent {name}"), None, 0, &record).unwrap();
    let change =
        Change::unjournaled(Unjournaled::PeerRecords).edit(record).edit(ListingChange::Put(Box::new(entry)));
    let shared: SharedStore = Arc::new(story.store.clone());
    shared.commit(change).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_all_of_its_vectors_needs_no_encoder() {
    let full: Arc<dyn Embedder> = Arc::new(Silent(ModelId::new(PROTOCOL_MODEL)));
    let embedders = Embedders { fast: Arc::new(Hashed::new(64)), full: Some(full) };
    let search = FinderSettings { folder: None, embedders };
    let story = Story::with(SiteSettings { search, ..SiteSettings::default() }).await;
    let pending = async || {
        let asked = agentsite_protocol::Query::of("weather");
        let found = story.site.search().find(&Caller::admin(), &asked, "").await.unwrap();
        (found.matches.len(), story.site.status(&Caller::admin()).await.unwrap().search.pending)
    };
    let before = pending().await.1;
    arrives(&story, "complete", &[vector(5)], false).await;
    assert_eq!(pending().await, (1, before));
    arrives(&story, "partial", &[], false).await;
    assert_eq!(pending().await, (2, before + 1), "the vector of its skill is missing");
    arrives(&story, "ignored", &[vector(5)], true).await;
    assert_eq!(pending().await, (3, before + 2), "its vectors did not belong to its texts");
}
