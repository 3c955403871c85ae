//! What model servers say when something is wrong, in the shapes in which they say it, and what it means.
//!
//! Promises: pure; reads any bytes without failing; text from a server is shortened, and control characters
//! and the key are removed before it is shown. It only knows the statuses that model servers use.

use std::time::Duration;

use serde_json::Value;

use super::model::ModelError;
use crate::models::Secret;

/// Longest excerpt of a server's words; one long sentence.
const MAX_WORDS: usize = 300;

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The server says that something is wrong.
    Complaint(Complaint),
    /// It cannot be read.
    Garbage(String),
}

/// What a server says is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Complaint {
    /// HTTP status; zero within a stream that began well.
    pub(super) status: u16,
    /// Type and code, as the server names them.
    pub(super) kind: String,
    /// The error sentence.
    pub(super) words: String,
    /// When to try again.
    pub(super) retry_after: Option<Duration>,
}

/// What the sentences about faults need to know of a model server.
#[derive(Debug, Clone)]
pub(super) struct ModelServerInfo {
    /// Host and port.
    pub(super) name: String,
    /// The requested model.
    pub(super) model: String,
    /// What to do about a refused key.
    pub(super) remedy: String,
    /// What must not be shown.
    pub(super) key: Option<Secret>,
}

impl Complaint {
    /// Reads the body of a refusal.
    pub(super) fn read(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let read = serde_json::from_str::<Value>(&text).ok().as_ref().and_then(Self::find);
        let read = read.unwrap_or_else(|| Self { words: text.into_owned(), ..Self::default() });
        Self { status, retry_after, ..read }
    }

    /// Finds a complaint in JSON: `{"error": {…}}`, `{"error": "…"}`, `[{"error": …}]`, `{"object": "error",
    /// …}`, `{"type": "error", …}` and `{"detail": …}`.
    pub(super) fn find(value: &Value) -> Option<Self> {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        match value.get("error") {
            Some(Value::String(words)) => return Some(Self { words: words.clone(), ..Self::default() }),
            Some(error @ Value::Object(_)) => return Some(Self::from_object(error)),
            _ => {}
        }
        if value.get("object").is_some_and(|kind| kind == "error") {
            return Some(Self::from_object(value));
        }
        let detail = value.get("detail").filter(|detail| !detail.is_null())?;
        let words = detail.as_str().map_or_else(|| detail.to_string(), str::to_owned);
        Some(Self { words, ..Self::default() })
    }

    fn from_object(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let words = text("message");
        let words = if words.is_empty() { error.to_string() } else { words };
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let kind = format!("{} {} {}", text("type"), text("code"), text("status")).trim().to_owned();
        Self { status: status.unwrap_or(0), kind, words, retry_after: None }
    }

    fn mentions(&self, any: &[&str]) -> bool {
        let said = format!("{} {}", self.kind, self.words).to_lowercase();
        any.iter().any(|needle| said.contains(needle))
    }
}

impl ModelServerInfo {
    /// What a flawed answer means for the caller.
    pub(super) fn judge(&self, flaw: &Flaw) -> ModelError {
        let complaint = match flaw {
            Flaw::Garbage(why) => return self.bad_answer(why),
            Flaw::Complaint(complaint) => complaint,
        };
        let (place, why) = (self.name.clone(), self.excerpt(&complaint.words));
        let retry_after = complaint.retry_after;
        if complaint.mentions(&[
            "context_length",
            "context size",
            "context length",
            "exceed_context",
            "prompt is too long",
        ]) {
            return ModelError::TooLong { why };
        }
        match complaint.status {
            401 | 403 => ModelError::Unauthorized { place, remedy: self.remedy.clone() },
            413 => ModelError::TooLong { why },
            429 | 503 | 529 => ModelError::RateLimited { place, why, retry_after },
            502 | 504 => ModelError::Unreachable { place, why },
            _ if complaint.mentions(&["authentication_error", "invalid_api_key"]) => {
                ModelError::Unauthorized { place, remedy: self.remedy.clone() }
            }
            _ if complaint.mentions(&["overloaded", "rate_limit"]) => {
                ModelError::RateLimited { place, why, retry_after }
            }
            400 | 404 | 0 if lacks_model(complaint) => {
                ModelError::NoSuchModel { place, model: self.model.clone() }
            }
            404 => self.bad_answer(&format!(
                "404 ({why}): there is nothing at this address; base_url usually ends in /v1"
            )),
            0 => self.bad_answer(&why),
            status => self.bad_answer(&format!("{status}, {why}")),
        }
    }

    /// An answer that cannot be used.
    pub(super) fn bad_answer(&self, why: &str) -> ModelError {
        ModelError::BadAnswer { place: self.name.clone(), why: self.excerpt(why) }
    }

    /// Text from a server, fit to be shown.
    pub(super) fn excerpt(&self, words: &str) -> String {
        let hidden = self.key.as_ref().map_or_else(|| words.to_owned(), |key| key.hidden_in(words));
        let clean = hidden.split(|c: char| c.is_control() || c == ' ').filter(|word| !word.is_empty());
        let line = clean.collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            return "no reason given".into();
        }
        line.chars().take(MAX_WORDS).collect()
    }
}

fn lacks_model(complaint: &Complaint) -> bool {
    complaint.mentions(&["model_not_found"])
        || complaint.mentions(&["model"])
            && complaint.mentions(&["not found", "does not exist", "not_found", "notfound"])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place() -> ModelServerInfo {
        let key = Some(Secret::new("sk-secret"));
        ModelServerInfo {
            name: "models.example:443".into(),
            model: "m1".into(),
            remedy: "set OPENAI_API_KEY".into(),
            key,
        }
    }

    fn judged(status: u16, body: &str) -> ModelError {
        place().judge(&Flaw::Complaint(Complaint::read(status, None, body.as_bytes())))
    }

    #[test]
    fn a_missing_model_is_recognised_in_every_shape() {
        let bodies = [
            (
                404,
                r#"{"error":{"message":"The model `m1` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
            ),
            (
                404,
                r#"{"error":{"message":"model \"m1\" not found, try pulling it first","type":"api_error","code":null}}"#,
            ),
            (404, r#"{"error":"model 'm1' not found"}"#),
            (
                404,
                r#"{"object":"error","message":"The model `m1` does not exist.","type":"NotFoundError","code":404}"#,
            ),
            (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: m1"}}"#),
            (400, r#"[{"error":{"code":404,"message":"models/m1 is not found","status":"NOT_FOUND"}}]"#),
        ];
        for (status, body) in bodies {
            assert!(
                matches!(judged(status, body), ModelError::NoSuchModel { .. }),
                "{body}: {:?}",
                judged(status, body)
            );
        }
    }

    #[test]
    fn a_conversation_that_is_too_long_is_recognised_in_every_shape() {
        let bodies = [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000"}}"#,
            ),
            (413, "<html>Request Entity Too Large</html>"),
        ];
        for (status, body) in bodies {
            assert!(matches!(judged(status, body), ModelError::TooLong { .. }), "{body}");
        }
    }

    #[test]
    fn a_busy_server_is_told_from_a_broken_one() {
        assert!(matches!(
            judged(503, r#"{"error":{"code":503,"message":"Loading model"}}"#),
            ModelError::RateLimited { .. }
        ));
        let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        assert!(matches!(judged(529, overloaded), ModelError::RateLimited { .. }));
        assert!(matches!(judged(500, "oops"), ModelError::BadAnswer { .. }));
        assert!(matches!(judged(502, "bad gateway"), ModelError::Unreachable { .. }));
    }

    #[test]
    fn a_wrong_address_says_how_addresses_look() {
        let error = judged(404, r#"{"detail":"Not Found"}"#);
        assert!(error.to_string().contains("base_url usually ends in /v1"), "{error}");
    }

    #[test]
    fn a_key_that_the_server_repeats_is_hidden() {
        for status in [400, 401, 429, 500] {
            let error = judged(status, r#"{"error":{"message":"Incorrect API key provided: sk-secret."}}"#);
            assert!(!format!("{error} {error:?}").contains("sk-secret"), "{error}");
        }
        assert!(judged(401, "").to_string().contains("set OPENAI_API_KEY"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_short_sentence(status in 300..600_u16, body in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let complaint = Complaint::read(status, None, &body);
            let sentence = place().judge(&Flaw::Complaint(complaint)).to_string();
            prop_assert!(sentence.chars().count() < 700);
            prop_assert!(!sentence.contains('\n'));
        }
    }
}
