//! Scan: the entries that fit a question best by meaning; together with `lexical`, which does so by words, the candidates.
//!
//! Promises: only entries that pass the filter are looked at. With few of them every vector is compared; with many, those whose signs differ least are
//! compared whole: half of the signs of all, the other half of the nearest of these. Every candidate has both of its scores, whichever way it was
//! found. It does not join the scores; `rank` does.

use super::bits::Bits;
use super::lexical;
use super::space::{Coded, Space};
use super::{Snapshot, Spot};

/// Up to so many vectors each is compared whole: 20,000 take less than a millisecond.
const EXACT: usize = 20_000;

/// How many vectors of a longer scan are compared whole.
const RESCORED: usize = 4_000;

/// How many times as many are compared by all of their signs. Measured at a million agents: 8 times 3,000 found 93 of 100 of the true ten best.
const SHORTLIST: usize = 20;

/// Vectors with the same number of differing signs as the last are taken too, so that order in memory does not decide; but not more than so many
/// times what is wanted.
const MOST_TIES: usize = 4;

/// Vectors looked at before the nearest of them are: few enough that what is between stays near the processor.
const BLOCK: usize = 4096;

/// Every so many blocks' worth of vectors are a sample for the bound of the first half.
const SAMPLED: usize = 16;

/// Candidates by meaning, and by words; more when a later page is asked for.
const DEPTH: usize = 1_000;

/// The vector of a question in each model of the index, where there is one.
pub(crate) type Vectors<'a> = &'a [Option<Coded>];

/// An entry that may be among the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) spot: Spot,
    /// How near its nearest vector is, from -1 to 1; `None` when it has none that can be compared.
    pub(crate) near: Option<f32>,
    /// The place of that vector among the entry's.
    pub(crate) vector: usize,
    /// The model of that vector.
    pub(crate) model: usize,
    /// The sum of its terms' scores.
    pub(crate) words: f32,
}

/// Finds candidates among the entries that `passed`, one set for each segment: at least `depth` by meaning and as many by words, where there are so
/// many. Terms come with their weight in the question.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    passed: &[Bits],
    vectors: Vectors<'_>,
    terms: &[(u64, f32)],
    depth: usize,
) -> Vec<Candidate> {
    let depth = depth.max(DEPTH).min(snapshot.len().max(1));
    let mut near = Vec::new();
    for (model, query) in vectors.iter().enumerate() {
        if let Some(query) = query {
            near.extend(nearest(snapshot, passed, model, query, depth));
        }
    }
    near.sort_unstable_by_key(|candidate: &Candidate| candidate.spot);
    let mut all = lexical::add(snapshot, passed, terms, near, depth);
    for candidate in &mut all {
        if candidate.near.is_none() {
            compare(snapshot, vectors, candidate);
        }
    }
    all
}

/// Gives a candidate its nearest vector.
fn compare(snapshot: &Snapshot, vectors: Vectors<'_>, candidate: &mut Candidate) {
    let body = &snapshot.segments[candidate.spot.segment].body;
    for (model, query) in vectors.iter().enumerate() {
        let nearest =
            query.as_ref().and_then(|query| body.spaces[model].nearest(candidate.spot.entry, query));
        if let Some((near, vector)) = nearest {
            (candidate.near, candidate.vector, candidate.model) = (Some(near), vector, model);
        }
    }
}

/// The entries nearest in one model.
fn nearest(
    snapshot: &Snapshot,
    passed: &[Bits],
    model: usize,
    query: &Coded,
    depth: usize,
) -> Vec<Candidate> {
    let spaces: Vec<&Space> = snapshot.segments.iter().map(|segment| &segment.body.spaces[model]).collect();
    let count: usize = spaces.iter().zip(passed).map(|(space, passed)| space.count(passed)).sum();
    let candidate = |spot: Spot| {
        let (near, vector) = spaces[spot.segment].nearest(spot.entry, query)?;
        Some(Candidate { spot, near: Some(near), vector, model, words: 0.0 })
    };
    let mut found: Vec<Candidate> = if count <= EXACT {
        let some = passed.iter().enumerate().filter(|(segment, _)| spaces[*segment].len() > 0);
        let spots =
            some.flat_map(|(segment, passed)| passed.iter().map(move |entry| Spot { segment, entry }));
        spots.filter_map(candidate).collect()
    } else {
        alike(&spaces, passed, query, depth).into_iter().filter_map(candidate).collect()
    };
    if found.len() > depth {
        let order = |a: &Candidate, b: &Candidate| {
            b.near.unwrap_or(-1.0).total_cmp(&a.near.unwrap_or(-1.0)).then(a.spot.cmp(&b.spot))
        };
        found.select_nth_unstable_by(depth, order);
        found.truncate(depth);
    }
    found
}

/// The entries with the vectors whose signs differ least from the query's: one pass over the first half of the signs, in which nearly all vectors are
/// passed over after one look; of the others the second half is read too.
fn alike(spaces: &[&Space], passed: &[Bits], query: &Coded, depth: usize) -> Vec<Spot> {
    let wanted = RESCORED.max(depth.saturating_mul(2));
    let most = bound(spaces, query, wanted.saturating_mul(SHORTLIST));
    let mut nearest = Nearest::new(query.signs.len() * 64, wanted);
    let mut near = Vec::new();
    for (segment, space) in spaces.iter().enumerate() {
        for from in (0..space.len()).step_by(BLOCK) {
            near.clear();
            space.under(from..space.len().min(from + BLOCK), query, most, &mut near);
            space.add_differences(&mut near, query);
            for (count, vector) in &near {
                if usize::from(*count) <= nearest.most {
                    let entry = space.entry(*vector as usize);
                    if passed[segment].has(entry) {
                        nearest.add(*count, Spot { segment, entry });
                    }
                }
            }
            nearest.settle();
        }
    }
    nearest.finish()
}

/// In how many signs of the first half vectors may differ so that about so many stay: told from a sample, the same for the same vectors.
fn bound(spaces: &[&Space], query: &Coded, wanted: usize) -> u16 {
    let mut histogram = vec![0usize; query.signs.len() * 64 + 1];
    let (mut sampled, mut differences) = (0, Vec::new());
    for space in spaces {
        for from in (0..space.len()).step_by(BLOCK) {
            let to = space.len().min(from + BLOCK / SAMPLED);
            space.differences(from..to, query, &mut differences);
            differences.iter().for_each(|count| histogram[usize::from(*count)] += 1);
            sampled += differences.len();
        }
    }
    let all: usize = spaces.iter().map(|space| space.len()).sum();
    let share = wanted.saturating_mul(sampled) / all.max(1);
    let mut sum = 0;
    let reached = histogram.iter().position(|count| {
        sum += count;
        sum > share
    });
    u16::try_from(reached.unwrap_or(histogram.len())).unwrap_or(u16::MAX)
}

/// The entries whose signs differ least so far. The bound falls while enough are found.
struct Nearest {
    most: usize,
    wanted: usize,
    histogram: Vec<usize>,
    under: usize,
    kept: Vec<(u16, Spot)>,
}

impl Nearest {
    fn new(most: usize, wanted: usize) -> Self {
        Self { most, wanted, histogram: vec![0; most + 1], under: 0, kept: Vec::new() }
    }

    fn add(&mut self, count: u16, spot: Spot) {
        self.kept.push((count, spot));
        self.histogram[usize::from(count)] += 1;
        self.under += 1;
    }

    /// Lowers the bound as far as enough stay under it.
    fn settle(&mut self) {
        while self.under - self.histogram[self.most] >= self.wanted {
            self.under -= self.histogram[self.most];
            self.most -= 1;
        }
    }

    fn finish(self) -> Vec<Spot> {
        let under = self.kept.into_iter().filter(|(count, _)| usize::from(*count) <= self.most);
        let mut spots: Vec<Spot> = under.map(|(_, spot)| spot).collect();
        spots.dedup();
        spots.truncate(self.wanted.saturating_mul(MOST_TIES));
        spots
    }
}
