//! From an event of the program to a line of its logbook.
//!
//! Promises: the same lines as on stderr, by the same rules, but for what the machinery below us says of
//! bytes on the wire: among those are the ones that carry this very log to a reader, and each would beget
//! more. It keeps nothing itself and never waits.

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use agentsite_gateway::{LogBook, Loudness};
use agentsite_protocol::Clock;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// How the targets of our own parts begin.
const OURS: &str = "agentsite";

/// Writes events into a logbook.
pub(super) struct BookLayer {
    book: LogBook,
    clock: Arc<dyn Clock>,
}

impl BookLayer {
    pub(super) fn new(book: LogBook, clock: Arc<dyn Clock>) -> Self {
        Self { book, clock }
    }
}

impl<S: Subscriber> Layer<S> for BookLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        if level > Level::INFO && !target.starts_with(OURS) {
            return;
        }
        let mut said = EventText::default();
        event.record(&mut said);
        self.book.write(self.clock.now(), loudness(level), target, &said.text, said.fields);
    }
}

fn loudness(level: Level) -> Loudness {
    match level {
        Level::ERROR => Loudness::Error,
        Level::WARN => Loudness::Warn,
        Level::INFO => Loudness::Info,
        Level::DEBUG => Loudness::Debug,
        Level::TRACE => Loudness::Trace,
    }
}

/// What an event says: its sentence, and its fields.
#[derive(Default)]
struct EventText {
    text: String,
    fields: Vec<(String, String)>,
}

impl Visit for EventText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.text.push_str(value);
        } else {
            self.fields.push((field.name().to_owned(), value.to_owned()));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.text, "{value:?}");
        } else {
            self.fields.push((field.name().to_owned(), format!("{value:?}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use agentsite_site::World;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn events_become_lines_and_the_machinery_below_is_heard_from_info_on() {
        let book = LogBook::default();
        let layer = BookLayer::new(book.clone(), World::system().clock);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::debug!(agent = "echo", took = 3, "answered {}", 7);
            tracing::debug!(target: "hyper", "flushed 7 bytes");
            tracing::info!(target: "hyper", secret = "s", "started");
        });
        let lines = book.last(10);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!((lines[0].text.as_str(), lines[0].level), ("answered 7", Loudness::Debug));
        assert_eq!((lines[0].fields["agent"].as_str(), lines[0].fields["took"].as_str()), ("echo", "3"));
        assert!(lines[0].target.starts_with(OURS));
        assert_eq!(lines[1].fields["secret"], "***");
    }
}
