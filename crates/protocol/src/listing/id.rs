//! ListingId: by what an agent is named everywhere.
//!
//! Promises: there is one parser; a value always has the form `urn:air:<publisher>:<namespace>:<name>`,
//! perhaps with further parts, and at most [`MAX_ID`] bytes. It is written as the text that was read.
//! Possession of an id is never authority, and the publisher in it is a claim until an entry is proven.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest id, in bytes: a domain name, a namespace and a long name fit.
const MAX_ID: usize = 512;

/// How many parts follow `urn:air:`.
const PARTS: std::ops::RangeInclusive<usize> = 2..=8;

/// Longest publisher in an id that is made here, in characters: a domain name has at most 253.
const MAX_PUBLISHER: usize = 253;

/// Longest namespace in an id that is made here, in characters; ours have fewer than ten.
const MAX_NAMESPACE: usize = 40;

/// Longest name in an id that is made here, in characters. With the others it stays below [`MAX_ID`].
const MAX_NAME: usize = 208;

/// By what an agent is named everywhere: `urn:air:<publisher>:<namespace>:<name>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ListingId(Arc<str>);

/// A text that does not name an agent everywhere; the text is shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a listing id. Valid form: urn:air:PUBLISHER:NAMESPACE:NAME.")]
pub struct BadListingId(pub String);

impl ListingId {
    /// The id of an agent; invalid characters become `-`.
    #[must_use]
    pub fn of(publisher: &str, namespace: &str, name: &str) -> Self {
        let part = |text: &str, most: usize, fits: fn(char) -> bool| -> String {
            let fit = |letter: char| if fits(letter) { letter } else { '-' };
            let text: String = text.chars().take(most).map(fit).collect();
            if text.is_empty() { "-".into() } else { text }
        };
        let publisher = part(publisher, MAX_PUBLISHER, is_of_publisher);
        let namespace = part(namespace, MAX_NAMESPACE, is_of_name);
        let name = part(name, MAX_NAME, is_of_name);
        Self(format!("urn:air:{publisher}:{namespace}:{name}").into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Who publishes the agent, by what the id says: a domain, perhaps with a port.
    #[must_use]
    pub fn publisher(&self) -> &str {
        self.0.split(':').nth(2).unwrap_or_default()
    }
}

fn is_of_publisher(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || ".-".contains(letter)
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-".contains(letter)
}

/// Whether a text has the form of an id.
fn is_id(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("urn:air:") else { return false };
    let parts: Vec<&str> = rest.split(':').collect();
    PARTS.contains(&parts.len())
        && text.len() <= MAX_ID
        && parts.iter().all(|part| !part.is_empty())
        && parts[0].chars().all(is_of_publisher)
        && parts[1..].iter().all(|part| part.chars().all(is_of_name))
}

impl FromStr for ListingId {
    type Err = BadListingId;

    fn from_str(text: &str) -> Result<Self, BadListingId> {
        if is_id(text) { Ok(Self(text.into())) } else { Err(BadListingId(text.chars().take(200).collect())) }
    }
}

impl TryFrom<String> for ListingId {
    type Error = BadListingId;

    fn try_from(text: String) -> Result<Self, BadListingId> {
        text.parse()
    }
}

impl From<ListingId> for String {
    fn from(id: ListingId) -> Self {
        id.0.as_ref().into()
    }
}

/// Maps by id are asked by text.
impl Borrow<str> for ListingId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ListingId {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for ListingId {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for ListingId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for ListingId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_has_only_what_may_stand_in_it() {
        assert_eq!(ListingId::of("example.org", "agents", "calc"), "urn:air:example.org:agents:calc");
        assert_eq!(ListingId::of("[::1]:8080", "a b", ""), "urn:air:---1--8080:a-b:-");
        assert_eq!(ListingId::of("example.org", "agents", "calc").publisher(), "example.org");
    }

    #[test]
    fn what_does_not_name_an_agent_is_refused() {
        let long = format!("urn:air:a.org:agents:{}", "x".repeat(MAX_ID));
        for text in [
            "",
            "calc",
            "urn:air:a",
            "urn:air:a::b",
            "urn:air:a.org:agents:",
            "urn:air:a_b:agents:c",
            "urn:air:a.org:agents:<script>",
            "urn:air:a:b:c:d:e:f:g:h:i",
            "URN:AIR:a:b:c",
            "https://a.example/card.json",
            &long,
        ] {
            assert!(text.parse::<ListingId>().is_err(), "{text}");
        }
        for text in ["urn:air:a:b", "urn:air:a.org:agents:calc", "urn:air:a:b:c:d:e:f:g:h"] {
            let id: ListingId = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("{text:?}"));
            assert_eq!(serde_json::from_str::<ListingId>(&format!("{text:?}")).unwrap(), id);
        }
    }

    proptest! {
        #[test]
        fn what_is_made_is_what_is_read(publisher: String, namespace: String, name: String) {
            let long = name.repeat(300);
            for id in [ListingId::of(&publisher, &namespace, &name), ListingId::of(&long, &long, &long)] {
                prop_assert_eq!(id.as_str().parse::<ListingId>(), Ok(id.clone()));
            }
        }
    }
}
