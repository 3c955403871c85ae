//! `agentsite call`: text, stdin, JSON, conversations, questions, failures and addresses.
//!
//! The answer and nothing else is on stdout, everything else on stderr, and each way to end has its exit
//! code. What a person at a terminal sees beyond that is in `terminal`.

use std::io::Write;
use std::process::Stdio;

use crate::site::{TestSite, answer, exec_agent};

/// Says how many messages came before, then what came now.
const RECORDER: &str = r#"
name = "recorder"
description = "Tells its conversation"
[runtime]
kind = "exec"
command = ["sh", "-c", "echo $AGENTSITE_CONTEXT"]
"#;

const FAILING: &str = r#"
name = "failing"
description = "Fails"
[runtime]
kind = "exec"
command = ["sh", "-c", "echo half; echo the printer is on fire >&2; exit 3"]
"#;

const SHORT: &str = r#"
name = "short"
description = "Answers with a bare message"
answers = "message"
[runtime]
kind = "builtin"
builtin = "echo"
"#;

fn site() -> TestSite {
    let mut site =
        TestSite::new().agent("recorder", RECORDER).agent("failing", FAILING).agent("short", SHORT);
    site.start();
    site
}

#[test]
fn the_answer_and_nothing_else_goes_to_stdout() {
    let site = site();
    let said = site.run(&["call", "echo", "hello", "there"]).ok();
    assert_eq!(said.out(), "hello there\n");
    let whole = site.run(&["call", "echo", "hello", "--no-stream"]).ok();
    assert_eq!(whole.out(), "hello\n");
    assert_eq!(site.run(&["call", "short", "hello"]).ok().out(), "hello\n");
    let told = site.run(&["call", "echo", "hello", "--verbose"]).ok();
    assert!(told.err().contains("task ") && told.err().contains("context "), "{told:?}");
}

#[test]
fn the_text_can_come_from_stdin() {
    let site = site();
    for words in [&["call", "echo", "-"][..], &["call", "echo"]] {
        let mut command = site.command(words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all("from a pipe, größer\n".as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "from a pipe, größer\n");
    }
    let silent = site.run(&["call", "echo", "-"]);
    assert_eq!((silent.code(), silent.out().as_str()), (2, ""), "{silent:?}");
}

#[test]
fn json_is_the_task_and_with_stream_every_event() {
    let site = site();
    let task = site.run(&["call", "echo", "hello", "--json"]).ok().json();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hello");
    let events = site.run(&["call", "recorder", "hello", "--json", "--stream"]).ok().out();
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events[0].get("task").is_some(), "{events:?}");
    assert_eq!(events.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let message = site.run(&["call", "short", "hello", "--json"]).ok().json();
    assert_eq!((&message["role"], &message["parts"][0]["text"]), (&"ROLE_AGENT".into(), &"hello".into()));
}

#[test]
fn a_conversation_goes_on_with_its_context() {
    let site = site();
    let first = site.run(&["call", "recorder", "one", "--json"]).ok().json();
    let context = first["contextId"].as_str().unwrap();
    assert_eq!(site.run(&["call", "recorder", "two", "--context", context]).ok().out().trim(), context);
    let listed = site.run(&["task", "ls", "--context", context, "--json"]).ok().json();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn any_address_can_be_called() {
    let site = site();
    let elsewhere = TestSite::new();
    let url = format!("{}/a2a/calc", site.url);
    assert_eq!(elsewhere.run(&["call", &url, "6*7"]).ok().out(), "42\n", "no site is needed here");
    let gone = elsewhere.run(&["call", "http://127.0.0.1:9/a2a/calc", "6*7"]);
    assert_eq!(gone.code(), 1, "{gone:?}");
    assert_eq!(elsewhere.run(&["call", "http://", "x"]).code(), 2);
}

#[test]
fn a_failed_task_has_its_own_exit_code_and_says_why() {
    let site = site();
    let failed = site.run(&["call", "failing", "x"]);
    assert_eq!((failed.code(), failed.out().as_str()), (4, "half\n"), "{failed:?}");
    assert!(
        failed.err().contains("the task failed") && failed.err().contains("the printer is on fire"),
        "{failed:?}"
    );
    let failed = site.run(&["call", "calc", "1/0", "--json"]);
    assert_eq!((failed.code(), &failed.json()["status"]["state"]), (4, &"TASK_STATE_FAILED".into()));
}

#[test]
fn a_question_has_its_own_exit_code_and_is_answered_with_the_task() {
    let site = site();
    let asked = site.run(&["call", "calc", "what is"]);
    assert_eq!((asked.code(), asked.out().as_str()), (3, ""), "{asked:?}");
    assert!(asked.err().contains("Which expression?") && asked.err().contains("--task"), "{asked:?}");
    let hint = asked.err();
    let task = hint.split("--task ").nth(1).unwrap().split_whitespace().next().unwrap();
    assert_eq!(site.run(&["call", "calc", "--task", task, "2+2"]).ok().out(), "4\n");
    let ended = site.run(&["call", "calc", "--task", task, "3+3"]);
    assert_eq!(ended.code(), 1, "{ended:?}");
    assert!(ended.err().contains("has ended"), "{ended:?}");
}

#[test]
fn unknown_agents_missing_sites_and_nonsense_each_have_their_exit_code() {
    let mut site = site();
    let unknown = site.run(&["call", "nobody", "x"]);
    assert_eq!(unknown.code(), 6, "{unknown:?}");
    assert!(unknown.err().contains("there is no agent `nobody`"), "{unknown:?}");
    assert_eq!(site.run(&["call", "Not A Name", "x"]).code(), 2);
    assert_eq!(site.run(&["fly"]).code(), 2);
    assert_eq!(site.run(&["status", "--no-demos"]).code(), 2, "a flag of serve");
    site.stop();
    for verb in [&["call", "echo", "x"][..], &["status"], &["task", "ls"], &["key", "ls"], &["signin"]] {
        let nobody = site.run(verb);
        assert_eq!(nobody.code(), 5, "{verb:?}: {nobody:?}");
        assert!(nobody.err().contains("start it with `agentsite`"), "{nobody:?}");
    }
}

#[test]
fn a_site_that_was_killed_is_not_taken_for_a_running_one() {
    let mut site = site();
    site.kill();
    let nobody = site.run(&["call", "echo", "x"]);
    assert_eq!(nobody.code(), 5, "{nobody:?}");
    site.start();
    assert_eq!(site.run(&["call", "echo", "x"]).ok().out(), "x\n");
}

#[tokio::test]
async fn a_busy_or_foreign_site_refuses_with_its_own_exit_code() {
    let site = site();
    assert_eq!(answer(&site.send("echo", "x").await), "x");
    let mut command = site.command(&["agent", "ls"]);
    let refused = command.env("AGENTSITE_TOKEN", "ask_000000000000_00").output().unwrap();
    assert_eq!(refused.status.code(), Some(7), "{refused:?}");
}

#[test]
fn a_credential_goes_to_the_agent_that_asked_and_nowhere_else() {
    let script =
        "test \"$AGENTSITE_CREDENTIAL\" = s3cret-token && echo open || { echo 'Which token?'; exit 11; }";
    let mut site = TestSite::new().agent("vault", &exec_agent("vault", &["sh", "-c", script], ""));
    site.start();
    let asked = site.run(&["call", "vault", "open", "--json", "--no-stream"]);
    let task = asked.json()["id"].as_str().unwrap_or_else(|| panic!("{asked:?}")).to_owned();
    assert_eq!(asked.code(), 3, "{asked:?}");
    let with = ["call", "vault", "--task", &task, "--credential-env", "VAULT_TOKEN", "here it is"];
    let unset = site.run(&with);
    assert!(unset.err().contains("VAULT_TOKEN is not set"), "{unset:?}");
    let opened = site.command(&with).env("VAULT_TOKEN", "s3cret-token").output().unwrap();
    assert!(opened.status.success(), "{opened:?}");
    assert!(String::from_utf8_lossy(&opened.stdout).contains("open"), "{opened:?}");
    site.stop();
    assert!(!site.log().contains("s3cret-token"));
    for file in std::fs::read_dir(site.data()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(12).any(|window| window == b"s3cret-token"), "the credential is on disk");
    }
}
