//! Sites for stories: keys from small numbers, records in a line.
//!
//! For tests and simulations only; behind no feature, because it is small and has no dependency of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentsite_protocol::{AgentCard, Algorithm, Rng, SigningKey, Skill, Timestamp, Visibility};

use crate::limits::MAX_LIFETIME;
use crate::record::{AgentProfile, Body, Draft, Record, Subject};
use crate::site_id::SiteId;
use crate::vectors::{AgentVectors, PROTOCOL_DIMENSIONS, PROTOCOL_MODEL, VectorCodes};
use crate::work::Work;

/// Bits of work of sites in stories: found at once.
pub const STORY_WORK: u32 = 4;

/// A moment of a story, in seconds after its beginning.
#[must_use]
pub const fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + second * 1_000)
}

/// A generator with a seed (SplitMix64), so that every run can be repeated.
#[derive(Debug)]
pub struct SeededRng(AtomicU64);

impl SeededRng {
    /// Begins a sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number of the sequence.
    pub fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Rng for SeededRng {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A site of a story.
#[derive(Debug, Clone)]
pub struct Site {
    /// Its key.
    pub key: SigningKey,
    /// Its identity.
    pub id: SiteId,
    /// The work for its identity.
    pub work: Work,
}

impl Site {
    /// The site with this number, and little work.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self::with_work(number, STORY_WORK)
    }

    /// The site with this number, and work of at least so many bits.
    ///
    /// # Panics
    /// Never: every seed gives an Ed25519 key.
    #[must_use]
    pub fn with_work(number: u64, bits: u32) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_be_bytes());
        let key = SigningKey::from_seed(Algorithm::EdDsa, &seed).expect("every seed gives an Ed25519 key");
        let id = SiteId::of(&key.public()).expect("the key is Ed25519");
        let work = Work::at_least(&id, bits);
        Self { key, id, work }
    }

    /// Signs a record.
    ///
    /// # Panics
    /// When a story asks for a record that cannot be signed.
    #[must_use]
    pub fn sign(&self, subject: Subject, body: Body, seq: u64, issued_at: Timestamp) -> Arc<Record> {
        let lifetime = if body == Body::Removed { Duration::MAX } else { MAX_LIFETIME };
        let draft = Draft { subject, body, seq, issued_at, lifetime, work: self.work.nonce, to: None };
        Arc::new(Record::sign(&self.key, draft).expect("stories sign what fits"))
    }

    /// Its lease.
    #[must_use]
    pub fn lease(&self, seq: u64, issued_at: Timestamp) -> Arc<Record> {
        self.sign(Subject::Lease, Body::Lease, seq, issued_at)
    }

    /// A record of one of its agents.
    ///
    /// # Panics
    /// When the name is none of an agent.
    #[must_use]
    pub fn agent(&self, name: &str, seq: u64, issued_at: Timestamp, description: &str) -> Arc<Record> {
        let subject = Subject::Agent(name.parse().expect("a story names agents rightly"));
        self.sign(subject, Body::Agent(profile(name, description)), seq, issued_at)
    }

    /// A tombstone of one of its agents.
    ///
    /// # Panics
    /// When the name is none of an agent.
    #[must_use]
    pub fn tombstone(&self, name: &str, seq: u64, issued_at: Timestamp) -> Arc<Record> {
        let subject = Subject::Agent(name.parse().expect("a story names agents rightly"));
        self.sign(subject, Body::Removed, seq, issued_at)
    }
}

/// A card of a public agent.
#[must_use]
pub fn card(name: &str, description: &str) -> AgentCard {
    AgentCard {
        name: name.into(),
        description: description.into(),
        version: "1.0.0".into(),
        supported_interfaces: Vec::new(),
        provider: None,
        capabilities: agentsite_protocol::AgentCapabilities::default(),
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        skills: vec![Skill {
            id: name.into(),
            name: name.into(),
            description: description.into(),
            tags: vec!["story".into()],
            ..Skill::default()
        }],
        extra: agentsite_protocol::JsonMap::default(),
    }
}

/// The profile of a public agent.
///
/// # Panics
/// Never: the card is small.
#[must_use]
pub fn profile(name: &str, description: &str) -> AgentProfile {
    AgentProfile::of(&card(name, description), Visibility::Public, None).expect("a small public card fits")
}

/// Vectors of an agent with one skill: random directions that the number determines.
///
/// # Panics
/// Never: random numbers have a direction.
#[must_use]
pub fn vectors(number: u64) -> AgentVectors {
    let rng = SeededRng::new(number);
    let one = || {
        let mut bytes = vec![0; PROTOCOL_DIMENSIONS];
        rng.fill(&mut bytes);
        let values: Vec<f32> = bytes.into_iter().map(|byte| f32::from(byte) - 127.5).collect();
        VectorCodes::of(&values).expect("random numbers have a direction")
    };
    AgentVectors::new(PROTOCOL_MODEL, vec![one(), one()]).expect("two vectors of one length")
}
