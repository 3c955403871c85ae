//! Prompt: a message of the caller as the blocks of content that an agent takes.
//!
//! Promises: text stays text; files go as the richest kind that the agent can take; a file that it cannot
//! take is refused with a sentence, never left out in silence. An agent that has lost the conversation gets
//! what was said before as text.

use agentsite_protocol::{Message, Part, Role};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::wire::Abilities;

/// Longest record of an earlier conversation that is given again; the end of it counts.
const LONGEST_RECORD: usize = 64 * 1024;

/// The blocks of a message.
///
/// # Errors
/// A sentence when the agent cannot take a part.
pub(super) fn blocks(parts: &[Part], able: &Abilities) -> Result<Vec<Value>, String> {
    let mut blocks = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        blocks.extend(block(part, at, able)?);
    }
    if blocks.is_empty() {
        return Err("the message is empty; write what the agent should do".into());
    }
    Ok(blocks)
}

fn block(part: &Part, at: usize, able: &Abilities) -> Result<Option<Value>, String> {
    let name = part.filename.clone().unwrap_or_else(|| format!("file-{}", at + 1));
    if let Some(text) = &part.text {
        return Ok((!text.trim().is_empty()).then(|| text_block(text)));
    }
    if let Some(data) = &part.data {
        return Ok(Some(text_block(&data.to_string())));
    }
    if let Some(url) = &part.url {
        return Ok(Some(
            json!({"type": "resource_link", "uri": url, "name": name, "mimeType": part.media_type}),
        ));
    }
    let Some(raw) = &part.raw else { return Ok(None) };
    file(raw, &name, part.media_type.as_deref(), able).map(Some)
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn file(raw: &str, name: &str, media_type: Option<&str>, able: &Abilities) -> Result<Value, String> {
    let kind = media_type.unwrap_or("application/octet-stream");
    if able.image && kind.starts_with("image/") {
        return Ok(json!({"type": "image", "data": raw, "mimeType": kind}));
    }
    if able.audio && kind.starts_with("audio/") {
        return Ok(json!({"type": "audio", "data": raw, "mimeType": kind}));
    }
    let bytes = STANDARD.decode(raw).map_err(|_| format!("the content of `{name}` is not base64"))?;
    let text = String::from_utf8(bytes).ok();
    let uri = format!(
        "attachment:{}",
        name.replace(|sign: char| !sign.is_ascii_alphanumeric() && sign != '.' && sign != '-', "_")
    );
    match (text, able.embedded) {
        (Some(text), true) => {
            Ok(json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}))
        }
        (None, true) => {
            Ok(json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "blob": raw}}))
        }
        (Some(text), false) => Ok(text_block(&format!("File {name}:\n{text}"))),
        (None, false) => {
            Err(format!("this agent does not accept files of the kind {kind} (`{name}`); send text instead"))
        }
    }
}

/// What was said before, for an agent that was not there; `None` when nothing was.
pub(super) fn record<'a>(earlier: impl DoubleEndedIterator<Item = &'a Message>) -> Option<Value> {
    let (mut lines, mut size) = (Vec::new(), 0);
    for message in earlier.rev() {
        let who = match message.role {
            Role::User => "User",
            Role::Agent => "You",
        };
        let line = format!("{who}: {}", message.plain_text().trim());
        size += line.len();
        if size > LONGEST_RECORD {
            break;
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return None;
    }
    lines.reverse();
    let said = lines.join("\n");
    Some(text_block(&format!(
        "This is what was said before in this conversation:\n{said}\n(End of what was said before.)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::job;

    fn file_part(kind: &str, bytes: &[u8]) -> Part {
        Part {
            raw: Some(STANDARD.encode(bytes)),
            media_type: Some(kind.into()),
            filename: Some("a b.txt".into()),
            ..Part::default()
        }
    }

    #[test]
    fn files_go_as_the_richest_kind_that_the_agent_takes() {
        let rich = Abilities { image: true, audio: true, embedded: true, ..Abilities::default() };
        let poor = Abilities::default();
        let kind = |part: &Part, able: &Abilities| {
            blocks(std::slice::from_ref(part), able).map(|blocks| blocks[0]["type"].clone())
        };
        assert_eq!(kind(&file_part("image/png", b"\xff"), &rich), Ok(json!("image")));
        assert_eq!(kind(&file_part("audio/wav", b"\xff"), &rich), Ok(json!("audio")));
        let text = blocks(&[file_part("text/plain", b"hello")], &rich).unwrap();
        assert_eq!(
            text[0]["resource"],
            json!({"uri": "attachment:a_b.txt", "mimeType": "text/plain", "text": "hello"})
        );
        let blob = blocks(&[file_part("application/zip", b"\xff")], &rich).unwrap();
        assert_eq!(blob[0]["resource"]["blob"], "/w==");
        let text = blocks(&[file_part("text/plain", b"hello")], &poor).unwrap();
        assert_eq!(text[0]["text"], "File a b.txt:\nhello");
        let why = kind(&file_part("image/png", b"\xff"), &poor).unwrap_err();
        assert!(why.contains("image/png"), "{why}");
        let link = Part { url: Some("https://example.org/x".into()), ..Part::default() };
        assert_eq!(kind(&link, &poor), Ok(json!("resource_link")));
    }

    #[test]
    fn an_empty_message_is_no_prompt() {
        assert!(blocks(&[Part::text("  ")], &Abilities::default()).is_err());
        assert!(blocks(&[], &Abilities::default()).is_err());
        let bad = Part { raw: Some("%%".into()), ..Part::default() };
        assert!(blocks(&[bad], &Abilities::default()).unwrap_err().contains("not base64"));
    }

    #[test]
    fn the_end_of_a_long_conversation_is_told_again() {
        let said = |text: &str| job(text).message;
        let earlier = [said(&"x".repeat(LONGEST_RECORD)), said("two"), said("three")];
        let told = record(earlier.iter()).unwrap();
        let told = told["text"].as_str().unwrap();
        assert!(told.contains("User: two\nUser: three\n") && !told.contains("xxx"), "{told}");
        assert_eq!(record([].iter()), None);
    }
}
