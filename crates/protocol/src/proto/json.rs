//! Free JSON, times and bytes in protobuf: `google.protobuf.Struct`, `Value` and `Timestamp`.
//!
//! Promises: total in both directions; depth is bounded by [`MAX_DEPTH`] whichever way it goes. A whole
//! number comes back as one, though protobuf has only doubles. The inner modules are serde's ways to the
//! same.

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::engine::{DecodePaddingMode, Engine};
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::Value as Json;

use super::{MAX_DEPTH, Problem, WrongField};
use crate::{JsonMap, Timestamp};

/// Largest whole number that a double holds exactly with all its neighbours.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Base64 as ProtoJSON reads it: either alphabet, padded or not.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const LENIENT_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const LENIENT_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// JSON as a protobuf value.
pub(super) fn value(json: &Json) -> Result<Value, WrongField> {
    value_at(json, MAX_DEPTH)
}

/// A JSON object as a protobuf one; none when it is empty.
pub(super) fn object(map: &JsonMap) -> Result<Struct, WrongField> {
    object_at(map, MAX_DEPTH)
}

fn value_at(json: &Json, depth: usize) -> Result<Value, WrongField> {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(*truth),
        Json::Number(number) => {
            Kind::NumberValue(number.as_f64().ok_or_else(|| WrongField::new("", Problem::Number))?)
        }
        Json::String(text) => Kind::StringValue(text.clone()),
        Json::Array(items) => {
            let depth = deeper(depth)?;
            let values = items.iter().map(|item| value_at(item, depth)).collect::<Result<_, _>>()?;
            Kind::ListValue(ListValue { values })
        }
        Json::Object(map) => Kind::StructValue(object_at(map, depth)?),
    };
    Ok(Value { kind: Some(kind) })
}

fn object_at(map: &JsonMap, depth: usize) -> Result<Struct, WrongField> {
    let depth = deeper(depth)?;
    let field = |(name, item): (&String, &Json)| value_at(item, depth).map(|value| (name.clone(), value));
    Ok(Struct { fields: map.iter().map(field).collect::<Result<_, _>>()? })
}

fn deeper(depth: usize) -> Result<usize, WrongField> {
    depth.checked_sub(1).ok_or_else(|| WrongField::new("", Problem::Depth))
}

/// A protobuf value as JSON. One without any kind is null.
pub(super) fn json(value: Value) -> Result<Json, WrongField> {
    json_at(value, MAX_DEPTH)
}

/// A protobuf object as a JSON one.
pub(super) fn map(object: Struct) -> Result<JsonMap, WrongField> {
    map_at(object, MAX_DEPTH)
}

fn json_at(value: Value, depth: usize) -> Result<Json, WrongField> {
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(truth)) => Json::Bool(truth),
        Some(Kind::NumberValue(number)) => self::number(number)?,
        Some(Kind::StringValue(text)) => Json::String(text),
        Some(Kind::ListValue(list)) => {
            let depth = deeper(depth)?;
            let items = list.values.into_iter().map(|item| json_at(item, depth));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Some(Kind::StructValue(object)) => Json::Object(map_at(object, depth)?),
    })
}

fn map_at(object: Struct, depth: usize) -> Result<JsonMap, WrongField> {
    let depth = deeper(depth)?;
    object.fields.into_iter().map(|(name, value)| Ok((name, json_at(value, depth)?))).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
fn number(number: f64) -> Result<Json, WrongField> {
    let whole =
        number.fract() == 0.0 && number.abs() <= EXACT && !(number == 0.0 && number.is_sign_negative());
    if whole {
        return Ok(Json::from(number as i64));
    }
    serde_json::Number::from_f64(number).map(Json::Number).ok_or_else(|| WrongField::new("", Problem::Number))
}

/// A moment as protobuf has it.
pub(super) fn time(at: Timestamp) -> prost_types::Timestamp {
    let millis = at.as_millis();
    let nanos = i32::try_from(millis.rem_euclid(1000) * 1_000_000).unwrap_or_default();
    prost_types::Timestamp { seconds: millis.div_euclid(1000), nanos }
}

/// A moment from protobuf, cut to milliseconds; only the years that RFC 3339 can write.
pub(super) fn moment(time: &prost_types::Timestamp) -> Result<Timestamp, WrongField> {
    /// The first and the last second that protobuf itself allows.
    const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
    let sound = YEARS.contains(&time.seconds) && (0..1_000_000_000).contains(&time.nanos);
    if !sound {
        return Err(WrongField::new("", Problem::Time));
    }
    Ok(Timestamp::from_millis(time.seconds * 1000 + i64::from(time.nanos / 1_000_000)))
}

/// Bytes from base64 in either alphabet.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, WrongField> {
    let read = if text.contains(['-', '_']) { &LENIENT_URL } else { &LENIENT_STANDARD };
    read.decode(text).map_err(|_| WrongField::new("", Problem::Base64))
}

/// Bytes as base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A value that is free JSON.
pub(super) mod free {
    use serde::{Serialize, Serializer};

    pub(in crate::proto) fn serialize<S: Serializer>(
        value: &prost_types::Value,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        super::json(value.clone()).map_err(serde::ser::Error::custom)?.serialize(out)
    }
}

/// An object of free JSON that may be absent.
pub(super) mod free_object {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::JsonMap;

    pub(in crate::proto) fn serialize<S: Serializer>(
        object: &Option<prost_types::Struct>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        let map = object.clone().map(super::map).transpose();
        map.map_err(serde::ser::Error::custom)?.serialize(out)
    }

    pub(in crate::proto) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Option<prost_types::Struct>, D::Error> {
        let map = Option::<JsonMap>::deserialize(input)?;
        map.as_ref().map(super::object).transpose().map_err(serde::de::Error::custom)
    }
}

/// A moment that may be absent.
pub(super) mod when {
    use serde::{Serialize, Serializer};

    pub(in crate::proto) fn serialize<S: Serializer>(
        time: &Option<prost_types::Timestamp>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        let moment = time.as_ref().map(super::moment).transpose();
        moment.map_err(serde::ser::Error::custom)?.serialize(out)
    }
}

/// Bytes, which JSON has in base64.
pub(super) mod encoded {
    use serde::Serializer;

    pub(in crate::proto) fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&super::base64(bytes))
    }
}
