//! Checks of the agents: what the running site says of each, or, when no site runs, what their files and
//! folders tell.
//!
//! Promises: a running site is the only judge of its agents, so that the doctor, the status, the lists and
//! the pages agree. Without one nothing is started: the same checks that the site makes before it starts an
//! agent are made here (`Preflight`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentsite_client::mcp::InMemory;
use agentsite_egress::{Circuits, Egress};
use agentsite_host::llm::missing_model;
use agentsite_host::{Confinement, Environment, Manifest, Preflight, Runtime, Workshop};
use agentsite_site::World;
use serde_json::Value;

use super::Check;
use crate::config::Config;
use crate::config::models::models;
use crate::folder::plan::{self, Action, ScanState};
use crate::folder::scan;

/// What a running site says of its agents.
pub(super) fn of_site(status: &Value) -> Vec<Check> {
    let listed = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let mut found: Vec<Check> = listed("agents").iter().flat_map(checks_of).collect();
    found.extend(listed("broken").iter().map(|broken| {
        let text = |name: &str| broken[name].as_str().unwrap_or_default().to_owned();
        Check::fail("agent", format!("{}:{}", text("file"), text("error")))
    }));
    found
}

fn checks_of(agent: &Value) -> Vec<Check> {
    let text = |field: &str| agent[field].as_str().unwrap_or_default();
    let name = format!("agent {}", text("name"));
    let state = match (text("health"), text("kind")) {
        ("ready", kind) => Check::ok(&name, format!("ready ({kind})")),
        ("starting", kind) => Check::ok(&name, format!("starting ({kind})")),
        ("needs-setup", _) => Check::fail(&name, format!("needs setup: {}", text("reason"))),
        // Its program comes and goes as its owner likes.
        (_, "connected") => Check::warn(&name, text("reason")),
        (state, _) => Check::fail(&name, format!("{state}: {}", text("reason"))),
    };
    let notice = agent["notice"].as_str().map(|notice| Check::warn(&name, notice));
    std::iter::once(state).chain(notice).collect()
}

/// What the files of the agents tell while no site runs.
pub(super) async fn of_folder(config: &Config, variables: &BTreeMap<String, String>) -> Vec<Check> {
    let found = match scan::scan(&config.agents) {
        Ok(found) => found,
        Err(error) => {
            return vec![Check::fail("agents", format!("cannot read {}: {error}", config.agents.display()))];
        }
    };
    if found.is_empty() {
        let words = format!(
            "none in {}; write one with `agentsite agent new hello --lang sh`",
            config.agents.display()
        );
        return vec![Check::ok("agents", words)];
    }
    let workshop = workshop(config, variables);
    let mut checks = Vec::new();
    for action in plan::plan(&ScanState::default(), found).actions {
        match action {
            Action::Complain { file, error } => checks.push(Check::fail("agent", format!("{file}:{error}"))),
            Action::Install { manifest, folder } => checks.push(agent(&manifest, &folder, &workshop).await),
            Action::Remove(_) => {}
        }
    }
    checks
}

fn workshop(config: &Config, variables: &BTreeMap<String, String>) -> Workshop {
    let ids = World::system().ids();
    Workshop {
        egress: Egress::unguarded(),
        circuits: Circuits::new(ids.rng().clone()),
        models: models(config, variables).0,
        environment: Environment::new(variables.clone()),
        credentials: Arc::new(InMemory::default()),
        confinement: Confinement::none(),
        ids,
    }
}

async fn agent(manifest: &Manifest, folder: &Path, workshop: &Workshop) -> Check {
    let name = format!("agent {}", manifest.name);
    let look = Preflight::of(manifest, folder, &workshop.environment, &workshop.models);
    let missing = match (look.missing, &manifest.runtime) {
        (None, Runtime::Llm(llm)) => missing_model(llm, workshop).await,
        (missing, _) => missing,
    };
    match (missing, look.notice) {
        (Some(missing), _) => Check::fail(name, format!("needs setup: {missing}")),
        (None, Some(notice)) => Check::warn(name, notice),
        (None, None) => Check::ok(name, look.found),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Verdict;
    use super::*;

    async fn check(runtime: &str, folder: &Path) -> Check {
        let text = format!("name = \"x\"\ndescription = \"d\"\n[runtime]\n{runtime}\n");
        let variables = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            // Nothing listens at the discard port of this machine.
            ("OLLAMA_HOST".to_owned(), "127.0.0.1:9".to_owned()),
        ]);
        agent(&Manifest::read(&text).unwrap(), folder, &workshop(&Config::default(), &variables)).await
    }

    #[tokio::test]
    async fn without_a_site_what_is_missing_fails_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let table = [
            ("kind = \"exec\"\ncommand = [\"no-such-program\"]", Verdict::Fail, "no-such-program"),
            ("kind = \"exec\"\ncommand = [\"sh\"]", Verdict::Ok, "/sh"),
            ("kind = \"exec\"\ncommand = [\"sh\"]\npass_env = [\"NOT_SET\"]", Verdict::Warn, "NOT_SET"),
            (
                "kind = \"exec\"\ncommand = [\"sh\"]\n[sandbox]\nenabled = false",
                Verdict::Warn,
                "sandbox is off",
            ),
            ("kind = \"llm\"\nprompt_file = \"p.md\"", Verdict::Fail, "p.md"),
            ("kind = \"llm\"\nprompt = \"p\"", Verdict::Fail, "needs setup: needs a model"),
            ("kind = \"llm\"\nprompt = \"p\"\nmodel = \"locl:x\"", Verdict::Fail, "[models.locl]"),
            ("kind = \"llm\"\nprompt = \"p\"\nmodel = \"openai:x\"", Verdict::Fail, "OPENAI_API_KEY"),
        ];
        for (runtime, verdict, words) in table {
            let check = check(runtime, folder.path()).await;
            assert_eq!(check.verdict, verdict, "{runtime}: {}", check.words);
            assert!(check.words.contains(words), "{runtime}: {}", check.words);
        }
    }

    #[test]
    fn a_running_site_is_the_judge_of_its_agents() {
        let status = json!({
            "agents": [
                { "name": "a", "kind": "exec", "health": "ready" },
                { "name": "b", "kind": "llm", "health": "needs-setup", "reason": "needs a model" },
                { "name": "c", "kind": "mcp", "health": "down", "reason": "it ended (failed 3 times since …)" },
                { "name": "d", "kind": "mcp", "health": "ready", "notice": "its server keeps failing" },
                { "name": "e", "kind": "connected", "health": "down", "reason": "away" },
            ],
            "broken": [{ "file": "agents/x/agent.toml", "error": "1:1: what" }],
        });
        let found = of_site(&status);
        let verdicts: Vec<Verdict> = found.iter().map(|check| check.verdict).collect();
        use Verdict::{Fail, Ok, Warn};
        assert_eq!(verdicts, [Ok, Fail, Fail, Ok, Warn, Warn, Fail]);
        assert!(found[2].words.contains("failed 3 times"));
    }
}
