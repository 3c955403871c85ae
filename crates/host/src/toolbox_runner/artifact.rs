//! A tool's result as an artifact, and back.
//!
//! Promises: readers of A2A find text, files and structured content where they look for them; a reader of MCP
//! gets the result back as the tool gave it, because the metadata holds what A2A has no place for. No large
//! content is duplicated.

use agentsite_protocol::extension::MCP;
use agentsite_protocol::mcp::{Content, Contents, ToolResult};
use agentsite_protocol::{Artifact, JsonMap, Part};
use serde_json::{Value, json};

/// The artifact that holds the result of a call.
pub(super) const RESULT: &str = "result";

/// What the metadata of the part with the structured content says.
const STRUCTURED: &str = "structuredContent";

/// The result as an artifact.
pub(super) fn artifact_of(result: ToolResult) -> Artifact {
    let mut parts: Vec<Part> = result.content.into_iter().map(part_of).collect();
    if let Some(value) = result.structured_content {
        parts.push(with_note(Part::data(value), &STRUCTURED.into()));
    }
    let mut rest = result.extra;
    if result.is_error {
        rest.insert("isError".into(), true.into());
    }
    let metadata = json!({ "metadata": { MCP: rest } });
    let Value::Object(extra) = metadata else { unreachable!("an object was written above") };
    Artifact { artifact_id: RESULT.into(), parts, extra, ..Artifact::default() }
}

/// The result of a call, read back from its artifact; `None` when the artifact is none of a tool.
#[must_use]
pub fn result_of(artifact: &Artifact) -> Option<ToolResult> {
    let mut rest = note(&artifact.extra)?.as_object()?.clone();
    let is_error = rest.remove("isError").is_some_and(|value| value == true);
    let mut result = ToolResult { is_error, extra: rest, ..ToolResult::default() };
    for part in &artifact.parts {
        match note(&part.extra) {
            Some(Value::String(word)) if word == STRUCTURED => result.structured_content = part.data.clone(),
            note => result.content.push(content_of(part, note)),
        }
    }
    Some(result)
}

/// A piece of content as a part; what has no place in one becomes its note, without what the part holds
/// already.
fn part_of(mut content: Content) -> Part {
    if content.kind == "text" && content.extra.is_empty() && content.mime_type.is_none() {
        return Part::text(content.text.unwrap_or_default());
    }
    let resource = content.resource.as_mut();
    let media_type = resource.as_ref().and_then(|one| one.mime_type.clone()).or(content.mime_type.clone());
    let (text, raw) = match resource {
        Some(resource) => (resource.text.take(), resource.blob.take()),
        None => (content.text.take(), content.data.take()),
    };
    let url = content.extra.get("uri").and_then(Value::as_str).map(str::to_owned);
    let part = match (text, raw, url) {
        (Some(text), _, _) => Part { text: Some(text), ..Part::default() },
        (None, Some(raw), _) => Part { raw: Some(raw), ..Part::default() },
        (None, None, Some(url)) => Part { url: Some(url), ..Part::default() },
        (None, None, None) => return with_note(Part::data(json!({})), &content_json(&content)),
    };
    let part = Part { media_type, filename: filename(&content), ..part };
    with_note(part, &content_json(&content))
}

fn content_json(content: &Content) -> Value {
    serde_json::to_value(content).unwrap_or_default()
}

/// The name under which people know a resource: its own, or the end of its address.
fn filename(content: &Content) -> Option<String> {
    let named = content.extra.get("name").and_then(Value::as_str).map(str::to_owned);
    let uri = content.resource.as_ref().map(|resource| resource.uri.as_str());
    named.or_else(|| uri?.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned))
}

/// A part as the piece of content that it was.
fn content_of(part: &Part, note: Option<&Value>) -> Content {
    let Some(mut content) = note.and_then(|note| serde_json::from_value::<Content>(note.clone()).ok()) else {
        return Content::text(part.text.clone().unwrap_or_default());
    };
    let into: &mut Contents = match &mut content.resource {
        Some(resource) => resource,
        None => {
            (content.text, content.data) = (part.text.clone(), part.raw.clone());
            return content;
        }
    };
    (into.text, into.blob) = (part.text.clone(), part.raw.clone());
    content
}

fn with_note(mut part: Part, note: &Value) -> Part {
    part.extra.insert("metadata".into(), json!({ MCP: note }));
    part
}

fn note(extra: &JsonMap) -> Option<&Value> {
    extra.get("metadata")?.get(MCP)
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::mcp::Resource;

    use super::*;

    #[test]
    fn a_result_comes_back_as_the_tool_gave_it() {
        let blob = Contents { uri: "a://b/c.bin".into(), blob: Some("AAEC".into()), ..Contents::default() };
        let link = Resource { uri: "a://b/d".into(), name: "d".into(), size: Some(7), ..Resource::default() };
        let mut annotated = Content::text("for you");
        annotated.extra.insert("annotations".into(), json!({ "audience": ["user"] }));
        let later = json!({ "type": "hologram", "beam": [1, 2] });
        let result = ToolResult {
            content: vec![
                Content::text("words"),
                annotated,
                Content::image("AAAA", "image/png"),
                Content::audio("BBBB", "audio/wav"),
                Content::resource(Contents::text("a://b/e.txt", "text/plain", "in it")),
                Content::resource(blob),
                Content::link(link),
                serde_json::from_value(later).unwrap(),
            ],
            structured_content: Some(json!({ "sum": 4 })),
            is_error: true,
            extra: json!({ "_meta": { "a": 1 } }).as_object().unwrap().clone(),
        };
        let artifact = artifact_of(result.clone());
        assert_eq!(result_of(&artifact), Some(result));
        assert!(artifact.parts.iter().all(|part| part.contents() == 1), "{artifact:?}");
        let written = serde_json::to_string(&artifact).unwrap();
        assert_eq!(written.matches("AAAA").count(), 1, "nothing of size is there twice");
    }

    #[test]
    fn readers_of_a2a_find_words_files_and_data() {
        let result = ToolResult {
            content: vec![Content::image("AAAA", "image/png"), Content::text("words")],
            ..ToolResult::structured(json!({ "sum": 4 }))
        };
        let artifact = artifact_of(result);
        let [image, words, data] = &artifact.parts[..] else { panic!("{artifact:?}") };
        assert_eq!((image.raw.as_deref(), image.media_type.as_deref()), (Some("AAAA"), Some("image/png")));
        assert_eq!(*words, Part::text("words"));
        assert_eq!(data.data, Some(json!({ "sum": 4 })));
    }

    #[test]
    fn an_artifact_of_an_agent_that_is_talked_to_is_no_result() {
        assert_eq!(result_of(&Artifact::text("answer", "hello")), None);
    }
}
