//! Facts about the toolbox of the conformance agent: each kind of tool as the suite calls it, in paused time.
//!
//! The end-to-end tests run the suite itself over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use agentsite_host::{NOTICE_QUEUE, Notice};
use agentsite_protocol::Caller;
use agentsite_protocol::mcp::{Abilities, CompletionOf, InputNeeded, Round, TaskSupport};
use tokio::time::Instant;

use super::*;

/// Names in the suite's own spelling; a tool that is renamed or lost is noticed here.
const NAMES: [&str; 36] = [
    "confirm_delete",
    "failing_job",
    "greet",
    "json_schema_2020_12_tool",
    "multi_input",
    "protocol_error_job",
    "slow_compute",
    "test_audio_content",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_error_handling",
    "test_header_parameters",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_reconnection",
    "test_sampling",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_tool_with_task",
    "test_trigger_prompt_change",
    "test_trigger_resource_change",
    "test_trigger_tool_change",
];

fn able() -> Exchange {
    Exchange::silent(Caller::local(), Abilities::ALL)
}

async fn call(name: &str, arguments: Value, round: Round) -> Played {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    SuiteToolbox::new().call(able(), ToolCall { name: name.into(), arguments, round }).await
}

async fn result(name: &str, arguments: Value, round: Round) -> ToolResult {
    match call(name, arguments, round).await.unwrap() {
        Reply::Done(result) => result,
        Reply::Input(needed) => panic!("{name} asks {needed:?}"),
    }
}

async fn asked(name: &str, round: Round) -> InputNeeded {
    match call(name, json!({}), round).await.unwrap() {
        Reply::Input(needed) => needed,
        Reply::Done(result) => panic!("{name} gives {result:?}"),
    }
}

/// A round in which `key` was answered with a filled form.
fn accepted(key: &str, content: &Value, state: Option<Value>) -> Round {
    let answer = json!({ "action": "accept", "content": content });
    Round { answers: BTreeMap::from([(key.to_owned(), answer)]), state }
}

#[tokio::test]
async fn it_has_every_tool_that_the_suite_names() {
    let tools = SuiteToolbox::new().tools(&able()).await.unwrap();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[0], "test_simple_text", "the suite calls the first tool without arguments");
    names.sort_unstable();
    assert_eq!(names, NAMES);
    assert!(tools.iter().all(|tool| tool.description.is_some() && tool.input_schema["type"] == "object"));
}

#[tokio::test]
async fn the_schema_keeps_its_keywords_and_parameters_say_their_headers() {
    let tools = SuiteToolbox::new().tools(&able()).await.unwrap();
    let schema = |name: &str| &tools.iter().find(|tool| tool.name == name).unwrap().input_schema;
    let newer = schema("json_schema_2020_12_tool");
    for keyword in ["$schema", "$defs", "allOf", "if", "then", "else", "additionalProperties"] {
        assert!(newer.get(keyword).is_some(), "{keyword}");
    }
    assert_eq!(newer["$defs"]["address"]["$anchor"], "addressDef");
    assert_eq!(schema("test_header_parameters")["properties"]["region"]["x-mcp-header"], "Region");
}

#[tokio::test]
async fn content_comes_in_every_kind() {
    for (name, kinds) in [
        ("test_simple_text", vec!["text"]),
        ("test_image_content", vec!["image"]),
        ("test_audio_content", vec!["audio"]),
        ("test_embedded_resource", vec!["resource"]),
        ("test_multiple_content_types", vec!["text", "image", "resource"]),
    ] {
        let result = result(name, json!({}), Round::default()).await;
        let given: Vec<&str> = result.content.iter().map(|piece| piece.kind.as_str()).collect();
        assert_eq!((given, result.is_error), (kinds, false), "{name}");
    }
    assert!(result("test_error_handling", json!({}), Round::default()).await.is_error);
    assert!(matches!(call("unheard_of", json!({}), Round::default()).await, Err(ToolFault::NoSuchTool(_))));
}

#[tokio::test(start_paused = true)]
async fn notices_come_on_the_way() {
    for (name, count) in [
        ("test_tool_with_logging", 3),
        ("test_logging_tool", 1),
        ("test_tool_with_progress", 3),
        ("test_reconnection", 1),
    ] {
        let (exchange, mut notices) = Exchange::new(Caller::local(), Abilities::default());
        let call = ToolCall { name: name.into(), ..ToolCall::default() };
        SuiteToolbox::new().call(exchange, call).await.unwrap();
        let mut seen = Vec::with_capacity(NOTICE_QUEUE);
        while let Ok(notice) = notices.try_recv() {
            seen.push(notice);
        }
        assert_eq!(seen.len(), count, "{name}: {seen:?}");
        assert_eq!(seen[0] == Notice::Detach, name == "test_reconnection");
    }
}

#[tokio::test]
async fn announced_changes_reach_listeners() {
    let toolbox = SuiteToolbox::new();
    let mut changes = toolbox.changes().unwrap();
    for (name, change) in [
        ("test_trigger_tool_change", Change::Tools),
        ("test_trigger_prompt_change", Change::Prompts),
        ("test_trigger_resource_change", Change::Resource("test://watched-resource".into())),
    ] {
        toolbox.call(able(), ToolCall { name: name.into(), ..ToolCall::default() }).await.unwrap();
        assert_eq!(changes.try_recv().unwrap(), change);
    }
}

#[tokio::test]
async fn each_question_is_answered_by_a_second_call() {
    let form = json!({ "action": "accept", "content": { "name": "Alice", "ok": true } });
    let model = json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" } });
    let folders = json!({ "roots": [{ "uri": "file:///a" }] });
    for (name, key, method, answer, words) in [
        ("test_input_required_result_elicitation", "user_name", "elicitation/create", &form, "Hello, Alice!"),
        (
            "test_input_required_result_sampling",
            "capital_question",
            "sampling/createMessage",
            &model,
            "Paris",
        ),
        ("test_input_required_result_list_roots", "client_roots", "roots/list", &folders, "file:///a"),
        ("test_input_required_result_request_state", "confirm", "elicitation/create", &form, "state-ok"),
        ("test_sampling", "sampling", "sampling/createMessage", &model, "LLM response: Paris"),
        ("test_elicitation", "user", "elicitation/create", &form, "User response"),
        ("test_elicitation_sep1034_defaults", "form", "elicitation/create", &form, "completed"),
        ("test_elicitation_sep1330_enums", "form", "elicitation/create", &form, "completed"),
        ("test_streaming_elicitation", "confirm", "elicitation/create", &form, "Confirmed"),
        ("test_tool_with_task", "user_name", "elicitation/create", &form, "Alice"),
    ] {
        let needed = asked(name, Round::default()).await;
        assert_eq!(needed.requests[key].method, method, "{name}");
        let answers = BTreeMap::from([(key.to_owned(), answer.clone())]);
        let text = result(name, json!({}), Round { answers, state: needed.state }).await.plain_text();
        assert!(text.contains(words), "{name}: {text}");
    }
}

#[tokio::test]
async fn an_answer_of_another_form_is_asked_for_again() {
    let name = "test_input_required_result_elicitation";
    for answers in [json!({}), json!({ "wrong_key": {} }), json!({ "user_name": 12345 })] {
        let answers = serde_json::from_value(answers).unwrap();
        let needed = asked(name, Round { answers, state: None }).await;
        assert!(needed.requests.contains_key("user_name"));
    }
}

#[tokio::test]
async fn a_state_that_is_not_its_own_is_refused() {
    let name = "test_input_required_result_tampered_state";
    for state in [None, Some(json!({ "tool": "another" }))] {
        let round = accepted("confirm", &json!({ "ok": true }), state);
        assert!(matches!(call(name, json!({}), round).await, Err(ToolFault::BadArguments(_))));
    }
}

#[tokio::test]
async fn rounds_follow_each_other_with_a_new_state() {
    let name = "test_input_required_result_multi_round";
    let first = asked(name, Round::default()).await;
    let second = asked(name, accepted("step1", &json!({ "name": "Alice" }), first.state.clone())).await;
    assert_ne!(first.state, second.state);
    let round = accepted("step2", &json!({ "color": "blue" }), second.state);
    assert_eq!(result(name, json!({}), round).await.plain_text(), "Alice likes blue.");
}

#[tokio::test]
async fn several_questions_come_at_a_time() {
    let needed = asked("test_input_required_result_multiple_inputs", Round::default()).await;
    assert_eq!((needed.requests.len(), needed.state.is_some()), (3, true));
    let two = asked("multi_input", Round::default()).await;
    assert_eq!(two.requests.len(), 2);
}

#[tokio::test]
async fn only_able_clients_are_asked() {
    let able = Abilities { sampling: true, ..Abilities::default() };
    let toolbox = SuiteToolbox::new();
    let call = |name: &str, abilities| {
        let call = ToolCall { name: name.into(), ..ToolCall::default() };
        toolbox.call(Exchange::silent(Caller::local(), abilities), call)
    };
    let Reply::Input(needed) = call("test_input_required_result_capabilities", able).await.unwrap() else {
        panic!("it asks the model");
    };
    assert!(needed.requests.values().all(|asked| asked.method == "sampling/createMessage"));
    let Err(ToolFault::NeedsAbility { capability, .. }) =
        call("test_missing_capability", Abilities::default()).await
    else {
        panic!("it needs the model");
    };
    assert_eq!(capability, json!({ "sampling": {} }));
    assert!(matches!(call("test_missing_capability", able).await, Ok(Reply::Done(_))));
}

#[tokio::test(start_paused = true)]
async fn jobs_say_how_they_may_be_followed() {
    let tools = SuiteToolbox::new().tools(&able()).await.unwrap();
    let support = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().tasks;
    assert_eq!(support("greet"), TaskSupport::Never);
    assert_eq!(support("slow_compute"), TaskSupport::Optional);
    assert_eq!(support("failing_job"), TaskSupport::Required);
    assert_eq!(support("test_tool_with_task"), TaskSupport::AfterInput);

    let began = Instant::now();
    let slow = result("slow_compute", json!({ "seconds": 2, "label": "a" }), Round::default()).await;
    assert_eq!((slow.plain_text().as_str(), began.elapsed().as_secs()), ("a took 2 seconds.", 2));
    assert!(result("failing_job", json!({}), Round::default()).await.is_error);
    assert!(matches!(
        call("protocol_error_job", json!({}), Round::default()).await,
        Err(ToolFault::Failed(_))
    ));
    let round = accepted("confirm", &json!({ "confirm": true }), None);
    let deleted = result("confirm_delete", json!({ "filename": "a.txt" }), round).await;
    assert!(deleted.plain_text().contains("a.txt would"));
}

#[tokio::test(start_paused = true)]
async fn slow_work_stops_when_its_caller_is_gone() {
    let exchange = able();
    let (cancel, began) = (exchange.cancel.clone(), Instant::now());
    let arguments = json!({ "seconds": 60 }).as_object().unwrap().clone();
    let call = ToolCall { name: "slow_compute".into(), arguments, ..ToolCall::default() };
    let toolbox = SuiteToolbox::new();
    let (ended, ()) = tokio::join!(toolbox.call(exchange, call), async { cancel.cancel() });
    assert!(matches!(ended, Ok(Reply::Done(result)) if result.is_error));
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn what_is_listed_can_be_read() {
    let toolbox = SuiteToolbox::new();
    let listed = toolbox.resources(&able()).await.unwrap();
    let mut uris: Vec<String> = listed.into_iter().map(|resource| resource.uri).collect();
    uris.push("test://template/123/data".into());
    for uri in uris {
        let reading = Reading { uri: uri.clone(), round: Round::default() };
        let Reply::Done(contents) = toolbox.read(able(), reading).await.unwrap() else { panic!("{uri}") };
        assert_eq!(contents[0].uri, uri);
        assert!(contents[0].text.is_some() || contents[0].blob.is_some());
    }
    for uri in ["test://nowhere", "test://template//data", "test://template/a/b/data"] {
        let reading = Reading { uri: uri.into(), round: Round::default() };
        assert!(matches!(toolbox.read(able(), reading).await, Err(ToolFault::NoSuchResource(_))), "{uri}");
    }
    assert_eq!(toolbox.templates(&able()).await.unwrap()[0].uri_template, "test://template/{id}/data");
}

#[tokio::test]
async fn prompts_are_filled() {
    let toolbox = SuiteToolbox::new();
    let given: BTreeMap<String, String> = [("arg1", "one"), ("arg2", "two"), ("resourceUri", "test://x")]
        .map(|(k, v)| (k.into(), v.into()))
        .into();
    for (name, words) in [
        ("test_simple_prompt", "simple prompt"),
        ("test_prompt_with_arguments", "arg1='one', arg2='two'"),
        ("test_prompt_with_embedded_resource", "test://x"),
        ("test_prompt_with_image", "image/png"),
    ] {
        let call = PromptCall { name: name.into(), arguments: given.clone(), round: Round::default() };
        let Reply::Done(text) = toolbox.prompt(able(), call).await.unwrap() else { panic!("{name}") };
        assert!(serde_json::to_string(&text).unwrap().contains(words), "{name}");
    }
    let missing = PromptCall { name: "test_prompt_with_arguments".into(), ..PromptCall::default() };
    assert!(matches!(toolbox.prompt(able(), missing).await, Err(ToolFault::BadArguments(_))));
    assert_eq!(toolbox.prompts(&able()).await.unwrap().len(), 5);
}

#[tokio::test]
async fn a_prompt_may_ask_too() {
    let toolbox = SuiteToolbox::new();
    let call =
        |round| PromptCall { name: "test_input_required_result_prompt".into(), round, ..Default::default() };
    let Reply::Input(needed) = toolbox.prompt(able(), call(Round::default())).await.unwrap() else {
        panic!("it asks");
    };
    assert!(needed.requests.contains_key("user_context"));
    let round = accepted("user_context", &json!({ "context": "a garden" }), None);
    let Reply::Done(text) = toolbox.prompt(able(), call(round)).await.unwrap() else {
        panic!("it is filled")
    };
    assert!(serde_json::to_string(&text).unwrap().contains("a garden"));
}

#[tokio::test]
async fn completions_begin_with_what_was_typed() {
    let toolbox = SuiteToolbox::new();
    let completing = |of, value: &str| Completing {
        of,
        argument: "arg1".into(),
        value: value.into(),
        others: BTreeMap::new(),
    };
    let prompt = CompletionOf::Prompt("test_prompt_with_arguments".into());
    let known = toolbox.complete(&able(), completing(prompt.clone(), "par")).await.unwrap();
    assert_eq!(known.values, ["paris", "park", "party"]);
    let template = CompletionOf::Template("test://template/{id}/data".into());
    assert_eq!(toolbox.complete(&able(), completing(template, "45")).await.unwrap().values, ["456"]);
    assert!(toolbox.complete(&able(), completing(prompt, "z")).await.unwrap().values.is_empty());
}
