//! Conversations and their turns in the database, and the search for words in them.
//!
//! Promises: a search gives the same answers as in every engine, for every script. A removed conversation is
//! gone for readers at once; its turns go in portions with the next expiries. Writing is in `batch`.

use std::collections::HashMap;

use agentsite_protocol::{ConversationId, Principal, TaskId, Timestamp};
use agentsite_store::engine::{MAX_PAGE, SEARCHED, SearchPhrases, page_of_conversations};
use agentsite_store::{
    Conversation, ConversationCursor, ConversationMatch, ConversationQuery, ConversationReads, MAX_SIBLINGS,
    Page, Reply, Spot, StoreError, Turn, TurnPosition,
};
use tokio_postgres::Row;

use crate::fault::{damaged, principal};
use crate::heads::task_id;
use crate::list::Where;
use crate::words::{index_query, patterns};
use crate::{PgStore, text};

const COLUMNS: &str = "id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns";

const TURN: &str = "t.task, t.conversation, t.parent, t.agent, t.message, t.context, t.at";

/// A turn whose conversation is there.
const THERE: &str = "FROM turns t JOIN conversations c ON c.id = t.conversation AND NOT c.gone";

const WORDS: &str = "SELECT w.answer, t.task, t.conversation FROM turn_words w JOIN turns t ON t.row = w.turn
    WHERE w.owner = $1 AND (w.terms @@ $2::text::tsquery OR w.terms IS NULL) AND w.words LIKE ALL ($3)
    ORDER BY w.turn DESC, w.answer DESC LIMIT $4";

const TITLES: &str =
    "SELECT id FROM conversations WHERE owner = $1 AND NOT gone AND title_words LIKE ALL ($2) LIMIT $3";

impl ConversationReads for PgStore {
    fn conversation(&self, id: ConversationId) -> Reply<'_, Option<Conversation>> {
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS} FROM conversations WHERE id = $1 AND NOT gone");
            let row = self.readers.first(&sql, &[&id.as_bytes().as_slice()]).await?;
            row.as_ref().map(conversation).transpose()
        })
    }

    fn conversations(
        &self,
        query: ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Reply<'_, Page<ConversationMatch, ConversationCursor>> {
        Box::pin(async move {
            let found = match &query.text {
                Some(text) => self.search(&query.owner, text).await?,
                None => return self.page(&query.owner, after, limit).await,
            };
            Ok(page_of_conversations(found, after, limit))
        })
    }

    fn count_conversations(&self, owner: &Principal) -> Reply<'_, u64> {
        let owner = owner.to_string();
        Box::pin(async move {
            let sql = "SELECT count(*) FROM conversations WHERE owner = $1 AND NOT gone";
            let row = self.readers.first(sql, &[&owner]).await?;
            Ok(row.map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
        })
    }

    fn turn(&self, task: TaskId) -> Reply<'_, Option<Turn>> {
        Box::pin(async move {
            let sql = format!("SELECT {TURN} {THERE} WHERE t.task = $1");
            let row = self.readers.first(&sql, &[&task.as_bytes().as_slice()]).await?;
            row.as_ref().map(turn).transpose()
        })
    }

    fn path(&self, from: TaskId, limit: usize) -> Reply<'_, Vec<TurnPosition>> {
        Box::pin(async move {
            let sql = format!(
                "WITH RECURSIVE path AS (
                     SELECT t.*, 1 AS step {THERE} WHERE t.task = $1
                     UNION ALL SELECT p.*, path.step + 1 FROM path JOIN turns p ON p.task = path.parent WHERE path.step < $2
                 ) SELECT {TURN}, ARRAY(SELECT s.task FROM turns s WHERE s.conversation = t.conversation
                       AND s.parent IS NOT DISTINCT FROM t.parent ORDER BY s.row LIMIT $3) FROM path t ORDER BY t.step"
            );
            let most = i32::try_from(limit.clamp(1, MAX_PAGE)).unwrap_or(i32::MAX);
            let siblings = i64::try_from(MAX_SIBLINGS).unwrap_or(i64::MAX);
            let rows = self.readers.query(&sql, &[&from.as_bytes().as_slice(), &most, &siblings]).await?;
            let place = |row: &Row| {
                let siblings: Vec<Vec<u8>> = row.get(7);
                let siblings = siblings.into_iter().map(|id| id.try_into().map(TaskId::from_bytes));
                let siblings = siblings.collect::<Result<_, _>>().map_err(|_| damaged("a turn"))?;
                Ok(TurnPosition { turn: turn(row)?, siblings })
            };
            rows.iter().map(place).collect()
        })
    }

    fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<Turn>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {TURN} {THERE} WHERE t.conversation = $1
                 AND t.row > coalesce((SELECT row FROM turns WHERE task = $2), 0) ORDER BY t.row LIMIT $3"
            );
            let after = after.map(|task| task.as_bytes().to_vec());
            let most = i64::try_from(limit.clamp(1, MAX_PAGE)).unwrap_or(i64::MAX);
            let rows = self.readers.query(&sql, &[&id.as_bytes().as_slice(), &after, &most]).await?;
            rows.iter().map(turn).collect()
        })
    }

    fn leaf(&self, from: TaskId) -> Reply<'_, Option<TaskId>> {
        Box::pin(async move {
            let sql = format!(
                "WITH RECURSIVE way AS (
                     SELECT t.conversation, t.task, 1 AS step {THERE} WHERE t.task = $1
                     UNION ALL SELECT way.conversation, n.task, way.step + 1 FROM way CROSS JOIN LATERAL (
                         SELECT task FROM turns WHERE conversation = way.conversation AND parent = way.task
                         ORDER BY row DESC LIMIT 1) n
                 ) SELECT task FROM way ORDER BY step DESC LIMIT 1"
            );
            let row = self.readers.first(&sql, &[&from.as_bytes().as_slice()]).await?;
            row.map(|row| task_id(&row, 0)).transpose()
        })
    }
}

impl PgStore {
    async fn page(
        &self,
        owner: &Principal,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Result<Page<ConversationMatch, ConversationCursor>, StoreError> {
        let mut fits = Where::default();
        fits.and("NOT gone AND owner = ?", owner.to_string());
        if let Some(after) = after {
            fits.and_row(
                "(pinned, updated_at, id) <",
                vec![
                    Box::new(after.pinned),
                    Box::new(after.updated_at.as_millis()),
                    Box::new(after.id.as_bytes().to_vec()),
                ],
            );
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM conversations WHERE {} ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT {}",
            fits.conditions(),
            limit.clamp(1, MAX_PAGE) + 1
        );
        let rows = self.readers.query(&sql, &fits.values()).await?;
        let found = |row| Ok(ConversationMatch { conversation: conversation(row)?, spot: None });
        let items = rows.iter().map(found).collect::<Result<_, StoreError>>()?;
        Ok(page_of_conversations(items, None, limit))
    }

    /// The conversations in which the words stand: those with the newest turns that fit, and those whose
    /// title does.
    async fn search(&self, owner: &Principal, text: &str) -> Result<Vec<ConversationMatch>, StoreError> {
        let Some(wanted) = SearchPhrases::read(text) else { return Ok(Vec::new()) };
        let (owner, patterns) = (owner.to_string(), patterns(&wanted));
        let most = i64::try_from(SEARCHED).unwrap_or(i64::MAX);
        let mut spots: HashMap<Vec<u8>, Spot> = HashMap::new();
        let rows = self.readers.query(WORDS, &[&owner, &index_query(&wanted), &patterns, &most]).await?;
        for row in rows {
            let task = task_id(&row, 1)?;
            let spot = if row.get(0) { Spot::Answer(task) } else { Spot::Question(task) };
            spots.entry(row.get(2)).or_insert(spot);
        }
        for row in self.readers.query(TITLES, &[&owner, &patterns, &most]).await? {
            spots.entry(row.get(0)).or_insert(Spot::Title);
        }
        let ids: Vec<&[u8]> = spots.keys().map(Vec::as_slice).collect();
        let sql =
            format!("SELECT {COLUMNS} FROM conversations WHERE id = ANY($1) AND owner = $2 AND NOT gone");
        let rows = self.readers.query(&sql, &[&ids, &owner]).await?;
        let found = |row: &Row| {
            let spot = spots.get(row.get::<_, &[u8]>(0)).copied();
            Ok(ConversationMatch { conversation: conversation(row)?, spot })
        };
        rows.iter().map(found).collect()
    }
}

fn conversation_id(row: &Row, at: usize) -> Result<ConversationId, StoreError> {
    let bytes: &[u8] = row.get(at);
    bytes.try_into().map(ConversationId::from_bytes).map_err(|_| damaged("the id of a conversation"))
}

fn conversation(row: &Row) -> Result<Conversation, StoreError> {
    let id = conversation_id(row, 0)?;
    let agent = row.get::<_, &str>(5).parse();
    let head: Option<&[u8]> = row.get(9);
    Ok(Conversation {
        id,
        owner: principal(row.get(1))?,
        title: text::got(row.get(2)),
        named: row.get(3),
        pinned: row.get(4),
        agent: agent.map_err(|_| damaged(format!("the agent of conversation {id}")))?,
        created_at: Timestamp::from_millis(row.get(6)),
        updated_at: Timestamp::from_millis(row.get(7)),
        revision: row.get::<_, i64>(8).cast_unsigned(),
        head: head.map(|_| task_id(row, 9)).transpose()?,
        turns: row.get::<_, i64>(10).cast_unsigned(),
    })
}

/// Reads a turn from the columns of [`TURN`].
fn turn(row: &Row) -> Result<Turn, StoreError> {
    let task = task_id(row, 0)?;
    let wrong = || damaged(format!("turn {task} of a conversation"));
    let parent: Option<&[u8]> = row.get(2);
    Ok(Turn {
        task,
        conversation: conversation_id(row, 1)?,
        parent: parent.map(|_| task_id(row, 2)).transpose()?,
        agent: row.get::<_, &str>(3).parse().map_err(|_| wrong())?,
        message: row.get::<_, &str>(4).parse().map_err(|_| wrong())?,
        context: row.get::<_, &str>(5).parse().map_err(|_| wrong())?,
        at: Timestamp::from_millis(row.get(6)),
    })
}
