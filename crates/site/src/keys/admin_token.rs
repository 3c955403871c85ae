//! The admin token: how the command line on this machine proves itself.
//!
//! Promises: there is one at any time after a start. It cannot be revoked, only replaced, and the one before
//! ends in the same transaction. A token file that is lost, or that does not fit the store (a restored
//! backup, a stop between two writes), gets a new token at the next start. On a site of several processes the
//! first has the admin token; each further machine gets a key of an admin, because replacing the token would
//! lock the command line of the others out. It does not write the file: the binary does.

use std::sync::PoisonError;

use agentsite_protocol::{KeyId, Scope};
use agentsite_store::{Change, Edit, KeyChange, KeyRecord, SettingChange};

use super::{ADMIN_TOKEN, Keys, NewKey, hash};
use crate::SiteError;

/// The setting that names the record of the admin token.
pub(super) const SETTING: &str = "admin-token";

/// What the list of keys calls it.
const LABEL: &str = "admin token";

/// What the list of keys calls that of a further machine.
const LABEL_OF_ANOTHER: &str = "admin token of another machine";

impl Keys {
    /// Makes sure that there is an admin token: `kept` when it is good, otherwise a new one, which is given
    /// back once. `founding` goes into the transaction that keeps a new one. `others` says whether other
    /// processes of the site are running, whose token must stay.
    pub(crate) async fn ensure_admin_token(
        &self,
        kept: Option<&str>,
        founding: Vec<Edit>,
        others: bool,
    ) -> Result<Option<String>, SiteError> {
        let good = |record: &KeyRecord| !record.session && record.scopes.contains(&Scope::Admin);
        match kept.and_then(|secret| self.proven(secret).ok()).filter(|record| good(record)) {
            Some(record) if self.is_admin_token(&record.id) => Ok(None),
            // A data folder from before the token was marked, or another key of an admin that somebody put
            // into the file.
            Some(record) if self.admin_token().is_none() => {
                let what = format!("took the key {} as the admin token", record.id);
                let line = self.line(ADMIN_TOKEN, "site", &record.id, what);
                self.store.commit(Change::new(line).edit(named(&record.id))).await?;
                self.set_admin_token(record.id.clone());
                Ok(None)
            }
            Some(_) => Ok(None),
            None if others && self.admin_token().is_some_and(|id| self.known(&id).is_some()) => {
                let made = self.make("site", LABEL_OF_ANOTHER, vec![Scope::Admin], None).await?;
                Ok(Some(made.secret))
            }
            None => self.replace_admin_token("site", founding).await.map(|made| Some(made.secret)),
        }
    }

    /// Whether other processes of the site are running; this one has joined them.
    pub(crate) async fn others_run(&self) -> Result<bool, SiteError> {
        Ok(self.store.processes().await?.len() > 1)
    }

    /// Makes a new admin token and ends the one before, with the browser sessions that were begun with it.
    pub(crate) async fn replace_admin_token(
        &self,
        by: &str,
        founding: Vec<Edit>,
    ) -> Result<NewKey, SiteError> {
        let old = self.admin_token().filter(|id| self.known(id).is_some());
        let (id, secret) = self.secret();
        let record = KeyRecord {
            id,
            hash: hash(&secret),
            label: LABEL.into(),
            scopes: vec![Scope::Admin],
            created_at: self.ids.clock().now(),
            expires_at: None,
            last_used_at: None,
            session: false,
            of: None,
        };
        let of_old = |one: &KeyRecord| old.is_some() && (one.of == old || Some(&one.id) == old.as_ref());
        let gone: Vec<KeyId> = self.list().into_iter().filter(of_old).map(|one| one.id).collect();
        let what = format!("made the admin token {}", record.id);
        let change = Change::new(self.line(ADMIN_TOKEN, by, &record.id, what))
            .edit(KeyChange::Put(record.clone()))
            .edits(gone.iter().cloned().map(KeyChange::Remove))
            .edits(founding)
            .edit(named(&record.id));
        self.store.commit(change).await?;
        self.set_admin_token(record.id.clone());
        self.remember(record.clone());
        self.drop_known(&gone);
        Ok(NewKey { record, secret })
    }

    /// Whether this is the record of the admin token.
    pub(super) fn is_admin_token(&self, id: &KeyId) -> bool {
        self.admin_token().as_ref() == Some(id)
    }

    fn admin_token(&self) -> Option<KeyId> {
        self.admin_token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_admin_token(&self, id: KeyId) {
        *self.admin_token.write().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }
}

fn named(id: &KeyId) -> SettingChange {
    SettingChange { name: SETTING.into(), value: Some(id.to_string()), owner: None }
}
