//! Agents that misbehave: each harms its own task only, and the task says what happened.
//!
//! Promises that are tested: endless output, silence, left-over children, sudden death, missing programs and
//! bytes that are not text all end with a sentence; another agent answers all the time.

use serde_json::Value;

use crate::site::{PATIENCE, TestSite, answer, eventually, exec_agent, state, status_text};

/// Calls a misbehaving agent, then a good one.
async fn call(site: &TestSite, agent: &str) -> Value {
    let reply = tokio::time::timeout(PATIENCE, site.send(agent, "hello")).await.expect("an answer");
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
    reply
}

async fn fails(site: &TestSite, agent: &str, words: &[&str]) {
    let reply = call(site, agent).await;
    assert_eq!(state(&reply), "failed", "{agent}: {}", status_text(&reply));
    let why = status_text(&reply);
    assert!(words.iter().all(|word| why.contains(word)), "{words:?} in {why}");
}

fn site_with(name: &str, command: &[&str], rest: &str) -> TestSite {
    let mut site = TestSite::new().agent(name, &exec_agent(name, command, rest));
    site.start();
    site
}

/// Memory of a process now, in bytes.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn an_agent_that_prints_without_end_is_cut_off() {
    let site = site_with("loud", &["yes"], "");
    let before = memory(site.pid());
    fails(&site, "loud", &["limits.output"]).await;
    let grown = memory(site.pid()).saturating_sub(before);
    assert!(grown < 200 << 20, "the site grew by {grown} bytes");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_ended_at_its_timeout() {
    let site = site_with("silent", &["sleep", "1000"], "[limits]\ntimeout = \"300ms\"");
    fails(&site, "silent", &["limits.timeout"]).await;
}

#[tokio::test]
async fn a_child_that_is_left_behind_does_not_hold_the_answer_up() {
    let mark = format!("left-behind-{}", crate::site::unique());
    let script = "sleep 1000 & echo done";
    let site = site_with("forker", &["sh", "-c", script], &format!("env = {{ MARK = \"{mark}\" }}"));
    let reply = call(&site, "forker").await;
    assert_eq!((state(&reply).as_str(), answer(&reply).trim()), ("completed", "done"));
    eventually("the child is gone", async || children_with(&mark).is_empty().then_some(())).await;
}

/// Processes with this in their environment.
fn children_with(mark: &str) -> Vec<std::path::PathBuf> {
    let has = |path: &std::path::PathBuf| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(has).collect()
}

#[tokio::test]
async fn an_agent_that_dies_at_once_fails_with_its_last_words() {
    let site = site_with("dying", &["sh", "-c", "echo the model is missing >&2; exit 3"], "");
    fails(&site, "dying", &["exit code 3", "the model is missing"]).await;
    site.write("agents/shot/agent.toml", &exec_agent("shot", &["sh", "-c", "kill -9 $$"], ""));
    eventually("the agent is there", async || {
        site.get("/api/agents/shot").await["name"].is_string().then_some(())
    })
    .await;
    fails(&site, "shot", &["signal 9"]).await;
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let site = TestSite::new()
        .agent("no-program", &exec_agent("no-program", &["no-such-program"], ""))
        .agent("no-file", &exec_agent("no-file", &["./gone.sh"], ""))
        .agent("not-allowed", &exec_agent("not-allowed", &["./agent.toml"], ""))
        .agent("no-interpreter", &exec_agent("no-interpreter", &["./run"], ""));
    site.write("agents/no-interpreter/run", "#!/no/such/interpreter\n");
    let run = site.path().join("agents/no-interpreter/run");
    std::fs::set_permissions(run, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut site = site;
    site.start();
    fails(&site, "no-program", &["no program `no-such-program`", "PATH"]).await;
    fails(&site, "no-file", &["no file `./gone.sh`"]).await;
    fails(&site, "not-allowed", &["chmod +x"]).await;
    fails(&site, "no-interpreter", &["interpreter"]).await;

    std::fs::remove_file(site.path().join("agents/no-file/agent.toml")).unwrap();
    eventually("the agent is gone", async || {
        site.send("no-file", "hello").await["error"].is_object().then_some(())
    })
    .await;
    let gone = site.send("no-file", "hello").await;
    assert!(gone["error"]["message"].as_str().unwrap().contains("no agent `no-file`"), "{gone}");
}

#[tokio::test]
async fn bytes_that_are_no_text_become_marks_and_nothing_else_is_lost() {
    let site = site_with("binary", &["printf", r"before\377\376after\000end"], "");
    let reply = call(&site, "binary").await;
    assert_eq!(state(&reply), "completed");
    assert_eq!(answer(&reply), "before\u{fffd}\u{fffd}after\u{0}end");
}
