//! Challenges: words that other hubs asked for, which the site serves so that they see who answers at its address.
//!
//! Promises: only words that the people who run the site added are served, each for [`GOOD_FOR`] and never more than [`MAX_SERVED`] at once; they
//! survive a restart. A word is plain, so that nobody can make the site say something else. It makes no challenges of its own: `registry` does.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{Ids, JournalLine, Timestamp};
use agentsite_store::{Change, SettingChange, SharedStore};
use serde::{Deserialize, Serialize};

use crate::SiteError;

/// The setting that holds the words.
const SETTING: &str = "challenges";

/// How long a word is served: the hub that asked for it looks within minutes.
const GOOD_FOR: Duration = Duration::from_secs(3_600);

/// Most words that are served at once: one for each agent of a large site that is being registered elsewhere.
const MAX_SERVED: usize = 64;

/// Longest word, in letters; ours have 32.
const MAX_WORD: usize = 128;

/// A word that is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedChallenge {
    /// The word.
    pub word: String,
    /// Until when.
    pub until: Timestamp,
}

/// The words that a site serves.
#[derive(Debug)]
pub(crate) struct Challenges {
    store: SharedStore,
    ids: Ids,
    // A std lock: held for a look-up or a replacement, never across an await.
    served: Mutex<Vec<ServedChallenge>>,
    /// Held while the words change, so that no change is lost.
    changing: tokio::sync::Mutex<()>,
}

impl Challenges {
    /// Reads the words that are still served.
    pub(crate) async fn open(store: SharedStore, ids: Ids) -> Result<Self, SiteError> {
        let kept = store.setting(SETTING).await?;
        // What cannot be read is forgotten: a word is asked for anew in a moment.
        let served = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(Self { store, ids, served: Mutex::new(served), changing: Default::default() })
    }

    /// The words that are served now.
    pub(crate) fn list(&self) -> Vec<ServedChallenge> {
        let now = self.ids.clock().now();
        self.lock().iter().filter(|one| one.until > now).cloned().collect()
    }

    /// Whether this word is served now.
    pub(crate) fn has(&self, word: &str) -> bool {
        let now = self.ids.clock().now();
        self.lock().iter().any(|one| one.word == word && one.until > now)
    }

    /// Serves a word from now on; one that is served already begins anew.
    pub(crate) async fn add(&self, by: &str, word: &str) -> Result<ServedChallenge, SiteError> {
        check(word)?;
        let _one_at_a_time = self.changing.lock().await;
        let now = self.ids.clock().now();
        let mut served = self.list();
        served.retain(|one| one.word != word);
        if served.len() >= MAX_SERVED {
            return Err(SiteError::TooManyChallenges(MAX_SERVED));
        }
        let one = ServedChallenge { word: word.to_owned(), until: now.plus(GOOD_FOR) };
        served.push(one.clone());
        self.write(by, served, format!("serves the challenge {word} for an hour")).await?;
        Ok(one)
    }

    /// Serves a word no longer; false when it was not served.
    pub(crate) async fn remove(&self, by: &str, word: &str) -> Result<bool, SiteError> {
        let _one_at_a_time = self.changing.lock().await;
        let mut served = self.list();
        let before = served.len();
        served.retain(|one| one.word != word);
        if served.len() == before {
            return Ok(false);
        }
        self.write(by, served, "serves a challenge no longer".into()).await?;
        Ok(true)
    }

    async fn write(&self, by: &str, served: Vec<ServedChallenge>, text: String) -> Result<(), SiteError> {
        let value = serde_json::to_string(&served).expect("words and times are always written");
        let line =
            JournalLine { at: self.ids.clock().now(), actor: by.into(), agent: None, task: None, text };
        let settings = vec![SettingChange { name: SETTING.into(), value: Some(value), owner: None }];
        self.store.commit(Change { settings, journal: vec![line], ..Change::default() }).await?;
        *self.lock() = served;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ServedChallenge>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses what is no plain word.
pub(crate) fn check(word: &str) -> Result<(), SiteError> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if (1..=MAX_WORD).contains(&word.len()) && word.chars().all(plain) {
        return Ok(());
    }
    let what =
        format!("a challenge is a word of at most {MAX_WORD} letters, digits, - and _; copy it from the hub");
    Err(SiteError::BadMessage(what))
}
