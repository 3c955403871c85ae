//! Asking for a look at the agents folder, and hearing when it was taken.
//!
//! Promises: whoever asks is answered after a look that began later than the question; nobody waits for a
//! site that has stopped. It does not look itself.

use tokio::sync::{mpsc, oneshot};

/// Questions that may wait; each is one change by one person, and they come one after the other.
const WAITING: usize = 16;

/// Asks for looks.
#[derive(Debug, Clone)]
pub(crate) struct Looks(mpsc::Sender<oneshot::Sender<()>>);

/// Where the questions arrive.
#[derive(Debug)]
pub(crate) struct Asked(mpsc::Receiver<oneshot::Sender<()>>);

/// One who waits for a look.
#[derive(Debug)]
pub(crate) struct Waiting(oneshot::Sender<()>);

impl Looks {
    /// Both ends.
    pub(crate) fn channel() -> (Self, Asked) {
        let (ask, asked) = mpsc::channel(WAITING);
        (Self(ask), Asked(asked))
    }

    /// Waits until the folder was looked at.
    pub(crate) async fn look(&self) {
        let (done, looked) = oneshot::channel();
        if self.0.send(done).await.is_ok() {
            let _ = looked.await;
        }
    }
}

impl Asked {
    /// The next who waits; none when nobody can ask any more.
    pub(crate) async fn next(&mut self) -> Option<Waiting> {
        self.0.recv().await.map(Waiting)
    }
}

impl Waiting {
    /// Tells that the look was taken.
    pub(crate) fn done(self) {
        let _ = self.0.send(());
    }
}
