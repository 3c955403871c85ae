//! Population: made-up agents in any number, to measure an index at sizes that no real site has.
//!
//! Promises: agent `n` is the same at every run. Its text is some 42 words in runs of one to four, most of
//! them from two of the cards it is made from, the others from all cards and from a long tail of rare words,
//! so that words and pairs of words are spread as in real text. Each of its vectors (one for the whole and
//! one for each skill, when it has any) is between the vectors of the two cards, with noise. The true nearest
//! to each question are kept while agents are made ([`Truth`]), so that not all vectors have to be in memory.
//! It is not a model of meaning.

pub mod cards;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use agentsite_protocol::{Asset, Money, Timestamp, Visibility};
use futures::future::BoxFuture;

use crate::simd::{DotFloats, Lanes};
use crate::{EmbedError, Embedder, Entry, Facts, ModelId, Passage, Vector};

/// Words of an agent's text, in three sentences, and of a skill.
const WORDS: usize = 42;
const WORDS_OF_A_SENTENCE: usize = 14;

/// Words that follow each other in an agent as they do in a card, at most.
const LONGEST_RUN: usize = 4;

/// Length of the noise in a vector, relative to a mixture of length 1.
const NOISE: f32 = 0.35;

/// Agents of one owner, on average.
const AGENTS_OF_AN_OWNER: u64 = 20;

/// The first moment at which an agent was first seen, in milliseconds.
const EARLIEST: i64 = 1_600_000_000_000;

/// Where a name begins, with the agent's number behind it.
const NAME: &str = "agent ";

/// A text with its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The text.
    pub text: String,
    /// Its vector, of length 1.
    pub vector: Box<[f32]>,
}

/// Agents made from a few cards, and questions.
#[derive(Debug)]
pub struct Population {
    model: ModelId,
    cards: Vec<Sample>,
    words: Vec<Vec<String>>,
    questions: HashMap<String, Box<[f32]>>,
    skills: usize,
}

impl Population {
    /// Agents like these cards, and vectors for these questions.
    ///
    /// # Panics
    /// When there is no card with a word.
    #[must_use]
    pub fn new(cards: Vec<Sample>, questions: &[Sample]) -> Self {
        let words = |card: &Sample| card.text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let words: Vec<_> = cards.iter().map(words).collect();
        assert!(!words.is_empty() && words.iter().all(|words| !words.is_empty()), "cards have words");
        let questions =
            questions.iter().map(|question| (question.text.clone(), question.vector.clone())).collect();
        let model = ModelId::new(&format!("made-{}", cards[0].vector.len()));
        Self { model, cards, words, questions, skills: 0 }
    }

    /// The same agents with this many skills each, which have their own vectors.
    #[must_use]
    pub fn with_skills(self, skills: usize) -> Self {
        Self { skills, ..self }
    }

    /// An agent.
    #[must_use]
    pub fn entry(&self, number: u64) -> Entry {
        let mut dice = Dice::of(number);
        let (one, two, _) = self.parents(&mut dice);
        let text = self.text(&format!("{NAME}{number}"), WORDS, (one, two), &mut dice);
        let skill = |part: usize, dice: &mut Dice| Passage {
            skill: format!("skill {part}"),
            text: self.text(&format!("{NAME}{number}.{part}"), WORDS_OF_A_SENTENCE, (one, two), dice),
            example: part.is_multiple_of(2),
        };
        let passages = (1..=self.skills).map(|part| skill(part, &mut dice)).collect();
        let facts = Facts {
            visibility: Visibility::Public,
            owner: owner(number),
            tags: (0..3).map(|_| dice.pick::<String>(&self.words[one]).to_lowercase()).collect(),
            protocols: vec![["a2a", "mcp"][dice.below(2)].into()],
            input_modes: vec!["text/plain".into()],
            output_modes: vec!["text/plain".into()],
            price: (dice.below(4) == 0).then(|| Money::new(dice.below(100) as u64 * 10_000, Asset::CREDIT)),
            trust: if dice.below(2) == 0 { 0.5 } else { dice.below(100) as f64 / 100.0 },
            since: Some(Timestamp::from_millis(EARLIEST + 1000 * dice.below(100_000_000) as i64)),
            ..Facts::default()
        };
        Entry { id: id(number), name: format!("{NAME}{number}"), text, passages, facts, vectors: None }
    }

    /// A text of this many words that begins with a name.
    fn text(&self, name: &str, count: usize, (one, two): (usize, usize), dice: &mut Dice) -> String {
        let mut text = format!("{name} ");
        let mut place = 0;
        while place < count {
            let card = match dice.below(20) {
                0 => None,
                1..=4 => Some(dice.below(self.words.len())),
                _ => Some(if dice.below(2) == 0 { one } else { two }),
            };
            let Some(card) = card else {
                rare(&mut text, dice);
                text.push(' ');
                place += 1;
                continue;
            };
            let words = &self.words[card];
            let (from, run) = (dice.below(words.len()), 1 + dice.below(LONGEST_RUN));
            for word in words[from..].iter().take(run.min(count - place)) {
                text.push_str(word);
                place += 1;
                text.push_str(if place.is_multiple_of(WORDS_OF_A_SENTENCE) { ". " } else { " " });
            }
        }
        text
    }

    /// A vector of an agent: of the whole (part 0) or of one of its skills.
    #[must_use]
    pub fn vector(&self, number: u64, part: usize) -> Vec<f32> {
        let mut dice = Dice::of(number);
        let (one, two, share) = self.parents(&mut dice);
        let mut dice = Dice::of(dice.throw().wrapping_add(part as u64));
        let (one, two) = (&self.cards[one].vector, &self.cards[two].vector);
        let mut values: Vec<f32> =
            one.iter().zip(two).map(|(one, two)| share * one + (1.0 - share) * two).collect();
        let length = dot(&values, &values).sqrt().max(f32::MIN_POSITIVE);
        let noise = NOISE * length / (values.len() as f32).sqrt();
        values.iter_mut().for_each(|value| *value += noise * dice.normal());
        let length = dot(&values, &values).sqrt().max(f32::MIN_POSITIVE);
        values.iter_mut().for_each(|value| *value /= length);
        values
    }

    fn parents(&self, dice: &mut Dice) -> (usize, usize, f32) {
        let (one, two) = (dice.below(self.cards.len()), dice.below(self.cards.len()));
        (one, two, 0.3 + 0.4 * dice.below(1000) as f32 / 1000.0)
    }

    fn embed_one(&self, text: &str) -> Vector {
        let agent = || {
            let (number, part) = match text.strip_prefix(NAME)?.split(' ').next()?.split_once('.') {
                Some((number, part)) => (number, part.parse().ok()?),
                None => (text.strip_prefix(NAME)?.split(' ').next()?, 0),
            };
            Some((number.parse().ok()?, part))
        };
        let values = match (self.questions.get(text), agent()) {
            (Some(values), _) => values.clone(),
            (None, Some((number, part))) => self.vector(number, part).into(),
            // Texts are only read to show a sentence.
            (None, None) => self.cards[text.len() % self.cards.len()].vector.clone(),
        };
        Vector { model: self.model.clone(), values }
    }
}

impl Embedder for Population {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.cards[0].vector.len()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| self.embed_one(text)).collect()) })
    }
}

/// The id of an agent.
#[must_use]
pub fn id(number: u64) -> String {
    format!("urn:air:{}:agent-{number}", owner(number))
}

fn owner(number: u64) -> String {
    format!("owner-{}.example.org", number / AGENTS_OF_AN_OWNER)
}

/// The true nearest agents to some questions.
#[derive(Debug)]
pub struct Truth {
    population: Arc<Population>,
    questions: Vec<Sample>,
    depth: usize,
    best: Vec<Vec<(f32, u64)>>,
}

impl Truth {
    /// Nothing was seen yet; `depth` nearest are kept.
    #[must_use]
    pub fn new(population: Arc<Population>, questions: Vec<Sample>, depth: usize) -> Self {
        let best = vec![Vec::new(); questions.len()];
        Self { population, questions, depth, best }
    }

    /// Sees an agent.
    pub fn see(&mut self, number: u64) {
        let vectors: Vec<_> =
            (0..=self.population.skills).map(|part| self.population.vector(number, part)).collect();
        for (question, best) in self.questions.iter().zip(&mut self.best) {
            let near = vectors.iter().map(|vector| dot(&question.vector, vector)).fold(-1.0, f32::max);
            if best.len() < self.depth || best.last().is_some_and(|last| near > last.0) {
                let place = best.partition_point(|other| other.0 >= near);
                best.insert(place, (near, number));
                best.truncate(self.depth);
            }
        }
    }

    /// The questions.
    #[must_use]
    pub fn questions(&self) -> &[Sample] {
        &self.questions
    }

    /// Which part of the true nearest to a question is among the ids.
    #[must_use]
    pub fn recall(&self, question: usize, ids: &[&str]) -> f64 {
        let best = &self.best[question];
        let found = best.iter().filter(|(_, number)| ids.contains(&id(*number).as_str())).count();
        found as f64 / best.len().max(1) as f64
    }
}

fn dot(one: &[f32], two: &[f32]) -> f32 {
    Lanes::best().run(DotFloats(one, two))
}

/// A rare word: the more syllables the rarer.
fn rare(text: &mut String, dice: &mut Dice) {
    for _ in 0..2 + dice.below(3) {
        let letter = |dice: &mut Dice, of: &[u8]| char::from(of[dice.below(of.len())]);
        let (first, second) = (letter(dice, b"bdfgklmnprstvz"), letter(dice, b"aeiou"));
        let _ = write!(text, "{first}{second}");
    }
}

/// Numbers that look thrown and are the same each time.
#[derive(Debug, Clone)]
struct Dice(u64);

impl Dice {
    const fn of(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0xd134_2543_de82_ef95))
    }

    const fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    const fn below(&mut self, end: usize) -> usize {
        ((self.throw() >> 32) as usize * end) >> 32
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Nearly normal, of spread 1: the sum of four even throws.
    fn normal(&mut self) -> f32 {
        let throw = self.throw();
        let sum: u32 = (0..4).map(|part| u32::from((throw >> (16 * part)) as u16)).sum();
        (sum as f32 / 65_536.0 - 2.0) * 3f32.sqrt()
    }
}

#[cfg(test)]
mod tests;
