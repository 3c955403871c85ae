//! Artifact: what an agent hands over as the result of a task, whole or in chunks.
//!
//! Promises: chunks with `append` join the artifact of the same id in the order of their events; the joined artifact is
//! the same however the text was cut. It does not store files.

use serde::{Deserialize, Serialize};

use crate::message::plain_text;
use crate::{JsonMap, Part};

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within the task.
    pub artifact_id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The content.
    pub parts: Vec<Part>,
    /// Fields that this version does not read.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl Artifact {
    /// An artifact of one text part.
    #[must_use]
    pub fn text(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { artifact_id: id.into(), parts: vec![Part::text(text)], ..Self::default() }
    }

    /// All text parts, joined by a line feed.
    #[must_use]
    pub fn plain_text(&self) -> String {
        plain_text(&self.parts)
    }

    /// Bytes of content.
    #[must_use]
    pub fn size(&self) -> usize {
        self.parts.iter().map(Part::size).sum()
    }

    /// Joins a further chunk. Plain text continues the last plain text part; anything else becomes a part of its own.
    pub fn append(&mut self, chunk: Self) {
        for part in chunk.parts {
            match (self.parts.last_mut(), &part.text) {
                (Some(last), Some(more)) if is_plain(last) && is_plain(&part) => {
                    last.text.get_or_insert_default().push_str(more);
                }
                _ => self.parts.push(part),
            }
        }
        self.name = chunk.name.or(self.name.take());
        self.description = chunk.description.or(self.description.take());
        self.extra.extend(chunk.extra);
    }
}

/// Whether a part is text and nothing else, so that a chunk can continue it without loss.
fn is_plain(part: &Part) -> bool {
    part.text.is_some()
        && part.contents() == 1
        && part.media_type.is_none()
        && part.filename.is_none()
        && part.extra.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_text_become_one_text() {
        let mut whole = Artifact::text("a", "Hel");
        whole.append(Artifact::text("a", "lo"));
        whole.append(Artifact::text("a", " there"));
        assert_eq!(whole.plain_text(), "Hello there");
        assert_eq!(whole.parts.len(), 1);
    }

    #[test]
    fn a_part_with_a_media_type_stays_apart() {
        let mut whole = Artifact::text("a", "x");
        let csv = Part { media_type: Some("text/csv".into()), ..Part::text("1,2") };
        whole.append(Artifact { artifact_id: "a".into(), parts: vec![csv], ..Artifact::default() });
        assert_eq!(whole.parts.len(), 2);
    }
}
