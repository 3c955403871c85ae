//! The first minutes: an empty folder, `init`, new agents in every language, and what they do.
//!
//! Promises of the program that are kept here: nothing is written but what is named, nothing is overwritten,
//! and whatever `agent new` writes answers at once. What a language needs must be installed; `cargo xtask
//! test` installs Node.js.

use crate::site::{TestSite, eventually};

/// What is in the folder of a site, without the log of the test itself.
fn left_in(site: &TestSite) -> Vec<String> {
    let entries = std::fs::read_dir(site.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "site.log");
    names.sort();
    names
}

#[test]
fn serve_in_an_empty_folder_leaves_nothing_but_its_data_and_serves_the_demos() {
    let mut site = TestSite::started();
    assert!(site.sign_in.as_deref().unwrap().starts_with(&format!("{}/signin?token=", site.url)));
    assert_eq!(site.run(&["call", "calc", "2+2"]).ok().out(), "4\n");
    let names = site.run(&["agent", "ls", "--json"]).ok().json();
    let names: Vec<&str> =
        names["agents"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calc", "clock", "echo", "library"]);
    assert!(site.stop().success());
    assert_eq!(left_in(&site), ["agentsite-data"]);
    let (first, token) = (site.sign_in.take(), site.token());
    site.start();
    assert!(site.sign_in.is_some() && site.sign_in != first, "each start shows a link of its own");
    assert_eq!(site.token(), token, "the admin token stays the same");
}

#[test]
fn init_writes_a_site_that_answers_and_touches_nothing_the_second_time() {
    let mut site = TestSite::new();
    let said = site.run(&["init"]).ok();
    assert!(said.out().contains("agentsite.toml") && said.out().contains("agentsite call hello"), "{said:?}");
    assert_eq!(left_in(&site), ["agents", "agentsite.toml"]);
    site.run(&["config", "check"]).ok();
    let again = site.run(&["init"]);
    assert_eq!(again.code(), 1);
    assert!(again.err().contains("exists already and was not changed"), "{again:?}");
    site.start();
    assert_eq!(site.run(&["call", "hello", "one two three"]).ok().out(), "That text has 3 words.\n");
    let json = TestSite::new().run(&["init", "--lang", "python", "--json"]).ok().json();
    assert_eq!(json["written"][1], "agents/hello");
}

/// A running site to which an agent in this language was added.
async fn site_with_new(lang: &str) -> TestSite {
    let mut site = TestSite::new();
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            site = site.variable(name, value.to_str().unwrap());
        }
    }
    site.start();
    let said = site.run(&["agent", "new", "fresh", "--lang", lang]).ok();
    assert!(said.out().contains("agentsite call fresh"), "{said:?}");
    eventually("the new agent is there", async || {
        (site.run(&["agent", "show", "fresh"]).code() == 0).then_some(())
    })
    .await;
    site
}

#[tokio::test]
async fn a_new_shell_agent_answers_at_once() {
    let site = site_with_new("sh").await;
    assert_eq!(site.run(&["call", "fresh", "one two"]).ok().out(), "That text has 2 words.\n");
    let again = site.run(&["agent", "new", "fresh"]);
    assert_eq!(again.code(), 1, "{again:?}");
    assert!(again.err().contains("exists already"), "{again:?}");
    assert_eq!(site.run(&["agent", "new", "No Name"]).code(), 2);
}

#[tokio::test]
async fn a_new_python_agent_answers_at_once() {
    let site = site_with_new("python").await;
    let said = site.run(&["call", "fresh", "a longer word"]).ok();
    assert_eq!(said.out(), "The longest of 3 words is 'longer'.\n");
}

#[tokio::test]
async fn a_new_node_agent_answers_at_once() {
    let site = site_with_new("node").await;
    assert_eq!(site.run(&["call", "fresh", "turn"]).ok().out(), "nrut\n");
}

#[tokio::test]
async fn a_new_rust_agent_answers_at_once() {
    let site = site_with_new("rust").await;
    assert_eq!(site.run(&["call", "fresh", "make this loud"]).ok().out(), "MAKE THIS LOUD\n");
}

#[tokio::test]
async fn a_new_tool_server_answers_at_once() {
    let site = site_with_new("mcp").await;
    let asked = "count {\"text\": \"how long is this\"}";
    assert_eq!(site.run(&["call", "fresh", asked]).ok().out(), "16 letters, 4 words\n");
    let tools = site.run(&["agent", "tools", "fresh"]).ok().out();
    assert!(tools.lines().any(|line| line.starts_with("count") && line.contains("same")), "{tools}");
}

#[tokio::test]
async fn a_new_llm_agent_is_there_and_waits_for_its_model() {
    let site = site_with_new("llm").await;
    let shown = site.run(&["agent", "show", "fresh", "--json"]).ok().json();
    assert_eq!((&shown["kind"], &shown["visibility"]), (&"llm".into(), &"private".into()));
}

#[tokio::test]
async fn an_agent_is_listed_shown_read_and_removed() {
    let site = site_with_new("sh").await;
    let table = site.run(&["agent", "ls"]).ok().out();
    assert!(table.starts_with("NAME"), "{table}");
    assert!(table.lines().any(|line| line.starts_with("fresh") && line.contains("exec")), "{table}");
    let shown = site.run(&["agent", "show", "fresh"]).ok().out();
    assert!(shown.contains("skill        Count words") && shown.contains("agentsite call fresh"), "{shown}");
    assert_eq!(site.run(&["agent", "show", "nobody"]).code(), 6);

    site.write("agents/fresh/agent.sh", "echo trouble ahead >&2; echo done\n");
    assert_eq!(site.run(&["call", "fresh", "x"]).ok().out(), "done\n");
    let log = site.run(&["agent", "logs", "fresh"]).ok().out();
    assert!(log.contains("trouble ahead"), "{log}");

    let unsure = site.run(&["agent", "rm", "fresh"]);
    assert_eq!(unsure.code(), 1, "no terminal is there to agree");
    assert!(unsure.err().contains("--yes"), "{unsure:?}");
    let removed = site.run(&["agent", "rm", "fresh", "--yes", "--json"]).ok().json();
    let trashed = site.path().join(removed["movedTo"].as_str().unwrap());
    assert!(trashed.join("agent.toml").is_file(), "{removed}");
    eventually("the agent is gone", async || (site.run(&["call", "fresh", "x"]).code() == 6).then_some(()))
        .await;
    assert_eq!(site.run(&["agent", "rm", "fresh", "--yes"]).code(), 6);
}
