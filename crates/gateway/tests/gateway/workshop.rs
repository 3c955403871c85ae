//! Making and changing agents over HTTP: who may, and the shapes of the answers, held against files.
//!
//! The folder here is one in memory; what happens to real files is told in the stories of the binary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentsite_gateway::{
    DraftFile, GatewaySettings, ManifestFile, NewAgent, Problem, SuspendedAgent, Template, Worked, Workshop,
    WorkshopError,
};
use agentsite_host::Manifest;
use agentsite_protocol::{AgentName, Visibility};
use agentsite_site::Site;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::golden::hold;
use crate::story::{Story, body, site};

/// An agents folder in memory, in front of a real site.
#[derive(Debug)]
struct Bench {
    site: Site,
    texts: Mutex<BTreeMap<AgentName, (String, bool)>>,
}

impl Bench {
    fn file(&self, name: &AgentName) -> Result<ManifestFile, WorkshopError> {
        let texts = self.texts.lock().unwrap();
        let (text, suspended) = texts.get(name).ok_or_else(|| WorkshopError::NoSuchAgent(name.clone()))?;
        let revision = format!("{}", text.len());
        Ok(ManifestFile {
            file: format!("agents/{name}/agent.toml"),
            text: text.clone(),
            revision,
            suspended: *suspended,
        })
    }

    async fn put(
        &self,
        name: AgentName,
        text: String,
        suspended: bool,
    ) -> Result<ManifestFile, WorkshopError> {
        let manifest = Manifest::read(&text).map_err(|error| WorkshopError::Bad(error.to_string()))?;
        self.texts.lock().unwrap().insert(name.clone(), (text, suspended));
        if suspended {
            self.site.agents().uninstall(&name).await;
        } else {
            let folder = std::env::temp_dir();
            self.site
                .agents()
                .install(manifest, Some(folder))
                .await
                .map_err(|error| WorkshopError::Failed(error.to_string()))?;
        }
        self.file(&name)
    }
}

fn text(wanted: &NewAgent) -> String {
    format!(
        "name = \"{}\"\ndescription = \"{}\"\n[runtime]\nkind = \"exec\"\ncommand = [\"cat\"]\n",
        wanted.name,
        wanted.description.as_deref().unwrap_or("Says it back")
    )
}

impl Workshop for Bench {
    fn templates(&self) -> Vec<Template> {
        vec![Template {
            id: "sh".into(),
            about: "A shell script".into(),
            description: "Counts the words of a text".into(),
            example: "how many words".into(),
            visibility: Visibility::Public,
            model: false,
        }]
    }

    fn draft(&self, wanted: &NewAgent) -> Result<Vec<DraftFile>, WorkshopError> {
        Ok(vec![DraftFile { path: "agent.toml".into(), text: text(wanted) }])
    }

    fn create(&self, wanted: NewAgent) -> Worked<'_, ()> {
        Box::pin(async move { self.put(wanted.name.clone(), text(&wanted), false).await.map(|_| ()) })
    }

    fn suspended(&self) -> Worked<'_, Vec<SuspendedAgent>> {
        let texts = self.texts.lock().unwrap().clone();
        let told = texts.into_iter().filter(|(_, (_, suspended))| *suspended);
        let told =
            told.map(|(name, _)| SuspendedAgent { name, description: "Says it back".into() }).collect();
        Box::pin(async move { Ok(told) })
    }

    fn manifest(&self, name: AgentName) -> Worked<'_, ManifestFile> {
        Box::pin(async move { self.file(&name) })
    }

    fn check(&self, _: &AgentName, text: &str) -> Vec<Problem> {
        let problem = |error: agentsite_host::ManifestError| Problem {
            line: error.line,
            column: error.column,
            what: error.what,
        };
        Manifest::read(text).err().map(problem).into_iter().collect()
    }

    fn write(&self, name: AgentName, text: String, revision: String) -> Worked<'_, ManifestFile> {
        Box::pin(async move {
            if self.file(&name)?.revision != revision {
                return Err(WorkshopError::Moved);
            }
            self.put(name, text, false).await
        })
    }

    fn suspend(&self, name: AgentName) -> Worked<'_, ManifestFile> {
        Box::pin(async move {
            let text = self.file(&name)?.text;
            self.put(name, text, true).await
        })
    }

    fn resume(&self, name: AgentName) -> Worked<'_, ManifestFile> {
        Box::pin(async move {
            let text = self.file(&name)?.text;
            self.put(name, text, false).await
        })
    }

    fn remove(&self, name: AgentName) -> Worked<'_, String> {
        Box::pin(async move {
            self.file(&name)?;
            self.texts.lock().unwrap().remove(&name);
            self.site.agents().uninstall(&name).await;
            Ok("trash".into())
        })
    }
}

async fn story() -> Story {
    let site = site().await;
    let bench = Bench { site: site.clone(), texts: Mutex::default() };
    Story::of(GatewaySettings { workshop: Some(Arc::new(bench)), ..GatewaySettings::default() }, site).await
}

async fn ask(story: &Story, method: Method, path: &str, sent: Option<Value>) -> (StatusCode, Value) {
    let request = story.http.request(method, story.url(path));
    let request = match &sent {
        Some(sent) => request.json(sent),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status();
    (status, if status == StatusCode::NO_CONTENT { Value::Null } else { body(response).await })
}

#[tokio::test]
async fn an_agent_is_made_changed_suspended_and_removed() {
    let story = story().await;
    hold(&story, "api_workshop", ask(&story, Method::GET, "/api/workshop", None).await.1);
    let wanted = json!({ "name": "cat", "template": "sh", "description": "Repeats" });
    hold(
        &story,
        "api_workshop_draft",
        ask(&story, Method::POST, "/api/workshop/draft", Some(wanted.clone())).await.1,
    );
    let (status, made) = ask(&story, Method::POST, "/api/agents", Some(wanted.clone())).await;
    assert_eq!((status, &made["description"]), (StatusCode::CREATED, &json!("Repeats")));
    let (status, taken) = ask(&story, Method::POST, "/api/agents", Some(wanted)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{taken}");

    let (_, file) = ask(&story, Method::GET, "/api/agents/cat/manifest", None).await;
    hold(&story, "api_manifest", file.clone());
    let torn = json!({ "text": "name = \"cat\"\ncolour = \"red\"\n" });
    let (_, wrong) = ask(&story, Method::POST, "/api/agents/cat/manifest/check", Some(torn)).await;
    hold(&story, "api_manifest_problems", wrong);
    let better = file["text"].as_str().unwrap().replace("Repeats", "Repeats everything");
    let edit = json!({ "text": better, "revision": file["revision"] });
    let (status, _) = ask(&story, Method::PUT, "/api/agents/cat/manifest", Some(edit.clone())).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        ask(&story, Method::GET, "/api/agents/cat", None).await.1["description"],
        "Repeats everything"
    );
    let (status, moved) = ask(&story, Method::PUT, "/api/agents/cat/manifest", Some(edit)).await;
    assert_eq!((status, &moved["error"]["code"]), (StatusCode::CONFLICT, &json!("moved")));

    let (_, suspended) = ask(&story, Method::POST, "/api/agents/cat/suspend", None).await;
    assert_eq!(suspended["suspended"], true);
    assert_eq!(ask(&story, Method::GET, "/api/agents/cat", None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(ask(&story, Method::GET, "/api/workshop", None).await.1["suspended"][0]["name"], "cat");
    assert_eq!(ask(&story, Method::POST, "/api/agents/cat/resume", None).await.1["suspended"], false);
    assert_eq!(ask(&story, Method::GET, "/api/agents/cat", None).await.0, StatusCode::OK);
    assert_eq!(ask(&story, Method::DELETE, "/api/agents/cat", None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(&story, Method::GET, "/api/agents/cat", None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(ask(&story, Method::DELETE, "/api/agents/cat", None).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn only_the_people_who_run_the_site_get_in_and_only_where_there_is_a_workshop() {
    let with = story().await;
    let without = Story::begin().await;
    let key = with.key(&["call"]).await;
    let wanted = json!({ "name": "cat", "template": "sh" });
    for (method, path, sent) in [
        (Method::GET, "/api/workshop", None),
        (Method::POST, "/api/workshop/draft", Some(wanted.clone())),
        (Method::POST, "/api/agents", Some(wanted)),
        (Method::GET, "/api/agents/echo/manifest", None),
        (Method::PUT, "/api/agents/echo/manifest", Some(json!({ "text": "", "revision": "" }))),
        (Method::POST, "/api/agents/echo/manifest/check", Some(json!({ "text": "" }))),
        (Method::POST, "/api/agents/echo/suspend", None),
        (Method::POST, "/api/agents/echo/resume", None),
    ] {
        let request = with.http.request(method.clone(), with.url(path)).bearer_auth(&key);
        let request = sent.iter().fold(request, reqwest::RequestBuilder::json);
        assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN, "{method} {path}");
        let (status, told) = ask(&without, method, path, sent).await;
        assert_eq!(
            (status, &told["error"]["code"]),
            (StatusCode::BAD_REQUEST, &json!("unsupported")),
            "{path}"
        );
    }
    for bad in ["../x", "a/b", "A b", ".x", ""] {
        let wanted = json!({ "name": bad, "template": "sh" });
        let (status, told) = ask(&with, Method::POST, "/api/agents", Some(wanted)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{told}");
    }
    let missing = ask(&with, Method::GET, "/api/agents/..%2Fx/manifest", None).await;
    assert_eq!(missing.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn usage_is_told_by_day_and_tokens_to_the_people_who_run_the_site_only() {
    let story = Story::begin().await;
    let key = story.key(&["call"]).await;
    for _ in 0..3 {
        story.call("echo", "SendMessage", crate::story::says("count me")).await;
    }
    let (_, mut told) = ask(&story, Method::GET, "/api/agents/echo/usage?days=2", None).await;
    assert_eq!(told["days"].as_array().unwrap().len(), 2);
    assert_eq!((&told["total"]["calls"], &told["total"]["failures"]), (&json!(3), &json!(0)));
    for figures in told["days"].as_array_mut().unwrap().iter_mut().map(|day| &mut *day) {
        figures["day"] = json!("DAY");
        for time in ["p50Ms", "p99Ms"] {
            if figures.get(time).is_some() {
                figures[time] = json!(1);
            }
        }
    }
    (told["total"]["p50Ms"], told["total"]["p99Ms"]) = (json!(1), json!(1));
    // At midnight the calls lie on two days.
    told["days"] = json!([told["days"][1]]);
    hold(&story, "api_usage", told);
    let other = story.get("/api/agents/echo/usage").bearer_auth(key).send().await.unwrap();
    let other = body(other).await;
    assert_eq!(other["total"], json!({ "calls": 0, "failures": 0 }), "of nobody else's tasks");
    assert_eq!(other["days"].as_array().unwrap().len(), 30);
}

#[tokio::test]
async fn tasks_are_found_by_what_was_asked_and_when() {
    let story = Story::begin().await;
    for text in ["the weather in Rome", "the weather in Oslo", "a poem"] {
        story.call("echo", "SendMessage", crate::story::says(text)).await;
    }
    let list = async |query: &str| ask(&story, Method::GET, &format!("/api/tasks?{query}"), None).await.1;
    let asked = |page: &Value| -> Vec<String> {
        page["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["asked"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(asked(&list("").await), ["a poem", "the weather in Oslo", "the weather in Rome"]);
    assert_eq!(asked(&list("text=WEATHER").await).len(), 2);
    let first = list("text=weather&limit=1").await;
    assert_eq!(asked(&first), ["the weather in Oslo"]);
    let next = list(&format!("text=weather&limit=1&cursor={}", first["next"].as_str().unwrap())).await;
    assert_eq!(asked(&next), ["the weather in Rome"]);
    assert!(asked(&list("since=2999-01-01T00:00:00Z").await).is_empty());
    assert_eq!(asked(&list("since=2020-01-01T00:00:00Z&agent=echo").await).len(), 3);
    let (status, told) = ask(&story, Method::GET, "/api/tasks?since=yesterday", None).await;
    assert!(status == StatusCode::BAD_REQUEST && told.to_string().contains("since:"), "{told}");
}
