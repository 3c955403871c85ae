//! Artifact: what an agent hands over as the result of a task, whole or in chunks.
//!
//! Promises: chunks with `append` join the artifact of the same id in the order of their events; the joined
//! artifact is the same however the text was cut. It does not store files.

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

    /// Joins a further chunk. Text continues a last part of the same kind ([`Part::is_continued_by`]) without
    /// a separator; anything else becomes a separate part.
    pub fn append(&mut self, chunk: Self) {
        for part in chunk.parts {
            match (self.parts.last_mut(), &part.text) {
                (Some(last), Some(more)) if last.is_continued_by(&part) => {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_of_text_become_one_text() {
        let mut whole = Artifact::text("a", "Hel");
        whole.append(Artifact::text("a", "lo"));
        whole.append(Artifact::text("a", " there"));
        assert_eq!(whole.plain_text(), "Hello there");
        assert_eq!(whole.parts.len(), 1);
    }

    fn chunk(part: serde_json::Value) -> Artifact {
        let parts = vec![serde_json::from_value(part).unwrap()];
        Artifact { artifact_id: "a".into(), parts, ..Artifact::default() }
    }

    #[test]
    fn text_of_the_same_kind_is_one_text_however_its_writer_says_so() {
        let mut whole = chunk(json!({"text": "one ", "mediaType": "text/plain"}));
        whole.append(chunk(
            json!({"text": "two ", "mediaType": "text/plain", "filename": "", "metadata": {}}),
        ));
        whole.append(chunk(json!({"text": "three", "metadata": null})));
        assert_eq!((whole.plain_text().as_str(), whole.parts.len()), ("one two three", 1));
        let mut code = chunk(json!({"text": "fn ", "mediaType": "text/x-rust", "filename": "a.rs"}));
        code.append(chunk(json!({"text": "main", "mediaType": "text/x-rust", "filename": "a.rs"})));
        assert_eq!((code.plain_text().as_str(), code.parts.len()), ("fn main", 1));
    }

    #[test]
    fn text_of_another_kind_stays_apart() {
        for other in [
            json!({"text": "y", "mediaType": "text/csv"}),
            json!({"text": "y", "filename": "b.txt"}),
            json!({"text": "y", "metadata": {"thought": true}}),
            json!({"data": {"y": 1}}),
        ] {
            let mut whole = Artifact::text("a", "x");
            whole.append(chunk(other));
            assert_eq!(whole.parts.len(), 2, "{whole:?}");
        }
    }
}
