//! Stories of llm agents with the scripted model: answers, tools, memory, budgets, and what happens when
//! things break.
//!
//! The model servers themselves are in `contract`; how a model is found is in `tests/found.rs`,
//! and agents elsewhere are in `tests/elsewhere.rs`.

mod asked;
mod elsewhere;
mod found;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentsite_protocol::{AgentName, Message, Outcome, Role, Step, Usage};
use futures::future::BoxFuture;
use futures::{StreamExt, stream};

use super::*;
use crate::contract::{self, Ran, Specimen, Subject, VirtualClock, job, run, run_all, soon};
use crate::{CallError, CallFrom, Calls, Runtime};

const BUDGETLESS: &str =
    "tokens_per_task = 0\ntokens_per_day = 0\nturns_per_task = 0\ncalls_per_task = 0\ncalls_per_day = 0";

fn manifest(runtime: &str, budget: &str) -> Manifest {
    let text = format!(
        "name = \"poet\"\ndescription = \"Writes poems\"\n[runtime]\nkind = \"llm\"\n{runtime}\n[budget]\n{budget}\n"
    );
    Manifest::read(&text).unwrap()
}

fn llm(manifest: &Manifest) -> &LlmRuntime {
    let Runtime::Llm(llm) = &manifest.runtime else { panic!("an llm agent") };
    llm
}

fn log() -> AgentLog {
    AgentLog::new(VirtualClock::at(contract::BEGINNING))
}

/// An agent with a scripted model, both for the test to look at.
struct Scripted {
    runner: Arc<dyn Runner>,
    model: Arc<ScriptedModel>,
    log: AgentLog,
}

fn scripted(manifest: &Manifest, turns: impl IntoIterator<Item = ScriptedTurn>) -> Scripted {
    let (model, log) = (Arc::new(ScriptedModel::new(turns)), log());
    let runner =
        LlmRunner::with_model(llm(manifest), manifest, model.clone(), &Egress::default(), log.clone())
            .unwrap();
    Scripted { runner, model, log }
}

fn used(ran: &Ran) -> Vec<Usage> {
    let used = |step: &Step| if let Step::Used(usage) = step { Some(*usage) } else { None };
    ran.steps.iter().filter_map(used).collect()
}

fn statuses(ran: &Ran) -> Vec<String> {
    let words =
        |step: &Step| if let Step::Status(message) = step { Some(message.plain_text()) } else { None };
    ran.steps.iter().filter_map(words).collect()
}

/// The other agents of a small site.
#[derive(Debug, Default)]
struct Neighbours {
    answers: BTreeMap<&'static str, Result<String, CallError>>,
    asked: Mutex<Vec<(AgentName, String)>>,
}

impl Neighbours {
    fn calc(answer: Result<&str, CallError>) -> Arc<Self> {
        let answers = BTreeMap::from([("calc", answer.map(str::to_owned))]);
        Arc::new(Self { answers, asked: Mutex::default() })
    }
}

impl Calls for Neighbours {
    fn call(
        &self,
        from: CallFrom,
        agent: AgentName,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>> {
        assert_eq!(from.agent.as_str(), "subject");
        let answer = self
            .answers
            .get(agent.as_str())
            .cloned()
            .unwrap_or_else(|| Err(CallError::Unknown(agent.clone())));
        self.asked.lock().unwrap().push((agent, text));
        Box::pin(std::future::ready(answer))
    }

    fn describe(&self, agent: &AgentName) -> Option<String> {
        self.answers.contains_key(agent.as_str()).then(|| "Works out expressions.".to_owned())
    }
}

fn asks_calc(message: &str) -> ScriptedTurn {
    let arguments = format!("{{\"message\":\"{message}\"}}");
    ScriptedTurn::says([]).calls("c1", "ask_calc", &arguments).costs(20, 8)
}

/// A model that says what was said to it.
#[derive(Debug)]
struct Parrot;

impl Model for Parrot {
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let Some(ChatMessage::User(said)) = request.messages.last() else { panic!("{request:?}") };
        let words = said.split_inclusive(' ').map(|word| Ok(ModelEvent::Text(word.to_owned())));
        let end = [Ok(ModelEvent::Usage(Usage::default())), Ok(ModelEvent::End(EndReason::Stop))];
        let events: Vec<_> = words.chain(end).collect();
        Box::pin(std::future::ready(Ok(stream::iter(events).boxed())))
    }
}

/// A model that never stops talking.
#[derive(Debug)]
struct Talker;

impl Model for Talker {
    fn chat(&self, _: ChatRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(std::future::ready(Ok(stream::repeat_with(|| Ok(ModelEvent::Text("bla ".into()))).boxed())))
    }
}

#[tokio::test]
async fn an_llm_agent_keeps_the_contract_of_runners() {
    fn runner(model: Arc<dyn Model>, max_tokens: u32) -> Arc<dyn Runner> {
        let manifest = manifest(&format!("max_tokens = {max_tokens}"), BUDGETLESS);
        LlmRunner::with_model(llm(&manifest), &manifest, model, &Egress::default(), log()).unwrap()
    }
    fn specimen(model: Arc<dyn Model>) -> Specimen {
        Specimen { runner: runner(model, 100_000_000), gone: Box::pin(std::future::ready(())) }
    }
    let waiting = || specimen(Arc::new(ScriptedModel::new([ScriptedTurn::says(["wait"]).hangs()])));
    run_all(Subject {
        answering: runner(Arc::new(Parrot), 1_000),
        answer: str::to_owned,
        waiting: Some(Box::new(waiting)),
        talking: Some(Box::new(|| specimen(Arc::new(Talker)))),
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_streamed_and_its_usage_reported() {
    let manifest = manifest("prompt = \"Be brief.\"\ntemperature = 0.5", "");
    let poet = scripted(&manifest, [ScriptedTurn::says(["Ro", "ses"]).costs(9, 2)]);
    let ran = run(&*poet.runner, job("a poem")).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "Roses"));
    assert_eq!(ran.steps.iter().filter(|step| matches!(step, Step::Artifact { .. })).count(), 3);
    assert_eq!(used(&ran), [Usage { input_tokens: 9, output_tokens: 2, turns: 1, calls: 0 }]);
    let asked = &poet.model.requests()[0];
    assert_eq!((asked.system.as_str(), asked.temperature, asked.max_tokens), ("Be brief.", Some(0.5), 1_024));
    assert_eq!(asked.messages, [ChatMessage::User("a poem".into())]);
}

#[tokio::test]
async fn an_agent_without_a_prompt_is_told_who_it_is() {
    let poet = scripted(&manifest("", ""), [ScriptedTurn::says(["ok"])]);
    run(&*poet.runner, job("hi")).await;
    assert_eq!(poet.model.requests()[0].system, "You are the agent poet. Writes poems");
}

#[tokio::test]
async fn a_tool_is_asked_and_its_answer_goes_back_to_the_model() {
    let poet = scripted(
        &manifest("tools = [\"agent:calc\"]", ""),
        [
            ScriptedTurn::says(["Let me see."]).calls("c1", "ask_calc", r#"{"message":"2+2"}"#).costs(20, 8),
            ScriptedTurn::says(["It is 4."]).costs(30, 4),
        ],
    );
    let neighbours = Neighbours::calc(Ok("4"));
    let ran = run(&*poet.runner, Job { calls: neighbours.clone(), ..job("how much is 2+2?") }).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "Let me see.\n\nIt is 4."));
    assert_eq!(statuses(&ran), ["asks calc: 2+2"]);
    assert_eq!(neighbours.asked.lock().unwrap()[0].1, "2+2");
    let turn = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, turns: 1, calls: 0 };
    assert_eq!(used(&ran), [turn(20, 8), Usage { calls: 1, ..Usage::default() }, turn(30, 4)]);
    let [first, second] = &poet.model.requests()[..] else { panic!("two turns") };
    assert_eq!(first.tools[0].name, "ask_calc");
    assert!(first.tools[0].description.contains("Works out expressions."));
    let result = ChatMessage::Tool { call: "c1".into(), text: "4".into(), failed: false };
    assert_eq!(second.messages.last(), Some(&result));
    assert_eq!(poet.log.tail(9)[0].text, "asks calc: 2+2 → answer: 4");
}

#[tokio::test]
async fn a_tool_that_fails_is_told_to_the_model() {
    let poet = scripted(
        &manifest("tools = [\"agent:calc\"]", ""),
        [asks_calc("1/0"), ScriptedTurn::says(["It cannot be."])],
    );
    let calls = Neighbours::calc(Err(CallError::Failed("division by zero".into())));
    let ran = run(&*poet.runner, Job { calls, ..job("how much is 1/0?") }).await;
    assert_eq!(ran.ending().0, "completed");
    let told = ChatMessage::Tool { call: "c1".into(), text: "division by zero".into(), failed: true };
    assert_eq!(poet.model.requests()[1].messages.last(), Some(&told));
}

#[tokio::test]
async fn wrong_calls_are_told_to_the_model_and_count() {
    let wrong = ScriptedTurn::says([]).calls("", "ask_calc", "2+2").calls("b", "ask_bob", "{}");
    let poet = scripted(&manifest("tools = [\"agent:calc\"]", ""), [wrong, ScriptedTurn::says(["Sorry."])]);
    let neighbours = Neighbours::calc(Ok("4"));
    let ran = run(&*poet.runner, Job { calls: neighbours.clone(), ..job("2+2?") }).await;
    assert_eq!(ran.answer(), "Sorry.");
    assert!(neighbours.asked.lock().unwrap().is_empty());
    assert_eq!(used(&ran).iter().map(|usage| usage.calls).sum::<u64>(), 2);
    let second = &poet.model.requests()[1];
    let [
        ..,
        ChatMessage::Assistant { calls, .. },
        ChatMessage::Tool { call, text, failed: true },
        ChatMessage::Tool { text: other, .. },
    ] = &second.messages[..]
    else {
        panic!("{second:?}")
    };
    // Servers fail on arguments that are not JSON, so the model only receives what it wrote.
    assert_eq!((calls[0].arguments.as_str(), &calls[0].id), ("{}", call));
    assert!(!call.is_empty() && text.contains("you wrote: 2+2"), "{text}");
    assert!(other.contains("there is no tool `ask_bob`"), "{other}");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_not_offered() {
    let poet =
        scripted(&manifest("tools = [\"agent:calc\", \"agent:ghost\"]", ""), [ScriptedTurn::says(["ok"])]);
    run(&*poet.runner, Job { calls: Neighbours::calc(Ok("4")), ..job("hi") }).await;
    let offered: Vec<String> = poet.model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["ask_calc"]);
    assert!(
        poet.log.tail(1)[0]
            .text
            .starts_with("agent:ghost is not offered to the model: there is no agent `ghost` here")
    );
}

fn said(job: &Job, role: Role, words: &str) -> Message {
    Message::text(job.ids.message(), role, words)
}

#[tokio::test]
async fn memory_is_the_conversation_then_the_task_then_the_message() {
    let poet = scripted(&manifest("memory = 7", ""), [ScriptedTurn::says(["ok"])]);
    assert_eq!(poet.runner.memory(), 7);
    let mut job = job("third");
    job.conversation = vec![said(&job, Role::User, "first"), said(&job, Role::Agent, "one")];
    job.history = vec![
        said(&job, Role::User, "second"),
        memory::progress(&job, "asks calc: 1".into()),
        said(&job, Role::Agent, "two"),
    ];
    run(&*poet.runner, job).await;
    let agent = |text: &str| ChatMessage::Assistant { text: text.into(), calls: vec![] };
    let user = |text: &str| ChatMessage::User(text.into());
    let expected = [user("first"), agent("one"), user("second"), agent("two"), user("third")];
    assert_eq!(poet.model.requests()[0].messages, expected);
}

#[tokio::test]
async fn memory_is_trimmed_from_the_oldest_and_begins_with_the_caller() {
    let poet = scripted(&manifest("max_tokens = 100", "tokens_per_task = 400"), [ScriptedTurn::says(["ok"])]);
    let mut job = job("now");
    job.conversation = (0..40)
        .map(|n| {
            said(&job, if n % 2 == 0 { Role::User } else { Role::Agent }, &format!("{n} {}", "x".repeat(70)))
        })
        .collect();
    let ran = run(&*poet.runner, job).await;
    assert_eq!(ran.ending().0, "completed", "{ran:?}");
    let messages = &poet.model.requests()[0].messages;
    assert!((3..20).contains(&messages.len()), "{}", messages.len());
    assert!(matches!(&messages[0], ChatMessage::User(_)));
    assert_eq!(messages.last(), Some(&ChatMessage::User("now".into())));
}

#[tokio::test]
async fn a_run_stops_when_its_tokens_are_used_up() {
    let manifest = manifest("tools = [\"agent:calc\"]", "tokens_per_task = 1000");
    let poet = scripted(&manifest, [asks_calc("1").costs(1_000, 12), ScriptedTurn::says(["never"])]);
    let ran = run(&*poet.runner, Job { calls: Neighbours::calc(Ok("1")), ..job("go on") }).await;
    let expected = "tokens_per_task = 1000 reached (1012 used); raise [budget] tokens_per_task in agents/subject/agent.toml";
    assert_eq!(ran.ending(), ("failed", expected.into()));
    assert_eq!(used(&ran)[0].tokens(), 1_012);
    assert_eq!(poet.model.turns_left(), 1);
}

#[tokio::test]
async fn turns_and_calls_have_limits_of_their_own() {
    for (budget, key) in [
        ("turns_per_task = 2", "turns_per_task = 2 reached (2 used)"),
        ("calls_per_task = 1", "calls_per_task = 1 reached (1 used)"),
        ("calls_per_day = 5", "calls_per_day = 5 reached (5 used today)"),
    ] {
        let poet = scripted(
            &manifest("tools = [\"agent:calc\"]", budget),
            [asks_calc("1"), asks_calc("2"), asks_calc("3")],
        );
        let job = Job {
            calls: Neighbours::calc(Ok("1")),
            used_today: Usage { calls: 4, ..Usage::default() },
            ..job("go")
        };
        let ran = run(&*poet.runner, job).await;
        let (word, why) = ran.ending();
        assert!(word == "failed" && why.starts_with(key), "{why}");
    }
}

#[tokio::test]
async fn earlier_runs_and_other_tasks_count() {
    let poet = scripted(&manifest("", "turns_per_task = 3"), []);
    let ran = run(&*poet.runner, Job { used: Usage { turns: 3, ..Usage::default() }, ..job("go") }).await;
    assert!(ran.ending().1.starts_with("turns_per_task = 3 reached (3 used)"), "{ran:?}");
    let poet = scripted(&manifest("", "tokens_per_day = 500"), []);
    let ran =
        run(&*poet.runner, Job { used_today: Usage { input_tokens: 600, ..Usage::default() }, ..job("go") })
            .await;
    assert!(ran.ending().1.starts_with("tokens_per_day = 500 reached (600 used today)"), "{ran:?}");
    assert!(poet.model.requests().is_empty());
}

#[tokio::test]
async fn the_answer_may_be_as_long_as_the_budget_allows() {
    let cut = ScriptedTurn::says(["Roses are"]).costs(40, 80).ends(EndReason::Length);
    let poet = scripted(&manifest("max_tokens = 500", "tokens_per_task = 120"), [cut]);
    let ran = run(&*poet.runner, job("go")).await;
    let asked = &poet.model.requests()[0];
    assert_eq!(u64::from(asked.max_tokens) + asked.estimated_tokens(), 120);
    let (word, note) = ran.ending();
    assert!(word == "completed" && note.contains("tokens that its budget had left"), "{note}");
}

#[tokio::test]
async fn an_answer_cut_by_max_tokens_says_so() {
    let poet =
        scripted(&manifest("max_tokens = 5", ""), [ScriptedTurn::says(["Roses"]).ends(EndReason::Length)]);
    let (word, note) = run(&*poet.runner, job("go")).await.ending();
    assert!(
        word == "completed" && note.starts_with("the answer was cut at max_tokens = 5; raise it"),
        "{note}"
    );
    let poet = scripted(&manifest("max_tokens = 5", ""), [ScriptedTurn::says([]).ends(EndReason::Length)]);
    let (word, why) = run(&*poet.runner, job("go")).await.ending();
    assert!(word == "failed" && why.starts_with("the model produced nothing within max_tokens = 5"), "{why}");
}

#[tokio::test]
async fn a_server_that_does_not_heed_max_tokens_is_stopped() {
    let manifest = manifest("max_tokens = 10", "");
    let runner =
        LlmRunner::with_model(llm(&manifest), &manifest, Arc::new(Talker), &Egress::default(), log())
            .unwrap();
    let ran = run(&*runner, job("go")).await;
    assert!(ran.ending().1.starts_with("the model server ignores max_tokens = 10"), "{:?}", ran.ending());
    assert!(ran.answer().len() < 400 && used(&ran)[0].output_tokens >= 80);
}

#[tokio::test]
async fn a_cut_in_the_middle_fails_and_what_was_said_stays() {
    let cut = ModelError::CutOff { place: "models.example:443".into() };
    let poet = scripted(&manifest("", ""), [ScriptedTurn::says(["Roses are "]).breaks(cut)]);
    let ran = run(&*poet.runner, job("a poem")).await;
    let (word, why) = ran.ending();
    assert!(word == "failed" && why.contains("cut off in the middle"), "{why}");
    assert_eq!(ran.answer(), "Roses are ");
    let spent = used(&ran)[0];
    assert!(spent.turns == 1 && spent.input_tokens > 0 && spent.output_tokens == 3, "{spent:?}");
}

#[tokio::test]
async fn a_refusal_of_the_model_server_costs_a_turn_and_no_tokens() {
    let refusal = ModelError::NoSuchModel { place: "models.example:443".into(), model: "m9".into() };
    let poet = scripted(&manifest("", ""), [ScriptedTurn::refused(refusal)]);
    let ran = run(&*poet.runner, job("a poem")).await;
    assert!(ran.ending().1.contains("has no model `m9`; set `model`"));
    assert_eq!(used(&ran), [Usage { turns: 1, ..Usage::default() }]);
}

#[tokio::test]
async fn a_cancel_stops_the_stream_and_still_tells_what_was_used() {
    let poet = scripted(&manifest("", ""), [ScriptedTurn::says(["Roses"]).hangs()]);
    let job = job("a poem");
    let cancel = job.cancel.clone();
    let (report, mut steps) = Reporter::channel();
    let running = tokio::spawn(poet.runner.run(job, report));
    assert!(matches!(soon("it begins to answer", steps.recv()).await, Some(Step::Artifact { .. })));
    cancel.cancel();
    let outcome = soon("it stops", running).await.unwrap();
    assert_eq!(outcome, Outcome::Canceled(None));
    let Some(Step::Used(spent)) = steps.recv().await else { panic!("the usage is reported") };
    assert_eq!((spent.turns, spent.output_tokens), (1, 2));
}
