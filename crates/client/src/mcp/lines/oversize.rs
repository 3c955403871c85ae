//! Oversize: which request an answer belongs to that is too large to be read.
//!
//! Promises: finds the id of a message while the rest of it is discarded, in a few bytes of memory, wherever
//! in the message the id is. It does not validate the message.

/// Longest id that is remembered; ours are numbers.
const MAX_TOKEN: usize = 64;

/// Looks through the bytes of one JSON object for its member `id`.
#[derive(Debug, Default)]
pub(super) struct Oversize {
    depth: usize,
    in_text: bool,
    escaped: bool,
    key: Vec<u8>,
    token: Vec<u8>,
    id: Option<Vec<u8>>,
    /// Bytes that went by.
    pub(super) passed: usize,
}

impl Oversize {
    /// Looks through the next bytes.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        self.passed = self.passed.saturating_add(bytes.len());
        for byte in bytes {
            if self.in_text {
                self.remember(*byte);
                match *byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match *byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.end_member();
                    self.depth = self.depth.saturating_sub(1);
                }
                b',' => self.end_member(),
                b':' if self.depth == 1 => self.key = std::mem::take(&mut self.token),
                byte => {
                    self.in_text = byte == b'"';
                    self.remember(byte);
                }
            }
        }
    }

    /// The id, when there was one.
    pub(super) fn id(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(self.id.as_ref()?).ok()
    }

    fn remember(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < MAX_TOKEN {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        let value = std::mem::take(&mut self.token);
        if self.key.trim_ascii() == b"\"id\"" && self.id.is_none() {
            self.id = Some(value);
        }
        self.key.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn id_in(message: &str, piece: usize) -> Option<Value> {
        let mut looking = Oversize::default();
        message.as_bytes().chunks(piece).for_each(|bytes| looking.pass(bytes));
        assert_eq!(looking.passed, message.len());
        looking.id()
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for piece in [1, 7, 1000] {
            assert_eq!(id_in(r#"{"jsonrpc":"2.0","id":12,"result":{"id":3}}"#, piece), Some(json!(12)));
            assert_eq!(
                id_in(r#"{ "result": {"id": 3, "t": "\"id\":4,}"}, "id" : "a-7" }"#, piece),
                Some(json!("a-7"))
            );
            assert_eq!(id_in(r#"{"result":[{"id":3}]}"#, piece), None);
            assert_eq!(id_in("]]}}", piece), None);
        }
    }
}
