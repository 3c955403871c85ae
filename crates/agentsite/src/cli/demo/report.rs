//! Report: what a demo says, as lines for people or as one JSON object for each event.
//!
//! Promises: the same events in both forms, in the order in which they happen. It does not wait or decide.

use serde_json::{Value, json};

use crate::exit::CliError;
use crate::output::{Output, Style};

/// Width of the word at the beginning of a line.
const WORD: usize = 8;

/// Says what happens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report(Output);

impl Report {
    pub(super) const fn new(output: Output) -> Self {
        Self(output)
    }

    /// One event: its word, the sentence for people, and the members for programs.
    pub(super) fn event(self, word: &str, sentence: &str, members: Value) -> Result<(), CliError> {
        if self.0.is_json() {
            let mut event = json!({ "event": word });
            if let (Value::Object(event), Value::Object(members)) = (&mut event, members) {
                event.extend(members);
            }
            return Ok(self.0.json(&event)?);
        }
        let padded = format!("{word:<WORD$}");
        Ok(self.0.line(&format!("{} {sentence}", self.0.paint(Style::Bold, &padded)))?)
    }

    /// A further line of the last event, for people only: programs have its members.
    pub(super) fn more(self, sentence: &str) -> Result<(), CliError> {
        if self.0.is_json() {
            return Ok(());
        }
        Ok(self.0.line(&format!("{:WORD$} {sentence}", ""))?)
    }
}
