//! Speech: everything that a request says, and what of it the agent gets.
//!
//! Promises: what comes after the agent's last words is the message. What was said before is repeated only
//! where the site does not know the conversation; it then stands before the message as text. Instructions
//! stand before the words they came with. Nothing is invented, nothing is dropped but calls of tools that no
//! agent here can have made.

use agentsite_protocol::{AgentName, Part, Principal};
use serde_json::Value;

use super::{content, unsupported, wrong};
use crate::failure::Failure;
use crate::transcripts::Hashing;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// The program around the conversation.
    Program,
    User,
    Agent,
    /// A tool of the caller, in a conversation that began elsewhere.
    Tool,
}

impl Speaker {
    /// How the transcript calls them when it is told to the agent.
    const fn word(self) -> &'static str {
        match self {
            Self::Program => "Instructions",
            Self::User => "User",
            Self::Agent => "You",
            Self::Tool => "Tool",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    speaker: Speaker,
    parts: Vec<Part>,
}

/// Everything that a request says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Speech {
    entries: Vec<Entry>,
    /// Where the message begins.
    message: usize,
}

impl Speech {
    /// Reads the messages of a chat, or the input of a response.
    pub(super) fn read(given: &Value, field: &str, instructions: Option<&str>) -> Result<Self, Failure> {
        let mut entries: Vec<Entry> = Vec::new();
        if let Some(text) = instructions.filter(|text| !text.is_empty()) {
            entries.push(Entry { speaker: Speaker::Program, parts: vec![Part::text(text)] });
        }
        match given {
            Value::String(text) => {
                entries.push(Entry { speaker: Speaker::User, parts: vec![Part::text(text)] });
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    entries.extend(entry(item, &format!("{field}[{index}]"))?);
                }
            }
            _ => return Err(wrong(field, "is required and must be a list of messages")),
        }
        let message =
            entries.iter().rposition(|entry| entry.speaker == Speaker::Agent).map_or(0, |last| last + 1);
        let speech = Self { entries, message };
        speech.check(field)?;
        Ok(speech)
    }

    fn check(&self, field: &str) -> Result<(), Failure> {
        let last = &self.entries[self.message..];
        if last.iter().any(|entry| entry.speaker == Speaker::Tool) {
            let why =
                "ends with the result of a tool: an agent uses its own tools and waits for none of yours";
            return Err(unsupported(field, why));
        }
        let says = |entry: &Entry| entry.speaker == Speaker::User && !entry.parts.is_empty();
        if last.iter().any(says) { Ok(()) } else { Err(wrong(field, "must end with a message of the user")) }
    }

    /// Whether something was said before the message.
    pub(super) const fn has_earlier(&self) -> bool {
        self.message > 0
    }

    /// The transcript before the message.
    pub(super) fn earlier(&self, owner: &Principal, agent: &AgentName) -> Hashing {
        hashed(Hashing::new(owner, agent), &self.entries[..self.message])
    }

    /// The transcript with the message and the agent's answer to it.
    pub(super) fn answered(&self, owner: &Principal, agent: &AgentName, answer: &str) -> Hashing {
        let all = hashed(self.earlier(owner, agent), &self.entries[self.message..]);
        all.said(Speaker::Agent.word(), &[Part::text(answer)])
    }

    /// The parts of the message; with `retell` also what was said before, as text and files.
    pub(super) fn parts(&self, retell: bool, request: Option<String>) -> Vec<Part> {
        let (earlier, last) = self.entries.split_at(self.message);
        let mut parts = if retell && !earlier.is_empty() { retold(earlier) } else { Vec::new() };
        for entry in last {
            let text = |part: &Part| part.text.clone();
            match entry.speaker {
                Speaker::Program => {
                    let words: Vec<String> = entry.parts.iter().filter_map(text).collect();
                    parts.push(Part::text(format!("{}: {}", Speaker::Program.word(), words.join("\n"))));
                }
                _ => parts.extend(entry.parts.iter().cloned()),
            }
        }
        // A caller that sends data knows what comes back.
        let has_data = parts.iter().any(|part| part.data.is_some());
        parts.extend(request.filter(|_| !has_data).map(Part::text));
        parts
    }
}

fn hashed(hashing: Hashing, entries: &[Entry]) -> Hashing {
    entries.iter().fold(hashing, |hashing, entry| hashing.said(entry.speaker.word(), &entry.parts))
}

/// One message; `None` for what says nothing to an agent.
fn entry(item: &Value, field: &str) -> Result<Option<Entry>, Failure> {
    let kind = item["type"].as_str().unwrap_or("message");
    if kind == "reasoning" || kind == "function_call" {
        return Ok(None);
    }
    if kind == "function_call_output" {
        let parts = content::read(&item["output"], &format!("{field}.output"))?;
        return Ok(Some(Entry { speaker: Speaker::Tool, parts }));
    }
    if kind != "message" {
        return Err(unsupported(&format!("{field}.type"), "must be message: agents take no other items"));
    }
    let speaker = match item["role"].as_str() {
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Agent,
        Some("system" | "developer") => Speaker::Program,
        Some("tool" | "function") => Speaker::Tool,
        _ => return Err(wrong(&format!("{field}.role"), "must be user, assistant, system or developer")),
    };
    let parts = content::read(&item["content"], &format!("{field}.content"))?;
    // A model that only called tools said nothing.
    let is_silent = speaker == Speaker::Agent && parts.is_empty();
    Ok((!is_silent).then_some(Entry { speaker, parts }))
}

/// What was said before, for an agent that was not there.
fn retold(entries: &[Entry]) -> Vec<Part> {
    let mut text = "This conversation began elsewhere. What was said before:".to_owned();
    let mut files = Vec::new();
    for entry in entries {
        let mut words: Vec<String> = Vec::new();
        for part in &entry.parts {
            match (&part.text, &part.data) {
                (Some(text), _) => words.push(text.clone()),
                (None, Some(data)) => words.push(data.to_string()),
                (None, None) => {
                    words.push(format!("[{}]", part.filename.as_deref().unwrap_or("file")));
                    files.push(part.clone());
                }
            }
        }
        text.push_str(&format!("\n\n{}: {}", entry.speaker.word(), words.join("\n")));
    }
    text.push_str("\n\nWhat is said now:");
    let mut parts = vec![Part::text(text)];
    parts.append(&mut files);
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(given: &Value) -> Speech {
        Speech::read(given, "messages", None).unwrap()
    }

    fn refusal(given: &Value) -> String {
        Speech::read(given, "messages", None).unwrap_err().sentence.into_owned()
    }

    fn texts(parts: &[Part]) -> Vec<&str> {
        parts.iter().filter_map(|part| part.text.as_deref()).collect()
    }

    fn owner() -> (Principal, AgentName) {
        ("local".parse::<Principal>().unwrap(), "echo".parse().unwrap())
    }

    #[test]
    fn a_first_message_is_itself_with_its_instructions() {
        let speech =
            read(&json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }]));
        assert!(!speech.has_earlier());
        assert_eq!(texts(&speech.parts(true, None)), ["Instructions: Be brief.", "hi"]);
        let speech = Speech::read(&json!("hi"), "input", Some("Be brief.")).unwrap();
        assert_eq!(
            texts(&speech.parts(false, Some("JSON".into()))),
            ["Instructions: Be brief.", "hi", "JSON"]
        );
        assert_eq!(texts(&Speech::read(&json!("hi"), "input", Some("")).unwrap().parts(false, None)), ["hi"]);
    }

    #[test]
    fn what_was_said_before_is_told_only_when_wanted() {
        let speech = read(&json!([
            { "role": "user", "content": [{ "type": "text", "text": "one" },
                { "type": "file", "file": { "filename": "a.txt", "file_data": "aGk=" } }] },
            { "role": "assistant", "content": "two" },
            { "role": "user", "content": "three" },
            { "role": "user", "content": "four" },
        ]));
        assert!(speech.has_earlier());
        assert_eq!(texts(&speech.parts(false, None)), ["three", "four"]);
        let told = speech.parts(true, None);
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(
            told[0].text.as_deref().unwrap(),
            "This conversation began elsewhere. What was said before:\n\nUser: one\n[a.txt]\n\nYou: two\n\nWhat is said now:"
        );
        assert_eq!(told[1].filename.as_deref(), Some("a.txt"));
    }

    #[test]
    fn the_answered_transcript_is_the_earlier_one_of_the_next_turn() {
        let (owner, agent) = owner();
        let first = read(&json!([{ "role": "user", "content": "one" }]));
        let next = read(&json!([
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": [{ "type": "text", "text": "two" }] },
            { "role": "user", "content": "three" },
        ]));
        let answered = first.answered(&owner, &agent, "two\n").finish();
        assert_eq!(answered, next.earlier(&owner, &agent).finish());
        assert_ne!(answered, first.answered(&owner, &agent, "other").finish());
    }

    #[test]
    fn tools_of_other_models_are_part_of_the_past_only() {
        let past = json!([
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": null, "tool_calls": [] },
            { "role": "tool", "content": "42" },
            { "role": "assistant", "content": "It is 42." },
            { "role": "user", "content": "why" },
        ]);
        let told = read(&past).parts(true, None);
        assert!(told[0].text.as_deref().unwrap().contains("Tool: 42\n\nYou: It is 42."));
        assert!(
            refusal(&json!([{ "role": "user", "content": "a" }, { "role": "tool", "content": "42" }]))
                .contains("tool")
        );
    }

    #[test]
    fn items_of_responses_are_read_too() {
        let speech = read(&json!([
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "one" }] },
            { "type": "reasoning", "summary": [] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "two" }] },
            { "role": "developer", "content": "Be kind." },
            { "role": "user", "content": "three" },
        ]));
        assert_eq!(texts(&speech.parts(false, None)), ["Instructions: Be kind.", "three"]);
    }

    #[test]
    fn what_is_no_conversation_is_refused() {
        assert!(refusal(&json!([])).contains("must end with a message of the user"));
        assert!(
            refusal(&json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }]))
                .contains("user")
        );
        assert!(refusal(&json!([{ "role": "user", "content": null }])).contains("user"));
        assert!(refusal(&json!([{ "role": "king", "content": "a" }])).contains("messages[0].role"));
        assert!(refusal(&json!([{ "type": "item_reference", "id": "x" }])).contains("messages[0].type"));
        assert!(refusal(&json!(7)).contains("list of messages"));
    }

    #[test]
    fn whoever_sends_data_is_not_told_how_to_answer() {
        let given = json!([{ "role": "user", "content": [{ "type": "data", "data": { "a": 1 } }] }]);
        assert_eq!(read(&given).parts(false, Some("JSON".into())).len(), 1);
    }
}
