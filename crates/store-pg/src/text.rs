//! Texts as columns hold them: PostgreSQL has no zero byte in a text, and people can write one.
//!
//! Promises: any text comes back as it was; one without control characters is stored as it is. It changes no
//! other letter.

use std::borrow::Cow;

/// Marks what follows: `0` for a zero byte, `1` for itself. Without the marks a text is as long as it was,
/// which is how statements measure it: `octet_length(replace(text, chr(26), ''))`.
const MARK: char = '\u{1a}';

/// A text as its column holds it.
pub(crate) fn put(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 2);
    for letter in text.chars() {
        match letter {
            '\0' => out.extend([MARK, '0']),
            MARK => out.extend([MARK, '1']),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// The text of a column.
pub(crate) fn got(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            MARK => out.push(if letters.next() == Some('0') { '\0' } else { MARK }),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_has_a_zero_byte() {
        for text in ["", "plain 天气", "a\0b", "\u{1a}", "\u{1a}0\0\u{1a}", "\0\0"] {
            let stored = put(text).into_owned();
            assert!(!stored.contains('\0'));
            assert_eq!(got(stored), text);
        }
        assert!(matches!(put("plain"), Cow::Borrowed(_)));
    }
}
