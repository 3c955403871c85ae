//! How background work follows one topic of the store's change feed.
//!
//! Promises: everything that a commit of any process touched is handed out at least once; after an error
//! everything is handed out again. It ends when the token fires or the store closes.

use std::time::Duration;

use agentsite_store::{FeedReader, SharedStore, StoreError, Topic, Touched};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::workers::Worker;

/// How long to wait after an error.
const RETRY: Duration = Duration::from_millis(500);

/// How what was handed out was taken: how it stands, in words, or why it must be handed out again.
pub type Taken = BoxFuture<'static, Result<String, StoreError>>;

/// Hands what a topic's feed names to `take`, which says in words how it stands, until the token fires.
pub async fn follow_topic(
    store: SharedStore,
    topic: Topic,
    take: impl Fn(Touched) -> Taken,
    worker: Worker,
    stop: CancellationToken,
) {
    let mut feed = FeedReader::new(store, topic);
    // What changed before the reader began is read once.
    let mut again = true;
    loop {
        let touched = match feed.look().await {
            Ok(_) if again => Ok(Touched::All),
            touched => touched,
        };
        let taken = match touched {
            Ok(touched) => take(touched).await,
            Err(error) => Err(error),
        };
        again = taken.is_err();
        match taken {
            Ok(words) => worker.idle(&words),
            Err(error) => worker.failing(&error.to_string()),
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RETRY), if again => {}
            open = feed.wait(), if !again => if !open { return },
        }
    }
}
