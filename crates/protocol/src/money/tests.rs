//! What money promises: nothing is rounded, nothing panics, what is printed is read back.
//!
//! The forms of earlier versions are read here too. Filters of the index have their tests in `search`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Filter, listing::Listing};

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn any_asset() -> impl Strategy<Value = Asset> {
    prop_oneof![
        3 => Just(Asset::CREDIT),
        2 => prop::sample::select(vec!["USD", "JPY", "USDC"]).prop_map(|code| code.parse().unwrap()),
        2 => ("[A-Z][A-Z0-9]{5}", 0..=MAX_DECIMALS).prop_map(|(code, decimals)| {
            format!("{code}/{decimals}").parse().unwrap()
        }),
    ]
}

fn any_money() -> impl Strategy<Value = Money> {
    let minor = prop_oneof![any::<u64>(), 0..10_000_000_u64, Just(u64::MAX), Just(0)];
    (minor, any_asset()).prop_map(|(minor, asset)| Money::new(minor, asset))
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(money in any_money()) {
        prop_assert_eq!(money.to_string().parse::<Money>(), Ok(money));
        prop_assert_eq!(Money::parse_amount(&money.amount(), money.asset), Ok(money));
        prop_assert_eq!(money.asset.to_string().parse::<Asset>(), Ok(money.asset));
        let text = serde_json::to_string(&money).unwrap();
        prop_assert_eq!(serde_json::from_str::<Money>(&text).unwrap(), money, "{}", text);
        let value = serde_json::to_value(money).unwrap();
        prop_assert_eq!(serde_json::from_value::<Money>(value).unwrap(), money);
    }

    #[test]
    fn a_number_is_read_by_its_digits(whole in 0..1_000_000_000_u64, millionths in 0..1_000_000_u64) {
        let text = format!("{whole}.{millionths:06}");
        let read: Money = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read.minor, whole * 1_000_000 + millionths);
        prop_assert_eq!(read, text.parse().unwrap());
        // As the same number that a version with doubles wrote.
        let double: f64 = text.parse().unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&double).unwrap());
    }

    #[test]
    fn arithmetic_is_exact_or_an_error(one in any_money(), two in any_money(), times in any::<u64>()) {
        let two_alike = Money { asset: one.asset, ..two };
        let wide = u128::from(one.minor) + u128::from(two.minor);
        let sum = one.checked_add(two_alike);
        prop_assert_eq!(sum.clone().ok().map(|sum| u128::from(sum.minor)), u64::try_from(wide).ok().map(u128::from));
        if let Ok(sum) = sum {
            prop_assert_eq!(sum.checked_sub(two_alike), Ok(one));
            prop_assert!(sum >= one);
        }
        prop_assert_eq!(one.checked_sub(two_alike).is_ok(), one >= two_alike);
        prop_assert_eq!(one.checked_mul(times).ok().map(|money| money.minor), one.minor.checked_mul(times));
        if one.asset != two.asset {
            prop_assert_eq!(one.partial_cmp(&two), None);
            prop_assert_eq!(one.checked_add(two), Err(BadMoney::OtherAsset(one.asset, two.asset)));
            prop_assert!(one.checked_sub(two).is_err());
        }
    }

    #[test]
    fn no_text_and_no_number_panics(text in "\\PC{0,30}", digits in "[-0-9.eE/A-Z ]{0,30}", number in any::<f64>()) {
        for text in [text, digits] {
            let _ = (text.parse::<Money>(), text.parse::<Asset>());
            let _ = serde_json::from_value::<Money>(json!({ "amount": text, "asset": text }));
        }
        let filter = serde_json::from_value::<Filter>(json!({ "maxPrice": number }));
        prop_assert_eq!(filter.is_ok(), !number.is_finite() || number >= 0.0);
        let _ = serde_json::from_value::<Money>(json!(number));
    }
}

#[test]
fn credits_are_bare_numbers_and_other_assets_are_named() {
    for (text, minor, printed, wire) in [
        ("2.5", 2_500_000, "2.5", json!(2.5)),
        ("2", 2_000_000, "2", json!(2.0)),
        ("007.5000000", 7_500_000, "7.5", json!(7.5)),
        ("10", 10_000_000, "10", json!(10.0)),
        ("0.000001", 1, "0.000001", json!(0.000001)),
        ("0", 0, "0", json!(0.0)),
        ("3 credit", 3_000_000, "3", json!(3.0)),
        ("0.5 USD", 50, "0.50 USD", json!({ "amount": "0.50", "asset": "USD" })),
        ("12 JPY", 12, "12 JPY", json!({ "amount": "12", "asset": "JPY" })),
        ("1.25 XAU/4", 12_500, "1.2500 XAU/4", json!({ "amount": "1.2500", "asset": "XAU/4" })),
        ("1 USD/2", 100, "1.00 USD", json!({ "amount": "1.00", "asset": "USD" })),
    ] {
        let read = money(text);
        assert_eq!((read.minor, &*read.to_string()), (minor, printed), "{text}");
        assert_eq!(serde_json::to_value(read).unwrap(), wire, "{text}");
    }
    assert_eq!(serde_json::from_value::<Money>(json!(2)).unwrap(), money("2"));
    assert_eq!(serde_json::from_value::<Money>(json!(-0.0)).unwrap(), money("0"));
    let large = Money::new(u64::MAX, Asset::CREDIT);
    let wire = json!({ "amount": "18446744073709.551615", "asset": "credit" });
    assert_eq!(serde_json::to_value(large).unwrap(), wire, "a number would not keep every digit");
}

#[test]
fn what_is_no_amount_is_refused_with_the_reason() {
    let refused = |value: Value| serde_json::from_value::<Money>(value).unwrap_err().to_string();
    assert!(refused(json!(-1)).contains("negative"));
    assert!(refused(json!(-0.5)).contains("negative"));
    assert!(refused(json!(0.000_000_1)).contains("6 decimals"));
    assert!(refused(json!(1e300)).contains("too large"));
    assert!(refused(json!(u64::MAX)).contains("too large"));
    assert!(refused(json!(1_234_567_890.5)).contains("15 digits"));
    assert!(refused(json!("1")).contains("number of credits"));
    assert!(refused(json!({ "amount": "0.505", "asset": "USD" })).contains("2 decimals"));
    assert!(refused(json!({ "amount": "1", "asset": "usd" })).contains("`usd` is not an asset"));
    assert!(refused(json!({ "amount": "1", "asset": "USD", "per": "call" })).contains("per"));
    for wrong in ["", ".", "1.", ".5", "1e3", "+1", "NaN", "1,5", "1 ", "١"] {
        assert!(Money::parse_amount(wrong, Asset::CREDIT).is_err(), "{wrong}");
    }
    assert_eq!(
        Money::parse_amount(&"0".repeat(1 << 20), Asset::CREDIT)
            .map_err(|error| error.to_string().len() < 200),
        Err(true)
    );
    for wrong in [
        "",
        "X",
        "XAU",
        "CREDIT",
        "Xau/4",
        "XAU/19",
        "XAU/04",
        "XAU/",
        "XAU/+4",
        "USD/3",
        "TOOLONGX/2",
        "1XAU/2",
    ] {
        assert!(wrong.parse::<Asset>().is_err(), "{wrong}");
    }
}

#[test]
fn doubles_of_earlier_versions_stay_readable() {
    let entry = |price: Value| {
        let listing = json!({
            "id": "urn:air:a.org:agents:a", "name": "a", "description": "", "mediaType": "", "local": false,
            "visibility": "public", "owner": "admin", "standing": "active", "proof": "none", "live": true,
            "trust": 0.5, "price": price,
            "registeredAt": "1970-01-01T00:00:00Z", "updatedAt": "1970-01-01T00:00:00Z",
        });
        serde_json::from_value::<Listing>(listing).map(|listing| listing.price)
    };
    for (price, expected) in [
        (json!(0.3), Some("0.3")),
        (json!(0.123_456_789), Some("0.123456")),
        (json!({ "amount": "1", "asset": "EUR" }), Some("1 EUR")),
        (json!(null), None),
        (json!(-1), None),
        (json!(1e300), None),
    ] {
        assert_eq!(entry(price).unwrap(), expected.map(money));
    }
    assert!(entry(json!("cheap")).is_err());
    let most = |limit: Value| {
        let filter: Filter = serde_json::from_value(json!({ "maxPrice": limit })).unwrap();
        filter.max_price
    };
    assert_eq!(most(json!(0.300_000_09)), Some(money("0.3")));
    assert_eq!(most(json!(1e300)), Some(Money::new(u64::MAX, Asset::CREDIT)));
    assert_eq!(most(json!(u64::MAX)), Some(Money::new(u64::MAX, Asset::CREDIT)));
}
