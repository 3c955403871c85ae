//! The outbox's rows as a batch writes them: added, done, tried again or given up.
//!
//! Promises: changes take effect in their order; those of one kind that follow one another are one statement.
//! A row that is gone stays gone. Which row of a lane may leave is decided when rows are taken (see
//! `deliveries`), so nothing here depends on other rows. It sends nothing.

use std::collections::HashSet;

use agentsite_protocol::Timestamp;
use agentsite_store::engine::fixed;
use agentsite_store::{DeliveryChange, DeliveryRequest};
use tokio_postgres::Error;

use super::seen::{Seen, account};
use crate::session::Session;
use crate::text;

const ADD: &str = "INSERT INTO outbox (account, due, deadline, task, lane, kind, body)
    SELECT account, due, deadline, task, lane, kind, body
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[], $6::text[], $7::text[])
        WITH ORDINALITY AS n (account, due, deadline, task, lane, kind, body, place) ORDER BY place";
const DONE: &str = "DELETE FROM outbox WHERE id = ANY($1) RETURNING account, octet_length(replace(body, chr(26), ''))::bigint";
const RETRY: &str = "UPDATE outbox o SET due = n.due, error = n.error, dead = false
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n (id, due, error) WHERE o.id = n.id";
const DEFER: &str = "UPDATE outbox o SET due = n.due, attempts = greatest(attempts - 1, 0)
    FROM unnest($1::bigint[], $2::bigint[]) AS n (id, due) WHERE o.id = n.id";
const DEAD: &str = "UPDATE outbox o SET error = n.error, dead = true
    FROM unnest($1::bigint[], $2::text[]) AS n (id, error) WHERE o.id = n.id";
const REPLAY: &str = "UPDATE outbox o SET due = n.due, deadline = n.deadline, attempts = 0, dead = false
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (id, due, deadline) WHERE o.id = n.id";

/// Changes in their order, those of one kind together.
#[derive(Debug, Default)]
pub(crate) struct OutboxWrites(Vec<Group>);

/// Changes of one kind; no row comes twice in it.
#[derive(Debug, Default)]
struct Group {
    changes: Vec<DeliveryChange>,
    ids: HashSet<u64>,
}

impl OutboxWrites {
    pub(crate) fn change(&mut self, change: &DeliveryChange) {
        let id = id(change);
        let fits = self.0.last().is_some_and(|group| {
            let same =
                group.changes.first().map(std::mem::discriminant) == Some(std::mem::discriminant(change));
            same && id.is_none_or(|id| !group.ids.contains(&id))
        });
        if !fits {
            self.0.push(Group::default());
        }
        if let Some(group) = self.0.last_mut() {
            group.ids.extend(id);
            group.changes.push(change.clone());
        }
    }

    pub(crate) async fn flush(&mut self, session: &Session, seen: &mut Seen) -> Result<(), Error> {
        for group in std::mem::take(&mut self.0) {
            group.write(session, seen).await?;
        }
        Ok(())
    }
}

fn id(change: &DeliveryChange) -> Option<u64> {
    match change {
        DeliveryChange::Add(_) => None,
        DeliveryChange::Done(id)
        | DeliveryChange::Retry { id, .. }
        | DeliveryChange::Defer { id, .. }
        | DeliveryChange::Dead { id, .. }
        | DeliveryChange::Replay { id, .. } => Some(*id),
    }
}

impl Group {
    async fn write(self, session: &Session, seen: &mut Seen) -> Result<(), Error> {
        let ids: Vec<i64> = self.changes.iter().filter_map(id).map(u64::cast_signed).collect();
        let (mut rows, mut dues, mut ends, mut errors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut sql = DONE;
        for change in self.changes {
            match change {
                DeliveryChange::Add(row) => rows.push(row),
                DeliveryChange::Done(_) => {}
                DeliveryChange::Retry { due, error, .. } => {
                    sql = RETRY;
                    dues.push(due.as_millis());
                    errors.push(text::put(&error).into_owned());
                }
                DeliveryChange::Defer { due, .. } => {
                    sql = DEFER;
                    dues.push(due.as_millis());
                }
                DeliveryChange::Dead { error, .. } => {
                    sql = DEAD;
                    errors.push(text::put(&error).into_owned());
                }
                DeliveryChange::Replay { due, deadline, .. } => {
                    sql = REPLAY;
                    dues.push(due.as_millis());
                    ends.push(deadline.as_millis());
                }
            }
        }
        if !rows.is_empty() {
            return add(session, &rows).await;
        }
        match sql {
            RETRY => session.execute(sql, &[&ids, &dues, &errors]).await?,
            DEFER => session.execute(sql, &[&ids, &dues]).await?,
            DEAD => session.execute(sql, &[&ids, &errors]).await?,
            REPLAY => session.execute(sql, &[&ids, &dues, &ends]).await?,
            _ => {
                for row in session.query(DONE, &[&ids]).await? {
                    take_off(seen, row.get(0), row.get(1));
                }
                0
            }
        };
        Ok(())
    }
}

/// Takes a removed row off the sums.
pub(crate) fn take_off(seen: &mut Seen, of: &str, body: i64) {
    seen.accounts.take(&account(of), fixed::DELIVERY + body.cast_unsigned());
}

async fn add(session: &Session, rows: &[DeliveryRequest]) -> Result<(), Error> {
    let texts = |of: fn(&DeliveryRequest) -> &str| -> Vec<String> {
        rows.iter().map(|row| text::put(of(row)).into_owned()).collect()
    };
    let times = |of: fn(&DeliveryRequest) -> Timestamp| -> Vec<i64> {
        rows.iter().map(|row| of(row).as_millis()).collect()
    };
    let accounts = texts(|row| &row.account);
    let (dues, ends) = (times(|row| row.due), times(|row| row.deadline));
    let tasks: Vec<Option<&[u8]>> =
        rows.iter().map(|row| row.task.as_ref().map(|id| id.as_bytes().as_slice())).collect();
    let lanes: Vec<Option<String>> =
        rows.iter().map(|row| row.lane.as_deref().map(|lane| text::put(lane).into_owned())).collect();
    let (kinds, bodies) = (texts(|row| &row.kind), texts(|row| &row.body));
    session.execute(ADD, &[&accounts, &dues, &ends, &tasks, &lanes, &kinds, &bodies]).await?;
    Ok(())
}
