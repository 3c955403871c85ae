//! Story: what the agent tells in the course of a turn, made into steps of the task.
//!
//! Promises: what it says becomes one artifact, piece by piece as it comes; what it thinks, does and plans
//! becomes words that a person can read, each once. A task never runs out of events because its agent talks
//! in very small pieces, and never grows beyond its limit. Kinds of news that this version does not know are
//! passed over.

use std::collections::HashMap;

use agentsite_protocol::{Artifact, ByteSize, Part, Step};
use serde_json::Value;

use crate::{Gone, Job, Reporter};

/// The artifact that the agent's words become.
const ANSWER: &str = "answer";

/// Pieces that are reported as they come. A task has 10,000 events at most; from here on, pieces are gathered
/// until they are large.
const FLOWING: usize = 4_000;

/// How large a piece must be to be reported once pieces are gathered.
const LARGE: usize = 16 * 1024;

/// Notes on the way in one turn; enough for a reader.
const MOST_NOTES: usize = 1_000;

/// Longest note.
const LONGEST_NOTE: usize = 2_000;

/// Tool calls whose names are remembered.
const MOST_TOOLS: usize = 256;

/// Steps of a plan that are shown.
const MOST_STEPS: usize = 50;

/// Why the story cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The task has ended; its steps are no longer taken.
    Gone,
    /// The agent said more than it may.
    TooMuch,
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// A tool call as last reported.
#[derive(Debug, Default)]
struct ToolCall {
    title: String,
    status: String,
}

/// What was reported so far.
#[derive(Debug, Default)]
pub(super) struct Story {
    said: u64,
    pieces: usize,
    /// Words that wait to become a large enough piece.
    gathered: String,
    /// A thought that is not whole yet.
    thought: String,
    notes: usize,
    tools: HashMap<String, ToolCall>,
    /// Something happened since the last words, so the next ones begin a paragraph.
    paragraph: bool,
    message: Option<String>,
}

/// The run that receives the story.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listener<'a> {
    pub(super) job: &'a Job,
    pub(super) report: &'a Reporter,
    pub(super) most: ByteSize,
}

impl Story {
    /// Takes a piece of news.
    pub(super) async fn take(&mut self, mut update: Value, to: Listener<'_>) -> Result<(), Stop> {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        if kind != "agent_thought_chunk" {
            self.finish_thought(to).await?;
        }
        match kind.as_str() {
            "agent_message_chunk" => {
                let message = update["messageId"].as_str().map(str::to_owned);
                self.paragraph |= self.message.is_some() && message.is_some() && self.message != message;
                self.message = message.or(self.message.take());
                self.say(update["content"].take(), to).await
            }
            "agent_thought_chunk" => self.think(&update["content"], to).await,
            "tool_call" | "tool_call_update" => self.tool(&update, to).await,
            "plan" => {
                let plan = plan(&update["entries"]);
                if plan.is_empty() { Ok(()) } else { self.note(format!("Plan:\n{plan}"), to).await }
            }
            _ => Ok(()),
        }
    }

    /// Reports what was held back.
    pub(super) async fn flush(&mut self, to: Listener<'_>) -> Result<(), Stop> {
        self.finish_thought(to).await?;
        self.flush_words(to).await
    }

    async fn say(&mut self, content: Value, to: Listener<'_>) -> Result<(), Stop> {
        let Some(mut part) = part(&content) else { return Ok(()) };
        let paragraph = std::mem::take(&mut self.paragraph) && self.said > 0;
        self.said += part.size() as u64;
        if self.said > to.most.0 {
            return Err(Stop::TooMuch);
        }
        match part.text.take() {
            Some(text) => {
                if paragraph {
                    self.gathered.push_str("\n\n");
                }
                self.gathered.push_str(&text);
                let enough = if self.pieces < FLOWING { 1 } else { LARGE };
                if self.gathered.len() >= enough { self.flush_words(to).await } else { Ok(()) }
            }
            None => {
                self.flush_words(to).await?;
                self.piece(part, to).await
            }
        }
    }

    async fn flush_words(&mut self, to: Listener<'_>) -> Result<(), Stop> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let words = Part::text(std::mem::take(&mut self.gathered));
        self.piece(words, to).await
    }

    async fn piece(&mut self, part: Part, to: Listener<'_>) -> Result<(), Stop> {
        let artifact = Artifact { artifact_id: ANSWER.into(), parts: vec![part], ..Artifact::default() };
        let append = self.pieces > 0;
        self.pieces += 1;
        Ok(to.report.step(Step::Artifact { artifact, append, last_chunk: false }).await?)
    }

    async fn think(&mut self, content: &Value, to: Listener<'_>) -> Result<(), Stop> {
        self.thought.push_str(content["text"].as_str().unwrap_or_default());
        self.paragraph = true;
        if self.thought.len() >= LONGEST_NOTE { self.finish_thought(to).await } else { Ok(()) }
    }

    async fn finish_thought(&mut self, to: Listener<'_>) -> Result<(), Stop> {
        if self.thought.trim().is_empty() {
            return Ok(());
        }
        let thought = std::mem::take(&mut self.thought);
        self.note(format!("Thinking: {}", thought.trim()), to).await
    }

    /// Tells of a tool when it is first named and when it has ended.
    async fn tool(&mut self, update: &Value, to: Listener<'_>) -> Result<(), Stop> {
        self.paragraph = true;
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let (title, status) = (update["title"].as_str(), update["status"].as_str());
        if !self.tools.contains_key(id) && self.tools.len() >= MOST_TOOLS {
            return Ok(());
        }
        let new = !self.tools.contains_key(id);
        let call = self.tools.entry(id.to_owned()).or_default();
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            call.title = title.trim().to_owned();
        }
        let title = if call.title.is_empty() { "a tool" } else { &call.title };
        let words = match status {
            Some("completed") if call.status != "completed" => Some(format!("Done: {title}")),
            Some("failed") if call.status != "failed" => Some(format!("Failed: {title}")),
            _ if new => Some(format!("Working: {title}")),
            _ => None,
        };
        call.status = status.unwrap_or(&call.status).to_owned();
        match words {
            Some(words) => self.note(words, to).await,
            None => Ok(()),
        }
    }

    /// Reports progress; the text follows everything that was reported before.
    async fn note(&mut self, words: String, to: Listener<'_>) -> Result<(), Stop> {
        if self.notes >= MOST_NOTES {
            return Ok(());
        }
        self.notes += 1;
        self.flush_words(to).await?;
        let words: String = words.chars().take(LONGEST_NOTE).collect();
        Ok(to.report.step(Step::Status(to.job.words(words))).await?)
    }
}

/// A block of content as a part; `None` for kinds that this version does not know.
fn part(content: &Value) -> Option<Part> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(match content["type"].as_str()? {
        "text" => Part::text(content["text"].as_str()?),
        "image" | "audio" => {
            Part { raw: text(&content["data"]), media_type: text(&content["mimeType"]), ..Part::default() }
        }
        "resource_link" => Part {
            url: text(&content["uri"]),
            filename: text(&content["name"]),
            media_type: text(&content["mimeType"]),
            ..Part::default()
        },
        "resource" => {
            let resource = &content["resource"];
            let (inside, blob) = (text(&resource["text"]), text(&resource["blob"]));
            Part { text: inside, raw: blob, media_type: text(&resource["mimeType"]), ..Part::default() }
        }
        _ => return None,
    })
    .filter(|part| part.contents() == 1)
}

/// A plan as text.
fn plan(entries: &Value) -> String {
    let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let line = |entry: &Value| {
        let mark = match entry["status"].as_str() {
            Some("completed") => "x",
            Some("in_progress") => ">",
            _ => " ",
        };
        format!("[{mark}] {}", entry["content"].as_str().unwrap_or_default())
    };
    entries.iter().take(MOST_STEPS).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::job;

    /// What follows from an update: the notes, and the answer.
    async fn told(news: Vec<Value>) -> (Vec<String>, Artifact) {
        let (report, mut listener) = Reporter::channel();
        let (job, mut story) = (job("hello"), Story::default());
        let to = Listener { job: &job, report: &report, most: ByteSize(1 << 20) };
        let mut answer = Artifact::default();
        let mut notes = Vec::new();
        for update in news {
            story.take(update, to).await.unwrap();
        }
        story.flush(to).await.unwrap();
        while let Some(step) = listener.try_recv() {
            match step {
                Step::Status(message) => notes.push(message.plain_text()),
                Step::Artifact { artifact, append: false, .. } => answer = artifact,
                Step::Artifact { artifact, .. } => answer.append(artifact),
                _ => {}
            }
        }
        (notes, answer)
    }

    fn says(text: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
    }

    #[tokio::test]
    async fn words_are_joined_and_what_happens_between_them_makes_paragraphs() {
        let thinks =
            |text| json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}});
        let news = vec![
            says("Let me "),
            says("look."),
            thinks("Where "),
            thinks("is it?"),
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read poem.txt", "status": "pending"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}),
            json!({"sessionUpdate": "something_new", "x": 1}),
            json!({"sessionUpdate": "plan", "entries": [{"content": "read", "status": "completed"}, {"content": "write"}]}),
            says("Here it is."),
        ];
        let (notes, answer) = told(news).await;
        assert_eq!(
            notes,
            [
                "Thinking: Where is it?",
                "Working: Read poem.txt",
                "Done: Read poem.txt",
                "Plan:\n[x] read\n[ ] write"
            ]
        );
        assert_eq!(answer.plain_text(), "Let me look.\n\nHere it is.");
    }

    #[tokio::test]
    async fn pictures_and_files_become_parts_of_the_answer() {
        let content = |content| json!({"sessionUpdate": "agent_message_chunk", "content": content});
        let news = vec![
            says("See:"),
            content(json!({"type": "image", "data": "aGk=", "mimeType": "image/png"})),
            content(json!({"type": "resource_link", "uri": "https://example.org/a", "name": "a"})),
            content(json!({"type": "resource", "resource": {"uri": "x:y", "text": "inside"}})),
            content(json!({"type": "hologram"})),
            content(json!(7)),
        ];
        let (_, answer) = told(news).await;
        let kinds: Vec<_> = answer
            .parts
            .iter()
            .map(|part| (part.text.is_some(), part.raw.is_some(), part.url.is_some()))
            .collect();
        assert_eq!(
            kinds,
            [(true, false, false), (false, true, false), (false, false, true), (true, false, false)]
        );
    }

    #[tokio::test]
    async fn too_much_is_stopped() {
        let (report, _listener) = Reporter::channel();
        let (job, mut story) = (job("hello"), Story::default());
        let to = Listener { job: &job, report: &report, most: ByteSize(10) };
        story.take(says("0123456789"), to).await.unwrap();
        assert_eq!(story.take(says("x"), to).await, Err(Stop::TooMuch));
    }
}
