//! How a cell is halved: two centroids by k-means, and whether the two of another site will do.
//!
//! Promises: a pure function of the vectors and their order, with whole numbers and one rounding, so that
//! two sites with the same copy find the same centroids. A split that does not divide is not made. A
//! foreign split is judged by the own copy: it must divide it as well as the own split would, nearly.

use std::sync::Arc;

use crate::vectors::VectorCodes;

/// How many vectors are looked at, evenly spread: more do not move the centres.
const SAMPLE: usize = 1_024;
/// Rounds of k-means; the centres move little after the first five.
const ROUNDS: usize = 10;
/// Least share of the smaller half: below, a split moves few vectors and costs a level of the tree.
const LEAST_SHARE: f64 = 0.15;
/// How near to the own split a foreign one must be, by the mean cosine to the nearer centre.
const GOOD_ENOUGH: f64 = 0.97;
/// From how many different pairs of vectors k-means begins; the most even result counts.
const STARTS: usize = 2;

/// Two centres that halve these vectors; none when nothing does.
#[must_use]
pub fn halve(vectors: &[&VectorCodes]) -> Option<[VectorCodes; 2]> {
    let sample = sample(vectors);
    let tries = (0..STARTS).filter_map(|start| {
        let centres = two_means(&sample, start)?;
        let (share, _) = quality(&sample, &centres);
        (share >= LEAST_SHARE).then_some((share, start, centres))
    });
    let best = tries.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    best.map(|(_, _, centres)| centres)
}

/// Whether a split that another site proposes halves these vectors about as well as our own would.
#[must_use]
pub fn is_acceptable(vectors: &[&VectorCodes], centres: &[VectorCodes; 2]) -> bool {
    let sample = sample(vectors);
    let (share, near) = quality(&sample, centres);
    let own = halve(vectors).map_or(0.0, |own| quality(&sample, &own).1);
    share >= LEAST_SHARE * 0.8 && near >= own * GOOD_ENOUGH
}

fn sample<'a>(vectors: &[&'a VectorCodes]) -> Vec<&'a VectorCodes> {
    let step = vectors.len().div_ceil(SAMPLE).max(1);
    vectors.iter().step_by(step).copied().collect()
}

/// The share of the smaller half, and the mean cosine to the nearer centre.
fn quality(sample: &[&VectorCodes], centres: &[VectorCodes; 2]) -> (f64, f64) {
    let (mut first, mut sum) = (0_usize, 0.0);
    for vector in sample {
        let (one, other) = (centres[0].nearness(vector), centres[1].nearness(vector));
        first += usize::from(one >= other);
        sum += one.max(other);
    }
    let count = sample.len().max(1);
    (first.min(sample.len() - first) as f64 / count as f64, sum / count as f64)
}

fn two_means(sample: &[&VectorCodes], start: usize) -> Option<[VectorCodes; 2]> {
    let seed = *sample.get(sample.len() * start / STARTS)?;
    let farthest = |from: &VectorCodes| {
        let order =
            |one: &&&VectorCodes, other: &&&VectorCodes| from.nearness(one).total_cmp(&from.nearness(other));
        sample.iter().min_by(order).map(|vector| (*vector).clone())
    };
    let one = farthest(seed)?;
    let mut centres = [farthest(&one)?, one];
    for _ in 0..ROUNDS {
        let sides = |vector: &VectorCodes| centres[0].nearness(vector) >= centres[1].nearness(vector);
        let (first, second): (Vec<&VectorCodes>, Vec<&VectorCodes>) =
            sample.iter().copied().partition(|vector| sides(vector));
        let next = [mean(&first)?, mean(&second)?];
        if next == centres {
            break;
        }
        centres = next;
    }
    // One order, so that the same halves have the same digest.
    if centres[0].codes() > centres[1].codes() {
        centres.swap(0, 1);
    }
    Some(centres)
}

/// The direction of the sum of directions.
fn mean(vectors: &[&VectorCodes]) -> Option<VectorCodes> {
    let length = vectors.first()?.codes().len();
    // Each vector counts alike: it is brought to the length 1,000,000 first.
    let mut sum = vec![0_i64; length];
    for vector in vectors.iter().filter(|vector| vector.codes().len() == length) {
        let scale = vector.scale();
        for (sum, code) in sum.iter_mut().zip(vector.codes()) {
            *sum += i64::from(*code) * scale;
        }
    }
    let peak = sum.iter().map(|value| value.unsigned_abs()).max().filter(|peak| *peak > 0)?;
    let peak = i64::try_from(peak).ok()?;
    // Rounded to the nearest whole number, halves away from zero.
    let code = |value: &i64| {
        let doubled = value * 254;
        let rounded = (doubled.abs() + peak) / (2 * peak) * doubled.signum();
        i8::try_from(rounded).unwrap_or(0)
    };
    VectorCodes::from_codes(sum.iter().map(code).collect::<Arc<[i8]>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::SeededRng;

    /// Vectors around two directions, with noise.
    fn two_heaps(count: usize, share: usize) -> Vec<VectorCodes> {
        let rng = SeededRng::new(7);
        let noise = || (rng.next() % 1_000) as f32 / 1_000.0 - 0.5;
        (0..count)
            .map(|number| {
                let heap = usize::from(number % share == 0);
                let values: Vec<f32> =
                    (0..32).map(|place| f32::from(u8::from(place / 16 == heap)) + 0.5 * noise()).collect();
                VectorCodes::of(&values).unwrap()
            })
            .collect()
    }

    #[test]
    fn two_heaps_are_told_apart_and_any_order_gives_halves_that_will_do() {
        let vectors = two_heaps(1_000, 3);
        let mut all: Vec<&VectorCodes> = vectors.iter().collect();
        let centres = halve(&all).unwrap();
        let first = vectors.iter().filter(|one| centres[0].nearness(one) >= centres[1].nearness(one)).count();
        assert!([334, 666].contains(&first), "{first}");
        assert!(is_acceptable(&all, &centres));
        all.reverse();
        assert!(is_acceptable(&all, &centres), "a copy in another order");
    }

    #[test]
    fn what_cannot_be_halved_is_not() {
        let one = VectorCodes::of(&[1.0, 0.5]).unwrap();
        assert!(halve(&[]).is_none());
        assert!(halve(&vec![&one; 100]).is_none(), "all alike");
    }

    #[test]
    fn a_split_that_does_not_divide_or_divides_badly_is_refused() {
        let vectors = two_heaps(1_000, 3);
        let all: Vec<&VectorCodes> = vectors.iter().collect();
        let [one, _] = halve(&all).unwrap();
        let away = VectorCodes::from_codes(one.codes().iter().map(|code| -code).collect()).unwrap();
        assert!(!is_acceptable(&all, &[one.clone(), one]), "everything on one side");
        let across: Vec<f32> = (0..32).map(|place| if place % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let across = VectorCodes::of(&across).unwrap();
        assert!(!is_acceptable(&all, &[across, away]));
    }
}
