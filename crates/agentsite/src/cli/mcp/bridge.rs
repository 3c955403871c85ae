//! Bridge: lines on stdin become requests to the site, what it says becomes lines on stdout.
//!
//! Promises: requests run side by side, within a bound; notifications are forwarded in order. A new-era
//! client that cancels closes the stream of its request, an old-era client's word is passed on. When stdin
//! ends, running requests get a moment, then everything is closed.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_gateway::Unanswered;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::connection::SiteConnection;
use super::mirror;
use super::relay::Relay;
use super::wire::{Kind, MAX_LINE, Message, NoMessage, Read, next_line};
use crate::exit::{CliError, Exit};
use crate::output::Output;

/// Most running requests; an assistant has a few, and each may hold a stream.
const MAX_REQUESTS: usize = 128;

/// Lines that wait for their reader. A slow reader delays only the streams that write to it.
const LINES: usize = 256;

/// How long running requests may take once stdin has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A request that stays open for as long as its caller wants to hear of changes.
const LISTEN: &str = "subscriptions/listen";

/// A running request.
struct Call {
    abort: AbortHandle,
    /// Whether closing its stream is how it is canceled.
    is_new: bool,
    is_listening: bool,
}

/// Running requests, by their ids.
#[derive(Clone, Default)]
struct Calls(
    // A std lock: held for an insert or a removal, never across an await.
    Arc<Mutex<HashMap<String, Call>>>,
);

/// Carries messages between stdin, stdout and the site.
pub(super) struct Bridge {
    relay: Arc<Relay>,
    calls: Calls,
    places: Arc<Semaphore>,
    tasks: JoinSet<()>,
    lines: mpsc::Receiver<Read>,
    writer: JoinHandle<()>,
    ended: tokio_util::sync::CancellationToken,
}

impl Bridge {
    pub(super) fn new(output: Output, connection: SiteConnection) -> Self {
        let (say, said) = mpsc::channel(LINES);
        let ended = connection.ended();
        Self {
            relay: Arc::new(Relay::new(connection, say, output)),
            calls: Calls::default(),
            places: Arc::new(Semaphore::new(MAX_REQUESTS)),
            tasks: JoinSet::new(),
            lines: read_lines(),
            writer: tokio::task::spawn_blocking(move || write_lines(said)),
            ended,
        }
    }

    /// Carries messages until stdin ends, stdout is closed or the site stops.
    pub(super) async fn run(mut self) -> Result<Exit, CliError> {
        loop {
            let read = tokio::select! {
                read = self.lines.recv() => read,
                () = self.ended.cancelled() => break,
                _ = &mut self.writer => break,
            };
            while self.tasks.try_join_next().is_some() {}
            match read {
                Some(Read::Line(line)) if line.trim_ascii().is_empty() => {}
                Some(Read::Line(line)) => self.take(&line).await,
                Some(Read::TooLong) => {
                    let sentence =
                        format!("a line has more than {MAX_LINE} bytes; send files by their address");
                    self.relay.send(Unanswered::TooLarge.answer("null", &sentence)).await;
                }
                Some(Read::End) | None => break,
            }
        }
        self.close().await;
        Ok(Exit::Ok)
    }

    async fn take(&mut self, line: &[u8]) {
        let message = match Message::read(line) {
            Ok(message) => message,
            Err(NoMessage::NotJson(why)) => {
                let answer = Unanswered::NotJson.answer("null", &format!("a line is not JSON: {why}"));
                return self.relay.send(answer).await;
            }
            Err(NoMessage::Other(id)) => {
                let sentence = "a line is not a request, notification or response of JSON-RPC";
                return self.relay.send(Unanswered::BadMessage.answer(&id, sentence)).await;
            }
        };
        match &message.kind {
            // Everything after it depends on its answer.
            Kind::Request(_) if message.method() == "initialize" => self.relay.carry(&message).await,
            Kind::Request(id) => self.begin(&id.clone(), message).await,
            Kind::Notification if self.is_canceled(&message) => {}
            Kind::Notification | Kind::Response => self.relay.carry(&message).await,
        }
        if self.relay.may_listen() {
            let relay = self.relay.clone();
            self.relay.is_heard_by(self.tasks.spawn(async move { relay.listen().await }));
        }
    }

    /// Begins a request concurrently with the others.
    async fn begin(&mut self, id: &str, message: Message) {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            let sentence = format!("{MAX_REQUESTS} requests are running; wait for one to end");
            return self.relay.send(Unanswered::TooMany.answer(id, &sentence)).await;
        };
        let (relay, calls, own) = (self.relay.clone(), self.calls.clone(), id.to_owned());
        let (is_new, is_listening) = (mirror::version(&message.value).is_some(), message.method() == LISTEN);
        let mut known = self.calls.lock();
        let abort = self.tasks.spawn(async move {
            relay.carry(&message).await;
            calls.lock().remove(&own);
            drop(place);
        });
        known.insert(id.to_owned(), Call { abort, is_new, is_listening });
    }

    /// Cancels a new-era request by closing its stream; false for anything else.
    fn is_canceled(&self, message: &Message) -> bool {
        if message.method() != "notifications/cancelled" {
            return false;
        }
        let id = message.value["params"]["requestId"].to_string();
        let mut calls = self.calls.lock();
        if !calls.get(&id).is_some_and(|call| call.is_new) {
            return false;
        }
        calls.remove(&id).into_iter().for_each(|call| call.abort.abort());
        true
    }

    async fn close(mut self) {
        self.calls.lock().values().filter(|call| call.is_listening).for_each(|call| call.abort.abort());
        let calls = self.calls.clone();
        let answered = async {
            while !calls.lock().is_empty() && self.tasks.join_next().await.is_some() {
                calls.lock().retain(|_, call| !call.abort.is_finished());
            }
        };
        let _ = tokio::time::timeout(LAST_ANSWERS, answered).await;
        self.tasks.shutdown().await;
        self.relay.close().await;
        // The last sender goes with the relay, and the writer writes what is left.
        drop(self.relay);
        if !self.writer.is_finished() {
            let _ = tokio::time::timeout(LAST_ANSWERS, self.writer).await;
        }
    }
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads stdin in a separate thread: only the end of the process can end its wait for a line.
fn read_lines() -> mpsc::Receiver<Read> {
    let (give, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let read = next_line(&mut input, MAX_LINE).unwrap_or(Read::End);
            let is_end = read == Read::End;
            if give.blocking_send(read).is_err() || is_end {
                return;
            }
        }
    });
    lines
}

/// Writes lines until every writer has ended, or the reader is gone.
fn write_lines(mut said: mpsc::Receiver<String>) {
    let mut out = std::io::stdout().lock();
    while let Some(mut line) = said.blocking_recv() {
        line.push('\n');
        if out.write_all(line.as_bytes()).is_err() || out.flush().is_err() {
            return;
        }
    }
}
