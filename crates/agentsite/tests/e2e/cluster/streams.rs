//! Clients that watch streams at a balanced address while processes come and go.
//!
//! Promises: each stream is read to its end, however often it is cut; it must be whole, without gap or
//! repeat. What they were told is written into the journal of a load, so that it is audited with
//! everything else.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::crash::audit::state;
use crate::crash::load::{Acknowledged, Load};
use crate::faces::resume::events;
use crate::site::{PATIENCE, exec_agent, unique};

/// Clients that watch a stream at the same time.
const WATCHERS: usize = 3;

/// What the watched agent says, line by line.
const LINES: &str = "one\ntwo\nthree\nfour\nfive";

/// How often a stream that was cut is asked for again, at most.
const AGAIN: Duration = Duration::from_millis(50);

/// The agent that is watched; a line takes it long enough that blows fall between two of them.
pub(super) fn agent() -> String {
    let command = ["sh", "-c", "while read x || [ -n \"$x\" ]; do echo $x; sleep 0.3; done"];
    exec_agent("steps", &command, "[limits]\nretry = 9\nconcurrency = 30")
}

/// Clients at work.
pub(super) struct Watching {
    stop: watch::Sender<bool>,
    /// Each gives its streams, and how often they were taken up again.
    clients: JoinSet<(usize, usize)>,
}

impl Watching {
    /// Begins to watch.
    pub(super) fn begin(load: &Load, http: &reqwest::Client, url: &str) -> Self {
        let (stop, mut clients) = (watch::Sender::new(false), JoinSet::new());
        for _ in 0..WATCHERS {
            let (http, url) = (http.clone(), url.to_owned());
            let (stopped, journal) = (stop.subscribe(), load.journal());
            clients.spawn(async move {
                let (mut whole, mut resumed) = (0, 0);
                while !*stopped.borrow() {
                    let stream = tokio::time::timeout(PATIENCE, follow(&http, &url)).await;
                    let (acknowledged, pieces) = stream.expect("a stream comes to its end");
                    journal.note(acknowledged);
                    whole += 1;
                    resumed += pieces - 1;
                }
                (whole, resumed)
            });
        }
        Self { stop, clients }
    }

    /// Lets the clients see the ends of their streams; what they saw, as text.
    pub(super) async fn end(self) -> String {
        self.stop.send_replace(true);
        let all = self.clients.join_all().await;
        let sum = |of: fn(&(usize, usize)) -> usize| all.iter().map(of).sum::<usize>();
        let (whole, resumed) = (sum(|one| one.0), sum(|one| one.1));
        assert!(whole > 0, "streams were watched");
        format!("{whole} streams whole, taken up again {resumed} times")
    }
}

/// Sends a message and reads its stream to the end; gives what was acknowledged, and in how many pieces the
/// stream came.
async fn follow(http: &reqwest::Client, url: &str) -> (Acknowledged, usize) {
    let message = unique();
    let sent = json!({"messageId": message, "role": "ROLE_USER", "parts": [{"text": LINES}]});
    let (mut seen, mut pieces): (Vec<(u64, Value)>, usize) = (Vec::new(), 0);
    let mut pace = tokio::time::interval(AGAIN);
    while !seen.last().is_some_and(|(_, event)| is_end(event)) {
        pace.tick().await;
        let last = seen.last().map(|(number, _)| *number);
        // The same message again is the same stream, from where it was cut.
        let mut request =
            http.post(format!("{url}/a2a/steps/message:stream")).json(&json!({"message": sent}));
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let piece = events(&read(request).await);
        let fresh = |number: u64| last.is_none_or(|last| number > last);
        assert!(piece.iter().all(|(number, _)| fresh(*number)), "nothing comes twice: {last:?} {piece:?}");
        pieces += usize::from(!piece.is_empty());
        seen.extend(piece);
    }
    let first = seen[0].0;
    assert!(seen.iter().map(|(number, _)| *number).eq(first..first + seen.len() as u64), "dense: {seen:?}");
    let task = seen[0].1["task"]["id"].as_str().unwrap_or_else(|| panic!("no task: {seen:?}")).to_owned();
    let shown = state(&seen[seen.len() - 1].1["statusUpdate"]).to_owned();
    (Acknowledged { message, agent: "steps", text: LINES.to_owned(), task, state: shown }, pieces)
}

/// What comes of a stream until it ends or breaks; nothing when it was refused.
async fn read(request: reqwest::RequestBuilder) -> String {
    let mut text = Vec::new();
    if let Ok(mut reply) = request.send().await
        && reply.status().is_success()
    {
        while let Ok(Some(chunk)) = reply.chunk().await {
            text.extend_from_slice(&chunk);
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn is_end(event: &Value) -> bool {
    let state = state(&event["statusUpdate"]);
    ["COMPLETED", "FAILED", "CANCELED"].iter().any(|end| state.ends_with(end))
}
