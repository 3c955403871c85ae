//! What the one writer can be asked to do, and how it answers.
//!
//! Promises: a job does its work inside the open transaction of its group and answers only after that has
//! been committed or has failed. It does not decide which jobs share a transaction: `writer` does.

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::accounts::Books;
use super::audit::Audit;
use super::ready::Ready;
use super::{apply, expire, outbox, scrub};
use crate::{DeliveryClaimRequest, DeliveryClaims, Entity, Expiry, StorageQuery, StorageUse, StoreError};

/// One thing for the writer to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Apply a change.
    Change {
        ready: Box<Ready>,
        verdict: Result<(), StoreError>,
        answer: oneshot::Sender<Result<(), StoreError>>,
        /// Its share of the queue's memory; given back once it is answered.
        _permit: OwnedSemaphorePermit,
    },
    /// Take rows of the outbox.
    Claim {
        request: DeliveryClaimRequest,
        found: DeliveryClaims,
        answer: oneshot::Sender<Result<DeliveryClaims, StoreError>>,
    },
    /// Tell what the accounts hold.
    Storage {
        query: StorageQuery,
        found: StorageUse,
        answer: oneshot::Sender<Result<StorageUse, StoreError>>,
    },
    /// Remove what is old.
    Expire {
        expiry: Expiry,
        gone: usize,
        touched: Vec<Entity>,
        answer: oneshot::Sender<Result<usize, StoreError>>,
    },
    /// Merge a part of the indexes of words, so that removed ones go.
    Scrub { begins: bool, more: bool, answer: oneshot::Sender<Result<bool, StoreError>> },
    /// Empty the log when something was removed; done after its group is committed.
    EmptyLog { answer: oneshot::Sender<Result<(), StoreError>> },
    /// Write everything out and stop.
    Close { answer: oneshot::Sender<Result<(), StoreError>> },
    /// Let a test at the connection.
    #[cfg(test)]
    Look { look: fn(&Connection), answer: oneshot::Sender<Result<(), StoreError>> },
}

impl Job {
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Change { ready, .. } => ready.cost,
            _ => 0,
        }
    }

    /// Does the work inside the open transaction and keeps what came of it.
    pub(super) fn run(
        &mut self,
        db: &Connection,
        recent: &mut usize,
        books: &mut Books,
        audit: &mut Audit,
    ) -> rusqlite::Result<()> {
        match self {
            Self::Change { ready, verdict, .. } => *verdict = apply::apply(db, ready, recent, books, audit)?,
            Self::Claim { request, found, .. } => *found = outbox::claim(db, request)?,
            Self::Storage { query, found, .. } => *found = books.view(query),
            Self::Expire { expiry, gone, touched, .. } => {
                touched.clear();
                *gone = expire::expire(db, expiry, recent, books, audit, touched)?;
            }
            Self::Scrub { begins, more, .. } => *more = scrub::step(db, *begins)?,
            Self::EmptyLog { .. } | Self::Close { .. } => {}
            #[cfg(test)]
            Self::Look { look, .. } => look(db),
        }
        Ok(())
    }

    /// Adds what a committed job has touched.
    pub(super) fn touch(&self, touched: &mut Vec<Entity>) {
        match self {
            Self::Change { ready, verdict: Ok(()), .. } => touched.extend(ready.touched()),
            Self::Expire { touched: gone, .. } => touched.extend(gone.iter().cloned()),
            _ => {}
        }
    }

    /// Tells the asker; one that no longer listens has lost nothing.
    pub(super) fn answer(self, committed: &Result<(), StoreError>) {
        let committed = committed.clone();
        match self {
            Self::Change { verdict, answer, .. } => drop(answer.send(committed.and(verdict))),
            Self::Claim { found, answer, .. } => drop(answer.send(committed.map(|()| found))),
            // A question: it is answered whatever became of the others of its group.
            Self::Storage { found, answer, .. } => drop(answer.send(Ok(found))),
            Self::Expire { gone, answer, .. } => drop(answer.send(committed.map(|()| gone))),
            Self::Scrub { more, answer, .. } => drop(answer.send(committed.map(|()| more))),
            Self::EmptyLog { answer } | Self::Close { answer } => drop(answer.send(committed)),
            #[cfg(test)]
            Self::Look { answer, .. } => drop(answer.send(committed)),
        }
    }
}
