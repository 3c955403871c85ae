//! `agentsite key`, `open` and `status`: who may come in, and how the site is.
//!
//! A key is shown once and reaches what its scopes name, a link opens once. The tests in `faces` cover
//! credentials over plain HTTP.

use crate::site::{TestSite, http};

const COLLEAGUE: &str = r#"
name = "colleague"
description = "For those with a key"
visibility = "peers"
[runtime]
kind = "builtin"
builtin = "echo"
"#;

#[tokio::test]
async fn a_key_is_shown_once_works_and_stops_working_when_revoked() {
    let mut site = TestSite::new().agent("colleague", COLLEAGUE);
    site.start();
    let made = site.run(&["key", "new", "--label", "ada", "--expires", "30d"]).ok();
    let secret = made.out().trim().to_owned();
    assert!(made.err().contains("the only time"), "{made:?}");
    let listed = site.run(&["key", "ls", "--json"]).ok();
    assert!(!listed.out().contains(&secret), "only the hash is kept");
    let listed = listed.json();
    let key = listed["keys"].as_array().unwrap().iter().find(|key| key["label"] == "ada").unwrap();
    assert!(key["expiresAt"].is_string(), "{key}");

    let call = |secret: &str| {
        let mut command = site.command(&["call", "colleague", "hello"]);
        let output = command.env("AGENTSITE_TOKEN", secret).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(call(&secret), (0, "hello\n".to_owned()));
    assert_eq!(call(&site.token()).0, 0, "the admin token opens everything");
    let table = site.run(&["key", "ls"]).ok().out();
    assert!(table.contains("ada") && table.contains("admin token"), "{table}");
    site.run(&["key", "revoke", key["id"].as_str().unwrap()]).ok();
    assert_eq!(call(&secret).0, 7);
    assert_eq!(site.run(&["key", "revoke", "nonsense"]).code(), 6);
    for wrong in [&["key", "new", "--scope", "everything"][..], &["key", "new", "--expires", "soon"]] {
        assert_eq!(site.run(wrong).code(), 2);
    }
}

#[test]
fn a_key_for_one_agent_reaches_no_other_and_administers_nothing() {
    let mut site = TestSite::new().agent("colleague", COLLEAGUE);
    site.start();
    let made = site.run(&["key", "new", "--scope", "call:echo", "--json"]).ok().json();
    let secret = made["secret"].as_str().unwrap();
    let code = |words: &[&str]| {
        site.command(words).env("AGENTSITE_TOKEN", secret).output().unwrap().status.code().unwrap()
    };
    assert_eq!(code(&["call", "echo", "x"]), 0);
    assert_eq!(code(&["call", "colleague", "x"]), 6, "it answers like an agent that is not there");
    assert_eq!(code(&["key", "ls"]), 7);
    assert_eq!(code(&["backup", "stolen.db"]), 7);
}

#[tokio::test]
async fn a_sign_in_link_opens_once() {
    let site = TestSite::started();
    let link = site.run(&["open"]).ok().out().trim().to_owned();
    assert!(link.starts_with(&format!("{}/signin?token=", site.url)), "{link}");
    for words in [&["open", "--json"][..], &["open", "--no-browser", "--json"], &["signin", "--json"]] {
        assert!(site.run(words).ok().json()["url"].is_string(), "{words:?}");
    }
    let first = http().get(&link).send().await.unwrap();
    assert!(first.status().is_redirection(), "{first:?}");
    let cookie = first.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let second = http().get(&link).send().await.unwrap();
    assert_eq!(second.status(), 401);
    assert!(!second.headers().contains_key("set-cookie"), "{second:?}");
    let signed_in =
        http().get(format!("{}/api/keys", site.url)).header("cookie", cookie).send().await.unwrap();
    assert!(signed_in.status().is_success(), "{signed_in:?}");
}

#[test]
fn the_admin_token_is_not_revoked_but_replaced_and_made_again_when_it_is_lost() {
    let mut site = TestSite::started();
    let listed = site.run(&["key", "ls", "--json"]).ok().json();
    let token = listed["keys"].as_array().unwrap().iter().find(|key| key["label"] == "admin token").unwrap();
    let refused = site.run(&["key", "revoke", token["id"].as_str().unwrap()]);
    assert_eq!(refused.code(), 7, "{refused:?}");
    assert!(refused.err().contains("agentsite key rotate-admin"), "{refused:?}");
    site.run(&["status"]).ok();

    let old = site.token();
    site.run(&["key", "rotate-admin"]).ok();
    assert_ne!(site.token(), old);
    site.run(&["status"]).ok();
    let with_old = site.command(&["status"]).env("AGENTSITE_TOKEN", &old).output().unwrap();
    assert_eq!(with_old.status.code(), Some(7), "the one before has ended");

    let before = site.token();
    site.stop();
    std::fs::remove_file(site.data().join("admin.token")).unwrap();
    site.start();
    assert_ne!(site.token(), before);
    site.run(&["call", "echo", "x"]).ok();
    let with_old = site.command(&["status"]).env("AGENTSITE_TOKEN", &before).output().unwrap();
    assert_eq!(with_old.status.code(), Some(7), "a token that was lost opens nothing");
}

#[test]
fn the_admin_token_goes_to_no_other_program() {
    use std::io::Read as _;
    let site = TestSite::started();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let read = stream.read(&mut head).unwrap();
        String::from_utf8_lossy(&head[..read]).into_owned()
    });
    let said = site.run(&["status", "--listen", &address.to_string()]);
    assert_ne!(said.code(), 0, "{said:?}");
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("GET /api/status"), "{heard}");
    assert!(!heard.to_lowercase().contains("authorization") && !heard.contains(&site.token()), "{heard}");
}

#[test]
fn the_status_shows_agents_and_every_piece_of_background_work() {
    let mut site = TestSite::new().agent("broken", "name = 7\n");
    site.start();
    site.run(&["call", "echo", "x"]).ok();
    let status = site.run(&["status", "--json"]).ok().json();
    let workers = status["workers"].as_array().unwrap();
    assert!(!workers.is_empty() && workers.iter().all(|worker| worker["state"].is_string()), "{status}");
    assert_eq!(status["store"]["tasks"], 1);
    let told = site.run(&["status"]).ok();
    assert!(told.out().contains(&site.url) && told.out().contains("retention"), "{told:?}");
    assert!(told.err().contains("agents/broken/agent.toml:1:8"), "{told:?}");
}
