//! Frames: how gRPC puts messages into a body.
//!
//! Promises: pure; one message, whole and not compressed, or a sentence about what is wrong. It does not know
//! messages.

use bytes::Bytes;
use prost::Message;

use crate::failure::{Failure, Fault};

/// A flag and the length stand before each message.
const HEAD: usize = 5;

/// The only message of a request.
pub(super) fn only(body: &Bytes) -> Result<&[u8], Failure> {
    let bad = |sentence: &'static str| Failure::new(Fault::BadRequest, sentence);
    let Some((&[flag, a, b, c, d], message)) = body.split_first_chunk::<HEAD>() else {
        return Err(bad("the request has no message; send one gRPC message"));
    };
    if flag == 1 {
        let sentence = "compressed messages are not taken; send grpc-encoding: identity";
        return Err(Failure::new(Fault::NoSuchMethod, sentence));
    }
    if flag != 0 {
        return Err(bad("the request is not a gRPC message: its first byte must be 0"));
    }
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    match message.len().cmp(&length) {
        std::cmp::Ordering::Equal => Ok(message),
        std::cmp::Ordering::Less => Err(bad("the request broke off: it is shorter than its message")),
        std::cmp::Ordering::Greater => Err(bad("the request has more than one message; send one")),
    }
}

/// Appends a message.
pub(super) fn append(out: &mut Vec<u8>, message: &impl Message) {
    let length = message.encoded_len();
    out.reserve(HEAD + length);
    out.push(0);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    message.encode_raw(out);
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::proto::GetTaskRequest;

    use super::*;

    #[test]
    fn a_message_comes_out_as_it_went_in() {
        let message = GetTaskRequest { id: "t".into(), ..GetTaskRequest::default() };
        let mut out = Vec::new();
        append(&mut out, &message);
        let body = Bytes::from(out);
        assert_eq!(GetTaskRequest::decode(only(&body).unwrap()).unwrap(), message);
        assert!(only(&Bytes::from_static(b"\0\0\0\0\0")).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (body, sentence) in [
            (&b""[..], "no message"),
            (b"\0\0\0\0", "no message"),
            (b"\x01\0\0\0\0", "compressed"),
            (b"\x07\0\0\0\0", "first byte"),
            (b"{\"id\":1}", "first byte"),
            (b"\0\0\0\0\x05abc", "broke off"),
            (b"\0\xff\xff\xff\xffabc", "broke off"),
            (b"\0\0\0\0\x01ab", "more than one"),
        ] {
            let failure = only(&Bytes::from_static(body)).unwrap_err();
            assert!(failure.sentence.contains(sentence), "{}", failure.sentence);
        }
    }
}
