//! Stories of hosted tool servers: the contract of every runner, and what MCP adds to it.
//!
//! The servers are real ones: the official Python package (`tests/python/mcp_server.py`) and the protocol's
//! own example server.

mod approval;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentsite_egress::{Egress, EgressSettings};
use agentsite_protocol::mcp::{Abilities, Reply, ToolCall};
use agentsite_protocol::{Caller, Ids, Message, Part, Step};
use serde_json::{Value, json};

use super::*;
use crate::contract::{self, BEGINNING, Ran, SeededRng, Subject, VirtualClock, job, run, soon};
use crate::llm::ModelSettings;
use crate::{Environment, Exchange, Runtime, ToolFault};

/// A program of the test environment by the variable that names it.
fn named(variable: &str) -> String {
    let named = std::env::var_os(variable).and_then(|path| path.into_string().ok());
    named.unwrap_or_else(|| panic!("{variable} is not set; run `cargo xtask test`, which prepares it"))
}

/// The command of the Python server.
fn python(mode: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/mcp_server.py");
    format!("command = {:?}", [&named("AGENTSITE_TEST_PYTHON_MCP"), script.to_str().unwrap(), mode])
}

/// The command of the protocol's own example server.
fn everything() -> String {
    let script = PathBuf::from(named("AGENTSITE_TEST_NPM"))
        .join("@modelcontextprotocol/server-everything/dist/index.js");
    format!("command = {:?}", [&named("AGENTSITE_TEST_NODE"), script.to_str().unwrap(), "stdio"])
}

/// A hosted server, its log and its folder.
struct Hosted {
    runner: Arc<dyn Runner>,
    log: AgentLog,
    folder: Arc<tempfile::TempDir>,
}

impl Hosted {
    fn new(runtime: &str) -> Self {
        Self::within(runtime, Arc::new(tempfile::tempdir().unwrap()), ModelSettings::none())
    }

    fn within(runtime: &str, folder: Arc<tempfile::TempDir>, models: ModelSettings) -> Self {
        let text = format!(
            "name = \"tools\"\ndescription = \"Some tools\"\n[runtime]\nkind = \"mcp\"\n{runtime}\n[limits]\noutput = \"1MiB\"\n"
        );
        let manifest = Manifest::read(&text).unwrap();
        let clock = VirtualClock::at(BEGINNING);
        let log = AgentLog::new(clock.clone());
        let allow = vec!["127.0.0.1".parse().unwrap()];
        let workshop = Workshop {
            credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
            confinement: crate::Confinement::none(),
            ids: Ids::new(clock, Arc::new(SeededRng::default())),
            egress: Egress::new(EgressSettings { allow, ..EgressSettings::default() }).unwrap(),
            circuits: agentsite_egress::Circuits::new(Arc::new(SeededRng::default())),
            models,
            environment: Environment::new(std::env::vars().filter(|(name, _)| name == "PATH")),
        };
        let Runtime::Mcp(runtime) = &manifest.runtime else { panic!("mcp") };
        let runner = McpRunner::launch(runtime, &manifest, Some(folder.path()), &workshop, &log).unwrap();
        Self { runner, log, folder }
    }

    /// Waits until the agent has this health.
    async fn until(&self, stands: impl Fn(&Health) -> bool) {
        let waiting = async {
            while !stands(&self.runner.health()) {
                // tidy: waits because a server is being started outside of this process
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(crate::contract::HANG, waiting).await;
        waited.unwrap_or_else(|_| panic!("{:?} {:?}", self.runner.health(), self.log.tail(20)));
    }

    async fn ready(self) -> Self {
        self.until(|health| *health == Health::Ready).await;
        self
    }

    /// Calls a tool in structured form.
    async fn call(&self, tool: &str, arguments: Value) -> Ran {
        run(&*self.runner, calling(tool, &arguments)).await
    }

    fn said(&self, words: &str) -> bool {
        self.log.tail(200).iter().any(|line| line.text.contains(words))
    }
}

/// A job that calls a tool.
fn calling(tool: &str, arguments: &Value) -> Job {
    let mut job = job("");
    job.message.parts = vec![Part::data(json!({ "tool": tool, "arguments": arguments }))];
    job
}

/// The next run of a task that asked.
fn answered(first: &Job, ran: &Ran, words: &str) -> Job {
    let memo = ran.steps.iter().rev().find_map(|step| match step {
        Step::Memo(memo) => Some(memo.clone()),
        _ => None,
    });
    let message = Message { message_id: "answer".parse().unwrap(), ..job(words).message };
    Job { message, memo, attempt: 2, ..first.clone() }
}

fn statuses(ran: &Ran) -> Vec<String> {
    let words = |step: &Step| match step {
        Step::Status(message) => Some(message.plain_text()),
        _ => None,
    };
    ran.steps.iter().filter_map(words).collect()
}

fn exchange() -> Exchange {
    Exchange::silent(Caller::local(), Abilities::default())
}

#[tokio::test]
async fn a_tool_server_keeps_the_contract_of_every_runner() {
    let one = Hosted::new(&python("one")).ready().await;
    contract::run_all(Subject {
        answering: one.runner.clone(),
        answer: str::to_uppercase,
        waiting: None,
        talking: None,
    })
    .await;
    soon("it stops", one.runner.stop()).await;
}

#[tokio::test]
async fn tools_are_skills_and_are_called_in_structured_form() {
    let hosted = Hosted::new(&python("")).ready().await;
    let card = hosted.runner.card().unwrap();
    assert_eq!(
        (card.skills[0].id.as_str(), card.skills[0].description.as_str()),
        ("echo", "Says it loudly.")
    );
    assert_eq!(hosted.runner.toolbox().unwrap().about().instructions.as_deref(), Some("Echo, add and wait."));

    let ran = hosted.call("add", json!({ "a": 2, "b": 3 })).await;
    assert_eq!(ran.ending().0, "completed", "{ran:?}");
    let artifact = &ran.artifacts()[0];
    assert!(artifact.parts.iter().any(|part| part.data == Some(json!({ "total": 5 }))), "{artifact:?}");

    assert_eq!(hosted.call("fail", json!({})).await.ending().0, "failed");
    let (word, why) = hosted.call("nothing", json!({})).await.ending();
    assert!(word == "rejected" && why.contains("there is no tool `nothing`"), "{why}");
    let ran = hosted.call("add", json!({ "a": "x" })).await;
    assert!(matches!(ran.ending().0, "failed" | "rejected"), "{ran:?}");
    soon("it stops", hosted.runner.stop()).await;
}

#[tokio::test]
async fn progress_is_told_and_a_question_goes_to_the_caller() {
    let hosted = Hosted::new(&python("")).ready().await;
    let ran = hosted.call("slow", json!({ "steps": 3 })).await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("done", "completed"));
    assert!(statuses(&ran).contains(&"step 1 of 3".to_owned()), "{:?}", statuses(&ran));

    let first = calling("ask", &json!({}));
    let ran = run(&*hosted.runner, first.clone()).await;
    let (word, question) = ran.ending();
    assert!(word == "input-required" && question.contains("Who are you?"), "{question}");
    let ran = run(&*hosted.runner, answered(&first, &ran, "Ada")).await;
    assert_eq!((ran.answer().as_str(), ran.ending().0), ("Hello Ada", "completed"));
    soon("it stops", hosted.runner.stop()).await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_stops_at_the_server() {
    let hosted = Hosted::new(&python("")).ready().await;
    let mark = hosted.folder.path().join("waiting");
    for cancelled in [true, false] {
        let job = calling("wait", &json!({}));
        let cancel = job.cancel.clone();
        let (report, _reports) = Reporter::channel();
        let running = tokio::spawn(hosted.runner.run(job, report));
        until_file(&mark, true).await;
        if cancelled {
            cancel.cancel();
            assert!(matches!(soon("the run ends", running).await.unwrap(), Outcome::Canceled(_)));
        } else {
            running.abort();
        }
        until_file(&mark, false).await;
    }
    assert_eq!(hosted.call("echo", json!({ "text": "still here" })).await.answer(), "STILL HERE");
    soon("it stops", hosted.runner.stop()).await;
}

async fn until_file(file: &Path, there: bool) {
    soon("the server begins or stops", async {
        while file.exists() != there {
            // tidy: waits because the server works outside of this process
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_dies_fails_the_call_and_is_started_again() {
    let hosted = Hosted::new(&python("")).ready().await;
    let (word, why) = hosted.call("die", json!({})).await.ending();
    assert!(word == "failed" && why.contains("ended in the middle of the call"), "{why}");
    // The next call waits for the server to be back.
    hosted.until(|health| *health != Health::Ready).await;
    hosted.until(|health| *health == Health::Ready).await;
    assert_eq!(hosted.call("echo", json!({ "text": "again" })).await.answer(), "AGAIN");
    assert!(hosted.said("told to die") && hosted.said("exit status: 3"), "{:?}", hosted.log.tail(50));
    assert!(hosted.said("started again in"), "{:?}", hosted.log.tail(50));
    soon("it stops", hosted.runner.stop()).await;
    assert!(matches!(hosted.runner.health(), Health::Down(_)));
}

#[tokio::test]
async fn a_server_that_says_too_much_is_bounded() {
    let hosted = Hosted::new(&python("")).ready().await;
    let (word, why) = hosted.call("big", json!({ "size": 2 << 20 })).await.ending();
    assert!(word == "failed" && why.contains("limits.output"), "{why}");
    assert_eq!(hosted.call("big", json!({ "size": 10 })).await.answer(), "xxxxxxxxxx");

    let job = calling("flood", &json!({}));
    let cancel = job.cancel.clone();
    let (report, mut reports) = Reporter::channel();
    let running = tokio::spawn(hosted.runner.run(job, report));
    assert!(soon("a notice arrives", reports.recv()).await.is_some());
    let meanwhile = soon("others are served", hosted.call("echo", json!({ "text": "a" }))).await;
    assert_eq!(meanwhile.answer(), "A");
    cancel.cancel();
    assert!(matches!(soon("the run ends", running).await.unwrap(), Outcome::Canceled(_)));
    soon("it stops", hosted.runner.stop()).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_started_says_why() {
    let missing = Hosted::new("command = [\"no-such-server\"]");
    missing.until(|health| matches!(health, Health::Needs(why) if why.contains("there is no program"))).await;
    let silent = Hosted::new("command = [\"sleep\", \"1000\"]\nstart_timeout = \"200ms\"");
    silent.until(|health| matches!(health, Health::Down(why) if why.contains("did not answer within"))).await;
    let gone = Hosted::new("command = [\"true\"]");
    gone.until(|health| matches!(health, Health::Down(why) if why.contains("ended by itself"))).await;
    let (word, why) = gone.call("echo", json!({})).await.ending();
    assert!(word == "failed" && why.contains("the tool server is not available"), "{why}");
}

#[tokio::test]
async fn a_server_elsewhere_is_used_and_found_again() {
    let mut server = far_server("0").await;
    let url = format!("url = \"http://127.0.0.1:{}/mcp\"", server.1);
    let hosted = Hosted::new(&url).ready().await;
    assert_eq!(hosted.call("echo", json!({ "text": "far" })).await.answer(), "FAR");
    server.0.kill().await.unwrap();
    let (word, _) = hosted.call("echo", json!({ "text": "gone" })).await.ending();
    assert_eq!(word, "failed");
    hosted.until(|health| matches!(health, Health::Down(_))).await;
    let _again = far_server(&server.1).await;
    hosted.until(|health| *health == Health::Ready).await;
    assert_eq!(hosted.call("echo", json!({ "text": "back" })).await.answer(), "BACK");
    soon("it stops", hosted.runner.stop()).await;
}

/// A server by HTTP, and its port.
async fn far_server(port: &str) -> (tokio::process::Child, String) {
    use tokio::io::AsyncBufReadExt;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/mcp_server.py");
    let mut child = tokio::process::Command::new(named("AGENTSITE_TEST_PYTHON_MCP"))
        .args([script.to_str().unwrap(), "http"])
        .env("MCP_PORT", port)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = tokio::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().unwrap();
    (child, port)
}

#[tokio::test]
async fn the_example_server_shows_tools_resources_prompts_and_completions() {
    use agentsite_protocol::mcp::{Completing, CompletionOf, PromptCall, Reading};
    let hosted = Hosted::new(&everything()).ready().await;
    let toolbox = hosted.runner.toolbox().unwrap();
    assert!(toolbox.tools(&exchange()).await.unwrap().iter().any(|tool| tool.name == "get-sum"));
    let resources = toolbox.resources(&exchange()).await.unwrap();
    let reading = Reading { uri: resources[0].uri.clone(), ..Reading::default() };
    assert!(
        matches!(toolbox.read(exchange(), reading).await.unwrap(), Reply::Done(read) if !read.is_empty())
    );
    assert!(!toolbox.templates(&exchange()).await.unwrap().is_empty());
    let prompts = toolbox.prompts(&exchange()).await.unwrap();
    let simple = prompts.iter().find(|prompt| prompt.arguments.is_empty()).unwrap();
    let call = PromptCall { name: simple.name.clone(), ..PromptCall::default() };
    assert!(matches!(toolbox.prompt(exchange(), call).await.unwrap(), Reply::Done(_)));
    let complete = prompts.iter().find(|prompt| prompt.name.contains("completable")).unwrap();
    let completing = Completing {
        of: CompletionOf::Prompt(complete.name.clone()),
        argument: complete.arguments[0].name.clone(),
        value: String::new(),
        others: Default::default(),
    };
    assert!(!toolbox.complete(&exchange(), completing).await.unwrap().values.is_empty());

    let sum = hosted.call("get-sum", json!({ "a": 2, "b": 40 })).await;
    assert!(sum.answer().contains("42"), "{sum:?}");
    let image = hosted.call("get-tiny-image", json!({})).await;
    assert!(image.artifacts()[0].parts.iter().any(|part| part.raw.is_some()), "{image:?}");
    soon("it stops", hosted.runner.stop()).await;
}

#[tokio::test]
async fn an_older_server_is_told_its_own_folder_and_asks_the_caller() {
    let hosted = Hosted::new(&everything()).ready().await;
    let roots = hosted.call("get-roots-list", json!({})).await;
    let folder = hosted.folder.path().canonicalize().unwrap();
    assert!(roots.answer().contains(folder.file_name().unwrap().to_str().unwrap()), "{}", roots.answer());

    let first = calling("trigger-elicitation-request", &json!({}));
    let ran = run(&*hosted.runner, first.clone()).await;
    assert_eq!(ran.ending().0, "input-required", "{ran:?}");
    let ran = run(&*hosted.runner, answered(&first, &ran, "decline")).await;
    assert_eq!(ran.ending().0, "completed", "{ran:?}");

    // A client that cannot answer gets that from the tool, which continues without.
    let toolbox = hosted.runner.toolbox().unwrap();
    let call = ToolCall { name: "trigger-elicitation-request".into(), ..ToolCall::default() };
    let Reply::Done(result) = toolbox.call(exchange(), call).await.unwrap() else { panic!("no question") };
    assert!(result.plain_text().contains("cancel"), "{}", result.plain_text());
    let unknown = ToolCall { name: "none".into(), ..ToolCall::default() };
    assert_eq!(toolbox.call(exchange(), unknown).await, Err(ToolFault::NoSuchTool("none".into())));
    soon("it stops", hosted.runner.stop()).await;
}
