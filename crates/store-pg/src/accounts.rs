//! What each account holds: the sums as they were written with each change, and a count of every row.
//!
//! Promises: sums and a recount are the same. See `storage` in `agentsite-store` for the rules.

use std::collections::HashMap;

use agentsite_store::engine::{Accounts, is_anonymous};
use agentsite_store::{StorageQuery, StorageUse, StoreError};

use tokio_postgres::Row;

use crate::PgStore;
use crate::batch::account;

/// Every row that counts, by owner; the numbers are those of `engine::fixed` and the seal of a value.
pub(crate) const RECOUNT: &str = "SELECT owner, sum(bytes)::bigint FROM (
        SELECT t.owner, 64 + octet_length(e.body)::bigint + CASE e.first_seq WHEN 1 THEN 640 ELSE 0 END AS bytes
            FROM task_events e JOIN tasks t ON t.id = e.task
        UNION ALL SELECT t.owner, 96 + octet_length(p.body) - 28 FROM push_configs p JOIN tasks t ON t.id = p.task
        UNION ALL SELECT account, 192 + octet_length(replace(body, chr(26), '')) FROM outbox
        UNION ALL SELECT owner, 320 + octet_length(body) FROM listings
        UNION ALL SELECT owner, 384 + octet_length(replace(title, chr(26), '')) FROM conversations
        UNION ALL SELECT c.owner, 320 + t.bytes FROM turns t JOIN conversations c ON c.id = t.conversation
        UNION ALL SELECT owner, 1024 FROM rooms
        UNION ALL SELECT r.owner, 384 + octet_length(e.body) FROM room_events e JOIN rooms r ON r.id = e.room
        UNION ALL SELECT coalesce(owner, ''), 64 + octet_length(replace(name, chr(26), '')) + octet_length(value) - 28 FROM settings
        UNION ALL SELECT coalesce(owner, ''), 64 + octet_length(replace(key, chr(26), '')) + octet_length(body) - 28 FROM records
        UNION ALL SELECT 'journal', 96 + octet_length(replace(actor, chr(26), '')) + octet_length(replace(text, chr(26), '')) FROM journal
    ) rows GROUP BY owner";

impl PgStore {
    /// What the accounts hold.
    pub(crate) async fn held(&self, query: &StorageQuery) -> Result<StorageUse, StoreError> {
        let sql = if query.recount { RECOUNT } else { "SELECT account, bytes FROM storage" };
        let held = by_account(&self.readers.query(sql, &[]).await?);
        let total = held.values().sum();
        let anonymous = held.iter().filter(|(name, _)| is_anonymous(name)).map(|(_, bytes)| bytes).sum();
        Ok(Accounts::of(self.limits, held, anonymous, total).view(query))
    }
}

/// What rows of owners and bytes mean for their accounts.
pub(crate) fn by_account(rows: &[Row]) -> HashMap<String, u64> {
    let mut held: HashMap<String, u64> = HashMap::new();
    for row in rows {
        *held.entry(account(row.get(0))).or_default() += row.get::<_, i64>(1).cast_unsigned();
    }
    held.retain(|_, bytes| *bytes > 0);
    held
}
