//! Cards, transcripts, artifacts, prompts and completions; and who is told that they have changed.
//!
//! A foreign caller sees none of it.

use std::collections::BTreeMap;

use super::*;
use crate::Change;
use agentsite_protocol::TaskId;
use agentsite_protocol::mcp::{Completing, CompletionOf, Contents, PromptCall, Reading};
use tokio::sync::Semaphore;

async fn read(kit: &Toolkit, caller: &Caller, uri: &str) -> Result<Vec<Contents>, ToolkitError> {
    let reading = Reading { uri: uri.into(), round: Round::default() };
    match kit.read(Exchange::silent(caller.clone(), PLAIN), reading).await? {
        Reply::Done(contents) => Ok(contents),
        Reply::Input(needed) => panic!("{needed:?}"),
    }
}

fn task_uri(id: TaskId) -> String {
    format!("agentsite://tasks/{id}")
}

#[tokio::test]
async fn cards_are_read_by_those_who_may_call() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let kit = story.whole();
    let listed = kit.resources(&exchange(PLAIN)).await.unwrap();
    assert_eq!(listed[0].uri, "agentsite://agents/echo/card");
    let text = read(&kit, &Caller::local(), &listed[0].uri).await.unwrap()[0].text.clone().unwrap();
    let card: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&card["name"], &card["supportedInterfaces"]), (&json!("echo"), &json!([])));
    let known = kit.at("https://example.org");
    let text = read(&known, &Caller::local(), &listed[0].uri).await.unwrap()[0].text.clone().unwrap();
    let card: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(card["supportedInterfaces"][0]["url"], "https://example.org/a2a/echo");
    assert!(card["signatures"].is_array());
    let own = story.kit(&agent).resources(&exchange(PLAIN)).await.unwrap();
    assert_eq!(own.len(), 1);
}

#[tokio::test]
async fn a_transcript_can_be_read_by_a_person() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("# which\ncolor?").then().echo());
    let task = story.ask(&agent, "paint").await;
    let answer = story.answers(&task, "red");
    let Sent::Task(watch) = story.try_send(&Caller::local(), &agent, answer).await.unwrap() else { panic!() };
    let id = watch.settled().await.head.id;
    let page = read(&story.whole(), &Caller::local(), &task_uri(id)).await.unwrap();
    assert_eq!(page[0].mime_type.as_deref(), Some("text/markdown"));
    let page = page[0].text.clone().unwrap();
    for said in [
        "# Task",
        "Agent **asker**, completed",
        "**Caller:**\n\n> paint",
        "> # which\n> color?",
        "> red",
        "## What was made",
    ] {
        assert!(page.contains(said), "{said} in\n{page}");
    }
}

#[tokio::test]
async fn artifacts_are_read_part_by_part() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let task = story.ask(&agent, "made").await;
    let id = &task.artifacts[0].artifact_id;
    let uri = format!("{}/artifacts/{id}", task_uri(task.head.id));
    let parts = read(&story.whole(), &Caller::local(), &uri).await.unwrap();
    assert_eq!((parts[0].text.as_deref(), parts[0].mime_type.as_deref()), (Some("made"), Some("text/plain")));
    let templates = story.whole().templates(&exchange(PLAIN)).await.unwrap();
    assert_eq!(templates.len(), 3);
}

#[tokio::test]
async fn what_is_not_for_a_caller_answers_like_nothing() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let other = story.agent("other", echo());
    let text = "name = \"secret\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install_runner(Manifest::read(text).unwrap(), Arc::new(echo()));
    let task = story.ask(&agent, "mine").await;
    let made = format!("{}/artifacts/{}", task_uri(task.head.id), task.artifacts[0].artifact_id);
    let theirs = story.site.toolkit(&stranger(), None).unwrap();
    for uri in [
        &task_uri(task.head.id),
        &made,
        "agentsite://agents/secret/card",
        "agentsite://agents/nobody/card",
        "file:///etc/passwd",
    ] {
        let refused = read(&theirs, &stranger(), uri).await;
        assert!(matches!(refused, Err(ToolkitError::Tool(ToolFault::NoSuchResource(_)))), "{uri}");
    }
    let listed = theirs.resources(&Exchange::silent(stranger(), PLAIN)).await.unwrap();
    let uris: Vec<&str> = listed.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["agentsite://agents/echo/card", "agentsite://agents/other/card"]);
    let elsewhere = read(&story.kit(&other), &Caller::local(), &task_uri(task.head.id)).await;
    assert!(elsewhere.is_err(), "a task of another agent is none of this toolkit");
}

#[tokio::test]
async fn a_watched_task_is_told_of_to_its_owner() {
    let story = Story::begin().await;
    let gate = Arc::new(Semaphore::new(0));
    let runner = Arc::new(ScriptedRunner::new().gate(&gate).chunk("more"));
    let agent = story.agent_with("slow", "", runner.clone());
    let watch = story.send(&agent, "x").await;
    let uri = task_uri(watch.id());
    let kit = story.whole();
    let mut changes = kit.changes().unwrap();
    let theirs = story.site.toolkit(&stranger(), None).unwrap();
    let mut foreign = theirs.changes().unwrap();
    kit.watch(&uri, true);
    theirs.watch(&uri, true);
    runner.started(1).await;
    tokio::task::yield_now().await;
    gate.add_permits(1);
    assert_eq!(changes.recv().await.unwrap(), Change::Resource(uri.clone()));
    watch.settled().await;
    assert!(foreign.try_recv().is_err(), "nobody hears of another's task");
    kit.watch(&uri, false);
}

#[tokio::test]
async fn a_change_of_the_agents_is_told() {
    let story = Story::begin().await;
    let kit = story.whole();
    let mut changes = kit.changes().unwrap();
    kit.watch("agentsite://agents/echo/card", true);
    story.agent("echo", echo());
    let mut told = Vec::new();
    while let Ok(change) = changes.try_recv() {
        told.push(change);
    }
    let card = Change::Resource("agentsite://agents/echo/card".into());
    assert_eq!(told, [Change::Tools, Change::Resources, Change::Prompts, card]);
    story.site.agents().uninstall(&"echo".parse().unwrap()).await;
    assert_eq!(changes.try_recv().unwrap(), Change::Tools);
}

/// A set of tools that can say that they have changed.
#[derive(Debug)]
struct Restless(tokio::sync::broadcast::Sender<Change>);

impl Toolbox for Restless {
    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        Box::pin(std::future::ready(Ok(Arc::default())))
    }

    fn call(&self, _: Exchange, call: ToolCall) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(std::future::ready(Err(ToolFault::NoSuchTool(call.name))))
    }

    fn changes(&self) -> Option<tokio::sync::broadcast::Receiver<Change>> {
        Some(self.0.subscribe())
    }
}

#[tokio::test]
async fn a_change_of_an_agents_own_tools_is_told_to_those_who_see_the_whole_site() {
    let story = Story::begin().await;
    let sender = tokio::sync::broadcast::Sender::new(8);
    story.agent("restless", ToolboxRunner::new(Arc::new(Restless(sender.clone()))));
    let mut changes = story.whole().changes().unwrap();
    sender.send(Change::Tools).unwrap();
    assert_eq!(changes.recv().await.unwrap(), Change::Tools);
    story.agent("restless", echo());
    let mut own = story.kit(&"restless".parse().unwrap()).changes().unwrap();
    let _ = sender.send(Change::Tools);
    tokio::task::yield_now().await;
    assert!(own.try_recv().is_err(), "the old version is no longer heard");
}

const ASKABLE: &str =
    "[[skills]]\nid = \"add\"\nname = \"Add\"\ndescription = \"Adds\"\nexamples = [\"2 + 2\", \"3 + 3\"]";

#[tokio::test]
async fn examples_of_skills_are_prompts() {
    let story = Story::begin().await;
    story.agent_with("calc", ASKABLE, Arc::new(echo()));
    story.agent("echo", echo());
    let kit = story.whole();
    let prompts = kit.prompts(&exchange(PLAIN)).await.unwrap();
    let [prompt] = &prompts[..] else { panic!("{prompts:?}") };
    assert_eq!((prompt.name.as_str(), prompt.arguments[0].name.as_str()), ("calc/add", "request"));
    for (given, said) in [(None, "2 + 2"), (Some("7 * 6"), "7 * 6")] {
        let arguments = given.map(|text: &str| ("request".to_owned(), text.to_owned())).into_iter().collect();
        let call = PromptCall { name: "calc/add".into(), arguments, round: Round::default() };
        let Reply::Done(text) = kit.prompt(exchange(PLAIN), call).await.unwrap() else { panic!() };
        let words = text.messages[0].content.text.clone().unwrap();
        assert!(words.contains("`calc`") && words.ends_with(said), "{words}");
    }
    let call = PromptCall { name: "calc/nothing".into(), ..PromptCall::default() };
    assert!(matches!(
        kit.prompt(exchange(PLAIN), call).await,
        Err(ToolkitError::Tool(ToolFault::NoSuchPrompt(_)))
    ));
}

#[tokio::test]
async fn names_ids_and_examples_are_completed() {
    let story = Story::begin().await;
    let calc = story.agent_with("calc", ASKABLE, Arc::new(echo()));
    story.agent("clock", echo());
    let task = story.ask(&calc, "x").await;
    let kit = story.whole();
    let complete = |of, argument: &str, value: &str, others: BTreeMap<String, String>| {
        let completing = Completing { of, argument: argument.into(), value: value.into(), others };
        let kit = kit.clone();
        async move { kit.complete(&exchange(PLAIN), completing).await.unwrap().values }
    };
    let template = |form: &str| CompletionOf::Template(form.into());
    let none = BTreeMap::new;
    assert_eq!(complete(template("agentsite://agents/{name}/card"), "name", "CL", none()).await, ["clock"]);
    let id = task.head.id.to_string();
    assert_eq!(
        complete(template("agentsite://tasks/{id}"), "id", &id[..4], none()).await,
        std::slice::from_ref(&id)
    );
    let artifact = template("agentsite://tasks/{id}/artifacts/{artifact}");
    let others = BTreeMap::from([("id".to_owned(), id)]);
    let made = task.artifacts[0].artifact_id.clone();
    assert_eq!(complete(artifact, "artifact", "", others).await, [made]);
    let prompt = CompletionOf::Prompt("calc/add".into());
    assert_eq!(complete(prompt, "request", "3", none()).await, ["3 + 3"]);
    assert!(complete(template("other"), "x", "", none()).await.is_empty());
}
