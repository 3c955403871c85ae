//! Batch: a group of changes inside one transaction.
//!
//! Promises: the rows that guards look at are locked and read once, in sorted order, for the whole group;
//! then each change is decided in memory, in the order in which they were enqueued, against what those before
//! it have done; what is accepted is written by few statements with arrays. A refused change leaves nothing
//! and does not touch the others. Rare edits are written one by one, after what was decided before them.
//! Journal, feed and sums follow at the end under the lock of the site's head row; see `head`.

pub(crate) mod guards;
mod load;
pub(crate) mod outbox;
mod rare;
pub(crate) mod rooms;
mod seen;
mod seen_rooms;
mod writes;

use agentsite_protocol::JournalLine;
use agentsite_store::engine::{self, Growth};
use agentsite_store::{Edit, Entity, ProcessId, StorageLimits, StoreError};
use tokio_postgres::Error;

use crate::ready::{Ready, ReadyEdit};
use crate::session::Session;
use agentsite_store::engine::Vault;
pub(crate) use load::STATEMENTS as READ_STATEMENTS;
pub(crate) use seen::{Seen, account};
pub(crate) use writes::{STATEMENTS as WRITE_STATEMENTS, Writes};

/// A change with the process that makes it.
pub(crate) struct Asked<'a> {
    pub(crate) ready: &'a Ready,
    pub(crate) by: Option<ProcessId>,
}

/// What a group of changes has come to, before the head row is locked.
pub(crate) struct Batch<'a> {
    pub(crate) session: &'a Session,
    pub(crate) vault: &'a Vault,
    pub(crate) seen: Seen,
    pub(crate) writes: Writes,
    pub(crate) lines: Vec<JournalLine>,
    pub(crate) touched: Vec<Entity>,
}

impl<'a> Batch<'a> {
    /// Begins the transaction and reads what the guards of these changes look at.
    pub(crate) async fn begin(
        session: &'a Session,
        vault: &'a Vault,
        limits: StorageLimits,
        asked: &[Asked<'_>],
    ) -> Result<Self, Error> {
        let seen = load::load(session, limits, asked).await?;
        let (lines, touched) = (Vec::new(), Vec::new());
        Ok(Self { session, vault, seen, writes: Writes::default(), lines, touched })
    }

    /// Accepts a change or refuses it. The outer result is the server's.
    pub(crate) async fn take(&mut self, asked: &Asked<'_>) -> Result<Result<(), StoreError>, Error> {
        if let Err(refusal) = self.seen.guard(asked) {
            return Ok(Err(refusal));
        }
        let growth: Growth = self.seen.growth(asked.ready);
        if let Err(refusal) = self.seen.accounts.guard(&growth, asked.ready.admittance) {
            return Ok(Err(refusal));
        }
        for line in &asked.ready.journal {
            let bytes = engine::fixed::LINE + (line.actor.len() + line.text.len()) as u64;
            self.seen.accounts.append(engine::JOURNAL, bytes);
            self.lines.push(line.clone());
        }
        for edit in &asked.ready.edits {
            self.edit(edit, asked.by).await?;
        }
        Ok(Ok(()))
    }

    /// Makes an edit whose guards have been checked.
    async fn edit(&mut self, edit: &ReadyEdit, by: Option<ProcessId>) -> Result<(), Error> {
        match edit {
            ReadyEdit::Task(task) => {
                self.touched.push(Entity::Task(task.change.head.id));
                self.writes.task(task, by, &mut self.seen);
            }
            ReadyEdit::Listing { change, body } => {
                self.touched.extend(engine::touched(&Edit::Listing(change.clone())));
                self.flush().await?;
                self.listing(change, body).await?;
            }
            ReadyEdit::Other(edit) => {
                self.touched.extend(engine::touched(edit));
                match edit {
                    Edit::Usage(change) => self.writes.usage(change),
                    Edit::Record(change) => self.writes.record(change, &mut self.seen, self.vault),
                    Edit::Delivery(change) => self.writes.delivery(change, &mut self.seen),
                    Edit::Notify(notify) => self.writes.notify(notify, &mut self.seen),
                    Edit::Room(change) => self.writes.rooms.room(change, &mut self.seen),
                    Edit::RoomCursor(change) => self.writes.rooms.cursor(change),
                    rare => {
                        self.flush().await?;
                        Box::pin(self.rare(rare)).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes what was decided so far.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        self.writes.flush(self.session, &mut self.seen).await
    }
}
