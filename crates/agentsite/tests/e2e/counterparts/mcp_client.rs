//! The client of MCP passes the protocol's own conformance suite, in both revisions that are in use.
//!
//! The suite starts a server for each scenario and runs `agentsite mcp-check` against it. It ends with an
//! error when a scenario that the revision requires fails; how many passed is read from what it prints, so
//! that scenarios that went missing are seen, too.

use std::process::{Command, Stdio};

use crate::site::{binary, node_modules};

/// What the suite requires, and the scenarios outside of it that the client passes as well.
const REVISIONS: [(&str, usize, &[&str]); 2] = [("2025-11-25", 18, &EXTRA), ("2026-07-28", 32, &EXTRA)];

/// Not required by a revision, but passed.
const EXTRA: [&str; 2] = ["auth/client-credentials-basic", "json-schema-2020-12-preservation"];

#[test]
fn the_client_passes_the_suite_of_the_protocol() {
    let (node, modules) = node_modules();
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    for (revision, required, extra) in REVISIONS {
        let mut command = Command::new(&node);
        command.arg(&suite).args(["client", "--command", &format!("{} mcp-check", binary())]);
        command.args(["--requirements", revision]).stdin(Stdio::null());
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, summary) = told.split_once("=== SUITE SUMMARY ===").unwrap_or_else(|| panic!("{told}"));
        assert!(output.status.success(), "{revision}: {summary}");
        let (scored, unscored) = summary.split_once("\nTotal:").unwrap_or((summary, ""));
        let passed: Vec<&str> = scored.lines().filter_map(passed).collect();
        for name in extra {
            assert!(passed.contains(name), "{revision}: {name} does not pass: {summary}");
            assert!(!unscored.contains(&format!("✗ {name}")), "{revision}: {summary}");
        }
        let wanted = passed.iter().filter(|name| !extra.contains(name)).count();
        assert_eq!(wanted, required, "{revision}: {summary}");
    }
}

/// The name in a line of the summary, when the scenario passed.
fn passed(line: &str) -> Option<&str> {
    let (name, _) = line.trim().strip_prefix("✓ ")?.split_once(':')?;
    Some(name)
}
