//! Facts about a toolbox that is talked to in messages: a call, its progress, its questions over several
//! runs, and its end.
//!
//! The toolbox of these tests is a list of closures; real ones are tested where they live.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::contract;
use agentsite_protocol::extension::MCP;
use agentsite_protocol::mcp::{InputNeeded, InputRequest, ToolResult};
use agentsite_protocol::{Artifact, Part, Role};

type Play = fn(Exchange, ToolCall) -> BoxFuture<'static, Result<Reply<ToolResult>, ToolFault>>;

/// A toolbox with one tool.
#[derive(Debug)]
struct OneTool(Play);

impl Toolbox for OneTool {
    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        let tool = Tool { name: "it".into(), title: Some("It".into()), ..Tool::default() };
        Box::pin(std::future::ready(Ok(Arc::from([tool]))))
    }

    fn call(
        &self,
        exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        (self.0)(exchange, call)
    }
}

fn ready(
    played: Result<Reply<ToolResult>, ToolFault>,
) -> BoxFuture<'static, Result<Reply<ToolResult>, ToolFault>> {
    Box::pin(std::future::ready(played))
}

fn done(text: impl Into<String>) -> BoxFuture<'static, Result<Reply<ToolResult>, ToolFault>> {
    ready(Ok(Reply::Done(ToolResult::text(text))))
}

/// Asks for these fields, each in its own form.
fn asks(fields: &[&str], state: Value) -> BoxFuture<'static, Result<Reply<ToolResult>, ToolFault>> {
    let form = |name: &str| {
        let schema =
            json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
        let params = json!({ "message": format!("Which {name}?"), "requestedSchema": schema });
        InputRequest { method: "elicitation/create".into(), params: params.as_object().unwrap().clone() }
    };
    let requests = fields.iter().map(|name| ((*name).to_owned(), form(name))).collect();
    ready(Ok(Reply::Input(InputNeeded { requests, state: Some(state) })))
}

fn field(call: &ToolCall, name: &str) -> Option<String> {
    call.round.answers.get(name)?["content"][name].as_str().map(str::to_owned)
}

/// A job with a data part.
fn with_data(data: Value) -> Job {
    let mut job = contract::job("");
    job.message.parts = vec![Part::data(data)];
    job
}

/// One run: its steps and how it ended.
async fn run(play: Play, job: Job) -> (Vec<Step>, Outcome) {
    let (report, mut reports) = Reporter::channel();
    let run = ToolboxRunner::new(Arc::new(OneTool(play))).run(job, report);
    let listening = async {
        let mut steps = Vec::new();
        while let Some(step) = reports.recv().await {
            steps.push(step);
        }
        steps
    };
    let (outcome, steps) = tokio::join!(run, listening);
    (steps, outcome)
}

/// The next run of a task that asked: with its memo and what the caller says.
fn resumed(steps: &[Step], message: Message) -> Job {
    let memo = steps.iter().find_map(|step| match step {
        Step::Memo(memo) => Some(memo.clone()),
        _ => None,
    });
    Job { memo, message, ..contract::job("") }
}

fn made(steps: &[Step]) -> Option<Artifact> {
    steps.iter().find_map(|step| match step {
        Step::Artifact { artifact, .. } => Some(artifact.clone()),
        _ => None,
    })
}

fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(words) | Outcome::Rejected(words) | Outcome::InputRequired(words) => {
            words.plain_text()
        }
        other => panic!("{other:?}"),
    }
}

fn questions(outcome: &Outcome) -> Vec<String> {
    let Outcome::InputRequired(words) = outcome else { panic!("{outcome:?}") };
    words.extra["metadata"][MCP]["requests"].as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn it_keeps_the_contract_of_runners_for_those_who_stop_listening() {
    let job = with_data(json!({ "tool": "it" }));
    let cancel: CancellationToken = job.cancel.clone();
    let (report, _reports) = Reporter::channel();
    let runner = ToolboxRunner::new(Arc::new(OneTool(|_, _| Box::pin(std::future::pending()))));
    let (outcome, ()) = tokio::join!(runner.run(job, report), async { cancel.cancel() });
    assert_eq!(outcome, Outcome::Canceled(None));
}

#[tokio::test]
async fn a_data_part_is_a_call_and_its_result_an_artifact() {
    let play: Play = |_, call| done(format!("{} {}", call.name, call.arguments["a"]));
    for data in
        [json!({ "tool": "it", "arguments": { "a": 1 } }), json!({ "skill": "it", "arguments": { "a": 1 } })]
    {
        let (steps, outcome) = run(play, with_data(data)).await;
        assert_eq!(outcome, Outcome::Completed(None));
        let artifact = made(&steps).unwrap();
        assert_eq!(artifact.plain_text(), "it 1");
        assert_eq!(result_of(&artifact), Some(ToolResult::text("it 1")));
    }
}

#[tokio::test]
async fn plain_language_is_told_what_to_send() {
    let (_, outcome) = run(|_, _| done("never"), contract::job("please")).await;
    assert!(matches!(outcome, Outcome::Rejected(_)));
    assert!(words(&outcome).contains("Its tools: it"), "{}", words(&outcome));
    assert!(!ToolboxRunner::takes(&contract::job("please").message));
}

#[tokio::test]
async fn a_result_that_says_what_failed_fails_the_task_and_is_kept() {
    let (steps, outcome) =
        run(|_, _| ready(Ok(Reply::Done(ToolResult::error("no paper")))), with_data(json!({ "tool": "it" })))
            .await;
    assert_eq!(words(&outcome), "no paper");
    assert!(result_of(&made(&steps).unwrap()).unwrap().is_error);
}

#[tokio::test]
async fn faults_end_the_task_without_a_result() {
    for (play, rejected) in [
        ((|_, _| ready(Err(ToolFault::Down("gone".into())))) as Play, false),
        (|_, _| ready(Err(ToolFault::Failed("broke".into()))), false),
        (|_, _| ready(Err(ToolFault::BadArguments("what?".into()))), true),
        (|_, call| ready(Err(ToolFault::NoSuchTool(call.name))), true),
    ] {
        let (steps, outcome) = run(play, with_data(json!({ "tool": "it" }))).await;
        assert_eq!(matches!(outcome, Outcome::Rejected(_)), rejected, "{outcome:?}");
        assert!(made(&steps).is_none() && !words(&outcome).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn progress_becomes_status_updates_and_a_flood_only_a_few() {
    let play: Play = |exchange, _| {
        Box::pin(async move {
            for step in 0..1_000 {
                let message = (step == 999).then(|| "nearly".to_owned());
                exchange.tell(Notice::Progress { progress: f64::from(step), total: Some(1_000.0), message });
                // tidy: waits because the clock is virtual and the pace is the subject
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // tidy: waits because the clock is virtual and the pace is the subject
            tokio::time::sleep(BETWEEN_STATUSES * 2).await;
            Ok(Reply::Done(ToolResult::text("done")))
        })
    };
    let (steps, _) = run(play, with_data(json!({ "tool": "it" }))).await;
    let told: Vec<String> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Status(words) => Some(words.plain_text()),
            _ => None,
        })
        .collect();
    assert!((2..=8).contains(&told.len()), "{told:?}");
    assert_eq!((told[0].as_str(), told.last().unwrap().as_str()), ("0 of 1000", "nearly"));
}

#[tokio::test]
async fn a_question_is_answered_in_words_or_in_data() {
    let play: Play = |_, call| match field(&call, "color") {
        Some(color) => done(format!("{color}, {}", call.round.state.unwrap())),
        None => asks(&["color"], json!({ "seen": 1 })),
    };
    let (steps, outcome) = run(play, with_data(json!({ "tool": "it" }))).await;
    assert_eq!(questions(&outcome), ["1.color"]);
    let asked = words(&outcome);
    for said in ["Which color?", "- color (string)", "\"1.color\"", "simply as text"] {
        assert!(asked.contains(said), "{asked}");
    }
    let full = json!({ "action": "accept", "content": { "color": "red" } });
    for message in [
        contract::job("red").message,
        with_data(json!({ "answers": { "1.color": full } })).message,
        with_data(json!({ "answers": { "color": { "color": "red" }, "unasked": {} } })).message,
    ] {
        let (steps, outcome) = run(play, resumed(&steps, message)).await;
        assert_eq!(outcome, Outcome::Completed(None));
        assert_eq!(made(&steps).unwrap().plain_text(), "red, {\"seen\":1}");
    }
}

#[tokio::test]
async fn answers_may_come_one_by_one() {
    let play: Play = |_, call| match (field(&call, "a"), field(&call, "b")) {
        (Some(a), Some(b)) => done(a + &b),
        _ => asks(&["a", "b"], json!(null)),
    };
    let (steps, outcome) = run(play, with_data(json!({ "tool": "it" }))).await;
    assert_eq!(questions(&outcome), ["1.a", "1.b"]);
    let first = with_data(json!({ "answers": { "1.b": { "b": "y" } } })).message;
    let (steps, outcome) = run(play, resumed(&steps, first)).await;
    assert_eq!(questions(&outcome), ["1.a"], "the tool is not called before all is answered");
    let (steps, outcome) = run(play, resumed(&steps, contract::job("x").message)).await;
    assert_eq!((made(&steps).unwrap().plain_text().as_str(), outcome), ("xy", Outcome::Completed(None)));
}

#[tokio::test]
async fn names_of_questions_do_not_repeat_in_a_later_round() {
    let play: Play = |_, call| match call.round.state.as_ref().and_then(Value::as_u64) {
        Some(2) => done("enough"),
        round => asks(&["a"], json!(round.unwrap_or(0) + 1)),
    };
    let (steps, outcome) = run(play, with_data(json!({ "tool": "it" }))).await;
    assert_eq!(questions(&outcome), ["1.a"]);
    let (steps, outcome) = run(play, resumed(&steps, contract::job("x").message)).await;
    assert_eq!(questions(&outcome), ["2.a"]);
    let late = with_data(json!({ "answers": { "1.a": { "a": "old" } } })).message;
    let (_, outcome) = run(play, resumed(&steps, late)).await;
    assert_eq!(questions(&outcome), ["2.a"], "an answer to an earlier question answers nothing");
}

#[tokio::test]
async fn words_that_do_not_fit_are_asked_for_again() {
    let play: Play = |_, _| {
        let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
        let params = json!({ "message": "Sure?", "requestedSchema": schema }).as_object().unwrap().clone();
        let request = InputRequest { method: "elicitation/create".into(), params };
        let requests = [("ok".to_owned(), request)].into();
        ready(Ok(Reply::Input(InputNeeded { requests, state: None })))
    };
    let (steps, _) = run(play, with_data(json!({ "tool": "it" }))).await;
    let (_, outcome) = run(play, resumed(&steps, contract::job("perhaps").message)).await;
    assert!(words(&outcome).starts_with("Answer with yes or no."), "{}", words(&outcome));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_goes_in_circles_or_asks_too_much_is_ended() {
    let circles: Play = |_, _| ready(Ok(Reply::Input(InputNeeded::default())));
    let (_, outcome) = run(circles, with_data(json!({ "tool": "it" }))).await;
    assert!(words(&outcome).contains("still wants more"));
    let floods: Play = |_, _| {
        let long = "x".repeat(300 * 1024);
        asks(&[&long], json!(null))
    };
    let (_, outcome) = run(floods, with_data(json!({ "tool": "it" }))).await;
    assert!(words(&outcome).contains("asks 1 things in"));
}

#[tokio::test]
async fn answers_of_before_the_task_come_with_the_request() {
    let call = ToolCall {
        name: "it".into(),
        round: Round { answers: [("a".to_owned(), json!({ "content": { "a": "x" } }))].into(), state: None },
        ..ToolCall::default()
    };
    let blank = Message::text("m".parse().unwrap(), Role::User, "");
    let mut job = Job { message: ToolboxRunner::request(blank, &call), ..contract::job("") };
    job.ephemeral.state = Some(json!("kept"));
    let play: Play = |_, call| done(format!("{} {}", field(&call, "a").unwrap(), call.round.state.unwrap()));
    let (steps, _) = run(play, job).await;
    assert_eq!(made(&steps).unwrap().plain_text(), "x \"kept\"");
}

#[test]
fn its_skills_are_its_tools() {
    let runner = ToolboxRunner::new(Arc::new(OneTool(|_, _| done(""))));
    let card = runner.card().unwrap();
    assert_eq!((card.skills[0].id.as_str(), card.skills[0].name.as_str()), ("it", "It"));
    assert_eq!(card.default_input_modes[0], "application/json");
    assert!(runner.toolbox().is_some());
}
