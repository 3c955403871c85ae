//! Stories of tools that ask something while a model uses them: the run waits for its caller and resumes
//! where it was.
//!
//! The model is scripted; the tools are played.

use std::sync::Arc;

use agentsite_protocol::mcp::{InputNeeded, InputRequest, Reply, Tool, ToolCall, ToolResult};
use futures::future::ready;
use serde_json::{Value, json};

use super::*;
use crate::contract::job;
use crate::{Exchange, ToolFault};

/// A set of one tool that asks whether to continue, twice when requested.
#[derive(Debug)]
struct Careful;

impl Toolbox for Careful {
    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        let schema = json!({"type": "object"});
        let tool = Tool { name: "erase".into(), input_schema: schema, ..Tool::default() };
        Box::pin(ready(Ok(Arc::from([tool]))))
    }

    fn call(&self, _: Exchange, call: ToolCall) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        let rounds = call.round.state.as_ref().and_then(Value::as_u64).unwrap_or(0);
        let wanted = call.arguments.get("questions").and_then(Value::as_u64).unwrap_or(1);
        let reply = if rounds == wanted {
            Reply::Done(ToolResult::text(format!("erased: {}", call.round.answers["sure"]["content"]["ok"])))
        } else {
            let size = call.arguments.get("size").and_then(Value::as_u64).unwrap_or(1);
            let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
            let message = format!("Sure{}", "?".repeat(usize::try_from(size).unwrap()));
            let params = json!({"message": message, "requestedSchema": schema}).as_object().cloned().unwrap();
            let request = InputRequest { method: "elicitation/create".into(), params };
            Reply::Input(InputNeeded {
                requests: [("sure".into(), request)].into(),
                state: Some(json!(rounds + 1)),
            })
        };
        Box::pin(ready(Ok(reply)))
    }
}

/// A site whose agent `files` has that tool.
#[derive(Debug)]
struct Site;

impl Calls for Site {
    fn call(&self, _: CallFrom, agent: AgentName, _: String) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(ready(Err(CallError::Unknown(agent))))
    }

    fn describe(&self, _: &AgentName) -> Option<String> {
        None
    }

    fn toolbox(&self, _: &CallFrom, agent: &AgentName) -> Option<Arc<dyn Toolbox>> {
        (agent.as_str() == "files").then(|| Arc::new(Careful) as Arc<dyn Toolbox>)
    }
}

fn erases(arguments: &str) -> ScriptedTurn {
    ScriptedTurn::says(["Let me see."]).calls("c1", "files_erase", arguments)
}

fn agent(turns: impl IntoIterator<Item = ScriptedTurn>) -> Scripted {
    scripted(&manifest("tools = [\"mcp:files\"]", ""), turns)
}

fn first() -> Job {
    Job { calls: Arc::new(Site), ..job("erase it") }
}

fn next(first: &Job, ran: &Ran, words: &str) -> Job {
    let memo = ran.steps.iter().rev().find_map(|step| match step {
        Step::Memo(memo) => Some(memo.clone()),
        _ => None,
    });
    Job { message: job(words).message, memo, attempt: 2, ..first.clone() }
}

fn told(model: &ScriptedModel, request: usize) -> (String, bool) {
    let Some(ChatMessage::Tool { text, failed, .. }) = model.requests()[request].messages.last().cloned()
    else {
        panic!("{:?}", model.requests())
    };
    (text, failed)
}

#[tokio::test]
async fn a_question_of_a_tool_goes_to_the_caller_and_the_run_goes_on() {
    let poet = agent([erases("{\"questions\":2}"), ScriptedTurn::says(["Gone."])]);
    let job = first();
    let ran = run(&*poet.runner, job.clone()).await;
    assert!(ran.ending().0 == "input-required" && ran.ending().1.contains("Sure?"), "{ran:?}");
    assert!(ran.answer().starts_with("Let me see."));

    let ran = run(&*poet.runner, next(&job, &ran, "perhaps")).await;
    assert!(ran.ending().1.starts_with("Answer with yes or no"), "{ran:?}");
    let ran = run(&*poet.runner, next(&job, &ran, "yes")).await;
    assert_eq!(ran.ending().0, "input-required", "the tool asks once more");
    let ran = run(&*poet.runner, next(&job, &ran, "yes")).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "Gone."));
    assert_eq!(told(&poet.model, 1), ("erased: true".into(), false));
    assert_eq!(poet.model.requests().len(), 2, "the model is not asked again while the caller is");
}

#[tokio::test]
async fn a_question_that_is_too_long_is_told_to_the_model_instead() {
    let poet = agent([erases("{\"size\":300000}"), ScriptedTurn::says(["I cannot."])]);
    let ran = run(&*poet.runner, first()).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "Let me see.\n\nI cannot."));
    let (text, failed) = told(&poet.model, 1);
    assert!(failed && text.contains("at most"), "{text}");
}
