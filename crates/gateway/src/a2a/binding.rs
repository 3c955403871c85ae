//! Binding: how the answer to an operation is written.
//!
//! Promises: the same answer has the same content in each binding; JSON-RPC wraps it with the caller's id,
//! HTTP+JSON gives it as it is, in the media type that was asked for. Callers of A2A 0.3 get the same in the
//! words of that version. It does not know operations.

use std::borrow::Cow;

use agentsite_protocol::legacy;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;

use super::media_type;
use crate::failure::{Failure, Fault};
use crate::{jsonrpc, sse};

/// JSON as everybody speaks it.
pub(super) const JSON: &str = "application/json";

/// JSON as the specification prefers to call it in the HTTP+JSON binding.
pub(super) const A2A_JSON: &str = "application/a2a+json";

/// Space for the answer of a small call, so that its buffer grows at most once.
const SMALL_ANSWER: usize = 1024;

/// The way in which a caller is answered.
#[derive(Debug, Clone)]
pub(super) enum Binding<'a> {
    /// JSON-RPC to the request of this id, which is JSON.
    JsonRpc(Cow<'a, str>),
    /// JSON-RPC as A2A 0.3 has it.
    OldJsonRpc {
        /// The request's id, which is JSON.
        id: Cow<'a, str>,
        /// What was called, by its name in 1.0; empty when nothing is called so.
        method: &'static str,
    },
    /// HTTP+JSON in this media type, and errors in that one.
    Rest(&'static str, &'static str),
}

impl Binding<'_> {
    /// HTTP+JSON in what the caller takes, else in what it sent, else in what the specification prefers.
    /// Errors are those of AIP-193, which is older than the type of A2A: one who does not name that type gets
    /// them as plain JSON.
    pub(super) fn rest(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let takes = |media: &str| {
            let kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
            kinds.into_iter().any(|kind| kind.eq_ignore_ascii_case(media))
        };
        let sent = |media: &str| media_type(headers, &header::CONTENT_TYPE).eq_ignore_ascii_case(media);
        let media = if !takes(A2A_JSON) && (takes(JSON) || sent(JSON)) { JSON } else { A2A_JSON };
        Self::Rest(media, if takes(A2A_JSON) || sent(A2A_JSON) { media } else { JSON })
    }

    /// The same for a stream, which outlives its request.
    pub(super) fn to_owned(&self) -> Binding<'static> {
        match self {
            Self::JsonRpc(id) => Binding::JsonRpc(Cow::Owned(id.clone().into_owned())),
            Self::OldJsonRpc { id, method } => {
                Binding::OldJsonRpc { id: Cow::Owned(id.clone().into_owned()), method }
            }
            Self::Rest(media, errors) => Binding::Rest(media, errors),
        }
    }

    /// Whether the caller speaks A2A 0.3.
    pub(super) fn is_old(&self) -> bool {
        matches!(self, Self::OldJsonRpc { .. })
    }

    /// An answer with this content.
    pub(super) fn answer(&self, content: &impl Serialize) -> Response {
        let mut out = Vec::with_capacity(SMALL_ANSWER);
        if let Err(error) = self.write(&mut out, content) {
            tracing::error!(%error, "an answer could not be written");
            let sentence = "the answer could not be written; the site's log says why";
            return self.refuse(&Failure::new(Fault::Internal, sentence));
        }
        let mut response = Response::new(Body::from(out));
        let headers = response.headers_mut();
        match self {
            Self::JsonRpc(_) | Self::OldJsonRpc { .. } => {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON))
            }
            Self::Rest(media, _) => {
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media))
            }
        };
        response
    }

    /// An answer that says what went wrong.
    pub(super) fn refuse(&self, failure: &Failure) -> Response {
        match self {
            Self::JsonRpc(id) | Self::OldJsonRpc { id, .. } => failure.rpc(id),
            Self::Rest(_, errors) => failure.status_answer(errors),
        }
    }

    /// An answer that says why what was read could not be done. Callers of 0.3 who asked for a stream get it
    /// as the only event, for the official client of that version reads nothing else; what HTTP itself must
    /// see stays plain.
    pub(super) fn refuse_done(&self, failure: &Failure) -> Response {
        let refusal = self.refuse(failure);
        match self {
            Self::OldJsonRpc { method: "SendStreamingMessage" | "SubscribeToTask", .. }
                if refusal.status().is_success() =>
            {
                sse::alone(refusal)
            }
            _ => refusal,
        }
    }

    /// Appends an event of a stream.
    pub(super) fn event(&self, out: &mut Vec<u8>, seq: Option<u64>, content: &impl Serialize) {
        if let Err(error) = sse::event(out, seq, |out| self.write(out, content)) {
            tracing::error!(%error, "an event could not be written");
        }
    }

    fn write(&self, out: &mut Vec<u8>, content: &impl Serialize) -> serde_json::Result<()> {
        match self {
            Self::JsonRpc(id) => jsonrpc::write_result(out, id, content),
            Self::OldJsonRpc { id, method } => {
                let result = legacy::downgrade_result(method, serde_json::to_value(content)?);
                jsonrpc::write_result(out, id, &result)
            }
            Self::Rest(..) => serde_json::to_writer(out, content),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media(pairs: &[(header::HeaderName, &'static str)]) -> &'static str {
        let headers =
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        match Binding::rest(&headers) {
            Binding::Rest(media, _) => media,
            _ => "JSON-RPC",
        }
    }

    #[test]
    fn the_answer_comes_in_what_was_asked() {
        use header::{ACCEPT, CONTENT_TYPE};
        assert_eq!(media(&[]), A2A_JSON);
        assert_eq!(media(&[(ACCEPT, "*/*")]), A2A_JSON);
        assert_eq!(media(&[(ACCEPT, "application/json")]), JSON);
        assert_eq!(media(&[(ACCEPT, "text/html, Application/JSON;q=0.5")]), JSON);
        assert_eq!(media(&[(ACCEPT, "application/json, application/a2a+json")]), A2A_JSON);
        assert_eq!(media(&[(CONTENT_TYPE, "application/json; charset=utf-8"), (ACCEPT, "*/*")]), JSON);
        assert_eq!(media(&[(CONTENT_TYPE, "application/json"), (ACCEPT, "application/a2a+json")]), A2A_JSON);
        assert_eq!(media(&[(CONTENT_TYPE, "application/a2a+json")]), A2A_JSON);
    }

    #[test]
    fn an_older_caller_gets_its_own_words() {
        let content = serde_json::json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": []}});
        let mut out = Vec::new();
        let binding = Binding::OldJsonRpc { id: "7".into(), method: "SendStreamingMessage" };
        binding.to_owned().event(&mut out, None, &content);
        let told = String::from_utf8(out).unwrap();
        assert!(told.contains(r#""kind":"message""#) && told.contains(r#""role":"agent""#), "{told}");
    }

    #[test]
    fn errors_come_as_plain_json_unless_the_other_type_was_named() {
        use header::{ACCEPT, CONTENT_TYPE};
        for (name, value, errors) in [
            (ACCEPT, "*/*", JSON),
            (ACCEPT, "application/a2a+json", A2A_JSON),
            (CONTENT_TYPE, "application/a2a+json", A2A_JSON),
            (CONTENT_TYPE, "application/json", JSON),
            (CONTENT_TYPE, "text/plain", JSON),
        ] {
            let headers = [(name, HeaderValue::from_static(value))].into_iter().collect();
            assert!(matches!(Binding::rest(&headers), Binding::Rest(_, given) if given == errors), "{value}");
        }
    }

    #[test]
    fn both_bindings_write_the_same_content() {
        let mut out = Vec::new();
        Binding::JsonRpc("7".into()).event(&mut out, Some(3), &"x");
        Binding::Rest(JSON, JSON).event(&mut out, None, &"x");
        let expected = "id: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"x\"}\n\ndata: \"x\"\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
