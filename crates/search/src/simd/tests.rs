//! Wide loops against plain ones, and both against the definition.
//! Promises: equal means equal bits. Where the processor has no AVX2, only the definition is checked.

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
    width: usize,
}

fn case(rows: usize, inputs: usize, outputs: usize, seed: u64) -> Case {
    let mut next = noise(seed);
    let mut input = || ((next() % 65_535) as i32 - 32_767) as i16;
    let pairs = (0..rows * inputs / 2).map(|_| u32::from(input() as u16) | u32::from(input() as u16) << 16);
    let pairs = pairs.collect();
    let mut next = noise(seed + 1);
    Case {
        width: inputs,
        pairs,
        weights: (0..outputs * inputs).map(|_| ((next() % 255) as i16 - 127) as i8 as u8).collect(),
        scales: (0..outputs * inputs / GROUP).map(|_| next() as f32 / 1e12).collect(),
        bias: (0..outputs).map(|_| next() as f32 / 1e9).collect(),
        row_scales: (0..rows * inputs / GROUP).map(|_| next() as f32 / 1e12).collect(),
    }
}

fn product(lanes: Lanes, case: &Case) -> Vec<f32> {
    let matrix = Packed { weights: &case.weights, scales: &case.scales, bias: &case.bias };
    let mut out = vec![0.0; case.bias.len() * case.pairs.len() * 2 / case.width];
    lanes.linear(matrix, Rows { pairs: &case.pairs, scales: &case.row_scales, width: case.width }, &mut out);
    out
}

proptest! {
    #[test]
    fn wide_and_plain_products_are_the_same_bits(
        rows in 0_usize..20, inputs in 1_usize..5, outputs in 1_usize..5, seed in any::<u32>(),
    ) {
        let case = case(rows, inputs * GROUP, outputs * TILE, u64::from(seed));
        prop_assert_eq!(product(Lanes::best(), &case), product(Lanes::portable(), &case));
    }

    #[test]
    fn wide_and_plain_inner_products_are_the_same(rows in prop::collection::vec((-127..=127i8, -127..=127i8), 0..400)) {
        let (left, right): (Vec<i8>, Vec<i8>) = rows.into_iter().unzip();
        let [wide, plain] = [Lanes::best(), Lanes::portable()].map(|lanes| lanes.dot(&left, &right));
        let exact: i64 = left.iter().zip(&right).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
        prop_assert_eq!((wide, i64::from(wide)), (plain, exact));
    }

    #[test]
    fn numbers_over_a_floor_are_found_in_order(values in prop::collection::vec(0f32..4.0, 0..300), floor in 0f32..4.0) {
        let expected: Vec<usize> = (0..values.len()).filter(|place| values[*place] >= floor).collect();
        for lanes in [Lanes::best(), Lanes::portable()] {
            let mut found = Vec::new();
            lanes.run(Over { values: &values, floor, take: |place| found.push(place) });
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn numbers_over_a_floor_are_counted(values in prop::collection::vec(0f32..4.0, 0..300), floor in 0f32..4.0) {
        let expected = values.iter().filter(|value| **value >= floor).count();
        for lanes in [Lanes::best(), Lanes::portable()] {
            prop_assert_eq!(lanes.run(CountOver { values: &values, floor }), expected);
        }
    }

    #[test]
    fn squares_are_summed_the_same_way_everywhere(values in prop::collection::vec(-4f32..4.0, 0..50)) {
        let [wide, plain] = [Lanes::best(), Lanes::portable()].map(|lanes| lanes.run(Square(&values)));
        let exact: f64 = values.iter().map(|value| f64::from(*value).powi(2)).sum();
        prop_assert_eq!(wide.to_bits(), plain.to_bits());
        prop_assert!((wide - exact).abs() < 1e-9);
    }

    #[test]
    fn bits_that_differ_count_what_the_planes_say(
        rows in (1..8usize).prop_flat_map(|words| prop::collection::vec(prop::collection::vec(any::<u64>(), words), 11..160)),
        most in 0..800u16,
    ) {
        let [query, ones, twos] = [&rows[0], &rows[1], &rows[2]];
        let words = query.len();
        let rows = &rows[..rows.len() / ABREAST * ABREAST];
        let bit = |words: &[u64], at: usize| words[at / 64] >> (at % 64) & 1;
        let differ = |row: &[u64]| -> u64 {
            let differ = (0..64 * words).filter(|at| bit(row, *at) != bit(query, *at));
            differ.map(|at| bit(ones, at) + 2 * bit(twos, at)).sum()
        };
        let all = rows.iter().zip(7..).map(|(row, number)| (differ(row) as u16, number));
        let expected: Vec<(u16, u32)> = all.filter(|(count, _)| *count <= most).collect();
        let line = |rows: &[Vec<u64>], word: usize| Line(std::array::from_fn(|row| rows[row][word]));
        let abreast = |rows: &[Vec<u64>]| (0..words).map(|word| line(rows, word)).collect::<Vec<Line>>();
        let woven: Vec<Line> = rows.chunks(ABREAST).flat_map(abreast).collect();
        for lanes in [Lanes::best(), Lanes::portable()] {
            let mut near = Vec::new();
            lanes.run(Under { query, planes: [ones, twos], rows: &woven, most, from: 7, out: &mut near });
            prop_assert_eq!(&near, &expected);
            let mut counts = vec![0; rows.len()];
            lanes.run(Differ { query, planes: [ones, twos], rows: &woven, out: &mut counts });
            prop_assert_eq!(&counts, &rows.iter().map(|row| differ(row) as u16).collect::<Vec<_>>());
            prop_assert_eq!(lanes.run(CountUnder { numbers: &counts, most }), expected.len());
            let mut places = Vec::new();
            lanes.run(EachUnder { numbers: &counts, most, take: |place| places.push(place as u32 + 7) });
            prop_assert_eq!(&places, &expected.iter().map(|(_, place)| *place).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_product_is_what_the_definition_says() {
    let case = case(3, 2 * GROUP, 2 * TILE, 7);
    let out = product(Lanes::best(), &case);
    for (at, found) in out.iter().enumerate() {
        let (row, tile, output) = (at / (2 * TILE), at / TILE % 2, at % TILE);
        let mut exact = f64::from(case.bias[at % (2 * TILE)]);
        for input in 0..2 * GROUP {
            let word = case.pairs[row * GROUP + input / 2];
            let given = if input % 2 == 0 { word as i16 } else { (word >> 16) as i16 };
            let weight =
                case.weights[tile * 2 * GROUP * TILE + input / 2 * 2 * TILE + output * 2 + input % 2] as i8;
            let factor = case.scales[tile * 2 * TILE + input / GROUP * TILE + output];
            let scale = case.row_scales[row * 2 + input / GROUP];
            exact += f64::from(given) * f64::from(weight) * f64::from(factor) * f64::from(scale);
        }
        assert!((exact - f64::from(*found)).abs() <= exact.abs() * 1e-5 + 1e-6, "{exact} {found}");
    }
}

#[test]
fn the_largest_numbers_of_a_group_do_not_overflow() {
    let pairs = [0x7fff_7fff; GROUP / 2];
    let (weights, scales, bias) = ([127; GROUP * TILE], [1.0; TILE], [0.0; TILE]);
    let matrix = Packed { weights: &weights, scales: &scales, bias: &bias };
    for lanes in [Lanes::best(), Lanes::portable()] {
        let mut out = [0.0; TILE];
        lanes.linear(matrix, Rows { pairs: &pairs, scales: &[1.0], width: GROUP }, &mut out);
        assert_eq!(out, [(128_i32 * 127 * 32_767) as f32; TILE]);
    }
}
