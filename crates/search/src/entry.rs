//! Entry: what can be found, as a few texts and facts.
//!
//! Promises: an Entry is a value; what is too long or too many in it is cut by the index to the limits named
//! there, never refused, because cards are foreign. It does not know where the texts come from.

use agentsite_protocol::{Money, Principal, Timestamp, Visibility};
use serde::{Deserialize, Serialize};

/// Something that can be found: an agent, or a passage of a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Entry {
    /// Unique in the index. Putting an entry with the same id replaces it.
    pub id: String,
    /// Its name; words of a name weigh more than others.
    pub name: String,
    /// What it is, in a sentence or a few.
    pub text: String,
    /// What it can do and how people ask for it, each with its own vector; the best one counts.
    pub passages: Vec<Passage>,
    /// What filters look at.
    pub facts: Facts,
    /// Vectors that its publisher made, when they may be used: then its texts are not encoded again. They are
    /// ignored when another model made them, or when there is not one for each text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<PublishedVectors>,
}

/// Vectors that the publisher of an entry made, in whole numbers from -127 to 127.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedVectors {
    /// The model that made them.
    pub model: String,
    /// That of the text, turned towards the name, as [`crate::whole_vectors`] makes it.
    pub whole: Vec<i8>,
    /// Those of the passages, in their order.
    pub passages: Vec<Vec<i8>>,
}

/// One skill or one example of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Passage {
    /// The skill it belongs to, as it is named in reasons.
    pub skill: String,
    /// The text.
    pub text: String,
    /// Whether it is a request that a caller could make, rather than a description.
    pub example: bool,
}

/// What filters look at. Words are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Who may find it.
    pub visibility: Visibility,
    /// Its owner; one owner may not fill a page of matches.
    pub owner: String,
    /// Tags of its skills.
    pub tags: Vec<String>,
    /// By which protocols it is called.
    pub protocols: Vec<String>,
    /// Media types it takes.
    pub input_modes: Vec<String>,
    /// Media types it gives.
    pub output_modes: Vec<String>,
    /// Where it runs.
    pub region: Option<String>,
    /// What a call costs; `None` is nothing, in every asset.
    pub price: Option<Money>,
    /// Whether it answered the last check.
    pub live: bool,
    /// How far it is trusted, from 0 to 1; 0.5 when nothing is known.
    pub trust: f64,
    /// When it was first seen; newcomers get places of their own.
    pub since: Option<Timestamp>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            visibility: Visibility::Private,
            owner: String::new(),
            tags: Vec::new(),
            protocols: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            region: None,
            price: None,
            live: true,
            trust: 0.5,
            since: None,
        }
    }
}

/// Who searches: entries that this caller may not see do not exist for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// Entries of this visibility and of wider ones are seen (`Private` sees everything).
    pub sees: Visibility,
    /// Its own entries are seen too.
    pub owner: Option<Principal>,
    /// These are seen too, by id.
    pub also: Vec<String>,
}

impl Audience {
    /// Sees everything.
    #[must_use]
    pub const fn everything() -> Self {
        Self { sees: Visibility::Private, owner: None, also: Vec::new() }
    }

    /// Sees public entries.
    #[must_use]
    pub const fn public() -> Self {
        Self { sees: Visibility::Public, owner: None, also: Vec::new() }
    }

    /// Whether this one sees an entry.
    #[must_use]
    pub fn admits(&self, id: &str, facts: &Facts) -> bool {
        facts.visibility >= self.sees
            || self.owner.as_ref().is_some_and(|owner| owner.as_str() == facts.owner)
            || self.also.iter().any(|seen| seen == id)
    }
}
