//! Server-sent events: how large the one under way is.
//!
//! Promises: an event without an end is noticed before it is put together. It does not read events: the
//! callers' parsers do.

/// Counts the bytes of the event that is under way.
#[derive(Debug, Default)]
pub(crate) struct EventSize {
    bytes: usize,
    line_is_empty: bool,
}

impl EventSize {
    /// The largest size that the event under way had while this piece came in.
    pub(crate) fn after(&mut self, piece: &[u8]) -> usize {
        let mut largest = 0;
        for byte in piece {
            self.bytes += 1;
            largest = largest.max(self.bytes);
            match byte {
                b'\n' if self.line_is_empty => self.bytes = 0,
                b'\n' => self.line_is_empty = true,
                b'\r' => {}
                _ => self.line_is_empty = false,
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_an_event_begins_anew_after_a_blank_line() {
        let mut size = EventSize::default();
        assert_eq!(size.after(b"data: 1\r\n\r\n"), 11);
        assert_eq!(size.after(b"data: 1"), 7);
        assert_eq!(size.after(b"23\n: ping"), 16);
        assert_eq!(size.after(b"\n\nd"), 18);
        assert_eq!(size.bytes, 1);
    }
}
