//! Operation: what `/openapi.json` and the page about it say of one route.
//!
//! Promises: plain values, written beside the handler they describe. It says nothing about A2A, MCP and the
//! OpenAI-style face, which have specifications of their own.

use utoipa::openapi::path::HttpMethod;

use super::shape::Shape;
use crate::failure::{ArdError, RestError, ServersError};

/// Media type of server-sent events.
pub(crate) const STREAM: &str = "text/event-stream";

/// Parameters in the query: name, type as the document's writer reads it, and meaning.
pub(crate) type Query = &'static [(&'static str, &'static str, &'static str)];

/// The part of the document that an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentPart {
    /// The REST face.
    Rest,
    /// The registry of ARD.
    Ard,
    /// The registry API of MCP.
    Servers,
    /// Agents by JSON-RPC.
    Rpc,
}

impl DocumentPart {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 4] = [Self::Ard, Self::Rest, Self::Rpc, Self::Servers];

    /// Its name in the document.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rest => "REST",
            Self::Ard => "Discovery (ARD)",
            Self::Servers => "MCP registry",
            Self::Rpc => "JSON-RPC",
        }
    }

    /// The shape of its errors.
    pub(crate) fn error(self) -> Shape {
        match self {
            Self::Rest => Shape::of::<RestError<'_>>(),
            Self::Ard => Shape::of::<ArdError<'_>>(),
            Self::Servers => Shape::of::<ServersError<'_>>(),
            Self::Rpc => Shape::Named("RpcError"),
        }
    }
}

/// One method of one path.
#[derive(Clone)]
pub(crate) struct OperationDoc {
    pub(crate) part: DocumentPart,
    pub(crate) method: HttpMethod,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: Query,
    /// Shape of the request.
    pub(crate) body: Option<Shape>,
    pub(crate) status: &'static str,
    /// Shape of the answer.
    pub(crate) answer: Option<Shape>,
    /// Media types of the answer, the usual one first, separated by `|`.
    pub(crate) media: &'static str,
    /// Whether a request without a key is always refused.
    pub(crate) needs_key: bool,
}

impl OperationDoc {
    /// An operation that takes no body and gives none, with the usual status of its method.
    pub(super) fn new(
        part: DocumentPart,
        method: HttpMethod,
        path: &'static str,
        (id, summary): (&'static str, &'static str),
        needs_key: bool,
    ) -> Self {
        let status = if method == HttpMethod::Delete { "204" } else { "200" };
        let (body, answer, media) = (None, None, "application/json");
        Self { part, method, path, id, summary, query: &[], body, status, answer, media, needs_key }
    }
}
