//! Challenges: words that other hubs asked for, which the site serves so that they see who answers at its
//! address.
//!
//! Promises: only words that admins added are served, each for [`GOOD_FOR`] and never
//! more than [`MAX_SERVED`] at once; they survive a restart. A word is plain, so that the site
//! cannot be made to say something else. It does not make challenges: `registry` does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{Caller, CardSignature, Ids, JournalLine, Timestamp};
use agentsite_store::{Change, Collection, RecordChange, Revised, SharedStore, StoreError};
use serde::{Deserialize, Serialize};

use crate::error::{RegistryError, admin_only};
use crate::kinds;

/// Where the words are kept, each under itself.
const COLLECTION: Collection<ServedChallenge> = Collection::new("challenges");

/// All collections of this capability.
pub(crate) const COLLECTIONS: &[&str] = &[COLLECTION.name()];

/// The setting in which an earlier version kept them.
const OLD_SETTING: &str = "challenges";

/// How long a word is served: the hub that asked for it looks within minutes.
const GOOD_FOR: Duration = Duration::from_secs(3_600);

/// Most words that are served at once: one for each agent of a large site that is being registered elsewhere.
const MAX_SERVED: usize = 64;

/// Longest name of an entry that is signed.
const MAX_ENTRY: usize = 512;

/// Longest word, in letters; ours have 32.
const MAX_WORD: usize = 128;

/// The key that signs the site's cards, as far as challenges need it.
pub trait ChallengeSigner: std::fmt::Debug + Send + Sync + 'static {
    /// Signs the word of the challenge of an entry in another hub.
    fn answer_challenge(&self, entry: &str, word: &str) -> CardSignature;
}

/// A word that is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedChallenge {
    /// The word.
    pub word: String,
    /// Until when.
    pub until: Timestamp,
}

/// The challenges of other hubs that a site answers: it serves a word, or signs it, and so proves that its
/// agents are its own. Only admins add words and have them signed; anyone may read what is served.
#[derive(Debug)]
pub struct Challenges {
    store: SharedStore,
    ids: Ids,
    signer: Arc<dyn ChallengeSigner>,
    // A std lock: held for a look-up or a replacement, never across an await.
    served: Mutex<Vec<Revised<ServedChallenge>>>,
    /// Held while the words change, so that no change is lost.
    changing: tokio::sync::Mutex<()>,
}

impl Challenges {
    /// Reads the words that are still served.
    ///
    /// # Errors
    /// [`RegistryError::Store`] when the store cannot be read.
    pub async fn open(
        store: SharedStore,
        ids: Ids,
        signer: Arc<dyn ChallengeSigner>,
    ) -> Result<Self, RegistryError> {
        if let Some(text) = store.setting(OLD_SETTING).await? {
            // What cannot be read is forgotten: a word is asked for anew in a moment.
            let old: Vec<ServedChallenge> = serde_json::from_str(&text).unwrap_or_default();
            let old = old.into_iter().map(|one| (one.word.clone(), None, one)).collect();
            COLLECTION.adopt(&store, old, vec![OLD_SETTING.into()]).await?;
        }
        let served = COLLECTION.all(&store).await?;
        Ok(Self { store, ids, signer, served: Mutex::new(served), changing: Default::default() })
    }

    /// Serves the challenge of another hub for an hour; one that is served already begins anew.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for all but admins; [`RegistryError::BadChallenge`] for what is no word,
    /// [`RegistryError::TooManyChallenges`].
    pub async fn serve(&self, by: &Caller, word: &str) -> Result<ServedChallenge, RegistryError> {
        admin_only(by)?;
        self.add(by.owner().as_str(), word).await
    }

    /// Serves a challenge no longer; false when it was not served.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for all but admins; [`RegistryError::Store`].
    pub async fn withdraw(&self, by: &Caller, word: &str) -> Result<bool, RegistryError> {
        admin_only(by)?;
        self.remove(by.owner().as_str(), word).await
    }

    /// The challenges that are served now.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for all but admins.
    pub fn list(&self, by: &Caller) -> Result<Vec<ServedChallenge>, RegistryError> {
        admin_only(by)?;
        Ok(self.served())
    }

    /// Whether this word is served now. Any caller may ask: the word is in the question.
    #[must_use]
    pub fn serves(&self, word: &str) -> bool {
        self.has(word)
    }

    /// Answers the challenge of an entry in another hub with the key that signs the site's cards.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for all but admins; [`RegistryError::BadChallenge`] when the word or the
    /// name cannot be signed.
    pub fn answer(&self, by: &Caller, entry: &str, word: &str) -> Result<CardSignature, RegistryError> {
        admin_only(by)?;
        check(word)?;
        if entry.is_empty() || entry.len() > MAX_ENTRY {
            return Err(RegistryError::BadChallenge("name the entry as the hub does: urn:air:…".into()));
        }
        Ok(self.signer.answer_challenge(entry, word))
    }

    /// Reads the challenges again, after another process changed them.
    ///
    /// # Errors
    /// What the store reports.
    pub(crate) async fn read_again(&self) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        let served = COLLECTION.all(&self.store).await?;
        *self.lock() = served;
        Ok(())
    }

    /// The words that are served now.
    fn served(&self) -> Vec<ServedChallenge> {
        let now = self.ids.clock().now();
        self.lock().iter().map(|one| &one.value).filter(|one| one.until > now).cloned().collect()
    }

    /// Whether this word is served now.
    fn has(&self, word: &str) -> bool {
        let now = self.ids.clock().now();
        self.lock().iter().any(|one| one.key == word && one.value.until > now)
    }

    /// Serves a word from now on; one that is served already begins anew.
    async fn add(&self, by: &str, word: &str) -> Result<ServedChallenge, RegistryError> {
        check(word)?;
        let _one_at_a_time = self.changing.lock().await;
        let now = self.ids.clock().now();
        let (before, gone) = self.replaced(word);
        if self.served().iter().filter(|one| one.word != word).count() >= MAX_SERVED {
            return Err(RegistryError::TooManyChallenges(MAX_SERVED));
        }
        let value = ServedChallenge { word: word.to_owned(), until: now.plus(GOOD_FOR) };
        let mut records: Vec<RecordChange> =
            gone.iter().map(|one| COLLECTION.remove(&one.key, one.revision)).collect();
        records.push(COLLECTION.put(word, None, before, &value)?);
        self.commit(by, records, format!("serves the challenge {word} for an hour")).await?;
        let new = Revised { key: word.to_owned(), revision: before + 1, value: value.clone() };
        let mut served = self.lock();
        served.retain(|one| one.key != word && !gone.contains(one));
        served.push(new);
        Ok(value)
    }

    /// The revision of a word, and the other words whose time is over.
    fn replaced(&self, word: &str) -> (u64, Vec<Revised<ServedChallenge>>) {
        let (served, now) = (self.lock(), self.ids.clock().now());
        let before = served.iter().find(|one| one.key == word).map_or(0, |one| one.revision);
        let over = served.iter().filter(|one| one.value.until <= now && one.key != word);
        (before, over.cloned().collect())
    }

    /// Serves a word no longer; false when it was not served.
    async fn remove(&self, by: &str, word: &str) -> Result<bool, RegistryError> {
        let _one_at_a_time = self.changing.lock().await;
        if !self.has(word) {
            return Ok(false);
        }
        let (before, _) = self.replaced(word);
        let records = vec![COLLECTION.remove(word, before)];
        self.commit(by, records, "serves a challenge no longer".into()).await?;
        self.lock().retain(|one| one.key != word);
        Ok(true)
    }

    async fn commit(&self, by: &str, records: Vec<RecordChange>, text: String) -> Result<(), RegistryError> {
        let at = self.ids.clock().now();
        let line = JournalLine::new(kinds::CHALLENGE, at, by, text);
        Ok(self.store.commit(Change::new(line).edits(records)).await?)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Revised<ServedChallenge>>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses what is no plain word.
fn check(word: &str) -> Result<(), RegistryError> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if (1..=MAX_WORD).contains(&word.len()) && word.chars().all(plain) {
        return Ok(());
    }
    let what =
        format!("a challenge is a word of at most {MAX_WORD} letters, digits, - and _; copy it from the hub");
    Err(RegistryError::BadChallenge(what))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentsite_protocol::{Algorithm, SigningKey, answer_challenge};
    use agentsite_store::{MemStore, SettingChange, Unjournaled};

    use super::*;
    use crate::tests::ids;

    #[derive(Debug)]
    struct OneKey(SigningKey);

    impl ChallengeSigner for OneKey {
        fn answer_challenge(&self, entry: &str, word: &str) -> CardSignature {
            answer_challenge(&self.0, entry, word)
        }
    }

    #[tokio::test]
    async fn words_outlast_the_process_and_those_of_an_earlier_version_are_taken_over() {
        let (store, ids): (SharedStore, _) = (Arc::new(MemStore::default()), ids());
        let until = ids.clock().now().plus(GOOD_FOR);
        let old = serde_json::to_string(&[ServedChallenge { word: "old".into(), until }]).unwrap();
        let setting = SettingChange { name: OLD_SETTING.into(), value: Some(old), owner: None };
        store.commit(Change::unjournaled(Unjournaled::Migration).edit(setting)).await.unwrap();
        let signer = Arc::new(OneKey(SigningKey::from_seed(Algorithm::EdDsa, &[7; 32]).unwrap()));
        let open = async || Challenges::open(store.clone(), ids.clone(), signer.clone()).await.unwrap();
        let challenges = open().await;
        challenges.add("admin", "new").await.unwrap();
        challenges.add("admin", "new").await.unwrap();
        assert!(challenges.remove("admin", "old").await.unwrap());
        assert!(!challenges.remove("admin", "old").await.unwrap());
        let challenges = open().await;
        assert!(challenges.has("new") && !challenges.has("old") && challenges.served().len() == 1);
        assert_eq!(store.setting(OLD_SETTING).await.unwrap(), None);
    }
}
