//! A failure as gRPC tells it: a code, a sentence, and details in protobuf.
//!
//! Promises: code and reason come from the one table; the details are those of the other bindings, ErrorInfo
//! and the fields that are wrong, and when to try again. Everything fits into the head of an answer, whose
//! size clients limit.

use std::time::Duration;

use agentsite_protocol::proto::{BadRequest, ErrorInfo, FieldViolation, RetryInfo, Status};
use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use prost::Message as _;

use super::Failure;
use crate::metrics::Outcome;

/// Most characters of a sentence. It is sent twice, and clients take 8 KiB of a head.
const MAX_SENTENCE: usize = 1000;

/// Most wrong fields that are named, for the same reason.
const MAX_VIOLATIONS: usize = 16;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// The media type of gRPC.
pub(crate) const GRPC: &str = "application/grpc";

/// The trailers of an answer that succeeded.
pub(crate) fn grpc_success() -> HeaderMap {
    HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))])
}

/// The number of a code by its name in `google.rpc.Code`.
fn number(code: &str) -> i32 {
    match code {
        "INVALID_ARGUMENT" => 3,
        "DEADLINE_EXCEEDED" => 4,
        "NOT_FOUND" => 5,
        "PERMISSION_DENIED" => 7,
        "RESOURCE_EXHAUSTED" => 8,
        "FAILED_PRECONDITION" => 9,
        "UNIMPLEMENTED" => 12,
        "INTERNAL" => 13,
        "UNAVAILABLE" => 14,
        "UNAUTHENTICATED" => 16,
        _ => 2,
    }
}

impl Failure {
    /// An answer that is nothing but this failure.
    pub(crate) fn grpc(&self) -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(Outcome::of(self.status()));
        *response.headers_mut() = self.grpc_trailers();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(GRPC));
        response
    }

    /// The trailers of a stream that ends with this failure.
    pub(crate) fn grpc_trailers(&self) -> HeaderMap {
        let status = self.grpc_status();
        let details = STANDARD_NO_PAD.encode(status.encode_to_vec());
        let lines =
            [(STATUS, status.code.to_string()), (MESSAGE, escaped(&status.message)), (DETAILS, details)];
        let value = |(name, text): (_, String)| HeaderValue::try_from(text).ok().map(|value| (name, value));
        lines.into_iter().filter_map(value).collect()
    }

    fn grpc_status(&self) -> Status {
        let row = self.row();
        let message = self.sentence.chars().take(MAX_SENTENCE).collect();
        let mut status = Status { code: number(row.code), message, details: Vec::new() };
        if !row.reason.is_empty() {
            let facts = self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
            status = status.detail(
                "ErrorInfo",
                &ErrorInfo {
                    reason: row.reason.into(),
                    domain: self.domain().into(),
                    metadata: facts.collect(),
                },
            );
        }
        if !self.violations.is_empty() {
            let wrong = self.violations.iter().take(MAX_VIOLATIONS);
            let field_violations = wrong.map(|wrong| FieldViolation {
                field: wrong.field.clone(),
                description: wrong.description.clone(),
            });
            status =
                status.detail("BadRequest", &BadRequest { field_violations: field_violations.collect() });
        }
        match self.retry_after {
            Some(wait) => status.detail("RetryInfo", &RetryInfo { retry_delay: Some(delay(wait)) }),
            None => status,
        }
    }
}

fn delay(wait: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(wait.subsec_nanos()).unwrap_or_default(),
    }
}

/// A sentence as it may stand in a header: all but printable ASCII escaped by percent signs.
fn escaped(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for byte in sentence.bytes() {
        match byte {
            b'%' => out.push_str("%25"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, TABLE, Violation};
    use super::*;

    /// What a status says, as text for a golden file.
    fn told(headers: &HeaderMap) -> serde_json::Value {
        let text = |name: &HeaderName| headers[name].to_str().unwrap().to_owned();
        let bytes = STANDARD_NO_PAD.decode(text(&DETAILS)).unwrap();
        let status = Status::decode(bytes.as_slice()).unwrap();
        assert_eq!((text(&STATUS), text(&MESSAGE)), (status.code.to_string(), status.message.clone()));
        let details = status.details.iter().map(|any| match any.type_url.rsplit('.').next().unwrap() {
            "ErrorInfo" => {
                let info = ErrorInfo::decode(any.value.as_slice()).unwrap();
                serde_json::json!({ "reason": info.reason, "domain": info.domain, "metadata": info.metadata })
            }
            "BadRequest" => {
                let wrong = BadRequest::decode(any.value.as_slice()).unwrap().field_violations;
                let wrong = wrong.into_iter().map(|wrong| format!("{} {}", wrong.field, wrong.description));
                serde_json::json!({ "wrong": wrong.collect::<Vec<_>>() })
            }
            _ => {
                let wait = RetryInfo::decode(any.value.as_slice()).unwrap().retry_delay.unwrap();
                serde_json::json!({ "retry": format!("{}s {}ns", wait.seconds, wait.nanos) })
            }
        });
        serde_json::json!({ "code": status.code, "details": details.collect::<Vec<_>>() })
    }

    #[test]
    fn the_whole_table_is_the_one_in_the_golden_file() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/grpc_errors.json");
        let line = |row: &super::super::Row| {
            let told = told(Failure::new(row.fault, "a sentence").grpc().headers());
            format!("{}: {told}", serde_json::json!(row.word))
        };
        let rows: Vec<String> = TABLE.iter().map(line).collect();
        let now = format!("{{\n  {}\n}}\n", rows.join(",\n  "));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(file, &now).unwrap();
        }
        let held = std::fs::read_to_string(file).unwrap();
        assert_eq!(now, held, "run with UPDATE_GOLDEN=1 when the change is meant");
    }

    #[test]
    fn every_code_of_the_table_has_a_number() {
        for row in &TABLE {
            assert_ne!(number(row.code), 2, "{row:?}");
        }
    }

    #[test]
    fn a_failure_carries_facts_wrong_fields_and_when_to_come_back() {
        let violation = |field: &str| Violation { field: field.into(), description: "is wrong".into() };
        let failure = Failure::new(Fault::BadParams, "a sentence")
            .fact("state", "working")
            .violations(vec![violation("id")])
            .retry_after(Duration::from_millis(1500));
        let told = told(&failure.grpc_trailers());
        assert_eq!(told["details"][0]["metadata"]["state"], "working");
        assert_eq!(told["details"][1]["wrong"][0], "id is wrong");
        assert_eq!(told["details"][2]["retry"], "1s 500000000ns");
    }

    #[test]
    fn a_sentence_is_escaped_and_cut() {
        assert_eq!(escaped("50 % größer\n"), "50 %25 gr%C3%B6%C3%9Fer%0A");
        let long = Failure::new(Fault::BadParams, "x".repeat(100_000)).violations(vec![
            Violation {
                field: "f".into(),
                description: "d".into()
            };
            1000
        ]);
        let size: usize = long.grpc_trailers().values().map(HeaderValue::len).sum();
        assert!(size < 8000, "{size}");
    }
}
