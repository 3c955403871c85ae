//! Parts, messages and artifacts.
//!
//! Promises: a part of 1.0 gets the `kind` of its content; structured content that is not an object, which
//! 0.3 cannot hold, is wrapped as the official SDK wraps it and unwrapped again. A file of 0.3 becomes `raw`
//! or `url`. It does not interpret content.

use serde_json::{Value, json};

use super::failure::NotLegacy;
use super::member::{change_each, drop_nulls, object};
use crate::JsonMap;

/// The mark on structured content that was wrapped into an object under `value`; the official SDK uses the
/// same one.
const WRAPPED: &str = "data_part_compat";

/// What is wrong with a part of 0.3 that is nothing.
const BAD_PART: &str =
    "must be of kind `text` with text, `file` with either file.bytes or file.uri, or `data` with data";

const ROLES: [(&str, &str); 2] = [("ROLE_USER", "user"), ("ROLE_AGENT", "agent")];

/// Makes a message of 0.3.
pub(super) fn downgrade_message(message: &mut JsonMap) {
    drop_nulls(message);
    let role = message.get("role").and_then(Value::as_str);
    // Only agents send without saying who they are.
    let role = ROLES.iter().find(|(name, _)| Some(*name) == role).map_or("agent", |(_, old)| *old);
    message.insert("role".into(), role.into());
    message.insert("kind".into(), "message".into());
    downgrade_parts(message);
}

/// Makes a message of 1.0; roles and parts that are unknown stay as they are.
pub(super) fn upgrade_message(message: &mut JsonMap) {
    drop_nulls(message);
    let role = message.get("role").and_then(Value::as_str);
    if let Some((name, _)) = ROLES.iter().find(|(_, old)| Some(*old) == role) {
        message.insert("role".into(), (*name).into());
    }
    message.remove("kind");
    upgrade_parts(message);
}

/// Checks that a message of 0.3 has a role and parts that 0.3 knows.
pub(super) fn check_message(message: &JsonMap, field: &str) -> Result<(), NotLegacy> {
    if message.get("kind").is_some_and(|kind| !kind.is_null() && kind != "message") {
        return Err(NotLegacy::field(format!("{field}.kind"), "must be `message`"));
    }
    let role = message.get("role").and_then(Value::as_str);
    if !ROLES.iter().any(|(_, old)| Some(*old) == role) {
        return Err(NotLegacy::field(format!("{field}.role"), "must be `user` or `agent`"));
    }
    let parts = message.get("parts").and_then(Value::as_array).into_iter().flatten();
    match parts.into_iter().position(|part| !is_part(part)) {
        Some(place) => Err(NotLegacy::field(format!("{field}.parts[{place}]"), BAD_PART)),
        None => Ok(()),
    }
}

/// Makes the parts of a message or an artifact those of 0.3.
pub(super) fn downgrade_parts(owner: &mut JsonMap) {
    change_each(owner, "parts", downgrade_part);
}

/// Makes the parts of a message or an artifact those of 1.0.
pub(super) fn upgrade_parts(owner: &mut JsonMap) {
    change_each(owner, "parts", upgrade_part);
}

/// Makes an artifact of 0.3.
pub(super) fn downgrade_artifact(artifact: &mut JsonMap) {
    drop_nulls(artifact);
    downgrade_parts(artifact);
}

/// Makes an artifact of 1.0.
pub(super) fn upgrade_artifact(artifact: &mut JsonMap) {
    drop_nulls(artifact);
    upgrade_parts(artifact);
}

fn is_part(part: &Value) -> bool {
    let text = |name: &str| part.get(name).is_some_and(Value::is_string);
    let file = || part.get("file").is_some_and(|file| file["bytes"].is_string() != file["uri"].is_string());
    // Only objects by the letter; lists are seen, and 1.0 can hold them.
    let data = || part.get("data").is_some_and(|data| !data.is_null());
    match part.get("kind").and_then(Value::as_str) {
        Some("text") => text("text"),
        Some("file") => file(),
        Some("data") => data(),
        _ => false,
    }
}

fn downgrade_part(part: &mut JsonMap) {
    drop_nulls(part);
    let has = |name: &str| part.contains_key(name);
    let kind = match (has("text"), has("raw") || has("url"), has("data")) {
        (true, _, _) => "text",
        (_, true, _) => "file",
        (_, _, true) => "data",
        // Content of a later version: every reader accepts an empty text, and the rest is kept next to it.
        _ => {
            part.insert("text".into(), "".into());
            "text"
        }
    };
    match kind {
        "file" => downgrade_file(part),
        "data" => wrap_data(part),
        _ => {}
    }
    part.insert("kind".into(), kind.into());
}

fn downgrade_file(part: &mut JsonMap) {
    let mut file = part.remove("file").map(object).unwrap_or_default();
    let content = if part.contains_key("raw") { ("raw", "bytes") } else { ("url", "uri") };
    for (name, old) in [content, ("mediaType", "mimeType"), ("filename", "name")] {
        if let Some(value) = part.remove(name) {
            file.insert(old.into(), value);
        }
    }
    part.insert("file".into(), file.into());
}

fn wrap_data(part: &mut JsonMap) {
    let Some(data) = part.get_mut("data").filter(|data| !data.is_object()) else { return };
    *data = json!({ "value": data.take() });
    let mut metadata = part.remove("metadata").map(object).unwrap_or_default();
    metadata.insert(WRAPPED.into(), true.into());
    part.insert("metadata".into(), metadata.into());
}

fn upgrade_part(part: &mut JsonMap) {
    drop_nulls(part);
    match part.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
        Some("file") => upgrade_file(part),
        Some("data") => unwrap_data(part),
        Some("text") => {}
        None if part.contains_key("file") => upgrade_file(part),
        None => unwrap_data(part),
        // Something that 0.3 does not know; a 1.0 reader finds no content in it.
        Some(_) => return,
    }
    part.remove("kind");
}

fn upgrade_file(part: &mut JsonMap) {
    let Some(Value::Object(mut file)) = part.remove("file") else { return };
    drop_nulls(&mut file);
    let content = if file.contains_key("bytes") { ("bytes", "raw") } else { ("uri", "url") };
    for (old, name) in [content, ("mimeType", "mediaType"), ("name", "filename")] {
        if let Some(value) = file.remove(old) {
            part.insert(name.into(), value);
        }
    }
    if !file.is_empty() {
        part.insert("file".into(), file.into());
    }
}

fn unwrap_data(part: &mut JsonMap) {
    let Some(Value::Object(metadata)) = part.get_mut("metadata") else { return };
    if metadata.get(WRAPPED) != Some(&Value::Bool(true)) {
        return;
    }
    metadata.remove(WRAPPED);
    if metadata.is_empty() {
        part.remove("metadata");
    }
    if let Some(Value::Object(mut data)) = part.remove("data") {
        let content = data.remove("value").unwrap_or_else(|| data.into());
        part.insert("data".into(), content);
    }
}
