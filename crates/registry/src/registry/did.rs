//! Identities by `did:web`: the keys that a host publishes in its DID document, and what they prove of a card
//! or of a trust manifest.
//!
//! Promises: a document is read only for the host of the entry itself, within bounds, and only from there; a
//! manifest proves an entry only when it names that entry and the entry is at that host. What does not hold
//! is told in a sentence that says what to do. It changes no entry.

use std::collections::BTreeMap;

use agentsite_egress::Fetched;
use agentsite_protocol::listing::Proof;
use agentsite_protocol::{PublicKey, did_web_keys, did_web_place, read_unambiguous, verify_detached};
use futures::StreamExt as _;
use serde_json::Value;
use url::Url;

use super::{Candidate, Registry};

/// Largest DID document that is read; ours have 2 kB.
const MAX_DOCUMENT: usize = 64 << 10;

/// Most different identities that one batch of an import is checked for: catalogues have one publisher, or a
/// few. Entries of further ones are looked at later, as all are.
const MAX_IDENTITIES: usize = 16;

/// Documents that are fetched together.
const AT_ONCE: usize = 8;

/// The trust framework whose signatures are understood: a detached JWS over the canonical JSON of the
/// manifest without `signature`. See docs/ard.md.
const TRUST_SCHEMA: &str = "urn:agentsite:trust:detached-jws";

/// The type of the signature of a trust manifest, as it stands in the header of its JWS.
pub const TRUST_MANIFEST: &str = "trust-manifest+jose";

/// The keys of a DID document by their names, or why there are none.
type Keys = Result<Vec<(String, PublicKey)>, String>;

/// What an entry of a catalogue says of who published it.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    did: String,
    entry: String,
    manifest: Value,
    signature: String,
}

impl Claim {
    /// The claim of an entry whose manifest is signed in the form that is understood here; other entries
    /// claim nothing.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let mut manifest = entry.get("trustManifest")?.clone();
        let did = manifest["identity"].as_str().filter(|did| did.starts_with("did:web:"))?.to_owned();
        if manifest["trustSchema"]["identifier"] != TRUST_SCHEMA {
            return None;
        }
        let Value::String(signature) = manifest.as_object_mut()?.remove("signature")? else { return None };
        Some(Self { did, entry: entry["identifier"].as_str()?.to_owned(), manifest, signature })
    }

    /// Why the claim does not hold with these keys of its identity.
    fn check(&self, keys: &Keys) -> Result<(), String> {
        let keys = keys.as_ref().map_err(Clone::clone)?;
        let names_entry = |one: &Value| one["sourceId"] == self.entry.as_str();
        if !self.manifest["provenance"].as_array().is_some_and(|all| all.iter().any(names_entry)) {
            return Err(
                "it does not name this entry in `provenance`; take it from the publisher's own catalogue"
                    .into(),
            );
        }
        let publisher = self.entry.split(':').nth(2).unwrap_or_default();
        let host = did_web_place(&self.did).map(|(authority, _)| host_of(&authority).to_owned());
        if host.as_deref() != Some(publisher) {
            return Err(format!("{} is not the identity of the publisher {publisher}", short(&self.did)));
        }
        let signed = |(_, key): &(String, PublicKey)| {
            verify_detached(&self.manifest, &self.signature, key, TRUST_MANIFEST).is_ok()
        };
        if keys.iter().any(signed) {
            return Ok(());
        }
        Err(format!(
            "no key of {} signed it; take it anew from the publisher's own catalogue",
            short(&self.did)
        ))
    }
}

impl Registry {
    /// The keys that a `did:web` publishes, when it is the identity of one of these places.
    pub(super) async fn did_keys(&self, did: &str, places: &[&Url]) -> Keys {
        let (authority, path) =
            did_web_place(did).ok_or_else(|| format!("{} is no did:web that can be read", short(did)))?;
        let place = places.iter().find(|place| authority_of(place) == authority);
        let place = place.ok_or_else(|| {
            format!(
                "{} is not the identity of the agent's own host; sign with a key of that host",
                short(did)
            )
        })?;
        // By the same scheme as the agent itself, which is on the same host and port.
        let url = Url::parse(&format!("{}://{authority}{path}", place.scheme()))
            .map_err(|error| format!("{} is no did:web that can be read: {error}", short(did)))?;
        let todo = format!("publish it at {url} and refresh the entry");
        let fetched = self.scout.fetch(url, None, MAX_DOCUMENT, self.settings.timeout.0).await;
        let bytes = match fetched {
            Ok(Fetched::Document { bytes, url: from, .. }) if authority_of(&from) == authority => bytes,
            Ok(_) => return Err(format!("the document of {} leads elsewhere; {todo}", short(did))),
            Err(why) => {
                return Err(format!("the document of {} could not be read ({why}); {todo}", short(did)));
            }
        };
        let document = read_unambiguous(&bytes)
            .map_err(|error| format!("the document of {} cannot be read ({error}); {todo}", short(did)))?;
        let keys = did_web_keys(&document, did)
            .ok_or_else(|| format!("the document there is not that of {}; {todo}", short(did)))?;
        if keys.is_empty() {
            return Err(format!("the document of {} names no Ed25519 or P-256 key; {todo}", short(did)));
        }
        Ok(keys)
    }

    /// Finds out which claims of a batch hold; what holds is a proof, what does not a warning.
    pub(super) async fn check_claims(&self, claims: Vec<(&mut Candidate, Claim)>) {
        let mut wanted: BTreeMap<String, Url> = BTreeMap::new();
        for (candidate, claim) in &claims {
            let known = wanted.len() < MAX_IDENTITIES || wanted.contains_key(&claim.did);
            if let Some(at) = place(candidate).filter(|_| known) {
                wanted.entry(claim.did.clone()).or_insert(at);
            }
        }
        let looks = wanted.into_iter().map(|(did, at)| async move {
            let keys = self.did_keys(&did, &[&at]).await;
            (did, keys)
        });
        let keys: BTreeMap<String, Keys> =
            futures::stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
        for (candidate, claim) in claims {
            let Some(keys) = keys.get(&claim.did) else { continue };
            let at_home = did_web_place(&claim.did).map(|(authority, _)| authority)
                == place(candidate).map(|at| authority_of(&at));
            let outcome = if at_home {
                claim.check(keys)
            } else {
                Err(format!("{} is not the identity of the agent's own host", short(&claim.did)))
            };
            match outcome {
                Ok(()) => candidate.proof = candidate.proof.max(Proof::Signature),
                Err(why) => candidate.warnings.push(warning("its trust manifest", &why)),
            }
        }
    }
}

/// A warning about something that was to prove an entry.
pub(super) fn warning(what: &str, why: &str) -> String {
    format!("{what} counts for nothing: {why}").chars().take(300).collect()
}

/// Where the agent of a candidate is: its document, or where it is called.
fn place(candidate: &Candidate) -> Option<Url> {
    let named = candidate.draft.url.as_deref().or(candidate.draft.endpoint.as_deref())?;
    Url::parse(named).ok()
}

/// Host and port of an address, as they stand in a `did:web`.
fn authority_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn host_of(authority: &str) -> &str {
    authority.split(':').next().unwrap_or_default()
}

/// An identity that others wrote, cut for a sentence.
fn short(did: &str) -> String {
    did.chars().filter(|letter| !letter.is_control()).take(100).collect()
}
