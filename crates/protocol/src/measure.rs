//! Periods and sizes as people write them in files: `90s`, `1h 30m`, `8MiB`.
//!
//! Promises: what is written is what is read back; nonsense gets a sentence with an example. A unit is
//! required, so that a value is never ambiguous.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A length of time, written like `90s`, `5m`, `1h 30m` or `7d`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period(pub Duration);

/// A number of bytes, written like `512KiB`, `8MiB`, `1GiB` or `100B`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(pub u64);

/// Text that is not a period or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMeasure {
    /// Not a period.
    #[error("invalid length of time `{0}`: write it like 90s, 5m, 1h 30m or 7d")]
    Period(String),
    /// Not a size.
    #[error("invalid size `{0}`: write it like 512KiB, 8MiB or 1GiB")]
    Size(String),
}

impl Period {
    /// A period of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl FromStr for Period {
    type Err = BadMeasure;

    fn from_str(text: &str) -> Result<Self, BadMeasure> {
        let bad = || BadMeasure::Period(text.chars().take(40).collect());
        if text.trim().is_empty() || !text.chars().any(char::is_alphabetic) {
            return Err(bad());
        }
        // A day has 24 hours here: these are lengths, not dates.
        let span: jiff::Span = text.trim().parse().map_err(|_| bad())?;
        let long = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| bad())?;
        Duration::try_from(long).map(Self).map_err(|_| bad())
    }
}

impl fmt::Display for Period {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return out.write_str("0s");
        }
        if !millis.is_multiple_of(1000) {
            return write!(out, "{millis}ms");
        }
        let (mut rest, mut parts) = (millis / 1000, Vec::new());
        for (unit, length) in [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)] {
            if rest >= length {
                parts.push(format!("{}{unit}", rest / length));
                rest %= length;
            }
        }
        out.write_str(&parts.join(" "))
    }
}

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl FromStr for ByteSize {
    type Err = BadMeasure;

    fn from_str(text: &str) -> Result<Self, BadMeasure> {
        let bad = || BadMeasure::Size(text.chars().take(40).collect());
        let (unit, size) = UNITS.iter().find(|(unit, _)| text.trim().ends_with(unit)).ok_or_else(bad)?;
        let number: u64 = text.trim().trim_end_matches(unit).trim().parse().map_err(|_| bad())?;
        number.checked_mul(*size).map(Self).ok_or_else(bad)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, size): &&(&str, u64)| self.0 >= *size && self.0.is_multiple_of(*size);
        let (unit, size) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
        write!(out, "{}{unit}", self.0 / size)
    }
}

macro_rules! written_measure {
    ($name:ident, $pattern:literal) => {
        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, out)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadMeasure;

            fn try_from(text: String) -> Result<Self, BadMeasure> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(measure: $name) -> Self {
                measure.to_string()
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

written_measure!(Period, "^[0-9]+ ?[a-z]+( [0-9]+ ?[a-z]+)*$");
written_measure!(ByteSize, "^[0-9]+ ?(B|KiB|MiB|GiB)$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("1h 30m", 5400), ("7d", 604_800), ("5m", 300), ("0s", 0)] {
            let period: Period = text.parse().unwrap();
            assert_eq!(period, Period::seconds(seconds), "{text}");
            assert_eq!(period.to_string().parse::<Period>().unwrap(), period);
        }
        assert_eq!("250ms".parse::<Period>().unwrap().to_string(), "250ms");
        for bad in ["", "90", "soon", "-5s", "1y"] {
            assert!(bad.parse::<Period>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!("8MiB".parse::<ByteSize>().unwrap(), ByteSize(8 << 20));
        assert_eq!("100 B".parse::<ByteSize>().unwrap(), ByteSize(100));
        assert_eq!(ByteSize(1536).to_string(), "1536B");
        assert_eq!(ByteSize(0).to_string(), "0B");
        for bad in ["8", "8MB", "99999999999GiB", "-1B"] {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad}");
        }
    }
}
