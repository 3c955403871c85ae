//! Money in JSON: a number is credits, `{"amount": "0.50", "asset": "USD"}` is any asset.
//!
//! Promises: a number is read by its decimal digits, not by its binary value, and is refused when it has more
//! digits than a double keeps. Every amount is written so that reading it gives the same one: credits as a
//! number where that is exact, else as an object. Documents of earlier versions, whose prices were doubles,
//! stay readable ([`listed_price`], [`limit`]). Doubles do not leave this file.

use std::fmt;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Asset, BadMoney, CREDIT_UNITS, Money};

/// From here on, in credits, a double does not keep six decimals (15 digits are exact).
const MAX_FRACTIONAL: u64 = 1_000_000_000;

/// The form for every asset.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Named {
    amount: String,
    asset: String,
}

impl Named {
    fn read(&self) -> Result<Money, BadMoney> {
        Money::parse_amount(&self.amount, self.asset.parse()?)
    }
}

impl Money {
    /// The number of credits as a double, where every reader gets the same amount back.
    fn number(&self) -> Option<f64> {
        let is_exact = self.minor / CREDIT_UNITS < MAX_FRACTIONAL || self.minor.is_multiple_of(CREDIT_UNITS);
        (self.asset == Asset::CREDIT && is_exact).then(|| self.amount().parse().ok()).flatten()
    }

    fn of_number(number: f64) -> Result<Self, BadMoney> {
        // Adding zero turns a negative zero into zero.
        let text = decimal(number + 0.0)?;
        if number.fract() != 0.0 && number >= MAX_FRACTIONAL as f64 {
            return Err(BadMoney::TooManyDigits);
        }
        Self::parse_amount(&text, Asset::CREDIT)
    }
}

/// The shortest decimal digits that represent a double: those that it was written with, up to 15 of them.
fn decimal(number: f64) -> Result<String, BadMoney> {
    if !number.is_finite() {
        return Err(BadMoney::NotDecimal(number.to_string()));
    }
    if number < 0.0 {
        return Err(BadMoney::Negative);
    }
    // Beyond this no amount fits; the digits would be hundreds.
    if number >= u64::MAX as f64 { Err(BadMoney::TooLarge) } else { Ok(number.to_string()) }
}

/// The largest amount of credits that is not above a number of an earlier version.
fn at_most(number: f64) -> Result<Money, BadMoney> {
    let text = decimal(number + 0.0)?;
    let kept = text
        .find('.')
        .map_or(text.len(), |point| (point + 1 + usize::from(Asset::CREDIT.decimals())).min(text.len()));
    Money::parse_amount(&text[..kept], Asset::CREDIT)
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        match self.number() {
            Some(number) => output.serialize_f64(number),
            None => Named { amount: self.amount(), asset: self.asset.to_string() }.serialize(output),
        }
    }
}

struct MoneyVisitor;

impl<'de> Visitor<'de> for MoneyVisitor {
    type Value = Money;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number of credits, or an object with `amount` and `asset`")
    }

    fn visit_u64<E: serde::de::Error>(self, whole: u64) -> Result<Money, E> {
        Money::credits(whole).ok_or_else(|| E::custom(BadMoney::TooLarge))
    }

    fn visit_i64<E: serde::de::Error>(self, whole: i64) -> Result<Money, E> {
        self.visit_u64(u64::try_from(whole).map_err(|_| E::custom(BadMoney::Negative))?)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Money, E> {
        Money::of_number(number).map_err(E::custom)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Money, A::Error> {
        let named = Named::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        named.read().map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(MoneyVisitor)
    }
}

/// Reads the price of an entry of the registry. Entries that an earlier version stored or exported may have
/// any double: decimals beyond the sixth are dropped, and a number that is not a price counts as none.
pub(crate) fn listed_price<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Money>, D::Error> {
    match Option::<Value>::deserialize(input)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(number.as_f64().and_then(|number| at_most(number).ok())),
        Some(other) => Money::deserialize(other).map(Some).map_err(D::Error::custom),
    }
}

/// Reads a maximum. Every number that is not negative is one: decimals that no price has are dropped, and
/// what is above every amount becomes the largest amount, which changes no answer.
pub(crate) fn limit<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Money>, D::Error> {
    match Option::<Value>::deserialize(input)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => match at_most(number.as_f64().unwrap_or(f64::NAN)) {
            Err(BadMoney::TooLarge) => Ok(Some(Money::new(u64::MAX, Asset::CREDIT))),
            other => other.map(Some).map_err(D::Error::custom),
        },
        Some(other) => Money::deserialize(other).map(Some).map_err(D::Error::custom),
    }
}
