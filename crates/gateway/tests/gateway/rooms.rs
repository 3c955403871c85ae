//! Rooms by REST: the story of two people and an agent, and the hostile clients that are refused.
//!
//! What a room does is told in the stories of `rooms`; here are routes, shapes and codes.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::story::Story;

/// A caller with a key.
struct Person<'a> {
    story: &'a Story,
    key: String,
    id: String,
}

impl<'a> Person<'a> {
    async fn new(story: &'a Story) -> Self {
        let key = story.key(&["call"]).await;
        let mut person = Self { story, key, id: String::new() };
        let room = person.post("/api/rooms", json!({ "title": "mine" })).await.1;
        room["members"][0]["id"].as_str().unwrap().clone_into(&mut person.id);
        person
    }

    async fn send(&self, method: Method, path: &str, sent: Option<Value>) -> (StatusCode, Value) {
        let request = self.story.http.request(method, self.story.url(path)).bearer_auth(&self.key);
        let request = match sent {
            Some(sent) => request.json(&sent),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null))
    }

    async fn post(&self, path: &str, sent: Value) -> (StatusCode, Value) {
        self.send(Method::POST, path, Some(sent)).await
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::GET, path, None).await
    }

    /// Creates a room with `echo`; gives its path.
    async fn room(&self) -> String {
        let (status, room) =
            self.post("/api/rooms", json!({ "title": "Plans", "members": ["agent:echo"] })).await;
        assert_eq!(status, StatusCode::CREATED, "{room}");
        format!("/api/rooms/{}", room["id"].as_str().unwrap())
    }
}

#[tokio::test]
async fn two_people_and_an_agent_talk() {
    let story = Story::begin().await;
    let (ann, bob) = (Person::new(&story).await, Person::new(&story).await);
    let room = ann.room().await;
    let link = ann.post(&format!("{room}/links"), json!({})).await.1;
    let joined = bob.post("/api/rooms/join", json!({ "token": link["token"] })).await;
    assert_eq!((joined.0, &joined.1["title"]), (StatusCode::OK, &json!("Plans")));
    let said = json!({ "text": "hello", "id": "m1" });
    let (status, posted) = bob.post(&format!("{room}/messages"), said.clone()).await;
    assert_eq!(status, StatusCode::CREATED, "{posted}");
    let again = bob.post(&format!("{room}/messages"), said).await.1;
    assert_eq!((&again["seq"], &again["duplicate"]), (&posted["seq"], &json!(true)));
    let other = bob.post(&format!("{room}/messages"), json!({ "text": "other", "id": "m1" })).await;
    assert!(other.0.is_client_error(), "an id used twice: {other:?}");
    let page = ann.get(&format!("{room}/messages?after={}", posted["seq"].as_u64().unwrap() - 1)).await.1;
    assert_eq!(page["events"][0]["envelope"]["content"][0]["text"], "hello");
    assert_eq!(page["events"][0]["envelope"]["sender_id"], bob.id.as_str());
    let ack = json!({ "delivered": posted["seq"], "processed": posted["seq"] });
    assert_eq!(ann.post(&format!("{room}/ack"), ack).await.0, StatusCode::NO_CONTENT);
    let found = ann.get(&format!("{room}/search?text=hel")).await.1;
    assert_eq!(found["events"].as_array().unwrap().len(), 1);
    let listed = bob.get("/api/rooms").await.1;
    assert_eq!(listed["rooms"][0]["title"], "Plans");
    let schema = ann.get("/api/rooms/envelope").await.1;
    assert_eq!(schema["title"], "Envelope");
}

#[tokio::test]
async fn hostile_clients_are_refused_and_honest_members_are_unaffected() {
    let story = Story::begin().await;
    let (ann, eve) = (Person::new(&story).await, Person::new(&story).await);
    let room = ann.room().await;
    let messages = format!("{room}/messages");

    let outsider = eve.post(&messages, json!({ "text": "hi" })).await;
    let nowhere =
        eve.post("/api/rooms/0198c0de-0000-7000-8000-000000000001/messages", json!({ "text": "hi" })).await;
    assert_eq!((outsider.0, nowhere.0), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND), "{outsider:?}");
    for path in ["", "/messages", "/search?text=a", "/export"] {
        assert_eq!(eve.get(&format!("{room}{path}")).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let link = ann.post(&format!("{room}/links"), json!({ "role": "member" })).await.1;
    eve.post("/api/rooms/join", json!({ "token": link["token"] })).await;
    let spoofed =
        eve.post(&messages, json!({ "text": "I am Ann", "envelope": { "sender_id": ann.id } })).await;
    assert_eq!(spoofed.0, StatusCode::FORBIDDEN, "{spoofed:?}");
    let elsewhere =
        json!({ "text": "x", "envelope": { "group_id": "0198c0de-0000-7000-8000-000000000001" } });
    assert_eq!(eve.post(&messages, elsewhere).await.0, StatusCode::BAD_REQUEST);
    let closing = json!({ "envelope": { "type": "close", "close": { "summary": "mine" } } });
    assert_eq!(eve.post(&messages, closing.clone()).await.0, StatusCode::FORBIDDEN, "only owners close");
    for malformed in
        [json!({}), json!({ "envelope": { "v": 2 } }), json!({ "envelope": { "to": 7 } }), json!([])]
    {
        let answer = eve.post(&messages, malformed.clone()).await;
        assert!(answer.0.is_client_error(), "{malformed}: {answer:?}");
    }
    let oversized = eve.post(&messages, json!({ "envelope": { "refs": vec!["x"; 65] }, "text": "x" })).await;
    assert!(oversized.0.is_client_error(), "{oversized:?}");
    let forged = eve.post(&messages, json!({ "envelope": { "type": "gap" } })).await;
    assert!(forged.0.is_client_error(), "only the site writes gaps: {forged:?}");

    let honest = ann.post(&messages, json!({ "text": "still here" })).await;
    assert_eq!(honest.0, StatusCode::CREATED);
    let removing = json!({ "envelope": { "type": "remove", "remove": { "member": eve.id } } });
    assert_eq!(ann.post(&messages, removing).await.0, StatusCode::CREATED);
    assert_eq!(
        eve.post(&messages, json!({ "text": "x" })).await.0,
        StatusCode::NOT_FOUND,
        "a removed member"
    );
    assert_eq!(ann.post(&messages, closing).await.0, StatusCode::CREATED);
    assert!(ann.post(&messages, json!({ "text": "late" })).await.0.is_client_error(), "a closed room");
    let kept = ann.get(&messages).await.1;
    let texts = kept["events"].as_array().unwrap();
    assert!(
        texts.iter().any(|event| event["envelope"]["content"][0]["text"] == "still here"),
        "closing keeps all"
    );
}
