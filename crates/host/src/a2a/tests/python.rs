//! Stories with an agent written with the official Python SDK, started and kept alive by the site.
//!
//! They need an interpreter with the SDK: `AGENTSITE_TEST_PYTHON` names it. Without it they fail and say what
//! to run.

use std::env::var_os;
use std::path::Path;

use agentsite_client::A2aClient;
use agentsite_protocol::{Artifact, TaskState};

use super::*;

/// The runner of the Python agent.
fn troupe() -> (Arc<dyn Runner>, AgentLog) {
    let python = var_os("AGENTSITE_TEST_PYTHON")
        .expect("AGENTSITE_TEST_PYTHON is not set: run `cargo xtask test`, which sets it up");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/a2a_agent.py");
    let path = var_os("PATH").unwrap_or_default();
    let runtime = format!("command = [{:?}, {:?}]", python.to_string_lossy(), script.to_string_lossy());
    launch(&runtime, &[], &[("PATH", &path.to_string_lossy())])
}

/// Waits until the agent has this health.
async fn until(runner: &Arc<dyn Runner>, stands: impl Fn(&Health) -> bool) {
    let waiting = async {
        while !stands(&runner.health()) {
            // tidy: waits because a server is being started outside of this process
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    crate::contract::soon("the server gets there", waiting).await;
}

#[tokio::test]
async fn an_unchanged_python_agent_answers_asks_fails_and_replies() {
    let (runner, _) = troupe();
    until(&runner, |health| *health == Health::Ready).await;
    assert_eq!(runner.card().unwrap().skills[0].id, "shout");

    let ran = run(&runner, job("hello there")).await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("HELLO THERE", "completed"));
    let pieces = ran.steps.iter().filter(|step| matches!(step, Step::Artifact { .. })).count();
    assert_eq!(pieces, 2, "chunks are passed on as they come");

    let first = job("ask me");
    let ran = run(&runner, first.clone()).await;
    assert_eq!(ran.ending(), ("input-required", "What shall I shout?".into()));
    let message = Message { message_id: "second".parse().unwrap(), ..job("hello again").message };
    let answered = run(&runner, Job { message, memo: memos(&ran).pop(), attempt: 2, ..first }).await;
    assert_eq!((answered.answer().as_str(), answered.ending().0), ("HELLO AGAIN", "completed"));

    assert_eq!(run(&runner, job("fail")).await.ending(), ("failed", "I was told to fail.".into()));
    let reply = run(&runner, job("reply hi")).await;
    assert_eq!((reply.answer().as_str(), reply.ending().0), ("REPLY HI", "completed"));
    soon("it stops", runner.stop()).await;
}

#[tokio::test]
async fn a_cancelled_run_cancels_at_the_python_agent() {
    let (runner, _) = troupe();
    until(&runner, |health| *health == Health::Ready).await;
    let slow = job("slow");
    let cancel = slow.cancel.clone();
    let (report, mut listener) = Reporter::channel();
    let running = tokio::spawn(runner.run(slow.clone(), report));
    let memo = loop {
        if let Step::Memo(memo) = soon("the task is known", listener.recv()).await.unwrap() {
            break memo;
        }
    };
    cancel.cancel();
    assert!(matches!(soon("the run ends", running).await.unwrap(), Outcome::Canceled(_)));
    // The agent's own word for it: the same task asked for again has ended there.
    let task = memo["remoteTask"].as_str().unwrap().to_owned();
    let address = runner.card().unwrap().supported_interfaces[0].url.parse().unwrap();
    let client = A2aClient::resolve(&Egress::unguarded(), &address, None).await.unwrap();
    assert_eq!(client.get_task(&task, None).await.unwrap().status.state, TaskState::Canceled);
    soon("it stops", runner.stop()).await;
}

#[tokio::test]
async fn a_python_agent_that_dies_is_started_again() {
    let (runner, log) = troupe();
    until(&runner, |health| *health == Health::Ready).await;
    let (word, why) = run(&runner, job("die")).await.ending();
    assert!(word == "failed" && why.contains("lost"), "{why}");
    until(&runner, |health| *health != Health::Ready).await;
    until(&runner, |health| *health == Health::Ready).await;
    let ran = run(&runner, job("hello")).await;
    let artifacts: Vec<Artifact> = ran.artifacts();
    assert_eq!((artifacts[0].plain_text().as_str(), ran.ending().0), ("HELLO", "completed"));
    let told = log.tail(50).into_iter().find(|line| line.text.contains("exit status: 3"));
    assert!(told.is_some_and(|line| line.text.contains("started again in")), "{:?}", log.tail(50));
    soon("it stops", runner.stop()).await;
}
