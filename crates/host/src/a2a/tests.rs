//! Stories of agents that live elsewhere: the contract of every runner, and what A2A adds to it.
//!
//! The agent is a small A2A server in this process (`troupe`), or the official SDK's one in Python
//! (`python`).

mod python;
mod troupe;

use std::path::Path;
use std::sync::Arc;

use agentsite_egress::{Egress, EgressSettings};
use agentsite_protocol::{Ids, Message, Outcome, Part, Step};
use serde_json::{Value, json};

use super::*;
use crate::contract::{self, BEGINNING, Ran, SeededRng, Specimen, Subject, VirtualClock, job, soon};
use crate::llm::ModelSettings;
use crate::{Environment, Health, Runtime};
use troupe::Troupe;

/// An agent by its `[runtime]` table, allowed to go to these places.
fn launch(runtime: &str, allow: &[&str], variables: &[(&str, &str)]) -> (Arc<dyn Runner>, AgentLog) {
    let text = format!(
        "name = \"far\"\ndescription = \"Far away\"\n[runtime]\nkind = \"a2a\"\n{runtime}\n[limits]\noutput = \"1MiB\"\n"
    );
    let manifest = Manifest::read(&text).unwrap();
    let Runtime::A2a(runtime) = manifest.runtime.clone() else { panic!("a2a") };
    launch_runtime(runtime, &manifest, allow, variables)
}

/// The same of a runtime that no table writes.
fn launch_runtime(
    runtime: A2aRuntime,
    manifest: &Manifest,
    allow: &[&str],
    variables: &[(&str, &str)],
) -> (Arc<dyn Runner>, AgentLog) {
    let clock = VirtualClock::at(BEGINNING);
    let log = AgentLog::new(clock.clone());
    let allow = allow.iter().map(|target| target.parse().unwrap()).collect();
    let workshop = Workshop {
        credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
        confinement: crate::Confinement::none(),
        ids: Ids::new(clock, Arc::new(SeededRng::default())),
        egress: Egress::new(EgressSettings { allow, ..EgressSettings::default() }).unwrap(),
        circuits: agentsite_egress::Circuits::new(Arc::new(SeededRng::default())),
        models: ModelSettings::none(),
        environment: Environment::new(
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        ),
    };
    (A2aRunner::launch(runtime, manifest, Path::new("."), &workshop, log.clone()).unwrap(), log)
}

/// The runner of the troupe, allowed to reach it.
fn runner_of(troupe: &Troupe) -> Arc<dyn Runner> {
    launch(&format!("card = \"{}\"", troupe.url()), &[&troupe.place()], &[]).0
}

fn memos(ran: &Ran) -> Vec<Value> {
    let memo = |step: &Step| if let Step::Memo(memo) = step { Some(memo.clone()) } else { None };
    ran.steps.iter().filter_map(memo).collect()
}

async fn run(runner: &Arc<dyn Runner>, job: Job) -> Ran {
    contract::run(&**runner, job).await
}

#[tokio::test]
async fn a_remote_agent_keeps_the_contract_of_every_runner() {
    let troupe = Troupe::perform(true).await;
    let specimen = |troupe: Troupe| {
        move || Specimen { runner: runner_of(&troupe), gone: Box::pin(troupe.clone().idle()) }
    };
    contract::run_all(Subject {
        answering: runner_of(&troupe),
        answer: str::to_uppercase,
        waiting: Some(Box::new(specimen(troupe.clone()))),
        talking: Some(Box::new(specimen(troupe.clone()))),
    })
    .await;
}

#[tokio::test]
async fn chunks_are_passed_on_under_their_own_name() {
    let troupe = Troupe::perform(true).await;
    let ran = run(&runner_of(&troupe), job("hello there")).await;
    assert_eq!(ran.answer(), "HELLO THERE");
    let artifacts = ran.artifacts();
    assert_eq!((artifacts[0].artifact_id.as_str(), artifacts[0].parts.len()), ("shout", 1));
    assert!(
        matches!(&ran.steps[0], Step::Memo(memo) if memo["remoteTask"] == "t1" && memo["remoteContext"] == "c1")
    );
    assert_eq!(ran.ending().0, "completed");
}

#[tokio::test]
async fn a_question_is_asked_back_and_the_answer_continues_the_same_task() {
    for streaming in [true, false] {
        let troupe = Troupe::perform(streaming).await;
        let runner = runner_of(&troupe);
        let first = job("ask me");
        let ran = run(&runner, first.clone()).await;
        assert_eq!(ran.ending(), ("input-required", "What shall I shout?".into()));
        let Outcome::InputRequired(question) = &ran.outcome else { panic!("{ran:?}") };
        assert_eq!(question.task_id, Some(first.task.to_string()), "it is placed in our task");

        let message = Message { message_id: "other".parse().unwrap(), ..job("hello again").message };
        let ran = run(&runner, Job { message, memo: memos(&ran).pop(), attempt: 2, ..first }).await;
        assert_eq!((ran.answer().as_str(), ran.ending().0), ("HELLO AGAIN", "completed"));
        let sent = troupe.asked(if streaming { "SendStreamingMessage" } else { "SendMessage" });
        let sent = &sent[1]["params"]["message"];
        assert_eq!((&sent["taskId"], &sent["contextId"]), (&json!("t1"), &json!("c1")));
    }
}

#[tokio::test]
async fn a_run_that_is_started_again_sends_its_message_under_the_same_id() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    let first = job("one");
    // The second run knows nothing of the first: it was cut off before it could note the agent's task.
    run(&runner, first.clone()).await;
    run(&runner, Job { attempt: 2, ..first.clone() }).await;
    // The third knows a task that the agent has lost, and must not get that one again.
    let memo = Some(json!({"remoteTask": "unknown", "sent": first.message.message_id}));
    run(&runner, Job { memo, attempt: 3, ..first }).await;
    let sent = troupe.asked("SendStreamingMessage");
    let ids: Vec<_> = sent.iter().map(|asked| &asked["params"]["message"]["messageId"]).collect();
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[1], ids[2]);
}

#[tokio::test]
async fn a_message_that_did_not_arrive_is_sent_again_only_to_an_agent_that_takes_it_once() {
    for (once, expected) in [(true, ("completed", 2)), (false, ("failed", 1))] {
        let troupe = Troupe::promising(true, once).await;
        let (word, why) = run(&runner_of(&troupe), job("busy bee")).await.ending();
        let sent = troupe.asked("SendStreamingMessage");
        assert_eq!((word, sent.len()), expected, "{why}");
        let ids = sent.iter().map(|asked| &asked["params"]["message"]["messageId"]);
        assert_eq!(ids.collect::<std::collections::HashSet<_>>().len(), 1, "under the same id");
    }
}

#[tokio::test]
async fn an_agent_whose_address_fails_is_called_by_its_second_way() {
    let troupe = Troupe::perform(true).await;
    let text = "name = \"far\"\ndescription = \"Far away\"\n[runtime]\nkind = \"a2a\"\ncard = \"http://127.0.0.1:1/\"\n";
    let manifest = Manifest::read(text).unwrap();
    let Runtime::A2a(runtime) = manifest.runtime.clone() else { panic!("a2a") };
    let runtime = runtime.also_at(troupe.url().parse().unwrap());
    let (runner, _) = launch_runtime(runtime, &manifest, &["127.0.0.1:1", &troupe.place()], &[]);
    assert_eq!(run(&runner, job("hello")).await.answer(), "HELLO");
}

#[tokio::test]
async fn a_second_task_of_a_conversation_goes_on_in_the_agents_own_conversation() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    let first = job("one");
    run(&runner, first.clone()).await;
    run(&runner, first.clone()).await;
    run(&runner, Job { owner: "key:other".parse().unwrap(), ..first }).await;
    let sent = troupe.asked("SendStreamingMessage");
    let contexts: Vec<&Value> = sent.iter().map(|call| &call["params"]["message"]["contextId"]).collect();
    assert_eq!(
        contexts,
        [&Value::Null, &json!("c1"), &Value::Null],
        "ours is never sent; another owner begins anew"
    );
}

#[tokio::test]
async fn a_message_instead_of_a_task_is_an_answer() {
    for streaming in [true, false] {
        let troupe = Troupe::perform(streaming).await;
        let ran = run(&runner_of(&troupe), job("reply hi")).await;
        assert_eq!((ran.answer().as_str(), ran.ending().0), ("REPLY HI", "completed"));
        assert_eq!(ran.artifacts()[0].artifact_id, "answer");
    }
}

#[tokio::test]
async fn an_agent_without_streams_is_asked_until_it_is_done() {
    let troupe = Troupe::perform(false).await;
    let ran = run(&runner_of(&troupe), job("hello there")).await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("HELLO THERE", "completed"));
    let sent = troupe.asked("SendMessage");
    assert_eq!(
        sent[0]["params"]["configuration"]["returnImmediately"], true,
        "so that the task is known early"
    );
}

#[tokio::test]
async fn a_failure_is_told_in_the_agents_own_words() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    assert_eq!(run(&runner, job("fail")).await.ending(), ("failed", "I was told to fail.".into()));
    let refused = run(&runner, job("refuse")).await.ending();
    assert_eq!(refused, ("failed", "the agent could not be called: not today".into()));
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_again() {
    let troupe = Troupe::perform(true).await;
    let ran = run(&runner_of(&troupe), job("cut it")).await;
    assert_eq!(ran.ending().0, "completed", "{ran:?}");
    let Some(Step::Artifact { artifact, append: false, .. }) = ran.steps.last() else { panic!("{ran:?}") };
    assert_eq!(artifact.plain_text(), "CUT IT", "the whole replaces the piece that came before");
    assert_eq!(troupe.asked("SendStreamingMessage").len(), 1, "nothing is sent twice");
}

#[tokio::test]
async fn a_task_that_the_agent_forgot_fails_with_a_sentence() {
    let troupe = Troupe::perform(true).await;
    let (word, why) = run(&runner_of(&troupe), job("vanish")).await.ending();
    assert!(word == "failed" && why.contains("no longer knows the task"), "{why}");
}

#[tokio::test]
async fn a_run_that_is_started_again_finds_its_task() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    let first = job("cut it");
    let memo = memos(&run(&runner, first.clone()).await).pop();
    let again = run(&runner, Job { memo, attempt: 2, ..first }).await;
    assert_eq!((again.answer().as_str(), again.ending().0), ("CUT IT", "completed"));
    assert_eq!(troupe.asked("SendStreamingMessage").len(), 1, "the agent got the message once");
}

#[tokio::test]
async fn a_run_whose_task_the_agent_forgot_meanwhile_begins_anew() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    let job = job("hello");
    let memo = Some(json!({"remoteTask": "unknown", "sent": job.message.message_id}));
    let ran = run(&runner, Job { memo, attempt: 2, ..job }).await;
    assert_eq!(ran.answer(), "HELLO");
}

#[tokio::test]
async fn an_empty_message_is_not_sent() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    let (word, why) = run(&runner, job("  ")).await.ending();
    assert!(word == "failed" && why.contains("empty"), "{why}");
    let mut mixed = job("");
    mixed.message.parts.push(Part::text("hello"));
    assert_eq!(run(&runner, mixed).await.answer(), "HELLO");
    assert_eq!(troupe.asked("SendStreamingMessage").len(), 1);
}

#[tokio::test]
async fn an_agent_that_makes_too_much_is_stopped() {
    let troupe = Troupe::perform(true).await;
    let (word, why) = run(&runner_of(&troupe), job("talk")).await.ending();
    assert!(word == "failed" && why.contains("more than 1MiB"), "{why}");
    soon("the agent is asked to stop", troupe.idle()).await;
}

#[tokio::test]
async fn an_agent_in_the_private_network_is_down_with_a_reason() {
    let troupe = Troupe::perform(true).await;
    let (runner, log) = launch(&format!("card = \"{}\"", troupe.url()), &[], &[]);
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("[egress] allow"), "{why}");
    assert!(matches!(runner.health(), Health::Down(_)));
    assert!(log.tail(100)[0].text.contains("asked again in 500ms"), "{:?}", log.tail(1));
    assert!(troupe.asked("").is_empty(), "nothing arrived");
}

#[tokio::test]
async fn the_card_is_shown_once_it_is_known() {
    let troupe = Troupe::perform(true).await;
    let runner = runner_of(&troupe);
    assert_eq!(runner.health(), Health::Starting);
    run(&runner, job("hello")).await;
    assert_eq!((runner.health(), runner.card().unwrap().name.as_str()), (Health::Ready, "Troupe"));
    soon("it stops", runner.stop()).await;
    assert!(matches!(runner.health(), Health::Down(_)));
}

#[tokio::test]
async fn a_token_that_is_not_set_is_told_at_launch() {
    let text = "name = \"far\"\ndescription = \"d\"\n[runtime]\nkind = \"a2a\"\ncard = \"https://a.example\"\ntoken_env = \"FAR_TOKEN\"\n";
    let manifest = Manifest::read(text).unwrap();
    let clock = VirtualClock::at(BEGINNING);
    let workshop = Workshop {
        credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
        confinement: crate::Confinement::none(),
        ids: Ids::new(clock.clone(), Arc::new(SeededRng::default())),
        egress: Egress::default(),
        circuits: agentsite_egress::Circuits::new(Arc::new(SeededRng::default())),
        models: ModelSettings::none(),
        environment: Environment::default(),
    };
    let error = workshop.launch(&manifest, None, &AgentLog::new(clock)).unwrap_err();
    assert!(error.to_string().contains("FAR_TOKEN"), "{error}");
}

#[tokio::test]
async fn a_server_whose_program_is_missing_needs_setup() {
    let (runner, log) = launch("command = [\"no-such-program\"]", &[], &[]);
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("there is no program `no-such-program`"), "{why}");
    assert_eq!(runner.health(), Health::Needs(log.tail(100)[0].text.clone()));
}

#[tokio::test]
async fn a_server_that_ends_at_once_says_so_and_its_words_are_in_the_log() {
    let (runner, log) =
        launch("command = [\"sh\", \"-c\", \"echo port $PORT; echo no key >&2; exit 7\"]", &[], &[]);
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("exit status: 7"), "{why}");
    soon("it stops", runner.stop()).await;
    let lines: Vec<String> = log.tail(10).into_iter().map(|line| line.text).collect();
    assert!(lines.iter().any(|line| line == "no key"), "{lines:?}");
}

#[tokio::test]
async fn a_server_without_a_card_is_given_up_after_its_time() {
    let (runner, _) = launch("command = [\"sleep\", \"60\"]\nstart_timeout = \"300ms\"", &[], &[]);
    let mut watched = job("hello");
    watched.context = "patient".parse().unwrap();
    let (word, why) = run(&runner, watched).await.ending();
    assert!(word == "failed", "{why}");
    assert!(why.contains("within 300ms"), "{why}");
    soon("it stops", runner.stop()).await;
}
