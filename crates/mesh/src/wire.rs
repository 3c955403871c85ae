//! Messages between two catalogues, and their wire form.
//!
//! Promises: a message is at most [`MAX_MESSAGE`] bytes and holds at most [`MAX_BATCH`] records or
//! [`MAX_IDS`] ids; one that claims more is refused before anything is allocated for it. There is one
//! encoding: a version byte, a kind byte, and the content to the last byte. Records are not read here: what
//! is known already costs a hash, and one that cannot be read spoils itself only.

mod cell_frame;
#[cfg(test)]
mod tests;

pub use cell_frame::CellFrame;

use std::sync::Arc;

use agentsite_protocol::SIGNATURE_BYTES;

use crate::limits::{MAX_AGENT_PAYLOAD, MAX_BATCH, MAX_CONFIDED, MAX_IDS, MAX_MESSAGE};
use crate::record::{Candidate, Record, RecordId};
use crate::varint::{self, Reader, Truncated};

/// The version of the wire form.
const VERSION: u8 = 1;

/// Most bytes of a message before its first record: version, kind, the number of a question (10), two flags,
/// a cosine (4) and a count (1) in the answer of a cell.
const LONGEST_HEAD: usize = 19;

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// Longer than messages may be.
    #[error("the message is longer than {MAX_MESSAGE} bytes")]
    TooLong,
    /// Another version.
    #[error("the message is of version {0}; this site uses version {VERSION}")]
    Version(u8),
    /// A kind that this version does not have.
    #[error("the message is of the unknown kind {0}")]
    Kind(u8),
    /// Cut off, or followed by more.
    #[error("the message ends too early or too late")]
    Malformed,
    /// Too many records or ids.
    #[error("the message holds more than {MAX_BATCH} records or {MAX_IDS} ids")]
    TooMany,
}

impl From<Truncated> for BadMessage {
    fn from(_: Truncated) -> Self {
        Self::Malformed
    }
}

/// Records on their way.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The records.
    pub records: Vec<Candidate>,
    /// How many more were too long to be records.
    pub oversized: usize,
}

impl Batch {
    /// How many records came with it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.records.len() + self.oversized
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A batch of these records.
    #[must_use]
    pub fn of(records: &[Arc<Record>]) -> Self {
        Self { records: records.iter().cloned().map(Candidate::Proven).collect(), oversized: 0 }
    }
}

/// What one catalogue says to another.
#[derive(Debug, Clone)]
pub enum Message {
    /// New records, unasked.
    Push(Batch),
    /// A frame of the initiator of a session.
    Query(Vec<u8>),
    /// The responder's answer to a frame.
    Answer(Vec<u8>),
    /// Records that the initiator has and the responder lacks; answered by `Want`, also when none is wanted.
    Have(Vec<RecordId>),
    /// Records that are asked for; answered by `Give`.
    Want(Vec<RecordId>),
    /// Records that were asked for, or a part of them.
    Give {
        /// The records.
        batch: Batch,
        /// How many records answer the question, in all messages together.
        total: usize,
    },
    /// Agents that the sender shows to this peer alone. They are not passed on and not compared. The agents
    /// of all messages up to the one after which none follows are what is shown from then on.
    Confide {
        /// The records, each for the receiver.
        batch: Batch,
        /// How many messages follow.
        left: usize,
    },
    /// What sites say to each other about cells.
    Cell(CellFrame),
}

impl Message {
    const PUSH: u8 = 0;
    const QUERY: u8 = 1;
    const ANSWER: u8 = 2;
    const HAVE: u8 = 3;
    const WANT: u8 = 4;
    const GIVE: u8 = 5;
    const CONFIDE: u8 = 6;

    /// Writes the wire form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.kind()];
        match self {
            Self::Push(batch) => write_batch(batch, &mut out),
            Self::Give { batch, total: count } | Self::Confide { batch, left: count } => {
                varint::write(*count as u64, &mut out);
                write_batch(batch, &mut out);
            }
            Self::Query(frame) | Self::Answer(frame) => out.extend_from_slice(frame),
            Self::Have(ids) | Self::Want(ids) => write_ids(ids, &mut out),
            Self::Cell(frame) => frame.write(&mut out),
        }
        out
    }

    /// How many bytes [`Self::encode`] gives.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let counted = |count: usize| varint::length(count as u64);
        2 + match self {
            Self::Push(batch) => encoded_batch(batch),
            Self::Give { batch, total: count } | Self::Confide { batch, left: count } => {
                counted(*count) + encoded_batch(batch)
            }
            Self::Query(frame) | Self::Answer(frame) => frame.len(),
            Self::Have(ids) | Self::Want(ids) => counted(ids.len()) + 32 * ids.len(),
            Self::Cell(frame) => frame.encoded_len(),
        }
    }

    /// Reads the wire form.
    ///
    /// # Errors
    /// [`BadMessage`] says what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadMessage> {
        if bytes.len() > MAX_MESSAGE {
            return Err(BadMessage::TooLong);
        }
        let mut reader = Reader::new(bytes);
        match reader.byte()? {
            VERSION => {}
            other => return Err(BadMessage::Version(other)),
        }
        let message = match reader.byte()? {
            Self::PUSH => Self::Push(read_batch(&mut reader)?),
            Self::QUERY => Self::Query(reader.take(reader.len())?.into()),
            Self::ANSWER => Self::Answer(reader.take(reader.len())?.into()),
            Self::HAVE => Self::Have(read_ids(&mut reader)?),
            Self::WANT => Self::Want(read_ids(&mut reader)?),
            Self::GIVE => {
                let total = reader.count()?;
                if total > MAX_IDS {
                    return Err(BadMessage::TooMany);
                }
                Self::Give { total, batch: read_batch(&mut reader)? }
            }
            Self::CONFIDE => {
                let left = reader.count()?;
                if left >= MAX_CONFIDED {
                    return Err(BadMessage::TooMany);
                }
                Self::Confide { left, batch: read_batch(&mut reader)? }
            }
            kind @ CellFrame::FIRST..=CellFrame::LAST => Self::Cell(CellFrame::decode(kind, &mut reader)?),
            other => return Err(BadMessage::Kind(other)),
        };
        if reader.is_empty() { Ok(message) } else { Err(BadMessage::Malformed) }
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Push(_) => Self::PUSH,
            Self::Query(_) => Self::QUERY,
            Self::Answer(_) => Self::ANSWER,
            Self::Have(_) => Self::HAVE,
            Self::Want(_) => Self::WANT,
            Self::Give { .. } => Self::GIVE,
            Self::Confide { .. } => Self::CONFIDE,
            Self::Cell(frame) => frame.kind(),
        }
    }
}

/// Cuts records into batches that each fit one message.
#[must_use]
pub fn batches(records: Vec<Arc<Record>>) -> Vec<Batch> {
    let (mut batches, mut size) = (Vec::<Batch>::new(), MAX_MESSAGE);
    for record in records {
        let more = encoded_record(record.bytes());
        match batches.last_mut() {
            Some(batch) if batch.records.len() < MAX_BATCH && size + more <= MAX_MESSAGE => {
                batch.records.push(Candidate::Proven(record));
                size += more;
            }
            _ => {
                size = LONGEST_HEAD + more;
                batches.push(Batch { records: vec![Candidate::Proven(record)], oversized: 0 });
            }
        }
    }
    batches
}

fn encoded_record(bytes: &[u8]) -> usize {
    varint::length(bytes.len() as u64) + bytes.len()
}

fn encoded_batch(batch: &Batch) -> usize {
    let records = batch.records.iter().map(|record| encoded_record(record.bytes()));
    varint::length(batch.records.len() as u64) + records.sum::<usize>()
}

fn write_batch(batch: &Batch, out: &mut Vec<u8>) {
    varint::write(batch.records.len() as u64, out);
    for record in &batch.records {
        varint::write(record.bytes().len() as u64, out);
        out.extend_from_slice(record.bytes());
    }
}

fn read_batch(reader: &mut Reader<'_>) -> Result<Batch, BadMessage> {
    let count = reader.count()?;
    if count > MAX_BATCH {
        return Err(BadMessage::TooMany);
    }
    let mut batch = Batch::default();
    for _ in 0..count {
        let length = reader.count()?;
        let bytes = reader.take(length)?;
        if length > MAX_AGENT_PAYLOAD + SIGNATURE_BYTES {
            batch.oversized += 1;
        } else {
            batch.records.push(Candidate::Raw(bytes.into()));
        }
    }
    Ok(batch)
}

fn write_ids(ids: &[RecordId], out: &mut Vec<u8>) {
    varint::write(ids.len() as u64, out);
    ids.iter().for_each(|id| out.extend_from_slice(id.as_bytes()));
}

fn read_ids(reader: &mut Reader<'_>) -> Result<Vec<RecordId>, BadMessage> {
    let count = reader.count()?;
    if count > MAX_IDS {
        return Err(BadMessage::TooMany);
    }
    (0..count).map(|_| Ok(RecordId::from_bytes(reader.array()?))).collect()
}
