//! Records in the file: rows by collection and key, their bodies encrypted like settings.
//!
//! Promises: guards are checked before anything is written; a body opens only in the row that it was written
//! for. The sums of the accounts follow every change.

use agentsite_protocol::{Principal, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::accounts::{Books, account};
use super::fault::principal;
use super::seal::number;
use super::secrets::record_place;
use super::vault::{SEAL, Vault};
use crate::query::MAX_PAGE;
use crate::storage::fixed;
use crate::{Entity, RecordChange, RecordQuery, RecordReads, Reply, StoreError, StoredRecord, records};

const COLUMNS: &str = "key, owner, revision, expires_at, body";

impl RecordReads for SqliteStore {
    fn record(&self, collection: &'static str, key: &str) -> Reply<'_, Option<StoredRecord>> {
        let (key, vault) = (key.to_owned(), self.vault.clone());
        self.readers.read(move |db| get(db, collection, &key, &vault))
    }

    fn records(&self, query: RecordQuery) -> Reply<'_, Vec<StoredRecord>> {
        let vault = self.vault.clone();
        self.readers.read(move |db| list(db, &query, &vault))
    }
}

/// Why these changes must not be made, if so.
pub(super) fn refusal<'a>(
    db: &Connection,
    changes: impl Iterator<Item = &'a RecordChange>,
) -> rusqlite::Result<Option<StoreError>> {
    records::guard(changes, |collection, key| {
        let mut find =
            db.prepare_cached("SELECT revision FROM records WHERE collection = ?1 AND key = ?2")?;
        let revision: Option<i64> = find.query_row([collection, key], |row| row.get(0)).optional()?;
        Ok(revision.map(i64::unsigned_abs))
    })
}

/// What a change adds to whom.
pub(super) fn adds<'a>(
    db: &Connection,
    change: &'a RecordChange,
) -> rusqlite::Result<Option<(&'a Principal, u64)>> {
    let RecordChange::Put { collection, record } = change else { return Ok(None) };
    let Some(owner) = &record.owner else { return Ok(None) };
    let before = bytes(db, collection, &record.key)?.map_or(0, |(_, bytes)| bytes);
    Ok(Some((owner, size(record).saturating_sub(before))))
}

fn size(record: &StoredRecord) -> u64 {
    fixed::SETTING + (record.key.len() + record.body.len()) as u64
}

/// To whom a record belongs and what it takes.
fn bytes(db: &Connection, collection: &str, key: &str) -> rusqlite::Result<Option<(String, u64)>> {
    let sql = "SELECT owner, octet_length(key) + octet_length(body) FROM records WHERE collection = ?1 AND key = ?2";
    let read = |row: &Row<'_>| {
        let (owner, texts): (Option<String>, i64) = (row.get(0)?, row.get(1)?);
        Ok((account(owner.as_deref()), fixed::SETTING + texts.unsigned_abs().saturating_sub(SEAL as u64)))
    };
    db.prepare_cached(sql)?.query_row([collection, key], read).optional()
}

/// Makes a change whose guard has been checked.
pub(super) fn change(
    db: &Connection,
    change: &RecordChange,
    books: &mut Books,
    vault: &Vault,
) -> rusqlite::Result<()> {
    let (collection, key) = change.place();
    if let Some((account, bytes)) = bytes(db, collection, key)? {
        books.accounts.take(&account, bytes);
    }
    match change {
        RecordChange::Put { record, .. } => {
            let owner = record.owner.as_ref().map(Principal::as_str);
            books.accounts.add(&account(owner), size(record));
            let sealed = vault.seal(&record_place(collection, key), record.body.as_bytes());
            let sql = "INSERT OR REPLACE INTO records (collection, key, owner, revision, expires_at, body)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let end = record.expires_at.map(Timestamp::as_millis);
            let revision = number(record.revision);
            db.prepare_cached(sql)?.execute(params![collection, key, owner, revision, end, sealed])?;
        }
        RecordChange::Remove { .. } => remove(db, collection, key)?,
    }
    Ok(())
}

fn remove(db: &Connection, collection: &str, key: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM records WHERE collection = ?1 AND key = ?2")?
        .execute([collection, key])?;
    Ok(())
}

/// Removes records whose time has come, at most so many; gives which.
pub(super) fn expire(
    db: &Connection,
    now: i64,
    most: i64,
    books: &mut Books,
) -> rusqlite::Result<Vec<Entity>> {
    let sql =
        "SELECT collection, key FROM records WHERE expires_at IS NOT NULL AND expires_at <= ?1 LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let places = find.query_map([now, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let places: Vec<(String, String)> = places.collect::<rusqlite::Result<_>>()?;
    let mut gone = Vec::with_capacity(places.len());
    for (collection, key) in places {
        if let Some((account, bytes)) = bytes(db, &collection, &key)? {
            books.accounts.take(&account, bytes);
        }
        remove(db, &collection, &key)?;
        gone.push(Entity::Record { collection, key });
    }
    Ok(gone)
}

/// One record.
pub(super) fn get(
    db: &Connection,
    collection: &str,
    key: &str,
    vault: &Vault,
) -> Result<Option<StoredRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM records WHERE collection = ?1 AND key = ?2");
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([collection, key])?;
    rows.next()?.map(|row| read(row, collection, vault)).transpose()
}

/// Records of a collection by key.
pub(super) fn list(
    db: &Connection,
    query: &RecordQuery,
    vault: &Vault,
) -> Result<Vec<StoredRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM records WHERE collection = ?1 AND key > ?2 AND (?3 IS NULL OR owner = ?3)
         ORDER BY key LIMIT ?4"
    );
    let mut find = db.prepare_cached(&sql)?;
    let (after, owner) =
        (query.after.as_deref().unwrap_or_default(), query.owner.as_ref().map(Principal::as_str));
    let most = number(query.limit.min(MAX_PAGE) as u64);
    let mut rows = find.query(params![query.collection, after, owner, most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row, query.collection, vault)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>, collection: &str, vault: &Vault) -> Result<StoredRecord, StoreError> {
    let key: String = row.get(0)?;
    let sealed = row.get_ref(4)?.as_blob().ok();
    let opened = sealed.and_then(|sealed| vault.unseal(&record_place(collection, &key), sealed));
    let body = opened.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        StoreError::Tampered(format!("the record {key} of {collection} was changed outside of agentsite"))
    })?;
    let is_owned = row.get_ref(1)? != rusqlite::types::ValueRef::Null;
    Ok(StoredRecord {
        owner: if is_owned { Some(principal(row, 1)?) } else { None },
        revision: row.get::<_, i64>(2)?.unsigned_abs(),
        expires_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
        key,
        body,
    })
}
