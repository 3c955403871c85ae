//! The database as the target of a logical copy: what `agentsite migrate` and `agentsite restore` fill.
//!
//! Promises: from the first step to the last a table `copying` says that the data is not complete, and no
//! site starts on it. Each table is one transaction, which also notes its checksum: a copy that was broken
//! off continues with the tables that are missing. What is there of another site is never written over; it
//! is refused, or kept as `SCHEMA_before_restore` when that was asked for. Other schemas are not touched.

mod column;

use std::collections::BTreeMap;

use agentsite_protocol::RoomId;
use agentsite_store::copying::{
    COPY_TABLES, Cell, CopySum, CopyTable, RowSink, RowSource, copied_blob, copied_bytes, copied_head,
    copied_integer, copied_text,
};
use agentsite_store::engine::{self, Vault, is_anonymous, words};
use agentsite_store::{Reply, StoreError, StoreKey};

use crate::accounts::{RECOUNT, by_account};
use crate::batch::rooms::note_words;
use crate::fault::{damaged, told};
use crate::rows::PgRows;
use crate::schema::COPYING;
use crate::session::Session;
use crate::settings::Target;
use crate::words::terms;
use crate::{audit, exclusive, rooms, schema, source};
use column::ColumnValue;

/// How many bytes of `sent` are the key of a message; the hash of its content follows.
const SENT_KEY: usize = 16;

const WORDS: &str = "INSERT INTO turn_words (turn, answer, owner, words, terms)
    SELECT n.turn, n.answer, c.owner, n.words, array_to_tsvector(string_to_array(n.terms, ' '))
    FROM unnest($1::bigint[], $2::boolean[], $3::text[], $4::text[]) AS n (turn, answer, words, terms)
    JOIN turns t ON t.row = n.turn JOIN conversations c ON c.id = t.conversation";

/// The head row as it follows from the journal; the front was copied.
const HEAD: &str = "UPDATE head SET front_seq = $1, front_hash = $2, anonymous = $3, total = $4,
    journal_seq = coalesce((SELECT max(seq) FROM journal), $1),
    journal_hash = coalesce((SELECT hash FROM journal ORDER BY seq DESC LIMIT 1), $2)";

/// Numbers continue after those that were copied.
const NUMBERS: &str =
    "SELECT setval(pg_get_serial_sequence('outbox', 'id'), $1::bigint + 1, false),
            setval(pg_get_serial_sequence('turns', 'row'), (SELECT coalesce(max(row), 0) + 1 FROM turns), false)";

/// A task whose events are not those that its head counts.
const GAP: &str = "SELECT t.id FROM tasks t LEFT JOIN
        (SELECT task, sum(last_seq - first_seq + 1) AS events, max(last_seq) AS last FROM task_events GROUP BY task) e
        ON e.task = t.id WHERE coalesce(e.events, 0) <> t.seq OR coalesce(e.last, 0) <> t.seq LIMIT 1";

/// A database that rows are copied into.
#[derive(Debug)]
pub struct PgSink {
    session: Session,
    target: Target,
    vault: Vault,
    rows: PgRows,
    /// The last line that was removed from the journal.
    front: (i64, [u8; 32]),
    /// The last number that was given to a delivery.
    delivery: i64,
    /// The number of the last turn.
    turn: i64,
    holds: bool,
}

impl PgSink {
    /// Looks at the database and changes nothing yet. From here on no process of a site starts on it.
    ///
    /// # Errors
    /// [`StoreError::Engine`] with what to do when a process lives or another copy runs; as
    /// [`PgStore::open`](crate::PgStore::open) for the rest.
    pub async fn open(url: &str, key: &StoreKey) -> Result<Self, StoreError> {
        let target = Target::read(url)?;
        let session = Box::pin(source::connect(&target)).await?;
        schema::check_server(&session).await?;
        exclusive::lock(&session, &target).await?;
        let there = schema::has_table(&session, &target, "schema_version").await?;
        let begun = schema::has_table(&session, &target, COPYING).await?;
        let mut holds = false;
        if there && !begun {
            schema::check_known(&session, &target).await?;
            exclusive::check_idle(&session).await?;
            holds = has_rows(&session).await?;
        }
        let (vault, rows) = (Vault::new(key), PgRows::default());
        Ok(Self { session, target, vault, rows, front: (0, engine::START), delivery: 0, turn: 0, holds })
    }

    /// Whether there is data of a site that is complete.
    #[must_use]
    pub const fn holds_data(&self) -> bool {
        self.holds
    }

    /// Makes the database ready to be filled. What it holds is kept in another schema when `aside` says so.
    ///
    /// # Errors
    /// [`StoreError::Engine`] when it holds data that may not be moved aside; [`StoreError::WrongKey`] when a
    /// copy with another key was broken off here.
    pub async fn prepare(&mut self, aside: bool) -> Result<(), StoreError> {
        let schema = &self.target.schema;
        if self.holds && !aside {
            return Err(StoreError::Engine(format!(
                "the database already holds the data of a site in the schema `{schema}`: name another database, or another schema with ?search_path=NAME"
            )));
        }
        if aside && self.is_taken().await? {
            let kept = format!("{schema}_before_restore");
            let sql = format!(
                "BEGIN; DROP SCHEMA IF EXISTS {kept} CASCADE; ALTER SCHEMA {schema} RENAME TO {kept}; COMMIT"
            );
            self.session.batch(&sql).await.map_err(|error| told(&error))?;
        }
        let sql = format!(
            "BEGIN; {} CREATE TABLE IF NOT EXISTS {COPYING} (name text PRIMARY KEY, rows bigint NOT NULL, sum bytea NOT NULL); COMMIT",
            schema::made(&self.target)
        );
        self.session.batch(&sql).await.map_err(|error| told(&error))?;
        Box::pin(schema::migrate(&self.session, &self.target, &self.vault, schema::STEPS)).await?;
        schema::check_key(&self.session, &self.vault).await?;
        self.holds = false;
        Ok(())
    }

    /// Whether there are tables that cannot be filled: with data, or for another key. Those of a copy that
    /// was broken off hold nothing that is worth keeping.
    async fn is_taken(&self) -> Result<bool, StoreError> {
        let there = schema::has_table(&self.session, &self.target, "schema_version").await?;
        if !there || schema::has_table(&self.session, &self.target, COPYING).await? {
            return Ok(false);
        }
        Ok(self.holds || schema::check_key(&self.session, &self.vault).await.is_err())
    }

    async fn put_rows(&mut self, table: &CopyTable, rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        match table.name {
            "front" => {
                for row in &rows {
                    self.front = (copied_integer(row, 0)?, copied_bytes(row, 1)?);
                    self.delivery = copied_integer(row, 2)?;
                }
                Ok(())
            }
            "tasks" => {
                let rooted = |mut row: Vec<Cell>| {
                    let root = engine::root(&copied_head(&row)?);
                    row.push(Cell::Integer(root));
                    Ok(row)
                };
                let rows = rows.into_iter().map(rooted).collect::<Result<Vec<_>, StoreError>>()?;
                self.load(table.name, &format!("{}, root", table.columns), rows).await
            }
            "task_events" => self.put_events(table, rows).await,
            "conversations" => {
                let titled = |mut row: Vec<Cell>| {
                    let gone = copied_integer(&row, 11)? != 0;
                    let title = if gone { "" } else { copied_text(&row, 2)? };
                    row.push(Cell::Text(crate::words::spaced(words(title))));
                    Ok(row)
                };
                let rows = rows.into_iter().map(titled).collect::<Result<Vec<_>, StoreError>>()?;
                self.load(table.name, &format!("{}, title_words", table.columns), rows).await
            }
            "turns" => self.put_turns(rows).await,
            "room_events" => self.put_room_events(table, rows).await,
            _ => self.load(table.name, table.columns, rows).await,
        }
    }

    async fn put_events(&self, table: &CopyTable, mut rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        let mut keys = Vec::new();
        for row in &mut rows {
            let Some((key, hash)) = copied_blob(row, 3)?.and_then(|sent| sent.split_at_checked(SENT_KEY))
            else {
                continue;
            };
            let (key, hash) = (Cell::Bytes(key.to_vec()), Cell::Bytes(hash.to_vec()));
            keys.push(vec![key.clone(), row[0].clone(), hash]);
            row[3] = key;
        }
        self.load(table.name, table.columns, rows).await?;
        self.load("sent", "key, task, body_hash", keys).await
    }

    async fn put_room_events(&self, table: &CopyTable, rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        let said = |row: &Vec<Cell>| {
            let room = RoomId::from_bytes(copied_bytes(row, 0)?);
            Ok((room, copied_integer(row, 1)?.unsigned_abs(), engine::room_words(copied_text(row, 8)?)))
        };
        let said = rows.iter().map(said).collect::<Result<Vec<_>, StoreError>>()?;
        self.load(table.name, table.columns, rows).await?;
        note_words(&self.session, &said).await.map_err(|error| told(&error))
    }

    async fn put_turns(&mut self, mut rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        let (mut turns, mut answers, mut texts, mut indexed) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for row in &mut rows {
            self.turn += 1;
            let said = row.split_off(8);
            row.push(Cell::Integer(self.turn));
            for (answer, cell) in [false, true].into_iter().zip(said) {
                let Cell::Text(text) = cell else { continue };
                let words: Vec<String> = words(&text).collect();
                turns.push(self.turn);
                answers.push(answer);
                indexed.push(terms(&words).map(|terms| terms.join(" ")));
                texts.push(crate::words::spaced(words.into_iter()));
            }
        }
        let columns = "conversation, parent, task, at, agent, context, message, bytes, row";
        self.load("turns", columns, rows).await?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [&turns, &answers, &texts, &indexed];
        self.session.execute(WORDS, &values).await.map(drop).map_err(|error| told(&error))
    }

    async fn load(&self, table: &str, columns: &str, rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        let rows: Vec<Vec<ColumnValue>> =
            rows.into_iter().map(|row| row.into_iter().map(ColumnValue).collect()).collect();
        self.session.load(table, columns, &rows).await.map_err(|error| told(&error))
    }

    /// What follows from the rows, in one transaction.
    async fn derive(&self) -> Result<(), StoreError> {
        let fault = |error: tokio_postgres::Error| told(&error);
        self.session.batch("BEGIN; DELETE FROM storage").await.map_err(fault)?;
        let held: BTreeMap<String, u64> =
            by_account(&self.session.query(RECOUNT, &[]).await.map_err(fault)?).into_iter().collect();
        let (names, bytes): (Vec<&str>, Vec<i64>) =
            held.iter().map(|(name, bytes)| (name.as_str(), bytes.cast_signed())).unzip();
        let sql = "INSERT INTO storage (account, bytes) SELECT * FROM unnest($1::text[], $2::bigint[])";
        self.session.execute(sql, &[&names, &bytes]).await.map_err(fault)?;
        let total: i64 = bytes.iter().sum();
        let anonymous: i64 =
            names.iter().zip(&bytes).filter(|(name, _)| is_anonymous(name)).map(|(_, bytes)| bytes).sum();
        let (seq, hash) = (self.front.0, self.front.1.as_slice());
        self.session.execute(HEAD, &[&seq, &hash, &anonymous, &total]).await.map_err(fault)?;
        self.session.query(NUMBERS, &[&self.delivery]).await.map_err(fault)?;
        self.session.batch("COMMIT").await.map_err(fault)?;
        // Without statistics the first plans on full tables are those for empty ones.
        self.session
            .batch("ANALYZE tasks, task_events, journal, outbox, turns, turn_words, rooms, room_events, room_words")
            .await
            .map_err(fault)
    }
}

/// Whether any table has a row.
async fn has_rows(session: &Session) -> Result<bool, StoreError> {
    let of = |table: &CopyTable| format!("EXISTS (SELECT 1 FROM {})", table.name);
    let all: Vec<String> = COPY_TABLES.iter().filter(|table| table.name != "front").map(of).collect();
    let row = session.first(&format!("SELECT {}", all.join(" OR ")), &[]).await;
    Ok(row.map_err(|error| told(&error))?.is_some_and(|row| row.get(0)))
}

impl RowSource for PgSink {
    fn begin<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()> {
        Box::pin(async move { self.rows.begin(&self.session, table).await })
    }

    fn next(&mut self) -> Reply<'_, Vec<Vec<Cell>>> {
        Box::pin(async move { self.rows.next(&self.session).await })
    }

    fn end(&mut self) -> Reply<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl RowSink for PgSink {
    fn kept<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, Option<CopySum>> {
        Box::pin(async move {
            let sql = format!("SELECT rows, sum FROM {COPYING} WHERE name = $1");
            let row = self.session.first(&sql, &[&table.name]).await.map_err(|error| told(&error))?;
            let kept = row.and_then(|row| {
                let sum = row.get::<_, &[u8]>(1).try_into().map(u128::from_le_bytes).ok()?;
                Some(CopySum { rows: row.get::<_, i64>(0).cast_unsigned(), sum })
            });
            Ok(kept)
        })
    }

    fn clear<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()> {
        Box::pin(async move {
            let emptied = match table.name {
                // Its one row is written at the end.
                "front" => "",
                "task_events" => "TRUNCATE task_events, sent;",
                "turns" => "TRUNCATE turns, turn_words;",
                "room_events" => "TRUNCATE room_events, room_words;",
                name => &format!("TRUNCATE {name};"),
            };
            self.turn = 0;
            let sql = format!("BEGIN; {emptied} DELETE FROM {COPYING} WHERE name = '{}'", table.name);
            self.session.batch(&sql).await.map_err(|error| told(&error))
        })
    }

    fn put<'a>(&'a mut self, table: &'static CopyTable, rows: Vec<Vec<Cell>>) -> Reply<'a, ()> {
        Box::pin(self.put_rows(table, rows))
    }

    fn keep<'a>(&'a mut self, table: &'static CopyTable, sum: CopySum) -> Reply<'a, ()> {
        Box::pin(async move {
            // The front is in memory only, so it is always copied again.
            if table.name != "front" {
                let sql = format!("INSERT INTO {COPYING} (name, rows, sum) VALUES ($1, $2, $3)");
                let (rows, sum) = (sum.rows.cast_signed(), sum.sum.to_le_bytes());
                let noted = self.session.execute(&sql, &[&table.name, &rows, &sum.as_slice()]).await;
                noted.map_err(|error| told(&error))?;
            }
            self.session.batch("COMMIT").await.map_err(|error| told(&error))
        })
    }

    fn seal(&mut self) -> Reply<'_, ()> {
        Box::pin(async move {
            self.derive().await?;
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
            self.session.batch(begin).await.map_err(|error| told(&error))?;
            audit::follow(&self.session).await?;
            rooms::follow(&self.session).await?;
            match self.session.first(GAP, &[]).await.map_err(|error| told(&error))? {
                Some(row) => {
                    let id = crate::heads::task_id(&row, 0)?;
                    Err(damaged(format!("events of task {id} are missing")))
                }
                None => Ok(()),
            }
        })
    }

    fn complete(&mut self) -> Reply<'_, ()> {
        Box::pin(async move {
            let sql = format!("COMMIT; DROP TABLE {COPYING}");
            self.session.batch(&sql).await.map_err(|error| told(&error))
        })
    }
}
