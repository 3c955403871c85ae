//! `agentsite config`, the order of flag, variable and file, and the texts that are made from the
//! definitions.
//!
//! Every error names its place: file, line and column, or the name of the variable or the flag. Nothing
//! starts with a configuration that is not understood.

use serde_json::Value;

use crate::site::TestSite;

/// The value of a key that is in force, and where it came from.
fn shown(values: &Value, key: &str) -> (Value, String) {
    let all = values["values"].as_array().unwrap();
    let one = all.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("no {key} in {values}"));
    (one["value"].clone(), one["origin"].as_str().unwrap().to_owned())
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let site = TestSite::new().variable("AGENTSITE_AGENTS", "from-variable");
    site.write("agentsite.toml", "agents = \"from-file\"\ndata = \"kept\"\n[site]\nname = \"mine\"\n");
    let values = site.run(&["config", "show", "--json"]).ok().json();
    assert_eq!(shown(&values, "agents"), ("from-variable".into(), "environment AGENTSITE_AGENTS".into()));
    assert!(shown(&values, "data").0.as_str().unwrap().ends_with("kept"));
    assert_eq!(shown(&values, "data").1, "file, line 2");
    assert_eq!(shown(&values, "site.name"), ("mine".into(), "file, line 4".into()));
    assert_eq!(shown(&values, "listen"), ("127.0.0.1:4747".into(), "default".into()));
    let values = site.run(&["config", "show", "--json", "--agents", "from-flag"]).ok().json();
    assert_eq!(shown(&values, "agents"), ("from-flag".into(), "flag --agents".into()));
    let table = site.run(&["config", "show"]).ok().out();
    assert!(
        table.lines().any(|line| line.starts_with("agents") && line.contains("AGENTSITE_AGENTS")),
        "{table}"
    );
}

#[test]
fn the_site_itself_obeys_the_same_order() {
    let mut site = TestSite::new().variable("AGENTSITE_DATA", "here").flag("--data").flag("there");
    site.write("agentsite.toml", "demos = false\ndata = \"nowhere\"\n");
    site.start();
    assert!(site.path().join("there/site.db").is_file());
    assert!(!site.path().join("here").exists() && !site.path().join("nowhere").exists());
    let agents = site.run(&["agent", "ls", "--data", "there", "--json"]).ok().json();
    assert_eq!(agents["agents"].as_array().unwrap().len(), 0, "the file leaves the demos out");
}

#[test]
fn a_sound_configuration_is_checked_with_every_agent() {
    let agent = "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    let site = TestSite::new().agent("a", agent);
    site.write("agentsite.toml", "[retention]\nage = \"7d\"\n");
    assert!(site.run(&["config", "check"]).ok().out().contains("are valid"));
    let json = site.run(&["config", "check", "--json"]).ok().json();
    assert_eq!((&json["ok"], &json["agents"]), (&true.into(), &1.into()));
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_column() {
    let site = TestSite::new().agent("a", "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"exec\"\n");
    let wrong = site.run(&["config", "check"]);
    assert_eq!(wrong.code(), 1);
    assert!(wrong.out().contains("agents/a/agent.toml:3:2:"), "{wrong:?}");
    site.write("agentsite.toml", "demos = true\n[retention]\nage = \"soon\"\n");
    let wrong = site.run(&["config", "check", "--json"]);
    assert_eq!(wrong.code(), 1);
    let told = wrong.json()["errors"][0].as_str().unwrap().to_owned();
    assert!(told.contains("agentsite.toml:3:7:"), "{told}");
    site.write("agentsite.toml", "demos = \n");
    assert!(site.run(&["config", "check"]).out().contains("agentsite.toml:1:"));
}

#[test]
fn an_unknown_key_is_refused_and_nothing_starts() {
    let site = TestSite::new();
    site.write("agentsite.toml", "listen = \"127.0.0.1:0\"\nlisten_adress = 7\n");
    for words in [&["serve"][..], &["config", "check"], &["call", "echo", "x"]] {
        let refused = site.run(words);
        assert_eq!(refused.code(), 1, "{words:?}: {refused:?}");
        let told = format!("{}{}", refused.out(), refused.err());
        assert!(told.contains("agentsite.toml:2:1") && told.contains("listen_adress"), "{told}");
    }
    assert!(!site.data().exists());
    let missing = site.run(&["config", "check", "--config", "nowhere.toml"]);
    assert_eq!(missing.code(), 1);
    assert!(missing.out().contains("nowhere.toml"), "{missing:?}");
}

#[test]
fn a_variable_that_means_nothing_is_told_and_a_wrong_value_names_the_variable() {
    let site = TestSite::new().variable("AGENTSITE_LISTN", "x");
    let odd = site.run(&["config", "check"]).ok();
    assert!(odd.err().contains("AGENTSITE_LISTN"), "{odd:?}");
    let site = TestSite::new().variable("AGENTSITE_LISTEN", "nowhere");
    let wrong = site.run(&["config", "show"]);
    assert_eq!(wrong.code(), 1);
    assert!(wrong.err().contains("AGENTSITE_LISTEN"), "{wrong:?}");
    let wrong = TestSite::new().run(&["config", "show", "--listen", "nowhere"]);
    assert!(wrong.err().contains("--listen"), "{wrong:?}");
}

#[test]
fn schemas_and_references_are_made_from_the_definitions() {
    let site = TestSite::new();
    let schema = site.run(&["config", "schema"]).ok().json();
    assert_eq!(schema["title"], "agentsite.toml");
    let schema = site.run(&["config", "agent-schema"]).ok().json();
    assert_eq!(schema["title"], "agent.toml");
    let docs = site.run(&["config", "docs"]).ok().out();
    assert!(docs.contains("otlp_endpoint") && docs.contains("AGENTSITE_LISTEN"), "{docs}");
    let manual = site.run(&["help-markdown"]).ok().out();
    assert!(manual.contains("agentsite task watch") && manual.contains("## Exit codes"), "{manual}");
    let bash = site.run(&["completions", "bash"]).ok().out();
    assert!(bash.contains("complete -F") && bash.contains("agentsite"), "{bash}");
    assert!(site.run(&["--version"]).ok().out().starts_with("agentsite "));
    assert!(site.run(&["--help"]).ok().out().contains("open"));
}
