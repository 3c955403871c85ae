//! Follow: the stream of a task as its caller sees it, over more than one connection if need be.
//!
//! Promises: a stream that ends before the task does is an error, not an end; after an error nothing follows.
//! When the server numbers its events (a site does), a cut stream continues after the last number without gap
//! or repeat, a bounded number of times. A server that does not is not asked again here: its caller asks for
//! the task.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use http::{HeaderName, HeaderValue};

use super::endpoint::Endpoint;
use super::events::{Numbered, NumberedStream};
use super::operation::Operation;
use super::wire::StreamItem;
use super::{A2aClient, TaskStream};
use crate::ClientError;

/// Where a client says what it saw last.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Tries in a row to resume without anything new; with the pauses about six seconds, longer than a site takes
/// to start again.
const TRIES: u32 = 6;

/// Cuts that are mended in one stream: a server that gives a little and cuts, again and again, is not
/// followed for ever.
const MOST_CUTS: u32 = 100;

/// Before the first try to resume; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Follows a stream that was opened at an endpoint.
pub(super) fn followed(client: A2aClient, endpoint: Endpoint, source: NumberedStream) -> TaskStream {
    let (seen, task) = (None, None);
    let follow = Follow { client, endpoint, source, seen, task, settled: false, done: false, cuts: 0 };
    stream::unfold(follow, |mut follow| async move { follow.next().await.map(|item| (item, follow)) }).boxed()
}

struct Follow {
    client: A2aClient,
    endpoint: Endpoint,
    source: NumberedStream,
    /// The number of the last event.
    seen: Option<String>,
    /// The task, once it is known.
    task: Option<String>,
    /// Whether the stream may end here.
    settled: bool,
    /// Whether nothing more is read.
    done: bool,
    cuts: u32,
}

impl Follow {
    async fn next(&mut self) -> Option<Result<StreamItem, ClientError>> {
        while !self.done {
            let error = match self.source.next().await {
                Some(Ok(numbered)) => return Some(Ok(self.take(numbered))),
                Some(Err(error)) => error,
                None if self.settled => return None,
                None => ClientError::Cut { from: self.client.name_at(&self.endpoint) },
            };
            if !error.may_pass() || !self.went_on().await {
                self.done = true;
                return Some(Err(error));
            }
        }
        None
    }

    fn take(&mut self, Numbered { id, item }: Numbered) -> StreamItem {
        self.seen = id.or(self.seen.take());
        if let Some(task) = item.task_id() {
            self.task = Some(task.to_owned());
        }
        self.settled = item.settles();
        self.done = item.closes();
        item
    }

    /// Opens the stream again after the last event that was seen; tells whether that was possible.
    async fn went_on(&mut self) -> bool {
        let (Some(seen), Some(task)) = (self.seen.clone(), self.task.clone()) else { return false };
        let Ok(seen) = HeaderValue::from_str(&seen) else { return false };
        let mut client = self.client.clone();
        client.headers.insert(LAST_EVENT_ID, seen);
        let mut pause = FIRST_PAUSE;
        for _ in 0..TRIES {
            self.cuts += 1;
            if self.cuts > MOST_CUTS {
                return false;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
            let patience = client.limits.call_timeout;
            let exchange = client.exchange(&self.endpoint, patience);
            match exchange.open(&Operation::Subscribe { id: &task }).await {
                Ok(source) => {
                    self.source = source;
                    return true;
                }
                Err(error) if error.may_pass() => tracing::debug!(%error, "the stream cannot be resumed yet"),
                Err(_) => return false,
            }
        }
        false
    }
}
