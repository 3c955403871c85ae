//! The encoder: token numbers in, one direction for each text out.
//!
//! Promises: the forward pass of a BERT encoder (six layers, exact GELU, mean over all tokens, length 1) with
//! the weights in their bytes. Inputs of a matrix are rounded to 16 bits of the largest near them, everything
//! else is f32. The result depends only on the tokens of the text: not on its neighbours in a batch, not on
//! the processor. Pure computation; it does not know threads or texts.

use super::weights::{HEADS, Layer, Linear, MOST_TOKENS, Norm, WIDTH, Weights};
use crate::simd::{GROUP, INPUT_PEAK, Lanes, Loop, Rows};

/// Numbers that a head looks at.
const HEAD: usize = WIDTH / HEADS;
/// As in the model's configuration.
const NORM_EPSILON: f32 = 1e-12;

/// The encoder with its weights.
#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) weights: Weights,
    lanes: Lanes,
}

/// The buffers of a pass, used again by the next layer.
#[derive(Default)]
struct Buffers {
    pairs: Vec<u32>,
    scales: Vec<f32>,
    attend: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    change: Vec<f32>,
}

impl Encoder {
    /// The encoder over the embedded weights.
    pub(super) fn new(lanes: Lanes) -> Self {
        Self { weights: Weights::embedded(), lanes }
    }

    /// One direction for each text, given as its tokens.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> Vec<Box<[f32]>> {
        let texts: Vec<&[u32]> =
            texts.iter().map(|tokens| &tokens[..tokens.len().min(MOST_TOKENS)]).collect();
        let mut state = self.first(&texts);
        let mut buffers = Buffers::default();
        for layer in &self.weights.layers {
            self.layer(layer, &texts, &mut state, &mut buffers);
        }
        let mut rest = state.as_slice();
        let pool = |tokens: &&[u32]| {
            let (own, others) = rest.split_at(tokens.len() * WIDTH);
            rest = others;
            self.lanes.run(Pool(own))
        };
        texts.iter().map(pool).collect()
    }

    /// Word and position vectors, normed.
    fn first(&self, texts: &[&[u32]]) -> Vec<f32> {
        let count: usize = texts.iter().map(|tokens| tokens.len()).sum();
        let mut state = vec![0.0; count * WIDTH];
        let places = texts.iter().flat_map(|tokens| tokens.iter().enumerate());
        for (out, (position, word)) in state.chunks_exact_mut(WIDTH).zip(places) {
            self.lanes.run(Begin { weights: &self.weights, word: *word as usize, position, out });
        }
        state
    }

    fn layer(&self, layer: &Layer, texts: &[&[u32]], state: &mut [f32], buffers: &mut Buffers) {
        let Buffers { pairs, scales, attend, context, inner, change } = buffers;
        self.linear(&layer.attend, state, (pairs, scales), attend);
        context.resize(state.len(), 0.0);
        let mut at = 0;
        for tokens in texts {
            let to = at + tokens.len();
            let (given, out) =
                (&attend[at * 3 * WIDTH..to * 3 * WIDTH], &mut context[at * WIDTH..to * WIDTH]);
            self.lanes.run(Attention { given, out, count: tokens.len() });
            at = to;
        }
        self.linear(&layer.output, context, (pairs, scales), change);
        self.lanes.run(Settle { state, change, by: &layer.middle });
        self.linear(&layer.inner, state, (pairs, scales), inner);
        self.lanes.run(Gelu(inner));
        self.linear(&layer.outer, inner, (pairs, scales), change);
        self.lanes.run(Settle { state, change, by: &layer.last });
    }

    fn linear(&self, by: &Linear, given: &[f32], buffer: (&mut Vec<u32>, &mut Vec<f32>), out: &mut Vec<f32>) {
        let (pairs, scales) = buffer;
        pairs.resize(given.len() / 2, 0);
        scales.resize(given.len() / GROUP, 0.0);
        self.lanes.run(Quantise { given, pairs, scales });
        let (matrix, width) = (by.packed(), by.inputs());
        out.resize(given.len() / width * matrix.bias.len(), 0.0);
        self.lanes.linear(matrix, Rows { pairs, scales, width }, out);
    }
}

/// The vectors of a word and of its position, normalised.
struct Begin<'a> {
    weights: &'a Weights,
    word: usize,
    position: usize,
    out: &'a mut [f32],
}

impl Loop for Begin<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { weights, word, position, out } = self;
        weights.words.add(word, out);
        weights.positions.add(position, out);
        norm(out, &weights.first);
    }
}

/// Rounds all groups of some rows.
struct Quantise<'a> {
    given: &'a [f32],
    pairs: &'a mut [u32],
    scales: &'a mut [f32],
}

impl Loop for Quantise<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { given, pairs, scales } = self;
        let groups = pairs.chunks_exact_mut(GROUP / 2).zip(given.chunks_exact(GROUP)).zip(scales);
        groups.for_each(|((pairs, group), scale)| *scale = quantise_group(group, pairs));
    }
}

/// Rounds a group to whole numbers up to [`INPUT_PEAK`], two to a word; gives the scale.
#[inline(always)]
fn quantise_group(group: &[f32], pairs: &mut [u32]) -> f32 {
    // Adding it leaves a number's whole part, rounded to even, in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    // Smaller ones are nothing, and their factor would not be a number.
    const LEAST: f32 = 1e-30;
    let mut peaks = [LEAST; 8];
    for eight in group.chunks_exact(8) {
        peaks.iter_mut().zip(eight).for_each(|(peak, value)| *peak = peak.max(value.abs()));
    }
    let peak = peaks.into_iter().fold(LEAST, f32::max);
    let factor = INPUT_PEAK / peak;
    for (pair, two) in pairs.iter_mut().zip(group.chunks_exact(2)) {
        let [low, high] = [two[0], two[1]].map(|value| (value * factor + ROUND).to_bits() & 0xffff);
        *pair = low | high << 16;
    }
    peak / INPUT_PEAK
}

/// Scaled dot-product attention of all heads over one text's queries, keys and values.
struct Attention<'a> {
    given: &'a [f32],
    out: &'a mut [f32],
    count: usize,
}

impl Loop for Attention<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { given, out, count } = self;
        let mut keys = vec![0.0; HEAD * count];
        let mut shares = vec![0.0; count];
        let factor = 1.0 / (HEAD as f32).sqrt();
        for head in 0..HEADS {
            let of =
                |token: usize, part: usize| &given[token * 3 * WIDTH + part * WIDTH + head * HEAD..][..HEAD];
            for token in 0..count {
                of(token, 1).iter().enumerate().for_each(|(at, key)| keys[at * count + token] = *key);
            }
            for token in 0..count {
                shares.fill(0.0);
                for (query, keys) in of(token, 0).iter().zip(keys.chunks_exact(count)) {
                    let query = query * factor;
                    shares.iter_mut().zip(keys).for_each(|(share, key)| *share += query * key);
                }
                let total = exponentials(&mut shares);
                let mut sums = [0.0; HEAD];
                for (other, share) in shares.iter().enumerate() {
                    sums.iter_mut().zip(of(other, 2)).for_each(|(sum, value)| *sum += share * value);
                }
                let out = &mut out[token * WIDTH + head * HEAD..][..HEAD];
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum / total);
            }
        }
    }
}

/// Replaces each number by its exponential, the largest taken as 0; gives their sum.
#[inline(always)]
fn exponentials(values: &mut [f32]) -> f32 {
    let peak = values.iter().copied().fold(f32::MIN, f32::max);
    values.iter_mut().for_each(|value| *value = exponential(*value - peak));
    values.iter().sum()
}

/// e to the power of a number that is not positive, within 4e-6 of its value: two to the power of the whole
/// part by the exponent's bits, of the rest by its series.
#[inline(always)]
fn exponential(value: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let twos = value.max(-87.0) * std::f32::consts::LOG2_E;
    let rounded = twos + ROUND;
    let rest = (twos - (rounded - ROUND)) * std::f32::consts::LN_2;
    let series = 1.0 / 120.0 + rest * (1.0 / 720.0);
    let series = 1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest * series))));
    let whole = rounded.to_bits().wrapping_sub(ROUND.to_bits());
    f32::from_bits(series.to_bits().wrapping_add(whole << 23))
}

/// The exact GELU, half the number times (1 + erf(number / √2)); erf by formula 7.1.26 of Abramowitz and
/// Stegun, within 1.5e-7.
struct Gelu<'a>(&'a mut [f32]);

impl Loop for Gelu<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let values = self.0;
        for value in values {
            let size = value.abs() * std::f32::consts::FRAC_1_SQRT_2;
            let share = 1.0 / (1.0 + 0.327_591_1 * size);
            let sum = -1.453_152_1 + share * 1.061_405_4;
            let sum = share * (0.254_829_6 + share * (-0.284_496_74 + share * (1.421_413_7 + share * sum)));
            let erf = 1.0 - sum * exponential(-size * size);
            *value = 0.5 * *value * (1.0 + erf.copysign(*value));
        }
    }
}

/// Adds a change to the state of each token and norms it.
struct Settle<'a> {
    state: &'a mut [f32],
    change: &'a [f32],
    by: &'a Norm,
}

impl Loop for Settle<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { state, change, by } = self;
        for (state, change) in state.chunks_exact_mut(WIDTH).zip(change.chunks_exact(WIDTH)) {
            state.iter_mut().zip(change).for_each(|(state, change)| *state += change);
            norm(state, by);
        }
    }
}

/// Mean 0 and variance 1, then gain and offset.
#[inline(always)]
fn norm(row: &mut [f32], by: &Norm) {
    let mean = sum(row, |value| value) / WIDTH as f32;
    let variance = sum(row, |value| (value - mean) * (value - mean)) / WIDTH as f32;
    let factor = 1.0 / (variance + NORM_EPSILON).sqrt();
    for ((value, gain), offset) in row.iter_mut().zip(&by.gain).zip(&by.offset) {
        *value = (*value - mean) * factor * gain + offset;
    }
}

/// A sum in eight lanes, so that its order is the same on every processor.
#[inline(always)]
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; 8];
    for eight in row.chunks_exact(8) {
        lanes.iter_mut().zip(eight).for_each(|(lane, value)| *lane += of(*value));
    }
    lanes.iter().sum()
}

/// The mean over all tokens, of length 1.
struct Pool<'a>(&'a [f32]);

impl Loop for Pool<'_> {
    type Out = Box<[f32]>;

    #[inline(always)]
    fn run(self) -> Box<[f32]> {
        let state = self.0;
        let mut mean = vec![0.0; WIDTH];
        for token in state.chunks_exact(WIDTH) {
            mean.iter_mut().zip(token).for_each(|(mean, value)| *mean += value);
        }
        let length = sum(&mean, |value| value * value).sqrt().max(f32::MIN_POSITIVE);
        mean.iter_mut().for_each(|value| *value /= length);
        mean.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for step in 0..4000 {
            let value = -(step as f32) * 0.02;
            let exact = f64::from(value).exp();
            let found = f64::from(exponential(value));
            assert!((found - exact).abs() <= exact * 4e-6, "{value}: {found} {exact}");
        }
        assert_eq!(exponential(0.0), 1.0);
        assert!(exponential(f32::MIN) < 1e-37);
    }

    #[test]
    fn gelu_is_the_exact_one() {
        // x · Φ(x), from a table of the normal distribution.
        let known = [
            (-3.0, -0.004_049_6),
            (-1.0, -0.158_655_25),
            (0.0, 0.0),
            (0.5, 0.345_731_23),
            (2.0, 1.954_499_7),
        ];
        for (value, exact) in known {
            let mut values = [value];
            Gelu(&mut values).run();
            assert!((values[0] - exact).abs() < 1e-6, "{value}: {} {exact}", values[0]);
        }
    }

    #[test]
    fn rows_are_rounded_to_the_nearest_multiple() {
        let row: Vec<f32> = (0..16).map(|at| (at as f32 - 7.3) * 0.37).collect();
        let mut pairs = [0; 8];
        let scale = quantise_group(&row, &mut pairs);
        for (at, value) in row.iter().enumerate() {
            let whole = (pairs[at / 2] >> (at % 2 * 16)) as i16;
            assert!((f32::from(whole) * scale - value).abs() <= scale * 0.51, "{at}");
        }
        assert!(quantise_group(&[0.0; 16], &mut pairs).is_finite());
        assert_eq!(pairs, [0; 8]);
    }

    #[test]
    fn wide_and_plain_loops_give_the_same_vectors() {
        let texts = [vec![101, 2054, 2003, 2023, 102], vec![101, 102], (0..70).collect()];
        let [wide, plain] =
            [Lanes::best(), Lanes::portable()].map(|lanes| Encoder::new(lanes).encode(&texts));
        assert_eq!(wide, plain);
    }

    #[test]
    fn a_text_does_not_feel_its_neighbours() {
        let encoder = Encoder::new(Lanes::best());
        let texts = [vec![101, 2054, 102], vec![101, 102], vec![101, 3000, 3001, 3002, 102]];
        let together = encoder.encode(&texts);
        for (text, vector) in texts.iter().zip(together) {
            assert_eq!(encoder.encode(std::slice::from_ref(text)), [vector]);
        }
    }
}
