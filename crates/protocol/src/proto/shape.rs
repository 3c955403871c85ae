//! A look at foreign protobuf before it is decoded: how deep it nests and how many fields it holds.
//!
//! Promises: one pass over the bytes, no allocation, bounded recursion; refuses what would cost memory many
//! times its size, such as half a million empty parts in one megabyte. It counts at least what the decoder
//! would make, and leaves it to the decoder to find what is wrong otherwise.

use prost::Message;
use prost::encoding::decode_varint;

use crate::TooNested;

/// Which fields of a message are messages themselves; all others are only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A message without messages in it.
    Flat,
    /// `SendMessageRequest`.
    SendMessage,
    /// `SendMessageConfiguration`.
    Configuration,
    /// `CancelTaskRequest`.
    CancelTask,
    /// `StreamResponse`, and `SendMessageResponse`, whose fields have the same numbers.
    StreamItem,
    /// `ListTasksResponse`.
    TaskList,
    /// `Task`.
    Task,
    /// `TaskStatus`.
    Status,
    /// `TaskStatusUpdateEvent`.
    StatusUpdate,
    /// `TaskArtifactUpdateEvent`.
    ArtifactUpdate,
    /// `Message`.
    Message,
    /// `Artifact`.
    Artifact,
    /// `Part`.
    Part,
    /// `AgentCard`.
    Card,
    /// `AgentCapabilities`.
    Capabilities,
    /// `AgentExtension`.
    Extension,
    /// `AgentCardSignature`.
    Signature,
    /// `google.protobuf.Struct`.
    Struct,
    /// An entry of a struct.
    Entry,
    /// `google.protobuf.Value`.
    Value,
    /// `google.protobuf.ListValue`.
    List,
}

impl Shape {
    /// The message in a field.
    const fn below(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::SendMessage, 2) | (Self::StreamItem, 2) | (Self::Task, 5) | (Self::Status, 2) => {
                Self::Message
            }
            (Self::SendMessage, 3) => Self::Configuration,
            (Self::Configuration, 2) | (Self::Card, 3 | 4 | 8 | 9 | 12) => Self::Flat,
            (Self::Card, 7) => Self::Capabilities,
            (Self::Card, 13) => Self::Signature,
            (Self::Capabilities, 3) => Self::Extension,
            (Self::SendMessage, 4)
            | (Self::CancelTask, 3)
            | (Self::Task | Self::Message | Self::ArtifactUpdate, 6)
            | (Self::StatusUpdate | Self::Extension, 4)
            | (Self::Signature, 3)
            | (Self::Artifact | Self::Part | Self::Value, 5) => Self::Struct,
            (Self::StreamItem | Self::TaskList, 1) => Self::Task,
            (Self::StreamItem, 3) => Self::StatusUpdate,
            (Self::StreamItem, 4) => Self::ArtifactUpdate,
            (Self::Task | Self::StatusUpdate, 3) => Self::Status,
            (Self::Task, 4) | (Self::ArtifactUpdate, 3) => Self::Artifact,
            (Self::Message, 5) | (Self::Artifact, 4) => Self::Part,
            (Self::Part, 4) | (Self::Entry, 2) | (Self::List, 1) => Self::Value,
            (Self::Struct, 1) => Self::Entry,
            (Self::Value, 6) => Self::List,
            _ => return None,
        })
    }
}

/// Bytes that are not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The bytes are not a message of this kind.
    #[error("the message cannot be decoded: {0}")]
    Malformed(String),
    /// They hold too much.
    #[error(transparent)]
    TooNested(#[from] TooNested),
}

/// Decodes foreign bytes that hold at most so many fields.
///
/// # Errors
/// [`Unreadable`] says what is wrong with them.
pub fn decode<M: Message + Default>(bytes: &[u8], shape: Shape, most: usize) -> Result<M, Unreadable> {
    let mut left = most;
    look(bytes, shape, READER_DEPTH, &mut left).map_err(|wrong| match wrong {
        Unreadable::TooNested(TooNested::Nodes(_)) => TooNested::Nodes(most).into(),
        other => other,
    })?;
    M::decode(bytes).map_err(|error| Unreadable::Malformed(error.to_string()))
}

/// Messages within each other before the decoder gives up by itself.
const READER_DEPTH: usize = 100;

fn look(mut bytes: &[u8], shape: Shape, depth: usize, left: &mut usize) -> Result<(), Unreadable> {
    let depth = depth.checked_sub(1).ok_or(TooNested::Depth(READER_DEPTH))?;
    while !bytes.is_empty() {
        *left = left.checked_sub(1).ok_or(TooNested::Nodes(0))?;
        let key = varint(&mut bytes)?;
        let length = match key & 7 {
            0 => {
                varint(&mut bytes)?;
                0
            }
            1 => 8,
            2 => varint(&mut bytes)?,
            // Groups are not used any more; their fields are counted as if they stood outside.
            3 | 4 => 0,
            5 => 4,
            _ => return Err(malformed()),
        };
        let length = usize::try_from(length).map_err(|_| malformed())?;
        let (content, rest) = bytes.split_at_checked(length).ok_or_else(malformed)?;
        bytes = rest;
        if key & 7 == 2
            && let Some(inner) = shape.below(key >> 3)
        {
            look(content, inner, depth, left)?;
        }
    }
    Ok(())
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Unreadable> {
    decode_varint(bytes).map_err(|_| malformed())
}

fn malformed() -> Unreadable {
    Unreadable::Malformed("a field breaks off".into())
}

#[cfg(test)]
mod tests {
    use super::super::{Content, Part, SendMessageRequest, StreamResponse};
    use super::*;
    use crate::Nesting;

    fn read(bytes: &[u8]) -> Result<SendMessageRequest, Unreadable> {
        decode(bytes, Shape::SendMessage, Nesting::REQUEST.nodes)
    }

    fn request(parts: Vec<Part>) -> SendMessageRequest {
        let message = super::super::Message { message_id: "m".into(), parts, ..Default::default() };
        SendMessageRequest { message: Some(message), ..Default::default() }
    }

    fn list(values: Vec<prost_types::Value>) -> prost_types::Value {
        let list = prost_types::ListValue { values };
        prost_types::Value { kind: Some(prost_types::value::Kind::ListValue(list)) }
    }

    #[test]
    fn what_is_within_the_bounds_is_read() {
        let data = list(vec![list(Vec::new()); 100]);
        let sent = request(vec![Part { content: Some(Content::Data(data)), ..Default::default() }; 10]);
        assert_eq!(read(&sent.encode_to_vec()).unwrap(), sent);
    }

    #[test]
    fn a_flood_of_parts_or_values_is_refused_before_it_is_decoded() {
        let many = request(vec![Part::default(); 10_001]);
        assert_eq!(read(&many.encode_to_vec()), Err(TooNested::Nodes(10_000).into()));
        let data = list(vec![prost_types::Value { kind: None }; 10_001]);
        let many = request(vec![Part { content: Some(Content::Data(data)), ..Default::default() }]);
        assert_eq!(read(&many.encode_to_vec()), Err(TooNested::Nodes(10_000).into()));
        // An unknown group in front does not hide them.
        let hidden = [&b"\xfb\x01\xfc\x01"[..], &many.encode_to_vec()].concat();
        assert_eq!(read(&hidden), Err(TooNested::Nodes(10_000).into()));
    }

    #[test]
    fn depth_is_bounded_and_what_breaks_off_is_malformed() {
        let deep = (0..200).fold(list(Vec::new()), |inner, _| list(vec![inner]));
        let deep = request(vec![Part { content: Some(Content::Data(deep)), ..Default::default() }]);
        assert_eq!(read(&deep.encode_to_vec()), Err(TooNested::Depth(100).into()));
        for bytes in [
            &b"\x12\x05ab"[..],
            b"\x12",
            b"\xff",
            b"\x0f",
            b"\x0d\0",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert!(matches!(read(bytes), Err(Unreadable::Malformed(_))), "{bytes:?}");
        }
    }

    #[test]
    fn answers_are_bounded_as_well() {
        let artifact = super::super::Artifact { parts: vec![Part::default(); 10_001], ..Default::default() };
        let item = super::super::StreamItem::ArtifactUpdate(super::super::TaskArtifactUpdateEvent {
            artifact: Some(artifact),
            ..Default::default()
        });
        let bytes = StreamResponse { payload: Some(item) }.encode_to_vec();
        let read = decode::<StreamResponse>(&bytes, Shape::StreamItem, Nesting::REQUEST.nodes);
        assert_eq!(read, Err(TooNested::Nodes(10_000).into()));
    }
}
