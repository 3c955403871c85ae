//! Facts about expressions: their values, and the errors for invalid ones.
//!
//! The tables read as a manual: the left side is what people type.

use proptest::prelude::*;

use super::*;

fn result(text: &str) -> String {
    match answer(text) {
        Some(Ok(result)) => result,
        Some(Err(error)) => format!("error: {error}"),
        None => "nothing".into(),
    }
}

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(result(text), *expected, "{text}");
    }
}

#[test]
fn operators_bind_as_at_school() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("100 / 10 / 2", "5"),
        ("2 ^ 3 ^ 2", "512"),
        ("2 ** 10", "1024"),
        ("-2 ^ 2", "-4"),
        ("(-2) ^ 2", "4"),
        ("2 ^ -1", "0.5"),
        ("2 * -3", "-6"),
        ("--3", "3"),
        ("+3 - +2", "1"),
        ("3! + 1", "7"),
        ("-3!", "-6"),
        ("2 ^ 3!", "64"),
        ("7 × 6 ÷ 2", "21"),
        ("7 − 2", "5"),
        ("17 % 5", "2"),
        ("17 mod 5", "2"),
        ("-1 mod 12", "11"),
        ("10 % -3", "-2"),
        ("7.5 mod 2", "1.5"),
        ("[2 + 3] * {4}", "20"),
    ]);
}

#[test]
fn operands_side_by_side_are_multiplied() {
    check(&[
        ("2pi", "6.28318530717959"),
        ("3(4 + 5)", "27"),
        ("(1 + 1)(2 + 2)", "8"),
        ("2 sqrt 9", "6"),
        ("2e", "5.43656365691809"),
    ]);
}

#[test]
fn numbers_are_read_as_people_write_them() {
    check(&[
        ("1_000_000", "1000000"),
        ("1,000,000 + 1", "1000001"),
        ("1,234.5", "1234.5"),
        ("0xFF + 0b11", "258"),
        ("1.5e3", "1500"),
        ("2E-3", "0.002"),
        (".5 + 5.", "5.5"),
        ("sqrt(1,000,000)", "1000"),
    ]);
}

#[test]
fn percentages_mean_what_a_pocket_calculator_means() {
    check(&[
        ("15% of 80", "12"),
        ("15 percent of 80", "12"),
        ("200 + 10%", "220"),
        ("200 - 10%", "180"),
        ("200 + 10% - 20", "200"),
        ("80 * 15%", "12"),
        ("50%", "0.5"),
        ("10% + 5%", "0.15"),
        ("50% of 50% of 80", "20"),
        ("3/4 of 80", "60"),
        ("7% * 3", "0.21"),
    ]);
}

#[test]
fn functions_take_parentheses_or_the_next_operand() {
    check(&[
        ("sqrt(16)", "4"),
        ("sqrt 16 + 9", "13"),
        ("√2", "1.4142135623731"),
        ("cbrt(27)", "3"),
        ("sin(pi)", "0"),
        ("cos(π)", "-1"),
        ("tan(pi/4)", "1"),
        ("asin(1) * 2 - pi", "0"),
        ("acos 1", "0"),
        ("atan(1) * 4", "3.14159265358979"),
        ("ln(e)", "1"),
        ("log(1000)", "3"),
        ("log2(1024)", "10"),
        ("exp(0)", "1"),
        ("abs(-5)", "5"),
        ("floor(-2.5)", "-3"),
        ("ceil(2.1)", "3"),
        ("round(2.5)", "3"),
        ("min(3, 1, 2)", "1"),
        ("max(1,234)", "234"),
        ("max(1, sqrt(1,000,000))", "1000"),
        ("gcd(12, 18)", "6"),
        ("lcm(4, 6, 10)", "60"),
        ("tau / pi", "2"),
    ]);
}

#[test]
fn whole_numbers_are_exact_as_long_as_they_fit() {
    check(&[
        ("2^126", "85070591730234615865843651857942052864"),
        ("33!", "8683317618811886495518194401280000000"),
        ("9999999999999999999 * 9999999999999999999", "99999999999999999980000000000000000001"),
        ("10^30 / 10^29", "10"),
        ("2^200", "1.60693804425899e60"),
        ("170!", "7.25741561530799e306"),
        ("sqrt(10^36)", "1000000000000000000"),
        ("7 / 2", "3.5"),
    ]);
}

#[test]
fn the_noise_of_binary_fractions_does_not_show() {
    check(&[
        ("0.1 + 0.2", "0.3"),
        ("1/3", "0.333333333333333"),
        ("1.1 * 1.1", "1.21"),
        ("1e21 + 0.5", "1e21"),
        ("1/10^9", "1e-9"),
        ("123456.789", "123456.789"),
        ("0.00001", "0.00001"),
        ("-0.0", "0"),
        ("1.5e300", "1.5e300"),
        ("999999999999999.9 + 0", "1e15"),
    ]);
}

#[test]
fn a_question_around_an_expression_is_understood() {
    check(&[
        ("what is 2+2?", "4"),
        ("What's 2 + 2 ?", "4"),
        ("calculate 3*4", "12"),
        ("= 5", "5"),
        ("2 + 3 =", "5"),
        ("Please compute: 7 plus 8 times 2.", "23"),
        ("how much is 15% of 80, please", "12"),
        ("10 divided by 4", "2.5"),
        ("3 x 4", "12"),
        ("`1 + 1`", "2"),
        ("5!", "120"),
    ]);
}

#[test]
fn no_expression_is_no_error() {
    check(&[("", "nothing"), ("  \n ", "nothing"), ("what is", "nothing"), ("=?", "nothing")]);
}

#[test]
fn errors_point_at_the_place_and_say_what_was_expected() {
    check(&[
        ("2 + * 3", "error: position 5: expected a number, found `*`"),
        ("what is 2 + ?", "error: position 12: expected a number, found the end"),
        ("(1 + 2", "error: position 7: expected an operator or `)`, found the end"),
        ("1 2", "error: position 3: expected an operator or the end, found the number 2"),
        ("1)", "error: position 2: expected an operator or the end, found `)`"),
        ("2 $ 3", "error: position 3: `$` has no meaning in an expression"),
        (
            "ü + ☃",
            "error: position 1: unknown function or constant `ü`; known: sqrt, sin, ln, log, abs, min, max, \
             pi, e and others",
        ),
        ("0xZZ", "error: position 1: `0xZZ` is not a number"),
        ("1..2", "error: position 3: expected an operator or the end, found the number 0.2"),
        ("sqrt(1, 2)", "error: position 1: `sqrt` takes one number, not 2"),
        ("min()", "error: position 1: `min` takes one number or more, not 0"),
        ("(1, 2)", "error: position 1: expected one expression in parentheses, found a list"),
    ]);
}

#[test]
fn arithmetic_without_a_result_is_a_clear_sentence() {
    check(&[
        ("1 / 0", "error: position 3: division by zero has no result"),
        ("1 mod 0", "error: position 3: division by zero has no result"),
        ("0 ^ -1", "error: position 3: division by zero has no result"),
        (
            "10 ^ 400",
            "error: position 4: the result is too large; the largest possible number is about 1.8e308",
        ),
        ("171!", "error: position 4: the factorial is too large; 170! is the largest possible"),
        ("2.5!", "error: position 4: only whole numbers from 0 on have a factorial"),
        ("sqrt(-1)", "error: position 1: the square root of a negative number has no real result"),
        ("(-8) ^ 0.5", "error: position 6: a fractional power of a negative number has no real result"),
        ("ln 0", "error: position 1: the logarithm of zero or less has no real result"),
        ("tan(pi/2)", "error: position 1: the tangent of a right angle has no real result"),
        ("gcd(1.5, 2)", "error: position 1: `gcd` takes whole numbers only"),
    ]);
}

#[test]
fn length_and_depth_are_limited() {
    assert_eq!(
        result(&"1+".repeat(MAX_LENGTH)),
        "error: the expression is longer than 10000 bytes; split it"
    );
    let deep = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000 - 1));
    assert!(result(&deep).contains("nested more than 64 deep"), "{}", result(&deep));
    assert!(result(&"-".repeat(9_999)).contains("nested more than 64 deep"));
    assert_eq!(result(&format!("{}1", "1+".repeat(4_000))), "4001");
    let bearable = format!("{}1{}", "(".repeat(60), ")".repeat(60));
    assert_eq!(result(&bearable), "1");
}

proptest! {
    #[test]
    fn nothing_that_is_typed_makes_it_panic(text in "\\PC{0,60}") {
        let _ = answer(&text);
    }

    #[test]
    fn nothing_that_looks_like_an_expression_makes_it_panic(
        text in "([0-9.,%!()^*/+ -]|0x|e|of|mod|sqrt|max|lcm|gcd|9999999999999){0,40}"
    ) {
        let _ = answer(&text);
    }

    #[test]
    fn sums_and_products_of_whole_numbers_are_exact(one: i64, two: i64) {
        let (a, b) = (i128::from(one), i128::from(two));
        prop_assert_eq!(result(&format!("({one}) + ({two})")), (a + b).to_string());
        prop_assert_eq!(result(&format!("({one}) * ({two})")), (a * b).to_string());
    }

    #[test]
    fn what_is_written_is_read_back(number in -1e14_f64..1e14) {
        let shown = result(&format!("0 + {number:e}"));
        let again: f64 = shown.parse().unwrap();
        prop_assert!((again - number).abs() <= number.abs() * 1e-14);
    }
}
