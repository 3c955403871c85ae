//! Tasks in the database: their heads, their events, and what agents have used.
//!
//! Promises: a list of events is checked against gaps before it is handed out; what does not
//! fit is [`StoreError::Corrupt`]. Lists with filters are in
//! `list`, writing is in `batch`.

use agentsite_protocol::{AgentName, MessageId, Principal, TaskEvent, TaskHead, TaskId, Usage};
use agentsite_store::engine::sent_key;
use agentsite_store::{Page, Reply, StoreError, TaskCursor, TaskFilter, TaskHistory, TaskReads};
use tokio_postgres::Row;

use crate::PgStore;
use crate::fault::damaged;
use crate::heads::{HEAD, head, task_id};
use crate::list;

/// The rows of events of one task after a number, each with the task's last number at the same moment.
const EVENTS: &str =
    "SELECT e.first_seq, e.last_seq, e.body, t.seq FROM tasks t JOIN task_events e ON e.task = t.id
    WHERE t.id = $1 AND e.last_seq > $2 ORDER BY e.last_seq LIMIT $3";

impl TaskReads for PgStore {
    fn task(&self, id: TaskId) -> Reply<'_, Option<TaskHead>> {
        Box::pin(async move {
            let sql = format!("SELECT {HEAD} FROM tasks WHERE id = $1");
            let row = self.readers.first(&sql, &[&id.as_bytes().as_slice()]).await?;
            row.as_ref().map(head).transpose()
        })
    }

    fn events(&self, id: TaskId, after: u64, limit: usize) -> Reply<'_, Vec<TaskEvent>> {
        Box::pin(self.read_events(id, after, limit))
    }

    fn histories(&self, ids: Vec<TaskId>, events: usize, started: usize) -> Reply<'_, Vec<TaskHistory>> {
        Box::pin(async move {
            let mut histories: Vec<TaskHistory> = Vec::new();
            let mut total = 0;
            for id in ids {
                if !histories.is_empty() && total >= events {
                    break;
                }
                let all = self.read_events(id, 0, usize::MAX).await?;
                let filter = TaskFilter { parent: Some(id), ..TaskFilter::default() };
                let children = match started {
                    0 => Vec::new(),
                    most => list::tasks(&self.readers, &filter, None, most).await?.items,
                };
                total += all.len();
                histories.push(TaskHistory { id, events: all, started: children });
            }
            Ok(histories)
        })
    }

    fn sent(&self, owner: &Principal, agent: &AgentName, message: &MessageId) -> Reply<'_, Option<TaskId>> {
        let key = sent_key(owner, agent, message);
        Box::pin(async move {
            let row = self.readers.first("SELECT task FROM sent WHERE key = $1", &[&key.as_slice()]).await?;
            row.map(|row| task_id(&row, 0)).transpose()
        })
    }

    fn tasks(
        &self,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Reply<'_, Page<TaskHead, TaskCursor>> {
        Box::pin(async move { list::tasks(&self.readers, &filter, after, limit).await })
    }

    fn count_tasks(&self, filter: TaskFilter) -> Reply<'_, u64> {
        Box::pin(async move { list::count_tasks(&self.readers, &filter).await })
    }

    fn open_tasks(&self) -> Reply<'_, Vec<TaskHead>> {
        Box::pin(async move {
            let sql = format!("SELECT {HEAD} FROM tasks WHERE state < 4 ORDER BY created_at, id");
            self.readers.query(&sql, &[]).await?.iter().map(head).collect()
        })
    }

    fn usage(&self, agent: &AgentName, day: i64) -> Reply<'_, Usage> {
        let agent = agent.to_string();
        Box::pin(async move {
            let sql =
                "SELECT input_tokens, output_tokens, turns, calls FROM usage WHERE agent = $1 AND day = $2";
            let row = self.readers.first(sql, &[&agent, &day]).await?;
            let count = |row: &Row, at: usize| row.get::<_, i64>(at).cast_unsigned();
            Ok(row.map_or_else(Usage::default, |row| Usage {
                input_tokens: count(&row, 0),
                output_tokens: count(&row, 1),
                turns: count(&row, 2),
                calls: count(&row, 3),
            }))
        })
    }
}

impl PgStore {
    /// Reads events after a number, commit by commit, and makes sure that none is missing.
    async fn read_events(&self, id: TaskId, after: u64, limit: usize) -> Result<Vec<TaskEvent>, StoreError> {
        let place = i64::try_from(after).unwrap_or(i64::MAX);
        // Each row has at least one event; a long list is cut where there are enough.
        let most = i64::try_from(limit.max(1)).unwrap_or(i64::MAX);
        let rows = self.readers.query(EVENTS, &[&id.as_bytes().as_slice(), &place, &most]).await?;
        let (mut events, mut read) = (Vec::new(), place);
        for row in rows {
            if events.len() >= limit.max(1) {
                break;
            }
            let (first, last, end): (i64, i64, i64) = (row.get(0), row.get(1), row.get(3));
            // Only the first commit may begin before the cursor; each further one follows on the last.
            let follows = if events.is_empty() { first <= read + 1 } else { first == read + 1 };
            if !follows || last > end {
                return Err(damaged(format!(
                    "events {first} to {last} of task {id} do not follow event {read}"
                )));
            }
            let wrong = || damaged(format!("events {first} to {last} of task {id}"));
            let commit: Vec<TaskEvent> = serde_json::from_str(row.get(2)).map_err(|_| wrong())?;
            let rest = commit.into_iter().filter(|event| event.seq > after);
            events.extend(rest.map(|event| TaskEvent { task: id, ..event }));
            read = last;
        }
        Ok(events)
    }
}
