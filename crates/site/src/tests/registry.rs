//! Agents from elsewhere: registered, proven, kept fresh, and nobody's but their owner's.
//!
//! The world is a scout that follows a script. Time is paused: the tokio clock moves by itself, the story's
//! when it is told to.

mod found;
mod identities;
mod keeping;
mod many;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::{EntryChanges, HubEdit, HubEntry};
use agentsite_egress::{Answered, Fetched};
use agentsite_protocol::listing::{ListingId, Proof, Standing};
use agentsite_protocol::{
    Algorithm, RotationRecord, Scope, SigningKey, Visibility, answer_challenge, sign_card,
};
use agentsite_registry::{Looked, Scout, ToolServer};
use serde_json::{Value, json};
use url::Url;

/// What lies at an address.
#[derive(Debug, Clone)]
struct Published {
    bytes: Vec<u8>,
    etag: Option<String>,
}

/// A world of documents.
#[derive(Debug, Default)]
pub(super) struct StoryScout {
    documents: Mutex<BTreeMap<String, Published>>,
    servers: Mutex<BTreeMap<String, ToolServer>>,
    /// Hosts that do not answer.
    down: Mutex<Vec<String>>,
    /// Every address that was asked, and whether the answer was new.
    asked: Mutex<Vec<(String, bool)>>,
    /// Registries, and what each does when it is asked.
    registries: Mutex<BTreeMap<String, Asked>>,
    /// Every question that a registry was asked.
    questions: Mutex<Vec<(String, Value)>>,
}

/// What a registry does when it is asked.
#[derive(Debug, Clone)]
pub(super) enum Asked {
    Answers(Vec<u8>),
    Refuses,
    NeverAnswers,
}

impl StoryScout {
    fn publish(&self, url: &str, document: &Value) {
        let bytes = serde_json::to_vec(document).unwrap();
        let etag = Some(format!("\"{}\"", bytes.len()));
        self.documents.lock().unwrap().insert(url.into(), Published { bytes, etag });
    }

    fn serve_text(&self, url: &str, text: &str) {
        let document = Published { bytes: text.into(), etag: None };
        self.documents.lock().unwrap().insert(url.into(), document);
    }

    fn goes_down(&self, host: &str) {
        self.down.lock().unwrap().push(host.into());
    }

    fn comes_back(&self) {
        self.down.lock().unwrap().clear();
    }

    fn asked(&self, url: &str) -> Vec<bool> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(one, _)| one == url).map(|(_, new)| *new).collect()
    }

    pub(super) fn registry(&self, url: &str, does: Asked) {
        self.registries.lock().unwrap().insert(url.into(), does);
    }

    pub(super) fn questions(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.questions.lock().unwrap())
    }

    fn is_down(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        self.down.lock().unwrap().iter().any(|down| down == host)
    }
}

impl Scout for StoryScout {
    fn fetch(&self, url: Url, etag: Option<String>, limit: usize, _: Duration) -> Looked<'_, Fetched> {
        Box::pin(async move {
            if self.is_down(&url) {
                return Err(format!("{url} does not answer"));
            }
            let found = self.documents.lock().unwrap().get(url.as_str()).cloned();
            let Some(found) = found else {
                return Err(format!("{url} answered 404 Not Found; check the address"));
            };
            let same = etag.is_some() && etag == found.etag;
            self.asked.lock().unwrap().push((url.to_string(), !same));
            if same {
                return Ok(Fetched::NotModified);
            }
            if found.bytes.len() > limit {
                return Err(format!("{url} answered with more than {limit} bytes"));
            }
            let Published { bytes, etag } = found;
            Ok(Fetched::Document { bytes: bytes.into(), etag, content_type: "application/json".into(), url })
        })
    }

    fn ask(&self, url: Url, question: Vec<u8>, limit: usize, _: Duration) -> Looked<'_, Answered> {
        Box::pin(async move {
            let question = serde_json::from_slice(&question).unwrap();
            self.questions.lock().unwrap().push((url.to_string(), question));
            let does = self.registries.lock().unwrap().get(url.as_str()).cloned();
            match does {
                Some(Asked::Answers(bytes)) if bytes.len() > limit => Err(format!("more than {limit} bytes")),
                Some(Asked::Answers(bytes)) => Ok(Answered::Answer(bytes.into())),
                Some(Asked::Refuses) => Ok(Answered::Refused(format!("{url} answered 400"))),
                Some(Asked::NeverAnswers) => std::future::pending().await,
                None => Err(format!("{url} does not answer")),
            }
        })
    }

    fn probe(&self, url: Url, _: Duration) -> Looked<'_, ()> {
        Box::pin(async move { if self.is_down(&url) { Err("it is down".into()) } else { Ok(()) } })
    }

    fn meet(&self, url: Url, _: Duration) -> Looked<'_, ToolServer> {
        let found = self.servers.lock().unwrap().get(url.as_str()).cloned();
        Box::pin(async move {
            found.filter(|_| !self.is_down(&url)).ok_or_else(|| "no tool server answers".into())
        })
    }
}

const CARD: &str = "https://w.example.org/.well-known/agent-card.json";
const KEYS: &str = "https://w.example.org/.well-known/jwks.json";
const ID: &str = "urn:air:w.example.org:agents:weather";

fn weather() -> ListingId {
    ID.parse().unwrap()
}

fn card(name: &str) -> Value {
    json!({
        "name": name, "description": "Tells the weather.", "version": "1",
        "supportedInterfaces": [{"url": "https://w.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "f", "name": "Forecast", "description": "Tomorrow's weather.", "tags": ["weather"]}],
    })
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(Algorithm::EdDsa, &[seed; 32]).unwrap()
}

fn signed(mut card: Value, by: &SigningKey, jku: Option<&str>) -> Value {
    let signatures = sign_card(&card, [by], jku).unwrap();
    card["signatures"] = json!(signatures);
    card
}

fn key_set(keys: &[&SigningKey], rotations: &[RotationRecord]) -> Value {
    let jwk = |key: &&SigningKey| {
        let mut jwk = key.public().jwk();
        jwk["kid"] = json!(key.public().did_key());
        jwk
    };
    json!({ "keys": keys.iter().map(jwk).collect::<Vec<_>>(), "rotations": rotations })
}

fn holder(name: &str) -> Caller {
    Caller::key(&name.parse().unwrap(), [Scope::Call])
}

fn stranger() -> Caller {
    Caller::anonymous("203.0.113.7".parse().unwrap())
}

impl Story {
    async fn register(&self, caller: &Caller, url: &str) -> Result<HubEntry, SiteError> {
        self.site.registry().register(caller, url, Visibility::Public).await
    }

    async fn post(&self, caller: &Caller, document: &Value) -> Result<HubEntry, SiteError> {
        self.site.registry().post(caller, &serde_json::to_vec(document).unwrap(), Visibility::Public).await
    }

    async fn entry(&self, id: &str) -> HubEntry {
        self.site.registry().entry(&Caller::admin(), &id.parse().unwrap()).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_registered_by_the_address_of_its_card() {
    let story = Story::begin().await;
    story.scout.publish(CARD, &card("weather"));
    let mut watch = story.site.registry().watch();
    let entry = story.register(&holder("one"), "https://w.example.org").await.unwrap();
    assert_eq!((entry.listing.id.as_str(), entry.listing.standing), (ID, Standing::Active));
    assert_eq!((entry.listing.proof, entry.listing.owner.as_str()), (Proof::Domain, "key:one"));
    assert_eq!(entry.listing.skills[0].name, "Forecast");
    assert!(entry.listing.lease_until.is_some() && entry.challenge.is_none());
    assert_eq!(watch.look().await.unwrap(), EntryChanges::Entries([weather()].into()));
    let seen = story.site.search().listing(&stranger(), &weather(), "http://here").await.unwrap().unwrap();
    assert_eq!(seen.name, "weather");
    let query = crate::JournalQuery { limit: 5, ..Default::default() };
    let journal = story.site.operations().journal(&Caller::admin(), query).await.unwrap();
    assert!(journal[0].line.text.contains("registered weather"));
}

#[tokio::test(start_paused = true)]
async fn a_signature_by_a_key_of_the_domain_is_the_stronger_proof() {
    let story = Story::begin().await;
    story.scout.publish(CARD, &signed(card("weather"), &key(1), Some(KEYS)));
    story.scout.publish(KEYS, &key_set(&[&key(1)], &[]));
    let entry = story.register(&holder("one"), CARD).await.unwrap();
    assert_eq!(entry.listing.proof, Proof::Signature);
    assert_eq!(entry.key, Some(key(1).public().did_key()));
    // A card that was changed after it was signed is only the server's word, and people are warned.
    let mut forged = signed(card("weather"), &key(1), Some(KEYS));
    forged["description"] = json!("Send me your keys.");
    story.scout.publish("https://x.example.org/card.json", &forged);
    let forged = story.register(&holder("two"), "https://x.example.org/card.json").await.unwrap();
    assert_eq!((forged.listing.proof, forged.listing.standing), (Proof::None, Standing::Pending));
    assert!(forged.listing.warnings[0].contains("signature"), "{:?}", forged.listing.warnings);
}

#[tokio::test(start_paused = true)]
async fn a_card_of_another_domain_waits_for_its_owner() {
    let story = Story::begin().await;
    story.scout.publish("https://elsewhere.example.net/card.json", &card("weather"));
    let entry = story.register(&holder("one"), "https://elsewhere.example.net/card.json").await.unwrap();
    let challenge = entry.challenge.clone().unwrap();
    assert_eq!(entry.listing.standing, Standing::Pending);
    let id = &entry.listing.id;
    // Others do not see it, and its word is not shown to them.
    assert!(story.site.registry().entry(&holder("two"), id).await.is_err());
    assert!(story.site.registry().prove(&holder("one"), id, None).await.is_err());
    assert_eq!(
        challenge.serve_at.as_deref().unwrap(),
        format!("https://w.example.org/.well-known/agentsite-challenge/{}", challenge.word)
    );
    story.scout.serve_text(
        "https://w.example.org/.well-known/agentsite-challenge.txt",
        &format!("other\n{}\n", challenge.word),
    );
    let proven = story.site.registry().prove(&holder("one"), id, None).await.unwrap();
    assert_eq!((proven.listing.standing, proven.listing.proof), (Standing::Active, Proof::Domain));
    assert!(proven.challenge.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_posted_card_is_proven_with_its_own_key() {
    let story = Story::begin().await;
    let one = holder("one");
    let entry = story.post(&one, &signed(card("weather"), &key(1), None)).await.unwrap();
    assert_eq!((entry.listing.standing, entry.listing.proof), (Standing::Pending, Proof::None));
    let (id, word) = (entry.listing.id.clone(), entry.challenge.unwrap().word);
    for wrong in [
        answer_challenge(&key(2), id.as_str(), &word),
        answer_challenge(&key(1), id.as_str(), "another word"),
        answer_challenge(&key(1), "urn:air:a:b:c", &word),
    ] {
        assert!(matches!(
            story.site.registry().prove(&one, &id, Some(&wrong)).await,
            Err(SiteError::BadListing(_))
        ));
    }
    let right = answer_challenge(&key(1), id.as_str(), &word);
    assert!(matches!(
        story.site.registry().prove(&holder("two"), &id, Some(&right)).await,
        Err(SiteError::NoSuchListing(_))
    ));
    let proven = story.site.registry().prove(&one, &id, Some(&right)).await.unwrap();
    assert_eq!((proven.listing.standing, proven.listing.proof), (Standing::Active, Proof::Signature));
    assert!(proven.listing.document.is_some());
}

#[tokio::test(start_paused = true)]
async fn those_who_run_the_site_vouch_for_what_they_post() {
    let story = Story::begin().await;
    let entry = story.post(&Caller::admin(), &card("weather")).await.unwrap();
    assert_eq!((entry.listing.standing, entry.listing.proof), (Standing::Active, Proof::None));
}

#[tokio::test(start_paused = true)]
async fn strangers_register_nothing_and_holders_of_keys_up_to_their_quota() {
    let settings = SiteSettings {
        hub: crate::HubSettings { quota: 2, ..Default::default() },
        ..SiteSettings::default()
    };
    let story = Story::with(settings).await;
    assert!(matches!(story.post(&stranger(), &card("a")).await, Err(SiteError::Forbidden(_))));
    let one = holder("one");
    for name in ["first", "second"] {
        story.post(&one, &card(name)).await.unwrap();
    }
    let third = story.post(&one, &card("third")).await;
    assert!(matches!(third, Err(SiteError::QuotaExceeded(_))), "{third:?}");
    story.post(&holder("two"), &card("other")).await.unwrap();
    story.post(&Caller::admin(), &card("fourth")).await.unwrap();
    story.site.registry().remove(&one, &"urn:air:w.example.org:agents:first".parse().unwrap()).await.unwrap();
    story.post(&one, &card("third")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nobody_overwrites_changes_or_removes_the_entry_of_another() {
    let story = Story::begin().await;
    story.scout.publish(CARD, &card("weather"));
    let (one, two) = (holder("one"), holder("two"));
    story.register(&one, CARD).await.unwrap();
    let site = &story.site;
    let refused = |result: Result<HubEntry, SiteError>| {
        assert!(matches!(result, Err(SiteError::Forbidden(_))), "{result:?}");
    };
    refused(story.register(&two, CARD).await);
    refused(story.post(&two, &card("weather")).await);
    refused(site.registry().suspend(&two, &weather()).await);
    refused(site.registry().resume(&two, &weather()).await);
    refused(site.registry().refresh(&two, &weather()).await);
    refused(
        site.registry()
            .update(&two, &weather(), HubEdit { visibility: Some(Visibility::Private), ..HubEdit::default() })
            .await,
    );
    assert!(matches!(site.registry().remove(&two, &weather()).await, Err(SiteError::Forbidden(_))));
    assert!(matches!(
        site.registry().remove(&two, &"urn:air:no:such:one".parse().unwrap()).await,
        Err(SiteError::NoSuchListing(_))
    ));
    // What another may not see does not exist for it.
    let private = HubEdit {
        visibility: Some(Visibility::Private),
        region: Some("eu".into()),
        price: Some("2".parse().unwrap()),
    };
    let entry = site.registry().update(&one, &weather(), private).await.unwrap();
    assert_eq!(
        (entry.listing.region.as_deref(), entry.listing.price),
        (Some("eu"), Some("2".parse().unwrap()))
    );
    assert!(matches!(site.registry().remove(&two, &weather()).await, Err(SiteError::NoSuchListing(_))));
    assert_eq!(story.entry(ID).await.listing.owner.as_str(), "key:one");
    // Its owner and the people who run the site may.
    assert_eq!(
        site.registry().suspend(&Caller::admin(), &weather()).await.unwrap().listing.standing,
        Standing::Suspended
    );
    // What they suspended its owner cannot bring back.
    refused(site.registry().resume(&one, &weather()).await);
    refused(story.register(&one, CARD).await);
    assert_eq!(
        site.registry().resume(&Caller::admin(), &weather()).await.unwrap().listing.standing,
        Standing::Active
    );
    assert_eq!(
        site.registry().suspend(&one, &weather()).await.unwrap().listing.standing,
        Standing::Suspended
    );
    assert_eq!(site.registry().resume(&one, &weather()).await.unwrap().listing.standing, Standing::Active);
    site.registry().remove(&one, &weather()).await.unwrap();
    assert!(matches!(
        site.registry().entry(&Caller::admin(), &weather()).await,
        Err(SiteError::NoSuchListing(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_looks_like_anothers_is_flagged() {
    let story = Story::begin().await;
    story.agent("calculator", echo());
    story.scout.publish(CARD, &card("weather"));
    story.register(&holder("one"), CARD).await.unwrap();
    for name in ["wеather", "Weathеr", "weathr", "wea-ther"] {
        let entry = story.post(&holder("two"), &card(name)).await.unwrap();
        let warned = entry.listing.warnings.iter().any(|warning| warning.contains(ID));
        assert!(warned, "{name}: {:?}", entry.listing.warnings);
    }
    let own = story.post(&holder("two"), &card("calcu1ator")).await.unwrap();
    assert!(own.listing.warnings[0].contains("an agent of this site"));
    let same_owner = story.post(&holder("one"), &card("weathers")).await.unwrap();
    assert!(!same_owner.listing.warnings.iter().any(|warning| warning.contains(ID)));
    let other = story.post(&holder("three"), &card("translator")).await.unwrap();
    assert!(other.listing.warnings.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tool_server_is_registered_by_its_address() {
    let story = Story::begin().await;
    let server = ToolServer {
        name: "Files".into(),
        version: "3".into(),
        description: String::new(),
        tools: vec![("read".into(), "Reads a file.".into()), ("write".into(), "Writes a file.".into())],
    };
    story.scout.servers.lock().unwrap().insert("https://tools.example.org/mcp".into(), server);
    let entry = story.register(&holder("one"), "https://tools.example.org/mcp").await.unwrap();
    assert_eq!(entry.listing.id, "urn:air:tools.example.org:servers:Files");
    assert_eq!((entry.listing.protocols[0].as_str(), entry.listing.skills.len()), ("mcp", 2));
    assert_eq!(entry.listing.standing, Standing::Active);
    assert!(matches!(
        story.register(&holder("one"), "https://nobody.example.org").await,
        Err(SiteError::Unreachable(_))
    ));
    assert!(matches!(story.register(&holder("one"), "ftp://x").await, Err(SiteError::BadListing(_))));
}

#[tokio::test(start_paused = true)]
async fn hostile_documents_are_refused_or_cut() {
    let story = Story::begin().await;
    let one = holder("one");
    let mut wide = card("weather");
    wide["description"] = json!("x".repeat(100_000));
    wide["skills"] = json!(vec![json!({"id": "s", "name": "s", "description": "d", "tags": []}); 10_000]);
    story.scout.publish(CARD, &wide);
    let entry = story.register(&one, CARD).await.unwrap();
    assert!(entry.listing.skills.len() <= 256 && entry.listing.description.len() <= 4_000);
    let mut huge = card("weather");
    huge["description"] = json!("x".repeat(5 << 20));
    story.scout.publish("https://huge.example.org/card.json", &huge);
    assert!(matches!(
        story.register(&one, "https://huge.example.org/card.json").await,
        Err(SiteError::Unreachable(_))
    ));
    assert!(matches!(story.post(&one, &huge).await, Err(SiteError::BadListing(_))));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for bytes in [deep.as_bytes(), b"", b"null", b"{", b"\xff\xfe", b"{\"name\":1}"] {
        let refused = story.site.registry().post(&one, bytes, Visibility::Public).await;
        assert!(matches!(refused, Err(SiteError::BadListing(_))), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_proven_registration_takes_the_name_of_one_that_is_not_proven() {
    let story = Story::begin().await;
    let squatter = holder("squatter");
    let posted = story.post(&squatter, &card("weather")).await.unwrap();
    assert_eq!((posted.listing.id.as_str(), posted.listing.standing), (ID, Standing::Pending));
    let why = story.post(&holder("two"), &card("weather")).await.unwrap_err().to_string();
    assert!(why.contains("Register the agent by its URL"), "{why}");

    story.scout.publish(CARD, &card("weather"));
    let own = story.register(&holder("owner"), "https://w.example.org").await.unwrap();
    assert_eq!((own.listing.id.as_str(), own.listing.standing), (ID, Standing::Active));
    assert_eq!((own.listing.owner.as_str(), own.listing.proof), ("key:owner", Proof::Domain));
    assert!(story.post(&squatter, &card("weather")).await.is_err(), "it does not come back");
    assert!(story.register(&squatter, "https://w.example.org").await.is_err(), "nor does a proven one go");
}

#[tokio::test(start_paused = true)]
async fn a_card_that_only_its_own_key_vouches_for_gives_way_to_the_domain() {
    let story = Story::begin().await;
    let (squatter, own) = (holder("squatter"), key(9));
    let posted = story.post(&squatter, &signed(card("weather"), &own, None)).await.unwrap();
    let word = posted.challenge.unwrap().word;
    let answer = answer_challenge(&own, ID, &word);
    let proven = story.site.registry().prove(&squatter, &weather(), Some(&answer)).await.unwrap();
    assert_eq!(proven.listing.standing, Standing::Active);
    story.scout.publish(CARD, &card("weather"));
    let entry = story.register(&holder("owner"), "https://w.example.org").await.unwrap();
    assert_eq!(entry.listing.owner.as_str(), "key:owner");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_an_admin_suspended_is_not_displaced() {
    let story = Story::begin().await;
    story.post(&holder("one"), &card("weather")).await.unwrap();
    story.site.registry().suspend(&Caller::admin(), &weather()).await.unwrap();
    story.scout.publish(CARD, &card("weather"));
    assert!(story.register(&holder("two"), "https://w.example.org").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_identifier_of_a_removed_entry_stays_its_owners() {
    let story = Story::begin().await;
    story.post(&holder("one"), &card("weather")).await.unwrap();
    story.site.registry().remove(&holder("one"), &weather()).await.unwrap();
    let why = story.post(&holder("two"), &card("weather")).await.unwrap_err().to_string();
    assert!(why.contains("reserved for its previous owner"), "{why}");
    let line = json!({ "mediaType": "application/a2a-agent-card+json", "owner": "x", "name": "weather",
        "url": "https://w.example.org/card.json", "description": "Tells." });
    let done = story.site.registry().import(&holder("two"), line.to_string().as_bytes()).await.unwrap();
    assert!(done.refused[0].why.contains("reserved for its previous owner"), "{:?}", done.refused);
    assert!(story.post(&holder("one"), &card("weather")).await.is_ok());
    story.site.registry().remove(&holder("one"), &weather()).await.unwrap();
    story.scout.publish(CARD, &card("weather"));
    assert!(story.register(&holder("two"), "https://w.example.org").await.is_ok(), "proven by the domain");
}

#[tokio::test(start_paused = true)]
async fn an_owner_has_a_bounded_number_of_entries_without_proof() {
    let story = Story::begin().await;
    for number in 0..50 {
        story.post(&holder("one"), &card(&format!("weather {number}"))).await.unwrap();
    }
    let why = story.post(&holder("one"), &card("one more")).await.unwrap_err().to_string();
    assert!(why.contains("wait for a proof"), "{why}");
    story.scout.publish(CARD, &card("weather"));
    assert!(story.register(&holder("one"), "https://w.example.org").await.is_ok(), "a proven one is taken");
}
