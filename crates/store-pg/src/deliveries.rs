//! The outbox and the receivers of tasks, and how a worker takes rows to send.
//!
//! Promises: accounts take turns as in every engine; of two processes that want the same row one gets it. Of
//! the rows of a lane only the first that is not dead is given. A row that was taken stays hidden until its
//! lease ends. It sends nothing.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::Bound;

use agentsite_protocol::{PushConfig, TaskId, Timestamp};
use agentsite_store::engine::{
    AFTER_ANONYMOUS, ANONYMOUS, Chosen, VISITED, choose, config_place, last_served, most_deliveries,
};
use agentsite_store::{
    Delivery, DeliveryClaim, DeliveryClaimRequest, DeliveryClaims, DeliveryQuery, DeliveryReads,
    DeliveryRequest, Reply, StoreError,
};
use tokio_postgres::Row;

use crate::fault::damaged;
use crate::heads::task_id;
use crate::{PgStore, text};

/// The columns of a row, as [`delivery`] reads them.
const COLUMNS: &str =
    "o.id, o.attempts, o.due, o.deadline, o.task, o.lane, o.kind, o.body, o.error, o.dead, o.account";

/// Accounts after each of some names with rows that are first in their lanes, about one seek of the index
/// each.
const ACCOUNTS: &str = "SELECT DISTINCT a.account FROM unnest($1::text[]) AS s (start) CROSS JOIN LATERAL (
        WITH RECURSIVE walk AS (
            (SELECT o.account FROM outbox o WHERE NOT o.dead AND o.account > s.start
                AND NOT EXISTS (SELECT 1 FROM outbox b WHERE b.task = o.task AND b.lane = o.lane AND b.id < o.id AND NOT b.dead)
                ORDER BY o.account LIMIT 1)
            UNION ALL
            SELECT (SELECT o.account FROM outbox o WHERE NOT o.dead AND o.account > walk.account
                AND NOT EXISTS (SELECT 1 FROM outbox b WHERE b.task = o.task AND b.lane = o.lane AND b.id < o.id AND NOT b.dead)
                ORDER BY o.account LIMIT 1)
            FROM walk WHERE walk.account IS NOT NULL
        ) SELECT account FROM walk WHERE account IS NOT NULL LIMIT $2) a";

/// The rows of these accounts that are due and first in their lanes, the longest due first.
const DUE: &str = "SELECT a.account, d.id FROM unnest($1::text[]) AS a (account) CROSS JOIN LATERAL (
        SELECT o.id, o.due FROM outbox o WHERE o.account = a.account AND NOT o.dead AND o.due <= $2
            AND NOT EXISTS (SELECT 1 FROM outbox b WHERE b.task = o.task AND b.lane = o.lane AND b.id < o.id AND NOT b.dead)
        ORDER BY o.due, o.id LIMIT $3) d ORDER BY a.account, d.due, d.id";

/// Takes rows, unless another process has just taken them.
const TAKE: &str =
    "WITH mine AS (SELECT id, due FROM outbox WHERE id = ANY($1) AND NOT dead AND due <= $2 ORDER BY id
        FOR UPDATE SKIP LOCKED)
    UPDATE outbox o SET due = $3, attempts = o.attempts + 1 FROM mine WHERE o.id = mine.id RETURNING ";

impl DeliveryReads for PgStore {
    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>> {
        Box::pin(async move {
            let sql = "SELECT id, body FROM push_configs WHERE task = $1 ORDER BY id";
            let rows = self.readers.query(sql, &[&task.as_bytes().as_slice()]).await?;
            let open = |row: &Row| {
                let id = text::got(row.get(0));
                let opened = self.vault.unseal(&config_place(task.as_bytes().as_slice(), &id), row.get(1));
                let opened = opened.ok_or_else(|| {
                    StoreError::Tampered(format!(
                        "the push config {id} of task {task} was changed outside of agentsite"
                    ))
                })?;
                serde_json::from_slice(&opened).map_err(|_| damaged(format!("a push config of task {task}")))
            };
            rows.iter().map(open).collect()
        })
    }

    fn outbox(&self, query: DeliveryQuery) -> Reply<'_, Vec<Delivery>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM outbox o WHERE o.id > $1 AND ($2::bigint IS NULL OR o.id = $2)
                 AND ($3::bytea IS NULL OR o.task = $3) AND ($4::boolean IS NULL OR o.dead = $4) ORDER BY o.id LIMIT $5"
            );
            let number = |id: u64| i64::try_from(id).unwrap_or(i64::MAX);
            let task = query.task.map(|id| id.as_bytes().to_vec());
            let (after, id) = (query.after.map_or(0, number), query.id.map(number));
            let most = i64::try_from(most_deliveries(&query)).unwrap_or(i64::MAX);
            let rows = self.readers.query(&sql, &[&after, &id, &task, &query.dead, &most]).await?;
            rows.iter().map(delivery).collect()
        })
    }

    fn claim(&self, request: DeliveryClaimRequest) -> Reply<'_, DeliveryClaims> {
        Box::pin(self.take_deliveries(request))
    }
}

impl PgStore {
    async fn take_deliveries(&self, request: DeliveryClaimRequest) -> Result<DeliveryClaims, StoreError> {
        let Candidates { accounts, due } = self.candidates(&request).await?;
        let next = |after: Option<&str>| {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            Ok::<_, Infallible>(accounts.range::<str, _>((from, Bound::Unbounded)).next().cloned())
        };
        let rows_of = |account: &str, most: usize| {
            Ok(due.get(account).into_iter().flatten().take(most).copied().collect())
        };
        let Ok(Chosen { rows: ids, turn }) = choose(&request, next, rows_of);
        if ids.is_empty() {
            return Ok(DeliveryClaims { rows: Vec::new(), turn });
        }
        let wanted: Vec<i64> = ids.iter().map(|id| id.cast_signed()).collect();
        let (now, until) = (request.now.as_millis(), request.until.as_millis());
        // The row is given as it was before it was hidden.
        let sql = format!("{TAKE} {}", COLUMNS.replace("o.due", "mine.due"));
        let lent = self.readers.lend().await?;
        let rows = lent.query(&sql, &[&wanted, &now, &until]).await.map_err(|error| crate::told(&error))?;
        let mut taken: HashMap<u64, Delivery> = HashMap::new();
        for row in &rows {
            let one = delivery(row)?;
            taken.insert(one.id, one);
        }
        // Each claim counts as an attempt; the answer says how many there were before.
        let claim = |id: &u64| {
            let Delivery { id, attempts, row, .. } = taken.remove(id)?;
            Some(DeliveryClaim { id, attempts: attempts.saturating_sub(1), row })
        };
        let rows = ids.iter().filter_map(claim).collect();
        Ok(DeliveryClaims { rows, turn })
    }

    /// The accounts that a round may visit, and their rows that are due.
    async fn candidates(&self, request: &DeliveryClaimRequest) -> Result<Candidates, StoreError> {
        let (known, anonymous) = last_served(&request.turn);
        let starts = [Some(""), known, Some(AFTER_ANONYMOUS), Some(ANONYMOUS), anonymous];
        let starts: Vec<String> = starts.into_iter().flatten().map(str::to_owned).collect();
        let most = i64::try_from(VISITED + 1).unwrap_or(i64::MAX);
        let mut rows = self.readers.query(ACCOUNTS, &[&starts, &most]).await?;
        let first =
            self.readers.first("SELECT '' FROM outbox WHERE NOT dead AND account = '' LIMIT 1", &[]).await?;
        rows.extend(first);
        let accounts: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        let names: Vec<&str> = accounts.iter().map(String::as_str).collect();
        let most = i64::try_from(request.limit).unwrap_or(i64::MAX);
        let rows = self.readers.query(DUE, &[&names, &request.now.as_millis(), &most]).await?;
        let mut due: HashMap<String, Vec<u64>> = HashMap::new();
        for row in rows {
            due.entry(row.get(0)).or_default().push(row.get::<_, i64>(1).cast_unsigned());
        }
        Ok(Candidates { accounts, due })
    }
}

/// Accounts and the rows of theirs that may leave.
struct Candidates {
    accounts: BTreeSet<String>,
    due: HashMap<String, Vec<u64>>,
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    let task: Option<&[u8]> = row.get(4);
    let of = DeliveryRequest {
        account: text::got(row.get(10)),
        task: task.map(|_| task_id(row, 4)).transpose()?,
        lane: row.get::<_, Option<String>>(5).map(text::got),
        kind: text::got(row.get(6)),
        body: text::got(row.get(7)),
        due: Timestamp::from_millis(row.get(2)),
        deadline: Timestamp::from_millis(row.get(3)),
    };
    Ok(Delivery {
        id: row.get::<_, i64>(0).cast_unsigned(),
        attempts: u32::try_from(row.get::<_, i32>(1)).unwrap_or(0),
        error: row.get::<_, Option<String>>(8).map(text::got),
        dead: row.get(9),
        row: of,
    })
}
