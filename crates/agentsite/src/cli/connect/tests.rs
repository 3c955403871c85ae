//! What each program is given, and that its file keeps everything else.
//!
//! Every story has a home of its own; no program is started.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::program::{Home, Program, Transport};
use super::*;

const ALL: [Program; 8] = [
    Program::Claude,
    Program::ClaudeCode,
    Program::Cursor,
    Program::Vscode,
    Program::Codex,
    Program::Zed,
    Program::Windsurf,
    Program::Gemini,
];

fn command() -> Transport {
    Transport::Command { command: "/bin/agentsite".into(), arguments: vec!["mcp".into()] }
}

fn http(key: Option<&str>) -> Transport {
    Transport::Http { url: "https://s.example/mcp".into(), key: key.map(Into::into) }
}

fn home(system: &str, pairs: &[(&str, &str)]) -> Home {
    let variables: BTreeMap<String, String> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Home::of(system, &variables)
}

fn json_of(program: Program, way: &Transport) -> Value {
    serde_json::from_str(&program.snippet("s", way).unwrap()).unwrap()
}

#[test]
fn each_program_has_its_file_on_each_system() {
    let linux = home("linux", &[("HOME", "/h")]);
    let file = |program: Program, home: &Home| program.file(home).unwrap().display().to_string();
    assert_eq!(file(Program::Claude, &linux), "/h/.config/Claude/claude_desktop_config.json");
    assert_eq!(file(Program::ClaudeCode, &linux), "/h/.claude.json");
    assert_eq!(file(Program::Cursor, &linux), "/h/.cursor/mcp.json");
    assert_eq!(file(Program::Vscode, &linux), "/h/.config/Code/User/mcp.json");
    assert_eq!(file(Program::Codex, &linux), "/h/.codex/config.toml");
    assert_eq!(file(Program::Zed, &linux), "/h/.config/zed/settings.json");
    assert_eq!(file(Program::Windsurf, &linux), "/h/.codeium/windsurf/mcp_config.json");
    assert_eq!(file(Program::Gemini, &linux), "/h/.gemini/settings.json");
    let mac = home("macos", &[("HOME", "/h")]);
    assert_eq!(
        file(Program::Claude, &mac),
        "/h/Library/Application Support/Claude/claude_desktop_config.json"
    );
    assert_eq!(file(Program::Vscode, &mac), "/h/Library/Application Support/Code/User/mcp.json");
    assert_eq!(file(Program::Zed, &mac), "/h/.config/zed/settings.json");
    let xdg = home("linux", &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x"), ("CODEX_HOME", "/c")]);
    assert_eq!(file(Program::Zed, &xdg), "/x/zed/settings.json");
    assert_eq!(file(Program::Codex, &xdg), "/c/config.toml");
    let windows = home("windows", &[("USERPROFILE", "/u"), ("APPDATA", "/a")]);
    assert_eq!(file(Program::Claude, &windows), "/a/Claude/claude_desktop_config.json");
    assert_eq!(file(Program::Cursor, &windows), "/u/.cursor/mcp.json");
    assert!(ALL.iter().all(|program| program.file(&Home::default()).is_none()));
}

#[test]
fn each_program_starts_the_command_in_its_own_words() {
    let plain = json!({ "command": "/bin/agentsite", "args": ["mcp"] });
    for program in [Program::Claude, Program::Cursor, Program::Windsurf, Program::Gemini] {
        assert_eq!(json_of(program, &command())["mcpServers"]["s"], plain, "{program:?}");
    }
    assert_eq!(json_of(Program::Zed, &command())["context_servers"]["s"], plain);
    let typed = json!({ "type": "stdio", "command": "/bin/agentsite", "args": ["mcp"] });
    assert_eq!(json_of(Program::Vscode, &command())["servers"]["s"], typed);
    assert_eq!(json_of(Program::ClaudeCode, &command())["mcpServers"]["s"], typed);
    let codex = Program::Codex.snippet("s", &command()).unwrap();
    assert_eq!(codex, "[mcp_servers.s]\nargs = [\"mcp\"]\ncommand = \"/bin/agentsite\"\n");
}

#[test]
fn each_program_asks_an_address_in_its_own_words() {
    let bearer = |key: &str| json!({ "Authorization": format!("Bearer {key}") });
    let url = "https://s.example/mcp";
    let cursor = json_of(Program::Cursor, &http(None));
    assert_eq!(cursor["mcpServers"]["s"], json!({ "url": url, "headers": bearer("${env:AGENTSITE_KEY}") }));
    let code = json_of(Program::ClaudeCode, &http(None));
    let expected = json!({ "type": "http", "url": url, "headers": bearer("${AGENTSITE_KEY}") });
    assert_eq!(code["mcpServers"]["s"], expected);
    let windsurf = json_of(Program::Windsurf, &http(Some("k")));
    assert_eq!(windsurf["mcpServers"]["s"], json!({ "serverUrl": url, "headers": bearer("k") }));
    assert_eq!(
        json_of(Program::Gemini, &http(None))["mcpServers"]["s"],
        json!({ "httpUrl": url, "headers": bearer("${AGENTSITE_KEY}") })
    );
    let codex = Program::Codex.snippet("s", &http(None)).unwrap();
    assert!(codex.contains("bearer_token_env_var = \"AGENTSITE_KEY\""), "{codex}");
    let codex = Program::Codex.snippet("s", &http(Some("k"))).unwrap();
    assert!(codex.contains("[mcp_servers.s.http_headers]\nAuthorization = \"Bearer k\""), "{codex}");
    assert!(Program::Claude.snippet("s", &http(None)).unwrap_err().to_string().contains("--http"));
}

#[test]
fn writing_keeps_a_copy_and_writes_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let home = home("linux", &[("HOME", &at)]);
    for program in ALL {
        let file = program.file(&home).unwrap();
        assert!(write(program, &home, "agentsite", &command()).unwrap(), "{program:?}");
        assert!(!write(program, &home, "agentsite", &command()).unwrap(), "{program:?}");
        let copy = file.with_file_name(format!("{}.before-agentsite", file.file_name().unwrap().display()));
        assert!(!copy.exists(), "nothing was there before");
        let first = std::fs::read_to_string(&file).unwrap();
        assert!(write(program, &home, "other", &command()).unwrap());
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), first);
        let both = std::fs::read_to_string(&file).unwrap();
        assert!(both.contains("agentsite") && both.contains("other"), "{both}");
    }
}

#[test]
fn a_file_that_is_not_understood_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let home = home("linux", &[("HOME", &folder.path().display().to_string())]);
    let file = Program::Cursor.file(&home).unwrap();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{ broken").unwrap();
    let error = write(Program::Cursor, &home, "s", &command()).unwrap_err().to_string();
    assert!(error.contains("mcp.json") && error.contains("nothing was written"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ broken");
    let lost = write(Program::Cursor, &Home::default(), "s", &command()).unwrap_err().to_string();
    assert!(lost.contains("~/.cursor/mcp.json"), "{lost}");
}
