//! Facts about the built-in agents as runners: the contract, multi-turn, and that the demos do what they
//! declare.
//!
//! The tests of each agent's logic are in its own module.

use std::sync::Arc;

use agentsite_protocol::{Part, Visibility};
use serde_json::json;

use super::*;
use crate::Runtime;
use crate::contract::{self, Subject, job, run};

#[tokio::test]
async fn they_keep_the_contract() {
    contract::run_all(Subject {
        answering: Arc::new(BuiltinRunner::new(Builtin::Echo)),
        answer: str::to_owned,
        waiting: None,
        talking: None,
    })
    .await;
}

#[tokio::test]
async fn echo_passes_every_part_through() {
    let mut job = job("text");
    job.message.parts.push(Part::data(json!({ "kept": true })));
    let said = job.message.parts.clone();
    let ran = run(&BuiltinRunner::new(Builtin::Echo), job).await;
    assert_eq!(ran.artifacts()[0].artifact_id, "answer");
    assert_eq!(ran.artifacts()[0].parts, said);
}

#[tokio::test]
async fn calc_asks_back_when_there_is_no_expression() {
    let calc = BuiltinRunner::new(Builtin::Calc);
    assert_eq!(run(&calc, job("")).await.ending(), ("input-required", "Which expression?".into()));
    let next = run(&calc, job("6 * 7")).await;
    assert_eq!((next.answer().as_str(), next.ending().0), ("42", "completed"));
}

#[tokio::test]
async fn calc_fails_with_a_sentence() {
    let ran = run(&BuiltinRunner::new(Builtin::Calc), job("1 / 0")).await;
    assert_eq!(ran.ending(), ("failed", "position 3: division by zero has no result".into()));
}

#[tokio::test]
async fn clock_reads_the_clock_of_the_job() {
    let ran = run(&BuiltinRunner::new(Builtin::Clock), job("now")).await;
    assert_eq!(ran.answer(), "UTC: 22:13:20, Tuesday 14 November 2023 (UTC)");
}

#[tokio::test]
async fn every_example_of_the_demos_is_answered() {
    let demos = demo_manifests();
    assert_eq!(demos.iter().map(|demo| demo.name.as_str()).collect::<Vec<_>>(), ["echo", "calc", "clock"]);
    for demo in demos {
        assert_eq!(demo.visibility, Visibility::Public);
        let Runtime::Builtin(builtin) = demo.runtime else { panic!("{} is built in", demo.name) };
        assert!(BuiltinRunner::new(builtin).is_pure());
        for example in demo.skills.iter().flat_map(|skill| &skill.examples) {
            let ran = run(&BuiltinRunner::new(builtin), job(example)).await;
            assert_eq!(ran.ending().0, "completed", "{example}: {ran:?}");
        }
    }
}
