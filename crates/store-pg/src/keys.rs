//! Keys and settings in the database.
//!
//! Promises: the value of a setting leaves the database only with the store's key, and opens only in the row
//! that it was written for. Writing is in `batch`.

use agentsite_protocol::{KeyId, Timestamp};
use agentsite_store::engine::setting_place;
use agentsite_store::{KeyReads, KeyRecord, Reply, StoreError};
use tokio_postgres::Row;

use crate::fault::damaged;
use crate::{PgStore, text};

const COLUMNS: &str = "id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key";

impl KeyReads for PgStore {
    fn keys(&self) -> Reply<'_, Vec<KeyRecord>> {
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS} FROM keys ORDER BY created_at, id");
            self.readers.query(&sql, &[]).await?.iter().map(key).collect()
        })
    }

    fn key(&self, id: KeyId) -> Reply<'_, Option<KeyRecord>> {
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS} FROM keys WHERE id = $1");
            self.readers.first(&sql, &[&id.as_str()]).await?.as_ref().map(key).transpose()
        })
    }

    fn setting(&self, name: &str) -> Reply<'_, Option<String>> {
        let name = name.to_owned();
        Box::pin(async move {
            let sql = "SELECT value FROM settings WHERE name = $1";
            let Some(row) = self.readers.first(sql, &[&text::put(&name)]).await? else { return Ok(None) };
            let opened = self.vault.unseal(&setting_place(&name), row.get(0));
            let value = opened.and_then(|bytes| String::from_utf8(bytes).ok());
            let changed = || format!("the setting {name} was changed outside of agentsite");
            value.map(Some).ok_or_else(|| StoreError::Tampered(changed()))
        })
    }
}

fn key(row: &Row) -> Result<KeyRecord, StoreError> {
    let id: &str = row.get(0);
    let wrong = |what: &str| damaged(format!("the {what} of key {id}"));
    let time = |at: usize| row.get::<_, Option<i64>>(at).map(Timestamp::from_millis);
    let scopes = row.get::<_, &str>(3).split_whitespace().map(str::parse).collect::<Result<_, _>>();
    Ok(KeyRecord {
        id: id.parse().map_err(|_| wrong("id"))?,
        hash: row.get::<_, &[u8]>(1).try_into().map_err(|_| wrong("hash"))?,
        label: text::got(row.get(2)),
        scopes: scopes.map_err(|_| wrong("scopes"))?,
        created_at: Timestamp::from_millis(row.get(4)),
        expires_at: time(5),
        last_used_at: time(6),
        session: row.get(7),
        of: row.get::<_, Option<&str>>(8).map(str::parse).transpose().map_err(|_| wrong("session"))?,
    })
}
