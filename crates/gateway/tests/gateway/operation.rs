//! Running a site by the REST face: status, charts, the log, the configuration, the doctor, sessions, and
//! that no page of another site does any of it.
//!
//! The operator here is one of the story's own: the real one is the binary's, whose stories are with it.

use std::sync::{Arc, Mutex};

use agentsite_gateway::{
    ConfigProblem, ConfigValue, ConfigVerdict, ConfigView, Doing, Examination, Examined, GatewaySettings,
    LogBook, Loudness, Operator, OperatorError, Rate, Rates, api_paths,
};
use agentsite_protocol::{Caller, Timestamp};
use futures::StreamExt as _;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::golden::hold;
use crate::story::{Story, body, says};

/// An operator whose file is a text in memory, in which only `wrong` is wrong.
#[derive(Debug, Default)]
struct Scribe {
    text: Mutex<String>,
    examined: Mutex<Option<Examination>>,
}

impl Scribe {
    fn judge(text: &str) -> ConfigVerdict {
        let what = "`wrong` is wrong: write something else".to_owned();
        let problem =
            text.contains("wrong").then_some(ConfigProblem { line: Some(1), column: Some(2), what });
        let changed = vec!["telemetry.log".to_owned()];
        ConfigVerdict { ok: problem.is_none(), problem, changed, ..ConfigVerdict::default() }
    }
}

impl Operator for Scribe {
    fn config(&self) -> Doing<'_, Result<ConfigView, OperatorError>> {
        let text = self.text.lock().unwrap().clone();
        let value = ConfigValue {
            key: "telemetry.log".into(),
            value: Some("info".into()),
            origin: "file, line 2".into(),
            source: "file",
            meaning: "What is logged.".into(),
            kind: "text".into(),
            variable: "AGENTSITE_TELEMETRY_LOG".into(),
            flag: None,
            restart: false,
        };
        let view = ConfigView {
            file: "/srv/agentsite.toml".into(),
            exists: true,
            digest: format!("mark of {text}"),
            text,
            values: vec![value],
            restart: vec!["listen".into()],
        };
        Box::pin(async { Ok(view) })
    }

    fn check(&self, text: String) -> Doing<'_, ConfigVerdict> {
        Box::pin(async move { Self::judge(&text) })
    }

    fn save(&self, text: String, was: String) -> Doing<'_, Result<ConfigVerdict, OperatorError>> {
        Box::pin(async move {
            let verdict = Self::judge(&text);
            if let Some(problem) = verdict.problem {
                return Err(OperatorError::Wrong(problem));
            }
            let mut kept = self.text.lock().unwrap();
            if was != format!("mark of {kept}") {
                return Err(OperatorError::Moved);
            }
            *kept = text;
            Ok(verdict)
        })
    }

    fn examine(&self) -> Doing<'_, Examination> {
        let check = Examined { name: "clock".into(), verdict: "ok", words: "it goes".into() };
        let found = Examination { ran_at: Timestamp::from_millis(1), checks: vec![check] };
        *self.examined.lock().unwrap() = Some(found.clone());
        Box::pin(async { found })
    }

    fn last_examination(&self) -> Option<Examination> {
        self.examined.lock().unwrap().clone()
    }
}

async fn operated() -> (Story, LogBook) {
    let log = LogBook::default();
    let rates = Rates { anonymous: Rate::UNLIMITED, ..Default::default() };
    let operator = Some(Arc::new(Scribe::default()) as Arc<dyn Operator>);
    let settings = GatewaySettings { log: log.clone(), operator, rates, ..GatewaySettings::default() };
    (Story::with(settings).await, log)
}

async fn read(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    (response.status(), body(response).await)
}

/// Numbers that differ from run to run as one word, so that shapes can be held against files.
fn numbers(value: &mut Value) {
    match value {
        Value::Number(_) => *value = json!("NUMBER"),
        Value::Array(items) => items.iter_mut().for_each(numbers),
        Value::Object(members) => members.values_mut().for_each(numbers),
        _ => {}
    }
}

#[tokio::test]
async fn the_shapes_of_running_a_site_are_those_in_the_files() {
    let (story, log) = operated().await;
    story.call("echo", "SendMessage", says("hi")).await;
    let mut status = read(story.get("/api/status")).await.1;
    status["agents"] = json!("…");
    status["storage"]["largest"] = json!("…");
    status["workers"].as_array_mut().unwrap().retain(|worker| worker["name"] == "retention");
    status["workers"][0]["detail"] = json!("…");
    status["workers"][0].as_object_mut().unwrap().remove("lastRunAt");
    numbers(&mut status);
    hold(&story, "api_status", status);

    let fields = [("agent".to_owned(), "echo".to_owned())];
    log.write(Timestamp::from_millis(1), Loudness::Warn, "agentsite_site", "An agent is slow.", fields);
    hold(&story, "api_logs", read(story.get("/api/logs")).await.1);
    hold(&story, "api_config", read(story.get("/api/config")).await.1);
    let draft = |text: &str| story.post("/api/config/check").json(&json!({ "text": text }));
    hold(&story, "api_config_wrong", read(draft("wrong")).await.1);
    hold(&story, "api_config_right", read(draft("right")).await.1);
    assert_eq!(read(story.get("/api/doctor")).await.1, json!({ "checks": [] }), "nobody has looked yet");
    hold(&story, "api_doctor", read(story.post("/api/doctor")).await.1);
    assert_eq!(read(story.get("/api/doctor")).await.1["checks"][0]["name"], "clock");
}

#[tokio::test]
async fn charts_tell_what_happened_just_now() {
    let (story, _) = operated().await;
    // The first reading is made when the gateway begins to serve; what happens since is the point that is not
    // over.
    let mut drawn = read(story.get("/api/charts")).await.1;
    while drawn["at"].as_array().unwrap().is_empty() {
        drawn = read(story.get("/api/charts")).await.1;
    }
    for _ in 0..3 {
        story.call("echo", "SendMessage", says("hi")).await;
    }
    let mut drawn = read(story.get("/api/charts?range=1h")).await.1;
    assert!(drawn["requests"]["a2a"][0].as_f64().unwrap() > 0.0, "{drawn}");
    assert_eq!(drawn["tasksStarted"][0], 3);
    assert!(drawn["p99"][0].as_f64().unwrap() >= drawn["p50"][0].as_f64().unwrap());
    numbers(&mut drawn);
    hold(&story, "api_charts", drawn);
    for (range, status) in [("15m", 200), ("24h", 200), ("1y", 400)] {
        assert_eq!(read(story.get(&format!("/api/charts?range={range}"))).await.0, status, "{range}");
    }
}

#[tokio::test]
async fn the_log_is_filtered_and_followed() {
    let (story, log) = operated().await;
    let at = Timestamp::from_millis(1);
    log.write(at, Loudness::Info, "agentsite", "The site has started.", []);
    log.write(at, Loudness::Error, "agentsite_store", "The disk is full.", []);
    let texts = async |query: &str| {
        let lines = read(story.get(&format!("/api/logs?{query}"))).await.1["lines"].clone();
        let text = |line: &Value| line["text"].as_str().unwrap().to_owned();
        lines.as_array().unwrap().iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(texts("level=error").await, ["The disk is full."]);
    assert_eq!(texts("text=SITE").await.len(), 2, "a target counts as well");
    assert_eq!(texts("after=1").await, ["The disk is full."]);
    assert_eq!(read(story.get("/api/logs?level=loud")).await.0, StatusCode::BAD_REQUEST);

    let stream = story.get("/api/logs?limit=1").header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut stream = stream.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("news") {
        seen.push_str(&String::from_utf8_lossy(&stream.next().await.unwrap().unwrap()));
        if seen.contains("disk is full") {
            log.write(at, Loudness::Info, "agentsite", "news", []);
        }
    }
    assert!(!seen.contains("has started"), "{seen}");
    let open = read(story.get("/api/status")).await.1["streams"].as_u64();
    assert_eq!(open, Some(1), "an open stream is counted");
}

#[tokio::test]
async fn a_configuration_is_saved_only_when_it_is_right_and_nobody_else_changed_it() {
    let (story, _) = operated().await;
    let save = |text: &str, was: &str| story.post("/api/config").json(&json!({ "text": text, "was": was }));
    let (status, told) = read(save("wrong", "mark of ")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told["error"]["message"].as_str().unwrap().contains("line 1, column 2"), "{told}");
    let (status, told) = read(save("mine", "mark of something older")).await;
    assert_eq!((status, &told["error"]["code"]), (StatusCode::CONFLICT, &json!("moved")));
    assert_eq!(read(save("mine", "mark of ")).await.0, StatusCode::OK);
    assert_eq!(read(story.get("/api/config")).await.1["text"], "mine");
    let lines = read(story.get("/api/journal?text=configuration&kind=site")).await.1;
    assert_eq!(lines["lines"][0]["text"], "changed the configuration: telemetry.log");

    let plain = Story::begin().await;
    let (status, told) = read(plain.get("/api/config")).await;
    assert_eq!((status, &told["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("unsupported")));
}

#[tokio::test]
async fn the_journal_is_searched_by_kind_actor_and_time() {
    let (story, _) = operated().await;
    story.key(&["call"]).await;
    story.call("echo", "SendMessage", says("hi")).await;
    let count = async |query: &str| {
        let (status, told) = read(story.get(&format!("/api/journal?{query}"))).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        told["lines"].as_array().unwrap().len()
    };
    let all = count("").await;
    assert!(count("kind=task").await > 0 && count("kind=site").await > 0);
    assert_eq!(count("kind=task").await + count("kind=site").await, all);
    assert_eq!(count("actor=nobody").await, 0);
    assert_eq!(count("since=2999-01-01T00:00:00Z").await, 0);
    assert_eq!(count("until=2999-01-01T00:00:00Z").await, all);
    assert_eq!(count(&format!("after={all}")).await, 0);
    for wrong in ["kind=other", "since=yesterday", "until=1", "subject=echo", "subject=agent:"] {
        let status = read(story.get(&format!("/api/journal?{wrong}"))).await.0;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn the_journal_is_filtered_by_exact_kind_by_capability_and_by_subject() {
    let (story, _) = operated().await;
    story.key(&["call"]).await;
    for text in ["one", "two"] {
        story.call("echo", "SendMessage", says(text)).await;
    }
    let lines = async |query: &str| {
        let (status, told) = read(story.get(&format!("/api/journal?{query}"))).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        told["lines"].as_array().unwrap().clone()
    };
    let completed = lines("kind=task.completed").await;
    assert_eq!(completed.len(), 2);
    assert!(completed.iter().all(|line| line["kind"] == "task.completed"), "{completed:?}");
    let of_tasks = lines("kind=task.").await;
    let starts = |line: &Value| line["kind"].as_str().is_some_and(|kind| kind.starts_with("task."));
    assert!(of_tasks.len() > completed.len() && of_tasks.iter().all(starts), "{of_tasks:?}");
    assert!(lines("kind=task.complete").await.is_empty(), "a part of an event is not a kind");

    let subject = completed[0]["subject"].as_str().unwrap();
    let about = lines(&format!("subject={subject}")).await;
    assert!(!about.is_empty() && about.iter().all(|line| line["subject"] == subject), "{about:?}");
    assert_eq!(lines(&format!("subject={subject}&limit=1")).await, about[..1]);
    let older = lines(&format!("subject={subject}&before={}", about[0]["seq"])).await;
    assert_eq!(older, about[1..]);
    assert_eq!(lines(&format!("subject={subject}&kind=task.completed")).await, completed[..1]);
    let key = lines("kind=key.created").await[0]["subject"].as_str().unwrap().to_owned();
    assert!(lines(&format!("subject={key}")).await.iter().all(|line| line["subject"] == key.as_str()));
    assert!(lines("subject=name:unused").await.is_empty());
}

/// A browser that is signed in with this key, elsewhere than on this machine: its cookie.
async fn signed_in(story: &Story, key: &str) -> String {
    let response = story.post("/api/session").json(&json!({ "key": key })).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_is_no_key_and_ends_with_its_own() {
    let (story, _) = operated().await;
    let key = story.key(&["call"]).await;
    let cookie = signed_in(&story, &key).await;
    assert!(!cookie.contains(&key), "{cookie}");
    let guest = story.guest();
    let as_browser = |request: RequestBuilder| request.header("cookie", cookie.clone());
    let (_, who) = read(as_browser(guest.get("/api/session"))).await;
    assert_eq!(
        (&who["role"], &who["signedIn"], &who["presence"]["key"]),
        (&json!("user"), &json!(true), &json!("test"))
    );
    let by_key = read(story.get("/api/session").bearer_auth(&key)).await.1;
    assert_eq!(who["owner"], by_key["owner"], "browser and program are the same caller");
    hold(&story, "api_session", {
        let mut who = who.clone();
        (who["owner"], who["presence"]["id"]) = (json!("key:KEY"), json!("SESSION"));
        who
    });

    let listed = read(story.get("/api/keys")).await.1;
    let of =
        listed["keys"].as_array().unwrap().iter().find(|one| one["session"] == true).unwrap()["of"].clone();
    let raw = format!("agentsite_session={key}");
    let (_, stranger) = read(story.guest().get("/api/session").header("cookie", raw)).await;
    assert_eq!(stranger["role"], "guest", "a key in the cookie is no session");

    let revoked =
        story.http.delete(story.url(&format!("/api/keys/{}", of.as_str().unwrap()))).send().await.unwrap();
    assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    assert_eq!(read(as_browser(guest.get("/api/session"))).await.1["role"], "guest");
    assert_eq!(read(as_browser(guest.get("/api/tasks"))).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn no_page_of_another_site_changes_anything_with_the_cookie_of_a_browser() {
    let (story, _) = operated().await;
    let key = story.key(&["admin"]).await;
    let cookie = signed_in(&story, &key).await;
    let guest = story.guest();
    let before = story.site.operations().journal(&Caller::admin(), Default::default()).await.unwrap().len();
    let (mut tried, mut took) = (0, 0);
    for path in api_paths() {
        let path = path.replace("{name}", "echo").replace("{id}", "01234567-89ab-7def-8123-456789abcdef");
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let ask = || guest.http.request(method.clone(), story.url(&path)).header("cookie", &cookie);
            // What a browser says of a form, of a script and of an opaque origin; the last is a browser that
            // says nothing at all.
            let foreign = [
                ask()
                    .header("origin", "https://evil.example")
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body("text=x"),
                ask().header("origin", "https://evil.example").json(&json!({ "text": "", "was": "" })),
                ask().header("origin", "null").header("sec-fetch-site", "cross-site").json(&json!({})),
                ask().header("sec-fetch-site", "same-site").json(&json!({})),
                ask().json(&json!({})),
            ];
            for request in foreign {
                let status = request.send().await.unwrap().status();
                let refused = [StatusCode::FORBIDDEN, StatusCode::METHOD_NOT_ALLOWED].contains(&status);
                // Signing in looks at no cookie; it refuses a form by its type, and a key that is wrong.
                let signing_in = path == "/api/session" && method == Method::POST && status.is_client_error();
                assert!(refused || signing_in, "{method} {path}: {status}");
                tried += 1;
                took += usize::from(status == StatusCode::FORBIDDEN);
            }
        }
    }
    assert!(tried > 1_000 && took > 100, "{tried} {took}");
    let after = story.site.operations().journal(&Caller::admin(), Default::default()).await.unwrap().len();
    assert_eq!(before, after, "nothing was done");
    let own = format!("http://{}", story.address);
    let same = story.guest().post("/api/doctor").header("cookie", &cookie).header("origin", own);
    assert_eq!(same.send().await.unwrap().status(), StatusCode::OK, "a page of the site itself may");
}

#[tokio::test]
async fn running_the_site_is_for_the_people_who_run_it() {
    let (story, _) = operated().await;
    let key = story.key(&["call"]).await;
    let draft = json!({ "text": "", "was": "" });
    for (method, path) in [
        (Method::GET, "/api/status"),
        (Method::GET, "/api/charts"),
        (Method::GET, "/api/logs"),
        (Method::GET, "/api/config"),
        (Method::POST, "/api/config"),
        (Method::POST, "/api/config/check"),
        (Method::GET, "/api/doctor"),
        (Method::POST, "/api/doctor"),
        (Method::GET, "/api/journal"),
        (Method::POST, "/api/reload"),
    ] {
        let mut draft = draft.clone();
        if path.ends_with("check") {
            draft.as_object_mut().unwrap().remove("was");
        }
        let request = story.http.request(method.clone(), story.url(path)).bearer_auth(&key).json(&draft);
        let (status, told) = read(request).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
        assert!(told["error"]["message"].as_str().unwrap().contains("scope admin"), "{told}");
    }
}
