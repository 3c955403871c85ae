//! Facts about reading `agent.toml`: what is taken, what is refused, and where the finger points.
//!
//! Each refusal is checked with its line and column, because that is all its reader has to go by.

use super::*;

const UPPER: &str = r#"name = "upper"
description = "Upper-cases text"
version = "1.0.0"
visibility = "public"
[[skills]]
id = "upper"
name = "Upper-case"
description = "Turns text into capital letters"
examples = ["make this loud: hello"]
[runtime]
kind = "exec"
command = ["tr", "a-z", "A-Z"]
[limits]
timeout = "60s"
concurrency = 8
retry = 0
"#;

fn refused(text: &str) -> String {
    Manifest::read(text).unwrap_err().to_string()
}

#[test]
fn the_example_is_read() {
    let manifest = Manifest::read(UPPER).unwrap();
    assert_eq!(manifest.name.as_str(), "upper");
    assert_eq!(manifest.visibility, Visibility::Public);
    assert_eq!(manifest.limits, Limits::default());
    let Runtime::Exec(exec) = &manifest.runtime else { panic!("exec") };
    assert_eq!(exec.command, ["tr", "a-z", "A-Z"]);
    assert_eq!(manifest.card_skills()[0].examples, ["make this loud: hello"]);
}

#[test]
fn an_agent_without_skills_has_the_one_its_description_tells() {
    let text = "name = \"a\"\ndescription = \"Does a\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    let skills = Manifest::read(text).unwrap().card_skills();
    assert_eq!((skills[0].id.as_str(), skills[0].description.as_str()), ("a", "Does a"));
}

#[test]
fn an_unknown_key_is_named_with_its_place() {
    let text = UPPER.replace("retry = 0", "retries = 0");
    let error = refused(&text);
    assert!(error.starts_with("16:1: unknown field `retries`"), "{error}");
}

#[test]
fn a_key_of_another_runtime_is_named_with_its_place() {
    let error = refused(&UPPER.replace("command = [", "prompt = \"x\"\ncommand = ["));
    assert!(
        error.starts_with(
            "12:1: runtime.prompt: a runtime of kind \"exec\" has no such key; it belongs to llm"
        ),
        "{error}"
    );
}

#[test]
fn a_bad_value_is_named_with_its_place() {
    let error = refused(&UPPER.replace("\"60s\"", "\"soon\""));
    assert!(error.starts_with("14:11: invalid length of time `soon`"), "{error}");
    let error = refused(&UPPER.replace("concurrency = 8", "concurrency = 0"));
    assert!(error.starts_with("15:1: limits.concurrency: must be at least 1"), "{error}");
    let error = refused(&UPPER.replace("name = \"upper\"", "name = \"Up per\""));
    assert!(error.starts_with("1:8: invalid agent name `Up per`"), "{error}");
}

#[test]
fn a_runtime_must_say_what_to_run() {
    let error = refused("name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"exec\"\n");
    assert!(error.contains("name the program"), "{error}");
    let error = refused("name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"a2a\"\n");
    assert!(error.contains("name the agent"), "{error}");
    let error = refused("name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"a2a\"\ncard = \"ftp://x\"\n");
    assert!(error.starts_with("5:1: runtime.card"), "{error}");
}

#[test]
fn an_acp_agent_asks_and_has_no_files_unless_the_file_says_otherwise() {
    let with = |more: &str| {
        let head = "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"acp\"\n";
        Manifest::read(&format!("{head}{more}"))
    };
    let Runtime::Acp(plain) = with("command = [\"agent\"]\n").unwrap().runtime else { panic!("acp") };
    assert_eq!((plain.permissions, plain.files), (Permissions::Ask, FileAccess::None));
    let more = "command = [\"agent\"]\npermissions = \"reject\"\nfiles = \"write\"\nauth_method = \"key\"\n";
    let Runtime::Acp(full) = with(more).unwrap().runtime else { panic!("acp") };
    assert_eq!((full.permissions, full.files), (Permissions::Reject, FileAccess::Write));
    assert!(with("").unwrap_err().what.contains("name the program"));
    assert!(with("command = [\"agent\"]\npermissions = \"perhaps\"\n").is_err());
    assert!(with("command = [\"agent\"]\nstdin = \"json\"\n").unwrap_err().what.contains("has no such key"));
}

#[test]
fn a_tool_is_an_agent_by_name_or_address_or_a_tool_server_by_name() {
    let with = |tool: &str| {
        Manifest::read(&format!(
            "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"llm\"\ntools = [\"{tool}\"]\n"
        ))
    };
    assert!(with("agent:calc").is_ok());
    assert!(with("agent:https://example.org/a2a/calc").is_ok());
    assert!(with("mcp:files").is_ok());
    assert!(with("mcp:https://example.org").is_err());
    assert!(with("calc").is_err());
    assert!(with("agent:../x").is_err());
}

#[test]
fn a_tool_server_is_started_or_lives_elsewhere() {
    let with = |keys: &str| {
        Manifest::read(&format!("name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"mcp\"\n{keys}\n"))
    };
    let Runtime::Mcp(here) = with("command = [\"files\"]").unwrap().runtime else { panic!("mcp") };
    assert_eq!((here.approve, here.sampling, here.talk), (Approve::Never, false, true));
    let keys = "url = \"https://tools.example/mcp\"\ntoken_env = \"T\"\napprove = \"changed\"\ntalk = false";
    let Runtime::Mcp(far) = with(keys).unwrap().runtime else { panic!("mcp") };
    assert_eq!((far.approve, far.talk, far.token_env.as_deref()), (Approve::Changed, false, Some("T")));

    let refused = |keys: &str| with(keys).unwrap_err().to_string();
    assert!(refused("").contains("name the server"));
    assert!(
        refused("url = \"https://x\"\ncommand = [\"y\"]").starts_with("6:1: runtime.command: set either url")
    );
    assert!(refused("url = \"file:///x\"").starts_with("5:1: runtime.url: the address must begin"));
    assert!(refused("command = [\"y\"]\ntoken_env = \"T\"").contains("use pass_env instead"));
    assert!(refused("command = [\"y\"]\napprove = \"maybe\"").contains("unknown variant `maybe`"));
    assert!(refused("command = [\"y\"]\nstdin = \"json\"").contains("belongs to exec"));
}

#[test]
fn a_tool_server_elsewhere_may_want_a_login() {
    let with = |keys: &str| {
        let head = "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"mcp\"\n";
        Manifest::read(&format!("{head}{keys}\n"))
    };
    let auth =
        |keys: &str| match with(&format!("url = \"https://tools.example/mcp\"\n{keys}")).unwrap().runtime {
            Runtime::Mcp(runtime) => runtime.auth.unwrap(),
            other => panic!("{other:?}"),
        };
    let login = auth("auth = \"login\"");
    assert_eq!((login.grant, login.client_id, login.scopes.len()), (ServerGrant::Login, None, 0));
    let machine =
        auth("auth = \"machine\"\nclient_id = \"site\"\nclient_secret_env = \"S\"\nscopes = [\"read\"]");
    assert_eq!((machine.grant, machine.client_secret_env.as_deref()), (ServerGrant::Machine, Some("S")));

    let refused = |keys: &str| with(keys).unwrap_err().to_string();
    let url = "url = \"https://tools.example/mcp\"";
    assert!(
        refused("command = [\"y\"]\nauth = \"login\"")
            .starts_with("6:1: runtime.auth: only a server with a url")
    );
    for (keys, sentence) in [
        ("auth = \"login\"\ntoken_env = \"T\"", "7:1: runtime.token_env: set either auth or token_env"),
        ("auth = \"machine\"", "6:1: runtime.auth: auth = \"machine\" needs a registered client"),
        ("auth = \"machine\"\nclient_id = \"site\"", "6:1: runtime.auth: auth = \"machine\" needs"),
        (
            "auth = \"login\"\nclient_secret_env = \"S\"",
            "7:1: runtime.client_secret_env: name the client of the secret",
        ),
        ("auth = \"login\"\nclient_id = \" \"", "7:1: runtime.client_id: is empty"),
        ("auth = \"login\"\nscopes = [\"read write\"]", "7:1: runtime.scopes: `read write` is not a scope"),
        ("scopes = [\"read\"]", "6:1: runtime.scopes: has no meaning without auth"),
        ("auth = \"perhaps\"", "6:8: unknown variant `perhaps`"),
    ] {
        let told = refused(&format!("{url}\n{keys}"));
        assert!(told.starts_with(sentence), "{keys}: {told}");
    }
}

#[test]
fn only_the_library_among_the_built_in_agents_has_a_folder() {
    let with = |runtime: &str| {
        Manifest::read(&format!(
            "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\n{runtime}"
        ))
    };
    let manifest = with("builtin = \"library\"\npath = \"docs\"\n").unwrap();
    assert_eq!(manifest.runtime.kind(), RuntimeKind::Builtin);
    let Runtime::Library(library) = manifest.runtime else { panic!("library") };
    assert_eq!((library.path.as_deref(), library.talk), (Some("docs"), true));
    assert!(with("builtin = \"calc\"\npath = \"docs\"\n").unwrap_err().what.contains("only the library"));
    assert!(with("builtin = \"library\"\npath = \" \"\n").unwrap_err().what.contains("name the folder"));
    assert!(with("path = \"docs\"\n").unwrap_err().what.contains("name one"));
    let Runtime::Library(own) = with("builtin = \"library\"\n").unwrap().runtime else { panic!("library") };
    assert_eq!(own.path, None);
}

#[test]
fn a_sandbox_is_widened_key_by_key_and_belongs_to_programs() {
    let agent = |runtime: &str, sandbox: &str| {
        Manifest::read(&format!(
            "name = \"a\"\ndescription = \"d\"\n[runtime]\n{runtime}\n[sandbox]\n{sandbox}\n"
        ))
    };
    let exec = "kind = \"exec\"\ncommand = [\"x\"]";
    let wide = "read = [\"~/papers\"]\nwrite = [\"../shared\"]\nnetwork = false\nmemory = \"8GiB\"\nprocesses = 2000";
    let Sandbox { enabled, read, write, network, memory, processes, .. } = agent(exec, wide).unwrap().sandbox;
    assert_eq!((enabled, network, memory.0, processes), (true, false, 8 << 30, 2_000));
    assert_eq!((read, write), (vec!["~/papers".to_owned()], vec!["../shared".to_owned()]));
    let refused = |runtime, sandbox| agent(runtime, sandbox).unwrap_err().to_string();
    assert!(refused(exec, "netwrk = false").contains("netwrk"));
    assert!(refused(exec, "memory = \"1KiB\"").contains("at least 4MiB"));
    assert!(refused("kind = \"llm\"", "network = false").contains("only an agent with a `command`"));
    let server = "kind = \"a2a\"\ncommand = [\"x\"]";
    assert!(refused(server, "network = false").contains("called over the network"));
}

#[test]
fn broken_toml_points_at_the_break() {
    let error = refused("name = \"a\ndescription = 1");
    assert!(error.starts_with("1:"), "{error}");
    assert!(!error.contains('\n'), "one line: {error}");
}

#[test]
fn a_huge_file_is_refused() {
    let error = refused(&"#".repeat(MAX_FILE + 1));
    assert!(error.contains("larger than 256KiB"), "{error}");
}

#[test]
fn the_schema_knows_every_runtime() {
    let schema = agent_schema().to_string();
    for word in ["builtin", "exec", "a2a", "acp", "llm", "mcp", "approve", "pass_env", "tokens_per_day"] {
        assert!(schema.contains(word), "{word}");
    }
}

#[test]
fn an_agent_elsewhere_is_the_same_with_and_without_a_file() {
    let (name, description) = ("w".parse::<AgentName>().unwrap(), "Tells the weather.");
    let url: url::Url = "https://w.example.org/a2a".parse().unwrap();
    let text = |runtime: &str| {
        format!("name = \"{name}\"\ndescription = \"{description}\"\n[runtime]\n{runtime} = \"{url}\"\n")
    };
    let built = |runtime| Manifest::new(name.clone(), description.to_owned(), runtime);
    let read = Manifest::read(&text("kind = \"a2a\"\ncard")).unwrap();
    assert_eq!(read, built(Runtime::A2a(A2aRuntime::elsewhere(url.clone()))));
    let read = Manifest::read(&text("kind = \"mcp\"\nurl")).unwrap();
    assert_eq!(read, built(Runtime::Mcp(McpRuntime::elsewhere(url.clone()))));
}

#[test]
fn an_agent_names_the_sites_that_may_call_it() {
    let file = |visibility: &str, callers: &str| {
        let text = format!(
            "name = \"a\"\ndescription = \"A.\"\nvisibility = \"{visibility}\"\ncallers = [{callers}]\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        Manifest::read(&text)
    };
    let did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
    assert_eq!(file("peers", &format!("\"{did}\"")).unwrap().callers, [did]);
    let refused = [("public", format!("\"{did}\"")), ("peers", "\"example.org\"".into())];
    for (visibility, callers) in refused {
        assert!(file(visibility, &callers).unwrap_err().what.contains("site"), "{visibility} {callers}");
    }
}
