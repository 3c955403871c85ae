//! Removes what is old: turns of removed conversations, ended tasks with everything of theirs, journal lines,
//! records, dead rows of the outbox.
//!
//! Promises: the same rows in the same order as every engine, at most a portion in one transaction, by one
//! process at a time (an advisory lock). A task that a writer has locked at that moment stays for the next
//! time. The newest journal line always stays, so that places are never given twice. It does not shrink
//! files: the server's vacuum lets freed space be used again.

use agentsite_protocol::TaskId;
use agentsite_store::engine::{self, AFTER_ANONYMOUS, ANONYMOUS, Accounts, JOURNAL, fixed};
use agentsite_store::{Entity, Expiry, StoreError};
use tokio_postgres::Error;

use crate::PgStore;
use crate::batch::account;
use crate::fault::told;
use crate::head::{Appended, Head};
use crate::session::Session;
use crate::text;

/// Nothing of a task must still leave.
const FREE: &str = "NOT EXISTS (SELECT 1 FROM outbox o WHERE o.task = t.id AND NOT o.dead)";

/// One expiry that runs.
struct Expiring<'a> {
    session: &'a Session,
    expiry: &'a Expiry,
    accounts: Accounts,
    touched: Vec<Entity>,
    /// The last journal line that goes, and its hash.
    front: Option<(i64, Vec<u8>)>,
}

impl PgStore {
    /// Removes one portion and gives how many tasks went.
    pub(crate) async fn remove_old(&self, expiry: &Expiry) -> Result<usize, StoreError> {
        let mut lent = self.readers.lend().await?;
        // Until it has ended well: an open transaction must not go back to the pool.
        lent.spoiled = true;
        let done = self.expire_in(&lent, expiry).await;
        if let Ok((gone, opening, ends)) = &done {
            lent.spoiled = false;
            self.ends.move_to(*opening, ends);
            self.committed.notify_one();
            return Ok(*gone);
        }
        done.map(|(gone, ..)| gone).map_err(|error| told(&error))
    }

    async fn expire_in(&self, session: &Session, expiry: &Expiry) -> Result<(usize, u64, Vec<u64>), Error> {
        session.batch("BEGIN").await?;
        let lock =
            "SELECT pg_advisory_xact_lock(hashtextextended('agentsite expiry ' || current_schema(), 0))";
        session.execute(lock, &[]).await?;
        let sums = session.first(
            "SELECT anonymous, coalesce((SELECT bytes FROM storage WHERE account = 'journal'), 0) FROM head",
            &[],
        );
        let (anonymous, journal): (i64, i64) = sums.await?.map_or((0, 0), |row| (row.get(0), row.get(1)));
        let mut work = Expiring {
            session,
            expiry,
            accounts: Accounts::new(self.limits),
            touched: Vec::new(),
            front: None,
        };
        work.release_turns().await?;
        let mut gone = work.victims().await?;
        work.remove_tasks(&gone).await?;
        work.cut_anonymous(anonymous, &mut gone).await?;
        work.cut_journal(journal).await?;
        work.remove_records().await?;
        work.remove_dead().await?;
        let Some(mut head) = Head::lock(session).await? else {
            session.batch("ROLLBACK").await?;
            return Ok((0, 0, Vec::new()));
        };
        let appended = Appended { touched: std::mem::take(&mut work.touched), ..Appended::default() };
        head.append(session, &self.vault, appended, &work.accounts).await?;
        if let Some((seq, hash)) = &work.front {
            session.execute("UPDATE head SET front_seq = $1, front_hash = $2", &[seq, hash]).await?;
        }
        session.batch("COMMIT").await?;
        Ok((gone.len(), head.opening, head.ends()))
    }
}

impl Expiring<'_> {
    fn portion(&self) -> i64 {
        i64::try_from(self.expiry.portion).unwrap_or(i64::MAX)
    }

    /// Removes up to a portion of turns of removed conversations and lets go of their tasks.
    async fn release_turns(&mut self) -> Result<(), Error> {
        let mut left = self.portion();
        while left > 0 {
            let sql = "SELECT id, owner, octet_length(replace(title, chr(26), ''))::bigint FROM conversations WHERE gone ORDER BY id LIMIT 1 FOR UPDATE";
            let Some(row) = self.session.first(sql, &[]).await? else { return Ok(()) };
            let (id, owner, title): (&[u8], &str, i64) = (row.get(0), row.get(1), row.get(2));
            let sql = "DELETE FROM turns WHERE row IN (SELECT row FROM turns WHERE conversation = $1 ORDER BY row LIMIT $2)
                       RETURNING row, task, bytes";
            let turns = self.session.query(sql, &[&id, &left]).await?;
            let rows: Vec<i64> = turns.iter().map(|turn| turn.get(0)).collect();
            let tasks: Vec<&[u8]> = turns.iter().map(|turn| turn.get(1)).collect();
            for turn in &turns {
                self.accounts.take(&account(owner), fixed::TURN + turn.get::<_, i64>(2).cast_unsigned());
            }
            self.session.execute("DELETE FROM turn_words WHERE turn = ANY($1)", &[&rows]).await?;
            let sql = "UPDATE tasks SET kept = false, expires_at = 0 WHERE id IN
                       (SELECT id FROM tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE)";
            self.session.execute(sql, &[&tasks]).await?;
            let removed = i64::try_from(turns.len()).unwrap_or(i64::MAX);
            if removed < left {
                self.session.execute("DELETE FROM conversations WHERE id = $1", &[&id]).await?;
                self.accounts.take(&account(owner), fixed::CONVERSATION + title.cast_unsigned());
            }
            left -= removed;
        }
        Ok(())
    }

    /// Ended tasks that are too old or too many, whose own time is over, or whose callers have no key.
    async fn victims(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let count = "SELECT count(*) FROM tasks WHERE state >= 4 AND NOT kept";
        let ended: i64 = self.session.first(count, &[]).await?.map_or(0, |row| row.get(0));
        let too_many = ended.saturating_sub(i64::try_from(self.expiry.keep).unwrap_or(i64::MAX)).max(0);
        let sql = format!(
            "SELECT id, updated_at FROM tasks t WHERE state >= 4 AND NOT kept AND {FREE}
             ORDER BY updated_at, id LIMIT $1 FOR UPDATE SKIP LOCKED"
        );
        let mut victims: Vec<Vec<u8>> = Vec::new();
        for row in self.session.query(&sql, &[&self.portion()]).await? {
            let young = row.get::<_, i64>(1) >= self.expiry.before.as_millis();
            if young && i64::try_from(victims.len()).unwrap_or(i64::MAX) >= too_many {
                break;
            }
            victims.push(row.get(0));
        }
        let mut space = self.expiry.portion.saturating_sub(victims.len());
        let sql = format!(
            "SELECT id FROM tasks t WHERE expires_at <= $1 AND state >= 4 AND {FREE} ORDER BY expires_at, id
             LIMIT $2 FOR UPDATE SKIP LOCKED"
        );
        let most = i64::try_from(space).unwrap_or(i64::MAX);
        let over = self.session.query(&sql, &[&self.expiry.now.as_millis(), &most]).await?;
        space = space.saturating_sub(over.len());
        let anonymous = self.anonymous(self.expiry.anonymous_before.as_millis(), space).await?;
        for id in over.iter().map(|row| row.get(0)).chain(anonymous) {
            if !victims.contains(&id) {
                victims.push(id);
            }
        }
        Ok(victims)
    }

    /// Ended tasks of callers without a key that were last changed before then, the oldest first.
    async fn anonymous(&self, before: i64, most: usize) -> Result<Vec<Vec<u8>>, Error> {
        let sql = format!(
            "SELECT id FROM tasks t WHERE state >= 4 AND NOT kept AND owner >= '{ANONYMOUS}' AND owner < '{AFTER_ANONYMOUS}'
             AND updated_at < $1 AND {FREE} ORDER BY updated_at, id LIMIT $2 FOR UPDATE SKIP LOCKED"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Ok(self.session.query(&sql, &[&before, &most]).await?.iter().map(|row| row.get(0)).collect())
    }

    /// While callers without a key hold too much, their oldest tasks go.
    async fn cut_anonymous(&mut self, held: i64, gone: &mut Vec<Vec<u8>>) -> Result<(), Error> {
        let taken = |accounts: &Accounts| -> i64 {
            let all = accounts.differences();
            all.iter().filter(|(name, _)| engine::is_anonymous(name)).map(|(_, bytes)| bytes).sum()
        };
        let most = i64::try_from(self.expiry.anonymous_bytes).unwrap_or(i64::MAX);
        while gone.len() < self.expiry.portion && held + taken(&self.accounts) > most {
            let Some(id) = self.anonymous(self.expiry.anonymous_spare.as_millis(), 1).await?.pop() else {
                break;
            };
            self.remove_tasks(std::slice::from_ref(&id)).await?;
            gone.push(id);
        }
        Ok(())
    }

    /// Removes tasks with everything that belongs to them; the journal's lines about them lose their texts.
    async fn remove_tasks(&mut self, ids: &[Vec<u8>]) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        let sql = "WITH gone AS (DELETE FROM task_events WHERE task = ANY($1) RETURNING task, first_seq, sent, octet_length(body) AS body)
                   SELECT t.owner, sum(64 + g.body + CASE g.first_seq WHEN 1 THEN 640 ELSE 0 END)::bigint,
                       array_agg(g.sent) FILTER (WHERE g.sent IS NOT NULL)
                   FROM gone g JOIN tasks t ON t.id = g.task GROUP BY t.owner";
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for row in self.session.query(sql, &[&ids]).await? {
            self.accounts.take(&account(row.get(0)), row.get::<_, i64>(1).cast_unsigned());
            keys.extend(row.get::<_, Option<Vec<Vec<u8>>>>(2).into_iter().flatten());
        }
        self.session.execute("DELETE FROM sent WHERE key = ANY($1)", &[&keys]).await?;
        let sql = "WITH gone AS (DELETE FROM push_configs WHERE task = ANY($1) RETURNING task, octet_length(body) AS body)
                   SELECT t.owner, sum(96 + g.body - 28)::bigint FROM gone g JOIN tasks t ON t.id = g.task GROUP BY t.owner";
        for row in self.session.query(sql, &[&ids]).await? {
            self.accounts.take(&account(row.get(0)), row.get::<_, i64>(1).cast_unsigned());
        }
        let sql = "DELETE FROM outbox WHERE task = ANY($1) RETURNING account, octet_length(replace(body, chr(26), ''))::bigint";
        self.take_deliveries(sql, &[&ids]).await?;
        self.redact(ids).await?;
        self.session.execute("DELETE FROM tasks WHERE id = ANY($1)", &[&ids]).await?;
        let touched = ids.iter().filter_map(|id| id.as_slice().try_into().ok());
        self.touched.extend(touched.map(|id| Entity::Task(TaskId::from_bytes(id))));
        Ok(())
    }

    async fn take_deliveries(&mut self, sql: &str, values: crate::session::Values<'_>) -> Result<(), Error> {
        for row in self.session.query(sql, values).await? {
            let bytes = fixed::DELIVERY + row.get::<_, i64>(1).cast_unsigned();
            self.accounts.take(&account(row.get(0)), bytes);
        }
        Ok(())
    }

    /// Removes the texts of lines; their digests keep the chain whole.
    async fn redact(&mut self, ids: &[Vec<u8>]) -> Result<(), Error> {
        let sql = "SELECT seq, salt, text FROM journal WHERE task = ANY($1) AND digest IS NULL ORDER BY seq";
        let (mut places, mut digests, mut bytes) = (Vec::new(), Vec::new(), 0);
        for row in self.session.query(sql, &[&ids]).await? {
            let said = text::got(row.get(2));
            let salt: Option<&[u8]> = row.get(1);
            places.push(row.get::<_, i64>(0));
            digests.push(engine::digest(salt.unwrap_or_default(), &said).to_vec());
            bytes += said.len() as u64;
        }
        if !places.is_empty() {
            let sql = "UPDATE journal j SET text = '', salt = NULL, digest = n.digest
                       FROM unnest($1::bigint[], $2::bytea[]) AS n (seq, digest) WHERE j.seq = n.seq";
            self.session.execute(sql, &[&places, &digests]).await?;
            self.accounts.take(JOURNAL, bytes);
        }
        Ok(())
    }

    /// Removes old lines from the front of the journal, and those that are too many.
    async fn cut_journal(&mut self, held: i64) -> Result<(), Error> {
        let sql = "SELECT seq, at, octet_length(replace(actor, chr(26), ''))::bigint + octet_length(replace(text, chr(26), '')), hash FROM journal
                   WHERE seq < (SELECT max(seq) FROM journal) ORDER BY seq LIMIT $1";
        let most = i64::try_from(engine::most_lines(self.expiry)).unwrap_or(i64::MAX);
        let redacted = self.accounts.differences().get(JOURNAL).copied().unwrap_or(0);
        let held = (held + redacted).max(0).cast_unsigned();
        let mut gone = 0;
        for row in self.session.query(sql, &[&most]).await? {
            let too_many = held.saturating_sub(gone) > self.expiry.journal_bytes;
            if row.get::<_, i64>(1) >= self.expiry.journal_before.as_millis() && !too_many {
                break;
            }
            gone += fixed::LINE + row.get::<_, i64>(2).cast_unsigned();
            self.front = Some((row.get(0), row.get(3)));
        }
        if let Some((last, _)) = &self.front {
            self.session.execute("DELETE FROM journal WHERE seq <= $1", &[last]).await?;
            self.session.execute("DELETE FROM journal_heads WHERE seq <= $1", &[last]).await?;
            self.accounts.take(JOURNAL, gone);
        }
        Ok(())
    }

    /// Removes records whose time has come.
    async fn remove_records(&mut self) -> Result<(), Error> {
        let sql = "DELETE FROM records WHERE (collection, key) IN (SELECT collection, key FROM records
                       WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
                   RETURNING collection, key, coalesce(owner, ''), octet_length(body)::bigint - 28";
        for row in self.session.query(sql, &[&self.expiry.now.as_millis(), &self.portion()]).await? {
            let key = text::got(row.get(1));
            let bytes = fixed::SETTING + key.len() as u64 + row.get::<_, i64>(3).cast_unsigned();
            self.accounts.take(&account(row.get(2)), bytes);
            self.touched.push(Entity::Record { collection: row.get(0), key });
        }
        Ok(())
    }

    /// Removes rows of the outbox that were given up long ago.
    async fn remove_dead(&mut self) -> Result<(), Error> {
        let sql = "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE dead AND deadline < $1 ORDER BY id LIMIT $2)
                   RETURNING account, octet_length(replace(body, chr(26), ''))::bigint";
        let (before, portion) = (self.expiry.before.as_millis(), self.portion());
        self.take_deliveries(sql, &[&before, &portion]).await
    }
}
