//! A site in a test: the real binary in a folder of its own.
//!
//! Promises: ready when `start` returns; killed, with everything it started, when dropped; can be killed and
//! started again on the same data. It shows the admin token with each request; a story of an anonymous caller
//! uses a client of its own, from `http()`.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

use crate::namespaces::within;

/// The binary under test: the one that cargo built for the tests, or the one that `AGENTSITE_TEST_BINARY`
/// names.
pub(crate) fn binary() -> &'static str {
    static BINARY: LazyLock<String> = LazyLock::new(|| {
        let named = std::env::var_os("AGENTSITE_TEST_BINARY").and_then(|path| path.into_string().ok());
        named.unwrap_or_else(|| env!("CARGO_BIN_EXE_agentsite").to_owned())
    });
    &BINARY
}

/// Longest wait for an event. It is there to name what never came, not to measure: a machine that is busy
/// with anything else may be a hundred times slower than usual, and only a defect may reach it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// A folder with a site in it.
pub(crate) struct TestSite {
    folder: tempfile::TempDir,
    flags: Vec<String>,
    variables: Vec<(String, String)>,
    /// The network namespace in which everything of it runs; that of the test when none.
    namespace: Option<String>,
    process: Option<Child>,
    /// Making a client is slow, so each site has one for all that is asked of it. It shows the admin token,
    /// unless a request shows another.
    pub(crate) http: reqwest::Client,
    /// Where the site listens.
    pub(crate) url: String,
    /// The one-time sign-in link.
    pub(crate) sign_in: Option<String>,
}

impl TestSite {
    /// A folder in which no site runs yet.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            flags: Vec::new(),
            variables: Vec::new(),
            namespace: None,
            process: None,
            http: http(),
            url: String::new(),
            sign_in: None,
        }
    }

    /// A running site with the built-in demos.
    pub(crate) fn started() -> Self {
        let mut site = Self::new();
        site.start();
        site
    }

    /// A folder for a site at which every caller of this machine is an admin: for counterparts that show no
    /// key.
    pub(crate) fn trusting() -> Self {
        Self::new().flag("--anonymous").flag("admin")
    }

    /// The same, running.
    pub(crate) fn trusting_started() -> Self {
        let mut site = Self::trusting();
        site.start();
        site
    }

    /// A further flag of `serve`.
    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// A variable of the site's environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Everything of it runs in this network namespace.
    pub(crate) fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// No longer a variable of the site's environment.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(one, _)| one != name);
        self
    }

    /// Writes `agents/NAME/agent.toml`.
    pub(crate) fn agent(self, name: &str, manifest: &str) -> Self {
        self.write(&format!("agents/{name}/agent.toml"), manifest);
        self
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("agentsite-data")
    }

    /// The command that serves the site, not started.
    pub(crate) fn serve_command(&self) -> Command {
        self.serve_command_at("127.0.0.1:0")
    }

    fn serve_command_at(&self, address: &str) -> Command {
        let mut command = self.command(&["serve", "--json", "--listen", address]);
        command.args(&self.flags);
        command
    }

    /// The command line in the site's folder, with a clean environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match &self.namespace {
            Some(namespace) => within(namespace, binary()),
            None => Command::new(binary()),
        };
        command.current_dir(self.path()).env_clear().args(arguments).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the command line in the site's folder and gives what it said.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said(self.command(arguments).output().unwrap())
    }

    /// Starts the site and waits until it is ready.
    pub(crate) fn start(&mut self) {
        self.start_at("127.0.0.1:0");
    }

    /// The same at an address that it had before.
    pub(crate) fn start_at(&mut self, address: &str) {
        let log =
            std::fs::File::options().create(true).append(true).open(self.path().join("site.log")).unwrap();
        let mut child = self.serve_command_at(address).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        self.process = Some(child);
        let banner: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("no banner but {line:?}; log: {}", self.log()));
        self.url = banner["url"].as_str().unwrap().to_owned();
        self.sign_in = banner["signIn"].as_str().map(ToOwned::to_owned);
        // A site whose data is elsewhere keeps its token to itself.
        let token = std::fs::read_to_string(self.data().join("admin.token")).ok();
        self.http = http_with(token.as_deref().map(str::trim));
        // A program that prints more must not block on a full pipe.
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
    }

    /// Kills the site with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.process.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Asks the site to stop and waits for it.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Waits for the site to end by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.process.take().expect("the site runs").wait().unwrap()
    }

    /// Sends a signal to the site.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// The process of the site.
    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().expect("the site runs").id()
    }

    /// What the site has logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("site.log")).unwrap_or_default()
    }

    /// The admin token, as stored in the data folder.
    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.data().join("admin.token")).unwrap().trim().to_owned()
    }

    /// Sends a message over JSON-RPC and gives the whole answer.
    pub(crate) async fn send(&self, agent: &str, text: &str) -> Value {
        let id = unique();
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        self.rpc(agent, "SendMessage", json!({"message": message})).await
    }

    /// Calls a method of an agent over JSON-RPC.
    pub(crate) async fn rpc(&self, agent: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request =
            self.http.post(format!("{}/a2a/{agent}", self.url)).header("a2a-version", "1.0").json(&body);
        request.send().await.unwrap().json().await.unwrap()
    }

    /// Sends a message and gives every event of the stream that answers it.
    pub(crate) async fn stream(&self, agent: &str, message: Value) -> Vec<Value> {
        let params = json!({"message": message});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params});
        let request =
            self.http.post(format!("{}/a2a/{agent}", self.url)).header("a2a-version", "1.0").json(&body);
        let text = request.send().await.unwrap().text().await.unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        events.map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].take()).collect()
    }

    /// GETs a JSON document as an admin.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.http.get(format!("{}{path}", self.url)).send().await.unwrap().json().await.unwrap()
    }
}

impl Drop for TestSite {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said(Output);

impl Said {
    /// Its exit code.
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    /// Its standard output.
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Its standard error.
    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Its standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Itself, when it succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code(), 0, "{self:?}");
        self
    }
}

/// A client of an anonymous caller, without a proxy and without any redirects.
pub(crate) fn http() -> reqwest::Client {
    http_with(None)
}

/// The same, with this token wherever a request shows none.
fn http_with(token: Option<&str>) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bearer = token.map(|token| format!("Bearer {token}").parse().unwrap());
    let headers = bearer.map(|bearer| (reqwest::header::AUTHORIZATION, bearer)).into_iter().collect();
    let client =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(PATIENCE);
    client.default_headers(headers).build().unwrap()
}

/// Polls until there is an answer: for what comes by itself, and soon, but without a signal.
pub(crate) async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        loop {
            look.tick().await;
            if let Some(found) = ask().await {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("it never came: {what}"))
}

/// A text as a message of the caller.
pub(crate) fn message(text: &str) -> Value {
    json!({"messageId": unique(), "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// The `agent.toml` of a command; `rest` follows it, further keys of the runtime first.
pub(crate) fn exec_agent(name: &str, command: &[&str], rest: &str) -> String {
    let about = format!("name = \"{name}\"\ndescription = \"Answers\"\nvisibility = \"public\"\n");
    format!("{about}[runtime]\nkind = \"exec\"\ncommand = {command:?}\n{rest}\n")
}

/// A named pipe for an agent to wait at. It is open for both ends, so that neither waits for the other and no
/// line is lost.
pub(crate) fn gate(path: &Path) -> std::fs::File {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    std::fs::File::options().read(true).write(true).open(path).unwrap()
}

/// The text of the status of a task, however it is wrapped.
pub(crate) fn status_text(reply: &Value) -> String {
    let task = if reply["status"].is_object() { reply } else { &reply["result"]["task"] };
    task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// The state of the task in the result of SendMessage, without its prefix.
pub(crate) fn state(reply: &Value) -> String {
    let task = if reply["status"].is_object() { reply } else { &reply["result"]["task"] };
    let state = task["status"]["state"].as_str().unwrap_or_default();
    state.trim_start_matches("TASK_STATE_").to_lowercase()
}

/// An id that no other message of this run has.
pub(crate) fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("m-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The text of the answer in the result of SendMessage.
pub(crate) fn answer(reply: &Value) -> String {
    let parts = &reply["result"]["task"]["artifacts"][0]["parts"];
    parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
}

/// The Python of the venv with the official counterparts.
pub(crate) fn python() -> PathBuf {
    counterpart("AGENTSITE_TEST_PYTHON")
}

/// The same with the counterparts of A2A 0.3.
pub(crate) fn old_python() -> PathBuf {
    counterpart("AGENTSITE_TEST_PYTHON_03")
}

/// Node and the folder of the npm packages.
pub(crate) fn node_modules() -> (PathBuf, PathBuf) {
    (counterpart("AGENTSITE_TEST_NODE"), counterpart("AGENTSITE_TEST_NPM"))
}

/// The Python with the counterparts of MCP and its neighbours.
pub(crate) fn mcp_python() -> PathBuf {
    counterpart("AGENTSITE_TEST_PYTHON_MCP")
}

/// The program or folder that a variable of `cargo xtask test` names; without it the test fails and says what
/// to run.
pub(crate) fn counterpart(variable: &str) -> PathBuf {
    let named = std::env::var_os(variable);
    let path = PathBuf::from(
        named.unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`, which sets it up")),
    );
    assert!(
        path.exists(),
        "{variable} names {}, which does not exist: run `cargo xtask test`",
        path.display()
    );
    path
}

/// A file of the repository.
pub(crate) fn repository(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}
