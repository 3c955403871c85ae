//! One source of truth: the doctor, the status, the list of agents, `config check`, an agent's page and a
//! call say the same of each agent.
//!
//! Each story is a contradiction that existed: a prompt without a model was "ok", a missing program "ready",
//! an agent that crashes again and again was not mentioned, and the port of another site counted as this
//! site's. Also here: a prompt never goes to a provider that was not named.

use std::net::TcpListener;

use axum::Router;
use axum::routing::any;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::site::{TestSite, eventually, state, status_text};

fn agent(name: &str, runtime: &str) -> String {
    format!("name = \"{name}\"\ndescription = \"d\"\nvisibility = \"public\"\n[runtime]\n{runtime}\n")
}

/// A site on a machine without any model.
fn without_models() -> TestSite {
    TestSite::new().variable("OLLAMA_HOST", "127.0.0.1:9")
}

fn check_of(checks: &Value, name: &str) -> (String, String) {
    let name = format!("agent {name}");
    let checks = checks.as_array().unwrap();
    let found =
        checks.iter().find(|check| check["name"] == name.as_str()).unwrap_or_else(|| panic!("{checks:?}"));
    (found["verdict"].as_str().unwrap().into(), found["words"].as_str().unwrap().into())
}

/// Asks every face of a running site about an agent that lacks something; all must say so and name it.
async fn agree_on_needs_setup(site: &TestSite, name: &str, what: &str) {
    let url = format!("{}/api/agents/{name}", site.url);
    let shown = eventually("its condition is known", async || {
        let shown: Value =
            site.http.get(&url).bearer_auth(site.token()).send().await.unwrap().json().await.unwrap();
        (shown["health"] != "starting").then_some(shown)
    })
    .await;
    assert_eq!(shown["health"], "needs-setup", "{shown}");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains(what), "{reason}");
    let status = site.run(&["status", "--json"]).ok().json();
    let listed = status["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap();
    assert_eq!((&listed["health"], &listed["reason"]), (&shown["health"], &shown["reason"]));
    assert!(site.run(&["status"]).ok().out().contains(what));
    assert!(site.run(&["agent", "ls"]).ok().err().contains(what));
    let doctor = site.run(&["doctor", "--json"]);
    assert_eq!(doctor.code(), 1);
    let (verdict, words) = check_of(&doctor.json(), name);
    assert_eq!((verdict.as_str(), words), ("fail", format!("needs setup: {reason}")));
    let reply = site.send(name, "hello").await;
    assert_eq!((state(&reply).as_str(), status_text(&reply).as_str()), ("failed", reason));
}

#[tokio::test]
async fn every_face_says_the_same_of_an_agent_that_lacks_something() {
    let mut site = without_models()
        .agent("mute", &agent("mute", "kind = \"llm\"\nprompt = \"p\""))
        .agent("lost", &agent("lost", "kind = \"exec\"\ncommand = [\"no-such-program\"]"))
        .agent("torn", &agent("torn", "kind = \"exec\"\ncommand = [\"./run\"]"));
    site.write("agents/torn/run", "#!/usr/bin/env no-such-interpreter\n");
    let run = site.path().join("agents/torn/run");
    std::fs::set_permissions(run, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let before = site.run(&["doctor", "--json", "--listen", "127.0.0.1:0"]).json();
    site.start();
    let agents = [("mute", "needs a model"), ("lost", "no-such-program")];
    for (name, what) in agents {
        agree_on_needs_setup(&site, name, what).await;
        let (verdict, words) = check_of(&before, name);
        assert_eq!(verdict, "fail", "also while no site runs");
        assert!(words.contains("needs setup") && words.contains(what), "{words}");
    }
    let (verdict, words) = check_of(&before, "torn");
    assert!(verdict == "fail" && words.contains("no-such-interpreter"), "{words}");
    let checked = site.run(&["config", "check"]);
    assert!(checked.code() == 1 && checked.out().contains("no-such-program"), "{checked:?}");
}

// The server of the story answers while commands of the story run.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_goes_to_the_provider_that_was_named_or_nowhere() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async { "{}" }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/chat/completions", any(count));
    let server = tokio::spawn(async { axum::serve(listener, app).await });

    let mut site = without_models()
        .agent("misspelt", &agent("misspelt", "kind = \"llm\"\nprompt = \"p\"\nmodel = \"locl:small\""))
        .agent("keyless", &agent("keyless", "kind = \"llm\"\nprompt = \"p\"\nmodel = \"openai:gpt-4o\""))
        .agent("unset", &agent("unset", "kind = \"llm\"\nprompt = \"p\"\nmodel = \"lab:small\""));
    let local = format!("[models.local]\nbase_url = \"{base}\"\ndefault_model = \"small\"\n");
    let lab = format!("[models.lab]\nbase_url = \"{base}\"\nkey_env = \"LAB_KEY\"\n");
    site.write("agentsite.toml", &format!("{local}{lab}"));
    let checked = site.run(&["config", "check"]);
    assert_eq!(checked.code(), 1);
    site.start();
    for (name, what) in
        [("misspelt", "provider `locl`"), ("keyless", "OPENAI_API_KEY"), ("unset", "LAB_KEY is not set")]
    {
        agree_on_needs_setup(&site, name, what).await;
        assert!(checked.out().contains(what), "{what}: {}", checked.out());
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0, "no prompt was sent anywhere");
    server.abort();
}

#[tokio::test]
async fn an_agent_that_crashes_again_and_again_is_named_with_the_reason() {
    let crashing = agent("loop", "kind = \"mcp\"\ncommand = [\"sh\", \"-c\", \"exit 7\"]");
    let mut site = TestSite::new().agent("loop", &crashing);
    site.start();
    let status = eventually("it has failed twice", async || {
        let status = site.run(&["status", "--json"]).ok().json();
        status.to_string().contains("failed 2 times since").then_some(status)
    })
    .await;
    let listed = status["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "loop").unwrap();
    assert_eq!(listed["health"], "down");
    let doctor = site.run(&["doctor", "--json"]);
    let (verdict, words) = check_of(&doctor.json(), "loop");
    assert_eq!(verdict, "fail");
    assert!(words.contains("exit status: 7") && words.contains("times since"), "{words}");
}

#[test]
fn the_port_of_another_site_is_not_taken_for_ours() {
    let other = TestSite::started();
    let mut site = TestSite::new();
    let listen = other.url.replace("http://", "");
    let port = |said: &Value| {
        let checks = said.as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == "port").unwrap();
        (found["verdict"].as_str().unwrap().to_owned(), found["words"].as_str().unwrap().to_owned())
    };
    let (verdict, words) = port(&site.run(&["doctor", "--json", "--listen", &listen]).json());
    assert!(verdict == "fail" && words.contains("another program or another site"), "{words}");
    site.start();
    let (verdict, words) = port(&site.run(&["doctor", "--json", "--listen", &listen]).json());
    assert!(verdict == "fail" && words.contains(&site.url), "{words}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let (verdict, words) = port(&site.run(&["doctor", "--json", "--listen", &listen]).json());
    assert!(verdict == "fail" && words.contains("in use by another program"), "{words}");

    // A site that was killed leaves its announcement behind; another one may listen at that address by now.
    site.kill();
    let announced = std::fs::read_to_string(site.data().join("site.json")).unwrap();
    site.write("agentsite-data/site.json", &announced.replace(&site.url, &other.url));
    assert_eq!(site.run(&["status"]).code(), site.run(&["agent", "ls"]).code());
    assert!(site.run(&["status"]).err().contains("no site is running"));
}
