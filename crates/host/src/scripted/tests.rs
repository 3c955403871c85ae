//! Facts about the fake: it keeps the contract of the seam, and its scripts do what they say.
//!
//! Everything that tests of the site rely on is tested here first.

use serde_json::json;

use super::*;
use crate::contract::{self, Specimen, Subject, job, run, soon};

fn specimen(runner: ScriptedRunner) -> Specimen {
    let runner = Arc::new(runner);
    let watched = runner.clone();
    Specimen { runner, gone: Box::pin(async move { watched.idle().await }) }
}

#[tokio::test]
async fn it_keeps_the_contract() {
    contract::run_all(Subject {
        answering: Arc::new(ScriptedRunner::new().echo()),
        answer: str::to_owned,
        waiting: Some(Box::new(|| specimen(ScriptedRunner::new().status("waiting").hold()))),
        talking: Some(Box::new(|| specimen(ScriptedRunner::new().talk("and so on, ")))),
    })
    .await;
}

#[tokio::test]
async fn each_run_has_its_script_and_the_last_one_stays() {
    let runner = ScriptedRunner::new().ask("which?").then().chunk("a").chunk("b").then().fail("no more");
    assert_eq!(run(&runner, job("x")).await.ending(), ("input-required", "which?".into()));
    let second = run(&runner, job("y")).await;
    assert_eq!((second.answer().as_str(), second.ending().0), ("ab", "completed"));
    for _ in 0..2 {
        assert_eq!(run(&runner, job("z")).await.ending(), ("failed", "no more".into()));
    }
    let seen: Vec<String> = runner.jobs().iter().map(|job| job.message.plain_text()).collect();
    assert_eq!(seen, ["x", "y", "z", "z"]);
}

#[tokio::test]
async fn every_ending_and_every_step_can_be_scripted() {
    let usage = Usage { turns: 1, ..Usage::default() };
    let ran = run(&ScriptedRunner::new().memo(json!(7)).used(usage).complete("done"), job("")).await;
    assert_eq!(ran.ending(), ("completed", "done".into()));
    assert_eq!(ran.steps, [Step::Memo(json!(7)), Step::Used(usage)]);
    assert_eq!(run(&ScriptedRunner::new().reject("not I"), job("")).await.ending().0, "rejected");
    assert_eq!(
        run(&ScriptedRunner::new().ask_permission("may I?"), job("")).await.ending().0,
        "auth-required"
    );
}

#[tokio::test]
async fn a_gate_holds_a_run_until_the_test_lets_it_pass() {
    let gate = Arc::new(Semaphore::new(0));
    let runner = Arc::new(ScriptedRunner::new().gate(&gate).complete("passed"));
    let held = tokio::spawn({
        let runner = runner.clone();
        async move { run(&*runner, job("")).await }
    });
    soon("the run begins", runner.started(1)).await;
    assert_eq!(runner.at_work(), 1);
    gate.add_permits(1);
    assert_eq!(held.await.unwrap().ending().0, "completed");
    soon("it is idle", runner.idle()).await;
}

#[tokio::test]
async fn a_stubborn_run_ends_only_when_dropped() {
    let runner = ScriptedRunner::new().stubborn();
    let job = job("");
    job.cancel.cancel();
    let (report, _listener) = Reporter::channel();
    let mut stubborn = runner.run(job, report);
    assert!(futures::poll!(&mut stubborn).is_pending());
    drop(stubborn);
    soon("it is idle", runner.idle()).await;
}

#[tokio::test]
async fn a_panic_of_the_script_is_a_panic_of_the_run() {
    let runner = ScriptedRunner::new().panic("a defect");
    let (report, _listener) = Reporter::channel();
    let ended = tokio::spawn(runner.run(job(""), report)).await;
    assert!(ended.unwrap_err().is_panic());
    assert_eq!(runner.at_work(), 0);
}

#[test]
fn what_it_says_of_itself_can_be_set() {
    let down = Health::Down("it is broken".into());
    let runner = ScriptedRunner::new().pure().remembering(4).in_health(down.clone());
    assert!(runner.is_pure());
    assert_eq!((runner.memory(), runner.health()), (4, down));
    assert!(!ScriptedRunner::default().is_pure());
}
