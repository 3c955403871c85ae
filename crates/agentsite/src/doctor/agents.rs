//! Checks of the agents folder: sound manifests, programs that can be found, files that are there.
//!
//! Promises: starts no agent. A program is looked for as the site would: on the PATH that the agent gets, or in its folder.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agentsite_host::{Manifest, Runtime};

use super::Check;
use crate::config::Config;
use crate::folder::plan::{self, Action, Known};
use crate::folder::scan;

/// The PATH of an agent when the site itself has none, as `exec` sets it.
const PLAIN_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Looks at every agent of the folder.
pub(super) fn agents(config: &Config, variables: &BTreeMap<String, String>) -> Vec<Check> {
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
    let actions = plan::plan(&Known::default(), found).actions;
    actions.into_iter().filter_map(|action| judged(action, variables)).collect()
}

fn judged(action: Action, variables: &BTreeMap<String, String>) -> Option<Check> {
    match action {
        Action::Complain { file, error } => Some(Check::fail("agent", format!("{file}:{error}"))),
        Action::Install { manifest, folder } => Some(agent(&manifest, &folder, variables)),
        Action::Remove(_) => None,
    }
}

fn agent(manifest: &Manifest, folder: &Path, variables: &BTreeMap<String, String>) -> Check {
    let name = format!("agent {}", manifest.name);
    let (command, own, passed) = match &manifest.runtime {
        Runtime::Exec(exec) => (exec.command.first(), &exec.env, &exec.pass_env),
        Runtime::A2a(a2a) => (a2a.command.first(), &a2a.env, &a2a.pass_env),
        Runtime::Acp(acp) => (acp.command.first(), &acp.env, &acp.pass_env),
        Runtime::Mcp(mcp) => (mcp.command.first(), &mcp.env, &mcp.pass_env),
        Runtime::Llm(llm) => {
            let prompt =
                llm.prompt_file.as_ref().map(|file| folder.join(file)).filter(|file| !file.is_file());
            return match prompt {
                Some(missing) => {
                    Check::fail(name, format!("{} is missing; write the prompt there", missing.display()))
                }
                None => Check::ok(name, "a prompt and a model"),
            };
        }
        Runtime::Openapi(_) => return Check::ok(name, "a REST API by its document"),
        Runtime::Builtin(_) => return Check::ok(name, "built in"),
        Runtime::Connected => return Check::ok(name, "a program that connects"),
        Runtime::Library(library) => return shelf(name, library.path.as_deref(), folder),
    };
    let Some(program) = command else { return Check::ok(name, "an agent elsewhere") };
    let unset: Vec<&str> =
        passed.iter().filter(|one| !variables.contains_key(*one)).map(String::as_str).collect();
    let path = own.get("PATH").or(variables.get("PATH")).map_or(PLAIN_PATH, String::as_str);
    let found = find(program, folder, path);
    if let (Some(_), Some(notice)) = (&found, manifest.sandbox.notice()) {
        return Check::warn(name, notice);
    }
    match found {
        None => Check::fail(
            name,
            format!("{program} is not found: install it, or write its full path into command"),
        ),
        Some(found) if unset.is_empty() => Check::ok(name, found.display().to_string()),
        Some(_) => Check::warn(name, format!("pass_env names what is not set here: {}", unset.join(", "))),
    }
}

/// Whether the folder of a library is there.
fn shelf(name: String, path: Option<&str>, folder: &Path) -> Check {
    let Some(path) = path.map(|path| folder.join(path)) else {
        return Check::ok(name, "the documentation of agentsite");
    };
    if path.is_dir() {
        return Check::ok(name, path.display().to_string());
    }
    let fix = "make the folder and put documents into it, or correct `path` in agent.toml";
    Check::fail(name, format!("{} is no folder; {fix}", path.display()))
}

/// Where a program is: a path is relative to the folder, a bare name is looked for on the path.
fn find(program: &str, folder: &Path, path: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program)).filter(|file| runs(file));
    }
    std::env::split_paths(path).map(|place| place.join(program)).find(|file| runs(file))
}

fn runs(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn check(runtime: &str, folder: &Path) -> Check {
        let text = format!("name = \"x\"\ndescription = \"d\"\n[runtime]\n{runtime}\n");
        let variables = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        agent(&Manifest::read(&text).unwrap(), folder, &variables)
    }

    #[test]
    fn a_program_that_is_not_there_fails_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let missing = check("kind = \"exec\"\ncommand = [\"no-such-program\"]", folder.path());
        assert_eq!(missing.verdict, Verdict::Fail);
        assert!(missing.words.contains("write its full path"), "{}", missing.words);
        assert_eq!(check("kind = \"exec\"\ncommand = [\"sh\"]", folder.path()).verdict, Verdict::Ok);
    }

    #[test]
    fn a_program_in_the_folder_must_be_executable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.sh");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let runtime = "kind = \"exec\"\ncommand = [\"./run.sh\"]";
        assert_eq!(check(runtime, folder.path()).verdict, Verdict::Fail);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(check(runtime, folder.path()).verdict, Verdict::Ok);
    }

    #[test]
    fn an_agent_without_a_sandbox_is_a_warning() {
        let open = "kind = \"exec\"\ncommand = [\"sh\"]\n[sandbox]\nenabled = false";
        let check = check(open, Path::new("/"));
        assert!(check.verdict == Verdict::Warn && check.words.contains("sandbox is off"), "{}", check.words);
    }

    #[test]
    fn variables_that_are_not_set_are_a_warning_and_a_missing_prompt_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let unset =
            check("kind = \"exec\"\ncommand = [\"sh\"]\npass_env = [\"PATH\", \"NOT_SET\"]", folder.path());
        assert_eq!((unset.verdict, unset.words.contains("NOT_SET")), (Verdict::Warn, true));
        let prompt = check("kind = \"llm\"\nprompt_file = \"p.md\"", folder.path());
        assert_eq!(prompt.verdict, Verdict::Fail);
    }
}
