//! `/openapi.json`: the REST and discovery faces in the words of OpenAPI 3.1.
//!
//! Promises: every route of the REST face and of the registries is described, with the methods that it takes and the shapes of what goes in and out;
//! the stories hold the document against the routes, a golden file and live answers. It needs no credential: it tells how to ask, not what is there.

mod operations;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;
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
pub(crate) use operations::{OPERATIONS, Operation, Part};

/// The shapes of what goes in and out, as JSON Schema.
const SCHEMAS: &str = include_str!("openapi/schemas.json");

/// The form of an identifier of ARD.
const IDENTIFIER: &str = "~^urn:air:[A-Za-z0-9.-]+(:[A-Za-z0-9._-]+)+$";

/// The document; it is the same for every site.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

/// The routes of this face.
pub(crate) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/openapi.json", get(show))
}

async fn show(State(front): State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (parts, _) = request.into_parts();
    front.admit_stranger(&parts)?;
    kept(&parts, Reader::Everybody, "application/json", &*DOCUMENT, front.site.agents_changed_at())
}

fn document() -> Value {
    let mut paths = Paths::new();
    for operation in &OPERATIONS {
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
    document
}

fn described(operation: &Operation) -> utoipa::openapi::path::Operation {
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
        let shape = if media == operations::STREAM { frame(shape) } else { schema(shape) };
        answer = answer.content(media, ContentBuilder::new().schema(Some(shape)).build());
    }
    let content = ContentBuilder::new().schema(Some(schema(operation.part.error()))).build();
    let refused = ResponseBuilder::new()
        .description("What went wrong, and what to do")
        .content("application/json", content);
    built = built.response(operation.status, answer.build()).response("default", refused.build());
    // Where nothing is needed, a key shows more: an empty requirement beside the key says so.
    let key = SecurityRequirement::new("key", Vec::<String>::new());
    if operation.part != Part::Rest {
        built = built.security(SecurityRequirement::default());
    }
    built.security(key).build()
}

/// A parameter of a kind that the table names: `string`, `boolean`, `integer` (never negative), `1..100`, `one|other`, `moment`, `uuid`,
/// `name` (of an agent), `id` (that callers choose), or `~` and a regular expression.
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

/// One event of a stream, as OpenAPI describes server-sent events: the fields of the frame, with the JSON as the text of `data`.
fn frame(name: &str) -> RefOr<Schema> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let data = text().content_media_type("application/json").content_schema(Some(schema(name)));
    let frame = ObjectBuilder::new().schema_type(Type::Object).property("id", text());
    frame.property("event", text()).property("data", data).required("data").into()
}

fn schema(name: &str) -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_that_is_named_is_there_and_every_one_is_named() {
        let document = &*DOCUMENT;
        let text = document.to_string();
        let kept: Value = serde_json::from_str(SCHEMAS).unwrap();
        for name in kept["schemas"].as_object().unwrap().keys() {
            assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name} is not used");
        }
        for part in text.split("\"#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(kept["schemas"].get(name).is_some(), "{name} is not described");
        }
        assert_eq!(document["openapi"], "3.1.0");
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let mut names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.id).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }

    #[test]
    fn every_route_of_the_rest_face_is_described() {
        for path in crate::api_paths() {
            assert!(DOCUMENT["paths"].get(path).is_some(), "{path}");
        }
    }
}
