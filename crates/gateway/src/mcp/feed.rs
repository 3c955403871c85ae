//! Feed: the messages of one stream of a session, kept until the client has had time to come back for them.
//!
//! Promises: every message has a number, in order; a client that comes back with the last number it saw gets
//! what came after it. At any time one reader follows a feed: a newer one takes over. Memory is bounded: the
//! oldest messages go first. It does not know what they say.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::sse;

/// Most messages that wait for a reader; progress of a long call, of which only the last ones matter.
const MAX_EVENTS: usize = 256;

/// How long a client waits before it comes back, in milliseconds: soon enough for a person who waits.
const RETRY_MS: u64 = 500;

/// The messages of one stream.
#[derive(Debug)]
pub(super) struct Feed {
    /// The number of the stream in its session.
    pub(super) number: u64,
    // A std lock: held to add or copy messages, never across an await.
    state: Mutex<Contents>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Contents {
    events: VecDeque<(u64, Bytes)>,
    last: u64,
    done: bool,
    /// Counts the readers; all but the newest are done.
    reader: u64,
}

impl Feed {
    pub(super) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), news: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, Contents> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message.
    pub(super) fn push(&self, json: Vec<u8>) {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.events.push_back((number, json.into()));
        if state.events.len() > MAX_EVENTS {
            state.events.pop_front();
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Says that no more will come.
    pub(super) fn finish(&self) {
        self.state().done = true;
        self.news.notify_waiters();
    }

    /// Ends the present reader; the messages stay for one that returns.
    pub(super) fn release(&self) {
        self.state().reader += 1;
        self.news.notify_waiters();
    }

    /// Whether no more will come.
    pub(super) fn is_done(&self) -> bool {
        self.state().done
    }

    /// The number of the last message.
    pub(super) fn last(&self) -> u64 {
        self.state().last
    }

    /// Bytes that are kept.
    pub(super) fn size(&self) -> usize {
        self.state().events.iter().map(|(_, json)| json.len()).sum()
    }

    /// Waits until there is something to read or nothing will come; gives the only message when there was but
    /// one and it is the end.
    pub(super) async fn settled(&self) -> Option<Bytes> {
        loop {
            let news = self.news.notified();
            {
                let state = self.state();
                match (state.done, state.last) {
                    (true, 1) => return state.events.back().map(|(_, json)| json.clone()),
                    (false, 0) if state.reader == 0 => {}
                    _ => return None,
                }
            }
            news.await;
        }
    }

    /// Waits for the end and gives the last message.
    pub(super) async fn end(&self) -> Option<Bytes> {
        loop {
            let news = self.news.notified();
            {
                let state = self.state();
                if state.done {
                    return state.events.back().map(|(_, json)| json.clone());
                }
            }
            news.await;
        }
    }

    /// Begins to read after this number, in place of the previous reader.
    pub(super) fn follow(self: &Arc<Self>, seen: u64) -> Follower {
        let mut state = self.state();
        state.reader += 1;
        let reader = state.reader;
        drop(state);
        self.news.notify_waiters();
        Follower { feed: Arc::clone(self), seen, reader }
    }

    /// The same, unless the feed was released before anybody read it; then the reader is done at once.
    pub(super) fn follow_first(self: &Arc<Self>) -> Follower {
        if self.state().reader > 0 {
            return Follower { feed: Arc::clone(self), seen: 0, reader: 0 };
        }
        self.follow(0)
    }

    /// The event that tells a client where to begin when it comes back, and after what time.
    pub(super) fn prime(&self, out: &mut Vec<u8>) {
        let event = format!("id: {}\nretry: {RETRY_MS}\ndata: \n\n", written(self.number, 0));
        out.extend_from_slice(event.as_bytes());
    }
}

/// Reads a feed.
#[derive(Debug)]
pub(super) struct Follower {
    feed: Arc<Feed>,
    seen: u64,
    reader: u64,
}

impl Follower {
    /// The next messages as events; `None` at the end, or when another reader came.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let news = self.feed.news.notified();
            {
                let state = self.feed.state();
                if state.reader != self.reader {
                    return None;
                }
                let mut out = Vec::new();
                for (number, json) in state.events.iter().filter(|(number, _)| *number > self.seen) {
                    sse::json_event(&mut out, Some(&written(self.feed.number, *number)), json);
                }
                if !out.is_empty() {
                    self.seen = state.last;
                    return Some(out);
                }
                if state.done {
                    return None;
                }
            }
            news.await;
        }
    }
}

/// Writes the id of an event.
fn written(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// Reads the id of an event: the stream and the number.
pub(super) fn read_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_comes_back_gets_what_it_has_not_seen() {
        let feed = Feed::new(3);
        feed.push(b"1".to_vec());
        let mut first = feed.follow(0);
        assert_eq!(first.next().await.unwrap(), b"id: 3-1\ndata: 1\n\n");
        feed.push(b"2".to_vec());
        feed.finish();
        let (stream, seen) = read_id("3-1").unwrap();
        assert_eq!(stream, 3);
        let mut second = feed.follow(seen);
        assert_eq!(first.next().await, None, "a newer reader took over");
        assert_eq!(second.next().await.unwrap(), b"id: 3-2\ndata: 2\n\n");
        assert_eq!(second.next().await, None);
    }

    #[tokio::test]
    async fn a_single_message_that_is_the_end_needs_no_stream() {
        let feed = Feed::new(1);
        feed.push(b"1".to_vec());
        feed.finish();
        assert_eq!(feed.settled().await.unwrap(), "1");
        let feed = Feed::new(2);
        feed.push(b"1".to_vec());
        assert_eq!(feed.settled().await, None);
        let feed = Feed::new(4);
        feed.release();
        assert_eq!(feed.settled().await, None);
        assert_eq!(feed.follow_first().next().await, None);
    }

    #[test]
    fn a_feed_that_nobody_reads_stays_small() {
        let feed = Feed::new(1);
        for _ in 0..MAX_EVENTS * 2 {
            feed.push(b"x".to_vec());
        }
        assert_eq!(feed.size(), MAX_EVENTS);
        for bad in ["", "1", "-", "a-1", "1-b"] {
            assert_eq!(read_id(bad), None, "{bad}");
        }
    }
}
