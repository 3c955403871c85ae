//! Lines of JSON-RPC: the members that a carrier has to know.
//!
//! Promises: reading is bounded, a line that is too long is skipped and reported; a message is one line when
//! it is written. It only knows methods by name.

use std::io::BufRead;

use serde_json::Value;

/// Longest line that is read: a file of 20 MiB in base64, and some words.
pub(super) const MAX_LINE: usize = 32 << 20;

/// The next message on stdin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A line.
    Line(Vec<u8>),
    /// A line that was too long; it is gone.
    TooLong,
    /// Nothing more will come.
    End,
}

/// Reads the next line within the bound.
pub(super) fn next_line(input: &mut impl BufRead, most: usize) -> std::io::Result<Read> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Read::TooLong,
                (false, true) => Read::End,
                (false, false) => Read::Line(line),
            });
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(piece.len());
        if line.len() + taken > most {
            too_long = true;
            line = Vec::new();
        } else if !too_long {
            line.extend_from_slice(&piece[..taken]);
        }
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(if too_long { Read::TooLong } else { Read::Line(line) });
        }
    }
}

/// A message, and what kind it is of.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// As received.
    pub(super) text: String,
    pub(super) value: Value,
    pub(super) kind: Kind,
}

/// The kinds of messages; ids are JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It expects an answer.
    Request(String),
    /// It expects none.
    Notification,
    /// It is an answer.
    Response,
}

/// Why a line is not a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoMessage {
    NotJson(String),
    /// With the id, as far as there is one.
    Other(String),
}

impl Message {
    pub(super) fn read(line: &[u8]) -> Result<Self, NoMessage> {
        let not_json = |error: &dyn std::fmt::Display| NoMessage::NotJson(error.to_string());
        let text = std::str::from_utf8(line).map_err(|error| not_json(&error))?.trim().to_owned();
        let value: Value = serde_json::from_str(&text).map_err(|error| not_json(&error))?;
        let id = value.get("id").filter(|id| id.is_string() || id.is_number()).map(ToString::to_string);
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        let kind = match (value.get("method").is_some_and(Value::is_string), id) {
            (true, Some(id)) => Kind::Request(id),
            (true, None) if value.get("id").is_none() => Kind::Notification,
            (false, Some(_)) if is_answer => Kind::Response,
            (_, id) => return Err(NoMessage::Other(id.unwrap_or_else(|| "null".into()))),
        };
        Ok(Self { text, value, kind })
    }

    pub(super) fn method(&self) -> &str {
        self.value["method"].as_str().unwrap_or_default()
    }

    /// Whether this answers the request of this id.
    pub(super) fn answers(&self, id: &str) -> bool {
        let own = self.value["id"].to_string();
        self.kind == Kind::Response && own == id
    }
}

/// A message of the site as one line, with the id of the request it answers when it says none; `None` when it
/// is not JSON.
pub(super) fn one_line(text: &str, id: Option<&str>) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    if !value.is_object() {
        return None;
    }
    let is_answer = value.get("error").is_some() || value.get("result").is_some();
    if let Some(id) = id.filter(|_| is_answer && value.get("id").is_none_or(Value::is_null)) {
        value["id"] = serde_json::from_str(id).ok()?;
        return Some(value.to_string());
    }
    // In JSON a line feed occurs only between values, where it is insignificant.
    Some(text.replace(['\n', '\r'], ""))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_within_their_bound() {
        let text = format!("one\n{}\n\ntwo\nlast", "x".repeat(50));
        let mut input = BufReader::with_capacity(7, text.as_bytes());
        let mut seen = Vec::new();
        loop {
            match next_line(&mut input, 20).unwrap() {
                Read::End => break,
                read => seen.push(read),
            }
        }
        let line = |text: &str| Read::Line(text.into());
        assert_eq!(seen, [line("one"), Read::TooLong, line(""), line("two"), line("last")]);
    }

    #[test]
    fn messages_are_told_apart() {
        let kind = |text: &str| Message::read(text.as_bytes()).map(|message| message.kind);
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Ok(Kind::Request("1".into())));
        assert_eq!(kind(r#"{"id":"a","method":"ping"}"#), Ok(Kind::Request("\"a\"".into())));
        assert_eq!(kind(r#" {"method":"notifications/initialized"} "#), Ok(Kind::Notification));
        assert_eq!(kind(r#"{"id":7,"result":{}}"#), Ok(Kind::Response));
        assert_eq!(kind(r#"{"id":7}"#), Err(NoMessage::Other("7".into())));
        assert_eq!(kind("[]"), Err(NoMessage::Other("null".into())));
        assert_eq!(kind(r#"{"id":null,"method":"x"}"#), Err(NoMessage::Other("null".into())));
        assert!(matches!(kind("{"), Err(NoMessage::NotJson(_))));
        assert!(matches!(Message::read(&[0xff]), Err(NoMessage::NotJson(_))));
    }

    #[test]
    fn an_answer_of_the_site_becomes_one_line() {
        assert_eq!(one_line(r#"{"id":1,"result":{}}"#, Some("1")).unwrap(), r#"{"id":1,"result":{}}"#);
        assert_eq!(
            one_line("{\n \"id\": 1,\n \"x\": \"a\\n\\\"b\"}", None).unwrap(),
            r#"{ "id": 1, "x": "a\n\"b"}"#
        );
        let filled: Value =
            serde_json::from_str(&one_line(r#"{"error":{"code":1}}"#, Some("\"q\"")).unwrap()).unwrap();
        assert_eq!(filled["id"], "q");
        assert_eq!(one_line("no", None), None);
        assert_eq!(one_line("[1]", None), None);
    }
}
