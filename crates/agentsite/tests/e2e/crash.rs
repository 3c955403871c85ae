//! The real binary is killed with SIGKILL at random moments under load, and stopped in good order under load.
//!
//! Promises that are tested: what was acknowledged is there; a message that was sent again is still one task;
//! the events of a task are dense; every task ends; nothing that an agent started outlives the site.
//!
//! `AGENTSITE_CRASH_SEED` repeats the plan of a run, `AGENTSITE_CRASH_KILLS` sets how many kills it has.
//! Moments are chosen by counting acknowledgements and log lines, never by time.

pub(crate) mod audit;
pub(crate) mod dice;
pub(crate) mod load;
mod tool_call;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::site::{PATIENCE, TestSite, exec_agent, gate, unique};
use audit::Audit;
use dice::Dice;
use load::{Load, Send};

/// Kills of an ordinary run; `cargo xtask crash` asks for more.
const KILLS: usize = 30;

/// Clients that send at the same time.
const CLIENTS: usize = 6;

/// Most acknowledgements between two kills.
const MOST_ACKNOWLEDGED: usize = 120;

/// Most lines that a starting site may log before it is killed; it logs about as many when it has something
/// to recover.
const MOST_LINES: usize = 4;

/// One kill in so many hits a site that is starting, and as many one that has just said that it is ready.
const STARTING: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_work_survives_kills_at_random_moments() {
    let seed = number("AGENTSITE_CRASH_SEED").unwrap_or_else(dice::fresh_seed);
    let kills = number("AGENTSITE_CRASH_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    println!("AGENTSITE_CRASH_SEED={seed} AGENTSITE_CRASH_KILLS={kills}");
    let mut dice = Dice::new(seed);
    let mark = format!("crash-{seed}-{}", std::process::id());
    let mut site = agents(TestSite::trusting(), &mark);
    let mut load = Load::begin(&mut dice, CLIENTS);
    let mut audit = Audit::default();

    for kill in 1..=kills {
        if dice.one_in(STARTING) {
            kill_while_it_starts(&site, dice.below(MOST_LINES + 1));
        } else {
            site.start();
            if !dice.one_in(STARTING) {
                audit.look_at_what_is_new(&site, &load.acknowledged()).await;
                load.send(&site, Send::new("linger", "sleep", true)).await;
                load.open(&site.url);
                load.wait_for(1 + dice.below(MOST_ACKNOWLEDGED)).await;
            }
            site.kill();
            load.close();
        }
        nothing_is_left(&mark).await;
        if kill.is_multiple_of(10) {
            println!("{kill} kills, {}", load.counts());
        }
    }

    site.start();
    load.open(&site.url);
    load.finish().await;
    audit.look_at_what_is_new(&site, &load.acknowledged()).await;
    audit.look_at_everything(&site, &load.acknowledged()).await;
    println!("{kills} kills, {}, {}", load.counts(), audit.counts());
    audit.verdict();
    assert!(site.stop().success());
    nothing_is_left(&mark).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_under_load_loses_nothing_and_ends_well() {
    let mark = format!("stop-{}", unique());
    let mut site = agents(TestSite::trusting(), &mark);
    let mut dice = Dice::new(dice::fresh_seed());
    let mut load = Load::begin(&mut dice, CLIENTS);
    let mut audit = Audit::default();
    for _ in 0..3 {
        site.start();
        load.open(&site.url);
        load.wait_for(60).await;
        let status = tokio::task::block_in_place(|| site.stop());
        load.close();
        assert_eq!(status.code(), Some(0), "{}", site.log());
        nothing_is_left(&mark).await;
    }
    site.start();
    load.open(&site.url);
    load.finish().await;
    audit.look_at_what_is_new(&site, &load.acknowledged()).await;
    audit.look_at_everything(&site, &load.acknowledged()).await;
    println!("3 stops, {}, {}", load.counts(), audit.counts());
    audit.verdict();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_queued_at_a_stop_runs_after_the_next_start() {
    let command = ["sh", "-c", "read x; read go < gate; echo $x"];
    let manifest = exec_agent("turnstile", &command, "[limits]\nconcurrency = 1");
    let mut site = TestSite::trusting().agent("turnstile", &manifest);
    let mut gate = gate(&site.path().join("agents/turnstile/gate"));
    site.start();

    let mut tasks = Vec::new();
    for text in ["one", "two", "three", "four"] {
        let sent = load::deliver(&site.http, &site.url, &Send::new("turnstile", text, true)).await.unwrap();
        tasks.push((sent.task, text));
    }
    site.signal("TERM");
    until_it_listens_no_more(&site).await;
    gate.write_all(b"go\n").unwrap();
    assert_eq!(tokio::task::block_in_place(|| site.wait()).code(), Some(0), "{}", site.log());

    site.start();
    let first = site.get(&format!("/api/tasks/{}", tasks[0].0)).await;
    assert_eq!(audit::state(&first), "TASK_STATE_COMPLETED", "what was at work may finish: {first}");
    for (task, _) in &tasks[1..] {
        let queued = site.get(&format!("/api/tasks/{task}/events?after=0")).await;
        assert!(audit::numbers(&queued).len() <= 2, "nothing of it had begun before the stop: {queued}");
    }
    gate.write_all(b"go\ngo\ngo\n").unwrap();
    for (task, text) in &tasks {
        let ended = audit::ended(&site, task).await;
        assert_eq!((audit::state(&ended), audit::answer(&ended).trim()), ("TASK_STATE_COMPLETED", *text));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_forces_the_end() {
    let mark = format!("force-{}", unique());
    let mut site = agents(TestSite::trusting(), &mark);
    site.start();
    let sent = load::deliver(&site.http, &site.url, &Send::new("linger", "stay", true)).await.unwrap();
    site.signal("TERM");
    until_it_listens_no_more(&site).await;
    site.signal("TERM");
    assert_eq!(tokio::task::block_in_place(|| site.wait()).code(), Some(130), "{}", site.log());
    nothing_is_left(&mark).await;

    site.start();
    let task = site.get(&format!("/api/tasks/{}", sent.task)).await;
    assert_eq!(audit::state(&task), "TASK_STATE_FAILED", "{task}");
    assert!(task.to_string().contains("limits.retry = 0"), "it says why: {task}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_children_of_an_agent_do_not_outlive_the_next_start_after_a_kill() {
    let mark = format!("grandchild-{}", unique());
    let rest = format!("env = {{ AGENTSITE_CRASH_MARK = \"{mark}\" }}");
    // The shell waits for a process of its own, as scripts do.
    let script = exec_agent("script", &["sh", "-c", "sleep 1000; echo done"], &rest);
    let mut site = TestSite::trusting().agent("script", &script);
    site.start();
    load::deliver(&site.http, &site.url, &Send::new("script", "go", true)).await.unwrap();
    crate::site::eventually("shell and child run", async || (bearers(&mark).len() == 2).then_some(())).await;
    site.kill();
    site.start();
    nothing_is_left(&mark).await;
}

/// The other agents besides the built-in echo; all carry the mark in their environment.
pub(crate) fn agents(site: TestSite, mark: &str) -> TestSite {
    let marked = |name: &str, command: &[&str], limits: &str| {
        let rest = format!("env = {{ AGENTSITE_CRASH_MARK = \"{mark}\" }}\n[limits]\n{limits}");
        exec_agent(name, command, &rest)
    };
    // Counts rather than sleeps: a sleep would be a process of its own, which is not the agent's.
    let slow = ["sh", "-c", "read x; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo $x"];
    site.agent("cat", &marked("cat", &["cat"], "retry = 2"))
        .agent("slow", &marked("slow", &slow, "retry = 0"))
        .agent("linger", &marked("linger", &["sleep", "1000"], "timeout = \"1h\"\nconcurrency = 64"))
}

/// Starts the site and kills it after so many lines of its log; no line means as soon as the process exists.
fn kill_while_it_starts(site: &TestSite, lines: usize) {
    let mut child = site.serve_command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    log.lines().take(lines).for_each(|line| drop(line.unwrap()));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits until no process bears the mark. The system ends them with the site, but not in the same instant.
async fn nothing_is_left(mark: &str) {
    let gone = async {
        while !bearers(mark).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(PATIENCE, gone).await.is_err() {
        let left = bearers(mark);
        for pid in &left {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        panic!("processes of agents outlive the site: {left:?}");
    }
}

/// The processes with the mark in their environment.
fn bearers(mark: &str) -> Vec<u32> {
    let bears = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.ends_with(mark.as_bytes()))
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(bears).collect()
}

/// Waits until the site accepts no more connections: it has received the signal.
async fn until_it_listens_no_more(site: &TestSite) {
    let closed = async { while site.http.get(format!("{}/healthz", site.url)).send().await.is_ok() {} };
    tokio::time::timeout(PATIENCE, closed).await.expect("the site heeds the signal");
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = std::env::var_os(variable)?;
    Some(text.to_str().and_then(|text| text.parse().ok()).expect("a whole number"))
}
