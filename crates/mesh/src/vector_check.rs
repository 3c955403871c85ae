//! Do the vectors of a record belong to its text? A sample is encoded again to find out.
//!
//! A publisher that lies about its vectors is found for questions that it does not answer. The text is in
//! the same signed record, so every site can check by itself, and no accusation has to be passed on.
//!
//! Promises: a pure machine. It asks its driver to encode one text of a record at a time
//! ([`CheckEffect::Encode`]), within [`CheckPolicy::encodings_per_minute`], and judges what comes back. New
//! sites are checked always, known ones seldom, those that were caught always again. It has no model and
//! does not remove records: a record with wrong vectors stays, and is not found by them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{Rng, Timestamp};

use crate::record::{Body, Record, RecordId, RecordKey};
use crate::site_id::SiteId;
use crate::vectors::{VectorCodes, VectorText};

/// Least cosine of the claimed and the encoded vector. The encoder gives the same bits everywhere and
/// rounding to bytes keeps 0.9999; a vector of another text of the same agent is below 0.95 as a rule.
pub const SAME_TEXT: f64 = 0.995;
/// How many records of a site are all checked before samples are taken.
const FIRST_CHECKS: u32 = 4;
/// One record in so many of a site that always passed is still checked.
const RAREST: u32 = 50;
/// How many mismatches cost a site all of its vectors. One may be an older release that cut a text
/// otherwise.
const STRIKES: u32 = 3;
/// How long no vector of such a site is used.
const DISTRUST_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How many checks may wait for the encoder; records beyond are taken without a check.
const MAX_PENDING: usize = 256;
/// How many sites are remembered; the one with the fewest checks is forgotten first.
const MAX_SITES: usize = 16_384;

/// Whether a vector belongs to its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextVerdict {
    /// It does.
    Belongs,
    /// It does not: their cosine is this.
    Differs(f64),
}

/// Compares the vector that a record claims with the one that its text has.
#[must_use]
pub fn judge_vector(encoded: &VectorCodes, claimed: &VectorCodes) -> TextVerdict {
    let nearness = encoded.nearness(claimed);
    if nearness >= SAME_TEXT { TextVerdict::Belongs } else { TextVerdict::Differs(nearness) }
}

/// How much is spent on checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckPolicy {
    /// Texts that are encoded per minute: 60 take 0.6 s, one hundredth of a core.
    pub encodings_per_minute: u32,
}

impl Default for CheckPolicy {
    fn default() -> Self {
        Self { encodings_per_minute: 60 }
    }
}

/// What happens to the checks.
#[derive(Debug, Clone)]
pub enum CheckInput {
    /// A foreign agent is new, or its record changed.
    Listed(Arc<Record>),
    /// The driver encoded what it was asked for; none when it could not.
    Encoded {
        /// The record.
        record: RecordId,
        /// The vector of its text.
        codes: Option<VectorCodes>,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckEffect {
    /// Encode this text with the model of the protocol, and give it back.
    Encode {
        /// The record.
        record: RecordId,
        /// The text.
        text: VectorText,
    },
    /// Do not find this agent by its vectors: one does not belong to its text.
    Ignore {
        /// The agent.
        key: RecordKey,
        /// The cosine.
        nearness: f64,
    },
    /// Use no vector of this site until then.
    Distrust {
        /// The site.
        site: SiteId,
        /// Until when.
        until: Timestamp,
    },
}

/// What is known of the vectors of one site.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Checks that passed since the last mismatch.
    passed: u32,
    mismatches: u32,
    distrusted_until: Option<Timestamp>,
}

/// A check that waits for the encoder.
#[derive(Debug)]
struct Pending {
    key: RecordKey,
    claimed: VectorCodes,
}

/// The checks of a site.
#[derive(Debug)]
pub struct VectorChecks {
    policy: CheckPolicy,
    sites: BTreeMap<SiteId, Standing>,
    pending: BTreeMap<RecordId, Pending>,
    /// Encodings that are left, and since when.
    left: u32,
    refilled: Timestamp,
}

impl VectorChecks {
    /// No check was made yet.
    #[must_use]
    pub fn new(policy: CheckPolicy, now: Timestamp) -> Self {
        let left = policy.encodings_per_minute;
        Self { policy, sites: BTreeMap::new(), pending: BTreeMap::new(), left, refilled: now }
    }

    /// Takes in what happened and gives what is to be done.
    pub fn apply(&mut self, input: CheckInput, now: Timestamp, rng: &dyn Rng) -> Vec<CheckEffect> {
        match input {
            CheckInput::Listed(record) => self.listed(&record, now, rng).into_iter().collect(),
            CheckInput::Encoded { record, codes } => self.encoded(record, codes.as_ref(), now),
        }
    }

    /// Whether the vectors of a site are used.
    #[must_use]
    pub fn trusts(&self, site: &SiteId, now: Timestamp) -> bool {
        let until = self.sites.get(site).and_then(|standing| standing.distrusted_until);
        until.is_none_or(|until| until <= now)
    }

    fn listed(&mut self, record: &Arc<Record>, now: Timestamp, rng: &dyn Rng) -> Option<CheckEffect> {
        let standing = self.sites.get(&record.site()).copied().unwrap_or_default();
        let is_used = self.trusts(&record.site(), now);
        let is_chosen = is_used && is_chosen(standing, number(rng));
        if !is_chosen || self.pending.len() >= MAX_PENDING || !self.has_left(now) {
            return None;
        }
        let Body::Agent(profile) = record.body() else { return None };
        let vectors = profile.vectors().filter(|vectors| vectors.is_of_protocol())?;
        self.left -= 1;
        let count = vectors.iter().count();
        let part = usize::try_from(number(rng) % count as u64).unwrap_or(0);
        let claimed = vectors.iter().nth(part)?.clone();
        let text = profile.texts().into_iter().nth(part)?;
        self.pending.insert(record.id(), Pending { key: record.key().clone(), claimed });
        Some(CheckEffect::Encode { record: record.id(), text })
    }

    fn encoded(&mut self, record: RecordId, codes: Option<&VectorCodes>, now: Timestamp) -> Vec<CheckEffect> {
        let (Some(Pending { key, claimed }), Some(codes)) = (self.pending.remove(&record), codes) else {
            return Vec::new();
        };
        let site = key.site;
        self.make_room(&site);
        let standing = self.sites.entry(site).or_default();
        let TextVerdict::Differs(nearness) = judge_vector(codes, &claimed) else {
            standing.passed = standing.passed.saturating_add(1);
            return Vec::new();
        };
        standing.passed = 0;
        standing.mismatches = standing.mismatches.saturating_add(1);
        let mut effects = vec![CheckEffect::Ignore { key, nearness }];
        if standing.mismatches >= STRIKES {
            let until = now.plus(DISTRUST_FOR);
            (standing.mismatches, standing.distrusted_until) = (0, Some(until));
            effects.push(CheckEffect::Distrust { site, until });
        }
        effects
    }

    /// Whether the policy allows one more encoding.
    fn has_left(&mut self, now: Timestamp) -> bool {
        if now.since(self.refilled) >= Duration::from_secs(60) {
            (self.left, self.refilled) = (self.policy.encodings_per_minute, now);
        }
        self.left > 0
    }

    /// Takes note of what was decided before a restart: no vector of this site is used until then.
    pub fn distrust(&mut self, site: SiteId, until: Timestamp) {
        self.make_room(&site);
        self.sites.entry(site).or_default().distrusted_until = Some(until);
    }

    fn make_room(&mut self, site: &SiteId) {
        if self.sites.len() < MAX_SITES || self.sites.contains_key(site) {
            return;
        }
        // A site that was caught is remembered longest.
        let rank = |standing: &Standing| (standing.distrusted_until, standing.mismatches, standing.passed);
        let least = self.sites.iter().min_by_key(|(_, standing)| rank(standing)).map(|(site, _)| *site);
        least.map(|site| self.sites.remove(&site));
    }
}

/// Whether a record of such a site is checked.
fn is_chosen(standing: Standing, random: u64) -> bool {
    let is_new = standing.passed < FIRST_CHECKS;
    let one_in = u64::from(standing.passed.clamp(1, RAREST));
    is_new || standing.mismatches > 0 || random.is_multiple_of(one_in)
}

fn number(rng: &dyn Rng) -> u64 {
    let bytes = rng.bytes16();
    u64::from_le_bytes(bytes[..8].try_into().expect("sixteen bytes have eight"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Subject;
    use crate::story::{SeededRng, Site, at, profile, vectors};

    fn record(site: &Site, number: u64) -> Arc<Record> {
        let profile = profile("calc", "Adds").with_vectors(vectors(number)).unwrap();
        site.sign(Subject::Agent("calc".parse().unwrap()), Body::Agent(profile), number + 1, at(0))
    }

    /// Checks one record, which is honest or not; gives the effects of the check, none when it was not
    /// chosen.
    fn check(
        checks: &mut VectorChecks,
        record: &Arc<Record>,
        honest: bool,
        rng: &SeededRng,
    ) -> Option<Vec<CheckEffect>> {
        let effects = checks.apply(CheckInput::Listed(record.clone()), at(0), rng);
        let [CheckEffect::Encode { record: id, text }] = effects.as_slice() else { return None };
        let Body::Agent(profile) = record.body() else { panic!("an agent") };
        let part = profile.texts().iter().position(|other| other == text).unwrap();
        let own = profile.vectors().unwrap().iter().nth(part).unwrap().clone();
        let codes = if honest { own } else { vectors(999).iter().nth(part).unwrap().clone() };
        Some(checks.apply(CheckInput::Encoded { record: *id, codes: Some(codes) }, at(0), rng))
    }

    #[test]
    fn a_vector_of_another_text_is_told_apart() {
        let (one, other) = (vectors(1), vectors(2));
        let (one, other) = (one.iter().next().unwrap(), other.iter().next().unwrap());
        assert_eq!(judge_vector(one, one), TextVerdict::Belongs);
        assert!(matches!(judge_vector(one, other), TextVerdict::Differs(nearness) if nearness < 0.5));
    }

    #[test]
    fn a_new_site_is_always_checked_and_a_proven_one_seldom() {
        let (site, rng) = (Site::new(1), SeededRng::new(1));
        let mut checks = VectorChecks::new(CheckPolicy { encodings_per_minute: 10_000 }, at(0));
        let chosen = (0..2_000).filter(|n| check(&mut checks, &record(&site, *n), true, &rng).is_some());
        let chosen: Vec<u64> = chosen.collect();
        assert_eq!(chosen[..4], [0, 1, 2, 3]);
        assert!((40..300).contains(&chosen.len()), "{}", chosen.len());
    }

    #[test]
    fn a_site_that_lies_loses_the_record_then_all_of_its_vectors() {
        let (site, rng) = (Site::new(1), SeededRng::new(1));
        let mut checks = VectorChecks::new(CheckPolicy::default(), at(0));
        let seen: Vec<usize> = (0..3)
            .map(|number| check(&mut checks, &record(&site, number), false, &rng).unwrap().len())
            .collect();
        assert_eq!(seen, [1, 1, 2], "ignored each time, and distrusted in the end");
        assert!(!checks.trusts(&site.id, at(60)));
        assert!(checks.trusts(&site.id, at(8 * 86_400)));
        assert!(checks.trusts(&Site::new(2).id, at(0)));
    }

    #[test]
    fn what_is_encoded_is_bounded() {
        let (site, rng) = (Site::new(1), SeededRng::new(1));
        let mut checks = VectorChecks::new(CheckPolicy { encodings_per_minute: 2 }, at(0));
        let encoded = |checks: &mut VectorChecks, second| {
            let listed = |n| CheckInput::Listed(record(&site, n));
            (0..10).map(|n| checks.apply(listed(n), at(second), &rng).len()).sum::<usize>()
        };
        assert_eq!((encoded(&mut checks, 0), encoded(&mut checks, 61)), (2, 2));
    }
}
