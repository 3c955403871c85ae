//! `/openapi.json` and the page about it: the REST and discovery faces in the words of OpenAPI 3.1.
//!
//! Promises: written from the rows of the routes, so that it names each with the methods that it takes;
//! shapes are those of the types that handlers read and write, or lie in `schemas.json`. The stories hold the
//! document against a golden file and live answers. It needs no credential: it says how to ask, not what is
//! there.

mod page;

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{InfoBuilder, OpenApiBuilder, Ref, RefOr, Required, Schema};

use crate::document::{Reader, kept};
use crate::failure::Failure;
use crate::front::Front;
use crate::metrics::Face;
use crate::pages::{refuse_page, respond};
use crate::route::{Access, OperationDoc, Route, RouteDefaults, STREAM, Shape, Shapes};

/// The shapes that no type of ours has, as JSON Schema.
const SCHEMAS: &str = include_str!("openapi/schemas.json");

/// The form of an identifier of ARD.
const IDENTIFIER: &str = "~^urn:air:[A-Za-z0-9.-]+(:[A-Za-z0-9._-]+)+$";

/// The operations of a site, and the document about them once it was asked for.
struct Reference {
    operations: Vec<OperationDoc>,
    document: OnceLock<Value>,
}

impl Reference {
    /// The document; it is the same for every site.
    fn document(&self) -> &Value {
        self.document.get_or_init(|| document(&self.operations))
    }
}

/// The routes of this file, about these operations.
pub(crate) fn routes(operations: Vec<OperationDoc>) -> [Route; 2] {
    let defaults = RouteDefaults::new(Face::Pages, Access::Address);
    let reference = Arc::new(Reference { operations, document: OnceLock::new() });
    let shown = Arc::clone(&reference);
    let show = async move |State(front): State<Arc<Front>>, request: Request| show(&front, &shown, request);
    let page = async move |State(front): State<Arc<Front>>, request: Request| {
        let (parts, _) = request.into_parts();
        let page = page::write(&front.base(&parts), &reference.operations, reference.document());
        respond(StatusCode::OK, "text/html; charset=utf-8", page.into_string())
    };
    [defaults.get("/openapi.json", show), defaults.refused_by(refuse_page).get("/docs/api", page)]
}

fn show(front: &Front, reference: &Reference, request: Request) -> Result<Response, Failure> {
    let (parts, _) = request.into_parts();
    let changed_at = front.site.cards().changed_at();
    kept(&parts, Reader::Everybody, "application/json", reference.document(), changed_at)
}

fn document(operations: &[OperationDoc]) -> Value {
    let mut paths = Paths::new();
    for operation in operations {
        let item = PathItem::new(operation.method.clone(), described(operation));
        match paths.paths.get_mut(operation.path) {
            Some(known) => known.merge_operations(item),
            None => {
                paths.paths.insert(operation.path.to_owned(), item);
            }
        }
    }
    let info = InfoBuilder::new().title("agentsite").version(env!("CARGO_PKG_VERSION")).description(Some(
        "What a site of agents answers over HTTP beside A2A, MCP and the OpenAI-style face: its own REST interface, the registry of ARD, and the registry API of MCP.",
    ));
    let document = OpenApiBuilder::new().info(info.build()).paths(paths).build();
    let mut document = serde_json::to_value(document).expect("a document is JSON");
    // As they are written: JSON Schema has more words than the types of the document.
    document["components"] = serde_json::from_str(SCHEMAS).expect("the schemas of our own are JSON");
    if let Value::Object(schemas) = &mut document["components"]["schemas"] {
        schemas.extend(derived(operations));
    }
    document
}

/// The shapes of the types that the operations take and give.
fn derived(operations: &[OperationDoc]) -> Map<String, Value> {
    let mut shapes = Shapes::default();
    for operation in operations {
        operation.body.into_iter().for_each(|shape| shapes.request(shape));
        operation.answer.into_iter().for_each(|shape| shapes.answer(shape));
        shapes.answer(operation.part.error());
    }
    shapes.into_definitions()
}

fn described(operation: &OperationDoc) -> utoipa::openapi::path::Operation {
    let mut built = OperationBuilder::new()
        .operation_id(Some(operation.id))
        .tag(operation.part.name())
        .summary(Some(operation.summary));
    for name in operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let kind = if name == "identifier" { IDENTIFIER } else { "string" };
        built = built.parameter(parameter(name, kind, "", ParameterIn::Path));
    }
    for (name, kind, about) in operation.query {
        built = built.parameter(parameter(name, kind, about, ParameterIn::Query));
    }
    if let Some(body) = operation.body {
        let content = ContentBuilder::new().schema(Some(schema(body))).build();
        let body =
            RequestBodyBuilder::new().content("application/json", content).required(Some(Required::True));
        built = built.request_body(Some(body.build()));
    }
    let mut answer = ResponseBuilder::new().description(operation.summary);
    for (media, shape) in operation
        .answer
        .into_iter()
        .flat_map(|shape| operation.media.split('|').map(move |media| (media, shape)))
    {
        let shape = if media == STREAM { frame(shape) } else { schema(shape) };
        answer = answer.content(media, ContentBuilder::new().schema(Some(shape)).build());
    }
    let content = ContentBuilder::new().schema(Some(schema(operation.part.error()))).build();
    let refused = ResponseBuilder::new()
        .description("What went wrong, and what to do")
        .content("application/json", content);
    built = built.response(operation.status, answer.build()).response("default", refused.build());
    // Where nothing is needed, a key shows more: an empty requirement beside the key says so.
    let key = SecurityRequirement::new("key", Vec::<String>::new());
    if !operation.needs_key {
        built = built.security(SecurityRequirement::default());
    }
    built.security(key).build()
}

/// A parameter of a kind that the table names: `string`, `boolean`, `integer` (never negative), `1..100`,
/// `one|other`, `moment`, `uuid`, `name` (of an agent), `id` (that callers choose), or `~` and a regular
/// expression.
fn parameter(name: &str, kind: &str, about: &str, place: ParameterIn) -> Parameter {
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    let built = ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .schema(Some(value_of(kind)));
    if about.is_empty() { built.build() } else { built.description(Some(about)).build() }
}

fn value_of(kind: &str) -> ObjectBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    let format = |word: &str| Some(SchemaFormat::Custom(word.to_owned()));
    match kind {
        "string" => text,
        "boolean" => ObjectBuilder::new().schema_type(Type::Boolean),
        "integer" => number.minimum(Some(0)).maximum(Some(u64::MAX)),
        "moment" => text.format(format("date-time")),
        "uuid" => text.format(format("uuid")),
        "name" => text.pattern(Some("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
        "id" => text.pattern(Some(r"^[^\x00-\x1F\x7F-\x9F]{1,128}$")),
        kind => match (kind.strip_prefix('~'), kind.split_once("..")) {
            (Some(pattern), _) => text.pattern(Some(pattern)),
            (None, Some((least, most))) => {
                number.minimum(least.parse::<u64>().ok()).maximum(most.parse::<u64>().ok())
            }
            (None, None) => text.enum_values(Some(kind.split('|'))),
        },
    }
}

/// One event of a stream, as OpenAPI describes server-sent events: the fields of the frame, with the JSON as
/// the text of `data`.
fn frame(shape: Shape) -> RefOr<Schema> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let data = text().content_media_type("application/json").content_schema(Some(schema(shape)));
    let frame = ObjectBuilder::new().schema_type(Type::Object).property("id", text());
    frame.property("event", text()).property("data", data).required("data").into()
}

fn schema(shape: Shape) -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(shape.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> (Vec<OperationDoc>, Value) {
        let operations = crate::router::tests::all_operations();
        let document = document(&operations);
        (operations, document)
    }

    #[test]
    fn every_shape_that_is_named_is_there_and_every_one_is_named() {
        let (_, document) = all();
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for name in schemas.keys() {
            assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name} is not used");
        }
        for part in text.split("\"#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name} is not described");
        }
        assert_eq!(document["openapi"], "3.1.0");
    }

    #[test]
    fn no_shape_is_both_derived_and_written_by_hand() {
        let (operations, _) = all();
        let written: Value = serde_json::from_str(SCHEMAS).unwrap();
        for name in derived(&operations).keys() {
            assert!(written["schemas"].get(name).is_none(), "{name}");
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let (operations, _) = all();
        let names: std::collections::BTreeSet<_> = operations.iter().map(|operation| operation.id).collect();
        assert_eq!(names.len(), operations.len());
    }
}
