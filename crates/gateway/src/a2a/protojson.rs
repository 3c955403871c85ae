//! What ProtoJSON lets writers choose: a number may come as text, an enumeration by its number.
//!
//! Promises: reads every form that the format allows, and `null` as left out. Names with underscores are
//! aliases of the fields themselves. It writes nothing: what the site writes has one form.

use agentsite_protocol::{TaskState, proto};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A whole number, as a number or as text.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let Some(given) = Option::<Value>::deserialize(from)? else { return Ok(None) };
    let whole = match &given {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        _ => None,
    };
    whole.map(Some).ok_or_else(|| Error::custom(format!("{given} is not a whole number")))
}

/// A number that was written with a fraction of nothing.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= f64::from(i32::MAX)).then_some(number as i64)
}

/// The state of a task, by its name or its number; none for the one that is not specified.
pub(super) fn state<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TaskState>, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None => Ok(None),
        Some(Value::Number(number)) => {
            let known = number.as_i64().and_then(|number| i32::try_from(number).ok());
            let state = known.and_then(|number| proto::TaskState::noun(number).ok());
            state.ok_or_else(|| Error::custom(format!("no state has the number {number}")))
        }
        Some(word) => TaskState::deserialize(word).map(Some).map_err(Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Both {
        #[serde(default, deserialize_with = "number")]
        number: Option<i64>,
        #[serde(default, deserialize_with = "state")]
        state: Option<TaskState>,
    }

    fn read(text: &str) -> Result<(Option<i64>, Option<TaskState>), String> {
        let both: Both = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok((both.number, both.state))
    }

    #[test]
    fn every_form_is_read() {
        for number in ["7", "\"7\"", "7.0"] {
            assert_eq!(read(&format!("{{\"number\": {number}}}")), Ok((Some(7), None)), "{number}");
        }
        for state in ["3", "\"TASK_STATE_COMPLETED\""] {
            assert_eq!(
                read(&format!("{{\"state\": {state}}}")),
                Ok((None, Some(TaskState::Completed))),
                "{state}"
            );
        }
        assert_eq!(read(r#"{"number": null, "state": null}"#), Ok((None, None)));
        assert_eq!(read(r#"{"state": 0}"#), Ok((None, None)));
    }

    #[test]
    fn what_is_no_such_thing_is_refused() {
        for wrong in ["7.5", "\"x\"", "true", "1e300", "[]"] {
            assert!(
                read(&format!("{{\"number\": {wrong}}}")).unwrap_err().contains("is not a whole number"),
                "{wrong}"
            );
        }
        assert!(read(r#"{"state": 99}"#).unwrap_err().contains("no state has the number 99"));
        assert!(read(r#"{"state": "DONE"}"#).is_err());
    }
}
