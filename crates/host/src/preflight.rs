//! Preflight: what an agent lacks before it can work, as its file, its folder, the environment and the
//! settings tell.
//!
//! Promises: starts nothing and sends nothing, so it can judge an agent while no site runs. The runners use
//! the same checks, so that both say the same. What only a running agent shows (an endpoint that does not
//! answer, a server that ends) it does not know.

use std::path::Path;

use crate::llm::ModelSettings;
use crate::{Environment, Manifest, Runtime, program};

/// What a look at an agent found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// What the agent is made of, in a few words.
    pub found: String,
    /// What must be done before it can work; `None` when nothing is missing.
    pub missing: Option<String>,
    /// What the operator should look at, although the agent may work.
    pub notice: Option<String>,
}

impl Preflight {
    /// Looks at an agent whose `agent.toml` is in `folder`.
    #[must_use]
    pub fn of(manifest: &Manifest, folder: &Path, environment: &Environment, models: &ModelSettings) -> Self {
        let notice = setup_notice(manifest, environment, models);
        match judged(manifest, folder, environment, models) {
            Ok(found) => Self { found, missing: None, notice },
            Err(missing) => Self { found: String::new(), missing: Some(missing), notice },
        }
    }
}

fn judged(
    manifest: &Manifest,
    folder: &Path,
    environment: &Environment,
    models: &ModelSettings,
) -> Result<String, String> {
    let (command, own) = match &manifest.runtime {
        Runtime::Exec(exec) => (exec.command.first(), &exec.env),
        Runtime::A2a(a2a) => (a2a.command.first(), &a2a.env),
        Runtime::Acp(acp) => (acp.command.first(), &acp.env),
        Runtime::Mcp(mcp) => (mcp.command.first(), &mcp.env),
        Runtime::Llm(llm) => {
            let prompt = llm.prompt_file.as_ref().map(|file| (file, folder.join(file)));
            if let Some((file, _)) = prompt.filter(|(_, file)| !file.is_file()) {
                return Err(format!("the prompt file `{file}` is missing; write the prompt there"));
            }
            let missing = match (&llm.base_url, &llm.key_env) {
                (None, _) => models.missing(llm.model.as_deref()),
                (Some(_), Some(name)) if !is_set(environment, name) => {
                    Some(format!("needs a key: set the variable {name}, which key_env in agent.toml names"))
                }
                (Some(_), _) => None,
            };
            return missing.map_or_else(|| Ok("a prompt and a model".into()), Err);
        }
        Runtime::Openapi(_) => return Ok("a REST API by its document".into()),
        Runtime::Builtin(_) => return Ok("built in".into()),
        Runtime::Connected => return Ok("a program that connects".into()),
        Runtime::Library(library) => return documents(library.path.as_deref(), folder),
    };
    let Some(program) = command else { return Ok("an agent elsewhere".into()) };
    let variables = environment.of_program(folder, None, &[], own);
    let path = variables.get("PATH").map_or("", String::as_str);
    program::find(program, folder, path).map(|file| file.display().to_string())
}

/// Whether the folder of a library is there.
fn documents(path: Option<&str>, folder: &Path) -> Result<String, String> {
    let Some(path) = path.map(|path| folder.join(path)) else {
        return Ok("the documentation of agentsite".into());
    };
    if path.is_dir() {
        return Ok(path.display().to_string());
    }
    let fix = "make the folder and put documents into it, or correct `path` in agent.toml";
    Err(format!("there is no folder {}; {fix}", path.display()))
}

/// What the operator should look at: variables that are passed on but not set, and a model that was named but
/// cannot be used by an agent that also works without one.
#[must_use]
pub fn setup_notice(
    manifest: &Manifest,
    environment: &Environment,
    models: &ModelSettings,
) -> Option<String> {
    let (passed, model): (&[String], _) = match &manifest.runtime {
        Runtime::Exec(exec) => (&exec.pass_env, None),
        Runtime::A2a(a2a) => (&a2a.pass_env, None),
        Runtime::Acp(acp) => (&acp.pass_env, None),
        Runtime::Mcp(mcp) => (&mcp.pass_env, mcp.model.as_deref().filter(|_| mcp.talk || mcp.sampling)),
        Runtime::Library(library) => (&[], library.model.as_deref().filter(|_| library.talk)),
        _ => (&[], None),
    };
    let unset: Vec<&str> =
        passed.iter().filter(|name| environment.get(name).is_none()).map(String::as_str).collect();
    let variables = (!unset.is_empty()).then(|| {
        let names = unset.join(", ");
        format!("pass_env names variables that are not set: {names}; set them before the site starts")
    });
    let model = model.and_then(|model| models.missing(Some(model)));
    let model = model.map(|what| format!("its model is not used: {what}"));
    manifest.sandbox.notice().or(variables).or(model)
}

fn is_set(environment: &Environment, name: &str) -> bool {
    environment.get(name).is_some_and(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(runtime: &str, folder: &Path) -> Preflight {
        let text = format!("name = \"x\"\ndescription = \"d\"\n[runtime]\n{runtime}\n");
        let environment = Environment::new([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        Preflight::of(&Manifest::read(&text).unwrap(), folder, &environment, &ModelSettings::none())
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let table = [
            ("kind = \"exec\"\ncommand = [\"no-such-program\"]", "no program `no-such-program`"),
            ("kind = \"mcp\"\ncommand = [\"no-such-program\"]", "no program `no-such-program`"),
            ("kind = \"acp\"\ncommand = [\"./agent\"]", "no file `./agent`"),
            ("kind = \"llm\"\nprompt_file = \"p.md\"", "`p.md` is missing"),
            ("kind = \"llm\"\nprompt = \"p\"", "needs a model"),
            ("kind = \"llm\"\nprompt = \"p\"\nmodel = \"openai:gpt\"", "set OPENAI_API_KEY"),
            ("kind = \"llm\"\nprompt = \"p\"\nbase_url = \"http://h/v1\"\nkey_env = \"K\"", "variable K"),
            ("kind = \"builtin\"\nbuiltin = \"library\"\npath = \"documents\"", "there is no folder"),
        ];
        for (runtime, what) in table {
            let missing = look(runtime, folder.path()).missing.unwrap_or_default();
            assert!(missing.contains(what), "{runtime}: {missing}");
        }
        for runtime in ["kind = \"exec\"\ncommand = [\"sh\"]", "kind = \"builtin\"\nbuiltin = \"echo\""] {
            assert_eq!(look(runtime, folder.path()).missing, None, "{runtime}");
        }
    }

    #[test]
    fn what_should_be_looked_at_is_a_notice() {
        let folder = tempfile::tempdir().unwrap();
        let unset =
            look("kind = \"exec\"\ncommand = [\"sh\"]\npass_env = [\"PATH\", \"NOT_SET\"]", folder.path());
        assert_eq!((unset.missing, unset.notice.unwrap().contains("NOT_SET")), (None, true));
        std::fs::create_dir(folder.path().join("d")).unwrap();
        let library = look(
            "kind = \"builtin\"\nbuiltin = \"library\"\npath = \"d\"\nmodel = \"openai:gpt\"",
            folder.path(),
        );
        assert!(library.notice.unwrap().contains("its model is not used"));
    }
}
