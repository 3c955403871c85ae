//! Stories of ACP agents: the contract of every runner, what the protocol adds to it, and misbehaving
//! children.
//!
//! The agent is this test binary itself, started as the `actor` below; what the test harness prints around it
//! is the noise that real agents print too. Agents written with the published SDK are called in the tests of
//! the binary.

mod actor;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentsite_egress::{Egress, EgressSettings};
use agentsite_protocol::{Ids, Message, Outcome, Part, Principal, Step};
use serde_json::json;

use super::*;
use crate::contract::{self, BEGINNING, Ran, SeededRng, Specimen, Subject, VirtualClock, job, soon};
use crate::llm::ModelSettings;
use crate::{Environment, LogSource, Runtime};

fn launch(runtime: &str, folder: &Path) -> (Arc<dyn Runner>, AgentLog) {
    let text = format!(
        "name = \"coder\"\ndescription = \"Codes\"\n[runtime]\nkind = \"acp\"\n{runtime}\n[limits]\noutput = \"1MiB\"\n"
    );
    let manifest = Manifest::read(&text).unwrap();
    let clock = VirtualClock::at(BEGINNING);
    let log = AgentLog::new(clock.clone());
    let workshop = Workshop {
        credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
        confinement: crate::Confinement::none(),
        ids: Ids::new(clock, Arc::new(SeededRng::default())),
        egress: Egress::new(EgressSettings::default()).unwrap(),
        circuits: agentsite_egress::Circuits::new(Arc::new(SeededRng::default())),
        models: ModelSettings::none(),
        environment: Environment::default(),
    };
    let Runtime::Acp(runtime) = &manifest.runtime else { panic!("acp") };
    (Arc::new(AcpRunner::launch(runtime, &manifest, folder, &workshop, log.clone()).unwrap()), log)
}

/// The actor in this role, with further lines of its `[runtime]` table.
fn acting(role: &str, more: &str) -> (Arc<dyn Runner>, AgentLog) {
    acting_in(Path::new("."), role, more)
}

fn acting_in(folder: &Path, role: &str, more: &str) -> (Arc<dyn Runner>, AgentLog) {
    let program = std::env::current_exe().unwrap();
    let command = json!([program, "--exact", "acp::tests::actor::acts", "--ignored", "--nocapture"]);
    launch(&format!("command = {command}\nenv = {{ ACTOR = \"{role}\" }}\n{more}"), folder)
}

/// An agent that is a shell script.
fn script(script: &str) -> (Arc<dyn Runner>, AgentLog) {
    launch(&format!("command = {}\nstart_timeout = \"5s\"", json!(["sh", "-c", script])), Path::new("."))
}

async fn run(runner: &Arc<dyn Runner>, job: Job) -> Ran {
    contract::run(&**runner, job).await
}

fn memo(ran: &Ran) -> Option<serde_json::Value> {
    ran.steps
        .iter()
        .rev()
        .find_map(|step| if let Step::Memo(memo) = step { Some(memo.clone()) } else { None })
}

/// The next run of a task, in which its caller says this.
fn next(first: &Job, ran: &Ran, text: &str) -> Job {
    let message = Message { message_id: "next".parse().unwrap(), ..job(text).message };
    Job { message, memo: memo(ran), history: vec![first.message.clone()], ..first.clone() }
}

/// A job in its own conversation.
fn elsewhere(text: &str, context: &str) -> Job {
    Job { context: context.parse().unwrap(), ..job(text) }
}

async fn logged(log: &AgentLog, what: &str, times: usize) {
    let seen = async {
        while log.tail(500).iter().filter(|line| line.text.contains(what)).count() < times {
            // tidy: waits because the agent works outside of this process
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(&format!("the log says {what}"), seen).await;
}

#[tokio::test]
async fn an_acp_agent_keeps_the_contract_of_every_runner() {
    let specimen = || {
        Box::new(|| {
            let (runner, log) = acting("good", "");
            let gone = async move { logged(&log, "the turn was cancelled", 1).await };
            Specimen { runner, gone: Box::pin(gone) }
        })
    };
    contract::run_all(Subject {
        answering: acting("good", "").0,
        answer: str::to_uppercase,
        waiting: Some(specimen()),
        talking: Some(specimen()),
    })
    .await;
}

#[tokio::test]
async fn a_permission_is_asked_of_the_caller_and_the_same_turn_goes_on() {
    let (runner, _log) = acting("good", "");
    let first = job("ask");
    let ran = run(&runner, first.clone()).await;
    let (word, question) = ran.ending();
    assert_eq!(word, "input-required");
    assert!(question.contains("Erase the disk\n1. Allow\n2. Reject\n"), "{question}");
    assert_eq!(ran.answer(), "May I? ");

    let unclear = run(&runner, next(&first, &ran, "what?")).await;
    assert!(unclear.ending().1.starts_with("That is not one of the options.\nThe agent asks"), "{unclear:?}");

    let (report, mut steps) = Reporter::channel();
    let outcome = soon("the turn continues", runner.run(next(&first, &unclear, "2"), report)).await;
    assert_eq!(outcome, Outcome::Completed(None));
    let Some(Step::Artifact { artifact, append, .. }) = steps.try_recv() else { panic!("an artifact") };
    assert_eq!(
        (artifact.plain_text().as_str(), append),
        ("You chose o-no.", true),
        "it continues the answer"
    );
}

#[tokio::test]
async fn a_rule_of_the_manifest_answers_instead_of_the_caller() {
    let (runner, _log) = acting("good", "permissions = \"allow\"");
    let ran = run(&runner, job("ask")).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "May I? You chose o-yes."));
}

#[tokio::test]
async fn a_conversation_that_waits_takes_no_other_task_until_its_question_is_given_up() {
    let (runner, log) = acting("good", "");
    let first = job("ask");
    run(&runner, first.clone()).await;
    let ids = contract::job_at("x", agentsite_protocol::Timestamp::from_millis(1)).ids;
    let other = Job { task: ids.task(), ..job("hello") };
    let (word, why) = run(&runner, other.clone()).await.ending();
    assert!(word == "failed" && why.contains("waits for an answer"), "{why}");
    runner.forget(first.task);
    logged(&log, "the turn was cancelled", 1).await;
    assert_eq!(run(&runner, other).await.answer(), "HELLO");
}

#[tokio::test]
async fn a_turn_that_was_lost_with_the_site_is_begun_again_on_request() {
    let first = job("ask");
    let asked = run(&acting("good", "").0, first.clone()).await;
    // Another runner: the site was started again.
    let (runner, _log) = acting("good", "permissions = \"allow\"");
    let told = run(&runner, next(&first, &asked, "1")).await;
    assert_eq!(told.ending().0, "input-required");
    assert!(told.ending().1.contains("is lost"), "{told:?}");
    let again = run(&runner, next(&first, &told, "again")).await;
    assert_eq!(again.answer(), "May I? You chose o-yes.");
    let instead = run(&runner, next(&first, &told, "hello")).await;
    assert_eq!(instead.answer(), "HELLO");
}

#[tokio::test]
async fn each_conversation_of_each_owner_has_a_session_of_its_own() {
    let (runner, _log) = acting("good", "");
    let count = async |job: Job| run(&runner, job).await.answer();
    assert_eq!(count(elsewhere("count", "a")).await, "session 1, prompt 1");
    assert_eq!(count(elsewhere("count", "b")).await, "session 2, prompt 1");
    assert_eq!(count(elsewhere("count", "a")).await, "session 1, prompt 2");
    let other = Job { owner: "key:other".parse::<Principal>().unwrap(), ..elsewhere("count", "a") };
    assert_eq!(count(other).await, "session 3, prompt 1");
}

#[tokio::test]
async fn sessions_are_bounded_and_those_given_up_are_closed() {
    let (runner, log) = acting("good", "");
    for number in 0..66 {
        run(&runner, elsewhere("count", &format!("c{number}"))).await;
    }
    logged(&log, "closed session 1", 1).await;
    assert_eq!(run(&runner, elsewhere("count", "c0")).await.answer(), "session 67, prompt 1");
}

#[tokio::test]
async fn an_agent_that_dies_in_a_turn_comes_back_and_is_told_what_was_said() {
    let (runner, log) = acting("good", "");
    assert_eq!(run(&runner, job("hello")).await.answer(), "HELLO");
    let (word, why) = run(&runner, job("die")).await.ending();
    assert!(word == "failed" && why.contains("started again"), "{why}");
    let conversation = vec![job("my name is Ada").message];
    let ran = run(&runner, Job { conversation, ..job("recall") }).await;
    assert!(ran.answer().contains("User: my name is Ada\n"), "{ran:?}");
    logged(&log, "exit status: 7", 1).await;
}

#[tokio::test]
async fn an_agent_that_can_loads_the_session_after_a_restart() {
    let (runner, _log) = acting("loading", "");
    let first = run(&runner, job("count")).await;
    assert_eq!(first.answer(), "session 1, prompt 1");
    run(&runner, job("die")).await;
    assert_eq!(run(&runner, job("count")).await.answer(), "session 1, prompt 1", "loaded, not new");
}

#[tokio::test]
async fn ends_of_a_turn_have_their_words() {
    let (runner, _log) = acting("good", "");
    let ending = async |text: &str| run(&runner, job(text)).await.ending();
    assert_eq!(ending("end refusal").await.0, "rejected");
    assert!(ending("end max_tokens").await.1.contains("limit of tokens"));
    assert!(ending("end max_turn_requests").await.1.contains("requests to its model"));
    assert_eq!(ending("end cancelled").await.0, "canceled");
    assert!(ending("end surprise").await.1.contains("surprise"));
    assert!(ending("refuse").await.1.contains("could not do it: Not today"));
}

#[tokio::test]
async fn an_agent_that_says_too_much_is_stopped() {
    let (runner, log) = acting("good", "");
    let (word, why) = run(&runner, job("talk")).await.ending();
    assert!(word == "failed" && why.contains("more than 1MiB"), "{why}");
    logged(&log, "the turn was cancelled", 1).await;
}

#[tokio::test]
async fn files_are_read_only_with_leave() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("poem.txt"), "roses").unwrap();
    let (runner, _log) = acting_in(folder.path(), "good", "files = \"read\"");
    let path = folder.path().join("poem.txt");
    assert_eq!(run(&runner, job(&format!("read {}", path.display()))).await.answer(), "roses");
    assert!(run(&runner, job("read /etc/passwd")).await.answer().contains("is outside"));
    let (runner, _log) = acting_in(folder.path(), "good", "");
    assert!(run(&runner, job(&format!("read {}", path.display()))).await.answer().contains("does not offer"));
}

#[tokio::test]
async fn a_file_that_the_agent_cannot_take_is_refused() {
    let (runner, _log) = acting("good", "");
    let mut with_file = job("look");
    with_file.message.parts.push(Part { raw: Some("/w==".into()), ..Part::default() });
    let (word, why) = run(&runner, with_file).await.ending();
    assert!(word == "failed" && why.contains("does not accept files"), "{why}");
}

#[tokio::test]
async fn signing_in_is_done_as_the_manifest_says() {
    let (runner, _log) = acting("locked", "auth_method = \"key\"");
    assert_eq!(run(&runner, job("hello")).await.answer(), "HELLO");
    let (runner, _log) = acting("locked", "");
    let (_, why) = run(&runner, job("hello")).await.ending();
    assert!(why.contains("sign in") && why.contains("one of: key"), "{why}");
    let (runner, _log) = acting("locked", "auth_method = \"fingerprint\"");
    let (_, why) = run(&runner, job("hello")).await.ending();
    assert!(why.contains("no sign-in method `fingerprint`"), "{why}");
}

#[tokio::test]
async fn another_version_is_refused_with_a_word() {
    let (runner, _log) = acting("modern", "");
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("uses version 2"), "{why}");
    assert!(matches!(runner.health(), Health::Down(_)));
}

#[tokio::test]
async fn an_endless_line_ends_the_child_and_not_the_site() {
    let (runner, log) = script("exec cat /dev/zero");
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("a line of more than"), "{why}");
    logged(&log, "started again in 500ms", 1).await;
}

#[tokio::test]
async fn garbage_goes_to_the_log_and_without_end_it_ends_the_child() {
    let (runner, log) = script("exec yes 'this is not a message'");
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("not a message"), "{why}");
    assert!(log.tail(500).iter().any(|line| line.source == LogSource::Out));
}

#[tokio::test]
async fn a_flood_of_updates_that_nobody_asked_for_is_passed_over() {
    let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}"#;
    let (runner, _log) = launch(
        &format!(
            "command = {}\nstart_timeout = \"500ms\"",
            json!(["sh", "-c", format!("exec yes '{update}'")])
        ),
        Path::new("."),
    );
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("within 500ms"), "{why}");
    soon("it stops", runner.stop()).await;
}

#[tokio::test]
async fn a_child_that_never_reads_is_given_up() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"x":"y"}}"#;
    let (runner, _log) = script(&format!("exec yes '{request}'"));
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("does not read"), "{why}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let (runner, _log) = launch("command = [\"./nothing-here\"]", Path::new("."));
    let (word, why) = run(&runner, job("hello")).await.ending();
    assert!(word == "failed" && why.contains("there is no file `./nothing-here`"), "{why}");
}
