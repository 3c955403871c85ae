//! The examples of the repository, each copied into a site and called.
//!
//! They are what newcomers copy first, so each must work as its README says.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::scripted_model::{Line, ScriptedModel};
use crate::site::{TestSite, answer, python, repository};

/// A running site with one of the examples in it.
fn site_with(example: &str) -> TestSite {
    let mut site = prepared(TestSite::trusting(), example);
    site.start();
    site
}

fn prepared(site: TestSite, example: &str) -> TestSite {
    let from = repository("examples").join(example);
    for entry in std::fs::read_dir(&from).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        site.write(&format!("agents/{example}/{name}"), &std::fs::read_to_string(&file).unwrap());
    }
    site
}

#[test]
fn every_example_is_small_explained_and_sound() {
    for entry in std::fs::read_dir(repository("examples")).unwrap() {
        let folder = entry.unwrap().path();
        assert!(folder.join("README.md").is_file(), "{} has no README.md", folder.display());
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let site = prepared(TestSite::trusting(), &name);
        site.run(&["config", "check"]).ok();
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            let lines = std::fs::read_to_string(&file).unwrap().lines().count();
            assert!(lines < 150, "{} is not a small example: {lines} lines", file.display());
        }
    }
}

#[test]
fn the_shell_example_sorts_lines_from_stdin() {
    let site = site_with("shell");
    let mut command = site.command(&["call", "sort-lines", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"pear\napple\npear\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "2 pear\n1 apple\n");
    let empty = site.run(&["call", "sort-lines", " "]);
    assert_eq!(empty.code(), 4);
    assert!(empty.err().contains("there are no lines to sort"), "{empty:?}");
}

#[test]
fn the_python_example_asks_for_what_it_does_not_know() {
    let site = site_with("python-stdlib");
    let whole = site.run(&["call", "tip", "15 per cent of 80"]).ok();
    assert_eq!(whole.out(), "Pay 92.00: 80.00 and a tip of 12.00.\n");
    let asked = site.run(&["call", "tip", "the bill is 80", "--json"]);
    assert_eq!(asked.code(), 3, "{asked:?}");
    let task = asked.json()["id"].as_str().unwrap().to_owned();
    let told = site.run(&["call", "tip", "--task", &task, "15", "--json"]).ok().json();
    let artifacts = told["artifacts"].to_string();
    assert!(artifacts.contains("Pay 92.00: 80.00 and a tip of 12.00."), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_with_tools_asks_both_of_them() {
    let script = [
        Line::Asks { tool: "ask_clock", message: "convert 15:00 Berlin to Tokyo" },
        Line::Asks { tool: "ask_calc", message: "24 * 60 - 22 * 60" },
        Line::Says(vec!["120 minutes."]),
    ];
    let model = ScriptedModel::start(script).await;
    let mut site = prepared(TestSite::trusting(), "llm-with-tools");
    site.write("agentsite.toml", &format!("[models.script]\nbase_url = \"{}\"\n", model.url));
    site.start();
    assert_eq!(answer(&site.send("planner", "how long until midnight in Tokyo?").await), "120 minutes.");
    let last =
        model.heard().pop().unwrap()["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(last, "120");
    assert_eq!(site.get("/api/tasks?agent=clock").await["tasks"][0]["state"], "completed");
}

#[tokio::test]
async fn the_sdk_example_counts_words() {
    let python = python();
    // Its file says python3, which here must be the one that has the SDK.
    let beside = Path::new(&python).parent().unwrap().display().to_string();
    let path = format!("{beside}:{}", std::env::var_os("PATH").unwrap_or_default().display());
    let mut site = prepared(TestSite::trusting().variable("PATH", &path), "a2a-python");
    site.start();
    assert_eq!(site.run(&["call", "word-count", "To be, or not to be"]).ok().out(), "6 words\n");
}
