//! The official Rust client drives the site: `a2acli`, which is built on `a2a-client-lf`.
//!
//! `cargo xtask test` installs it and names it in `AGENTSITE_TEST_A2A_CLI`. It uses JSON-RPC and HTTP+JSON;
//! each story is the same in both.

use std::process::{Command, Stdio};

use crate::site::{TestSite, counterpart, exec_agent};

const TRANSPORTS: [&str; 2] = ["jsonrpc", "rest"];

/// One agent as the Rust client sees it.
struct Caller<'a> {
    site: &'a TestSite,
    agent: &'a str,
    transport: &'a str,
}

impl Caller<'_> {
    /// Runs the client; gives its exit code, what it printed and what it complained about.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(counterpart("AGENTSITE_TEST_A2A_CLI"));
        command.args(words).current_dir(self.site.path()).env_clear().stdin(Stdio::null());
        command.args(["--transport", self.transport]);
        command.arg("-a").arg(format!("{}/a2a/{}/.well-known/agent-card.json", self.site.url, self.agent));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    fn ok(&self, words: &[&str]) -> String {
        let (code, out, err) = self.run(words);
        assert_eq!(code, 0, "{} {words:?}: {out}{err}", self.transport);
        out
    }
}

fn field<'t>(text: &'t str, name: &str) -> &'t str {
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[tokio::test]
async fn the_rust_client_sends_and_streams() {
    let site = TestSite::trusting_started();
    for transport in TRANSPORTS {
        let echo = Caller { site: &site, agent: "echo", transport };
        assert!(echo.ok(&["card", "get"]).contains("Name: echo"));
        let answered = echo.ok(&["send", "hello there"]);
        assert_eq!(field(&answered, "State: "), "COMPLETED", "{transport}");
        assert!(answered.ends_with("hello there\n"), "{answered}");
        let streamed = echo.ok(&["send", "--stream", "word by word"]);
        let states: Vec<&str> = streamed.lines().filter_map(|line| line.strip_prefix("State: ")).collect();
        assert_eq!((states.first(), states.last()), (Some(&"SUBMITTED"), Some(&"COMPLETED")), "{streamed}");
        assert!(streamed.contains("word by word"), "{streamed}");
        let task = field(&answered, "Task ID: ");
        assert!(echo.ok(&["task", "get", task]).contains("COMPLETED"));
        assert!(echo.ok(&["task", "list"]).contains(task));
    }
}

#[tokio::test]
async fn the_rust_client_follows_and_cancels() {
    let manifest = exec_agent("slow", &["sh", "-c", "echo begun; exec sleep 3600"], "");
    let mut site = TestSite::trusting().agent("slow", &manifest);
    site.start();
    for transport in TRANSPORTS {
        let slow = Caller { site: &site, agent: "slow", transport };
        let begun = slow.ok(&["send", "--async", "--return-immediately", "go"]);
        let task = field(&begun, "Task ID: ").to_owned();
        let (code, followed, canceled) = std::thread::scope(|scope| {
            let following = scope.spawn(|| slow.run(&["task", "subscribe", &task]));
            let canceled = slow.ok(&["task", "cancel", &task]);
            let (code, out, err) = following.join().unwrap();
            (code, format!("{out}{err}"), canceled)
        });
        assert_eq!(field(&canceled, "State: "), "CANCELED", "{transport}");
        // A message after the cancel is refused instead.
        assert!(
            followed.contains("CANCELED") || code == 1 && followed.contains("ended"),
            "{transport}: {followed}"
        );
        let (code, _, refused) = slow.run(&["task", "cancel", &task]);
        assert!(code == 1 && refused.contains("-32002"), "{transport}: {refused}");
        let (code, _, unknown) = slow.run(&["task", "get", "nobody"]);
        assert!(code == 1 && unknown.contains("TASK_NOT_FOUND"), "{transport}: {unknown}");
    }
}
