//! An agent that is talked to, as a tool: words, skills with schemas, questions, long work.
//!
//! How it looks on the wire is the gateway's matter.

use std::collections::BTreeMap;

use super::*;
use crate::ToolTaskState;
use agentsite_host::{Job, Notice, Reporter};
use agentsite_protocol::mcp::Content;
use agentsite_protocol::{Artifact, Outcome, Part, Step};
use tokio::sync::Semaphore;

/// An agent that hands over files and data.
#[derive(Debug)]
struct Maker(Vec<Part>);

impl Runner for Maker {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let parts = self.0.clone();
        Box::pin(async move {
            let mut parts = parts;
            if let Some(data) = job.message.parts.iter().find_map(|part| part.data.clone()) {
                parts.push(Part::data(json!({ "sum": 4, "asked": data })));
            }
            let artifact = Artifact { artifact_id: "made".into(), parts, ..Artifact::default() };
            let _ = report.step(Step::Artifact { artifact, append: false, last_chunk: true }).await;
            Outcome::Completed(None)
        })
    }
}

fn told(result: &ToolResult) -> &Value {
    result.structured_content.as_ref().unwrap()
}

#[tokio::test]
async fn an_agent_is_one_tool_with_its_name() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let kit = story.kit(&agent);
    let tools = kit.tools(&exchange(PLAIN)).await.unwrap();
    let [tool] = &tools[..] else { panic!("{tools:?}") };
    assert_eq!((tool.name.as_str(), tool.tasks), ("echo", TaskSupport::Optional));
    assert_eq!(tool.input_schema["required"], json!(["message"]));
    assert_eq!(tool.annotations.as_ref().unwrap()["readOnlyHint"], false);
    let answer = result(&kit, "echo", json!({ "message": "hello" })).await;
    assert_eq!((answer.plain_text().as_str(), answer.is_error), ("hello", false));
    assert_eq!((&told(&answer)["state"], &told(&answer)["answer"]), (&json!("completed"), &json!("hello")));
    assert_eq!(answer.extra["_meta"]["agentsite/task"], told(&answer)["task"]);
}

#[tokio::test]
async fn a_conversation_goes_on_in_its_context() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let kit = story.kit(&agent);
    let first = result(&kit, "echo", json!({ "message": "one" })).await;
    let context = told(&first)["context"].clone();
    let second = result(&kit, "echo", json!({ "message": "two", "context": context })).await;
    assert_eq!(told(&second)["context"], context);
    assert_ne!(told(&second)["task"], told(&first)["task"]);
}

#[tokio::test]
async fn files_go_in_and_come_out_in_their_kinds() {
    let story = Story::begin().await;
    let file = |kind: &str, raw: &str| Part {
        raw: Some(raw.into()),
        media_type: Some(kind.into()),
        filename: Some("it".into()),
        ..Part::default()
    };
    let link = Part { url: Some("https://example.org/x".into()), ..Part::default() };
    let parts = vec![
        Part::text("words"),
        file("image/png", "AAAA"),
        file("audio/wav", "BBBB"),
        file("application/zip", "CCCC"),
        link,
    ];
    let agent = story.agent("maker", Maker(parts));
    let answer = result(&story.kit(&agent), "maker", json!({ "message": "go" })).await;
    let kinds: Vec<&str> = answer.content.iter().map(|piece| piece.kind.as_str()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource", "resource_link"]);
    let zip = answer.content[3].resource.as_ref().unwrap();
    assert!(zip.uri.ends_with("/artifacts/made"), "{}", zip.uri);

    let runner = Arc::new(echo());
    let agent = story.agent_with(
        "taker",
        "[[skills]]\nid = \"s\"\ndescription = \"d\"\ninput_modes = [\"*/*\"]",
        runner.clone(),
    );
    let files = json!([{ "name": "a.txt", "mimeType": "image/png", "data": "AAAA" }, { "uri": "https://example.org/b" }]);
    result(&story.kit(&agent), "taker", json!({ "message": "see", "files": files })).await;
    let message = &runner.jobs()[0].message;
    assert_eq!(message.parts[1].raw.as_deref(), Some("AAAA"));
    assert_eq!(message.parts[2].url.as_deref(), Some("https://example.org/b"));
}

#[tokio::test]
async fn what_is_wrong_with_the_arguments_is_told_to_the_model() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let kit = story.kit(&agent);
    for (arguments, said) in [
        (json!({}), "lacks `message`"),
        (json!({ "message": 7 }), "`message` must be of type string"),
        (json!({ "message": "x", "mood": 1 }), "`mood` is unknown"),
        (json!({ "message": "x", "files": [{}] }), "`data` or `uri`"),
        (json!({ "message": "x", "task": "0198c0de-0000-7000-8000-000000000001" }), "there is no task"),
        (json!({ "message": "x", "context": "a\u{1}" }), "control characters"),
    ] {
        let answer = result(&kit, "echo", arguments).await;
        assert!(answer.is_error && answer.plain_text().contains(said), "{}", answer.plain_text());
    }
    assert!(matches!(
        call(&kit, PLAIN, "other", json!({})).await,
        Err(ToolkitError::Tool(ToolFault::NoSuchTool(_)))
    ));
}

#[tokio::test]
async fn a_failure_comes_in_the_agents_words() {
    let story = Story::begin().await;
    let agent = story.agent("fails", ScriptedRunner::new().fail("no paper"));
    let answer = result(&story.kit(&agent), "fails", json!({ "message": "x" })).await;
    assert_eq!((answer.plain_text().as_str(), answer.is_error), ("no paper", true));
}

#[tokio::test]
async fn a_question_is_put_to_a_client_that_fills_forms() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("which color?").then().echo());
    let kit = story.kit(&agent);
    let ToolOutcome::Reply(Reply::Input(needed)) =
        call(&kit, FORMS, "asker", json!({ "message": "x" })).await.unwrap()
    else {
        panic!("it asks")
    };
    let asked = &needed.requests["question"];
    assert!(asked.params["message"].as_str().unwrap().contains("which color?"));
    let round = |answers| Round { answers, state: needed.state.clone() };
    let again = |answers| ToolCall { round: round(answers), ..with("asker", &json!({ "message": "x" })) };
    let asks_again = kit.call(exchange(FORMS), again(BTreeMap::new())).await.unwrap();
    assert!(matches!(asks_again, ToolOutcome::Reply(Reply::Input(_))), "no answer, the same question");
    let answers = BTreeMap::from([("question".to_owned(), form("red"))]);
    let ToolOutcome::Reply(Reply::Done(answer)) = kit.call(exchange(FORMS), again(answers)).await.unwrap()
    else {
        panic!("it is answered")
    };
    assert_eq!(answer.plain_text(), "red");
}

#[tokio::test]
async fn a_question_that_is_turned_down_ends_the_task() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("which?"));
    let kit = story.kit(&agent);
    let ToolOutcome::Reply(Reply::Input(needed)) =
        call(&kit, FORMS, "asker", json!({ "message": "x" })).await.unwrap()
    else {
        panic!("it asks")
    };
    let answers = BTreeMap::from([("question".to_owned(), json!({ "action": "decline" }))]);
    let round = Round { answers, state: needed.state.clone() };
    let ToolOutcome::Reply(Reply::Done(answer)) = kit
        .call(exchange(FORMS), ToolCall { round, ..with("asker", &json!({ "message": "x" })) })
        .await
        .unwrap()
    else {
        panic!("it ends")
    };
    assert!(answer.is_error);
    let id = needed.state.unwrap()["task"].as_str().unwrap().parse().unwrap();
    assert_eq!(state(&story.site.tasks().get(&Caller::local(), id).await.unwrap()), TaskState::Canceled);
}

#[tokio::test]
async fn a_plain_client_is_told_how_to_answer_and_can() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("which color?").then().echo());
    let kit = story.kit(&agent);
    let asked = result(&kit, "asker", json!({ "message": "x" })).await;
    assert!(!asked.is_error && asked.plain_text().contains("which color?"));
    assert_eq!(
        (&told(&asked)["state"], &told(&asked)["question"]),
        (&json!("input-required"), &json!("which color?"))
    );
    let task = told(&asked)["task"].clone();
    let answer = result(&kit, "asker", json!({ "message": "blue", "task": task })).await;
    assert_eq!(answer.plain_text(), "blue");
}

#[tokio::test(start_paused = true)]
async fn long_work_becomes_a_task_where_the_client_follows_one() {
    let story = Story::begin().await;
    let gate = Arc::new(Semaphore::new(0));
    let agent = story.agent("slow", ScriptedRunner::new().gate(&gate).chunk("at last"));
    let kit = story.kit(&agent);
    let ToolOutcome::Task(task) = call(&kit, TASKS, "slow", json!({ "message": "x" })).await.unwrap() else {
        panic!("it takes long")
    };
    assert_eq!(task.state, ToolTaskState::Working);
    gate.add_permits(1);
    story.site.tasks().watch(&Caller::local(), task.id, 0).await.unwrap().settled().await;
    let ToolTaskState::Done(answer) = kit.tasks().get(&Caller::local(), task.id).await.unwrap().state else {
        panic!("it is done")
    };
    assert_eq!((answer.plain_text().as_str(), &told(&answer)["state"]), ("at last", &json!("completed")));
    let quick = story.agent("quick", echo());
    let ToolOutcome::Reply(Reply::Done(answer)) =
        call(&story.kit(&quick), TASKS, "quick", json!({ "message": "x" })).await.unwrap()
    else {
        panic!("what is quick is answered at once")
    };
    assert_eq!(answer.plain_text(), "x");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_task_has_a_name_of_its_own_each_time() {
    let story = Story::begin().await;
    let gate = Arc::new(Semaphore::new(0));
    let agent =
        story.agent("asker", ScriptedRunner::new().gate(&gate).ask("one?").then().ask("two?").then().echo());
    let kit = story.kit(&agent);
    let ToolOutcome::Task(task) = call(&kit, TASKS, "asker", json!({ "message": "x" })).await.unwrap() else {
        panic!("it takes long")
    };
    gate.add_permits(1);
    let mut seen = Vec::new();
    for answer in ["a", "b"] {
        story.site.tasks().watch(&Caller::local(), task.id, 0).await.unwrap().settled().await;
        let ToolTaskState::Input(open) = kit.tasks().get(&Caller::local(), task.id).await.unwrap().state
        else {
            panic!("it asks")
        };
        let key = open.keys().next().unwrap().clone();
        assert!(!seen.contains(&key));
        kit.tasks()
            .update(&Caller::local(), task.id, BTreeMap::from([(key.clone(), form(answer))]))
            .await
            .unwrap();
        seen.push(key);
    }
    story.site.tasks().watch(&Caller::local(), task.id, 0).await.unwrap().settled().await;
    let done = kit.tasks().get(&Caller::local(), task.id).await.unwrap();
    assert!(matches!(done.state, ToolTaskState::Done(answer) if answer.plain_text() == "b"));
}

#[tokio::test]
async fn what_the_agent_says_on_the_way_is_progress() {
    let story = Story::begin().await;
    let agent = story.agent("talker", ScriptedRunner::new().status("thinking").chunk("one ").chunk("two"));
    let (exchange, mut notices) = Exchange::new(Caller::local(), PLAIN);
    story.kit(&agent).call(exchange, with("talker", &json!({ "message": "x" }))).await.unwrap();
    let mut said = Vec::new();
    let mut last = 0.0;
    while let Ok(Notice::Progress { progress, message, .. }) = notices.try_recv() {
        assert!(progress > last);
        (last, said) = (progress, [said, vec![message.unwrap()]].concat());
    }
    assert_eq!(said[0], "thinking");
    assert_eq!(said[1..].concat(), "one two");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends_its_task() {
    let story = Story::begin().await;
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("stuck", "", runner.clone());
    let kit = story.kit(&agent);
    for drops in [false, true] {
        let exchange = exchange(PLAIN);
        let cancel = exchange.cancel.clone();
        let calling = tokio::spawn({
            let kit = kit.clone();
            async move { kit.call(exchange, with("stuck", &json!({ "message": "x" }))).await.map(|_| ()) }
        });
        runner.started(if drops { 2 } else { 1 }).await;
        let id = runner.jobs().last().unwrap().task;
        if drops {
            calling.abort();
        } else {
            cancel.cancel();
        }
        let _ = calling.await;
        let task = story.site.tasks().watch(&Caller::local(), id, 0).await.unwrap().settled().await;
        assert_eq!(state(&task), TaskState::Canceled);
    }
}

const SUM: &str = r#"
[[skills]]
id = "sum"
description = "Adds"
input_schema = { type = "object", properties = { a = { type = "integer" } }, required = ["a"] }
output_schema = { type = "object", properties = { sum = { type = "integer" } }, required = ["sum"] }
"#;

#[tokio::test]
async fn a_skill_with_schemas_is_a_tool_of_its_own() {
    let story = Story::begin().await;
    let agent = story.agent_with("maker", SUM, Arc::new(Maker(Vec::new())));
    let kit = story.kit(&agent);
    let tools = kit.tools(&exchange(PLAIN)).await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["maker", "sum"]);
    assert_eq!(tools[1].output_schema.as_ref().unwrap()["required"], json!(["sum"]));
    let answer = result(&kit, "sum", json!({ "a": 1 })).await;
    assert_eq!(told(&answer)["sum"], 4);
    assert_eq!(told(&answer)["asked"], json!({ "skill": "sum", "arguments": { "a": 1 } }));
    let wrong = result(&kit, "sum", json!({ "a": "one" })).await;
    assert!(wrong.is_error && wrong.plain_text().contains("`a` must be of type integer"));
}

#[tokio::test]
async fn a_skill_reaches_an_agent_as_data() {
    let story = Story::begin().await;
    let runner = Arc::new(echo());
    let text = format!(
        "name = \"cat\"\ndescription = \"d\"\nvisibility = \"public\"\n{SUM}[runtime]\nkind = \"exec\"\ncommand = [\"cat\"]\n"
    );
    story.site.agents().install_runner(Manifest::read(&text).unwrap(), runner.clone());
    call(&story.kit(&"cat".parse().unwrap()), PLAIN, "sum", json!({ "a": 1 })).await.unwrap();
    let parts = runner.jobs()[0].message.parts.clone();
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert_eq!(parts[0].data.clone().unwrap(), json!({ "skill": "sum", "arguments": { "a": 1 } }));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_schema_is_a_failure() {
    let story = Story::begin().await;
    let words = |text: &str| ScriptedRunner::new().chunk(text);
    for (runner, fits) in
        [(words("four"), false), (words(r#"{"sum":4}"#), true), (words(r#"{"sum":"x"}"#), false)]
    {
        let agent = story.agent_with("adder", SUM, Arc::new(runner));
        let answer = result(&story.kit(&agent), "sum", json!({ "a": 1 })).await;
        assert_eq!(!answer.is_error, fits, "{answer:?}");
        assert_eq!(answer.plain_text().contains("does not fit its schema"), !fits);
    }
}

#[tokio::test]
async fn an_agent_that_keeps_no_record_answers_too() {
    let story = Story::begin().await;
    let text = "name = \"small\"\ndescription = \"d\"\nvisibility = \"public\"\nanswers = \"message\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install(Manifest::read(text).unwrap(), None).await.unwrap();
    let kit = story.kit(&"small".parse().unwrap());
    let answer = result(&kit, "small", json!({ "message": "hi" })).await;
    assert_eq!(answer.content, [Content::text("hi")]);
    let hint = kit.tools(&exchange(PLAIN)).await.unwrap()[0].annotations.clone().unwrap();
    assert_eq!(hint["readOnlyHint"], true, "echo changes nothing in the world");
}
