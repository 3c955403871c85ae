//! Frames: the messages in a body of gRPC, each behind five bytes that say how long it is.
//!
//! Promises: pure; a length is judged before anything of that length is kept; a compressed message is
//! refused, because none was asked for. It knows nothing of what the messages say.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::ClientError;

/// A flag and a length of four bytes.
const HEAD: usize = 5;

/// A message with its head.
pub(super) fn framed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD + message.len());
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    out.put_slice(message);
    out.freeze()
}

/// Received bytes of a body that were not read yet.
#[derive(Debug)]
pub(super) struct Frames {
    waiting: BytesMut,
    most: usize,
}

impl Frames {
    /// Nothing was received yet; messages of more than `most` bytes are refused.
    pub(super) fn new(most: usize) -> Self {
        Self { waiting: BytesMut::new(), most }
    }

    /// Adds received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Whether nothing is left, not even a part of a message.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next whole message.
    pub(super) fn next(&mut self, from: &str) -> Result<Option<Bytes>, ClientError> {
        let Some(head) = self.waiting.first_chunk::<HEAD>() else { return Ok(None) };
        let [flag, a, b, c, d] = *head;
        if flag != 0 {
            let what = "a compressed message, although none was requested".to_owned();
            return Err(ClientError::BadAnswer { from: from.to_owned(), what });
        }
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > self.most {
            let most = self.most;
            let told = format!("{from} sent a message of more than {most} bytes; ask for less at once");
            return Err(ClientError::TooLarge(told));
        }
        if self.waiting.len() < HEAD + length {
            return Ok(None);
        }
        self.waiting.advance(HEAD);
        Ok(Some(self.waiting.split_to(length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_length_is_judged_before_the_message_comes() {
        let mut frames = Frames::new(10);
        frames.push(&[0, 0, 0, 0, 11]);
        assert!(matches!(frames.next("h"), Err(ClientError::TooLarge(_))));
        let mut frames = Frames::new(10);
        frames.push(&[1, 0, 0, 0, 1, 7]);
        assert!(matches!(frames.next("h"), Err(ClientError::BadAnswer { .. })));
    }

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in_however_they_were_cut(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
            cut in 1_usize..20,
        ) {
            let whole: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
            let (mut frames, mut found) = (Frames::new(40), Vec::new());
            for piece in whole.chunks(cut) {
                frames.push(piece);
                while let Some(message) = frames.next("h").unwrap() {
                    found.push(message.to_vec());
                }
            }
            prop_assert_eq!(found, messages);
            prop_assert!(frames.is_empty());
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = Frames::new(50);
            frames.push(&bytes);
            while let Ok(Some(message)) = frames.next("h") {
                prop_assert!(message.len() <= 50);
            }
        }
    }
}
