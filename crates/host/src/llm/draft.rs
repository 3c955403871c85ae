//! The answer of a model while it is being received: what both wire forms are assembled into.
//!
//! Promises: bounded in calls; gives the events of the seam in their promised order, independent of the order
//! on the wire. Counts tokens by size when the server does not count. It is independent of the wire form.

use agentsite_protocol::Usage;

use super::fault::Flaw;
use super::model::{EndReason, ModelEvent, ToolCall, estimated_tokens};

/// Most calls in one answer; far more than a turn can use, and small enough to hold.
const MAX_CALLS: usize = 128;

/// An answer while it is being received.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Calls with the number under which the wire continues them.
    calls: Vec<(u64, ToolCall)>,
    /// Bytes of words so far.
    bytes: usize,
    /// Tokens read, when the server reports them.
    pub(super) read: Option<u64>,
    /// Tokens written, when the server reports them.
    pub(super) written: Option<u64>,
    /// Why it ended, once that is known.
    pub(super) end: Option<EndReason>,
    /// Whether the server said that nothing more will come.
    pub(super) done: bool,
}

impl Draft {
    /// Notes words that are passed on.
    pub(super) fn words(&mut self, text: String) -> Option<String> {
        self.bytes += text.len();
        Some(text).filter(|text| !text.is_empty())
    }

    /// The call that the wire continues under `index`. Another id under the same number begins another call:
    /// some servers number all their calls zero.
    pub(super) fn call(&mut self, index: u64, id: &str) -> Result<&mut ToolCall, Flaw> {
        let known =
            self.calls.iter().rposition(|(at, call)| *at == index && (id.is_empty() || call.id == id));
        let at = match known {
            Some(at) => at,
            None if self.calls.len() == MAX_CALLS => {
                return Err(Flaw::Garbage(format!("more than {MAX_CALLS} tool calls in one answer")));
            }
            None => {
                let call = ToolCall { id: id.to_owned(), name: String::new(), arguments: String::new() };
                self.calls.push((index, call));
                self.calls.len() - 1
            }
        };
        Ok(&mut self.calls[at].1)
    }

    /// The number of the latest call, for wires that do not number.
    pub(super) fn last_index(&self) -> u64 {
        self.calls.last().map_or(0, |(index, _)| *index)
    }

    /// The closing events. `reads` is the estimate of what the model read.
    pub(super) fn finish(&mut self, reads: u64) -> Vec<ModelEvent> {
        let calls: Vec<ToolCall> =
            std::mem::take(&mut self.calls).into_iter().map(|(_, call)| call).collect();
        let bytes = self.bytes + calls.iter().map(ToolCall::size).sum::<usize>();
        let usage = Usage {
            input_tokens: self.read.unwrap_or(reads),
            output_tokens: self.written.unwrap_or_else(|| estimated_tokens(bytes)),
            ..Usage::default()
        };
        let end = match self.end.take() {
            Some(EndReason::Stop) | None if !calls.is_empty() => EndReason::ToolCalls,
            end => end.unwrap_or(EndReason::Stop),
        };
        let calls = calls.into_iter().map(ModelEvent::ToolCall);
        calls.chain([ModelEvent::Usage(usage), ModelEvent::End(end)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_under_one_number_with_two_ids_are_two_calls() {
        let mut draft = Draft::default();
        draft.call(0, "a").unwrap().arguments.push('1');
        draft.call(0, "b").unwrap().arguments.push('2');
        draft.call(0, "").unwrap().arguments.push('3');
        let events = draft.finish(0);
        let ModelEvent::ToolCall(second) = &events[1] else { panic!("{events:?}") };
        assert_eq!((second.id.as_str(), second.arguments.as_str()), ("b", "23"));
        assert_eq!(events.last(), Some(&ModelEvent::End(EndReason::ToolCalls)));
    }

    #[test]
    fn tokens_are_estimated_when_the_server_does_not_count() {
        let mut draft = Draft::default();
        draft.words("x".repeat(40));
        let usage = Usage { input_tokens: 7, output_tokens: 10, ..Usage::default() };
        assert_eq!(draft.finish(7)[0], ModelEvent::Usage(usage));
    }

    #[test]
    fn the_calls_of_one_answer_are_bounded() {
        let mut draft = Draft::default();
        for index in 0..MAX_CALLS as u64 {
            draft.call(index, "").unwrap();
        }
        assert!(draft.call(MAX_CALLS as u64, "").is_err());
    }
}
