//! An entry in a file of JSON as programs keep it, with comments and commas that JSON does not have.
//!
//! Promises: only the entry changes, every other byte stays; the result is read again before it is given, and
//! must say what the file said and the entry, or nothing is given. It does not format what it did not write.

use std::ops::Range;

use serde_json::Value;

/// Largest file that is read; settings written by people have a few thousand lines.
const MAX_FILE: usize = 4 << 20;

/// The text with `table.name` being `entry`.
///
/// # Errors
/// A sentence says what is wrong with the text.
pub(super) fn merge(text: &str, table: &str, name: &str, entry: &Value) -> Result<String, String> {
    if text.len() > MAX_FILE {
        return Err("the file is too large".into());
    }
    let fresh = if text.trim().is_empty() { "{}\n" } else { text };
    let before = read(fresh)?;
    if before[table][name] == *entry {
        return Ok(text.to_owned());
    }
    let plain = plain(fresh);
    let root = object_at(&plain, plain.find('{').ok_or("the file contains no object")?)?;
    let result = match root.member(table) {
        None => root.with_member(fresh, table, &serde_json::json!({ name: entry }), 1),
        Some(value) => {
            if !plain[value.clone()].starts_with('{') {
                return Err(format!("`{table}` is not an object"));
            }
            let servers = object_at(&plain, value.start)?;
            match servers.member(name) {
                None => servers.with_member(fresh, name, entry, 2),
                Some(old) => {
                    let mut changed = fresh.to_owned();
                    changed.replace_range(old.clone(), &pretty(entry, 2));
                    changed
                }
            }
        }
    };
    let mut expected = before;
    expected[table][name] = entry.clone();
    if read(&result)? == expected { Ok(result) } else { Err("the entry cannot be put in safely".into()) }
}

fn read(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(&plain(text))
        .map_err(|error| format!("the file is not valid JSON ({error})"))?;
    if value.is_object() { Ok(value) } else { Err("the file contains no object".into()) }
}

/// The same text with blanks in the place of comments, of commas before a closing bracket and of a byte order
/// mark, so that it is JSON and every byte keeps its position.
fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    let blank = |bytes: &mut [u8], range: Range<usize>| {
        bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0..3);
        at = 3;
    }
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(&bytes, at);
                comma = None;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end =
                    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end);
                blank(&mut bytes, at..end);
                at = end;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = bytes[at + 2..].windows(2).position(|pair| pair == b"*/");
                let end = end.map_or(bytes.len(), |end| at + 2 + end + 2);
                blank(&mut bytes, at..end);
                at = end;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole comments and single bytes of ASCII were replaced, so the text is still UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}

/// The byte after a string that begins here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The positions of the members of an object.
struct Object {
    /// The opening bracket.
    start: usize,
    members: Vec<(String, Range<usize>)>,
}

impl Object {
    fn member(&self, name: &str) -> Option<&Range<usize>> {
        // Of a duplicate name the last counts, as it does for programs that read the file.
        self.members.iter().rfind(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text with a further member at the end, `depth` levels deep.
    fn with_member(&self, text: &str, name: &str, value: &Value, depth: usize) -> String {
        let (inner, outer) = ("  ".repeat(depth), "  ".repeat(depth - 1));
        let member = format!("\n{inner}{}: {}", Value::from(name), pretty(value, depth));
        let mut changed = text.to_owned();
        match self.members.last() {
            Some((_, last)) => changed.insert_str(last.end, &format!(",{member}")),
            None => changed.insert_str(self.start + 1, &format!("{member}\n{outer}")),
        }
        changed
    }
}

fn pretty(value: &Value, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

/// Finds the members of the object that begins here; the text is JSON.
fn object_at(plain: &str, start: usize) -> Result<Object, String> {
    let bytes = plain.as_bytes();
    let mut members = Vec::new();
    let mut at = start + 1;
    let broken = || "the file is not valid JSON".to_owned();
    loop {
        at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',').count();
        match bytes.get(at) {
            Some(b'}') => return Ok(Object { start, members }),
            Some(b'"') => {}
            _ => return Err(broken()),
        }
        let end = string_end(bytes, at);
        let name: String = serde_json::from_str(&plain[at..end]).map_err(|_| broken())?;
        at =
            end + bytes[end..].iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b':').count();
        let end = value_end(bytes, at);
        members.push((name, at..end));
        at = end;
    }
}

/// The byte after a value that begins here.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            byte if byte.is_ascii_whitespace() && depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(text: &str) -> String {
        merge(text, "servers", "a", &json!({ "command": "x" })).unwrap()
    }

    #[test]
    fn an_empty_file_gets_the_entry() {
        let whole = "{\n  \"servers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}\n";
        assert_eq!(merged(""), whole);
        assert_eq!(merged("{}\n"), whole);
        assert_eq!(merged(whole), whole, "once is enough");
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let text = "// mine\n{\n  \"theme\": \"dark\", /* yes, { */\n  \"servers\": {\n    \"b\": { \"url\": \"http://x//y\" }, // the other\n  },\n  \"z\": [1, 2,],\n}\n";
        let after = merged(text);
        let added = ",\n    \"a\": {\n      \"command\": \"x\"\n    }";
        assert_eq!(after.replacen(added, "", 1), text);
        assert_eq!(merged(&after), after);
        assert_eq!(read(&after).unwrap()["servers"]["b"]["url"], "http://x//y");
    }

    #[test]
    fn an_old_entry_is_replaced_and_nothing_beside_it() {
        let text = "{\"servers\":{\"a\":{\"command\":\"old\",\"args\":[\"]\"]},\"b\":1},\"c\":\"\\\"}\"}";
        let after = merged(text);
        let value = read(&after).unwrap();
        assert_eq!(value["servers"]["a"], json!({ "command": "x" }));
        assert_eq!((&value["servers"]["b"], &value["c"]), (&json!(1), &json!("\"}")));
    }

    #[test]
    fn the_table_is_made_beside_what_is_there() {
        let after = merged("\u{feff}{\n  \"theme\": \"dark\"\n}");
        assert_eq!(read(&after).unwrap(), json!({ "theme": "dark", "servers": { "a": { "command": "x" } } }));
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        let refusal = |text: &str| merge(text, "servers", "a", &json!(1)).unwrap_err();
        assert!(refusal("{").contains("not valid JSON"));
        assert!(refusal("[]").contains("no object"));
        assert!(refusal("{\"servers\": 7}").contains("`servers` is not an object"));
        assert!(refusal("{a: 1}").contains("not valid JSON"));
        assert!(refusal("{\"x\": \"/*}").contains("not valid JSON"));
        assert!(refusal(&" ".repeat(MAX_FILE + 1)).contains("too large"));
        // A duplicate table: the last counts, so the change must be there.
        let twice = merged("{\"servers\":{},\"servers\":{\"b\":1}}");
        assert_eq!(read(&twice).unwrap()["servers"], json!({ "a": { "command": "x" }, "b": 1 }));
    }
}
