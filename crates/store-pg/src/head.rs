//! The end of a transaction: the site's head row, the journal's chain, the feed, the sums, and the commit.
//!
//! Promises: the head row is locked last, so its holder commits next: lines of the journal and numbers of
//! the feed become visible in their order and without gaps, in every process. Everything that all processes
//! add to (sums, usage) is written under the same lock, so it cannot deadlock. Before the commit is sent the
//! number of the transaction is known, by which its outcome can be asked later.

use std::collections::BTreeMap;

use agentsite_protocol::{JournalLine, Usage};
use agentsite_store::engine::{self, Accounts, ChainEnd, Covered, Vault, is_anonymous};
use agentsite_store::{Entity, Topic};
use futures::future::{BoxFuture, try_join_all};
use tokio_postgres::Error;

use crate::session::Session;
use crate::{feed, text};

const LOCK: &str =
    "SELECT journal_seq, journal_hash, feed, opening, pg_current_xact_id()::text FROM head FOR UPDATE";
const RAISE: &str =
    "UPDATE head SET journal_seq = $1, journal_hash = $2, feed = $3, anonymous = anonymous + $4,
    total = total + $5";
const LINES: &str = "INSERT INTO journal (seq, at, actor, agent, task, text, salt, hash, kind, subject)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::bytea[],
        $8::bytea[], $9::text[], $10::text[])";
const SUMS: &str = "INSERT INTO storage (account, bytes) SELECT * FROM unnest($1::text[], $2::bigint[])
    ON CONFLICT (account) DO UPDATE SET bytes = storage.bytes + excluded.bytes";
const EMPTY: &str = "DELETE FROM storage WHERE account = ANY($1) AND bytes <= 0";
/// Sums stop at the largest number of a column, as in every engine.
const USAGE: &str = "INSERT INTO usage AS u (agent, day, input_tokens, output_tokens, turns, calls)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    ON CONFLICT (agent, day) DO UPDATE SET
        input_tokens = least(u.input_tokens, 9223372036854775807 - excluded.input_tokens) + excluded.input_tokens,
        output_tokens = least(u.output_tokens, 9223372036854775807 - excluded.output_tokens) + excluded.output_tokens,
        turns = least(u.turns, 9223372036854775807 - excluded.turns) + excluded.turns,
        calls = least(u.calls, 9223372036854775807 - excluded.calls) + excluded.calls";
const FEED: &str = "INSERT INTO feed (topic, last, entities) VALUES ($1, $2, $3)";

/// The statements of every commit, to be prepared beforehand.
pub(crate) const STATEMENTS: &[&str] = &[LOCK, RAISE, LINES, SUMS, EMPTY, USAGE, FEED];

/// What all processes append to.
#[derive(Debug, Default)]
pub(crate) struct Appended<'a> {
    pub(crate) lines: &'a [JournalLine],
    pub(crate) touched: Vec<Entity>,
    pub(crate) usage: BTreeMap<(String, i64), Usage>,
}

/// The head row as this transaction has it locked.
#[derive(Debug)]
pub(crate) struct Head {
    end: ChainEnd,
    feed: Vec<i64>,
    pub(crate) opening: u64,
    /// By which the outcome of the commit can be asked.
    pub(crate) transaction: String,
    /// The last entry that this transaction adds to the feed: topic, number, entity.
    entry: Option<(i16, i64, String)>,
    /// Whether it adds lines to the journal.
    wrote: bool,
}

/// What a transaction leaves in the database that no other one does.
///
/// The number of a transaction alone does not name it: a standby that was promoted gives the numbers again
/// that its primary had given and not sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    /// The end of the journal's chain after it.
    pub(crate) line: Option<(i64, Vec<u8>)>,
    /// Its last entry of the feed: topic, number, entity.
    pub(crate) entry: Option<(i16, i64, String)>,
}

impl Trace {
    /// Whether it is there. One that left nothing to look for is believed to be.
    pub(crate) async fn is_there(&self, session: &Session) -> Result<bool, Error> {
        let row = match self {
            Self { line: Some((seq, hash)), .. } => {
                let sql = "SELECT EXISTS (SELECT 1 FROM journal WHERE seq = $1 AND hash = $2)";
                session.first(sql, &[seq, hash]).await?
            }
            Self { entry: Some((topic, last, entity)), .. } => {
                let sql = "SELECT EXISTS (SELECT 1 FROM feed WHERE topic = $1 AND last = $2
                           AND entities[cardinality(entities)] = $3)";
                session.first(sql, &[topic, last, entity]).await?
            }
            Self { line: None, entry: None } => return Ok(true),
        };
        Ok(row.is_some_and(|row| row.get(0)))
    }
}

impl Head {
    /// Waits until it is this transaction's turn to commit.
    pub(crate) async fn lock(session: &Session) -> Result<Option<Self>, Error> {
        let Some(row) = session.first(LOCK, &[]).await? else { return Ok(None) };
        let hash = row.get::<_, &[u8]>(1).try_into().unwrap_or(engine::START);
        Ok(Some(Self {
            end: ChainEnd { seq: row.get(0), hash },
            feed: row.get(2),
            opening: row.get::<_, i64>(3).cast_unsigned(),
            transaction: row.get(4),
            entry: None,
            wrote: false,
        }))
    }

    /// Appends; nothing of it is seen before the commit.
    pub(crate) async fn append(
        &mut self,
        session: &Session,
        vault: &Vault,
        appended: Appended<'_>,
        accounts: &Accounts,
    ) -> Result<(), Error> {
        let mut sent: Vec<BoxFuture<'_, Result<(), Error>>> = Vec::new();
        if !appended.lines.is_empty() {
            let lines = self.chain(vault, appended.lines);
            self.wrote = true;
            sent.push(Box::pin(async move { lines.write(session).await }));
        }
        for (topic, entities) in by_topic(appended.touched) {
            let at = topic as usize;
            let added = i64::try_from(entities.len()).unwrap_or(i64::MAX);
            let last = self.feed.get_mut(at).map_or(0, |last| {
                *last += added;
                *last
            });
            let number = i16::try_from(at).unwrap_or(i16::MAX);
            self.entry = entities.last().map(|entity| (number, last, entity.clone()));
            sent.push(Box::pin(async move {
                session.execute(FEED, &[&number, &last, &entities]).await?;
                feed::trim(session, topic, last, added).await
            }));
        }
        if !appended.usage.is_empty() {
            sent.push(Box::pin(async move { add_usage(session, &appended.usage).await }));
        }
        let differences = accounts.differences();
        let anonymous: i64 =
            differences.iter().filter(|(name, _)| is_anonymous(name)).map(|(_, bytes)| bytes).sum();
        let total: i64 = differences.values().sum();
        if !differences.is_empty() {
            sent.push(Box::pin(async move { add_sums(session, &differences).await }));
        }
        let (end, ends) = (self.end, &self.feed);
        sent.push(Box::pin(async move {
            let hash = end.hash.as_slice();
            session.execute(RAISE, &[&end.seq, &hash, ends, &anonymous, &total]).await.map(drop)
        }));
        try_join_all(sent).await.map(drop)
    }

    /// By what the transaction is recognised after its commit.
    pub(crate) fn trace(&self) -> Trace {
        let line = self.wrote.then(|| (self.end.seq, self.end.hash.to_vec()));
        Trace { line, entry: self.entry.clone() }
    }

    /// The ends of the feeds.
    pub(crate) fn ends(&self) -> Vec<u64> {
        self.feed.iter().map(|end| end.cast_unsigned()).collect()
    }

    fn chain(&mut self, vault: &Vault, lines: &[JournalLine]) -> Lines {
        let mut rows = Lines::default();
        for line in lines {
            let salt = vault.salt(&self.end.hash);
            let implied = line.subject == line.implied_subject();
            let subject = (!implied).then(|| line.subject.to_string());
            let digest = engine::digest(&salt, &line.text);
            let covered = Covered::new(self.end.seq + 1, line, subject.as_deref(), digest);
            self.end = self.end.next(&covered);
            rows.seq.push(covered.seq);
            rows.at.push(covered.at);
            rows.actor.push(text::put(covered.actor).into_owned());
            rows.agent.push(covered.agent.map(str::to_owned));
            rows.task.push(covered.task.map(<[u8]>::to_vec));
            rows.text.push(text::put(&line.text).into_owned());
            rows.salt.push(salt.to_vec());
            rows.hash.push(self.end.hash.to_vec());
            rows.kind.push(covered.kind.map(str::to_owned));
            rows.subject.push(subject.map(|subject| text::put(&subject).into_owned()));
        }
        rows
    }
}

/// Lines of the journal, column by column.
#[derive(Debug, Default)]
struct Lines {
    seq: Vec<i64>,
    at: Vec<i64>,
    actor: Vec<String>,
    agent: Vec<Option<String>>,
    task: Vec<Option<Vec<u8>>>,
    text: Vec<String>,
    salt: Vec<Vec<u8>>,
    hash: Vec<Vec<u8>>,
    kind: Vec<Option<String>>,
    subject: Vec<Option<String>>,
}

impl Lines {
    async fn write(&self, session: &Session) -> Result<(), Error> {
        let Self { seq, at, actor, agent, task, text, salt, hash, kind, subject } = self;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 10] =
            [seq, at, actor, agent, task, text, salt, hash, kind, subject];
        session.execute(LINES, &values).await.map(drop)
    }
}

fn by_topic(touched: Vec<Entity>) -> Vec<(Topic, Vec<String>)> {
    let mut topics = Topic::ALL.map(|topic| (topic, Vec::new()));
    for entity in touched {
        let at = entity.topic() as usize;
        topics[at].1.push(feed::written(&entity));
    }
    topics.into_iter().filter(|(_, entities)| !entities.is_empty()).collect()
}

async fn add_sums(session: &Session, differences: &BTreeMap<String, i64>) -> Result<(), Error> {
    let changed = || differences.iter().filter(|(_, bytes)| **bytes != 0);
    let names: Vec<&str> = changed().map(|(name, _)| name.as_str()).collect();
    let bytes: Vec<i64> = changed().map(|(_, bytes)| *bytes).collect();
    if names.is_empty() {
        return Ok(());
    }
    session.execute(SUMS, &[&names, &bytes]).await?;
    if bytes.iter().any(|bytes| *bytes < 0) {
        session.execute(EMPTY, &[&names]).await?;
    }
    Ok(())
}

async fn add_usage(session: &Session, usage: &BTreeMap<(String, i64), Usage>) -> Result<(), Error> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let (agents, days): (Vec<&str>, Vec<i64>) =
        usage.keys().map(|(agent, day)| (agent.as_str(), *day)).unzip();
    let sums =
        |of: fn(&Usage) -> u64| -> Vec<i64> { usage.values().map(|usage| number(of(usage))).collect() };
    let (input, output) = (sums(|usage| usage.input_tokens), sums(|usage| usage.output_tokens));
    let (turns, calls) = (sums(|usage| usage.turns), sums(|usage| usage.calls));
    session.execute(USAGE, &[&agents, &days, &input, &output, &turns, &calls]).await.map(drop)
}
