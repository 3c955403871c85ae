//! Stories of APIs that are used by their documents: a shop of pets that listens on this machine, described
//! in both versions.
//!
//! The shop answers with what it was asked, so that each story sees the request as it arrived.

use std::net::SocketAddr;

use agentsite_egress::EgressSettings;
use agentsite_protocol::mcp::Abilities;
use agentsite_protocol::{Caller, Ids, JsonMap, Part};
use axum::Router;
use axum::body::Bytes;
use axum::extract::Path as UrlPath;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{any, get};
use serde_json::{Value, json};

use super::*;
use crate::contract::{self, BEGINNING, SeededRng, VirtualClock, job, soon};
use crate::llm::ModelSettings;
use crate::{Environment, LaunchError, Manifest, Runner, Workshop};

/// The shop as OpenAPI 3.0 describes it, in YAML.
const SHOP: &str = r##"
openapi: 3.0.3
info: { title: Pets, version: "7", description: A shop of pets. }
servers: [{ url: "http://{host}/v1", variables: { host: { default: PLACE } } }]
security: [{ shop_key: [] }]
paths:
  /pets:
    parameters:
      - { name: limit, in: query, schema: { type: integer, maximum: 100 }, description: How many }
    get:
      operationId: listPets
      summary: List pets
      parameters:
        - { name: tags, in: query, explode: false, schema: { type: array, items: { type: string } } }
        - { name: filter, in: query, style: deepObject, schema: { type: object } }
        - { $ref: "#/components/parameters/Trace" }
      responses:
        "200": { description: ok, content: { application/json: { schema: { type: array, items: { $ref: "#/components/schemas/Pet" } } } } }
    post:
      operationId: addPet
      requestBody: { required: true, content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
      responses:
        "201": { description: ok, content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
  /pets/{pet id}:
    get:
      parameters: [{ name: pet id, in: path, required: true, schema: { type: string } }]
      responses: { "200": { description: ok } }
    delete:
      operationId: removePet
      security: []
      parameters: [{ name: pet id, in: path, required: true, schema: { type: string } }]
      responses: { "204": { description: gone } }
  /form:
    post:
      operationId: sendForm
      requestBody: { content: { application/x-www-form-urlencoded: { schema: { type: object, properties: { name: { type: string } } } } } }
      responses: { "200": { description: ok } }
  /parts:
    post:
      operationId: sendParts
      requestBody: { content: { multipart/form-data: { schema: { type: object } } } }
      responses: { "200": { description: ok } }
components:
  parameters:
    Trace: { name: X-Trace, in: header, schema: { type: string } }
  securitySchemes:
    shop_key: { type: apiKey, in: header, name: X-Shop-Key }
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: { type: string }
        age: { type: integer, nullable: true }
        friends: { type: array, items: { $ref: "#/components/schemas/Pet" } }
"##;

/// Another shop as OpenAPI 3.1 describes it, in JSON, with a server relative to the document.
fn shop_of_today() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Odds and ends", "version": "1"},
        "servers": [{"url": "/v1/"}],
        "paths": {
            "/missing": {"get": {"operationId": "missing"}},
            "/picture": {"get": {"operationId": "picture"}},
            "/bytes": {"get": {"operationId": "bytes"}},
            "/words": {"get": {"operationId": "words"}},
            "/nothing": {"get": {"operationId": "nothing"}},
            "/much": {"get": {"operationId": "much"}},
            "/slow": {"get": {"operationId": "slow"}},
            "/object": {"get": {"operationId": "object", "responses": {"200": {"content": {"application/json": {"schema": {
                "type": ["object"], "properties": {"a": {"type": "integer"}}}}}}}}},
        }
    })
}

async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Json<Value> {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    Json(json!({
        "method": method.as_str(),
        "uri": uri.to_string(),
        "key": header("x-shop-key"),
        "auth": header("authorization"),
        "trace": header("x-trace"),
        "type": header("content-type"),
        "body": String::from_utf8_lossy(&body),
    }))
}

async fn odds(UrlPath(what): UrlPath<String>) -> Response {
    match what.as_str() {
        "missing" => (StatusCode::NOT_FOUND, "no pet of this name").into_response(),
        "picture" => ([("content-type", "image/png")], vec![0xff, 1]).into_response(),
        "bytes" => ([("content-type", "application/zip")], vec![0xff, 2]).into_response(),
        "words" => "plain words".into_response(),
        "nothing" => StatusCode::NO_CONTENT.into_response(),
        "much" => vec![b'x'; MOST_ANSWER + 1].into_response(),
        "slow" => std::future::pending().await,
        _ => Json(json!({"a": 1})).into_response(),
    }
}

/// A shop that listens; gives where.
async fn shop() -> SocketAddr {
    let today = get(async || shop_of_today().to_string());
    let router = Router::new()
        .route("/today.json", today)
        .route("/v1/pets", any(echo))
        .route("/v1/pets/{id}", any(echo))
        .route("/v1/form", any(echo))
        .route("/v1/parts", any(echo))
        .route("/v1/{what}", get(odds));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    place
}

fn egress(allow: &[SocketAddr]) -> Egress {
    let allow = allow.iter().map(|place| place.to_string().parse().unwrap()).collect();
    Egress::new(EgressSettings { allow, ..EgressSettings::default() }).unwrap()
}

fn log() -> AgentLog {
    AgentLog::new(VirtualClock::at(BEGINNING))
}

/// The shop's tools, from a file.
fn pets(place: SocketAddr, credentials: Credentials) -> (tempfile::TempDir, Arc<OpenApiTools>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), SHOP.replace("PLACE", &place.to_string())).unwrap();
    let source = OpenApiSource { document: "shop.yaml".into(), base_url: None, credentials };
    let tools = open(source, folder.path(), &egress(&[place]), &log()).unwrap();
    (folder, tools)
}

fn exchange() -> Exchange {
    Exchange::silent(Caller::local(), Abilities::default())
}

async fn call(tools: &OpenApiTools, tool: &str, arguments: Value) -> ToolResult {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    let call = ToolCall { name: tool.into(), arguments, ..ToolCall::default() };
    match soon("the tool answers", tools.call(exchange(), call)).await.unwrap() {
        Reply::Done(result) => result,
        Reply::Input(needed) => panic!("{needed:?}"),
    }
}

/// The request as the shop saw it.
async fn seen(tools: &OpenApiTools, tool: &str, arguments: Value) -> Value {
    let result = call(tools, tool, arguments).await;
    assert!(!result.is_error, "{result:?}");
    serde_json::from_str(&result.plain_text()).unwrap()
}

#[tokio::test]
async fn every_operation_is_a_tool_with_its_schema_and_its_hints() {
    let (_folder, tools) = pets(shop().await, Credentials::default());
    let listed = tools.tools(&exchange()).await.unwrap();
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["sendForm", "sendParts", "listPets", "addPet", "get_pets_pet_id", "removePet"]);
    let list = &listed[2];
    assert_eq!(list.title.as_deref(), Some("List pets"));
    assert_eq!(list.input_schema["properties"]["limit"]["description"], "How many");
    assert_eq!(list.annotations.as_ref().unwrap()["readOnlyHint"], true);
    let output = list.output_schema.as_ref().unwrap();
    assert_eq!(output["properties"]["result"]["items"], json!({"$ref": "#/$defs/Pet"}));
    let add = &listed[3];
    assert_eq!(
        (&add.input_schema["required"], add.annotations.as_ref().unwrap()["readOnlyHint"].clone()),
        (&json!(["body"]), json!(false))
    );
    assert_eq!(add.input_schema["$defs"]["Pet"]["properties"]["age"]["type"], json!(["integer", "null"]));
    assert_eq!(
        add.output_schema.as_ref().unwrap()["properties"]["friends"]["items"],
        json!({"$ref": "#/$defs/Pet"})
    );
    assert_eq!(tools.about().name, "Pets");
}

#[tokio::test]
async fn arguments_go_where_the_document_says() {
    let keys = [("shop_key".to_owned(), "k3y".to_owned())].into();
    let (_folder, tools) = pets(shop().await, Credentials { token: None, keys });
    let list = json!({"limit": 3, "tags": ["a&b", "c"], "filter": {"kind": "dog"}, "X-Trace": "t1"});
    let request = seen(&tools, "listPets", list).await;
    assert_eq!(request["uri"], "/v1/pets?tags=a%26b%2Cc&filter%5Bkind%5D=dog&limit=3");
    assert_eq!((&request["key"], &request["trace"]), (&json!("k3y"), &json!("t1")));

    let request =
        seen(&tools, "addPet", json!({"body": {"name": "Rex", "friends": [{"name": "Tom"}]}})).await;
    assert_eq!((&request["method"], &request["type"]), (&json!("POST"), &json!("application/json")));
    assert_eq!(request["body"], r#"{"friends":[{"name":"Tom"}],"name":"Rex"}"#);

    let request = seen(&tools, "get_pets_pet_id", json!({"pet id": "../a/b?c#d"})).await;
    assert_eq!(request["uri"], "/v1/pets/..%2Fa%2Fb%3Fc%23d");
    let request = seen(&tools, "removePet", json!({"pet id": "7"})).await;
    assert_eq!(
        (&request["method"], &request["key"]),
        (&json!("DELETE"), &Value::Null),
        "it wants no key, so it gets none"
    );

    let request = seen(&tools, "sendForm", json!({"body": {"name": "a b&c"}})).await;
    assert_eq!(request["body"], "name=a+b%26c");
    let request = seen(&tools, "sendParts", json!({"body": {"name": "x"}})).await;
    assert!(request["type"].as_str().unwrap().starts_with("multipart/form-data; boundary="), "{request}");
    assert!(request["body"].as_str().unwrap().contains("name=\"name\"\r\n\r\nx\r\n"), "{request}");
}

#[tokio::test]
async fn wrong_arguments_are_told_in_words_and_nothing_is_sent() {
    let (_folder, tools) = pets(shop().await, Credentials::default());
    let told = async |tool: &str, arguments: Value| {
        let result = call(&tools, tool, arguments).await;
        assert!(result.is_error);
        result.plain_text()
    };
    assert!(told("addPet", json!({})).await.contains("`body` is missing"));
    assert!(
        told("addPet", json!({"body": {"name": 7}}))
            .await
            .contains("`body.name` must be of the kind string, not number")
    );
    assert!(
        told("listPets", json!({"limit": "three"})).await.contains("`limit` must be of the kind integer")
    );
    assert!(told("listPets", json!({"colour": "red"})).await.contains("there is no argument `colour`"));
    assert!(told("removePet", json!({"pet id": ".."})).await.contains("are not valid in a part of a path"));
    assert!(told("listPets", json!({"X-Trace": "a\r\nb: c"})).await.contains("not allowed in a header"));
    let unknown = tools.call(exchange(), ToolCall { name: "sellPet".into(), ..ToolCall::default() }).await;
    assert_eq!(unknown.unwrap_err(), ToolFault::NoSuchTool("sellPet".into()));
}

#[tokio::test]
async fn answers_of_every_kind_are_results() {
    let place = shop().await;
    let document = format!("http://{place}/today.json");
    let source = OpenApiSource { document, ..OpenApiSource::default() };
    let tools = open(source, Path::new("."), &egress(&[place]), &log()).unwrap();
    let missing = call(&tools, "missing", json!({})).await;
    assert!(
        missing.is_error && missing.plain_text().contains("404 Not Found: no pet of this name"),
        "{missing:?}"
    );
    let picture = call(&tools, "picture", json!({})).await;
    assert_eq!(
        (picture.content[0].kind.as_str(), picture.content[0].data.as_deref()),
        ("image", Some("/wE="))
    );
    let bytes = call(&tools, "bytes", json!({})).await;
    assert_eq!(bytes.content[0].resource.as_ref().unwrap().blob.as_deref(), Some("/wI="));
    assert_eq!(call(&tools, "words", json!({})).await.plain_text(), "plain words");
    assert!(!call(&tools, "nothing", json!({})).await.is_error);
    let much = call(&tools, "much", json!({})).await;
    assert!(much.is_error && much.plain_text().contains("ask for less"), "{much:?}");
    assert_eq!(call(&tools, "object", json!({})).await.structured_content, Some(json!({"result": {"a": 1}})));
    assert_eq!(tools.health(), Health::Ready);
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends() {
    let place = shop().await;
    let source = OpenApiSource { document: format!("http://{place}/today.json"), ..OpenApiSource::default() };
    let tools = open(source, Path::new("."), &egress(&[place]), &log()).unwrap();
    let exchange = exchange();
    exchange.cancel.cancel();
    let ended =
        soon("it ends", tools.call(exchange, ToolCall { name: "slow".into(), ..ToolCall::default() })).await;
    assert!(matches!(ended, Err(ToolFault::Failed(_))));
}

#[tokio::test]
async fn private_addresses_are_refused_for_documents_and_for_calls() {
    let place = shop().await;
    let log = log();
    let source = OpenApiSource { document: format!("http://{place}/today.json"), ..OpenApiSource::default() };
    let tools = open(source, Path::new("."), &egress(&[]), &log).unwrap();
    let down = async {
        while !matches!(tools.health(), Health::Down(_)) {
            tokio::task::yield_now().await;
        }
    };
    soon("it is down", down).await;
    assert!(log.tail(1)[0].text.contains("[egress] allow"), "{:?}", log.tail(1));

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), SHOP.replace("PLACE", "169.254.169.254")).unwrap();
    let source = OpenApiSource { document: "shop.yaml".into(), ..OpenApiSource::default() };
    let tools = open(source, folder.path(), &egress(&[]), &log).unwrap();
    let refused = tools.call(exchange(), ToolCall { name: "listPets".into(), ..ToolCall::default() }).await;
    assert!(matches!(&refused, Err(ToolFault::Down(why)) if why.contains("169.254.169.254")), "{refused:?}");
}

#[test]
fn a_document_of_strangers_does_not_send_credentials_elsewhere() {
    let text = json!({"openapi": "3.1.0", "servers": [{"url": "https://evil.example"}], "paths": {"/a": {"get": {}}}}).to_string();
    let mut whereabouts = DocumentLocation {
        document: Some("https://good.example/api.json".parse().unwrap()),
        base: None,
        guarded: true,
    };
    let error = Api::read(text.as_bytes(), &whereabouts).unwrap_err();
    assert!(error.to_string().contains("https://evil.example"), "{error}");
    whereabouts.guarded = false;
    assert!(Api::read(text.as_bytes(), &whereabouts).is_ok());
    (whereabouts.guarded, whereabouts.base) = (true, Some("https://evil.example/api".parse().unwrap()));
    assert!(Api::read(text.as_bytes(), &whereabouts).is_ok(), "the operator named it");
}

#[test]
fn hostile_documents_are_refused_or_cut() {
    let read = |value: Value| Api::read(value.to_string().as_bytes(), &DocumentLocation::default());
    assert_eq!(read(json!({"openapi": "3.1.0", "paths": {}})).unwrap_err(), DocumentError::Empty);
    let homeless = read(json!({"openapi": "3.1.0", "paths": {"/a": {"get": {}}}})).unwrap_err();
    assert!(homeless.to_string().contains("set base_url"), "{homeless}");
    let servers = json!([{"url": "file:///etc"}]);
    assert!(read(json!({"openapi": "3.1.0", "servers": servers, "paths": {"/a": {"get": {}}}})).is_err());
    let servers = json!([{"url": "https://api.example"}]);
    let many: JsonMap = (0..2_001).map(|at| (format!("/p{at}"), json!({"get": {}}))).collect();
    let too_many = read(json!({"openapi": "3.1.0", "servers": servers, "paths": many})).unwrap_err();
    assert_eq!(too_many, DocumentError::TooManyOperations(2_000));
    let strange = json!({"openapi": "3.1.0", "servers": servers, "components": {"schemas": {"A": {"$ref": "#/components/schemas/A"}}}, "paths": {
        "/a": {"$ref": "#/paths/~1a"}, "no-slash": {"get": {}}, "/b": 7, "/c": {"get": 7, "post": {
            "parameters": [7, {"$ref": "x.json"}, {"in": "body", "name": "x"}, {"in": "query"}, {"in": "query", "name": "q", "schema": {"$ref": "#/components/schemas/A"}}],
            "requestBody": {"$ref": "#/paths/~1c/post/requestBody"}, "responses": {"200": {"$ref": "#"}}, "security": [{"none": []}, 7]
        }}
    }});
    let api = read(strange).unwrap();
    assert_eq!(api.tools.len(), 1);
    assert_eq!(api.tools[0].input_schema["properties"]["q"], json!({"$ref": "#/$defs/A"}));
    assert!(
        arguments::complaints(&api.tools[0].input_schema, json!({"q": 1}).as_object().unwrap()).is_empty()
    );
}

#[test]
fn files_outside_of_the_folder_are_refused() {
    for name in ["/etc/passwd", "../x.yaml", "a/../../x.yaml"] {
        assert!(matches!(file(Path::new("."), name), Err(OpenApiError::Outside(_))), "{name}");
    }
    assert!(matches!(file(Path::new("."), "not-there.yaml"), Err(OpenApiError::File { .. })));
}

/// The runner of an `agent.toml` in a folder with the shop's document.
fn launch(folder: &Path, place: SocketAddr, more: &str) -> Result<Arc<dyn Runner>, LaunchError> {
    let text = format!("name = \"shop\"\ndescription = \"Pets\"\n[runtime]\nkind = \"openapi\"\n{more}\n");
    let manifest = Manifest::read(&text).unwrap();
    let clock = VirtualClock::at(BEGINNING);
    let workshop = Workshop {
        credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
        confinement: crate::Confinement::none(),
        ids: Ids::new(clock.clone(), Arc::new(SeededRng::default())),
        egress: egress(&[place]),
        circuits: agentsite_egress::Circuits::new(Arc::new(SeededRng::default())),
        models: ModelSettings::none(),
        environment: Environment::new([("SHOP_KEY".to_owned(), "k3y".to_owned())]),
    };
    workshop.launch(&manifest, Some(folder), &AgentLog::new(clock))
}

#[tokio::test]
async fn an_agent_that_is_an_api_takes_structured_messages() {
    let place = shop().await;
    let (folder, _tools) = pets(place, Credentials::default());
    let shop = "document = \"shop.yaml\"\nkeys = { shop_key = \"SHOP_KEY\" }";
    let runner = launch(folder.path(), place, shop).unwrap();
    let mut asked = job("");
    asked.message.parts = vec![Part::data(json!({"tool": "listPets", "arguments": {"limit": 2}}))];
    let ran = contract::run(&*runner, asked).await;
    assert_eq!(ran.ending().0, "completed", "{ran:?}");
    let told = serde_json::to_string(&ran.artifacts()).unwrap();
    assert!(told.contains("limit=2") && told.contains("k3y"), "{told}");
    assert_eq!(runner.card().unwrap().skills.len(), 6);
    let unset = launch(folder.path(), place, "document = \"shop.yaml\"\ntoken_env = \"UNSET\"").unwrap_err();
    assert!(unset.to_string().contains("UNSET"), "{unset}");
    let missing = launch(folder.path(), place, "document = \"other.yaml\"").unwrap_err();
    assert!(missing.to_string().contains("other.yaml"), "{missing}");
}
