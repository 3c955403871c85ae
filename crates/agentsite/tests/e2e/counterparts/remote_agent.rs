//! Agents elsewhere, written with the official Python SDK and called in every binding: by the command line
//! and through a site.
//!
//! The agent is `tests/python/a2a_agent.py`; the first word of a message picks its part. What is promised
//! here is the same in each binding, so that each test is written once and run for all.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::elsewhere::Elsewhere;
use super::program::Program;
use crate::site::{TestSite, answer, binary, eventually, message, old_python, python, state, status_text};

/// The bindings as the command line names them, with their names in cards.
const BINDINGS: [(&str, &str); 3] = [("jsonrpc", "JSONRPC"), ("rest", "HTTP+JSON"), ("grpc", "GRPC")];

/// All that the agent can offer.
const EVERYTHING: &str = "JSONRPC,HTTP+JSON,GRPC";

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A site that passes on to the agent, once for each binding, and once as its card prefers.
fn proxy(agent: &Elsewhere) -> TestSite {
    let mut site = TestSite::trusting().agent("remote", &agent.manifest("remote", ""));
    for (binding, _) in BINDINGS {
        site = site.agent(binding, &agent.manifest(binding, &format!("binding = \"{binding}\"\n")));
    }
    site.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    site.start();
    site
}

#[tokio::test]
async fn the_command_line_calls_an_agent_in_every_binding() {
    let python = python();
    let agent = Elsewhere::start(&python, EVERYTHING).await;
    let site = TestSite::trusting();
    for (binding, _) in BINDINGS {
        let call = |words: &[&str]| site.run(&[&["call", &agent.url, "--binding", binding], words].concat());
        assert_eq!(call(&["one two three"]).ok().out(), "ONE TWO THREE\n", "{binding}");
        assert_eq!(call(&["--no-stream", "one two"]).ok().out(), "ONE TWO\n", "{binding}");
        assert_eq!(call(&["reply hi"]).ok().out(), "REPLY HI\n", "{binding}");
        let failed = call(&["fail"]);
        assert_eq!(failed.code(), 4, "{binding}: {failed:?}");
        assert!(failed.err().contains("I was told to fail."), "{failed:?}");
        let asked = call(&["ask me"]);
        assert_eq!(asked.code(), 3, "{binding}: {asked:?}");
        let task = asked.err().split("--task ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        assert_eq!(call(&["--task", &task, "this one"]).ok().out(), "THIS ONE\n", "{binding}");
        assert_eq!(call(&["auth please"]).code(), 3, "{binding}");
    }
}

#[tokio::test]
async fn a_binding_that_is_not_offered_is_told_with_what_is() {
    let python = python();
    let agent = Elsewhere::start(&python, "JSONRPC,HTTP+JSON").await;
    let said = TestSite::trusting().run(&["call", &agent.url, "--binding", "grpc", "hello"]);
    assert_eq!(said.code(), 1, "{said:?}");
    assert!(said.err().contains("it offers JSONRPC 1.0, HTTP+JSON 1.0"), "{said:?}");
    let said = TestSite::trusting().run(&["call", &agent.url, "--binding", "soap", "hello"]);
    assert_eq!(said.code(), 2, "{said:?}");
    assert!(said.err().contains("jsonrpc, rest or grpc"), "{said:?}");
}

/// A running call.
struct Calling(Child);

impl Calling {
    fn start(agent: &Elsewhere, binding: &str, text: &str) -> Self {
        let mut command = Command::new(binary());
        command.args(["call", &agent.url, "--binding", binding, text]).stdin(Stdio::null());
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Comes when the agent works on the task.
    fn until_working(&mut self) {
        use std::io::Read;
        let (mut seen, mut byte) = (String::new(), [0]);
        let err = self.0.stderr.as_mut().unwrap();
        while !seen.contains("working") && err.read(&mut byte).unwrap() == 1 {
            seen.push(char::from(byte[0]));
        }
        assert!(seen.contains("working"), "{seen}");
    }

    fn ends(self) -> (i32, String) {
        let output = self.0.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[tokio::test]
async fn an_interrupted_call_cancels_its_task() {
    let python = python();
    let agent = Elsewhere::start(&python, EVERYTHING).await;
    for (binding, _) in BINDINGS {
        let mut call = Calling::start(&agent, binding, "slow");
        call.until_working();
        let pid = call.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let (code, told) = call.ends();
        assert_eq!(code, 4, "{binding}: {told}");
        assert!(told.contains("is canceled"), "{binding}: {told}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_for_good_is_no_success() {
    let python = python();
    for (binding, _) in BINDINGS {
        let mut agent = Elsewhere::start(&python, EVERYTHING).await;
        let mut call = Calling::start(&agent, binding, "slow");
        call.until_working();
        agent.kill();
        let (code, told) = call.ends();
        assert_eq!(code, 1, "{binding}: {told}");
    }
}

#[tokio::test]
async fn a_site_passes_on_in_every_binding() {
    let python = python();
    let agent = Elsewhere::start(&python, EVERYTHING).await;
    let site = proxy(&agent);
    for (name, _) in BINDINGS {
        let events = site.stream(name, message("one two three")).await;
        let pieces: Vec<&str> = events
            .iter()
            .filter_map(|event| event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str())
            .collect();
        // Chunks that arrive together are written together.
        assert_eq!(pieces.concat(), "ONE TWO THREE", "{name}");
        assert_eq!(state(&site.send(name, "fail").await), "failed", "{name}");
        let asked = site.send(name, "ask me").await;
        assert_eq!(
            (state(&asked).as_str(), status_text(&asked).as_str()),
            ("input_required", "What shall I shout?")
        );
        let mut second = message("this one");
        second["taskId"] = asked["result"]["task"]["id"].clone();
        let told = site.rpc(name, "SendMessage", json!({"message": second})).await;
        assert_eq!(answer(&told), "THIS ONE", "{name}");
        let permitted = site.send(name, "auth please").await;
        assert_eq!(
            (state(&permitted).as_str(), status_text(&permitted).as_str()),
            ("auth_required", "May I?")
        );
    }
}

#[tokio::test]
async fn a_cancel_reaches_the_agent_in_every_binding() {
    let python = python();
    let agent = Elsewhere::start(&python, EVERYTHING).await;
    let site = proxy(&agent);
    for (name, _) in BINDINGS {
        let configuration = json!({"returnImmediately": true});
        let params = json!({"message": message("slow"), "configuration": configuration});
        let begun = site.rpc(name, "SendMessage", params).await;
        let id = begun["result"]["task"]["id"].clone();
        eventually("the agent works", async || agent.is_working(1).await.then_some(())).await;
        let canceled = site.rpc(name, "CancelTask", json!({"id": id})).await;
        assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{name}: {canceled}");
        eventually("the agent stops", async || agent.is_working(0).await.then_some(())).await;
    }
}

#[tokio::test]
async fn the_next_interface_is_used_when_the_first_is_dead() {
    let python = python();
    for (_, last) in BINDINGS {
        let offers = format!("JSONRPC@http://127.0.0.1:9/,HTTP+JSON@http://127.0.0.1:9/,{last}");
        let agent = Elsewhere::start(&python, &offers).await;
        assert_eq!(TestSite::trusting().run(&["call", &agent.url, "over there"]).ok().out(), "OVER THERE\n");
        let site = proxy(&agent);
        assert_eq!(answer(&site.send("remote", "over there").await), "OVER THERE", "{last}");
    }
}

/// The figure of this name at the site's `/metrics`.
async fn figure(site: &TestSite, name: &str) -> Option<f64> {
    let text = site.http.get(format!("{}/metrics", site.url)).bearer_auth(site.token()).send().await.unwrap();
    let text = text.text().await.unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

async fn health(site: &TestSite) -> Value {
    site.get("/api/agents/remote").await["health"].clone()
}

#[tokio::test]
async fn an_endpoint_that_fails_is_left_alone_and_found_again() {
    let python = python();
    let mut agent = Elsewhere::start(&python, "JSONRPC").await;
    let site = proxy(&agent);
    assert_eq!(answer(&site.send("remote", "hello").await), "HELLO");
    agent.kill();
    let rests = eventually("the circuit opens", async || {
        let failed = site.send("remote", "hello").await;
        assert_eq!(state(&failed), "failed", "{failed}");
        status_text(&failed).contains("is paused").then(|| status_text(&failed))
    })
    .await;
    assert!(rests.contains("127.0.0.1"), "{rests}");
    assert_eq!(figure(&site, "agentsite_circuit_openings_total ").await, Some(1.0));
    assert!(site.log().contains("is paused for"), "{}", site.log());
    agent.restart(&python).await;
    let back = eventually("the circuit closes", async || {
        let reply = site.send("remote", "back again").await;
        (state(&reply) == "completed").then(|| answer(&reply))
    })
    .await;
    assert_eq!(back, "BACK AGAIN");
    assert_eq!(figure(&site, "agentsite_circuits_open ").await, Some(0.0));
    assert_eq!(health(&site).await, "ready");
}

#[tokio::test]
async fn a_trace_reaches_the_agent_in_every_binding() {
    let python = python();
    let agent = Elsewhere::start(&python, EVERYTHING).await;
    let site = proxy(&agent);
    for (name, _) in BINDINGS {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("trace")}});
        let request = site.http.post(format!("{}/a2a/{name}", site.url)).header("a2a-version", "1.0");
        let request = request.header("traceparent", TRACE).header("tracestate", "rojo=1");
        let reply: Value = request.json(&body).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer(&reply), format!("{TRACE} rojo=1"), "{name}: as it came");
        assert_eq!(answer(&site.send(name, "trace").await), "None None", "{name}: none is made up");
    }
}

#[tokio::test]
async fn an_agent_of_the_older_version_is_called_and_passed_on() {
    let python = old_python();
    let agent = Elsewhere::program(&python, "a2a_agent03.py", "").await;
    let here = TestSite::trusting();
    let call = |words: &[&str]| here.run(&[&["call", agent.url.as_str()], words].concat());
    assert_eq!(call(&["one two three"]).ok().out(), "ONE TWO THREE\n");
    assert_eq!(call(&["--no-stream", "one two"]).ok().out(), "ONE TWO\n");
    assert_eq!(call(&["reply hi"]).ok().out(), "REPLY HI\n");
    assert_eq!(call(&["fail"]).code(), 4);
    assert_eq!(call(&["ask me"]).code(), 3);
    let refused = call(&["--binding", "rest", "hello"]);
    assert!(refused.err().contains("it offers JSONRPC 0.3"), "{refused:?}");

    let mut site = TestSite::trusting().agent("remote", &agent.manifest("remote", ""));
    site.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    site.start();
    assert_eq!(answer(&site.send("remote", "over there").await), "OVER THERE");
    let asked = site.send("remote", "ask me").await;
    assert_eq!(state(&asked), "input_required", "{asked}");
    let mut second = message("this one");
    second["taskId"] = asked["result"]["task"]["id"].clone();
    let told = site.rpc("remote", "SendMessage", json!({"message": second})).await;
    assert_eq!(answer(&told), "THIS ONE");
    let params = json!({"message": message("slow"), "configuration": {"returnImmediately": true}});
    let begun = site.rpc("remote", "SendMessage", params).await;
    let id = begun["result"]["task"]["id"].clone();
    let canceled = site.rpc("remote", "CancelTask", json!({"id": id})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
}

#[tokio::test]
async fn own_agents_are_called_in_the_binding_that_is_wanted() {
    let site = TestSite::trusting_started();
    for binding in ["jsonrpc", "rest", "grpc"] {
        let said = site.run(&["call", "--binding", binding, "echo", "hello"]);
        assert_eq!(said.ok().out(), "hello\n", "{binding}");
    }
}

#[tokio::test]
async fn a_site_of_which_traces_are_collected_continues_the_callers_trace() {
    let python = python();
    let agent = Elsewhere::start(&python, "JSONRPC").await;
    let sink = Program::start(&python, "otlp_sink.py").await;
    let site = TestSite::trusting().agent("remote", &agent.manifest("remote", ""));
    let mut site = site.flag("--otlp-endpoint").flag(&sink.url);
    site.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    site.start();
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("trace")}});
    let request = site.http.post(format!("{}/a2a/remote", site.url)).header("a2a-version", "1.0");
    let reply: Value =
        request.header("traceparent", TRACE).json(&body).send().await.unwrap().json().await.unwrap();
    let told = answer(&reply);
    let parent: Vec<&str> = told.split(' ').next().unwrap().split('-').collect();
    assert_eq!(parent[1], &TRACE[3..35], "the trace continues: {told}");
    assert_ne!(parent[2], &TRACE[36..52], "through a span of the site: {told}");
    assert!(site.stop().success());
    let spans: Vec<Value> = sink.end().await.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ours = spans.iter().find(|span| span["span_id"] == parent[2]).unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!(ours["trace_id"], parent[1], "{ours}");
}
