//! Columns that hold secrets: settings of the site and push configs, encrypted in their rows.
//!
//! Promises: a value leaves the file only with the store's key, and opens only in the row that it was written
//! for. It does not know what the values mean.

use agentsite_protocol::TaskId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use super::vault::Vault;
use crate::StoreError;

/// What the value of a setting is bound to.
#[must_use]
pub fn setting_place(name: &str) -> [&[u8]; 2] {
    [b"settings", name.as_bytes()]
}

/// What a push config is bound to.
#[must_use]
pub fn config_place<'a>(task: &'a [u8], id: &'a str) -> [&'a [u8]; 3] {
    [b"push_configs", task, id.as_bytes()]
}

/// What the body of a record is bound to.
#[must_use]
pub fn record_place<'a>(collection: &'a str, key: &'a str) -> [&'a [u8]; 3] {
    [b"records", collection.as_bytes(), key.as_bytes()]
}

/// The value of a setting as its column holds it.
pub(super) fn seal_setting(vault: &Vault, name: &str, value: &str) -> Vec<u8> {
    vault.seal(&setting_place(name), value.as_bytes())
}

/// The value of a setting back from its column.
pub(super) fn open_setting(vault: &Vault, name: &str, value: ValueRef<'_>) -> Result<String, StoreError> {
    let opened = value.as_blob().ok().and_then(|sealed| vault.unseal(&setting_place(name), sealed));
    let text = opened.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| StoreError::Tampered(format!("the setting {name} was changed outside of agentsite")))
}

/// A push config as its column holds it.
pub(super) fn seal_config(vault: &Vault, task: &[u8], id: &str, body: &str) -> Vec<u8> {
    vault.seal(&config_place(task, id), body.as_bytes())
}

/// A push config back from its column.
pub(super) fn open_config(
    vault: &Vault,
    task: TaskId,
    id: &str,
    body: ValueRef<'_>,
) -> Result<Vec<u8>, StoreError> {
    let opened = body
        .as_blob()
        .ok()
        .and_then(|sealed| vault.unseal(&config_place(task.as_bytes().as_slice(), id), sealed));
    opened.ok_or_else(|| {
        StoreError::Tampered(format!("the push config {id} of task {task} was changed outside of agentsite"))
    })
}

/// Encrypts what an older version left in plain.
pub(super) fn seal_plain(db: &Connection, vault: &Vault) -> Result<(), StoreError> {
    let mut find = db.prepare("SELECT name, value FROM settings WHERE typeof(value) = 'text'")?;
    let plain = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let plain: Vec<(String, String)> = plain.collect::<rusqlite::Result<_>>()?;
    for (name, value) in plain {
        let sealed = seal_setting(vault, &name, &value);
        db.execute("UPDATE settings SET value = ?2 WHERE name = ?1", params![name, sealed])?;
    }
    let mut find = db.prepare("SELECT task, id, body FROM push_configs WHERE typeof(body) = 'text'")?;
    let plain = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let plain: Vec<(Vec<u8>, String, String)> = plain.collect::<rusqlite::Result<_>>()?;
    for (task, id, body) in plain {
        let sealed = seal_config(vault, &task, &id, &body);
        let sql = "UPDATE push_configs SET body = ?3 WHERE task = ?1 AND id = ?2";
        db.execute(sql, params![task, id, sealed])?;
    }
    Ok(())
}
