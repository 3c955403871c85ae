//! What the command line understands, as facts.
//!
//! Nothing here starts a site; that is tested with the real binary.

use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("agentsite").chain(line.split_whitespace()))
}

fn run_line(line: &str) -> Result<Exit, CliError> {
    run(parse(line).unwrap(), BTreeMap::new(), Output::new(false, false, true))
}

#[test]
fn the_definitions_are_sound() {
    Cli::command().debug_assert();
}

#[test]
fn serve_is_meant_when_no_verb_is_named() {
    assert!(parse("").unwrap().verb.is_none());
    assert!(parse("--listen 127.0.0.1:0 --no-demos --data d").unwrap().verb.is_none());
    assert!(matches!(parse("serve --tls-cert c --tls-key k").unwrap().verb, Some(Verb::Serve(_))));
}

#[test]
fn flags_of_all_verbs_may_stand_before_and_after_the_verb() {
    for line in ["--json --data d status", "status --json --data d"] {
        let cli = parse(line).unwrap();
        assert!(cli.everywhere.json);
        assert_eq!(cli.everywhere.data, Some("d".into()));
    }
}

#[test]
fn a_flag_of_serve_is_refused_elsewhere() {
    let error = run_line("--no-demos status").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().starts_with("--no-demos is an option of serve"));
}

#[test]
fn every_verb_of_the_manual_is_understood() {
    for line in [
        "init",
        "agent new x --lang rust --dir d",
        "agent ls",
        "agent show x",
        "agent logs x -n 5",
        "agent rm x --yes",
        "agent attach --site https://a.example --name x -- tr a-z A-Z",
        "agent attach --from agents/x --visibility public",
        "agent detach x",
        "call calc 2+2 --no-stream --context c",
        "call https://a.example - --task t --stream",
        "call calc 2 + 2",
        "migrate --from agentsite-data --to postgres://db/agents",
        "migrate --from env:AGENTSITE_STORE",
        "mcp",
        "mcp --agent calc --folder d",
        "mcp --site https://a.example",
        "connect cursor",
        "connect vscode --write --agent calc --name x",
        "connect claude-code --http --site https://a.example --key k",
        "identity show",
        "identity rotate --json",
        "card verify https://a.example --key did:key:z6Mk",
        "task ls --agent calc --state working -n 3",
        "task show i",
        "task cancel i",
        "task watch i --after 3",
        "key new --label l --scope call:calc --scope admin --expires 30d",
        "key ls",
        "key revoke i",
        "signin",
        "status",
        "doctor",
        "config check",
        "config show",
        "config schema",
        "config docs",
        "config agent-schema",
        "backup f",
        "restore f",
        "completions bash",
        "help-markdown",
    ] {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn nonsense_is_refused_before_anything_is_asked() {
    for line in [
        "agent new Bad_Name",
        "key new --scope root",
        "key new --expires soon",
        "agent new x --lang cobol",
        "fly",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn without_a_site_the_sentence_says_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display();
    for verb in ["status", "task ls", "key ls", "signin", "agent ls", "call calc 2+2"] {
        let error = run_line(&format!("{verb} --data {data}")).unwrap_err();
        assert_eq!(error.exit(), Exit::NotRunning, "{verb}");
        assert!(error.to_string().contains("start it with `agentsite`"), "{verb}: {error}");
    }
}

#[test]
fn what_a_killed_site_left_behind_counts_as_no_site() {
    let folder = tempfile::tempdir().unwrap();
    // Bound and dropped: nothing listens on this port now.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let left = format!(r#"{{"pid":1,"url":"http://{free}","startedAt":"2026-01-01T00:00:00.000Z"}}"#);
    std::fs::write(folder.path().join("site.json"), left).unwrap();
    let error = run_line(&format!("status --data {}", folder.path().display())).unwrap_err();
    assert_eq!(error.exit(), Exit::NotRunning);
}

#[test]
fn the_manual_holds_every_verb_and_every_exit_code() {
    let page = manual::page(Cli::command());
    for heading in
        ["## agentsite call", "### agentsite agent new", "### agentsite key revoke", "## Exit codes"]
    {
        assert!(page.contains(&format!("\n{heading}\n")), "{heading}");
    }
    assert!(page.contains("| 130 |") && page.contains("- `--json`: Answer in JSON."));
    assert!(!page.contains("help-markdown"));
}
