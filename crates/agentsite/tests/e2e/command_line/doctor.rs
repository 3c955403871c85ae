//! `agentsite doctor`: nothing wrong, and each thing that can be wrong with its fix.
//!
//! Faults do not hide each other, and what works for the site is well for the doctor. It is asked with an
//! address of its own, so that another site on this machine does not disturb it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::site::TestSite;

fn agent(name: &str, runtime: &str) -> String {
    format!("name = \"{name}\"\ndescription = \"d\"\n[runtime]\n{runtime}\n")
}

/// An address without a listener.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The text of the checks that failed.
fn failed(checks: &Value) -> Vec<&str> {
    let all = checks.as_array().unwrap().iter();
    all.filter(|check| check["verdict"] == "fail").map(|check| check["words"].as_str().unwrap()).collect()
}

#[test]
fn a_healthy_folder_passes_with_and_without_a_running_site() {
    let mut site = TestSite::new().agent("sh", &agent("sh", "kind = \"exec\"\ncommand = [\"sh\"]"));
    let well = site.run(&["doctor", "--listen", &free()]).ok();
    assert!(well.out().contains("no problem was found"), "{well:?}");
    site.start();
    let checks = site.run(&["doctor", "--json", "--listen", &site.url.replace("http://", "")]).ok().json();
    assert!(checks.to_string().contains("in use by the running site"), "{checks}");
}

#[test]
fn every_fault_is_found_at_once_and_its_fix_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let site = TestSite::new()
        .agent("torn", "name = \"torn\"\nvisibilty = \"public\"\n")
        .agent("lost", &agent("lost", "kind = \"exec\"\ncommand = [\"no-such-program\"]"))
        .agent("mute", &agent("mute", "kind = \"llm\"\nprompt_file = \"prompt.md\""));
    site.write("agentsite.toml", &format!("[models.gpu]\nbase_url = \"http://{}/v1\"\n", free()));
    let said = site.run(&["doctor", "--json", "--listen", &listen]);
    assert_eq!(said.code(), 1);
    let checks = said.json();
    let failed = failed(&checks);
    for fix in [
        "agents/torn/agent.toml:2:1",
        "no program `no-such-program`",
        "`prompt.md` is missing",
        "models.gpu.base_url",
        "--listen",
    ] {
        assert!(failed.iter().any(|words| words.contains(fix)), "nothing says {fix}: {failed:#?}");
    }
    assert_eq!(failed.len(), 5, "{failed:#?}");
    let told = site.run(&["doctor", "--listen", &free()]).out();
    assert!(told.contains("4 failed"), "{told}");
}

#[test]
fn a_broken_configuration_and_a_damaged_database_are_found() {
    let site = TestSite::new();
    site.write("agentsite.toml", "demos = maybe\n");
    let said = site.run(&["doctor"]);
    assert_eq!(said.code(), 1);
    assert!(said.out().contains("agentsite.toml:1:"), "{said:?}");
    site.write("agentsite.toml", "");
    site.write("agentsite-data/site.db", &"no database ".repeat(1000));
    let said = site.run(&["doctor", "--json", "--listen", &free()]);
    assert_eq!(said.code(), 1);
    assert!(failed(&said.json())[0].contains("restore"), "{said:?}");
}

#[test]
fn the_doctor_looks_for_programs_where_the_site_does() {
    let mut site =
        TestSite::new().agent("own", &agent("own", "kind = \"exec\"\ncommand = [\"own-program\"]"));
    site.write("bin/own-program", "#!/bin/sh\necho found\n");
    let program = site.path().join("bin/own-program");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", site.path().join("bin").display());
    site = site.variable("PATH", &path);
    site.start();
    assert_eq!(site.run(&["call", "own", "x"]).ok().out(), "found\n");
    let said = site.run(&["doctor"]);
    assert_eq!(said.code(), 0, "what works is well: {said:?}");
}
