//! VectorMatches: the entries that fit a question best by meaning.
//!
//! Promises: only entries that pass the filter are compared. With few of them every vector is compared. With
//! many, the signs of the vectors in the nearest cells are compared, and whole vectors only for the least
//! differing signs. That is approximate: recall is measured (docs/benchmarks.md). It does not use words.

use super::bits::Bits;
use super::candidate::{Candidate, Effort, Vectors};
use super::coded::Coded;
use super::snapshot::{EntryPosition, Snapshot};
use super::space::{Signs, Space};
use crate::simd::{ABREAST, CountUnder, EachUnder, Lanes};

/// Up to this many vectors, each is compared whole.
const EXACT: usize = 4_096;

/// Comparing a whole vector takes as long as comparing the signs of this many.
const WHOLE: usize = 16;

/// The part of the vectors whose signs are compared, those of the nearest cells: one in this many. Of a
/// million, one in 8 found 0.915 of the true ten nearest, one in 4 0.958, one in 3 0.968, one in 2 0.976.
const LOOKED: usize = 4;

/// The signs of at least this many vectors are compared. The distance of cells says little about vectors of
/// the fast model: of nine thousand real ones, comparing a quarter lost a fifth of the results.
const LEAST_LOOKED: usize = 65_536;

impl Effort {
    /// How many vectors are compared whole in a longer scan: with full effort 2,000 of a million.
    fn compared(self, count: usize) -> usize {
        match self {
            Self::Quick => count.isqrt().max(128),
            Self::Full => (2 * count.isqrt()).max(400),
        }
    }
}

/// Vectors with the same number of differing signs as the last are taken too, so that order in memory does
/// not decide; but not more than this multiple of the target.
const MOST_TIES: usize = 4;

/// The entries found by meaning.
#[derive(Debug, Default)]
pub(super) struct VectorMatches {
    /// At most one for each entry, in no order.
    pub(super) found: Vec<Candidate>,
    /// How near others may be; `None` when there are no others.
    pub(super) unseen: Option<f32>,
}

impl VectorMatches {
    /// The entries nearest to the question in each model: at least `places` of each, if there are that many.
    pub(super) fn of(snapshot: &Snapshot, passed: &[Bits], vectors: Vectors<'_>, places: usize) -> Self {
        let (mut near, effort) = (Self::default(), Effort::of(vectors));
        for (model, query) in vectors.iter().enumerate() {
            if let Some(query) = query {
                near.add(snapshot, passed, (model, query), places, effort);
            }
        }
        near
    }

    fn add(
        &mut self,
        snapshot: &Snapshot,
        passed: &[Bits],
        (model, query): (usize, &Coded),
        places: usize,
        effort: Effort,
    ) {
        let spaces: Vec<&Space> =
            snapshot.segments.iter().map(|segment| &segment.body.spaces[model]).collect();
        let count: usize = spaces.iter().zip(passed).map(|(space, passed)| space.count(passed)).sum();
        let all: usize = spaces.iter().map(|space| space.len()).sum();
        let candidate = |spot: EntryPosition| {
            let (near, vector) = spaces[spot.segment].nearest(spot.entry, query)?;
            Some(Candidate { spot, near: Some(near), vector, model, words: 0.0 })
        };
        let wanted = effort.compared(count).max(places.saturating_mul(2)).min(count);
        let looked = (count / LOOKED).max(LEAST_LOOKED).max(wanted.saturating_mul(2)).min(count);
        // The number of all entries that contains enough of those that passed, if the filter is independent
        // of the distance.
        let looked = (all as f64 * looked as f64 / count.max(1) as f64) as usize;
        if count <= EXACT || count.saturating_mul(WHOLE) <= looked {
            let some = passed.iter().enumerate().filter(|(segment, _)| spaces[*segment].len() > 0);
            let spots = some.flat_map(|(segment, passed)| {
                passed.iter().map(move |entry| EntryPosition { segment, entry })
            });
            self.found.extend(spots.filter_map(candidate));
            return;
        }
        let from = self.found.len();
        let alike = if looked >= all {
            alike_of_all(&spaces, passed, query, (count, all), wanted)
        } else {
            alike(&spaces, passed, query, looked, wanted)
        };
        self.found.extend(alike.into_iter().filter_map(candidate));
        // Of those whose signs are alike, two of three are nearer than nearly all others.
        let mut near: Vec<f32> = self.found[from..].iter().filter_map(|candidate| candidate.near).collect();
        if !near.is_empty() {
            let third = near.len() / 3;
            let (_, near, _) = near.select_nth_unstable_by(third, f32::total_cmp);
            self.unseen = Some(self.unseen.map_or(*near, |unseen| unseen.max(*near)));
        }
    }
}

/// The entries with the vectors whose signs differ least from the query's, those of a segment together.
/// Everything is counted before anything is chosen, so that nothing depends on what was found before. Of
/// `all` vectors `count` passed.
fn alike_of_all(
    spaces: &[&Space],
    passed: &[Bits],
    query: &Coded,
    (count, all): (usize, usize),
    wanted: usize,
) -> Vec<EntryPosition> {
    let signs = Signs::of(query);
    let mut counts: Vec<u16> = Vec::with_capacity(all + ABREAST);
    let mut starts = Vec::with_capacity(spaces.len());
    for space in spaces {
        starts.push(counts.len());
        space.differ(&signs, &mut counts);
    }
    // If the filter is independent of the distance, this number contains enough of those that passed;
    // otherwise it is doubled until it does.
    let mut rows = (all as f64 * wanted as f64 / count.max(1) as f64).ceil() as usize;
    let mut spots;
    loop {
        let most = least_with(&counts, rows, (query.codes.len() * Signs::MOST) as u16);
        spots = under(spaces, passed, &counts, &starts, most, wanted.saturating_mul(MOST_TIES));
        if spots.len() >= wanted || rows >= all {
            break;
        }
        rows = rows.saturating_mul(2);
    }
    if spaces.iter().any(|space| space.has_many()) {
        spots.sort_unstable();
        spots.dedup();
    }
    spots
}

/// The entries that passed, of the vectors that differ by no more than `most`; limited in number. The counts
/// of a segment begin at its start.
fn under(
    spaces: &[&Space],
    passed: &[Bits],
    counts: &[u16],
    starts: &[usize],
    most: u16,
    most_found: usize,
) -> Vec<EntryPosition> {
    let (mut spots, mut segment) = (Vec::new(), 0);
    Lanes::best().run(EachUnder {
        numbers: counts,
        most,
        take: |place| {
            while starts.get(segment + 1).is_some_and(|start| *start <= place) {
                segment += 1;
            }
            let space = spaces[segment];
            let entry = space.entry(space.cells().vector(place - starts[segment]));
            if spots.len() < most_found && passed[segment].has(entry) {
                spots.push(EntryPosition { segment, entry });
            }
        },
    });
    spots
}

/// The least bound with this many numbers under it; `most` when they are fewer.
fn least_with(numbers: &[u16], wanted: usize, most: u16) -> u16 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low.midpoint(high);
        if Lanes::best().run(CountUnder { numbers, most: middle }) >= wanted {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The entries with the vectors whose signs differ least from the query's, among those in the cells that are
/// nearest to it; in order.
fn alike(
    spaces: &[&Space],
    passed: &[Bits],
    query: &Coded,
    looked: usize,
    wanted: usize,
) -> Vec<EntryPosition> {
    let signs = Signs::of(query);
    let mut nearest = Nearest::new(query.codes.len() * Signs::MOST, wanted);
    let mut near = Vec::new();
    for (segment, cell) in cells(spaces, query, looked) {
        let space = spaces[segment];
        near.clear();
        space.under(cell, &signs, nearest.most as u16, &mut near);
        for (count, vector) in &near {
            let entry = space.entry(*vector as usize);
            if passed[segment].has(entry) {
                nearest.add(*count, EntryPosition { segment, entry });
            }
        }
        nearest.settle();
    }
    nearest.finish()
}

/// The cells to compare, nearest first, and the segment of each: enough to hold `looked` vectors.
fn cells(spaces: &[&Space], query: &Coded, looked: usize) -> Vec<(usize, usize)> {
    let mut cells: Vec<(f32, usize, usize)> = Vec::new();
    for (segment, space) in spaces.iter().enumerate() {
        let all = space.cells();
        cells.extend((0..all.len()).map(|cell| (all.near(cell, query), segment, cell)));
    }
    let size = |(_, segment, cell): &(f32, usize, usize)| spaces[*segment].cells().range(*cell).len();
    let order = |a: &(f32, usize, usize), b: &(f32, usize, usize)| {
        b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)))
    };
    // Nearly always twice as many as would do if all had the same size are enough, and few are to be put in
    // order.
    let all: usize = spaces.iter().map(|space| space.len()).sum();
    let some = (2 * cells.len()).saturating_mul(looked) / all.max(1) + 1;
    if some < cells.len() {
        cells.select_nth_unstable_by(some, order);
        if cells[..some].iter().map(size).sum::<usize>() >= looked {
            cells.truncate(some);
        }
    }
    cells.sort_unstable_by(order);
    let mut left = looked;
    let enough = cells.iter().take_while(|cell| {
        let more = left > 0;
        left = left.saturating_sub(size(cell));
        more
    });
    let mut enough: Vec<&(f32, usize, usize)> = enough.collect();
    // Those without a centre come last, when the bound is low already.
    let without = enough.partition_point(|cell| cell.0 == f32::INFINITY);
    enough.rotate_left(without);
    enough.into_iter().map(|(_, segment, cell)| (*segment, *cell)).collect()
}

/// The entries whose signs differ least so far. The bound falls while enough are found.
struct Nearest {
    most: usize,
    wanted: usize,
    histogram: Vec<usize>,
    under: usize,
    /// Each with its segment and entry in one number.
    kept: Vec<(u16, u64)>,
}

impl Nearest {
    fn new(most: usize, wanted: usize) -> Self {
        Self { most, wanted, histogram: vec![0; most + 1], under: 0, kept: Vec::new() }
    }

    fn add(&mut self, count: u16, spot: EntryPosition) {
        self.kept.push((count, (spot.segment as u64) << 32 | spot.entry as u64));
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

    fn finish(self) -> Vec<EntryPosition> {
        let mut under = self.kept;
        under.retain(|(count, _)| usize::from(*count) <= self.most);
        let most = self.wanted.saturating_mul(MOST_TIES);
        if under.len() > most {
            under.select_nth_unstable(most);
            under.truncate(most);
        }
        let mut spots: Vec<u64> = under.into_iter().map(|(_, spot)| spot).collect();
        spots.sort_unstable();
        spots.dedup();
        let spot = |spot: u64| EntryPosition { segment: (spot >> 32) as usize, entry: spot as u32 as usize };
        spots.into_iter().map(spot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Bodies, Model, Writer};
    use crate::index_change::{IndexChange, Put, Terms};
    use crate::{Facts, ModelId};

    const DIMENSIONS: usize = 48;

    /// Numbers that look thrown and are the same each time.
    fn thrown(seed: u64) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut throw = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        (0..DIMENSIONS).map(|_| throw()).collect()
    }

    /// Like one of a hundred others, as things that are said are.
    fn vector(seed: u64) -> Coded {
        let (around, own) = (thrown(seed % 100), thrown(seed + 1_000));
        let values: Vec<f32> = around.iter().zip(own).map(|(around, own)| around + 0.5 * own).collect();
        Coded::of(&values).unwrap()
    }

    /// Entries of one to three vectors each.
    fn filled(count: u64) -> Writer {
        let models = vec![Model { id: ModelId::new("made"), dimensions: DIMENSIONS }];
        let (mut writer, _) = Writer::open(None, models, &|_, _, _| {}).unwrap();
        let mut bodies = Bodies::default();
        for number in 0..count {
            let own: Vec<Coded> = (0..=number % 3).map(|part| vector(number + part * 1_000_000)).collect();
            let codes: Vec<u8> =
                own.iter().flat_map(|own| &own.codes).map(|code| code.cast_unsigned()).collect();
            bodies.add(&IndexChange::Put(Put {
                id: &format!("e{number}"),
                texts_digest: 0,
                facts_digest: 0,
                facts: Facts::default(),
                terms: Terms(&[]),
                length: 1,
                model: "made",
                scales: own.iter().map(|own| own.scale).collect(),
                codes: &codes,
                texts: b"{}",
            }));
        }
        writer.commit(&bodies.finish()).unwrap();
        writer
    }

    /// Which part of the true ten nearest is found among some entries.
    fn recall(snapshot: &Snapshot, passed: &[Bits], questions: u64) -> f64 {
        let mut found = 0;
        for question in 0..questions {
            let query = [Some(vector(5_000_000 + question))];
            let near = VectorMatches::of(snapshot, passed, &query, 64);
            let spots: Vec<EntryPosition> = near.found.iter().map(|candidate| candidate.spot).collect();
            let mut once = spots.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), spots.len(), "no entry is found twice");
            let all = passed.iter().enumerate();
            let all = all.flat_map(|(segment, passed)| {
                passed.iter().map(move |entry| EntryPosition { segment, entry })
            });
            let near = |spot: &EntryPosition| {
                let space = &snapshot.segments[spot.segment].body.spaces[0];
                space.nearest(spot.entry, query[0].as_ref().unwrap()).unwrap().0
            };
            let mut all: Vec<EntryPosition> = all.collect();
            all.sort_by(|a, b| near(b).total_cmp(&near(a)));
            found += all.iter().take(10).filter(|spot| spots.contains(spot)).count();
        }
        found as f64 / (10 * questions) as f64
    }

    #[test]
    fn few_are_all_compared_and_of_many_nearly_all_of_the_nearest_are_found() {
        let writer = filled(12_000);
        let snapshot = writer.shared().snapshot();
        let everybody: Vec<Bits> =
            snapshot.segments.iter().map(|segment| segment.state.alive.clone()).collect();
        let query = [Some(vector(9_000_000))];
        let near = VectorMatches::of(&snapshot, &everybody, &query, 64);
        assert!(near.unseen.is_some() && near.found.len() < 2_000, "{}", near.found.len());
        assert!(recall(&snapshot, &everybody, 40) > 0.95);
        // A filter that lets every eighth pass leaves so few that all are compared.
        let mut some: Vec<Bits> =
            snapshot.segments.iter().map(|segment| Bits::none(segment.body.len())).collect();
        some.iter_mut().zip(&snapshot.segments).for_each(|(some, segment)| {
            (0..segment.body.len()).step_by(8).for_each(|entry| some.add(entry));
        });
        let near = VectorMatches::of(&snapshot, &some, &query, 64);
        assert_eq!((near.unseen, near.found.len()), (None, 1_500));
        assert!(recall(&snapshot, &some, 10) > 0.999);
        // One that passes half of the entries, but not independently of the distance.
        let mut half = everybody.clone();
        for (half, segment) in half.iter_mut().zip(&snapshot.segments) {
            for entry in 0..segment.body.len() {
                let id = segment.body.names.id(entry);
                half.set(
                    entry,
                    id.trim_start_matches(char::is_alphabetic).parse::<u64>().unwrap() % 100 < 50,
                );
            }
        }
        assert!(recall(&snapshot, &half, 40) > 0.95);
        let near = VectorMatches::of(&snapshot, &half, &query, 64);
        assert!(near.found.iter().all(|near| half[near.spot.segment].has(near.spot.entry)));
    }

    #[test]
    fn without_a_vector_of_the_question_nobody_is_found_by_meaning() {
        let writer = filled(10);
        let snapshot = writer.shared().snapshot();
        let near = VectorMatches::of(&snapshot, &[Bits::all(10)], &[None], 64);
        assert!(near.found.is_empty() && near.unseen.is_none());
    }
}
