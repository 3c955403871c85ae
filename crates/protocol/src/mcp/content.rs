//! Content: one piece of what a tool, a prompt or a model says.
//!
//! Promises: one flat shape for all kinds, so that kinds and fields we do not know pass through unread. It
//! does not check that a kind has the fields it needs.

use serde::{Deserialize, Serialize};

use super::{Contents, Resource};
use crate::JsonMap;

/// One piece of content; `kind` says which of the other fields count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// `text`, `image`, `audio`, `resource_link`, `resource`, or a kind of a later revision.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes of `image` and `audio` in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The media type of `data` or of the linked resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The resource of `resource`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Contents>,
    /// Everything else, such as annotations, or the uri and name of a link.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl Content {
    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: "text".into(), text: Some(text.into()), ..Self::default() }
    }

    /// A picture, given in base64.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            kind: "image".into(),
            data: Some(data.into()),
            mime_type: Some(mime_type.into()),
            ..Self::default()
        }
    }

    /// Audio in base64.
    #[must_use]
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { kind: "audio".into(), ..Self::image(data, mime_type) }
    }

    /// A resource with its content.
    #[must_use]
    pub fn resource(resource: Contents) -> Self {
        Self { kind: "resource".into(), resource: Some(resource), ..Self::default() }
    }

    /// A resource by its address.
    #[must_use]
    pub fn link(resource: Resource) -> Self {
        let mut extra = resource.extra;
        extra.insert("uri".into(), resource.uri.into());
        extra.insert("name".into(), resource.name.into());
        extra.extend(resource.title.map(|title| ("title".into(), title.into())));
        extra.extend(resource.description.map(|text| ("description".into(), text.into())));
        extra.extend(resource.size.map(|size| ("size".into(), size.into())));
        Self { kind: "resource_link".into(), mime_type: resource.mime_type, extra, ..Self::default() }
    }

    /// Bytes of content, as far as they count for a limit.
    #[must_use]
    pub fn size(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        of(&self.text) + of(&self.data) + self.resource.as_ref().map_or(0, Contents::size)
    }
}
