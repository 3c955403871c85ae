//! Agents that are made up: each has some skills, and a vector for each and for itself.
//!
//! Promises: agent `n` is the same in every run. A skill is one of a few directions that are handed in
//! (real vectors of real texts), with noise; the vector of the agent is between those of its skills. An
//! agent has the skills that its number says, so it is known which answers are right. It is not a model of
//! meaning.

use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::cells::{CellEntry, EntryKey};
use agentsite_mesh::story::at;
use agentsite_mesh::{RecordId, RecordKey, SiteId, VectorCodes};

use crate::dice::Dice;

/// Length of the noise of a skill, relative to its direction.
const NOISE: f32 = 0.35;
/// Bytes of a record besides its vectors, and of each vector in base64.
const RECORD_BYTES: usize = 850;

/// Directions of skills, and those of questions about them.
#[derive(Debug, Clone)]
pub struct VectorSource {
    /// One for each skill.
    pub skills: Vec<Vec<f32>>,
    /// One for each question; question `n` is about skill `n`.
    pub questions: Vec<Vec<f32>>,
}

impl VectorSource {
    /// Directions without meaning, for tests of the machinery: a question is its skill with noise.
    #[must_use]
    pub fn random(count: usize, dimensions: usize) -> Self {
        let dice = Dice::new(1);
        let one = |noise: f32, base: &[f32]| -> Vec<f32> {
            (0..dimensions)
                .map(|place| base.get(place).copied().unwrap_or(0.0) + noise * normal(&dice))
                .collect()
        };
        let skills: Vec<Vec<f32>> = (0..count).map(|_| one(1.0, &[])).collect();
        let questions = skills.iter().map(|skill| one(0.5, skill)).collect();
        Self { skills, questions }
    }
}

/// Made-up agents.
#[derive(Debug)]
pub struct Agents {
    source: VectorSource,
    skills_each: usize,
}

impl Agents {
    /// Agents with so many skills each.
    #[must_use]
    pub const fn new(source: VectorSource, skills_each: usize) -> Self {
        Self { source, skills_each }
    }

    /// The skills of an agent.
    #[must_use]
    pub fn skills(&self, number: u64) -> Vec<usize> {
        let dice = Dice::new(number.wrapping_mul(0x9e37_79b9) ^ 0x5eed);
        (0..self.skills_each).map(|_| dice.below(self.source.skills.len())).collect()
    }

    /// The vector of a question.
    ///
    /// # Panics
    /// When a vector that was handed in has no direction.
    #[must_use]
    pub fn question(&self, number: usize) -> VectorCodes {
        let values = &self.source.questions[number % self.source.questions.len()];
        VectorCodes::of(values).expect("a question has a direction")
    }

    /// How many different questions there are.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.source.questions.len()
    }

    /// The vectors of an agent: its own, then one for each skill.
    ///
    /// # Panics
    /// When a vector that was handed in has no direction.
    #[must_use]
    pub fn vectors(&self, number: u64) -> Vec<VectorCodes> {
        let dice = Dice::new(number ^ 0xa9e7);
        let noisy = |base: &[f32]| -> Vec<f32> {
            let length = base.iter().map(|value| value * value).sum::<f32>().sqrt();
            let noise = NOISE * length / (base.len() as f32).sqrt();
            base.iter().map(|value| value / length + noise / length * normal(&dice)).collect()
        };
        let skills: Vec<Vec<f32>> =
            self.skills(number).into_iter().map(|skill| noisy(&self.source.skills[skill])).collect();
        let mut own = vec![0.0; skills[0].len()];
        for skill in &skills {
            own.iter_mut().zip(skill).for_each(|(sum, value)| *sum += value);
        }
        let all = std::iter::once(noisy(&own)).chain(skills);
        all.map(|values| VectorCodes::of(&values).expect("noise has a direction")).collect()
    }

    /// The entry of an agent.
    #[must_use]
    pub fn entry(&self, owner: SiteId, number: u64, seq: u64, signed: Duration) -> Arc<CellEntry> {
        Arc::new(entry(owner, &format!("agent-{number}"), seq, signed, self.vectors(number)))
    }
}

/// An entry with these vectors; a tombstone when there is none.
///
/// # Panics
/// When the name is none of an agent.
pub(super) fn entry(
    owner: SiteId,
    name: &str,
    seq: u64,
    signed: Duration,
    vectors: Vec<VectorCodes>,
) -> CellEntry {
    let key = RecordKey::agent(owner, name.parse().expect("an agent's name"));
    let id = RecordId::of(&[owner.as_bytes(), name.as_bytes(), &seq.to_be_bytes()].concat());
    let size = RECORD_BYTES + vectors.iter().map(|vector| vector.codes().len() * 4 / 3 + 3).sum::<usize>();
    let issued_at = at(0).plus(signed);
    let expires_at = issued_at.plus(Duration::from_secs(48 * 3_600));
    CellEntry { hash: EntryKey::of(&key), key, seq, id, issued_at, expires_at, vectors, size }
}

/// Nearly normal, of spread 1: the sum of four even throws.
fn normal(dice: &Dice) -> f32 {
    let throw = dice.roll();
    let sum: u32 = (0..4).map(|part| (throw >> (16 * part) & 0xffff) as u32).sum();
    (sum as f32 / 65_536.0 - 2.0) * 3_f32.sqrt()
}
