//! An entry in a file of TOML, as a section of its own.
//!
//! Promises: only that section changes, every other byte stays; the result is read again before it is given,
//! and must say what the file said and the entry, or nothing is given. Files that write the entry in another
//! way (inline, by dotted keys) are refused.

use serde_json::Value;

/// Largest file that is read; settings written by people have a few thousand lines.
const MAX_FILE: usize = 4 << 20;

/// The text with the section `[table.name]` being `entry`.
///
/// # Errors
/// A sentence says what is wrong with the text.
pub(super) fn merge(text: &str, table: &str, name: &str, entry: &Value) -> Result<String, String> {
    if text.len() > MAX_FILE {
        return Err("the file is too large".into());
    }
    let before = read(text)?;
    let wanted = toml::Table::try_from(entry).map_err(|error| error.to_string())?;
    let known = before.get(table).and_then(|servers| servers.get(name));
    if known.and_then(toml::Value::as_table) == Some(&wanted) {
        return Ok(text.to_owned());
    }
    let header = format!("[{table}.{name}]");
    let body = toml::to_string(&wanted).map_err(|error| error.to_string())?;
    // Tables inside of the entry name themselves by their whole path.
    let body = body.replace("\n[", &format!("\n[{table}.{name}."));
    let section = format!("{header}\n{body}");
    let result = match place(text, &format!("{table}.{name}")) {
        Some((start, end)) => format!("{}{section}{}", &text[..start], gap(&text[end..])),
        None if text.trim().is_empty() => section,
        None => format!("{}\n\n{section}", text.trim_end()),
    };
    let mut expected = before;
    let servers = expected.entry(table).or_insert_with(|| toml::Table::new().into());
    let servers = servers.as_table_mut().ok_or_else(|| format!("`{table}` is not a table"))?;
    servers.insert(name.into(), wanted.into());
    match read(&result) {
        Ok(found) if found == expected => Ok(result),
        _ => Err(format!("`{table}` is not written as sections, so the entry cannot be put in safely")),
    }
}

fn read(text: &str) -> Result<toml::Table, String> {
    text.parse().map_err(|error: toml::de::Error| format!("the file is not valid TOML ({})", error.message()))
}

/// An empty line before what follows.
fn gap(rest: &str) -> String {
    if rest.is_empty() { String::new() } else { format!("\n{rest}") }
}

/// From the section of this name to the next that is not a part of it.
fn place(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            let path = trimmed.trim_start_matches('[').split(']').next().unwrap_or_default();
            let path: String =
                path.chars().filter(|letter| !letter.is_whitespace() && *letter != '"').collect();
            let is_own = path == name || path.starts_with(&format!("{name}."));
            match start {
                None if is_own => start = Some(at),
                Some(start) if !is_own => return Some((start, at)),
                _ => {}
            }
        }
        at += line.len();
    }
    start.map(|start| (start, at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Value {
        json!({ "command": "x", "args": ["mcp"] })
    }

    fn merged(text: &str) -> Result<String, String> {
        merge(text, "mcp_servers", "a", &entry())
    }

    const SECTION: &str = "[mcp_servers.a]\nargs = [\"mcp\"]\ncommand = \"x\"\n";

    #[test]
    fn the_section_is_added_after_what_is_there() {
        assert_eq!(merged("").unwrap(), SECTION);
        let text = "# mine\nmodel = \"o\"\n\n[mcp_servers.b]\ncommand = \"y\" # the other\n";
        let after = merged(text).unwrap();
        assert_eq!(after, format!("{text}\n{SECTION}"));
        assert_eq!(merged(&after).unwrap(), after, "once is enough");
    }

    #[test]
    fn an_old_section_is_replaced_and_nothing_beside_it() {
        let text = "[mcp_servers.a]\ncommand = \"old\"\n[mcp_servers.a.env]\nK = \"v\"\n[mcp_servers.ab]\ncommand = \"y\"\n";
        let after = merged(text).unwrap();
        assert_eq!(after, format!("{SECTION}\n[mcp_servers.ab]\ncommand = \"y\"\n"));
        let quoted = merged("[mcp_servers.\"a\"]\ncommand = \"old\"\n").unwrap();
        assert_eq!(quoted, SECTION);
    }

    #[test]
    fn tables_inside_of_an_entry_keep_their_place() {
        let entry = json!({ "url": "http://x", "http_headers": { "Authorization": "Bearer k" } });
        let after = merge("a = 1\n", "mcp_servers", "s", &entry).unwrap();
        assert!(after.contains("[mcp_servers.s.http_headers]\nAuthorization"), "{after}");
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        assert!(merged("a = ").unwrap_err().contains("not valid TOML"));
        assert!(merged("mcp_servers = { b = { command = \"y\" } }\n").unwrap_err().contains("sections"));
        assert!(merged("mcp_servers = 7\n").unwrap_err().contains("not a table"));
        let text = "[mcp_servers]\na = { command = \"old\" }\n";
        assert!(merged(text).unwrap_err().contains("sections"));
        assert!(merged("x = \"\"\"\n[mcp_servers.a]\n\"\"\"\n").is_err());
    }
}
