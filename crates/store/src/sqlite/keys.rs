//! Keys and settings in the file.
//!
//! Promises: keys are rows with the hash of the key; the value of a setting is encrypted and opens only under
//! its own name. The sums of the accounts follow every change of a setting.

use agentsite_protocol::{KeyId, Principal};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::accounts::{Books, account};
use super::fault::damaged;
use super::seal::time;
use super::vault::{SEAL, Vault};
use super::{SqliteStore, secrets};
use crate::storage::fixed;
use crate::{KeyChange, KeyReads, KeyRecord, Reply, SettingChange, StoreError};

const KEY: &str =
    "SELECT id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key FROM keys";

impl KeyReads for SqliteStore {
    fn keys(&self) -> Reply<'_, Vec<KeyRecord>> {
        self.readers.read(all)
    }

    fn key(&self, id: KeyId) -> Reply<'_, Option<KeyRecord>> {
        self.readers.read(move |db| one(db, &id))
    }

    fn setting(&self, name: &str) -> Reply<'_, Option<String>> {
        let (name, vault) = (name.to_owned(), self.vault.clone());
        self.readers.read(move |db| setting(db, &name, &vault))
    }
}

fn all(db: &Connection) -> Result<Vec<KeyRecord>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{KEY} ORDER BY created_at, id"))?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(key_record(row)?);
    }
    Ok(keys)
}

fn one(db: &Connection, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{KEY} WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(key_record).transpose()
}

fn key_record(row: &Row<'_>) -> Result<KeyRecord, StoreError> {
    let id: String = row.get(0)?;
    let wrong = |what: &str| damaged(format!("the {what} of key {id}"));
    let scopes = row.get_ref(3)?.as_str().map_err(|_| wrong("scopes"))?;
    let scopes = scopes.split_whitespace().map(str::parse).collect::<Result<_, _>>();
    Ok(KeyRecord {
        id: id.parse().map_err(|_| wrong("id"))?,
        hash: row.get(1)?,
        label: row.get(2)?,
        scopes: scopes.map_err(|_| wrong("scopes"))?,
        created_at: time(row.get(4)?),
        expires_at: row.get::<_, Option<i64>>(5)?.map(time),
        last_used_at: row.get::<_, Option<i64>>(6)?.map(time),
        session: row.get(7)?,
        of: match row.get::<_, Option<String>>(8)? {
            Some(key) => Some(key.parse().map_err(|_| wrong("session"))?),
            None => None,
        },
    })
}

fn setting(db: &Connection, name: &str, vault: &Vault) -> Result<Option<String>, StoreError> {
    let mut statement = db.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    let mut rows = statement.query([name])?;
    rows.next()?.map(|row| secrets::open_setting(vault, name, row.get_ref(0)?)).transpose()
}

/// Changes a key.
pub(super) fn change_key(db: &Connection, change: &KeyChange) -> rusqlite::Result<()> {
    match change {
        KeyChange::Put(key) => put_key(db, key),
        KeyChange::Used(id, at) => {
            let sql = "UPDATE keys SET last_used_at = ?2 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.as_str(), at.as_millis()])?;
            Ok(())
        }
        KeyChange::Remove(id) => {
            db.prepare_cached("DELETE FROM keys WHERE id = ?1")?.execute([id.as_str()])?;
            Ok(())
        }
    }
}

fn put_key(db: &Connection, key: &KeyRecord) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO keys (id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let scopes: Vec<String> = key.scopes.iter().map(ToString::to_string).collect();
    db.prepare_cached(sql)?.execute(params![
        key.id.as_str(),
        key.hash.as_slice(),
        key.label,
        scopes.join(" "),
        key.created_at.as_millis(),
        key.expires_at.map(agentsite_protocol::Timestamp::as_millis),
        key.last_used_at.map(agentsite_protocol::Timestamp::as_millis),
        key.session,
        key.of.as_ref().map(agentsite_protocol::KeyId::as_str),
    ])?;
    Ok(())
}

/// To whom a setting belongs and what it takes.
fn setting_bytes(db: &Connection, name: &str) -> rusqlite::Result<Option<(String, u64)>> {
    let sql = "SELECT owner, octet_length(name) + octet_length(value) FROM settings WHERE name = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let (owner, texts): (Option<String>, i64) = (row.get(0)?, row.get(1)?);
        Ok((account(owner.as_deref()), fixed::SETTING + texts.unsigned_abs().saturating_sub(SEAL as u64)))
    };
    db.prepare_cached(sql)?.query_row([name], read).optional()
}

/// What a change of a setting would add, and to whose storage.
pub(super) fn setting_adds<'a>(
    db: &Connection,
    change: &'a SettingChange,
) -> rusqlite::Result<Option<(&'a Principal, u64)>> {
    let (Some(owner), Some(value)) = (&change.owner, &change.value) else { return Ok(None) };
    let bytes = fixed::SETTING + (change.name.len() + value.len()) as u64;
    let before = setting_bytes(db, &change.name)?.map_or(0, |(_, bytes)| bytes);
    Ok(Some((owner, bytes.saturating_sub(before))))
}

/// Writes or removes a setting.
pub(super) fn change_setting(
    db: &Connection,
    change: &SettingChange,
    books: &mut Books,
    vault: &Vault,
) -> rusqlite::Result<()> {
    if let Some((account, bytes)) = setting_bytes(db, &change.name)? {
        books.accounts.take(&account, bytes);
    }
    match &change.value {
        Some(value) => {
            let owner = change.owner.as_ref().map(Principal::as_str);
            let sealed = secrets::seal_setting(vault, &change.name, value);
            let bytes = fixed::SETTING + (change.name.len() + value.len()) as u64;
            books.accounts.add(&account(owner), bytes);
            let sql = "INSERT OR REPLACE INTO settings (name, value, owner) VALUES (?1, ?2, ?3)";
            db.prepare_cached(sql)?.execute(params![change.name, sealed, owner])?;
        }
        None => {
            db.prepare_cached("DELETE FROM settings WHERE name = ?1")?.execute([&change.name])?;
        }
    }
    Ok(())
}
