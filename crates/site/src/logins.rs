//! Logins: the credentials with which agents come in at their servers, kept by the site.
//!
//! Promises: they lie in the store, so that a restart or a restored backup asks nobody to log in again, and
//! sealed: encrypted and authenticated with a key of the site, bound to the agent and the server's address.
//! What is asked for another server is not there. It does not know their form, and what issuer they are from:
//! `client` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_client::mcp::{CredentialError, CredentialStore};
use agentsite_protocol::{AgentName, Ids, JournalKind, JournalLine};
use agentsite_store::{Change, Collection, Revised, SharedStore, StoreError, Unjournaled};
use agentsite_tasks::Capability;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use futures::future::BoxFuture;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use url::Url;

use crate::SiteError;
use crate::secret::Secret;

/// Where they are kept, by agent.
const COLLECTION: Collection<Login> = Collection::new("logins");

/// An agent was logged in to its server, or out of it.
pub(crate) const LOGIN: JournalKind = JournalKind::new("agent.login");

/// What logins contribute to a site.
pub(crate) fn capability(logins: &Arc<Logins>) -> Capability {
    let logins = logins.clone();
    Capability::new("logins").kinds(const { &[LOGIN] }).collections(const { &[COLLECTION.name()] }).follow(
        move |_| {
            let logins = logins.clone();
            async move { logins.read_again().await }
        },
    )
}

/// The setting in which an earlier version kept them.
const OLD_SETTING: &str = "logins";

/// What the key is made for; the site makes another one for every purpose.
const PURPOSE: &str = "logins of agents to their servers v1";

/// Longest credentials that are kept: some tokens, of which the longest are a few kilobytes.
const MAX_CREDENTIALS: usize = 256 << 10;

/// The credentials of all agents.
pub(crate) struct Logins {
    store: SharedStore,
    ids: Ids,
    key: LessSafeKey,
    /// By agent; held while the store writes, so that the last write is the last state.
    kept: Mutex<BTreeMap<String, Revised<Login>>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Login {
    server: Url,
    sealed: String,
}

/// Shows nothing: no credential must reach a log.
impl std::fmt::Debug for Logins {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Logins")
    }
}

impl Logins {
    /// Reads what was kept.
    pub(crate) async fn open(store: SharedStore, ids: Ids, secret: &Secret) -> Result<Arc<Self>, SiteError> {
        if let Some(text) = store.setting(OLD_SETTING).await? {
            let old: BTreeMap<String, Login> =
                serde_json::from_str(&text).map_err(|_| SiteError::Identity)?;
            let old = old.into_iter().map(|(agent, login)| (agent, None, login)).collect();
            COLLECTION.adopt(&store, old, vec![OLD_SETTING.into()]).await?;
        }
        let all = COLLECTION.all(&store).await?;
        let kept = Mutex::new(all.into_iter().map(|one| (one.key.clone(), one)).collect());
        let key = UnboundKey::new(&CHACHA20_POLY1305, &secret.key_for(PURPOSE));
        let key = LessSafeKey::new(key.expect("the key has the length of the algorithm"));
        Ok(Arc::new(Self { store, ids, key, kept }))
    }

    /// Reads the logins again, after another process changed them.
    pub(crate) async fn read_again(&self) -> Result<(), StoreError> {
        let mut kept = self.kept.lock().await;
        let all = COLLECTION.all(&self.store).await?;
        *kept = all.into_iter().map(|one| (one.key.clone(), one)).collect();
        Ok(())
    }

    /// Forgets the login of an agent, unless it is one to this server.
    pub(crate) async fn keep_only(&self, agent: &AgentName, server: Option<&Url>) -> Result<(), SiteError> {
        let mut kept = self.kept.lock().await;
        match kept.get(agent.as_str()) {
            Some(login) if Some(&login.value.server) != server => {}
            _ => return Ok(()),
        }
        self.write(&mut kept, agent.as_str(), None).await
    }

    /// Writes or forgets a login, and takes that over when it is on disk.
    async fn write(
        &self,
        kept: &mut BTreeMap<String, Revised<Login>>,
        agent: &str,
        login: Option<Login>,
    ) -> Result<(), SiteError> {
        let before = kept.get(agent).map_or(0, |login| login.revision);
        let change = match &login {
            Some(login) => COLLECTION.put(agent, None, before, login)?,
            None if before == 0 => return Ok(()),
            None => COLLECTION.remove(agent, before),
        };
        let told = match &login {
            Some(login) if before == 0 => Some(format!("keeps a login of {agent} to {}", login.server)),
            Some(_) => None,
            None => Some(format!("removed the login of {agent}")),
        };
        let now = self.ids.clock().now();
        let line = told.map(|text| JournalLine::new(LOGIN, now, "site", text));
        let line = line.map(|line| match agent.parse() {
            Ok(name) => line.about_agent(name),
            Err(_) => line,
        });
        let lines = Vec::from_iter(line);
        self.store.commit(Change::of_lines(lines, Unjournaled::CredentialRenewal).edit(change)).await?;
        match login {
            Some(value) => {
                let (key, revision) = (agent.to_owned(), before + 1);
                drop(kept.insert(key.clone(), Revised { key, revision, value }));
            }
            None => drop(kept.remove(agent)),
        }
        Ok(())
    }

    fn seal(&self, holder: &str, server: &Url, credentials: String) -> String {
        let mut nonce = [0; NONCE_LEN];
        self.ids.rng().fill(&mut nonce);
        let mut sealed = credentials.into_bytes();
        let bond = Aad::from(bond(holder, server));
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bond, &mut sealed)
            .expect("credentials are shorter than the algorithm's limit");
        sealed.splice(0..0, nonce);
        STANDARD_NO_PAD.encode(sealed)
    }

    fn unseal(&self, holder: &str, login: &Login) -> Option<String> {
        let mut bytes = STANDARD_NO_PAD.decode(&login.sealed).ok()?;
        let (nonce, rest) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.key.open_in_place(nonce, Aad::from(bond(holder, &login.server)), rest).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

/// What a seal is bound to: the agent and the server.
fn bond(holder: &str, server: &Url) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [holder, server.as_str()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

impl CredentialStore for Logins {
    fn load(&self, holder: &str, server: &Url) -> BoxFuture<'_, Result<Option<String>, CredentialError>> {
        let (holder, server) = (holder.to_owned(), server.clone());
        Box::pin(async move {
            let kept = self.kept.lock().await;
            let login = kept.get(&holder).map(|login| &login.value).filter(|login| login.server == server);
            Ok(login.and_then(|login| self.unseal(&holder, login)))
        })
    }

    fn save(
        &self,
        holder: &str,
        server: &Url,
        credentials: Option<String>,
    ) -> BoxFuture<'_, Result<(), CredentialError>> {
        let (holder, server) = (holder.to_owned(), server.clone());
        Box::pin(async move {
            if credentials.as_ref().is_some_and(|text| text.len() > MAX_CREDENTIALS) {
                return Err(CredentialError("the authorization server gave tokens that are too long".into()));
            }
            let mut kept = self.kept.lock().await;
            // A connection that is being given up must not touch the login to the address that took its
            // place.
            if credentials.is_none() && kept.get(&holder).is_some_and(|login| login.value.server != server) {
                return Ok(());
            }
            let login = credentials.map(|text| {
                let sealed = self.seal(&holder, &server, text);
                Login { server, sealed }
            });
            let written = self.write(&mut kept, &holder, login).await;
            written.map_err(|error| CredentialError(error.to_string()))
        })
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::{Clock, Rng};
    use agentsite_store::MemStore;

    use super::*;
    use crate::World;

    struct Keeping {
        store: SharedStore,
        ids: Ids,
    }

    impl Keeping {
        fn new() -> Self {
            let World { clock, rng } = World::system();
            let (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>) = (clock, rng);
            Self { store: Arc::new(MemStore::default()), ids: Ids::new(clock, rng) }
        }

        async fn secret(&self) -> Secret {
            let (secret, new) = Secret::open(&self.store, &self.ids).await.unwrap();
            self.store.commit(Change::unjournaled(Unjournaled::Migration).edits(new)).await.unwrap();
            secret
        }

        async fn open(&self) -> Arc<Logins> {
            let secret = self.secret().await;
            Logins::open(self.store.clone(), self.ids.clone(), &secret).await.unwrap()
        }
    }

    fn server(path: &str) -> Url {
        format!("https://tools.example/{path}").parse().unwrap()
    }

    #[tokio::test]
    async fn what_is_kept_outlasts_the_process_and_is_sealed_on_disk() {
        let keeping = Keeping::new();
        let logins = keeping.open().await;
        logins.save("notes", &server("mcp"), Some("the-token".into())).await.unwrap();
        let written = keeping.store.record("logins", "notes").await.unwrap().unwrap().body;
        assert!(!written.contains("the-token") && written.contains("tools.example"), "{written}");

        let again = keeping.open().await;
        assert_eq!(again.load("notes", &server("mcp")).await.unwrap().as_deref(), Some("the-token"));
        assert_eq!(again.load("notes", &server("other")).await.unwrap(), None, "bound to the server");
        assert_eq!(again.load("other", &server("mcp")).await.unwrap(), None, "bound to the agent");
        assert_eq!(format!("{again:?}"), "Logins");
        again.save("notes", &server("mcp"), None).await.unwrap();
        assert_eq!(keeping.open().await.load("notes", &server("mcp")).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_seal_that_is_moved_or_changed_opens_nothing() {
        let keeping = Keeping::new();
        let logins = keeping.open().await;
        logins.save("notes", &server("mcp"), Some("the-token".into())).await.unwrap();
        let login = logins.kept.lock().await["notes"].clone().value;
        assert_eq!(logins.unseal("notes", &login).as_deref(), Some("the-token"));
        assert_eq!(logins.unseal("thief", &login), None);
        assert_eq!(logins.unseal("notes", &Login { server: server("evil"), ..login.clone() }), None);
        for sealed in ["", "AAAA", "no base64!", &login.sealed[1..]] {
            assert_eq!(logins.unseal("notes", &Login { sealed: sealed.into(), ..login.clone() }), None);
        }
    }

    #[tokio::test]
    async fn a_login_to_another_address_is_forgotten() {
        let keeping = Keeping::new();
        let (logins, agent): (_, AgentName) = (keeping.open().await, "notes".parse().unwrap());
        logins.save("notes", &server("mcp"), Some("the-token".into())).await.unwrap();
        logins.keep_only(&agent, Some(&server("mcp"))).await.unwrap();
        assert!(logins.load("notes", &server("mcp")).await.unwrap().is_some());
        logins.save("notes", &server("gone"), None).await.unwrap();
        assert!(logins.load("notes", &server("mcp")).await.unwrap().is_some(), "another's goodbye");
        logins.keep_only(&agent, Some(&server("moved"))).await.unwrap();
        assert!(keeping.open().await.load("notes", &server("mcp")).await.unwrap().is_none());
        logins.keep_only(&agent, None).await.unwrap();
        let long = "x".repeat(MAX_CREDENTIALS + 1);
        assert!(logins.save("notes", &server("mcp"), Some(long)).await.is_err());
    }

    #[tokio::test]
    async fn what_an_earlier_version_kept_in_a_setting_is_taken_over() {
        let keeping = Keeping::new();
        let sealed = keeping.open().await.seal("notes", &server("mcp"), "the-token".into());
        let old = serde_json::json!({ "notes": { "server": server("mcp"), "sealed": sealed } });
        let setting = agentsite_store::SettingChange {
            name: OLD_SETTING.into(),
            value: Some(old.to_string()),
            owner: None,
        };
        keeping.store.commit(Change::unjournaled(Unjournaled::Migration).edit(setting)).await.unwrap();
        for _ in 0..2 {
            let loaded = keeping.open().await.load("notes", &server("mcp")).await.unwrap();
            assert_eq!(loaded.as_deref(), Some("the-token"));
            assert_eq!(keeping.store.setting(OLD_SETTING).await.unwrap(), None);
        }
    }
}
