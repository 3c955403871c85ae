//! Records in the database: rows by collection and key, their bodies encrypted like settings.
//!
//! Promises: a body opens only in the row that it was written for. Writing is in `batch`.

use agentsite_protocol::Timestamp;
use agentsite_store::engine::{MAX_PAGE, record_place};
use agentsite_store::{RecordQuery, RecordReads, Reply, StoreError, StoredRecord};
use tokio_postgres::Row;

use crate::fault::principal;
use crate::{PgStore, text};

const COLUMNS: &str = "key, owner, revision, expires_at, body";

impl RecordReads for PgStore {
    fn record(&self, collection: &'static str, key: &str) -> Reply<'_, Option<StoredRecord>> {
        let key = key.to_owned();
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS} FROM records WHERE collection = $1 AND key = $2");
            let row = self.readers.first(&sql, &[&collection, &text::put(&key)]).await?;
            row.as_ref().map(|row| self.opened(row, collection)).transpose()
        })
    }

    fn records(&self, query: RecordQuery) -> Reply<'_, Vec<StoredRecord>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM records WHERE collection = $1 AND ($2::text IS NULL OR key > $2)
                 AND ($3::text IS NULL OR owner = $3) ORDER BY key LIMIT $4"
            );
            let after = query.after.as_deref().map(text::put);
            let owner = query.owner.as_ref().map(ToString::to_string);
            let most = i64::try_from(query.limit.min(MAX_PAGE)).unwrap_or(i64::MAX);
            let rows = self.readers.query(&sql, &[&query.collection, &after, &owner, &most]).await?;
            rows.iter().map(|row| self.opened(row, query.collection)).collect()
        })
    }
}

impl PgStore {
    fn opened(&self, row: &Row, collection: &str) -> Result<StoredRecord, StoreError> {
        let key = text::got(row.get(0));
        let opened = self.vault.unseal(&record_place(collection, &key), row.get(4));
        let body = opened.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
            StoreError::Tampered(format!("the record {key} of {collection} was changed outside of agentsite"))
        })?;
        Ok(StoredRecord {
            owner: row.get::<_, Option<&str>>(1).map(principal).transpose()?,
            revision: row.get::<_, i64>(2).cast_unsigned(),
            expires_at: row.get::<_, Option<i64>>(3).map(Timestamp::from_millis),
            key,
            body,
        })
    }
}
