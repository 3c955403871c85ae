//! Requests to scan the agents folder now, each answered when its scan is done.
//!
//! Promises: a request is answered after a scan that began later than the request; it never waits for a
//! site that has stopped. It does not scan itself.

use tokio::sync::{mpsc, oneshot};

/// Requests that may wait; each is one change by one person, and they come one after the other.
const WAITING: usize = 16;

/// Requests scans.
#[derive(Debug, Clone)]
pub(crate) struct ScanRequester(mpsc::Sender<oneshot::Sender<()>>);

/// Where the requests arrive.
#[derive(Debug)]
pub(crate) struct ScanRequests(mpsc::Receiver<oneshot::Sender<()>>);

/// One request that waits for its scan.
#[derive(Debug)]
pub(crate) struct ScanRequest(oneshot::Sender<()>);

impl ScanRequester {
    /// Both ends.
    pub(crate) fn channel() -> (Self, ScanRequests) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), ScanRequests(receiver))
    }

    /// Waits until the folder was scanned.
    pub(crate) async fn scan(&self) {
        let (done, scanned) = oneshot::channel();
        if self.0.send(done).await.is_ok() {
            let _ = scanned.await;
        }
    }
}

impl ScanRequests {
    /// The next request; none when no sender is left.
    pub(crate) async fn next(&mut self) -> Option<ScanRequest> {
        self.0.recv().await.map(ScanRequest)
    }
}

impl ScanRequest {
    /// Reports that the scan is done.
    pub(crate) fn done(self) {
        let _ = self.0.send(());
    }
}
