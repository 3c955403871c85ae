//! Visit: one request from its head to its answer, with the share that its caller has of the site.
//!
//! Promises: a request holds its share from when it has arrived until it is answered, whatever becomes of it;
//! a stream that answers it holds one of its own until it ends. It does not recognise callers: `front` says
//! who came.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::connection::{AtWork, Connection};
use crate::metrics::Face;
use crate::shares::{Full, Holder, Share, Shares};

/// One request.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) connection: Arc<Connection>,
    // A std lock: held to change a number, never across an await.
    entered: OnceLock<(Holder, Mutex<Share>)>,
    face: OnceLock<Face>,
}

/// What a stream holds until it ends.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    pub(crate) connection: Arc<Connection>,
    _at_work: AtWork,
    _share: Share,
}

impl Visit {
    pub(crate) fn new(connection: &Arc<Connection>) -> Arc<Self> {
        Arc::new(Self { connection: Arc::clone(connection), entered: OnceLock::new(), face: OnceLock::new() })
    }

    /// Notes which face answers.
    pub(crate) fn reach(&self, face: Face) {
        // Set once: a request has one route.
        let _ = self.face.set(face);
    }

    /// The face that answers; the pages, where no route is.
    pub(crate) fn face(&self) -> Face {
        self.face.get().copied().unwrap_or(Face::Pages)
    }

    /// Counts the request as one of its holder; once, however often it is asked.
    pub(crate) fn enter(&self, requests: &Arc<Shares>, holder: Holder) -> Result<(), Full> {
        if self.entered.get().is_none() {
            let share = requests.take(&holder, 1)?;
            // Two at a time cannot be: a request is recognised by one task.
            let _ = self.entered.set((holder, Mutex::new(share)));
        }
        Ok(())
    }

    /// Gives the share back while the request is not complete: only what the site works on counts.
    pub(crate) fn pause(&self) {
        if let Some((_, share)) = self.entered.get() {
            share.lock().unwrap_or_else(PoisonError::into_inner).release();
        }
    }

    /// Takes the share again when the rest of the request has come.
    pub(crate) fn resume(&self) -> Result<(), Full> {
        match self.entered.get() {
            Some((_, share)) => share.lock().unwrap_or_else(PoisonError::into_inner).grow_to(1),
            None => Ok(()),
        }
    }

    /// Whose request this is; by the connection's address before the caller is recognised.
    pub(crate) fn holder(&self) -> Holder {
        match self.entered.get() {
            Some((holder, _)) => holder.clone(),
            None => Holder::Address(self.connection.peer.into()),
        }
    }

    /// Takes a place for a stream that answers this request.
    pub(crate) fn stream(&self, streams: &Arc<Shares>) -> Result<StreamPlace, Full> {
        let share = streams.take(&self.holder(), 1)?;
        Ok(StreamPlace {
            connection: Arc::clone(&self.connection),
            _at_work: self.connection.begin(),
            _share: share,
        })
    }
}
