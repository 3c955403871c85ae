//! The entries of the hub on disk.
//!
//! Promises: a page is one short stretch of one index, wherever in the list it lies. Guards are checked
//! before anything of a change is written. What was written and cannot be read is [`StoreError::Corrupt`].

use std::collections::HashMap;

use agentsite_protocol::listing::{ListingId, Standing};
use agentsite_protocol::{Principal, Timestamp, Visibility};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::SqliteStore;
use super::accounts::{Books, account};
use super::fault::damaged;
use super::seal::{number, time};
use crate::listing::HOLDERS;
use crate::query::MAX_PAGE;
use crate::storage::fixed;
use crate::{ListingChange, ListingFilter, ListingReads, NameHolder, Page, Registration, Reply, StoreError};

impl ListingReads for SqliteStore {
    fn listing(&self, id: &ListingId) -> Reply<'_, Option<Registration>> {
        let id = id.clone();
        self.readers.read(move |db| one(db, &id))
    }

    fn listings(
        &self,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Reply<'_, Page<Registration, String>> {
        self.readers.read(move |db| list(db, &filter, after.as_deref(), limit))
    }

    fn count_listings(&self, filter: ListingFilter) -> Reply<'_, u64> {
        self.readers.read(move |db| count(db, &filter))
    }

    fn listings_of(&self, ids: Vec<ListingId>) -> Reply<'_, Vec<Registration>> {
        self.readers.read(move |db| of(db, ids))
    }

    fn due_listings(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<Registration>> {
        self.readers.read(move |db| due(db, now, limit))
    }

    fn next_due_listing(&self) -> Reply<'_, Option<Timestamp>> {
        self.readers.read(next_due)
    }

    fn name_holders(&self, shapes: Vec<String>) -> Reply<'_, Vec<NameHolder>> {
        self.readers.read(move |db| holders(db, &shapes))
    }
}

/// A change of an entry the writer only has to bind.
#[derive(Debug)]
pub(super) struct ReadyListing {
    pub(super) id: ListingId,
    pub(super) owner: Principal,
    expected: u64,
    put: Option<Columns>,
    pub(super) body: String,
}

/// What lists ask for.
#[derive(Debug)]
struct Columns {
    revision: i64,
    standing: i64,
    visibility: i64,
    media_type: String,
    updated_at: i64,
    due: Option<i64>,
    shape: String,
}

impl ReadyListing {
    pub(super) fn new(change: &ListingChange) -> Result<Self, StoreError> {
        let (owner, expected) = change.assumes();
        let (put, body) = match change {
            ListingChange::Put(new) => {
                let body = serde_json::to_string(new).map_err(|error| {
                    StoreError::Engine(format!("an entry cannot be written as JSON: {error}"))
                })?;
                (Some(Columns::of(new)), body)
            }
            ListingChange::Remove { .. } => (None, String::new()),
        };
        Ok(Self { id: change.id().clone(), owner: owner.clone(), expected, put, body })
    }
}

impl Columns {
    fn of(new: &Registration) -> Self {
        Self {
            revision: number(new.revision),
            standing: standing(new.listing.standing),
            visibility: visibility(new.listing.visibility),
            media_type: new.listing.media_type.clone(),
            updated_at: new.listing.updated_at.as_millis(),
            due: new.due.map(Timestamp::as_millis),
            shape: new.shape.clone(),
        }
    }
}

/// The number of a standing in a database; it never changes.
#[must_use]
pub const fn standing(standing: Standing) -> i64 {
    match standing {
        Standing::Active => 0,
        Standing::Pending => 1,
        Standing::Suspended => 2,
        Standing::Lapsed => 3,
    }
}

/// The number of a visibility in a database, wider ones higher; it never changes.
#[must_use]
pub const fn visibility(visibility: Visibility) -> i64 {
    match visibility {
        Visibility::Private => 0,
        Visibility::Peers => 1,
        Visibility::Public => 2,
    }
}

/// Why these changes must not be made, if so.
pub(super) fn refusal<'a>(
    db: &Connection,
    changes: impl Iterator<Item = &'a ReadyListing>,
) -> rusqlite::Result<Option<StoreError>> {
    let mut meanwhile: HashMap<&str, Option<(String, u64)>> = HashMap::new();
    for change in changes {
        let found = match meanwhile.remove(change.id.as_str()) {
            Some(found) => found,
            None => kept(db, change.id.as_str())?,
        };
        if found.as_ref().is_some_and(|(owner, _)| *owner != change.owner.as_str()) {
            return Ok(Some(StoreError::Foreign(change.id.to_string())));
        }
        if found.map_or(0, |(_, revision)| revision) != change.expected {
            return Ok(Some(StoreError::Moved(change.id.to_string())));
        }
        let after = change.put.as_ref().map(|_| (change.owner.to_string(), change.expected + 1));
        meanwhile.insert(change.id.as_str(), after);
    }
    Ok(None)
}

fn kept(db: &Connection, id: &str) -> rusqlite::Result<Option<(String, u64)>> {
    let mut find = db.prepare_cached("SELECT owner, revision FROM listings WHERE id = ?1")?;
    find.query_row([id], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))).optional()
}

/// What the entry of this id takes.
fn bytes(db: &Connection, id: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT octet_length(body) FROM listings WHERE id = ?1";
    let body: Option<i64> = db.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
    Ok(body.map_or(0, |body| fixed::LISTING + body.unsigned_abs()))
}

/// What a change would add to its owner's storage.
pub(super) fn adds(db: &Connection, change: &ReadyListing) -> rusqlite::Result<u64> {
    if change.put.is_none() {
        return Ok(0);
    }
    Ok((fixed::LISTING + change.body.len() as u64).saturating_sub(bytes(db, change.id.as_str())?))
}

/// Makes one change whose guard has been checked.
pub(super) fn change(db: &Connection, change: &ReadyListing, books: &mut Books) -> rusqlite::Result<()> {
    let account = account(Some(change.owner.as_str()));
    books.accounts.take(&account, bytes(db, change.id.as_str())?);
    if change.put.is_some() {
        books.accounts.add(&account, fixed::LISTING + change.body.len() as u64);
    }
    let Some(new) = &change.put else {
        db.prepare_cached("DELETE FROM listings WHERE id = ?1")?.execute([change.id.as_str()])?;
        return Ok(());
    };
    let sql = "INSERT INTO listings (id, revision, owner, standing, visibility, media_type, updated_at, due, shape, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
               ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, standing = excluded.standing,
                   visibility = excluded.visibility, media_type = excluded.media_type, updated_at = excluded.updated_at,
                   due = excluded.due, shape = excluded.shape, body = excluded.body";
    db.prepare_cached(sql)?.execute(params![
        change.id.as_str(),
        new.revision,
        change.owner.as_str(),
        new.standing,
        new.visibility,
        new.media_type,
        new.updated_at,
        new.due,
        new.shape,
        change.body,
    ])?;
    Ok(())
}

/// Reads an entry from a row of id and body.
fn registration(row: &Row<'_>) -> Result<Registration, StoreError> {
    let id: String = row.get(0)?;
    let read = row.get_ref(1)?.as_str().ok().and_then(|body| serde_json::from_str(body).ok());
    read.ok_or_else(|| damaged(format!("entry {id} of the hub")))
}

fn all(
    db: &Connection,
    sql: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<Registration>, StoreError> {
    let mut find = db.prepare_cached(sql)?;
    let mut rows = find.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(registration(row)?);
    }
    Ok(found)
}

pub(super) fn one(db: &Connection, id: &ListingId) -> Result<Option<Registration>, StoreError> {
    let found = all(db, "SELECT id, body FROM listings WHERE id = ?1", [Value::from(id.to_string())])?;
    Ok(found.into_iter().next())
}

pub(super) fn of(db: &Connection, mut ids: Vec<ListingId>) -> Result<Vec<Registration>, StoreError> {
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::new();
    for id in ids {
        found.extend(one(db, &id)?);
    }
    Ok(found)
}

pub(super) fn list(
    db: &Connection,
    filter: &ListingFilter,
    after: Option<&str>,
    limit: usize,
) -> Result<Page<Registration, String>, StoreError> {
    let limit = limit.clamp(1, MAX_PAGE);
    let (mut wanted, mut values) = conditions(filter);
    if let Some(after) = after {
        values.push(after.to_owned().into());
        wanted.push(format!("id > ?{}", values.len()));
    }
    let wanted = if wanted.is_empty() { "1".to_owned() } else { wanted.join(" AND ") };
    let sql = format!("SELECT id, body FROM listings WHERE {wanted} ORDER BY id LIMIT {}", limit + 1);
    let mut items = all(db, &sql, values)?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|kept| kept.listing.id.to_string());
    Ok(Page { items, next })
}

pub(super) fn count(db: &Connection, filter: &ListingFilter) -> Result<u64, StoreError> {
    let (wanted, values) = conditions(filter);
    let wanted = if wanted.is_empty() { "1".to_owned() } else { wanted.join(" AND ") };
    let mut find = db.prepare_cached(&format!("SELECT count(*) FROM listings WHERE {wanted}"))?;
    Ok(find.query_row(params_from_iter(values), |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// The conditions of a filter and their values.
fn conditions(filter: &ListingFilter) -> (Vec<String>, Vec<Value>) {
    let (mut wanted, mut values) = (Vec::new(), Vec::<Value>::new());
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        wanted.push(condition.replace('?', &format!("?{}", values.len())));
    };
    if let Some(owner) = &filter.owner {
        add("owner = ?", owner.to_string().into());
    }
    if let Some(media_type) = &filter.media_type {
        add("media_type = ?", media_type.clone().into());
    }
    if let Some(since) = filter.updated_since {
        add("updated_at >= ?", since.as_millis().into());
    }
    if let Some((least, owner)) = &filter.seen_by {
        let seen = format!("((standing = 0 AND visibility >= {}) OR owner = ?)", visibility(*least));
        add(&seen, owner.to_string().into());
    }
    if !filter.standings.is_empty() {
        let numbers: Vec<String> = filter.standings.iter().map(|one| standing(*one).to_string()).collect();
        wanted.push(format!("standing IN ({})", numbers.join(", ")));
    }
    (wanted, values)
}

pub(super) fn due(db: &Connection, now: Timestamp, limit: usize) -> Result<Vec<Registration>, StoreError> {
    let sql = "SELECT id, body FROM listings WHERE due <= ?1 ORDER BY due, id LIMIT ?2";
    all(db, sql, [Value::from(now.as_millis()), Value::from(number(limit.min(MAX_PAGE) as u64))])
}

pub(super) fn next_due(db: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT min(due) FROM listings WHERE due IS NOT NULL";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get::<_, Option<i64>>(0))?.map(time))
}

pub(super) fn holders(db: &Connection, shapes: &[String]) -> Result<Vec<NameHolder>, StoreError> {
    let sql = "SELECT shape, id, owner FROM listings WHERE shape = ?1 ORDER BY id LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let mut found = Vec::new();
    for shape in shapes {
        let mut rows = find.query(params![shape, number(HOLDERS as u64)])?;
        while let Some(row) = rows.next()? {
            found.push(holder(row)?);
        }
    }
    Ok(found)
}

/// Reads who has a name from a row of shape, id and owner.
fn holder(row: &Row<'_>) -> Result<NameHolder, StoreError> {
    let (shape, id, owner): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    match (id.parse(), owner.parse()) {
        (Ok(id), Ok(owner)) => Ok(NameHolder { shape, id, owner }),
        _ => Err(damaged(format!("entry {id} of the hub"))),
    }
}
