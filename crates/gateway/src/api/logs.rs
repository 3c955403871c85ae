//! `/api/logs`: the log of the process itself, as it is and as it grows.
//!
//! Promises: admins only; with `Accept: text/event-stream` one event for each line, and one that says how
//! many lines were missed by a reader that is too slow. Writers never wait for a reader. The logs of single
//! agents are in `agents`.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, Params, REST, RestResult, parse};
use super::tasks::{last_seen, wants_stream};
use crate::document::json;
use crate::front::Front;
use crate::logbook::{LogFilter, LogRecord, LogWatch, Portion};
use crate::route::{Route, Shape};
use crate::sse;

/// Lines when the caller names no number.
const LINES: usize = 200;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/logs", list).admin().operation("getSiteLog", "The log of the site itself; with Accept: text/event-stream as it grows, with {\"missed\": N} for a reader that is too slow")
    .query(&[
        ("level", "error|warn|info|debug|trace", "As severe as that or more"),
        ("text", "string", "With this text"),
        ("after", "integer", "After this number"),
        ("limit", "integer", "200 when left out"),
    ])
    .gives(Shape::of::<Lines>()),
    ]
}

#[derive(Deserialize)]
struct LinesParams {
    level: Option<String>,
    text: Option<String>,
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SiteLog")]
struct Lines {
    #[schemars(with = "Vec<LogRecord>")]
    lines: Vec<Arc<LogRecord>>,
    /// Lines after `after` that are no longer kept.
    #[schemars(extend("about" = "Lines after the place asked for that are no longer kept"))]
    missed: u64,
    /// The place of the last line; what comes later is after it.
    last: u64,
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<LinesParams>,
) -> RestResult {
    let level = params.level.as_deref().map(|word| parse("level", word)).transpose()?;
    let filter = LogFilter { level, text: params.text };
    let (book, headers) = (&front.settings.log, &admitted.parts.headers);
    let first = match last_seen(headers, params.after) {
        0 => book.tail(&filter, params.limit.unwrap_or(LINES)),
        after => book.since(&filter, after),
    };
    if wants_stream(headers) {
        let place = front.open_stream(&admitted.parts)?;
        // A comment first, so that a reader knows that it is listening although the log is silent.
        let mut begin = b": listening\n\n".to_vec();
        let watch = book.follow(filter, first.last);
        write(&mut begin, &first);
        return Ok(sse::respond(&front, place, begin, LogStream(watch)));
    }
    json(StatusCode::OK, &Lines { lines: first.lines, missed: first.missed, last: first.last })
}

/// The lines that come.
struct LogStream(LogWatch);

impl sse::SseSource for LogStream {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let mut out = Vec::new();
            write(&mut out, &self.0.next().await);
            Some(out)
        })
    }
}

fn write(out: &mut Vec<u8>, portion: &Portion) {
    if portion.missed > 0 {
        let missed = serde_json::json!({ "missed": portion.missed }).to_string();
        sse::json_event(out, None, missed.as_bytes());
    }
    for one in &portion.lines {
        // Nothing is said of one that cannot be written: that would be a line of its own.
        let _ = sse::event(out, Some(one.seq), |out| serde_json::to_writer(out, one));
    }
}
