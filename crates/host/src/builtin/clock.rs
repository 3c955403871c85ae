//! clock: tells the time anywhere and converts times between places.
//!
//! Promises: the moment comes from the job's clock and the rules of the time zones are those built into the
//! binary, so the same question at the same moment has the same answer on every machine. A place it does not
//! know is answered with the nearest ones that it does.
//!
//! It knows only today: a time to convert is one of the present day in the place it is of.

mod places;
mod request;

#[cfg(test)]
mod tests;

use agentsite_protocol::Timestamp;
use jiff::Zoned;

use places::Place;
use request::Request;

/// Longest question; longer texts are something else.
const MAX_LENGTH: usize = 300;

/// Why the time cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClockError {
    /// The text is too long to be a question about the time.
    #[error("that is too long; ask like \"time in Tokyo\" or \"convert 15:00 Berlin to New York\"")]
    TooLong,
    /// There is no such place.
    #[error("unknown place `{name}`; {}", nearest(.near))]
    UnknownPlace {
        /// What was asked for.
        name: String,
        /// Places of a similar name.
        near: Vec<String>,
    },
    /// The time is outside the supported years.
    #[error("that moment is outside the supported years")]
    OutOfRange,
}

fn nearest(near: &[String]) -> String {
    match near {
        [] => "name a city such as Tokyo, or a time zone such as Europe/Berlin".into(),
        [only] => format!("did you mean {only}?"),
        [most @ .., last] => format!("did you mean {} or {last}?", most.join(", ")),
    }
}

/// Answers a question about the time.
pub(super) fn answer(text: &str, now: Timestamp) -> Result<String, ClockError> {
    if text.len() > MAX_LENGTH {
        return Err(ClockError::TooLong);
    }
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).map_err(|_| ClockError::OutOfRange)?;
    match Request::read(text) {
        Request::Now { place } => {
            let place = Place::find(&place)?;
            let there = now.to_zoned(place.zone.clone());
            Ok(format!("{}: {} ({})", place.name, there.strftime("%H:%M:%S, %A %-d %B %Y"), zone(&there)))
        }
        Request::Convert { time, from, to } => {
            let (from, to) = (Place::find(&from)?, Place::find(&to)?);
            let today = now.to_zoned(from.zone.clone()).date();
            let there =
                today.to_datetime(time).to_zoned(from.zone.clone()).map_err(|_| ClockError::OutOfRange)?;
            let here = there.with_time_zone(to.zone.clone());
            Ok(format!(
                "{} in {} is {} in {}, {} ({} to {})",
                there.strftime("%H:%M"),
                from.name,
                here.strftime("%H:%M"),
                to.name,
                here.strftime("%A %-d %B %Y"),
                zone(&there),
                zone(&here),
            ))
        }
    }
}

/// The zone by its name, when it has one, and its distance from UTC.
fn zone(at: &Zoned) -> String {
    let offset = format!("UTC{}", at.strftime("%:z"));
    match at.time_zone().iana_name() {
        Some("UTC") => "UTC".into(),
        Some(name) => format!("{name}, {offset}"),
        None => offset,
    }
}
