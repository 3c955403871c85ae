//! Rendering: parts of an answer as text, which is all that a chat program shows.
//!
//! Promises: text stays as it is, structured content becomes JSON, a file becomes a Markdown link, with the
//! file in it when it is small. What is too large for a text is named with its size, and where it can be had
//! whole.

use agentsite_protocol::Part;

/// Most base64 of a file that is put into a text; a large picture of a page has about as much. Larger ones
/// make chat programs slow, and they send the text back with every turn.
const MAX_INLINE: usize = 256 << 10;

/// Longest name of a file that is shown.
const MAX_NAME: usize = 200;

/// A part as text.
pub(super) fn text(part: &Part) -> String {
    if let Some(text) = &part.text {
        return text.clone();
    }
    if let Some(data) = &part.data {
        return serde_json::to_string_pretty(data).unwrap_or_default();
    }
    let media = part.media_type.as_deref().unwrap_or("application/octet-stream");
    let mark = if media.starts_with("image/") { "!" } else { "" };
    let name = name(part);
    match (&part.url, &part.raw) {
        (Some(url), _) => format!("{mark}[{name}]({})", url.replace(['(', ')', ' ', '\n'], "")),
        (None, Some(raw)) if raw.len() <= MAX_INLINE => format!("{mark}[{name}](data:{media};base64,{raw})"),
        (None, Some(raw)) => {
            format!(
                "[{name}: {media}, {} bytes, too large for this answer; read the task by A2A]",
                raw.len() / 4 * 3
            )
        }
        (None, None) => String::new(),
    }
}

/// The name of a file, without anything that Markdown would take for its own.
fn name(part: &Part) -> String {
    let name = part.filename.as_deref().filter(|name| !name.is_empty()).unwrap_or("file");
    name.chars().filter(|letter| !letter.is_control() && !"[]()!".contains(*letter)).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(media: &str, name: &str, raw: &str) -> Part {
        Part {
            raw: Some(raw.into()),
            media_type: Some(media.into()),
            filename: Some(name.into()),
            ..Part::default()
        }
    }

    #[test]
    fn each_kind_of_content_has_its_text() {
        assert_eq!(text(&Part::text("a\nb")), "a\nb");
        assert_eq!(text(&Part::data(json!({ "a": 1 }))), "{\n  \"a\": 1\n}");
        assert_eq!(text(&file("image/png", "a.png", "AAE=")), "![a.png](data:image/png;base64,AAE=)");
        assert_eq!(text(&file("text/csv", "[x](y)", "AAE=")), "[xy](data:text/csv;base64,AAE=)");
        let remote = Part { url: Some("https://example.org/a b.pdf".into()), ..Part::default() };
        assert_eq!(text(&remote), "[file](https://example.org/ab.pdf)");
        let large = file("image/png", "a.png", &"A".repeat(MAX_INLINE + 4));
        assert!(text(&large).contains("196611 bytes, too large"), "{}", text(&large));
        assert_eq!(text(&Part::default()), "");
    }
}
