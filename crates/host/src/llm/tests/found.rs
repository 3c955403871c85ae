//! How an agent finds its model: its own server, a provider, a running Ollama, or none.
//!
//! Ollama is played by a small server on a free port; the clock is set manually.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use agentsite_protocol::{Clock, Ids, Timestamp};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::contract::SeededRng;
use crate::{Environment, ModelApi};

/// A clock that is set manually.
#[derive(Debug, Default)]
struct HandClock(AtomicI64);

impl HandClock {
    fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_millis().try_into().unwrap(), Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// What a small Ollama was asked.
#[derive(Debug, Default)]
struct Kitchen {
    looks: AtomicUsize,
    chats: Mutex<Vec<Value>>,
    models: Mutex<Vec<&'static str>>,
}

impl Kitchen {
    fn with(models: &[&'static str]) -> Arc<Self> {
        let kitchen = Self::default();
        kitchen.models.lock().unwrap().extend(models);
        Arc::new(kitchen)
    }

    async fn open(self: &Arc<Self>) -> Url {
        let app = Router::new().route("/api/tags", get(tags)).route("/v1/chat/completions", post(chat));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let app = app.with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }
}

async fn tags(State(kitchen): State<Arc<Kitchen>>) -> axum::Json<Value> {
    kitchen.looks.fetch_add(1, Ordering::Relaxed);
    let models: Vec<Value> =
        kitchen.models.lock().unwrap().iter().map(|name| json!({"name": name, "size": 1})).collect();
    axum::Json(json!({ "models": models }))
}

async fn chat(State(kitchen): State<Arc<Kitchen>>, axum::Json(body): axum::Json<Value>) -> String {
    kitchen.chats.lock().unwrap().push(body);
    let words = json!({"choices": [{"index": 0, "delta": {"content": "Miaow"}, "finish_reason": "stop"}]});
    format!("data: {words}\n\ndata: [DONE]\n\n")
}

fn workshop(models: ModelSettings, variables: &[(&str, &str)]) -> (Workshop, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let ids = Ids::new(clock.clone(), Arc::new(SeededRng::default()));
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let circuits = agentsite_egress::Circuits::new(ids.rng().clone());
    let environment = Environment::new(variables);
    (
        Workshop {
            ids,
            egress: Egress::default(),
            circuits,
            models,
            environment,
            credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
            confinement: crate::Confinement::none(),
        },
        clock,
    )
}

fn launched(runtime: &str, workshop: &Workshop) -> Arc<dyn Runner> {
    let manifest = manifest(runtime, "");
    LlmRunner::launch(llm(&manifest).clone(), &manifest, Path::new("."), workshop, log()).unwrap()
}

fn found_at(url: Url) -> ModelSettings {
    ModelSettings { providers: vec![], ollama: Some(url) }
}

#[tokio::test]
async fn without_a_model_the_agent_says_what_to_set() {
    let (workshop, _) = workshop(ModelSettings::none(), &[]);
    let runner = launched("", &workshop);
    assert_eq!(runner.health(), Health::Needs(NEEDS_A_MODEL.into()));
    assert_eq!(run(&*runner, job("hi")).await.ending(), ("failed", NEEDS_A_MODEL.into()));
}

#[tokio::test]
async fn a_running_ollama_is_found_by_itself() {
    let kitchen = Kitchen::with(&["nomic-embed-text:latest", "cat:7b"]);
    let (workshop, _) = workshop(found_at(kitchen.open().await), &[]);
    let runner = launched("", &workshop);
    let ran = run(&*runner, job("hi")).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "Miaow"), "{:?}", ran.ending());
    assert_eq!(runner.health(), Health::Ready);
    assert_eq!(kitchen.chats.lock().unwrap()[0]["model"], "cat:7b");
}

#[tokio::test]
async fn the_model_that_the_agent_names_is_preferred() {
    let kitchen = Kitchen::with(&["cat:7b", "dog:latest"]);
    let (workshop, _) = workshop(found_at(kitchen.open().await), &[]);
    for model in ["dog", "ollama:dog", "dog:latest"] {
        run(&*launched(&format!("model = \"{model}\""), &workshop), job("hi")).await;
    }
    assert!(kitchen.chats.lock().unwrap().iter().all(|body| body["model"] == "dog:latest"));
}

#[tokio::test]
async fn an_absent_ollama_is_looked_for_again_after_a_while() {
    let kitchen = Kitchen::with(&[]);
    let (workshop, clock) = workshop(found_at(kitchen.open().await), &[]);
    let runner = launched("", &workshop);
    assert_eq!(runner.health(), Health::Starting);
    assert_eq!(run(&*runner, job("hi")).await.ending(), ("failed", NEEDS_A_MODEL.into()));
    let looks = kitchen.looks.load(Ordering::Relaxed);
    kitchen.models.lock().unwrap().push("cat:7b");
    assert_eq!(run(&*runner, job("hi")).await.ending().0, "failed", "what was seen counts for a while");
    assert_eq!(runner.health(), Health::Needs(NEEDS_A_MODEL.into()));
    assert_eq!(kitchen.looks.load(Ordering::Relaxed), looks);
    clock.pass(Duration::from_secs(31));
    assert_eq!(run(&*runner, job("hi")).await.answer(), "Miaow");
    assert_eq!(runner.health(), Health::Ready);
}

#[tokio::test]
async fn a_server_of_its_own_needs_the_key_that_its_file_names() {
    let kitchen = Kitchen::with(&[]);
    let url = kitchen.open().await;
    let runtime = format!("base_url = \"{url}\"\nkey_env = \"CAT_KEY\"\nmodel = \"cat:7b\"");
    let (without, _) = workshop(ModelSettings::none(), &[]);
    let health = launched(&runtime, &without).health();
    assert!(
        matches!(&health, Health::Needs(what) if what.contains("set the variable CAT_KEY")),
        "{health:?}"
    );
    let (with, _) = workshop(ModelSettings::none(), &[("CAT_KEY", "sk-of-the-cat")]);
    let runner = launched(&runtime, &with);
    assert_eq!(run(&*runner, job("hi")).await.answer(), "Miaow");
    assert!(!format!("{runner:?} {with:?}").contains("sk-of-the-cat"));
}

#[tokio::test]
async fn a_provider_is_preferred_to_what_is_found() {
    let (lab, home) = (Kitchen::with(&[]), Kitchen::with(&["cat:7b"]));
    let provider = ProviderSettings {
        name: "lab".into(),
        api: ModelApi::Openai,
        base_url: lab.open().await,
        key: Some(Secret::new("sk-of-the-lab")),
        default_model: Some("mouse".into()),
        missing: None,
    };
    let models = ModelSettings { providers: vec![provider], ollama: Some(home.open().await) };
    let (workshop, _) = workshop(models, &[]);
    for runtime in ["", "model = \"lab:rat\""] {
        let runner = launched(runtime, &workshop);
        assert_eq!(runner.health(), Health::Ready);
        assert_eq!(run(&*runner, job("hi")).await.answer(), "Miaow");
        assert!(!format!("{runner:?}").contains("sk-of-the-lab"));
    }
    let asked: Vec<Value> = lab.chats.lock().unwrap().iter().map(|body| body["model"].clone()).collect();
    assert_eq!(asked, ["mouse", "rat"]);
    assert_eq!(home.looks.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_prompt_is_never_sent_to_a_provider_that_the_agent_did_not_name() {
    let (lab, home) = (Kitchen::with(&[]), Kitchen::with(&["cat:7b"]));
    let lab_settings = |missing: Option<&str>, base_url: Url| ProviderSettings {
        name: "lab".into(),
        api: ModelApi::Openai,
        base_url,
        key: None,
        default_model: Some("mouse".into()),
        missing: missing.map(str::to_owned),
    };
    let (lab_url, home_url) = (lab.open().await, home.open().await);
    let sites = [
        (
            vec![lab_settings(None, lab_url.clone())],
            vec!["locl:mouse", "openai:gpt-4o", "cat:8b", "ollama:dog"],
        ),
        (vec![lab_settings(Some("set LAB_KEY"), lab_url)], vec!["lab:mouse", "mouse", "locl:mouse"]),
        (vec![], vec!["locl:cat", "openai:gpt-4o", "anthropic:claude", "dog", "cat:8b"]),
    ];
    for (providers, models) in sites {
        let settings = ModelSettings { providers, ollama: Some(home_url.clone()) };
        let (workshop, _) = workshop(settings, &[]);
        for model in models {
            let runner = launched(&format!("model = \"{model}\""), &workshop);
            let (ending, words) = run(&*runner, job("a secret prompt")).await.ending();
            assert_eq!(ending, "failed", "{model}: {words}");
            assert_eq!(runner.health(), Health::Needs(words), "{model}: a call and the health say the same");
        }
    }
    assert!(lab.chats.lock().unwrap().is_empty() && home.chats.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_prompt_file_outside_of_the_folder_keeps_the_agent_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let (workshop, _) = workshop(ModelSettings::none(), &[]);
    let manifest = manifest("prompt_file = \"../../etc/passwd\"", "");
    let error =
        LlmRunner::launch(llm(&manifest).clone(), &manifest, folder.path(), &workshop, log()).unwrap_err();
    assert!(matches!(error, LaunchError::File { .. }), "{error}");
}
