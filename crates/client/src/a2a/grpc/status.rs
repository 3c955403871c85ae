//! The status at the end of a gRPC answer, as an error of the client.
//!
//! Promises: a reason in the details counts more than the number of the status; the server's text is decoded
//! and cut. It follows the mapping of the A2A specification 1.0, section 5.4. Nothing foreign makes it panic.

use agentsite_protocol::proto;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::HeaderMap;
use prost::Message;
use serde_json::{Value, json};

use crate::ClientError;
use crate::a2a::reason;

/// Binary headers are base64, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Most details of a status that are read; A2A has two.
const MAX_DETAILS: usize = 16;

/// The status of an answer that consists of its head only; `None` when a body follows.
pub(super) fn in_head(from: &str, headers: &HeaderMap) -> Option<ClientError> {
    headers.get("grpc-status")?;
    Some(at_end(from, headers, true).unwrap_or_else(|| {
        let what = "a success without a message".to_owned();
        ClientError::BadAnswer { from: from.to_owned(), what }
    }))
}

/// The error that trailers tell; `None` for a success. `whole` says whether no part of a message is left
/// over.
pub(super) fn at_end(from: &str, trailers: &HeaderMap, whole: bool) -> Option<ClientError> {
    let text = |name: &str| trailers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match text("grpc-status").parse::<u16>() {
        Ok(0) if whole => None,
        Ok(0) => Some(ClientError::Cut { from: from.to_owned() }),
        Ok(code) => {
            let details = trailers.get("grpc-status-details-bin").map(|value| details(value.as_bytes()));
            Some(error(from, code, &unescaped(text("grpc-message")), details.unwrap_or_default()))
        }
        Err(_) => {
            let what = "an end without a status".to_owned();
            Some(ClientError::BadAnswer { from: from.to_owned(), what })
        }
    }
}

fn error(from: &str, code: u16, message: &str, details: Vec<Value>) -> ClientError {
    let details = Value::Array(details);
    if let Some(number) = reason::number_in(&details) {
        return reason::refused(number, message, Some(details));
    }
    let status = |status| reason::of_status(from, status, message);
    let refused = |name: &str| reason::refused(reason::number(name).unwrap_or_default(), message, None);
    match code {
        1 => status(499),
        3 | 11 => refused("INVALID_PARAMS"),
        4 => status(504),
        5 => refused("TASK_NOT_FOUND"),
        7 => status(403),
        8 => status(429),
        9 | 12 => refused("UNSUPPORTED_OPERATION"),
        14 => status(502),
        16 => status(401),
        _ => refused("INTERNAL_ERROR"),
    }
}

/// The details that name a reason, in their JSON form.
fn details(header: &[u8]) -> Vec<Value> {
    let status = BASE64.decode(header).ok().and_then(|bytes| proto::Status::decode(&bytes[..]).ok());
    let details = status.map(|status| status.details).unwrap_or_default();
    let info = |detail: prost_types::Any| {
        let info = proto::ErrorInfo::decode(&detail.value[..]).ok()?;
        let is_info = detail.type_url.ends_with("google.rpc.ErrorInfo");
        is_info.then(|| {
            json!({"@type": detail.type_url, "reason": info.reason, "domain": info.domain, "metadata": info.metadata})
        })
    };
    details.into_iter().take(MAX_DETAILS).filter_map(info).collect()
}

/// Undoes the percent signs of `grpc-message`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        let escaped = match (first, rest) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        left = if escaped.is_some() { &rest[2..] } else { rest };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn trailers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn a_reason_in_the_details_counts_more_than_the_number() {
        let info = proto::ErrorInfo {
            reason: "TASK_NOT_CANCELABLE".into(),
            domain: "a2a-protocol.org".into(),
            ..Default::default()
        };
        let status = proto::Status { code: 9, message: "no".into(), details: Vec::new() };
        let details = BASE64.encode(status.detail("ErrorInfo", &info).encode_to_vec());
        let told = trailers(&[
            ("grpc-status", "9"),
            ("grpc-message", "it has ended%21"),
            ("grpc-status-details-bin", details.trim_end_matches('=')),
        ]);
        let error = at_end("h", &told, true).unwrap();
        assert!(
            matches!(&error, ClientError::Refused { code: -32002, message, .. } if message == "it has ended!")
        );
    }

    #[test]
    fn a_number_alone_is_read_by_its_meaning() {
        let error = |code: &str| at_end("h", &trailers(&[("grpc-status", code)]), true);
        assert_eq!(error("0"), None);
        assert!(error("5").unwrap().is_unknown_task());
        assert!(error("12").unwrap().is_unsupported());
        assert!(error("14").unwrap().is_failing() && !error("14").unwrap().never_arrived());
        assert!(error("16").unwrap().to_string().contains("valid token"));
        assert!(matches!(error("x").unwrap(), ClientError::BadAnswer { .. }));
        assert!(matches!(at_end("h", &HeaderMap::new(), true), Some(ClientError::BadAnswer { .. })));
        assert!(matches!(
            at_end("h", &trailers(&[("grpc-status", "0")]), false),
            Some(ClientError::Cut { .. })
        ));
    }

    #[test]
    fn words_are_decoded_and_nonsense_is_left_as_it_is() {
        assert_eq!(unescaped("a%20b%C3%A9%"), "a bé%");
        assert_eq!(unescaped("%zz%4"), "%zz%4");
        assert_eq!(details(b"not base64!"), Vec::<Value>::new());
        assert_eq!(details(&[0xff, 0xfe]), Vec::<Value>::new());
    }
}
