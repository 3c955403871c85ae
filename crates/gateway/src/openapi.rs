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
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Components, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Required, Schema};

use crate::document::{Reader, kept};
use crate::failure::Failure;
use crate::front::Front;
pub(crate) use operations::{OPERATIONS, Operation, Part};

/// The shapes of what goes in and out, as JSON Schema.
const SCHEMAS: &str = include_str!("openapi/schemas.json");

/// The document; it is the same for every site.
pub(crate) static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(document);

/// The routes of this face.
pub(crate) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/openapi.json", get(show))
}

async fn show(State(front): State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (parts, _) = request.into_parts();
    front.admit_stranger(&parts)?;
    kept(&parts, Reader::Everybody, "application/json", &*DOCUMENT, front.site.agents_changed_at())
}

fn document() -> OpenApi {
    let components: Components = serde_json::from_str(SCHEMAS).expect("the schemas of our own are read");
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
    OpenApiBuilder::new().info(info.build()).paths(paths).components(Some(components)).build()
}

fn described(operation: &Operation) -> utoipa::openapi::path::Operation {
    let mut built = OperationBuilder::new()
        .operation_id(Some(operation.id))
        .tag(operation.part.name())
        .summary(Some(operation.summary));
    for name in operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        built = built.parameter(parameter(name, "string", "", ParameterIn::Path));
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
    if let Some(shape) = operation.answer {
        let content = ContentBuilder::new().schema(Some(schema(shape))).build();
        answer = answer.content(operation.media, content);
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

fn parameter(name: &str, kind: &str, about: &str, place: ParameterIn) -> Parameter {
    let kind = match kind {
        "integer" => Type::Integer,
        "boolean" => Type::Boolean,
        _ => Type::String,
    };
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    let built = ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .schema(Some(ObjectBuilder::new().schema_type(kind)));
    if about.is_empty() { built.build() } else { built.description(Some(about)).build() }
}

fn schema(name: &str) -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(name))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_shape_that_is_named_is_there_and_every_one_is_named() {
        let document = serde_json::to_value(&*DOCUMENT).unwrap();
        let text = document.to_string();
        let kept: Value = serde_json::from_str(SCHEMAS).unwrap();
        for (name, shape) in kept["schemas"].as_object().unwrap() {
            assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name} is not used");
            assert_eq!(
                &document["components"]["schemas"][name], shape,
                "{name} is not told as it was written"
            );
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
            assert!(DOCUMENT.paths.paths.contains_key(path), "{path}");
        }
    }
}
