//! Resource: something a tool server lets its clients read.
//!
//! Promises: fields of later revisions survive a round trip. It does not read anything.

use serde::{Deserialize, Serialize};

use super::Round;
use crate::JsonMap;

/// Something that can be read, by its address.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Everything else, such as annotations and icons.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A family of addresses, in the form of RFC 6570.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The form of the addresses.
    pub uri_template: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it represents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// The content of a resource: text, or bytes in base64.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// The address that was read.
    pub uri: String,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl Contents {
    /// Words at an address.
    #[must_use]
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Bytes of content, as far as they count for a limit.
    #[must_use]
    pub fn size(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        of(&self.text) + of(&self.blob)
    }
}

/// A request to read a resource.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reading {
    /// Its address.
    pub uri: String,
    /// What was answered to earlier questions.
    pub round: Round,
}
