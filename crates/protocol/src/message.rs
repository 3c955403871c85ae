//! Message and Part: what people and agents say to each other.
//!
//! Promises: the shape is A2A 1.0 ProtoJSON (camelCase, one of `text`, `raw`, `url`, `data` in a part). What
//! that form lets writers do otherwise is read too: names with underscores, the number of a role. Fields that
//! this version does not know are kept in `extra` and written out again. It does not judge content and does
//! not check media types.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{ContextId, JsonMap, MessageId, TaskId};

/// The field of A2A in which a message names the tasks that it builds on.
const REFERENCES: &str = "referenceTaskIds";

/// Formats of the family `application` that are text, and the one that means unknown.
const TEXT_FORMATS: [&str; 13] = [
    "json",
    "xml",
    "yaml",
    "toml",
    "javascript",
    "typescript",
    "sh",
    "shellscript",
    "sql",
    "ndjson",
    "jsonl",
    "python",
    "octet-stream",
];

/// Who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Role {
    /// The caller: a person, a program, another agent.
    #[serde(rename = "ROLE_USER")]
    User,
    /// The agent that was asked.
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RoleVisitor)
    }
}

struct RoleVisitor;

impl Visitor<'_> for RoleVisitor {
    type Value = Role;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("`ROLE_USER` or `ROLE_AGENT`")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Role, E> {
        match word {
            "ROLE_USER" => Ok(Role::User),
            "ROLE_AGENT" => Ok(Role::Agent),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Role, E> {
        match number {
            1 => Ok(Role::User),
            2 => Ok(Role::Agent),
            _ => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }
}

/// One piece of content. Exactly one of `text`, `raw`, `url` and `data` is set in a well-formed part.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// File content in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Where a file can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Media type of the content.
    #[serde(default, alias = "media_type", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// File name for `raw` and `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Fields that this version does not know, `metadata` among them.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl Part {
    /// A part of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A part of structured content.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Self { data: Some(data), ..Self::default() }
    }

    /// The text of a file that was sent with its content and can be read as text: it is declared as such, or
    /// as nothing, and is UTF-8 without control characters that text has not.
    #[must_use]
    pub fn text_of_file(&self) -> Option<String> {
        let raw = self.raw.as_deref()?;
        let declared = self.media_type.as_deref().unwrap_or_default();
        if !is_textual(declared) {
            return None;
        }
        let text = String::from_utf8(STANDARD.decode(raw).ok()?).ok()?;
        (!text.contains('\0')).then_some(text)
    }

    /// Whether parts can be taken: there is at least one, and each has exactly one content.
    ///
    /// # Errors
    /// [`BadMessage::NoParts`] or [`BadMessage::Contents`].
    pub fn check_all(parts: &[Self]) -> Result<(), BadMessage> {
        if parts.is_empty() {
            return Err(BadMessage::NoParts);
        }
        if parts.iter().any(|part| part.contents() != 1) {
            return Err(BadMessage::Contents);
        }
        Ok(())
    }

    /// How many of the four kinds of content are set; a well-formed part has one.
    #[must_use]
    pub fn contents(&self) -> usize {
        usize::from(self.text.is_some())
            + usize::from(self.raw.is_some())
            + usize::from(self.url.is_some())
            + usize::from(self.data.is_some())
    }

    /// The kind of a part that is text and nothing else; `None` for all others. Plain text is the same with
    /// and without its media type, and a field without content is the same as none: writers differ in what
    /// they leave out.
    #[must_use]
    pub fn text_kind(&self) -> Option<TextKind> {
        if self.text.is_none() || self.contents() != 1 {
            return None;
        }
        let is_plain = |media: &&String| media.is_empty() || media.eq_ignore_ascii_case("text/plain");
        let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(JsonMap::is_empty);
        let said = self.extra.iter().filter(|(_, value)| !is_empty(value));
        Some(TextKind {
            media_type: self.media_type.as_ref().filter(|media| !is_plain(media)).cloned(),
            filename: self.filename.as_ref().filter(|name| !name.is_empty()).cloned(),
            extra: said.map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }

    /// Whether the next chunk of an artifact continues where this part ends, so that their texts are one text
    /// without a separator.
    #[must_use]
    pub fn is_continued_by(&self, chunk: &Self) -> bool {
        self.text_kind().is_some_and(|kind| Some(kind) == chunk.text_kind())
    }

    /// Bytes of content, for limits and budgets.
    #[must_use]
    pub fn size(&self) -> usize {
        let texts = [&self.text, &self.raw, &self.url];
        let written: usize = texts.into_iter().flatten().map(String::len).sum();
        written + self.data.as_ref().map_or(0, |data| data.to_string().len())
    }
}

/// What two texts share when one continues the other: media type, file name and further fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextKind {
    media_type: Option<String>,
    filename: Option<String>,
    extra: JsonMap,
}

/// Why a message cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// It is not the message of a caller.
    #[error("the message's role must be ROLE_USER: agents answer, callers ask")]
    Role,
    /// It has no parts.
    #[error("there are no parts; send at least one, such as {{\"text\": \"hello\"}}")]
    NoParts,
    /// One of its parts has no content, or several.
    #[error("each part must have exactly one of text, raw, url and data")]
    Contents,
}

impl BadMessage {
    /// The field of the message that is wrong, as it is written on the wire.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::NoParts | Self::Contents => "parts",
        }
    }

    /// What the field must be, for a report that names the field first.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Role => "must be ROLE_USER",
            Self::NoParts => "must have at least one part",
            Self::Contents => "must each have exactly one of text, raw, url and data",
        }
    }
}

/// One utterance in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The sender's id of this message.
    #[serde(alias = "message_id")]
    pub message_id: MessageId,
    /// The conversation it belongs to.
    #[serde(default, alias = "context_id", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The task it continues, as the sender wrote it.
    #[serde(default, alias = "task_id", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who wrote it.
    pub role: Role,
    /// The content.
    pub parts: Vec<Part>,
    /// Fields that this version does not read (`metadata`, `extensions`, `referenceTaskIds` and newer ones).
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl Message {
    /// A message of one text part.
    #[must_use]
    pub fn text(id: MessageId, role: Role, text: impl Into<String>) -> Self {
        Self {
            message_id: id,
            context_id: None,
            task_id: None,
            role,
            parts: vec![Part::text(text)],
            extra: JsonMap::new(),
        }
    }

    /// Whether a caller may send this message, as far as its form goes.
    ///
    /// # Errors
    /// [`BadMessage`] says what is wrong.
    pub fn check_request(&self) -> Result<(), BadMessage> {
        if self.role != Role::User {
            return Err(BadMessage::Role);
        }
        Part::check_all(&self.parts)
    }

    /// All text parts, joined by a line feed.
    #[must_use]
    pub fn plain_text(&self) -> String {
        plain_text(&self.parts)
    }

    /// All text, structured content as JSON, and the content of text files, joined by a line feed: the input
    /// of a program that only accepts text.
    #[must_use]
    pub fn text_and_data(&self) -> String {
        let data = |part: &Part| part.data.as_ref().map(Value::to_string);
        let written = |part: &Part| part.text.clone().or_else(|| data(part)).or_else(|| part.text_of_file());
        self.parts.iter().filter_map(written).collect::<Vec<_>>().join("\n")
    }

    /// The tasks that the message builds on, in the order in which it names them; at most the last `most`.
    /// What has not the form of a task's id is none of this site's and is left out.
    #[must_use]
    pub fn references(&self, most: usize) -> Vec<TaskId> {
        let named =
            self.extra.get(REFERENCES).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let last = &named[named.len().saturating_sub(most)..];
        last.iter().filter_map(|id| id.as_str()?.parse().ok()).collect()
    }

    /// Names the tasks that the message builds on, oldest first.
    pub fn refer_to(&mut self, tasks: &[TaskId]) {
        if tasks.is_empty() {
            self.extra.remove(REFERENCES);
        } else {
            let named: Vec<Value> = tasks.iter().map(|id| id.to_string().into()).collect();
            self.extra.insert(REFERENCES.into(), named.into());
        }
    }
}

/// Whether a media type says that the content is text, or says nothing.
fn is_textual(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (family, kind) = essence.split_once('/').unwrap_or((&essence, ""));
    let format = kind.rsplit('+').next().unwrap_or_default().trim_start_matches("x-");
    match family {
        "" | "text" => true,
        "application" => TEXT_FORMATS.contains(&format),
        _ => false,
    }
}

/// All text among the parts, joined by a line feed.
pub(crate) fn plain_text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_survive_a_round_trip() {
        let wire = r#"{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi","metadata":{"a":1},"tone":"kind"}],"extensions":["x"],"mood":7}"#;
        let message: Message = serde_json::from_str(wire).unwrap();
        let again: Value = serde_json::to_value(&message).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(wire).unwrap());
    }

    #[test]
    fn a_file_that_can_be_read_as_text_is_text() {
        let file = |media: Option<&str>, bytes: &[u8]| {
            let (raw, media_type) = (Some(STANDARD.encode(bytes)), media.map(String::from));
            Part { raw, media_type, ..Part::default() }
        };
        for media in [
            None,
            Some("text/markdown; charset=utf-8"),
            Some("application/problem+json"),
            Some("application/x-yaml"),
            Some("application/octet-stream"),
        ] {
            assert_eq!(
                file(media, "grüß\n".as_bytes()).text_of_file().as_deref(),
                Some("grüß\n"),
                "{media:?}"
            );
        }
        for media in ["image/svg", "application/pdf", "application/zip"] {
            assert_eq!(file(Some(media), b"a").text_of_file(), None, "{media}");
        }
        assert_eq!(file(None, b"\xff\xd8").text_of_file(), None);
        assert_eq!(file(None, b"a\0b").text_of_file(), None);
        assert_eq!(Part { raw: Some("?".into()), ..Part::default() }.text_of_file(), None);
        let mut message = Message::text("m".parse().unwrap(), Role::User, "look");
        message.parts.push(file(Some("text/plain"), b"one\ntwo"));
        assert_eq!(message.text_and_data(), "look\none\ntwo");
    }

    #[test]
    fn counts_the_contents_of_a_part() {
        assert_eq!(Part::text("a").contents(), 1);
        assert_eq!(Part::default().contents(), 0);
        let both = Part { url: Some("x".into()), ..Part::text("a") };
        assert_eq!(both.contents(), 2);
    }

    #[test]
    fn a_message_that_cannot_be_taken_names_its_field() {
        let good = Message::text("m".parse().unwrap(), Role::User, "hi");
        assert_eq!(good.check_request(), Ok(()));
        let agent = Message { role: Role::Agent, ..good.clone() };
        let empty = Message { parts: Vec::new(), ..good.clone() };
        let both = Part { url: Some("x".into()), ..Part::text("a") };
        let several = Message { parts: vec![both], ..good };
        for (message, bad, field) in [
            (agent, BadMessage::Role, "role"),
            (empty, BadMessage::NoParts, "parts"),
            (several, BadMessage::Contents, "parts"),
        ] {
            assert_eq!(message.check_request(), Err(bad));
            assert_eq!(bad.field(), field);
            assert!(bad.rule().starts_with("must "), "{bad:?}");
        }
    }

    #[test]
    fn references_are_the_last_ones_that_are_ids() {
        let ids: Vec<TaskId> = (1..4).map(|number| TaskId::from_bytes([number; 16])).collect();
        let mut message = Message::text("m".parse().unwrap(), Role::User, "and then?");
        assert!(message.references(9).is_empty());
        message.refer_to(&ids);
        assert_eq!(message.references(9), ids);
        assert_eq!(message.references(2), ids[1..]);
        message.refer_to(&[]);
        assert!(message.extra.is_empty());
        message.extra.insert(REFERENCES.into(), serde_json::json!(["x", 7, ids[0].to_string()]));
        assert_eq!(message.references(9), ids[..1]);
        message.extra.insert(REFERENCES.into(), "no list".into());
        assert!(message.references(9).is_empty());
    }

    #[test]
    fn plain_text_joins_text_parts_only() {
        let mut message = Message::text("m".parse().unwrap(), Role::User, "one");
        message.parts.push(Part::data(serde_json::json!({"k": 1})));
        message.parts.push(Part::text("two"));
        assert_eq!(message.plain_text(), "one\ntwo");
        assert_eq!(message.text_and_data(), "one\n{\"k\":1}\ntwo");
    }
}
