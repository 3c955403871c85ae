//! What a caller reads of a task: pure, from the items of its stream to lines.
//!
//! Promises: every piece of the answer is shown once, also when an artifact is sent again whole; status lines
//! are apart from the answer. It prints nothing.

use std::collections::BTreeMap;

use agentsite_client::{RemoteStatus, StreamItem};
use agentsite_protocol::{Artifact, Message, TaskState};

use crate::exit::Exit;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// A piece of the answer.
    Answer(String),
    /// What happens on the way.
    Status(String),
}

/// What is known of the task so far.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The task, when there is one.
    pub(super) task: Option<String>,
    /// Its conversation.
    pub(super) context: Option<String>,
    /// Its status.
    pub(super) state: Option<TaskState>,
    /// The agent's last status message.
    pub(super) words: Option<String>,
    /// The message that came instead of a task.
    pub(super) message: Option<Message>,
    /// What was shown of each artifact.
    shown: BTreeMap<String, String>,
    /// The artifact that was shown last.
    last: Option<String>,
    /// Whether the answer so far ends within a line.
    open_line: bool,
}

impl Script {
    /// Takes the next item and gives what is new in it.
    pub(super) fn take(&mut self, item: &StreamItem) -> Vec<Line> {
        match item {
            StreamItem::Message(message) => {
                self.context = message.context_id.as_ref().map(ToString::to_string);
                self.message = Some(message.clone());
                self.answer(message.plain_text()).into_iter().collect()
            }
            StreamItem::Task(task) => {
                self.task = Some(task.id.clone());
                self.context = task.context_id.clone().or(self.context.take());
                let mut lines: Vec<Line> =
                    task.artifacts.iter().flat_map(|artifact| self.artifact(artifact, false)).collect();
                lines.extend(self.status(&task.status));
                lines
            }
            StreamItem::Status { task_id, context_id, status } => {
                self.task = Some(task_id.clone());
                self.context = context_id.clone().or(self.context.take());
                self.status(status)
            }
            StreamItem::Artifact { artifact, append, .. } => self.artifact(artifact, *append),
        }
    }

    /// How the program ends when nothing more comes.
    pub(super) fn exit(&self) -> Exit {
        match self.state {
            Some(TaskState::InputRequired | TaskState::AuthRequired) => Exit::NeedsInput,
            Some(TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => Exit::TaskFailed,
            Some(TaskState::Completed) => Exit::Ok,
            None if self.message.is_some() => Exit::Ok,
            // The end of the stream is not the end of the task.
            Some(TaskState::Submitted | TaskState::Working) | None => Exit::Error,
        }
    }

    /// Whether the task has ended or waits for its caller.
    pub(super) fn is_settled(&self) -> bool {
        self.state.is_some_and(TaskState::is_settled)
    }

    /// Whether the answer ended within a line.
    pub(super) fn needs_line_feed(&self) -> bool {
        self.open_line
    }

    fn status(&mut self, status: &RemoteStatus) -> Vec<Line> {
        let words = status.message.as_ref().map(Message::plain_text).filter(|words| !words.is_empty());
        let before = self.state.replace(status.state);
        self.words.clone_from(&words);
        match (status.state, words) {
            // The message of a finished task is its answer when it made nothing.
            (TaskState::Completed, Some(words)) if self.shown.is_empty() => {
                self.answer(words).into_iter().collect()
            }
            (state, Some(words)) if !state.is_settled() => vec![Line::Status(format!("{state}: {words}"))],
            (state, None) if !state.is_settled() && before != Some(state) => {
                vec![Line::Status(state.to_string())]
            }
            _ => Vec::new(),
        }
    }

    fn artifact(&mut self, artifact: &Artifact, append: bool) -> Vec<Line> {
        let id = artifact.artifact_id.clone();
        let text = whole_text(artifact);
        let known = self.shown.entry(id.clone()).or_default();
        let new = match text.strip_prefix(known.as_str()) {
            _ if append => text.clone(),
            Some(rest) => rest.to_owned(),
            // It was replaced by something else; there is no way to take back what was shown.
            None => text.clone(),
        };
        if append {
            known.push_str(&text);
        } else {
            *known = text;
        }
        let another = self.last.replace(id.clone()).is_some_and(|last| last != id);
        let apart = (another && self.open_line && !new.is_empty()).then(|| Line::Answer("\n".into()));
        apart.into_iter().chain(self.answer(new)).collect()
    }

    fn answer(&mut self, text: String) -> Option<Line> {
        if text.is_empty() {
            return None;
        }
        self.open_line = !text.ends_with('\n');
        Some(Line::Answer(text))
    }
}

/// The text of an artifact. Many servers keep each streamed chunk as a part of its own; they make one text
/// again.
fn whole_text(artifact: &Artifact) -> String {
    let mut whole = Artifact::default();
    for part in &artifact.parts {
        whole.append(Artifact { parts: vec![part.clone()], ..Artifact::default() });
    }
    whole.plain_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> StreamItem {
        serde_json::from_str(json).unwrap()
    }

    fn status(state: &str, words: &str) -> StreamItem {
        let message = match words {
            "" => String::new(),
            words => format!(
                r#","message":{{"messageId":"m","role":"ROLE_AGENT","parts":[{{"text":"{words}"}}]}}"#
            ),
        };
        item(&format!(
            r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"{message}}}}}}}"#
        ))
    }

    fn piece(id: &str, text: &str, append: bool) -> StreamItem {
        item(&format!(
            r#"{{"artifactUpdate":{{"taskId":"t","artifact":{{"artifactId":"{id}","parts":[{{"text":"{text}"}}]}},"append":{append}}}}}"#
        ))
    }

    fn play(items: &[StreamItem]) -> (String, Vec<String>, Script) {
        let (mut script, mut answer, mut statuses) = (Script::default(), String::new(), Vec::new());
        for item in items {
            for line in script.take(item) {
                match line {
                    Line::Answer(text) => answer.push_str(&text),
                    Line::Status(text) => statuses.push(text),
                }
            }
        }
        (answer, statuses, script)
    }

    #[test]
    fn pieces_of_an_answer_are_shown_as_they_come() {
        let items = [
            status("SUBMITTED", ""),
            status("WORKING", ""),
            status("WORKING", "thinking"),
            piece("a", "four", false),
            piece("a", "teen", true),
            status("COMPLETED", "done"),
        ];
        let (answer, statuses, script) = play(&items);
        assert_eq!(answer, "fourteen");
        assert_eq!(statuses, ["submitted", "working", "working: thinking"]);
        assert_eq!(
            (script.exit(), script.task.as_deref(), script.context.as_deref()),
            (Exit::Ok, Some("t"), Some("c"))
        );
        assert!(script.needs_line_feed());
    }

    #[test]
    fn what_is_sent_again_is_not_shown_again() {
        let whole = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"one two"}]}]}}"#;
        let (answer, _, _) = play(&[piece("a", "one ", false), item(whole)]);
        assert_eq!(answer, "one two");
    }

    #[test]
    fn chunks_that_a_server_kept_apart_are_one_text_again() {
        let whole = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"one "},{"text":"two"},{"text":" three"}]}]}}"#;
        assert_eq!(play(&[item(whole)]).0, "one two three");
        assert_eq!(
            play(&[piece("a", "one ", false), piece("a", "two", true), item(whole)]).0,
            "one two three"
        );
    }

    #[test]
    fn what_ends_before_the_task_is_no_success() {
        assert_eq!(play(&[]).2.exit(), Exit::Error);
        assert_eq!(play(&[status("WORKING", "")]).2.exit(), Exit::Error);
        assert_eq!(play(&[piece("a", "x", false)]).2.exit(), Exit::Error);
    }

    #[test]
    fn two_artifacts_do_not_run_into_each_other() {
        let (answer, _, _) = play(&[piece("a", "one", false), piece("b", "two", false)]);
        assert_eq!(answer, "one\ntwo");
    }

    #[test]
    fn words_of_a_finished_task_are_its_answer_when_it_made_nothing() {
        assert_eq!(play(&[status("COMPLETED", "42")]).0, "42");
        assert_eq!(play(&[piece("a", "x", false), status("COMPLETED", "42")]).0, "x");
    }

    #[test]
    fn questions_and_failures_have_their_own_codes() {
        let (answer, _, script) = play(&[status("INPUT_REQUIRED", "which one?")]);
        assert_eq!(
            (answer.as_str(), script.exit(), script.words.as_deref()),
            ("", Exit::NeedsInput, Some("which one?"))
        );
        for state in ["FAILED", "REJECTED", "CANCELED"] {
            assert_eq!(play(&[status(state, "no")]).2.exit(), Exit::TaskFailed);
        }
    }

    #[test]
    fn a_message_is_an_answer_without_a_task() {
        let (answer, _, script) = play(&[item(
            r#"{"message":{"messageId":"m","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#,
        )]);
        assert_eq!((answer.as_str(), script.exit(), script.task), ("hi", Exit::Ok, None));
    }
}
