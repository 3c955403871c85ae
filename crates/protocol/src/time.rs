//! A point in time with millisecond precision.
//!
//! Promises: one written form everywhere, RFC 3339 in UTC with exactly three decimals, as A2A 1.0.1 asks. It
//! reads no clock: time is always handed in through [`crate::Clock`].

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Makes a timestamp from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The moment `duration` later; saturates at the end of time.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment `duration` earlier; saturates at the beginning of time.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time passed since `earlier`, zero when `earlier` is in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The UTC day of this moment, counted from the Unix epoch; budgets per day use it.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0.div_euclid(86_400_000)
    }

    /// Reads an RFC 3339 time; more than three decimals are cut off.
    ///
    /// # Errors
    /// Returns the reader's sentence when the text is not an RFC 3339 time.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: jiff::Timestamp = text.parse().map_err(|error: jiff::Error| error.to_string())?;
        Ok(Self(read.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(out, "{at:.3}"),
            Err(_) => write!(out, "@{}ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(input)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_with_three_decimals_in_utc() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(1_700_000_000_120).to_string(), "2023-11-14T22:13:20.120Z");
    }

    #[test]
    fn reads_any_offset_and_precision() {
        let read = Timestamp::parse("2023-11-14T23:13:20.1207+01:00").unwrap();
        assert_eq!(read, Timestamp::from_millis(1_700_000_000_120));
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn arithmetic_saturates() {
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end.plus(Duration::from_secs(1)), end);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Duration::ZERO);
    }
}
