//! The follower: learns of the commits of other processes and tells others of ours.
//!
//! Promises: the ends of the feeds move within milliseconds of a commit by notification, and within a second
//! without one; nothing depends on a notification. Notifications are sent after commits, at most one each ten
//! milliseconds, because a notification inside of a transaction makes all commits of a server wait for one
//! another. A lost connection is made again with growing pauses.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Error;

use crate::ends::Ends;
use crate::session::Session;
use crate::settings::Target;
use crate::tls::Tls;

/// How long a commit of another process may stay unseen when its notification is lost.
const POLL: Duration = Duration::from_secs(1);

/// The pause between two notifications.
const PAUSE: Duration = Duration::from_millis(10);

/// The first pause before a connection is made again, and the longest.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The task that follows; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Follower {
    task: JoinHandle<()>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    /// Follows from now on; `committed` is woken by the own writer.
    pub(crate) fn start(target: Target, tls: Tls, ends: Arc<Ends>, committed: Arc<Notify>) -> Self {
        let task = tokio::spawn(async move {
            let mut pause = AGAIN;
            loop {
                let begun = Instant::now();
                if let Err(error) = follow(&target, &tls, &ends, &committed).await {
                    tracing::debug!(%error, "the connection that follows changes was lost; it is made again");
                }
                pause = if begun.elapsed() > LONGEST { AGAIN } else { (pause * 2).min(LONGEST) };
                sleep(pause).await;
            }
        });
        Self { task }
    }
}

async fn follow(target: &Target, tls: &Tls, ends: &Ends, committed: &Notify) -> Result<(), Error> {
    let heard = Arc::new(Notify::new());
    let session = Session::open(target, tls, Some(heard.clone())).await?;
    let channel = format!("agentsite_{}", target.schema);
    session.batch(&format!("LISTEN {channel}")).await?;
    loop {
        if let Some(row) = session.first("SELECT opening, feed FROM head", &[]).await? {
            let found: Vec<i64> = row.get(1);
            let found: Vec<u64> = found.into_iter().map(i64::cast_unsigned).collect();
            ends.move_to(row.get::<_, i64>(0).cast_unsigned(), &found);
        }
        let own = async {
            tokio::select! {
                () = heard.notified() => false,
                () = committed.notified() => true,
            }
        };
        // The end of the time is a look like any other.
        if timeout(POLL, own).await.unwrap_or(false) {
            session.batch(&format!("NOTIFY {channel}")).await?;
            sleep(PAUSE).await;
        }
    }
}
