//! Frames: where the frames of a WebSocket end, as their bytes pass (RFC 6455, section 5.2).
//!
//! Promises: knows at any time how many bytes are left of the frame that is under way, and never counts a
//! byte of the next one to it. Pure; it keeps no byte of what is said and judges nothing: the WebSocket
//! library does.

/// Longest head of a frame.
const MAX_HEAD: usize = 14;

/// The frame of a socket that is under way.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// What has come of the head, while it is not whole.
    head: [u8; MAX_HEAD],
    known: usize,
    /// What is still to come of the content.
    left: u64,
}

impl Frames {
    /// Bytes of content that are still to come.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// Takes note of bytes that come; gives how many of them belong to the frame that is under way.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut passed = 0;
        while self.left == 0 {
            let Some(byte) = bytes.get(passed) else { return passed };
            self.head[self.known] = *byte;
            self.known += 1;
            passed += 1;
            if self.known == head_length(&self.head[..self.known]) {
                self.left = content_length(&self.head);
                self.known = 0;
                if self.left == 0 {
                    return passed;
                }
            }
        }
        let content = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - passed);
        self.left -= content as u64;
        passed + content
    }
}

/// How long a head is, as far as its beginning says; never less than that beginning needs.
fn head_length(head: &[u8]) -> usize {
    let Some(second) = head.get(1) else { return 2 };
    let extended = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    2 + extended + mask
}

/// How long the content is that follows a whole head.
fn content_length(head: &[u8; MAX_HEAD]) -> u64 {
    match head[1] & 0x7f {
        126 => u64::from(u16::from_be_bytes([head[2], head[3]])),
        127 => {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[2..10]);
            u64::from_be_bytes(bytes)
        }
        short => u64::from(short),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
    use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

    use super::*;

    fn frame(length: usize, masked: bool) -> Vec<u8> {
        let mut frame = Frame::message(vec![7; length], OpCode::Data(Data::Binary), true);
        if masked {
            let header: &mut FrameHeader = frame.header_mut();
            header.mask = Some([1, 2, 3, 4]);
        }
        let mut bytes = Vec::new();
        frame.format(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn frames_end_where_they_end_however_their_bytes_come(
            lengths in proptest::collection::vec((0usize..70_000, any::<bool>()), 1..6),
            pieces in proptest::collection::vec(1usize..9_000, 1..40),
        ) {
            let frames: Vec<Vec<u8>> = lengths.iter().map(|(length, masked)| frame(*length, *masked)).collect();
            let bytes = frames.concat();
            let ends: Vec<usize> = frames.iter().scan(0, |end, frame| { *end += frame.len(); Some(*end) }).collect();
            let (mut watch, mut at, mut seen, mut pieces) = (Frames::default(), 0, Vec::new(), pieces.iter().cycle());
            while at < bytes.len() {
                let piece = &bytes[at..bytes.len().min(at + pieces.next().unwrap())];
                at += watch.pass(piece);
                if watch.left == 0 && watch.known == 0 {
                    seen.push(at);
                }
            }
            prop_assert_eq!(seen, ends);
        }
    }

    #[test]
    fn a_frame_that_claims_any_length_is_followed() {
        let mut watch = Frames::default();
        let head = [0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(watch.pass(&head), 10);
        assert_eq!(watch.left(), u64::MAX);
        assert_eq!(watch.pass(&[0; 100]), 100);
    }
}
