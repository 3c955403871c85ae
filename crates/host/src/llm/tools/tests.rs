//! Facts about what a model may call: names, two stages, results, and words about what is wrong.
//!
//! The toolbox is a small one in this process; agents elsewhere are in `llm/tests/elsewhere.rs`.

use agentsite_protocol::mcp::{Contents, Reply, Tool, ToolResult};
use futures::future::{BoxFuture, ready};
use serde_json::json;

use super::*;
use crate::contract::job;
use crate::{CallError, CallFrom, Calls, Exchange, ToolFault};

/// A set of numbered tools that say with what they were called; `broken` fails and `shy` asks.
#[derive(Debug)]
struct Numbered(usize);

impl Toolbox for Numbered {
    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        let tool = |number: usize| Tool {
            name: format!("tool.{number}"),
            description: Some(format!("Does thing {number}")),
            input_schema: json!({"type": "object", "properties": {"x": {"type": "integer"}}}),
            ..Tool::default()
        };
        Box::pin(ready(Ok((1..=self.0).map(tool).collect())))
    }

    fn call(&self, _: Exchange, call: mcp::ToolCall) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        let reply = match call.name.as_str() {
            "tool.1" => Ok(Reply::Done(ToolResult::text(format!("one: {}", json!(call.arguments))))),
            "tool.2" => Ok(Reply::Done(ToolResult::error("two is broken"))),
            "tool.3" => Ok(Reply::Input(mcp::InputNeeded::default())),
            name => Err(ToolFault::NoSuchTool(name.to_owned())),
        };
        Box::pin(ready(reply))
    }
}

/// A site whose only set of tools is called `files`.
#[derive(Debug)]
struct Site(usize);

impl Calls for Site {
    fn call(
        &self,
        _: CallFrom,
        agent: agentsite_protocol::AgentName,
        _: String,
    ) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(ready(Err(CallError::Unknown(agent))))
    }

    fn describe(&self, agent: &agentsite_protocol::AgentName) -> Option<String> {
        (agent.as_str() != "ghost").then(|| "Does things.".into())
    }

    fn toolbox(&self, _: &CallFrom, agent: &agentsite_protocol::AgentName) -> Option<Arc<dyn Toolbox>> {
        (agent.as_str() == "files").then(|| Arc::new(Numbered(self.0)) as Arc<dyn Toolbox>)
    }
}

fn job_in(site: Site) -> Job {
    Job { calls: Arc::new(site), ..job("hello") }
}

async fn counter(entries: &[&str], job: &Job) -> (Counter, Vec<String>) {
    let sources: Vec<_> =
        entries.iter().map(|entry| ToolSource::read(entry, &Egress::default()).unwrap()).collect();
    Counter::open(&sources, job).await
}

fn names(counter: &Counter) -> Vec<String> {
    counter.specs().into_iter().map(|spec| spec.name).collect()
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), arguments: arguments.into() }
}

async fn told(counter: &Counter, job: &Job, name: &str, arguments: &str) -> ToolOutcome {
    match counter.understand(&call(name, arguments)) {
        Ok(order) => order.carry_out(job, Round::default()).await,
        Err(why) => ToolOutcome::Error(why),
    }
}

#[tokio::test]
async fn every_tool_has_a_name_of_its_own_that_servers_take() {
    let job = job_in(Site(2));
    let long = format!("agent:{}", "x".repeat(63));
    let (counter, missing) = counter(&["agent:calc", "agent:calc", &long, &long, "mcp:files"], &job).await;
    let names = names(&counter);
    assert_eq!(names[..2], ["ask_calc", "ask_calc_2"]);
    assert!(names[2].len() == 64 && names[3].len() == 64 && names[2] != names[3]);
    assert_eq!(names[4..], ["files_tool_1", "files_tool_2"]);
    assert!(missing.is_empty());
}

#[tokio::test]
async fn what_is_not_there_is_not_offered() {
    let job = job_in(Site(2));
    let (counter, missing) = counter(&["agent:ghost", "mcp:calc"], &job).await;
    assert!(names(&counter).is_empty());
    assert!(missing[0].starts_with("agent:ghost is not offered to the model: there is no agent `ghost`"));
    assert!(missing[1].contains("there is no agent `calc` here that is a set of tools"), "{}", missing[1]);
}

#[test]
fn what_is_no_source_of_tools_is_refused() {
    for entry in ["calc", "shell:rm", "agent:", "mcp:https://x.example", "agent:http://"] {
        assert!(ToolSource::read(entry, &Egress::default()).is_none(), "{entry}");
    }
}

#[tokio::test]
async fn arguments_must_be_what_the_agent_wants() {
    let job = job_in(Site(0));
    let (counter, _) = counter(&["agent:calc"], &job).await;
    assert_eq!(
        counter.understand(&call("ask_calc", r#"{"message":"2+2"}"#)).unwrap().wording(),
        "asks calc: 2+2"
    );
    for bad in ["", "2+2", "{\"message\":4}", "{}", "{\"message\":\"a\",\"shout\":true}", "[\"a\"]extra"] {
        let why = counter.understand(&call("ask_calc", bad)).unwrap_err();
        assert!(why.starts_with("the arguments must be JSON like"), "{why}");
    }
    let why = counter.understand(&call("ask_bob", "{}")).unwrap_err();
    assert_eq!(why, "there is no tool `ask_bob`; there are: ask_calc");
}

#[tokio::test]
async fn a_tool_is_called_with_its_arguments_and_its_errors_are_words() {
    let job = job_in(Site(3));
    let (counter, _) = counter(&["mcp:files"], &job).await;
    assert_eq!(
        told(&counter, &job, "files_tool_1", r#"{"x":1}"#).await,
        ToolOutcome::Answer(r#"one: {"x":1}"#.into())
    );
    assert_eq!(told(&counter, &job, "files_tool_1", "").await, ToolOutcome::Answer("one: {}".into()));
    assert_eq!(told(&counter, &job, "files_tool_2", "{}").await, ToolOutcome::Error("two is broken".into()));
    assert!(matches!(told(&counter, &job, "files_tool_3", "{}").await, ToolOutcome::Question(_)));
    let ToolOutcome::Error(why) = told(&counter, &job, "files_tool_1", "[1]").await else { panic!() };
    assert!(why.starts_with("the arguments must be JSON like an object"), "{why}");
}

#[tokio::test]
async fn a_large_set_is_offered_in_two_stages() {
    let job = job_in(Site(41));
    let (counter, _) = counter(&["mcp:files"], &job).await;
    assert_eq!(names(&counter), ["files_list_tools", "files_describe_tool", "files_call_tool"]);
    let ToolOutcome::Answer(all) = told(&counter, &job, "files_list_tools", "{}").await else { panic!() };
    assert!(all.lines().count() == 41 && all.starts_with("tool.1: Does thing 1\n"), "{all}");
    let ToolOutcome::Answer(some) =
        told(&counter, &job, "files_list_tools", r#"{"search":"THING 41"}"#).await
    else {
        panic!()
    };
    assert_eq!(some, "tool.41: Does thing 41");
    let ToolOutcome::Answer(one) = told(&counter, &job, "files_describe_tool", r#"{"name":"tool.7"}"#).await
    else {
        panic!()
    };
    assert!(one.starts_with("Does thing 7\nArguments (JSON Schema): {"), "{one}");
    let called = told(&counter, &job, "files_call_tool", r#"{"name":"tool.1","arguments":{"x":2}}"#).await;
    assert_eq!(called, ToolOutcome::Answer(r#"one: {"x":2}"#.into()));
    let ToolOutcome::Error(why) = told(&counter, &job, "files_call_tool", r#"{"name":"rm"}"#).await else {
        panic!()
    };
    assert!(why.starts_with("there is no tool `rm`"), "{why}");
}

#[tokio::test]
async fn tools_at_hand_keep_their_own_names() {
    let job = job("hello");
    let source = ToolSource::toolbox("", Arc::new(Numbered(2)));
    let (counter, _) = Counter::open(&[source], &job).await;
    assert_eq!(names(&counter), ["tool_1", "tool_2"]);
    let order = counter.understand(&call("tool_1", r#"{"x":1}"#)).unwrap();
    assert_eq!(order.wording(), r#"uses tool.1: {"x":1}"#);
}

#[test]
fn a_result_is_read_as_words_and_other_things_are_mentioned() {
    use agentsite_protocol::mcp::{Content, Resource};
    let link = Resource { uri: "file:///a".into(), name: "a".into(), ..Resource::default() };
    let result = ToolResult {
        content: vec![
            Content::text("words"),
            Content::image("AAAA", "image/png"),
            Content::resource(Contents::text("file:///b", "text/plain", "b!")),
            Content::link(link),
        ],
        structured_content: Some(json!({"n": 1})),
        ..ToolResult::default()
    };
    let words = toolbox::in_words(&result);
    assert_eq!(words, "words\n[image of image/png, left out]\nfile:///b:\nb!\n[see file:///a]");
    assert_eq!(toolbox::in_words(&ToolResult { content: vec![], ..result }), r#"{"n":1}"#);
    assert_eq!(toolbox::in_words(&ToolResult::default()), "(the tool gave nothing)");
}

#[test]
fn long_answers_are_cut_between_characters() {
    let cut = bounded("é".repeat(MAX_RESULT));
    assert!(cut.len() < MAX_RESULT + 60 && cut.ends_with("cut here]"));
    assert_eq!(bounded("short".into()), "short");
    assert_eq!(excerpt("a\n b  c", 3), "a b…");
}

#[tokio::test]
async fn a_model_uses_an_api_by_its_document() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let pet = axum::routing::get(|axum::extract::Path(id): axum::extract::Path<u32>| async move {
        axum::Json(json!({"id": id, "name": "Rex"}))
    });
    tokio::spawn(async { axum::serve(listener, axum::Router::new().route("/pets/{id}", pet)).await });
    let folder = tempfile::tempdir().unwrap();
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "servers": [{"url": place}],
        "paths": {"/pets/{id}": {"get": {
            "operationId": "getPet", "summary": "One pet",
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
            "responses": {"200": {"description": "The pet"}}
        }}}
    });
    std::fs::write(folder.path().join("pets.json"), document.to_string()).unwrap();
    let text = "name = \"vet\"\ndescription = \"d\"\n[runtime]\nkind = \"llm\"\nprompt = \"p\"\ntools = [\"openapi:pets.json\"]\n";
    let manifest = crate::Manifest::read(text).unwrap();
    let crate::Runtime::Llm(runtime) = &manifest.runtime else { panic!("an llm agent") };
    let egress = Egress::unguarded();
    let job = job("hello");
    let log = crate::AgentLog::new(job.ids.clock().clone());
    let sources = crate::llm::tool_sources(runtime, Some(folder.path()), &egress, &log).unwrap();
    let (counter, missing) = Counter::open(&sources, &job).await;
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(names(&counter), ["pets_getPet"]);
    match told(&counter, &job, "pets_getPet", "{\"id\": 7}").await {
        ToolOutcome::Answer(words) => assert!(words.contains("Rex"), "{words}"),
        other => panic!("{other:?}"),
    }
    let gone = crate::llm::tool_sources(runtime, Some(std::path::Path::new("/nowhere")), &egress, &log);
    assert!(gone.unwrap_err().to_string().contains("pets.json"));
}
