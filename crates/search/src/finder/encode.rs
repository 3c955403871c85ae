//! Encode: entries and questions become vectors in whole numbers.
//!
//! Promises: what an embedder gives is checked (how many, which model, how long) before it is used; a single
//! vector that has no direction is left out, an embedder that does not keep its word is an error. Texts go to
//! the embedder in batches, so that memory stays bounded.

use std::sync::Arc;

use super::{Embedders, facts_digest, texts_digest};
use crate::index::Snapshot;
use crate::index::coded::Coded;
use crate::index_change::{Put, Terms};
use crate::reading::Reading;
use crate::reason::{Texts, sentences};
use crate::{EmbedError, Embedder, Entry};

/// Texts of one call of an embedder.
const BATCH: usize = 256;

/// Sentences of a question that are compared in addition to the whole; each costs as much as the question
/// itself.
const MOST_SENTENCES: usize = 4;

/// Words of a sentence that is meaningful by itself.
const SHORTEST_SENTENCE: usize = 3;

/// The weight of the name in the vector of the description. Of 0, 0.2, 0.4, 0.6 and one text with both this
/// ranked best; a separate vector for the name gained nothing.
const NAME_SHARE: f32 = 0.4;

/// An entry that was read and has no vectors yet.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) reading: Reading,
    pub(super) texts_digest: u64,
    pub(super) facts_digest: u64,
    /// Its number, if it comes from the index.
    pub(super) serial: Option<u32>,
}

impl Prepared {
    /// Reads an entry as it was given.
    pub(super) fn of(entry: Entry) -> Self {
        let (texts_digest, facts_digest) = (texts_digest(&entry), facts_digest(&entry.facts));
        Self { reading: Reading::of(entry), texts_digest, facts_digest, serial: None }
    }

    /// Whether an embedder has the vectors of all its texts already.
    pub(super) fn is_known_to(&self, embedder: &dyn Embedder) -> bool {
        // Checked first, because nearly all entries end here.
        embedder.knows(&self.reading.entry.text)
            && self.reading.title().into_iter().chain(self.reading.texts()).all(|text| embedder.knows(&text))
    }

    /// The vectors that its publisher made, when this embedder's model made one for each of its texts.
    pub(super) fn published(&self, embedder: &dyn Embedder) -> Option<Vec<Coded>> {
        let vectors = self.reading.entry.vectors.as_ref()?;
        let fits = vectors.model == embedder.model().as_str()
            && vectors.passages.len() == self.reading.entry.passages.len();
        let all = std::iter::once(&vectors.whole).chain(&vectors.passages);
        let coded = |codes: &Vec<i8>| {
            let has_length = codes.len() == embedder.dimensions();
            has_length.then(|| Coded::from_codes(codes.clone())).flatten()
        };
        if fits { all.map(coded).collect() } else { None }
    }
}

/// An entry with its vectors, ready to be written.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) reading: Reading,
    texts_digest: u64,
    pub(super) facts_digest: u64,
    pub(super) serial: Option<u32>,
    terms: Vec<u8>,
    texts: Vec<u8>,
    model: String,
    scales: Vec<f32>,
    codes: Vec<u8>,
}

impl Encoded {
    pub(super) fn of(prepared: Prepared, model: &str, vectors: &[Coded]) -> Self {
        let Prepared { reading, texts_digest, facts_digest, serial } = prepared;
        Self {
            terms: Terms::bytes(&reading.terms),
            texts: Texts::bytes(&reading.entry),
            model: model.to_owned(),
            scales: vectors.iter().map(|vector| vector.scale).collect(),
            codes: vectors
                .iter()
                .flat_map(|vector| vector.codes.iter().map(|code| code.cast_unsigned()))
                .collect(),
            reading,
            texts_digest,
            facts_digest,
            serial,
        }
    }

    /// As it is written.
    pub(super) fn record(&self) -> Put<'_> {
        Put {
            id: &self.reading.entry.id,
            texts_digest: self.texts_digest,
            facts_digest: self.facts_digest,
            facts: self.reading.entry.facts.clone(),
            terms: Terms(&self.terms),
            length: self.reading.length,
            model: &self.model,
            scales: self.scales.clone(),
            codes: &self.codes,
            texts: &self.texts,
        }
    }
}

/// Makes the vectors of entries.
pub(super) async fn encode(
    embedder: &Arc<dyn Embedder>,
    entries: Vec<Prepared>,
) -> Result<Vec<Encoded>, EmbedError> {
    let model = embedder.model().as_str().to_owned();
    let mut done = Vec::with_capacity(entries.len());
    let mut waiting: Vec<(Prepared, usize, bool)> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        let (own, title) = (entry.reading.texts(), entry.reading.title());
        waiting.push((entry, own.len(), title.is_some()));
        texts.extend(title.into_iter().chain(own));
        if texts.len() >= BATCH || entries.peek().is_none() {
            let mut vectors = embed(embedder, &texts).await?.into_iter();
            texts.clear();
            for (entry, count, titled) in waiting.drain(..) {
                let title = if titled { vectors.next() } else { None };
                let mut own: Vec<Box<[f32]>> = vectors.by_ref().take(count).collect();
                if let (Some(first), Some(title)) = (own.first_mut(), title) {
                    turn(first, &title);
                }
                // The first text without a direction ends the row: later ones would be matched to the wrong
                // passages.
                let own: Vec<Coded> = own.iter().map_while(|vector| Coded::of(vector)).collect();
                done.push(Encoded::of(entry, &model, &own));
            }
        }
    }
    Ok(done)
}

/// The vector of each entry as a whole, as the index has it: that of its text, turned towards its name, in
/// whole numbers. None for a text without a direction.
///
/// # Errors
/// When the embedder fails or does not keep its word.
pub async fn whole_vectors(
    embedder: &Arc<dyn Embedder>,
    entries: Vec<Entry>,
) -> Result<Vec<Option<Vec<i8>>>, EmbedError> {
    let encoded = encode(embedder, entries.into_iter().map(Prepared::of).collect()).await?;
    let whole = |entry: &Encoded| {
        let codes = entry.codes.get(..embedder.dimensions())?;
        Some(codes.iter().map(|code| code.cast_signed()).collect())
    };
    Ok(encoded.iter().map(whole).collect())
}

/// Turns a vector towards another.
fn turn(vector: &mut [f32], other: &[f32]) {
    let length = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>().sqrt();
    let share = NAME_SHARE * length(vector) / length(other);
    if share.is_finite() {
        vector.iter_mut().zip(other).for_each(|(value, other)| *value += share * other);
    }
}

/// Makes the vectors of texts.
pub(super) async fn embed(
    embedder: &Arc<dyn Embedder>,
    texts: &[String],
) -> Result<Vec<Box<[f32]>>, EmbedError> {
    let vectors = embedder.embed(texts).await?;
    if vectors.len() != texts.len() {
        let what = format!("{} vectors for {} texts", vectors.len(), texts.len());
        return Err(EmbedError::Unusable(what));
    }
    let checked = vectors.into_iter().map(|vector| {
        if vector.model != *embedder.model() || vector.values.len() != embedder.dimensions() {
            let what = format!("{} numbers of the model {}", vector.values.len(), vector.model);
            return Err(EmbedError::Unusable(what));
        }
        Ok(vector.values)
    });
    checked.collect()
}

/// A question in vectors.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// The whole, in each model of the index (the fast one always).
    pub(super) whole: Vec<Option<Coded>>,
    /// Its sentences, when there are several.
    pub(super) sentences: Vec<Vec<Option<Coded>>>,
    /// What failed.
    pub(super) without: Option<String>,
}

/// Makes the vectors of a question.
pub(super) async fn encode_question(embedders: &Embedders, snapshot: &Snapshot, text: &str) -> Question {
    let mut texts = vec![text.to_owned()];
    let sentences = sentences(text)
        .into_iter()
        .filter(|sentence| sentence.split_whitespace().count() >= SHORTEST_SENTENCE);
    texts.extend(sentences.map(str::to_owned).take(MOST_SENTENCES));
    if texts.len() == 2 {
        texts.truncate(1);
    }
    let mut question = Question { sentences: vec![Vec::new(); texts.len() - 1], ..Question::default() };
    for (number, embedder) in std::iter::once(&embedders.fast).chain(&embedders.full).enumerate() {
        let used = snapshot.segments.iter().any(|segment| segment.body.spaces[number].len() > 0);
        let mut made = vec![None; texts.len()];
        if number == 0 || used {
            match embed(embedder, &texts).await {
                Ok(vectors) => made = vectors.iter().map(|vector| Coded::of(vector)).collect(),
                Err(error) if used => {
                    question.without = Some(format!("meaning was not compared everywhere: {error}"));
                }
                Err(_) => {}
            }
        }
        let mut made = made.into_iter();
        question.whole.extend(made.next());
        question.sentences.iter_mut().zip(made).for_each(|(sentence, vector)| sentence.push(vector));
    }
    question
}
