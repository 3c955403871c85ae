//! The wire form of what sites say to each other about cells: records in place of entries.
//!
//! Promises: there is one encoding, within the limits of every message ([`crate::limits`]); a message that
//! claims more is refused before anything is allocated for it. What has more records than a message holds is
//! cut into several, and an answer is cut to what fits, with a mark that it was. Records are not read here:
//! [`CellFrame::read`] asks its caller to prove each of them.

use std::sync::Arc;

use super::{BadMessage, Batch, batches, read_batch, read_ids, write_batch, write_ids};
use crate::cell_id::CellId;
use crate::cells::{CellAnswer, CellEntry, CellMessage, EntryKey};
use crate::limits::{MAX_BATCH, MAX_IDS};
use crate::record::{Candidate, Record, RecordId};
use crate::varint::{self, Reader};
use crate::vectors::{MAX_DIMENSIONS, VectorCodes};

/// Most agents that a question asks for; an answer holds no more.
const MAX_LIMIT: usize = MAX_BATCH;
/// How finely a cosine is written: in steps of a millionth, from -1 on.
const COSINE_STEPS: f64 = 1_000_000.0;

/// What sites say to each other about cells, as it is written.
#[derive(Debug, Clone)]
pub enum CellFrame {
    /// Entries for a cell.
    Put {
        /// The cell.
        cell: CellId,
        /// Whether the sender wants to know that they are kept.
        confirm: bool,
        /// The records.
        batch: Batch,
    },
    /// These entries are kept.
    Stored {
        /// The cell.
        cell: CellId,
        /// The entries, with the number of the version.
        entries: Vec<(EntryKey, u64)>,
    },
    /// A frame that compares two copies of a cell.
    Compare {
        /// The cell.
        cell: CellId,
        /// The frame.
        frame: Vec<u8>,
    },
    /// The answer to such a frame.
    Differ {
        /// The cell.
        cell: CellId,
        /// The frame.
        frame: Vec<u8>,
    },
    /// Entries that are wanted.
    Fetch {
        /// The cell.
        cell: CellId,
        /// Their ids.
        ids: Vec<RecordId>,
    },
    /// Which agents of this cell are nearest?
    Ask {
        /// Names the question in its answer.
        request: u64,
        /// The cell.
        cell: CellId,
        /// How many are wanted.
        limit: usize,
        /// What is searched for.
        vector: VectorCodes,
    },
    /// These are; none when the cell is not kept.
    Answer {
        /// The question.
        request: u64,
        /// The least cosine of a vector of the cell with its centre, whether records were left out because
        /// they did not fit, and the records.
        answer: Option<(f64, bool, Batch)>,
    },
}

impl CellFrame {
    /// The kind of the first one; the others follow in the order of the variants.
    pub(crate) const FIRST: u8 = 7;
    /// The kind of the last one.
    pub(crate) const LAST: u8 = 13;

    /// Writes a message; `record` gives the record of an entry. Entries without a record are left out.
    pub fn of(message: CellMessage, record: impl Fn(&CellEntry) -> Option<Arc<Record>>) -> Vec<Self> {
        let records = |entries: &[Arc<CellEntry>]| -> Vec<Arc<Record>> {
            entries.iter().filter_map(|entry| record(entry)).collect()
        };
        match message {
            CellMessage::Put { cell, entries, confirm } => {
                let batches = batches(records(&entries)).into_iter();
                batches.map(|batch| Self::Put { cell, confirm, batch }).collect()
            }
            CellMessage::Stored { cell, entries } => {
                let pieces = entries.chunks(MAX_IDS);
                pieces.map(|piece| Self::Stored { cell, entries: piece.to_vec() }).collect()
            }
            CellMessage::Compare { cell, frame } => vec![Self::Compare { cell, frame }],
            CellMessage::Differ { cell, frame } => vec![Self::Differ { cell, frame }],
            CellMessage::Fetch { cell, ids } => {
                ids.chunks(MAX_IDS).map(|ids| Self::Fetch { cell, ids: ids.to_vec() }).collect()
            }
            CellMessage::Ask { request, cell, vector, limit } => {
                vec![Self::Ask { request, cell, limit: limit.min(MAX_LIMIT), vector }]
            }
            CellMessage::Answer { request, answer } => {
                let answer = answer.map(|answer| {
                    let mut pieces = batches(records(&answer.hits)).into_iter();
                    let first = pieces.next().unwrap_or_default();
                    (answer.reach, answer.is_cut || pieces.next().is_some(), first)
                });
                vec![Self::Answer { request, answer }]
            }
        }
    }

    /// Reads a message; `prove` gives the record that a site signed, and none for all else. Gives the
    /// records, too; none when one of them is not a record of an agent with vectors.
    pub fn read(
        self,
        mut prove: impl FnMut(&Candidate) -> Option<Arc<Record>>,
    ) -> Option<(CellMessage, Vec<Arc<Record>>)> {
        let mut records = Vec::new();
        let mut entries = |batch: &Batch| -> Option<Vec<Arc<CellEntry>>> {
            let is_whole = batch.oversized == 0;
            let read = batch.records.iter().map(|candidate| {
                let record = prove(candidate)?;
                let entry = CellEntry::of(&record)?;
                records.push(record);
                Some(Arc::new(entry))
            });
            if is_whole { read.collect() } else { None }
        };
        let message = match self {
            Self::Put { cell, confirm, batch } => {
                CellMessage::Put { cell, entries: entries(&batch)?, confirm }
            }
            Self::Stored { cell, entries } => CellMessage::Stored { cell, entries },
            Self::Compare { cell, frame } => CellMessage::Compare { cell, frame },
            Self::Differ { cell, frame } => CellMessage::Differ { cell, frame },
            Self::Fetch { cell, ids } => CellMessage::Fetch { cell, ids },
            Self::Ask { request, cell, limit, vector } => CellMessage::Ask { request, cell, vector, limit },
            Self::Answer { request, answer: None } => CellMessage::Answer { request, answer: None },
            Self::Answer { request, answer: Some((reach, is_cut, batch)) } => {
                let answer = Some(CellAnswer { hits: entries(&batch)?, reach, is_cut });
                CellMessage::Answer { request, answer }
            }
        };
        Some((message, records))
    }

    pub(crate) const fn kind(&self) -> u8 {
        Self::FIRST
            + match self {
                Self::Put { .. } => 0,
                Self::Stored { .. } => 1,
                Self::Compare { .. } => 2,
                Self::Differ { .. } => 3,
                Self::Fetch { .. } => 4,
                Self::Ask { .. } => 5,
                Self::Answer { .. } => 6,
            }
    }

    /// Writes the content.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Put { cell, confirm, batch } => {
                write_cell(*cell, out);
                out.push(u8::from(*confirm));
                write_batch(batch, out);
            }
            Self::Stored { cell, entries } => {
                write_cell(*cell, out);
                varint::write(entries.len() as u64, out);
                for (key, seq) in entries {
                    out.extend_from_slice(&key.to_bytes());
                    varint::write(*seq, out);
                }
            }
            Self::Compare { cell, frame } | Self::Differ { cell, frame } => {
                write_cell(*cell, out);
                out.extend_from_slice(frame);
            }
            Self::Fetch { cell, ids } => {
                write_cell(*cell, out);
                write_ids(ids, out);
            }
            Self::Ask { request, cell, limit, vector } => {
                varint::write(*request, out);
                write_cell(*cell, out);
                varint::write(*limit as u64, out);
                varint::write(vector.codes().len() as u64, out);
                out.extend(vector.codes().iter().map(|code| code.cast_unsigned()));
            }
            Self::Answer { request, answer } => {
                varint::write(*request, out);
                out.push(u8::from(answer.is_some()));
                if let Some((reach, is_cut, batch)) = answer {
                    varint::write(cosine_steps(*reach), out);
                    out.push(u8::from(*is_cut));
                    write_batch(batch, out);
                }
            }
        }
    }

    /// Reads the content of this kind.
    pub(crate) fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Self, BadMessage> {
        let flag = |reader: &mut Reader<'_>| match reader.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadMessage::Malformed),
        };
        Ok(match kind - Self::FIRST {
            0 => Self::Put { cell: read_cell(reader)?, confirm: flag(reader)?, batch: read_batch(reader)? },
            1 => Self::Stored { cell: read_cell(reader)?, entries: read_stored(reader)? },
            2 => Self::Compare { cell: read_cell(reader)?, frame: reader.take(reader.len())?.into() },
            3 => Self::Differ { cell: read_cell(reader)?, frame: reader.take(reader.len())?.into() },
            4 => Self::Fetch { cell: read_cell(reader)?, ids: read_ids(reader)? },
            5 => read_question(reader)?,
            6 => {
                let request = reader.number()?;
                let answer = if flag(reader)? {
                    let reach = read_cosine(reader)?;
                    Some((reach, flag(reader)?, read_batch(reader)?))
                } else {
                    None
                };
                Self::Answer { request, answer }
            }
            _ => return Err(BadMessage::Kind(kind)),
        })
    }

    /// How many bytes [`Self::write`] gives.
    pub(crate) fn encoded_len(&self) -> usize {
        let mut out = Vec::new();
        self.write(&mut out);
        out.len()
    }
}

fn write_cell(cell: CellId, out: &mut Vec<u8>) {
    out.push(cell.depth());
    varint::write(u64::from(cell.path()), out);
}

fn read_cell(reader: &mut Reader<'_>) -> Result<CellId, BadMessage> {
    let (depth, path) = (reader.byte()?, reader.number()?);
    let path = u32::try_from(path).map_err(|_| BadMessage::Malformed)?;
    CellId::of(depth, path).ok_or(BadMessage::Malformed)
}

fn read_stored(reader: &mut Reader<'_>) -> Result<Vec<(EntryKey, u64)>, BadMessage> {
    let count = reader.count()?;
    if count > MAX_IDS {
        return Err(BadMessage::TooMany);
    }
    (0..count).map(|_| Ok((EntryKey::from_bytes(reader.array()?), reader.number()?))).collect()
}

fn read_question(reader: &mut Reader<'_>) -> Result<CellFrame, BadMessage> {
    let (request, cell, limit) = (reader.number()?, read_cell(reader)?, reader.count()?);
    let length = reader.count()?;
    if limit > MAX_LIMIT || length > MAX_DIMENSIONS {
        return Err(BadMessage::TooMany);
    }
    let codes = reader.take(length)?.iter().map(|byte| byte.cast_signed()).collect();
    let vector = VectorCodes::from_codes(codes).map_err(|_| BadMessage::Malformed)?;
    Ok(CellFrame::Ask { request, cell, limit, vector })
}

/// A cosine as whole steps from -1 on.
fn cosine_steps(cosine: f64) -> u64 {
    ((cosine.clamp(-1.0, 1.0) + 1.0) * COSINE_STEPS).floor() as u64
}

fn read_cosine(reader: &mut Reader<'_>) -> Result<f64, BadMessage> {
    let steps = u32::try_from(reader.number()?).map_err(|_| BadMessage::Malformed)?;
    let cosine = f64::from(steps) / COSINE_STEPS - 1.0;
    if cosine <= 1.0 { Ok(cosine) } else { Err(BadMessage::Malformed) }
}
