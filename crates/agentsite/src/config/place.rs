//! A position in a TOML file.
//!
//! Promises: lines and columns count from 1, columns count characters. A key that is not there has no place.
//! It reads text, never files.

use std::ops::Range;

/// Line and column of a place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column, from 1.
    pub(crate) column: usize,
}

impl Place {
    /// The place of a byte.
    pub(crate) fn at(text: &str, byte: usize) -> Self {
        let before = String::from_utf8_lossy(&text.as_bytes()[..byte.min(text.len())]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column }
    }

    /// The place of a dotted key, or of the closest table above it, or the beginning.
    pub(crate) fn of_key(text: &str, key: &str) -> Self {
        let span = span_of(text, key).unwrap_or(0..0);
        Self::at(text, span.start)
    }
}

fn span_of(text: &str, key: &str) -> Option<Range<usize>> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let (mut table, mut found) = (document.get_ref(), None);
    for step in key.split('.') {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == step) else { break };
        found = Some(name.span());
        let toml::de::DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_inside_tables() {
        let text = "listen = \"x\"\n\n[limits]\n  body = \"1MiB\"\n";
        assert_eq!(Place::of_key(text, "limits.body"), Place { line: 4, column: 3 });
        assert_eq!(Place::of_key(text, "limits.burst"), Place { line: 3, column: 2 });
        assert_eq!(Place::of_key(text, "data"), Place { line: 1, column: 1 });
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(Place::at("é = 1", 3), Place { line: 1, column: 3 });
        assert_eq!(Place::at("a\n", 99), Place { line: 2, column: 1 });
    }
}
