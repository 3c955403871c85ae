use super::*;
use proptest::prelude::*;

/// Numbers that look random and are the same in each run.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

struct Case {
    weights: Vec<u8>,
    scales: Vec<f32>,
    bias: Vec<f32>,
    pairs: Vec<u32>,
    row_scales: Vec<f32>,
}

fn case(rows: usize, inputs: usize, outputs: usize, seed: u64) -> Case {
    let mut next = noise(seed);
    let mut input = || (next() % 16_383) as i16 - 8191;
    let pairs = (0..rows * inputs / 2).map(|_| u32::from(input() as u16) | u32::from(input() as u16) << 16);
    let pairs = pairs.collect();
    let mut next = noise(seed + 1);
    Case {
        pairs,
        weights: (0..outputs * inputs).map(|_| ((next() % 255) as i16 - 127) as i8 as u8).collect(),
        scales: (0..outputs).map(|_| next() as f32 / 1e12).collect(),
        bias: (0..outputs).map(|_| next() as f32 / 1e9).collect(),
        row_scales: (0..rows).map(|_| next() as f32 / 1e12).collect(),
    }
}

fn product(lanes: Lanes, case: &Case) -> Vec<f32> {
    let matrix = Packed { weights: &case.weights, scales: &case.scales, bias: &case.bias };
    let mut out = vec![0.0; case.scales.len() * case.row_scales.len()];
    lanes.linear(matrix, Rows { pairs: &case.pairs, scales: &case.row_scales }, &mut out);
    out
}

proptest! {
    #[test]
    fn wide_and_plain_products_are_the_same_bits(
        rows in 0_usize..20, inputs in 1_usize..40, outputs in 1_usize..5, seed in any::<u32>(),
    ) {
        let case = case(rows, inputs * 2, outputs * TILE, u64::from(seed));
        prop_assert_eq!(product(Lanes::best(), &case), product(Lanes::portable(), &case));
    }

    #[test]
    fn wide_and_plain_inner_products_are_the_same(left in prop::collection::vec(any::<i8>(), 384), seed in any::<u32>()) {
        let mut next = noise(u64::from(seed));
        let rows: Vec<i8> = (0..384 * 7).map(|_| next() as i8).collect();
        let [mut wide, mut plain] = [[0; 7]; 2];
        dots_i8(Lanes::best(), &left, &rows, &mut wide);
        dots_i8(Lanes::portable(), &left, &rows, &mut plain);
        prop_assert_eq!(wide, plain);
        let exact: i64 = left.iter().zip(&rows).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
        prop_assert_eq!(i64::from(wide[0]), exact);
    }

    #[test]
    fn bits_that_differ_are_counted(left in any::<[u64; 6]>(), right in any::<[u64; 6]>()) {
        let [mut wide, mut plain] = [[0; 2]; 2];
        hammings(Lanes::best(), &left, &[right, left], &mut wide);
        hammings(Lanes::portable(), &left, &[right, left], &mut plain);
        prop_assert_eq!(wide, plain);
        let bits = |word: u64, bit: u32| word >> bit & 1;
        let differ = (0..384).filter(|at| bits(left[at / 64], *at as u32 % 64) != bits(right[at / 64], *at as u32 % 64));
        prop_assert_eq!((usize::from(wide[0]), wide[1]), (differ.count(), 0));
    }
}

#[test]
fn a_product_is_what_the_definition_says() {
    let case = case(3, 8, TILE, 7);
    let out = product(Lanes::best(), &case);
    for row in 0..3 {
        for output in 0..TILE {
            let mut sum = 0_i64;
            for input in 0..8 {
                let word = case.pairs[row * 4 + input / 2];
                let given = if input % 2 == 0 { word as i16 } else { (word >> 16) as i16 };
                let weight = case.weights[input / 2 * 2 * TILE + output * 2 + input % 2] as i8;
                sum += i64::from(given) * i64::from(weight);
            }
            let exact = sum as f64 * f64::from(case.scales[output]) * f64::from(case.row_scales[row])
                + f64::from(case.bias[output]);
            let found = f64::from(out[row * TILE + output]);
            assert!((exact - found).abs() <= exact.abs() * 1e-5 + 1e-9, "{exact} {found}");
        }
    }
}

#[test]
fn the_largest_numbers_of_the_longest_row_do_not_overflow() {
    let pairs = vec![8191 << 16 | 8191; 768];
    let (weights, scales, bias) = (vec![127; 1536 * TILE], [1.0; TILE], [0.0; TILE]);
    let mut out = [0.0; TILE];
    let matrix = Packed { weights: &weights, scales: &scales, bias: &bias };
    Lanes::best().linear(matrix, Rows { pairs: &pairs, scales: &[1.0] }, &mut out);
    assert_eq!(out, [(1536_i32 * 127 * 8191) as f32; TILE]);
}
