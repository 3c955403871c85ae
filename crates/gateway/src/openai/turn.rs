//! Turn: what an agent says between two messages of its caller, as text that only grows.
//!
//! Promises: a pure fold over events; what it gives piece by piece is, joined, exactly what it gives as a
//! whole. Remarks about progress are no part of an answer; a question is. JSON that was asked for comes at
//! the end, whole and with nothing around it. It does not wait and does not know how an answer is written.

use agentsite_protocol::{
    Artifact, Message, Part, TaskEvent, TaskEventKind, TaskState, TextKind, Timestamp, Usage,
};
use serde_json::Value;

use super::rendering;

/// What stands between two things that an agent made.
const GAP: &str = "\n\n";

/// What an agent has said in its turn so far.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    is_json: bool,
    pub(super) state: TaskState,
    /// Everything shown so far.
    pub(super) text: String,
    /// What went wrong, for a turn that failed.
    pub(super) fault: Option<String>,
    pub(super) usage: Usage,
    /// When it last changed.
    pub(super) at: Option<Timestamp>,
    made: Vec<Made>,
    /// Which of them was shown last, and the kind of text with which it ended.
    last: Option<(usize, Option<TextKind>)>,
}

/// Something that the agent made.
#[derive(Debug, Clone)]
struct Made {
    id: String,
    text: String,
    data: Vec<Value>,
}

impl Turn {
    pub(super) const fn new(is_json: bool) -> Self {
        Self {
            is_json,
            state: TaskState::Submitted,
            text: String::new(),
            fault: None,
            usage: Usage { input_tokens: 0, output_tokens: 0, turns: 0, calls: 0 },
            at: None,
            made: Vec::new(),
            last: None,
        }
    }

    /// The turn of an agent that answered with a message.
    pub(super) fn of_message(message: &Message, is_json: bool) -> Self {
        let mut turn = Self::new(is_json);
        let artifact = Artifact { parts: message.parts.clone(), ..Artifact::default() };
        turn.show(&artifact, false);
        turn.settle(TaskState::Completed, None);
        turn
    }

    /// Takes what happened next and gives what is to be shown of it.
    pub(super) fn take(&mut self, event: &TaskEvent) -> String {
        let before = self.text.len();
        self.at = Some(event.at);
        match &event.kind {
            TaskEventKind::Started { .. } => self.state = TaskState::Working,
            TaskEventKind::Artifact { artifact, append, .. } => self.show(artifact, *append),
            TaskEventKind::Status { state, message } if state.is_settled() => {
                self.settle(*state, message.as_ref());
            }
            TaskEventKind::Status { state, .. } => self.state = *state,
            TaskEventKind::Used { usage } => self.usage.add(*usage),
            TaskEventKind::Opened(_) | TaskEventKind::Said { .. } | TaskEventKind::Memo { .. } => {}
        }
        if self.is_json && !self.is_settled() { String::new() } else { self.shown_since(before) }
    }

    /// Whether the agent has said everything.
    pub(super) const fn is_settled(&self) -> bool {
        self.state.is_settled()
    }

    /// JSON is shown only at the end, and all of it then.
    fn shown_since(&self, before: usize) -> String {
        let from = if self.is_json { 0 } else { before };
        self.text.get(from..).unwrap_or_default().to_owned()
    }

    fn show(&mut self, artifact: &Artifact, append: bool) {
        let known = self.made.iter().position(|made| made.id == artifact.artifact_id);
        let place = known.unwrap_or_else(|| {
            self.made.push(Made { id: artifact.artifact_id.clone(), text: String::new(), data: Vec::new() });
            self.made.len() - 1
        });
        if known.is_some() && !append {
            return self.replace(place, artifact);
        }
        for part in &artifact.parts {
            self.show_part(place, part, append);
        }
    }

    fn show_part(&mut self, place: usize, part: &Part, append: bool) {
        let (piece, kind) = (rendering::text(part), part.text_kind());
        let continues = |before: &Option<TextKind>| append && kind.is_some() && *before == kind;
        let gap = match &self.last {
            _ if self.text.is_empty() => "",
            Some((last, before)) if *last == place => {
                if continues(before) {
                    ""
                } else {
                    "\n"
                }
            }
            _ => GAP,
        };
        let made = &mut self.made[place];
        if self.last.as_ref().is_some_and(|(last, _)| *last == place) {
            made.text.push_str(gap);
        }
        made.text.push_str(&piece);
        made.data.extend(part.data.clone());
        self.text.push_str(gap);
        self.text.push_str(&piece);
        self.last = Some((place, kind));
    }

    /// An artifact that is made anew: what it adds to the old one is shown, or else all of it, for what was
    /// shown cannot be taken back.
    fn replace(&mut self, place: usize, artifact: &Artifact) {
        let pieces: Vec<String> = artifact.parts.iter().map(rendering::text).collect();
        let (whole, is_last) =
            (pieces.join("\n"), self.last.as_ref().is_some_and(|(last, _)| *last == place));
        match whole.strip_prefix(&self.made[place].text) {
            Some(more) if is_last || more.is_empty() => self.text.push_str(more),
            _ => {
                self.text.push_str(GAP);
                self.text.push_str(&whole);
            }
        }
        let kind = artifact.parts.last().and_then(Part::text_kind);
        let data = artifact.parts.iter().filter_map(|part| part.data.clone()).collect();
        self.made[place] = Made { id: artifact.artifact_id.clone(), text: whole, data };
        self.last = Some((place, kind));
    }

    fn settle(&mut self, state: TaskState, message: Option<&Message>) {
        self.state = state;
        let words: Vec<String> =
            message.into_iter().flat_map(|message| &message.parts).map(rendering::text).collect();
        let words = words.join("\n");
        match state {
            TaskState::Failed => self.fault = Some(or(words, "the agent failed and did not say why")),
            TaskState::Canceled => self.fault = Some(or(words, "the task was canceled")),
            TaskState::Completed if self.is_json => self.become_json(&words, message),
            TaskState::Completed if !self.text.is_empty() => {}
            // A program that asks has often shown its question as its output.
            _ if self.text.trim_end().ends_with(words.trim()) => {}
            _ => {
                if !self.text.is_empty() && !words.is_empty() {
                    self.text.push_str(GAP);
                }
                self.text.push_str(&words);
            }
        }
    }

    /// Keeps nothing but the JSON of the answer.
    fn become_json(&mut self, words: &str, message: Option<&Message>) {
        let mut data: Vec<Value> = self.made.iter().flat_map(|made| made.data.clone()).collect();
        if data.is_empty() {
            let last = message.into_iter().flat_map(|message| &message.parts);
            data.extend(last.filter_map(|part| part.data.clone()));
        }
        let said = if self.text.is_empty() { words } else { &self.text };
        let json = match data.len() {
            0 => json_in(said).map(ToOwned::to_owned),
            1 => Some(data[0].to_string()),
            _ => Some(Value::Array(data).to_string()),
        };
        match json {
            Some(json) => self.text = json,
            None => {
                self.state = TaskState::Failed;
                let sentence = "the agent answered in words, not in JSON; ask it without a format, or ask an agent that gives data";
                self.fault = Some(sentence.into());
            }
        }
    }
}

fn or(words: String, otherwise: &str) -> String {
    if words.is_empty() { otherwise.into() } else { words }
}

/// The JSON that a text is, also in the fence that models like to put around it.
fn json_in(text: &str) -> Option<&str> {
    let text = text.trim();
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let text = fenced
        .map_or(text, |rest| rest.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).trim());
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok().then_some(text)
}

#[cfg(test)]
mod tests;
