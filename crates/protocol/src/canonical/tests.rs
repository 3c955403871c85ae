//! Facts of RFC 8785: its own examples, and what has no canonical form.
//!
//! The values are those that the RFC publishes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn canonical(json: &str) -> String {
    String::from_utf8(canonical_json(&read_unambiguous(json.as_bytes()).unwrap()).unwrap()).unwrap()
}

fn written(value: f64) -> String {
    String::from_utf8(canonical_json(&json!(value)).unwrap()).unwrap()
}

#[test]
fn the_example_of_section_3_2_gives_its_published_bytes() {
    let given = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let wanted = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                  \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    assert_eq!(canonical(given), wanted);
}

#[test]
fn members_are_sorted_by_utf_16_code_units() {
    let given = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let text = canonical(given);
    let order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"];
    let places: Vec<usize> = order.iter().map(|word| text.find(word).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn the_numbers_of_appendix_b_are_written_as_published() {
    for (bits, wanted) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(written(f64::from_bits(bits)), wanted, "{bits:016x}");
    }
}

#[test]
fn what_readers_could_take_for_two_values_is_refused() {
    let told = |json: &str| read_unambiguous(json.as_bytes()).unwrap_err().to_string();
    assert!(told(r#"{"a":1,"b":{"c":1,"c":2}}"#).contains("`c` occurs twice"));
    assert!(told("{").contains("not readable"));
    let large = canonical_json(&json!({ "n": 9_007_199_254_740_993_u64 })).unwrap_err();
    assert!(matches!(large, NoCanonicalForm::Number(_)));
    assert_eq!(canonical("[9007199254740991,-9007199254740991]"), "[9007199254740991,-9007199254740991]");
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(canonical_json(&deep).unwrap_err(), NoCanonicalForm::Depth);
}

proptest! {
    #[test]
    fn every_double_reads_back_from_what_is_written(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        prop_assert_eq!(written(value).parse::<f64>().unwrap(), value);
    }

    #[test]
    fn the_canonical_form_is_its_own_canonical_form(names in proptest::collection::vec(any::<String>(), 0..8), number: i32) {
        let members: Map<String, Value> = names.into_iter().map(|name| (name.clone(), json!([name, number]))).collect();
        let once = canonical_json(&Value::Object(members)).unwrap();
        let again = canonical_json(&read_unambiguous(&once).unwrap()).unwrap();
        prop_assert_eq!(once, again);
    }
}
