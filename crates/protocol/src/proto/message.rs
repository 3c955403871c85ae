//! Message and Part in protobuf.
//!
//! Promises: a noun that was written is read back as the same noun; `metadata`, `extensions` and
//! `referenceTaskIds` of a noun's `extra` have their own fields here. It does not validate content.

use prost_types::Struct;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::{Problem, WrongField, each, is_default, json};
use crate::JsonMap;

/// Who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Role {
    /// Not said.
    Unspecified = 0,
    /// The caller.
    User = 1,
    /// The agent.
    Agent = 2,
}

impl Role {
    /// The name in ProtoJSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unspecified => "ROLE_UNSPECIFIED",
            Self::User => "ROLE_USER",
            Self::Agent => "ROLE_AGENT",
        }
    }
}

/// Writes the name of a role, which JSON has in place of its number; the number when it has no name.
fn role_word<S: Serializer>(number: &i32, out: S) -> Result<S::Ok, S::Error> {
    match Role::try_from(*number) {
        Ok(role) => out.serialize_str(role.word()),
        Err(_) => out.serialize_i32(*number),
    }
}

/// One piece of content.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The content itself.
    #[prost(oneof = "Content", tags = "1, 2, 3, 4")]
    #[serde(flatten)]
    pub content: Option<Content>,
    /// Additional data of the sender.
    #[prost(message, optional, tag = "5")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Struct>,
    /// File name for `raw` and `url`.
    #[prost(string, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub filename: String,
    /// Media type of the content.
    #[prost(string, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub media_type: String,
}

/// The content of a part.
#[derive(Clone, PartialEq, prost::Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// Plain text.
    #[prost(string, tag = "1")]
    Text(String),
    /// File content.
    #[prost(bytes = "vec", tag = "2")]
    Raw(#[serde(with = "json::encoded")] Vec<u8>),
    /// Where a file can be had.
    #[prost(string, tag = "3")]
    Url(String),
    /// Structured content.
    #[prost(message, tag = "4")]
    Data(#[serde(with = "json::free")] prost_types::Value),
}

/// One utterance.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The sender's id of this message.
    #[prost(string, tag = "1")]
    pub message_id: String,
    /// The conversation it belongs to.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub context_id: String,
    /// The task it continues.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub task_id: String,
    /// Who wrote it.
    #[prost(enumeration = "Role", tag = "4")]
    #[serde(serialize_with = "role_word")]
    pub role: i32,
    /// The content.
    #[prost(message, repeated, tag = "5")]
    pub parts: Vec<Part>,
    /// Additional data of the sender.
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Struct>,
    /// Extensions that the message makes use of.
    #[prost(string, repeated, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub extensions: Vec<String>,
    /// Tasks that it refers to.
    #[prost(string, repeated, tag = "8")]
    #[serde(skip_serializing_if = "is_default")]
    pub reference_task_ids: Vec<String>,
}

impl TryFrom<&crate::Part> for Part {
    type Error = WrongField;

    fn try_from(part: &crate::Part) -> Result<Self, WrongField> {
        if part.contents() > 1 {
            return Err(WrongField::new("", Problem::Contents));
        }
        let content = match part {
            crate::Part { text: Some(text), .. } => Some(Content::Text(text.clone())),
            crate::Part { url: Some(url), .. } => Some(Content::Url(url.clone())),
            crate::Part { raw: Some(raw), .. } => {
                Some(Content::Raw(json::bytes(raw).map_err(|wrong| wrong.within("raw"))?))
            }
            crate::Part { data: Some(data), .. } => {
                Some(Content::Data(json::value(data).map_err(|wrong| wrong.within("data"))?))
            }
            _ => None,
        };
        Ok(Self {
            content,
            metadata: metadata_of(&part.extra)?,
            filename: part.filename.clone().unwrap_or_default(),
            media_type: part.media_type.clone().unwrap_or_default(),
        })
    }
}

impl TryFrom<Part> for crate::Part {
    type Error = WrongField;

    fn try_from(part: Part) -> Result<Self, WrongField> {
        let mut noun =
            Self { media_type: said(part.media_type), filename: said(part.filename), ..Self::default() };
        match part.content {
            Some(Content::Text(text)) => noun.text = Some(text),
            Some(Content::Raw(raw)) => noun.raw = Some(json::base64(&raw)),
            Some(Content::Url(url)) => noun.url = Some(url),
            Some(Content::Data(data)) => {
                noun.data = Some(json::json(data).map_err(|wrong| wrong.within("data"))?);
            }
            None => {}
        }
        keep_metadata(&mut noun.extra, part.metadata)?;
        Ok(noun)
    }
}

impl TryFrom<&crate::Message> for Message {
    type Error = WrongField;

    fn try_from(message: &crate::Message) -> Result<Self, WrongField> {
        let role = match message.role {
            crate::Role::User => Role::User,
            crate::Role::Agent => Role::Agent,
        };
        Ok(Self {
            message_id: message.message_id.to_string(),
            context_id: message.context_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            task_id: message.task_id.clone().unwrap_or_default(),
            role: role.into(),
            parts: each("parts", &message.parts, Part::try_from)?,
            metadata: metadata_of(&message.extra)?,
            extensions: texts_of(&message.extra, "extensions"),
            reference_task_ids: texts_of(&message.extra, "referenceTaskIds"),
        })
    }
}

impl TryFrom<Message> for crate::Message {
    type Error = WrongField;

    fn try_from(message: Message) -> Result<Self, WrongField> {
        if message.message_id.is_empty() {
            return Err(WrongField::new("messageId", Problem::Missing));
        }
        let role = match Role::try_from(message.role) {
            Ok(Role::User) => crate::Role::User,
            Ok(Role::Agent) => crate::Role::Agent,
            Ok(Role::Unspecified) => return Err(WrongField::new("role", Problem::Missing)),
            Err(_) => return Err(WrongField::new("role", Problem::Word)),
        };
        let context = said(message.context_id).map(TryInto::try_into).transpose();
        let mut noun = Self {
            message_id: message
                .message_id
                .try_into()
                .map_err(|_| WrongField::new("messageId", Problem::Id))?,
            context_id: context.map_err(|_| WrongField::new("contextId", Problem::Id))?,
            task_id: said(message.task_id),
            role,
            parts: each("parts", message.parts, crate::Part::try_from)?,
            extra: JsonMap::new(),
        };
        keep_metadata(&mut noun.extra, message.metadata)?;
        keep_texts(&mut noun.extra, "extensions", message.extensions);
        keep_texts(&mut noun.extra, "referenceTaskIds", message.reference_task_ids);
        Ok(noun)
    }
}

/// A text that is there.
pub(super) fn said(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// The metadata among the fields that a noun does not read.
pub(super) fn metadata_of(extra: &JsonMap) -> Result<Option<Struct>, WrongField> {
    match extra.get("metadata") {
        Some(Json::Object(map)) => json::object(map).map(Some).map_err(|wrong| wrong.within("metadata")),
        _ => Ok(None),
    }
}

/// Puts metadata back among the fields that a noun does not read.
pub(super) fn keep_metadata(extra: &mut JsonMap, metadata: Option<Struct>) -> Result<(), WrongField> {
    if let Some(metadata) = metadata {
        let map = json::map(metadata).map_err(|wrong| wrong.within("metadata"))?;
        extra.insert("metadata".into(), Json::Object(map));
    }
    Ok(())
}

/// A list of texts among the fields that a noun does not read; anything else in it has no place in protobuf.
pub(super) fn texts_of(extra: &JsonMap, field: &str) -> Vec<String> {
    let items = extra.get(field).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(Into::into)).collect()
}

/// Puts a list of texts back among the fields that a noun does not read.
pub(super) fn keep_texts(extra: &mut JsonMap, field: &str, texts: Vec<String>) {
    if !texts.is_empty() {
        extra.insert(field.into(), texts.into());
    }
}
