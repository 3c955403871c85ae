//! Records: the changes of an index as stored on disk.
//!
//! Promises: what was written is read back as the same value; bytes that no version of this file wrote give
//! an error and never a panic or memory beyond their own length. All numbers are little-endian. It does not
//! know files; framing and checksums are `log`'s.

use agentsite_protocol::{Asset, Money, Timestamp, Visibility};

use crate::Facts;

/// Why bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record cannot be read at byte {0}")]
pub(crate) struct Unreadable(pub(crate) usize);

/// The first byte of a record says what it is. The first two were written while prices were doubles; they are
/// still read, so that no vector is made again.
const PUT_WITH_DOUBLE: u8 = 1;
const REVISE_WITH_DOUBLE: u8 = 2;
const REMOVE: u8 = 3;
const PUT: u8 = 4;
const REVISE: u8 = 5;

/// How the price is stored in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PriceForm {
    /// A double of credits; NaN means none.
    Double,
    /// Minor units, then the asset as text; none has an empty asset.
    Money,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IndexChange<'a> {
    /// An entry is added, or replaces the one of its id.
    Put(Put<'a>),
    /// An entry has other facts.
    Revise {
        /// Which.
        id: &'a str,
        /// A digest of the facts as they were given.
        digest: u64,
        /// The facts.
        facts: Facts,
    },
    /// An entry is gone.
    Remove(&'a str),
}

/// An entry as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Put<'a> {
    pub(crate) id: &'a str,
    /// A digest of the texts as they were given.
    pub(crate) texts_digest: u64,
    /// A digest of the facts as they were given.
    pub(crate) facts_digest: u64,
    pub(crate) facts: Facts,
    /// Terms and their frequencies, in order of the term.
    pub(crate) terms: Terms<'a>,
    pub(crate) length: u32,
    /// The model of its vectors.
    pub(crate) model: &'a str,
    /// One factor for each vector.
    pub(crate) scales: Vec<f32>,
    /// The numbers of all vectors, one after the other.
    pub(crate) codes: &'a [u8],
    /// Name, text and passages as JSON, to explain a hit.
    pub(crate) texts: &'a [u8],
}

/// Pairs of term (8 bytes) and count (1 byte), as stored in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms<'a>(pub(crate) &'a [u8]);

impl Terms<'_> {
    const WIDTH: usize = 9;

    /// Writes pairs down.
    pub(crate) fn bytes(terms: &[(u64, u8)]) -> Vec<u8> {
        terms.iter().flat_map(|(term, count)| term.to_le_bytes().into_iter().chain([*count])).collect()
    }

    /// How many pairs there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len() / Self::WIDTH
    }

    /// The pairs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u8)> {
        self.0.chunks_exact(Self::WIDTH).map(|pair| {
            let term = pair[..8].try_into().map(u64::from_le_bytes).unwrap_or_default();
            (term, pair[8])
        })
    }
}

impl IndexChange<'_> {
    /// Appends the record to bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Put(put) => {
                out.push(PUT);
                put.write(out);
            }
            Self::Revise { id, digest, facts } => {
                out.push(REVISE);
                write_bytes(out, id.as_bytes());
                out.extend(digest.to_le_bytes());
                write_facts(out, facts);
            }
            Self::Remove(id) => {
                out.push(REMOVE);
                write_bytes(out, id.as_bytes());
            }
        }
    }
}

impl Put<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(out, self.id.as_bytes());
        out.extend(self.texts_digest.to_le_bytes());
        out.extend(self.facts_digest.to_le_bytes());
        write_facts(out, &self.facts);
        out.extend(self.length.to_le_bytes());
        write_bytes(out, self.terms.0);
        write_bytes(out, self.model.as_bytes());
        write_number(out, self.scales.len());
        self.scales.iter().for_each(|scale| out.extend(scale.to_le_bytes()));
        write_bytes(out, self.codes);
        write_bytes(out, self.texts);
    }
}

fn write_number(out: &mut Vec<u8>, number: usize) {
    out.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_number(out, bytes.len());
    out.extend(bytes);
}

fn write_facts(out: &mut Vec<u8>, facts: &Facts) {
    out.push(match facts.visibility {
        Visibility::Private => 0,
        Visibility::Peers => 1,
        Visibility::Public => 2,
    });
    out.push(u8::from(facts.live));
    out.extend(facts.trust.to_le_bytes());
    out.extend(facts.price.map_or(0, |price| price.minor).to_le_bytes());
    write_bytes(out, facts.price.map(|price| price.asset.to_string()).unwrap_or_default().as_bytes());
    out.extend(facts.since.map_or(i64::MIN, Timestamp::as_millis).to_le_bytes());
    write_bytes(out, facts.owner.as_bytes());
    out.push(u8::from(facts.region.is_some()));
    write_bytes(out, facts.region.as_deref().unwrap_or_default().as_bytes());
    for list in [&facts.tags, &facts.protocols, &facts.input_modes, &facts.output_modes] {
        write_number(out, list.len());
        list.iter().for_each(|value| write_bytes(out, value.as_bytes()));
    }
}

/// How many records can be read from the beginning of some bytes, each written and read again as the same;
/// for the fuzzer.
#[doc(hidden)]
#[must_use]
pub fn records_in(bytes: &[u8]) -> usize {
    let mut reader = IndexChangeReader::new(bytes);
    let mut count = 0;
    while let Ok(Some(record)) = reader.next() {
        let mut written = Vec::new();
        record.write(&mut written);
        assert_eq!(
            IndexChangeReader::new(&written).next().ok().flatten().as_ref(),
            Some(&record),
            "what was read can be written"
        );
        count += 1;
    }
    count
}

/// Reads records one after the other.
#[derive(Debug)]
pub(crate) struct IndexChangeReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> IndexChangeReader<'a> {
    /// Reads these bytes from their beginning.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next record begins.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<IndexChange<'a>>, Unreadable> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let kind = self.byte()?;
        Ok(Some(match kind {
            PUT_WITH_DOUBLE => IndexChange::Put(self.put(PriceForm::Double)?),
            PUT => IndexChange::Put(self.put(PriceForm::Money)?),
            REVISE_WITH_DOUBLE => self.revise(PriceForm::Double)?,
            REVISE => self.revise(PriceForm::Money)?,
            REMOVE => IndexChange::Remove(self.text()?),
            _ => return Err(Unreadable(self.at - 1)),
        }))
    }

    fn revise(&mut self, form: PriceForm) -> Result<IndexChange<'a>, Unreadable> {
        let (id, digest) = (self.text()?, u64::from_le_bytes(self.array()?));
        Ok(IndexChange::Revise { id, digest, facts: self.facts(form)? })
    }

    fn put(&mut self, form: PriceForm) -> Result<Put<'a>, Unreadable> {
        let (id, texts_digest) = (self.text()?, u64::from_le_bytes(self.array()?));
        let (facts_digest, facts) = (u64::from_le_bytes(self.array()?), self.facts(form)?);
        let (length, terms) = (u32::from_le_bytes(self.array()?), Terms(self.slice()?));
        let model = self.text()?;
        let count = self.count(4)?;
        let scales: Result<Vec<f32>, _> = (0..count).map(|_| Ok(f32::from_le_bytes(self.array()?))).collect();
        let scales = scales?;
        let (codes, texts) = (self.slice()?, self.slice()?);
        let whole =
            terms.0.len().is_multiple_of(Terms::WIDTH) && scales.iter().all(|scale| scale.is_finite());
        if !whole || (count == 0 && !codes.is_empty()) || (count > 0 && !codes.len().is_multiple_of(count)) {
            return Err(Unreadable(self.at));
        }
        Ok(Put { id, texts_digest, facts_digest, facts, terms, length, model, scales, codes, texts })
    }

    fn facts(&mut self, form: PriceForm) -> Result<Facts, Unreadable> {
        let visibility = match self.byte()? {
            0 => Visibility::Private,
            1 => Visibility::Peers,
            2 => Visibility::Public,
            _ => return Err(Unreadable(self.at - 1)),
        };
        let live = self.byte()? != 0;
        let trust = f64::from_le_bytes(self.array()?);
        let price = self.price(form)?;
        let since = i64::from_le_bytes(self.array()?);
        let owner = self.text()?.to_owned();
        let (placed, region) = (self.byte()? != 0, self.text()?.to_owned());
        let mut lists = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for list in &mut lists {
            for _ in 0..self.count(4)? {
                list.push(self.text()?.to_owned());
            }
        }
        let [tags, protocols, input_modes, output_modes] = lists;
        Ok(Facts {
            visibility,
            owner,
            tags,
            protocols,
            input_modes,
            output_modes,
            region: placed.then_some(region),
            price,
            live,
            trust: if trust.is_nan() { 0.5 } else { trust },
            since: (since != i64::MIN).then_some(Timestamp::from_millis(since)),
        })
    }

    fn price(&mut self, form: PriceForm) -> Result<Option<Money>, Unreadable> {
        if form == PriceForm::Double {
            let double = f64::from_le_bytes(self.array()?);
            // An invalid price counts as missing; the site gives the facts again when they differ.
            return Ok(format!("{double:.6}").parse().ok());
        }
        let (minor, at) = (u64::from_le_bytes(self.array()?), self.at);
        let asset = match self.text()? {
            "" => return Ok(None),
            asset => asset.parse::<Asset>().map_err(|_| Unreadable(at))?,
        };
        Ok(Some(Money::new(minor, asset)))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Unreadable> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let bytes = bytes.ok_or(Unreadable(self.at))?;
        self.at += count;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        Ok(self.take(1)?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| Unreadable(at))
    }

    /// A number of things of at least `width` bytes each, so that a wrong number asks for no memory.
    fn count(&mut self, width: usize) -> Result<usize, Unreadable> {
        let at = self.at;
        let count = usize::try_from(u32::from_le_bytes(self.array()?)).map_err(|_| Unreadable(at))?;
        let fits = count.checked_mul(width).is_some_and(|size| size <= self.bytes.len() - self.at);
        if fits { Ok(count) } else { Err(Unreadable(at)) }
    }

    fn slice(&mut self) -> Result<&'a [u8], Unreadable> {
        let count = self.count(1)?;
        self.take(count)
    }

    fn text(&mut self) -> Result<&'a str, Unreadable> {
        let at = self.at;
        std::str::from_utf8(self.slice()?).map_err(|_| Unreadable(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let facts = Facts {
            tags: vec!["travel".into(), "é".into()],
            region: Some(String::new()),
            price: Some("0.5".parse().unwrap()),
            since: Some(Timestamp::from_millis(7)),
            ..Facts::default()
        };
        let terms = Terms::bytes(&[(3, 1), (9, 255)]);
        let put = Put {
            id: "a",
            texts_digest: 1,
            facts_digest: 2,
            facts: facts.clone(),
            terms: Terms(&terms),
            length: 5,
            model: "m",
            scales: vec![0.5, 0.25],
            codes: &[1, 2, 255, 4],
            texts: b"{}",
        };
        assert_eq!(put.terms.iter().collect::<Vec<_>>(), [(3, 1), (9, 255)]);
        let mut bytes = Vec::new();
        let revise = IndexChange::Revise { id: "a", digest: 3, facts };
        for record in [IndexChange::Put(put), revise, IndexChange::Remove("a")] {
            let from = bytes.len();
            record.write(&mut bytes);
            assert_eq!(IndexChangeReader::new(&bytes[from..]).next(), Ok(Some(record)));
        }
        bytes
    }

    #[test]
    fn a_price_that_was_written_as_a_double_is_read() {
        for (double, expected) in
            [(0.5, Some("0.5")), (0.1 + 0.2, Some("0.3")), (f64::NAN, None), (-1.0, None), (1e300, None)]
        {
            let mut bytes = Vec::new();
            IndexChange::Revise { id: "a", digest: 3, facts: Facts::default() }.write(&mut bytes);
            // Kind, id, digest, visibility, whether it is live, trust; then the price: minor units and asset.
            let at = 1 + (4 + 1) + 8 + 1 + 1 + 8;
            bytes.splice(at..at + 8 + 4, f64::to_le_bytes(double));
            bytes[0] = REVISE_WITH_DOUBLE;
            let price = expected.map(|text| text.parse().unwrap());
            let facts = Facts { price, ..Facts::default() };
            assert_eq!(
                IndexChangeReader::new(&bytes).next(),
                Ok(Some(IndexChange::Revise { id: "a", digest: 3, facts }))
            );
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_anything_else_is_an_error() {
        let bytes = written();
        assert_eq!(records_in(&bytes), 3);
        for cut in 0..bytes.len() {
            assert!(records_in(&bytes[..cut]) < 3);
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = records_in(&changed);
            }
        }
    }
}
