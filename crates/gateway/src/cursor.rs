//! The cursors of lists of tasks and of conversations as callers carry them from page to page.
//!
//! Promises: a text without meaning to the caller; anything that was not written here is refused. It grants
//! nothing: each page is asked for by a caller and shows only what that caller may see.

use agentsite_protocol::Timestamp;
use agentsite_site::{ConversationCursor, TaskCursor};

/// Writes a cursor.
pub(crate) fn write(cursor: TaskCursor) -> String {
    format!("{}.{}", cursor.updated_at.as_millis(), cursor.id)
}

/// Reads a cursor; `None` when the text is none.
pub(crate) fn read(text: &str) -> Option<TaskCursor> {
    let (millis, id) = text.split_once('.')?;
    Some(TaskCursor { updated_at: Timestamp::from_millis(millis.parse().ok()?), id: id.parse().ok()? })
}

/// Writes a cursor of conversations.
pub(crate) fn write_conversation(cursor: ConversationCursor) -> String {
    format!("{}.{}.{}", u8::from(cursor.pinned), cursor.updated_at.as_millis(), cursor.id)
}

/// Reads a cursor of conversations; `None` when the text is none.
pub(crate) fn read_conversation(text: &str) -> Option<ConversationCursor> {
    let mut parts = text.splitn(3, '.');
    let pinned = match parts.next()? {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let updated_at = Timestamp::from_millis(parts.next()?.parse().ok()?);
    Some(ConversationCursor { pinned, updated_at, id: parts.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::TaskId;

    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_went() {
        let cursor = TaskCursor {
            updated_at: Timestamp::from_millis(1_700_000_000_120),
            id: TaskId::from_bytes([7; 16]),
        };
        assert_eq!(read(&write(cursor)), Some(cursor));
        for bad in ["", ".", "x.y", "1.", "1.not-an-id"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
