//! Digest: what makes two imports of an entry the same.
//!
//! Promises: pure, and the same in every version of the program, because it is stored with the entry: the
//! form that is digested is that of an entry which nothing else is known of. Whether an agent answers, when
//! it changed and its further interfaces are not part of it.

use agentsite_protocol::listing::{Proof, Standing};
use agentsite_protocol::{Money, Skill, Timestamp, Visibility};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::draft::Draft;

/// The form that is digested; the order and the names of its members never change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Digested<'a> {
    id: &'static str,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    media_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: &'a Option<Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    skills: &'a [Skill],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    local: bool,
    visibility: Visibility,
    owner: &'static str,
    standing: Standing,
    proof: Proof,
    live: bool,
    trust: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Money>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: &'a Option<String>,
    registered_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> Digested<'a> {
    fn of(draft: &'a Draft) -> Self {
        let never = Timestamp::from_millis(0);
        Self {
            id: "",
            name: &draft.name,
            description: &draft.description,
            version: &draft.version,
            media_type: &draft.media_type,
            url: &draft.url,
            document: &draft.document,
            skills: &draft.skills,
            tags: &draft.tags,
            input_modes: &draft.input_modes,
            output_modes: &draft.output_modes,
            local: false,
            visibility: draft.visibility.unwrap_or(Visibility::Public),
            owner: "",
            standing: Standing::Pending,
            proof: Proof::None,
            live: false,
            trust: 0.5,
            price: draft.price,
            region: &draft.region,
            registered_at: never,
            updated_at: never,
        }
    }
}

/// The digest of what is imported.
pub(super) fn digest(draft: &Draft) -> String {
    let text = serde_json::to_vec(&Digested::of(draft)).unwrap_or_default();
    Sha256::digest(&text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Principal;
    use agentsite_protocol::listing::{Listing, ListingId};
    use serde_json::json;

    use super::super::listed::bare;
    use super::*;

    /// Earlier versions digested an entry without id and owner.
    fn as_entry(draft: &Draft) -> String {
        let id = ListingId::of("a", "b", "c");
        let entry = bare(draft, id.clone(), Principal::site());
        let plain = Listing { interfaces: Vec::new(), protocols: Vec::new(), ..entry };
        let text = serde_json::to_string(&plain).unwrap();
        let text = text.replacen(&format!("\"id\":\"{id}\""), "\"id\":\"\"", 1);
        text.replacen("\"owner\":\"site\"", "\"owner\":\"\"", 1)
    }

    #[test]
    fn what_is_digested_is_an_entry_without_id_and_owner_as_in_earlier_versions() {
        let entry = json!({
            "id": "urn:air:a:b:c", "name": "X", "description": "Does x.", "version": "2", "owner": "key:k",
            "mediaType": "application/a2a-agent-card+json", "url": "https://a.example/card.json",
            "skills": [{ "id": "s", "name": "S", "description": "d", "tags": ["t"], "examples": ["e"] }],
            "tags": ["t"], "protocols": ["a2a"], "inputModes": ["text/plain"], "outputModes": ["text/plain"],
            "price": 3, "region": "eu", "visibility": "peers",
        });
        let posted = json!({ "name": "Y", "description": "", "version": "", "skills": [] });
        for value in [entry, posted] {
            let draft = Draft::read(&value).unwrap();
            assert_eq!(serde_json::to_string(&Digested::of(&draft)).unwrap(), as_entry(&draft));
        }
    }

    #[test]
    fn a_stored_digest_is_recognised() {
        let draft = Draft { name: "calc".into(), media_type: "x".into(), ..Draft::default() };
        assert_eq!(digest(&draft), "ed95211bb62af7b81cd436e5259efd1e");
    }
}
