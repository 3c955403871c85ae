//! Tools that tell something on the way, or announce that a list has changed.
//!
//! Promises: pauses are those that the suite names. An announced change changes nothing, so that scenes which
//! compare lists do not disturb each other.

use std::time::Duration;

use agentsite_host::{Change, Exchange, LogLevel, Notice};
use agentsite_protocol::mcp::{Reply, ToolResult};
use futures::future::BoxFuture;

use super::{Fixture, Played, Stage, done, resources};

/// Keeps notices apart, so that clients see several of them.
const BETWEEN_NOTICES: Duration = Duration::from_millis(50);

/// How long a call continues after its client learned that it may hang up.
const AFTER_DETACH: Duration = Duration::from_millis(200);

pub(super) fn fixtures() -> Vec<Fixture> {
    vec![
        Fixture::new("test_tool_with_logging", "Writes three lines of a log while it works", |stage| {
            Box::pin(logging(stage.exchange))
        }),
        Fixture::new("test_logging_tool", "Writes a line of a log, for clients that ask for it", |stage| {
            log(&stage.exchange, "Tool executed");
            done(ToolResult::text("Logged."))
        }),
        Fixture::new("test_tool_with_progress", "Tells how far it is while it works", |stage| {
            Box::pin(progress(stage.exchange))
        }),
        Fixture::new("test_reconnection", "Lets the client hang up and come back for the result", |stage| {
            Box::pin(reconnection(stage.exchange))
        }),
        Fixture::new("test_trigger_tool_change", "Announces a change of the tools", |stage| {
            announce(&stage, Change::Tools)
        }),
        Fixture::new("test_trigger_prompt_change", "Announces a change of the prompts", |stage| {
            announce(&stage, Change::Prompts)
        }),
        Fixture::new("test_trigger_resource_change", "Announces a change of the watched resource", |stage| {
            announce(&stage, Change::Resource(resources::WATCHED.into()))
        }),
    ]
}

/// The first notice of a call, so that its answer is a stream where the client takes one.
pub(super) fn begin(exchange: &Exchange) {
    exchange.tell(Notice::Progress { progress: 0.0, total: None, message: None });
}

async fn logging(exchange: Exchange) -> Played {
    log(&exchange, "Tool execution started");
    tokio::time::sleep(BETWEEN_NOTICES).await;
    log(&exchange, "Tool processing data");
    tokio::time::sleep(BETWEEN_NOTICES).await;
    log(&exchange, "Tool execution completed");
    Ok(Reply::Done(ToolResult::text("Logged three lines.")))
}

async fn progress(exchange: Exchange) -> Played {
    for (step, pause) in [(0.0, true), (50.0, true), (100.0, false)] {
        let message = Some(format!("Completed step {step} of 100"));
        exchange.tell(Notice::Progress { progress: step, total: Some(100.0), message });
        if pause {
            tokio::time::sleep(BETWEEN_NOTICES).await;
        }
    }
    Ok(Reply::Done(ToolResult::text("Told how far it was.")))
}

async fn reconnection(exchange: Exchange) -> Played {
    exchange.tell(Notice::Detach);
    tokio::time::sleep(AFTER_DETACH).await;
    Ok(Reply::Done(ToolResult::text("Came to an end after the client was told that it may hang up.")))
}

fn log(exchange: &Exchange, line: &str) {
    exchange.tell(Notice::Log {
        level: LogLevel::Info,
        logger: Some("conformance".into()),
        data: line.into(),
    });
}

fn announce(stage: &Stage, change: Change) -> BoxFuture<'static, Played> {
    let _ = stage.changes.send(change);
    done(ToolResult::text("Announced."))
}
