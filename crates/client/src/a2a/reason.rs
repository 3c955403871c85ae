//! Reason: the error table of A2A, read from the wire of any binding.
//!
//! Promises: the same refusal is the same [`ClientError::Refused`] however it travelled. A name of a reason
//! counts more than the status around it; a status alone is read by its most likely meaning. It adds no text.

use serde_json::Value;

use crate::ClientError;

/// Longest part of a foreign text that is repeated in an error.
const SHOWN: usize = 300;

/// The reasons of A2A 1.0 with their numbers in JSON-RPC.
const REASONS: [(&str, i64); 13] = [
    ("TASK_NOT_FOUND", -32001),
    ("TASK_NOT_CANCELABLE", -32002),
    ("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003),
    ("UNSUPPORTED_OPERATION", -32004),
    ("CONTENT_TYPE_NOT_SUPPORTED", -32005),
    ("INVALID_AGENT_RESPONSE", -32006),
    ("EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007),
    ("EXTENSION_SUPPORT_REQUIRED", -32008),
    ("VERSION_NOT_SUPPORTED", -32009),
    ("INVALID_REQUEST", -32600),
    ("METHOD_NOT_FOUND", -32601),
    ("INVALID_PARAMS", -32602),
    ("INTERNAL_ERROR", -32603),
];

/// The number of a named reason.
pub(super) fn number(reason: &str) -> Option<i64> {
    REASONS.iter().find(|(name, _)| *name == reason).map(|(_, number)| *number)
}

/// The number of the reason that details in the form of `google.rpc.ErrorInfo` name.
pub(super) fn number_in(details: &Value) -> Option<i64> {
    let details = details.as_array()?;
    details.iter().find_map(|detail| detail.get("reason").and_then(Value::as_str).and_then(number))
}

/// A refusal in the agent's own words.
pub(super) fn refused(code: i64, message: &str, data: Option<Value>) -> ClientError {
    let message = if message.is_empty() {
        format!("the agent refused with code {code}")
    } else {
        message.chars().take(SHOWN).collect()
    };
    ClientError::Refused { code, message, data }
}

/// What an HTTP status means without a reason. `said` is the server's text, if any.
pub(super) fn of_status(from: &str, status: u16, said: &str) -> ClientError {
    let said: String = said.chars().take(SHOWN).collect();
    let message = match status {
        401 | 403 => format!("{from} requires a valid token (HTTP {status})"),
        429 => format!("{from} receives too many requests (HTTP 429); try again later"),
        300..=399 => format!("{from} has moved (HTTP {status}); use the address that it names"),
        _ if said.is_empty() => format!("{from} answered HTTP {status}"),
        _ => format!("{from} answered HTTP {status}: {said}"),
    };
    ClientError::Status { status, code: None, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_found_among_details() {
        let details = serde_json::json!([{"@type": "x"}, 7, {"reason": "TASK_NOT_FOUND"}]);
        assert_eq!(number_in(&details), Some(-32001));
        assert_eq!(number_in(&serde_json::json!([{"reason": "BORED"}])), None);
        assert_eq!(number_in(&serde_json::json!({"reason": "TASK_NOT_FOUND"})), None);
    }

    #[test]
    fn words_of_others_are_cut() {
        let long = "x".repeat(10_000);
        assert!(refused(1, &long, None).to_string().len() <= SHOWN);
        assert!(of_status("h", 500, &long).to_string().len() < SHOWN + 50);
        assert!(refused(7, "", None).to_string().contains("code 7"));
    }
}
