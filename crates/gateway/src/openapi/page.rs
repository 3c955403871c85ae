//! The page about the HTTP interfaces, for people: the same operations as in `/openapi.json`.
//!
//! Promises: written from the rows of the routes, so that it says what the document says; no script, nothing
//! from elsewhere. It tries nothing out: it is for reading.

use utoipa::openapi::path::HttpMethod;

use serde_json::Value;

use crate::pages::Html;
use crate::route::{DocumentPart, OperationDoc};

/// Writes the page.
pub(super) fn write(base: &str, operations: &[OperationDoc], document: &Value) -> Html {
    let mut page = Html::page("HTTP interfaces");
    page.open("header").element("h1", "HTTP interfaces");
    page.element("p", &format!("Everything below {base} beside A2A, MCP and the OpenAI-style face."));
    page.open("p")
        .link("/openapi.json", "OpenAPI document")
        .text(" · ")
        .link("/", "Front page")
        .close("p")
        .close("header");
    page.open("main");
    for part in DocumentPart::ALL {
        page.open("section").element("h2", part.name());
        page.element("p", intro(part));
        for operation in operations.iter().filter(|operation| operation.part == part) {
            describe(&mut page, operation);
        }
        page.close("section");
    }
    page.open("section").element("h2", "Shapes");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        page.element("h3", name).element("pre", &serde_json::to_string_pretty(schema).unwrap_or_default());
    }
    page.close("section").close("main");
    page
}

fn intro(part: DocumentPart) -> &'static str {
    match part {
        DocumentPart::Rest => "For callers with a key: send Authorization: Bearer KEY.",
        DocumentPart::Ard => {
            "Agentic Resource Discovery: what others search by. A key shows more than strangers see."
        }
        DocumentPart::Servers => "Agents as servers of tools, for programs that read the registry of MCP.",
        DocumentPart::Rpc => "The same agents by JSON-RPC 2.0, for programs that look for one.",
    }
}

fn describe(page: &mut Html, operation: &OperationDoc) {
    page.open("article").element("h3", &format!("{} {}", method(operation), operation.path));
    page.element("p", operation.summary);
    if !operation.query.is_empty() {
        page.open("ul");
        for (name, kind, about) in operation.query {
            page.element("li", &format!("{name} ({kind}): {about}"));
        }
        page.close("ul");
    }
    let takes = operation.body.map(|body| format!("takes {}, ", body.name())).unwrap_or_default();
    let gives = operation.answer.map(|answer| format!(" with {}", answer.name())).unwrap_or_default();
    let facts =
        format!("{takes}gives {}{gives}, errors as {}", operation.status, operation.part.error().name());
    page.open_class("p", "facts").text(&facts).close("p").close("article");
}

fn method(operation: &OperationDoc) -> &'static str {
    match operation.method {
        HttpMethod::Post => "POST",
        HttpMethod::Delete => "DELETE",
        HttpMethod::Patch => "PATCH",
        HttpMethod::Put => "PUT",
        _ => "GET",
    }
}
