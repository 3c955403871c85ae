//! Profiles: what a record may say of a site and of an agent, and nothing else.
//!
//! Promises: a profile of an agent is made of a card only when the agent is public, and takes the members
//! that are named here, one by one: whatever else a card holds (credentials, extensions, unknown members)
//! stays at home. Addresses with credentials or a query are refused. Texts are cut to bounds when a profile
//! is made, and refused beyond them when one is read.

use agentsite_protocol::{AgentCard, Skill, Visibility};
use serde::{Deserialize, Serialize};

use crate::limits::MAX_AGENT_PAYLOAD;
use crate::vectors::{AgentVectors, BadVector, VectorText};

/// Most letters of a name.
const MAX_NAME: usize = 120;
/// Most letters of a description; a search reads no more than some 200 words of it.
const MAX_DESCRIPTION: usize = 1_000;
/// Most letters of the description of a skill.
const MAX_SKILL_TEXT: usize = 300;
/// Most skills: an agent with more is found by these, and shows the others in its card.
const MAX_SKILLS: usize = 16;
/// Most words in a list of tags, media types or protocols, and most letters of each.
const MAX_WORDS: (usize, usize) = (8, 64);
/// Most addresses of a site.
const MAX_ADDRESSES: usize = 8;
/// Most letters of an address.
const MAX_ADDRESS: usize = 300;

/// Most bytes of a written profile: the rest of the largest payload is for the head of the record.
const MAX_WRITTEN: usize = MAX_AGENT_PAYLOAD - 512;

/// Why something cannot be said in a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadProfile {
    /// Not everybody may know of the agent.
    #[error("the agent is {0}: only public agents are put into records")]
    NotPublic(Visibility),
    /// A text or list is longer than a record holds.
    #[error("`{0}` is longer than a record holds")]
    TooLong(&'static str),
    /// A text has control characters.
    #[error("`{0}` has control characters")]
    Control(&'static str),
    /// An address that must not be published.
    #[error("the address must be http or https, without credentials, query and fragment")]
    Address,
    /// Vectors that no record takes.
    #[error("the vectors are not those of a record: {0}")]
    Vectors(#[source] BadVector),
}

/// What a skill of an agent is found by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillProfile {
    /// Unique within the agent.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Key words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// What an agent is found by and where it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProfile {
    title: String,
    description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skills: Vec<SkillProfile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    input_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    output_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<Box<AgentVectors>>,
}

impl AgentProfile {
    /// Makes the profile of an agent from its card. `url` is where its card is, for a site that others
    /// reach; without it the agent is reached by its site.
    ///
    /// # Errors
    /// [`BadProfile::NotPublic`] for every other visibility, [`BadProfile::Address`] for an address that
    /// must not be published.
    pub fn of(card: &AgentCard, visibility: Visibility, url: Option<&str>) -> Result<Self, BadProfile> {
        if visibility != Visibility::Public {
            return Err(BadProfile::NotPublic(visibility));
        }
        Self::written(card, url)
    }

    /// Makes the profile of an agent that one peer may know of; it goes into records for that peer alone.
    ///
    /// # Errors
    /// [`BadProfile::NotPublic`] for a private agent; as [`Self::of`].
    pub fn for_peer(card: &AgentCard, visibility: Visibility, url: Option<&str>) -> Result<Self, BadProfile> {
        if visibility == Visibility::Private {
            return Err(BadProfile::NotPublic(visibility));
        }
        Self::written(card, url)
    }

    fn written(card: &AgentCard, url: Option<&str>) -> Result<Self, BadProfile> {
        let mut profile = Self {
            title: cut(&card.name, MAX_NAME),
            description: cut(&card.description, MAX_DESCRIPTION),
            version: cut(&card.version, MAX_WORDS.1),
            skills: card.skills.iter().take(MAX_SKILLS).map(SkillProfile::of).collect(),
            url: url.map(Into::into),
            input_modes: words(&card.default_input_modes),
            output_modes: words(&card.default_output_modes),
            vectors: None,
        };
        while profile.written_len() > MAX_WRITTEN {
            profile.shorten();
        }
        profile.check()
    }

    /// The texts that vectors are made of, in their order: the agent, then each of its skills. Part of the
    /// protocol: they are the texts that the search compares, and sites encode them again to check the
    /// vectors.
    #[must_use]
    pub fn texts(&self) -> Vec<VectorText> {
        let agent = VectorText { title: self.title.clone(), text: self.description.clone() };
        let skills = self.skills.iter().map(|skill| VectorText {
            title: String::new(),
            text: format!("{}. {}", skill.name, skill.description),
        });
        std::iter::once(agent).chain(skills).collect()
    }

    /// Adds the vectors of [`Self::texts`]. The vectors of the last skills are left out where the record
    /// would become too long, and then the last skills themselves: the vector of the agent is always in.
    ///
    /// # Errors
    /// [`BadProfile::Vectors`] when they are not vectors of these texts: more than skills, or too large.
    pub fn with_vectors(mut self, vectors: AgentVectors) -> Result<Self, BadProfile> {
        vectors.check(self.skills.len()).map_err(BadProfile::Vectors)?;
        self.vectors = Some(Box::new(vectors));
        while self.written_len() > MAX_WRITTEN {
            let dropped = self.vectors.as_mut().and_then(|vectors| vectors.skills.pop());
            if dropped.is_none() {
                self.shorten();
            }
        }
        self.check()
    }

    /// Its vectors, when its publisher put them in.
    #[must_use]
    pub fn vectors(&self) -> Option<&AgentVectors> {
        self.vectors.as_deref()
    }

    fn written_len(&self) -> usize {
        serde_json::to_vec(self).map_or(0, |written| written.len())
    }

    /// Drops the last skill, or half of the description when there is none.
    fn shorten(&mut self) {
        if self.skills.pop().is_none() {
            self.description = cut(&self.description, self.description.chars().count() / 2);
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What it does.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its own version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What it can do.
    #[must_use]
    pub fn skills(&self) -> &[SkillProfile] {
        &self.skills
    }

    /// Where its card is; without it the agent is reached by its site.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Media types that it takes, and those that it gives.
    #[must_use]
    pub fn modes(&self) -> (&[String], &[String]) {
        (&self.input_modes, &self.output_modes)
    }

    /// Checks the bounds.
    pub(super) fn check(self) -> Result<Self, BadProfile> {
        check_text("title", &self.title, MAX_NAME)?;
        check_text("description", &self.description, MAX_DESCRIPTION)?;
        check_text("version", &self.version, MAX_WORDS.1)?;
        check_list("skills", self.skills.len(), MAX_SKILLS)?;
        for skill in &self.skills {
            check_text("skills.id", &skill.id, MAX_WORDS.1)?;
            check_text("skills.name", &skill.name, MAX_NAME)?;
            check_text("skills.description", &skill.description, MAX_SKILL_TEXT)?;
            check_words("skills.tags", &skill.tags)?;
        }
        check_words("inputModes", &self.input_modes)?;
        check_words("outputModes", &self.output_modes)?;
        self.url.as_deref().map_or(Ok(()), check_url)?;
        let skills = self.skills.len();
        self.vectors.as_ref().map_or(Ok(()), |vectors| vectors.check(skills)).map_err(BadProfile::Vectors)?;
        Ok(self)
    }
}

impl SkillProfile {
    fn of(skill: &Skill) -> Self {
        Self {
            id: cut(&skill.id, MAX_WORDS.1),
            name: cut(&skill.name, MAX_NAME),
            description: cut(&skill.description, MAX_SKILL_TEXT),
            tags: words(&skill.tags),
        }
    }
}

/// What a site says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteProfile {
    /// Its name for people.
    pub title: String,
    /// Its address, when others reach it by HTTPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its addresses on the transport between sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

impl SiteProfile {
    /// Checks the bounds.
    pub(super) fn check(self) -> Result<Self, BadProfile> {
        check_text("title", &self.title, MAX_NAME)?;
        check_list("addresses", self.addresses.len(), MAX_ADDRESSES)?;
        self.addresses.iter().try_for_each(|address| check_text("addresses", address, MAX_ADDRESS))?;
        self.url.as_deref().map_or(Ok(()), check_url)?;
        Ok(self)
    }
}

fn cut(text: &str, letters: usize) -> String {
    text.chars().filter(|letter| !letter.is_control() || *letter == '\n').take(letters).collect()
}

fn words(list: &[String]) -> Vec<String> {
    list.iter().take(MAX_WORDS.0).map(|word| cut(word, MAX_WORDS.1)).collect()
}

fn check_text(field: &'static str, text: &str, letters: usize) -> Result<(), BadProfile> {
    if text.chars().any(|letter| letter.is_control() && letter != '\n') {
        return Err(BadProfile::Control(field));
    }
    check_list(field, text.chars().count(), letters)
}

fn check_words(field: &'static str, list: &[String]) -> Result<(), BadProfile> {
    check_list(field, list.len(), MAX_WORDS.0)?;
    list.iter().try_for_each(|word| check_text(field, word, MAX_WORDS.1))
}

fn check_list(field: &'static str, length: usize, most: usize) -> Result<(), BadProfile> {
    if length > most { Err(BadProfile::TooLong(field)) } else { Ok(()) }
}

/// An address goes to anonymous callers: it must hold no credentials, neither before the host nor in a
/// query.
fn check_url(url: &str) -> Result<(), BadProfile> {
    let rest =
        url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).ok_or(BadProfile::Address)?;
    let host = rest.split('/').next().unwrap_or_default();
    let fits = !host.is_empty() && url.len() <= MAX_ADDRESS && !url.contains(['@', '?', '#', '\\', ' ']);
    if fits && !url.contains(char::is_control) { Ok(()) } else { Err(BadProfile::Address) }
}
