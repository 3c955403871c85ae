//! The one reader of server-sent events in these stories: from a text that is whole, or from a response as it
//! comes.
//!
//! Comments are skipped. Data of several lines are joined, as the specification has it.

use reqwest::Response;
use serde_json::{Value, json};

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl Event {
    /// The event of one block of lines; `None` for a comment.
    fn of(block: &str) -> Option<Self> {
        let field = |name: &str| {
            let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            lines.map(|rest| rest.strip_prefix(' ').unwrap_or(rest)).collect::<Vec<_>>()
        };
        let (data, only) = (field("data"), |name| field(name).first().map(|text| text.trim().to_owned()));
        (!data.is_empty()).then(|| Self { id: only("id"), name: only("event"), data: data.join("\n") })
    }

    /// The data; what is no JSON stays a text.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| json!(self.data))
    }
}

/// The events of a stream that has ended.
pub(crate) fn read(text: &str) -> Vec<Event> {
    text.split("\n\n").filter_map(Event::of).collect()
}

/// The data of a stream that has ended.
pub(crate) fn values(text: &str) -> Vec<Value> {
    read(text).iter().map(Event::value).collect()
}

/// Reads the events of a response one by one.
pub(crate) struct Events {
    response: Response,
    text: String,
}

impl Events {
    /// Begins to read.
    pub(crate) fn of(response: Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(event) = Event::of(&block) {
                    return Some(event);
                }
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}
