//! Explain: from the entries of a page to hits with their reasons.
//!
//! Promises: only what is shown is read. Texts come from the log and are cut and encoded once while they are
//! asked for again and again ([`Shown`]); all that are new on a page go to the fast embedder in one call. An
//! embedder that fails costs the choice of the sentence, nothing else. It does not rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::encode::embed;
use super::shown::{Key, Piece, Shown};
use super::{FindError, read_put};
use crate::Embedder;
use crate::index::coded::Coded;
use crate::index::{EntryPosition, Snapshot};
use crate::question::{Hit, QuestionWords};
use crate::rank::Ranked;
use crate::reason::{self, Texts};

/// What hits of one question are explained with.
pub(super) struct Explainer<'a> {
    /// What chooses sentences.
    pub(super) embedder: &'a Arc<dyn Embedder>,
    /// The texts that were shown lately.
    pub(super) shown: &'a Shown,
    pub(super) snapshot: &'a Snapshot,
    pub(super) asked: &'a QuestionWords,
    /// The question in the fast model, when it could be had.
    pub(super) query: Option<&'a Coded>,
}

impl Explainer<'_> {
    /// Makes hits of the entries of a page, in order.
    pub(super) async fn hits(&self, page: &[Ranked]) -> Result<Vec<Hit>, FindError> {
        let keys: Vec<Key> = page.iter().map(|ranked| self.key(ranked)).collect();
        let mut pieces = self.shown.get(&keys);
        if pieces.iter().any(Option::is_none) {
            self.fill(page, &keys, &mut pieces).await?;
        }
        let mut lists = BTreeMap::new();
        let hit = |(ranked, piece): (&Ranked, Option<Arc<Piece>>)| {
            let EntryPosition { segment, entry } = ranked.candidate.spot;
            let postings = &self.snapshot.segments[segment].body.postings;
            let said = &self.asked.said;
            // Terms are looked up once for each segment, then asked for by entry.
            let lists: &Vec<_> = lists
                .entry(segment)
                .or_insert_with(|| said.iter().map(|(_, term)| postings.find(*term)).collect());
            let has = |word: usize| lists[word].has(entry as u16);
            let matched = reason::matched(said, has);
            let (skill, sentence) = piece.as_ref().map_or((None, None), |piece| piece.fitting(self.query));
            let model = self.snapshot.models[ranked.candidate.model].id.as_str();
            let reason = reason::explain(ranked, matched, skill, sentence, model);
            Hit { id: self.snapshot.id(ranked.candidate.spot), score: ranked.score, reason }
        };
        Ok(page.iter().zip(pieces).map(hit).collect())
    }

    /// The number of an entry changes with its texts, so it is known by it and by which of its vectors was
    /// nearest.
    fn key(&self, ranked: &Ranked) -> Key {
        let EntryPosition { segment, entry } = ranked.candidate.spot;
        Key {
            serial: self.snapshot.segments[segment].body.serials.of(entry),
            vector: ranked.candidate.vector as u32,
        }
    }

    /// Reads the texts that are not cached.
    async fn fill(
        &self,
        page: &[Ranked],
        keys: &[Key],
        pieces: &mut [Option<Arc<Piece>>],
    ) -> Result<(), FindError> {
        let mut new: Vec<(usize, Piece)> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for place in (0..page.len()).filter(|place| pieces[*place].is_none()) {
            let (piece, sentences) = self.read(&page[place])?;
            new.push((place, piece));
            texts.extend(sentences);
        }
        let vectors = match self.query {
            Some(_) if !texts.is_empty() => embed(self.embedder, &texts).await.ok(),
            Some(_) => Some(Vec::new()),
            None => None,
        };
        let whole = vectors.is_some();
        let vectors = vectors.unwrap_or_default();
        let mut vectors = vectors.iter();
        let mut made = Vec::with_capacity(new.len());
        for (place, mut piece) in new {
            piece.take_vectors(&mut vectors);
            let piece = Arc::new(piece);
            made.push((keys[place], Arc::clone(&piece)));
            pieces[place] = Some(piece);
        }
        if whole {
            self.shown.keep(made.into_iter());
        }
        Ok(())
    }

    /// The text behind the nearest vector of an entry, and its sentences where there are several to choose
    /// from.
    fn read(&self, ranked: &Ranked) -> Result<(Piece, Vec<String>), FindError> {
        let bytes = self.snapshot.record(ranked.candidate.spot);
        let bytes = bytes.map_err(|error| FindError::Folder(error.to_string()))?;
        let texts = Texts::read(read_put(&bytes)?.texts).unwrap_or_default();
        let (skill, text) = texts.behind(ranked.candidate.vector);
        let sentences = reason::sentences(text);
        let piece = Piece::of(skill, &sentences);
        let owned = if sentences.len() > 1 { &sentences[..] } else { &[] };
        Ok((piece, owned.iter().map(|sentence| (*sentence).to_owned()).collect()))
    }
}
