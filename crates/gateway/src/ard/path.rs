//! Path: where a filter or a facet looks in an entry, such as `trustManifest.attestations.type`.
//!
//! Promises: pure and bounded; a path is checked once, when it is read. An array on the way means each of its
//! elements. `publisher` stands for the publisher in the identifier, which is no member of its own. It does
//! not compare.

use serde_json::{Map, Value};

/// Longest path, in bytes; those of the specification have about thirty.
const MAX_PATH: usize = 200;

/// Most segments of a path.
const MAX_SEGMENTS: usize = 8;

/// What an entry may have at its top.
const TERMS: [&str; 13] = [
    "identifier",
    "displayName",
    "type",
    "url",
    "data",
    "description",
    "tags",
    "capabilities",
    "representativeQueries",
    "version",
    "updatedAt",
    "metadata",
    "trustManifest",
];

/// A place in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Path {
    /// The publisher in the identifier.
    Publisher,
    /// A member, or a member of a member.
    Member(Vec<String>),
    /// A term of a vocabulary that no entry here uses: found nowhere.
    Nowhere,
}

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no field of an entry; there are publisher, {all}, and what lies below the last two and data", all = TERMS.join(", "))]
pub(super) struct NoSuchField(String);

impl Path {
    /// Reads a path.
    pub(super) fn read(text: &str) -> Result<Self, NoSuchField> {
        let wrong = || NoSuchField(text.chars().take(60).collect());
        if text == "publisher" || text == "publisherId" {
            return Ok(Self::Publisher);
        }
        let segments: Vec<String> = text.split('.').map(str::to_owned).collect();
        let nested =
            matches!(segments.first().map(String::as_str), Some("metadata" | "trustManifest" | "data"));
        let deep_enough = if nested { segments.len() >= 2 } else { segments.len() == 1 };
        let fits = text.len() <= MAX_PATH && segments.len() <= MAX_SEGMENTS;
        if !fits
            || !deep_enough
            || !TERMS.contains(&segments[0].as_str())
            || segments.iter().any(String::is_empty)
        {
            return Err(wrong());
        }
        Ok(Self::Member(segments))
    }

    /// The texts at this place of an entry; numbers and truth values count as they are written.
    pub(super) fn texts(&self, members: &Map<String, Value>) -> Vec<String> {
        match self {
            Self::Publisher => members
                .get("identifier")
                .and_then(Value::as_str)
                .map(publisher)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            Self::Member(segments) => {
                let mut found = Vec::new();
                if let Some((first, rest)) = segments.split_first()
                    && let Some(value) = members.get(first)
                {
                    collect(value, rest, &mut found);
                }
                found
            }
            Self::Nowhere => Vec::new(),
        }
    }
}

/// The publisher in a `urn:air:` name.
pub(super) fn publisher(identifier: &str) -> &str {
    identifier.strip_prefix("urn:air:").unwrap_or(identifier).split(':').next().unwrap_or_default()
}

fn collect(value: &Value, rest: &[String], found: &mut Vec<String>) {
    match (value, rest.split_first()) {
        (Value::Array(items), _) => items.iter().for_each(|item| collect(item, rest, found)),
        (Value::Object(members), Some((first, rest))) => {
            if let Some(value) = members.get(first) {
                collect(value, rest, found);
            }
        }
        (Value::String(text), None) => found.push(text.clone()),
        (Value::Number(number), None) => found.push(number.to_string()),
        (Value::Bool(truth), None) => found.push(truth.to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(path: &str) -> Vec<String> {
        let entry = json!({
            "identifier": "urn:air:acme.com:x:y", "tags": ["a", "b"], "metadata": { "live": true, "price": 0.5, "gone": null },
            "trustManifest": { "attestations": [{ "type": "SOC2" }, { "type": "GDPR" }] },
        });
        Path::read(path).unwrap().texts(entry.as_object().unwrap())
    }

    #[test]
    fn an_array_on_the_way_means_each_of_its_elements() {
        assert_eq!(texts("trustManifest.attestations.type"), ["SOC2", "GDPR"]);
        assert_eq!(texts("tags"), ["a", "b"]);
        assert_eq!(texts("publisher"), ["acme.com"]);
        assert_eq!(texts("metadata.live"), ["true"]);
        assert_eq!(texts("metadata.price"), ["0.5"]);
        assert!(texts("metadata.gone").is_empty() && texts("version").is_empty());
    }

    #[test]
    fn what_no_entry_has_is_no_path() {
        for bad in
            ["", "colour", "tags.0", "metadata", "metadata.", ".tags", "host.name", &"metadata.x".repeat(30)]
        {
            assert!(Path::read(bad).is_err(), "{bad}");
        }
    }
}
