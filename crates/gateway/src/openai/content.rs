//! Content of a message: what OpenAI's content parts are in A2A.
//!
//! Promises: text stays text; images, sounds and files that come in the request become files, those that are
//! named by an address become addresses that only the agent may follow. Base64 is checked, so that no agent
//! gets what it cannot read. Files that were uploaded elsewhere are refused: there is no such place here.

use agentsite_protocol::Part;
use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use serde_json::Value;

use super::{unsupported, wrong};
use crate::failure::Failure;

/// Programs write base64 with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Reads the content of a message: a text, or a list of parts.
pub(super) fn read(content: &Value, field: &str) -> Result<Vec<Part>, Failure> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Part::text(text)]),
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.map(|(index, part)| part_of(part, &format!("{field}[{index}]"))).collect()
        }
        _ => Err(wrong(field, "must be a text or a list of content parts")),
    }
}

fn part_of(part: &Value, field: &str) -> Result<Part, Failure> {
    let member = |name: &str| format!("{field}.{name}");
    match part["type"].as_str().unwrap_or_default() {
        "text" | "input_text" | "output_text" => Ok(Part::text(text(&part["text"], &member("text"))?)),
        "refusal" => Ok(Part::text(text(&part["refusal"], &member("refusal"))?)),
        "image_url" => located(&part["image_url"]["url"], &member("image_url.url")),
        "input_image" => {
            no_upload(part, field)?;
            located(&part["image_url"], &member("image_url"))
        }
        "input_audio" => audio(&part["input_audio"], &member("input_audio")),
        "file" => file(&part["file"], &member("file")),
        "input_file" => file(part, field),
        // Not of OpenAI: structured content for agents that take it.
        "data" if !part["data"].is_null() => Ok(Part::data(part["data"].clone())),
        _ => Err(wrong(
            &member("type"),
            "must be text, image_url, input_audio or file (input_text, input_image or input_file in responses)",
        )),
    }
}

fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str, Failure> {
    value.as_str().ok_or_else(|| wrong(field, "must be a text"))
}

fn no_upload(part: &Value, field: &str) -> Result<(), Failure> {
    if part["file_id"].is_null() {
        return Ok(());
    }
    let instead = "is not supported: this site keeps no uploads; send the content itself, or its address";
    Err(unsupported(&format!("{field}.file_id"), instead))
}

/// A file behind an address, or in it.
fn located(url: &Value, field: &str) -> Result<Part, Failure> {
    let url = text(url, field)?;
    if let Some(data) = url.strip_prefix("data:") {
        return data_url(data, field);
    }
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(Part { url: Some(url.to_owned()), ..Part::default() });
    }
    Err(wrong(field, "must be an http(s) address or a data URL"))
}

fn data_url(data: &str, field: &str) -> Result<Part, Failure> {
    let (head, body) = data
        .split_once(',')
        .ok_or_else(|| wrong(field, "is not a data URL: it has no comma before its data"))?;
    let media = head
        .strip_suffix(";base64")
        .ok_or_else(|| wrong(field, "must carry its data in base64 (data:TYPE;base64,DATA)"))?;
    raw(body, Some(media).filter(|media| !media.is_empty()), None, field)
}

fn raw(data: &str, media: Option<&str>, name: Option<&str>, field: &str) -> Result<Part, Failure> {
    let bytes = BASE64.decode(data).map_err(|_| wrong(field, "is not base64"))?;
    Ok(Part {
        // Written anew, so that its next reader finds the usual form.
        raw: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
        media_type: media.map(Into::into),
        filename: name.map(Into::into),
        ..Part::default()
    })
}

fn audio(audio: &Value, field: &str) -> Result<Part, Failure> {
    let media = match audio["format"].as_str() {
        Some("wav") => "audio/wav",
        Some("mp3") => "audio/mpeg",
        _ => return Err(wrong(&format!("{field}.format"), "must be wav or mp3")),
    };
    let data = format!("{field}.data");
    raw(text(&audio["data"], &data)?, Some(media), None, &data)
}

fn file(file: &Value, field: &str) -> Result<Part, Failure> {
    no_upload(file, field)?;
    let name = file["filename"].as_str();
    let data = format!("{field}.file_data");
    let part = match (&file["file_data"], &file["file_url"]) {
        (Value::String(text), _) if text.starts_with("data:") => located(&file["file_data"], &data)?,
        (Value::String(text), _) => raw(text, None, None, &data)?,
        (_, Value::String(_)) => located(&file["file_url"], &format!("{field}.file_url"))?,
        _ => return Err(wrong(&data, "is required: the file itself, or file_url")),
    };
    Ok(Part { filename: name.map(Into::into), ..part })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(part: &Value) -> Part {
        read(&json!([part]), "content").unwrap().remove(0)
    }

    fn refusal(part: &Value) -> String {
        read(&json!([part]), "content").unwrap_err().sentence.into_owned()
    }

    #[test]
    fn text_is_text_in_every_spelling() {
        assert_eq!(read(&json!("hi"), "content").unwrap(), [Part::text("hi")]);
        assert_eq!(read(&Value::Null, "content").unwrap(), []);
        for kind in ["text", "input_text", "output_text"] {
            assert_eq!(one(&json!({ "type": kind, "text": "hi" })), Part::text("hi"));
        }
        assert_eq!(one(&json!({ "type": "data", "data": { "a": 1 } })), Part::data(json!({ "a": 1 })));
    }

    #[test]
    fn what_comes_along_becomes_a_file() {
        let image = one(&json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAE" } }));
        assert_eq!((image.raw.as_deref(), image.media_type.as_deref()), (Some("AAE="), Some("image/png")));
        let same = one(&json!({ "type": "input_image", "image_url": "data:image/png;base64,AAE=" }));
        assert_eq!(same, image);
        let sound =
            one(&json!({ "type": "input_audio", "input_audio": { "data": "AAE=", "format": "mp3" } }));
        assert_eq!(sound.media_type.as_deref(), Some("audio/mpeg"));
        let file = json!({ "filename": "a.txt", "file_data": "data:text/plain;base64,aGk=" });
        let file = one(&json!({ "type": "file", "file": file }));
        assert_eq!((file.raw.as_deref(), file.filename.as_deref()), (Some("aGk="), Some("a.txt")));
        let bare = one(&json!({ "type": "input_file", "filename": "a", "file_data": "aGk=" }));
        assert_eq!((bare.raw.as_deref(), bare.media_type), (Some("aGk="), None));
    }

    #[test]
    fn an_address_stays_an_address() {
        let image = one(&json!({ "type": "image_url", "image_url": { "url": "https://example.org/a.png" } }));
        assert_eq!(image.url.as_deref(), Some("https://example.org/a.png"));
        let file =
            json!({ "type": "input_file", "file_url": "https://example.org/a.pdf", "filename": "a.pdf" });
        assert_eq!(one(&file).filename.as_deref(), Some("a.pdf"));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let of_image = |url: &str| refusal(&json!({ "type": "image_url", "image_url": { "url": url } }));
        assert!(of_image("data:image/png;base64,?").contains("`content[0].image_url.url` is not base64"));
        assert!(of_image("data:image/png,x").contains("base64"));
        assert!(of_image("data:image/png").contains("comma"));
        assert!(of_image("file:///etc/passwd").contains("http(s)"));
        assert!(refusal(&json!({ "type": "input_file", "file_id": "f" })).contains("keeps no uploads"));
        assert!(refusal(&json!({ "type": "input_file" })).contains("is required"));
        assert!(refusal(&json!({ "type": "video" })).contains("content[0].type"));
        assert!(refusal(&json!({ "type": "text", "text": 7 })).contains("must be a text"));
        assert!(read(&json!(7), "content").is_err());
    }
}
