//! The built-in library, asked by the official clients of A2A and MCP, by the command line, and after a kill.
//! The tests of the library cover which passages are the best.

use serde_json::json;

use super::mcp_server::{call, steps};
use super::sdk_client::{BINDINGS, Caller};
use crate::site::{TestSite, python};

const HANDBOOK: &str = r#"
name = "handbook"
description = "Knows the handbook"
visibility = "public"
[runtime]
kind = "builtin"
builtin = "library"
path = "docs"
talk = false
"#;

fn handbook() -> TestSite {
    let site = TestSite::trusting().agent("handbook", HANDBOOK);
    let guide = "# Guide\n\n## Warranty\n\nThe warranty of the machine lasts two years.\n";
    site.write("agents/handbook/docs/guide.md", guide);
    site
}

#[test]
fn the_sdk_client_asks_the_documentation_that_every_site_carries() {
    let python = python();
    let site = TestSite::trusting_started();
    for binding in BINDINGS {
        let library = Caller::new(&python, &site, "library").by(binding);
        let sent = library.plays("send", &["--text", "how many receivers of pushes can a task have?"]);
        let text = sent["text"].as_str().unwrap();
        assert_eq!(sent["state"], "completed");
        let first = text.lines().next().unwrap_or_default();
        assert!(first.contains("A task has at most 10 receivers."), "{binding}: {text}");
        assert!(text.contains("[1] docs/push.md › "), "{binding}: {text}");
    }
}

#[test]
fn the_official_mcp_clients_ask_and_search_a_library() {
    let mut site = handbook();
    site.start();
    for client in [&["--mode", "auto"][..], &["--sdk", "fastmcp"]] {
        let plan = [
            json!({"do": "tools"}),
            call("handbook", &json!({"message": "how long does the warranty last?"})),
            call("search_library", &json!({"query": "warranty of the machine", "k": 2})),
            call("search_library", &json!({"query": "x", "k": 99})),
        ];
        let seen = steps(&format!("{}/mcp/handbook", site.url), client, &plan);
        assert!(seen[0].to_string().contains("\"search_library\""), "{client:?}: {}", seen[0]);
        let answer = seen[1]["result"].to_string();
        assert!(answer.contains("docs/guide.md › Guide › Warranty (line 5)"), "{client:?}: {answer}");
        let found = seen[2]["result"].to_string();
        assert!(
            found.contains("structuredContent") && found.contains("lasts two years"),
            "{client:?}: {found}"
        );
        let refused = seen[3].get("error").is_some() || seen[3]["result"]["isError"] == true;
        assert!(refused, "{client:?}: {}", seen[3]);
    }
}

#[tokio::test]
async fn a_library_answers_after_a_kill_and_follows_its_folder() {
    let mut site = handbook();
    site.start();
    let question = "how long does the warranty last?";
    let answer = |site: &TestSite| site.run(&["call", "handbook", question]).ok().out();
    assert!(answer(&site).contains("two years"));
    site.kill();
    site.write(
        "agents/handbook/docs/guide.md",
        "# Guide\n\nThe warranty of the machine lasts a whole decade.\n",
    );
    site.start();
    assert!(answer(&site).contains("whole decade"));
}

#[test]
fn the_template_answers_at_once() {
    let mut site = TestSite::trusting();
    site.run(&["agent", "new", "shelf", "--template", "library"]).ok();
    site.start();
    let said = site.run(&["call", "shelf", "what can I put into the docs folder"]).ok().out();
    assert!(said.contains("Markdown, text, HTML and PDF") && said.contains("welcome.md"), "{said}");
}
