//! Export: a room as a transcript that people read, or as lines that programs read.
//!
//! Promises: written page by page, so that the memory it takes does not grow with the room; the lines of JSON
//! are the stored events. It writes what the caller may read, nothing else.

use agentsite_protocol::{Caller, RoomId};

use super::error::RoomError;
use super::handle::Rooms;
use super::transcript::transcript;

/// Events of one piece.
const PAGE: usize = 200;

/// A form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomExportFormat {
    /// A transcript in Markdown.
    Markdown,
    /// One event per line.
    JsonLines,
}

/// An export that is being written.
#[derive(Debug)]
pub struct RoomExport {
    rooms: Rooms,
    caller: Caller,
    id: RoomId,
    format: RoomExportFormat,
    after: u64,
    title: Option<String>,
}

impl Rooms {
    /// Writes a room as a file, piece by piece.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`].
    pub async fn export(
        &self,
        caller: &Caller,
        id: RoomId,
        format: RoomExportFormat,
    ) -> Result<RoomExport, RoomError> {
        let (_, _, live) = self.joined(caller, id).await?;
        let title = (format == RoomExportFormat::Markdown).then(|| format!("# {}\n\n", live.room.title));
        Ok(RoomExport { rooms: self.clone(), caller: caller.clone(), id, format, after: 0, title })
    }
}

impl RoomExport {
    /// The next piece; none after the last.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`] when the caller left the room meanwhile.
    pub async fn next(&mut self) -> Result<Option<String>, RoomError> {
        if let Some(title) = self.title.take() {
            return Ok(Some(title));
        }
        let page = self.rooms.read(&self.caller, self.id, self.after, PAGE).await?;
        self.after = page.next;
        if page.events.is_empty() {
            return Ok(None);
        }
        let mut out = match (page.gap, self.format) {
            (Some((from, to)), RoomExportFormat::Markdown) => {
                format!("*Events {from} to {to} are no longer kept.*\n\n")
            }
            _ => String::new(),
        };
        for event in &page.events {
            out += &match self.format {
                RoomExportFormat::Markdown => transcript(event),
                RoomExportFormat::JsonLines => serde_json::to_string(event).unwrap_or_default() + "\n",
            };
        }
        Ok(Some(out))
    }
}
