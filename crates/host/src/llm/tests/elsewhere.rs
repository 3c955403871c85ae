//! Agents elsewhere as tools: a small A2A server on a free port is asked by a scripted model.
//!
//! The tests of the client cover A2A itself; these cover what the model receives.

use agentsite_egress::AllowedTarget;
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value, json};
use url::Url;

use super::*;

/// A far agent: its card, and a fixed task as the answer to everything.
#[derive(Debug, Clone)]
struct Far {
    card: Value,
    task: Value,
}

/// Serves an agent whose every task ends in this state; gives its address.
async fn far(state: &str, answer: &str) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let interface =
        json!({"url": format!("{url}rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let card = json!({
        "name": "Oracle", "description": "Knows the future", "version": "1", "supportedInterfaces": [interface],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "w", "name": "Weather", "description": "Tells the weather", "tags": []}],
    });
    let words = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": answer}]});
    let task = json!({
        "id": "t1", "contextId": "c1", "status": {"state": state, "message": words},
        "artifacts": if state == "TASK_STATE_COMPLETED" { json!([{"artifactId": "a", "parts": [{"text": answer}]}]) } else { json!([]) },
    });
    let app = Router::new().route("/.well-known/agent-card.json", get(card_of)).route("/rpc", post(asked));
    let app = app.with_state(Far { card, task });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}

async fn card_of(State(far): State<Far>) -> axum::Json<Value> {
    axum::Json(far.card)
}

async fn asked(State(far): State<Far>, axum::Json(call): axum::Json<Value>) -> axum::Json<Value> {
    axum::Json(json!({"jsonrpc": "2.0", "id": call["id"], "result": {"task": far.task}}))
}

/// Runs an agent whose model asks the far one; gives the run and what the model was asked.
async fn asking(url: &Url, egress: &Egress) -> (Ran, Vec<ChatRequest>, AgentLog) {
    let question = ScriptedTurn::says([]).calls("c1", "ask_127_0_0_1", r#"{"message":"Rain?"}"#);
    let model = Arc::new(ScriptedModel::new([question, ScriptedTurn::says(["Take a coat."])]));
    let (manifest, log) = (manifest(&format!("tools = [\"agent:{url}\"]"), ""), log());
    let runner =
        LlmRunner::with_model(llm(&manifest), &manifest, model.clone(), egress, log.clone()).unwrap();
    let ran = run(&*runner, job("shall I go out?")).await;
    (ran, model.requests(), log)
}

fn result(requests: &[ChatRequest]) -> (String, bool) {
    let Some(ChatMessage::Tool { text, failed, .. }) = requests[1].messages.last() else {
        panic!("{requests:?}")
    };
    (text.clone(), *failed)
}

#[tokio::test]
async fn an_agent_elsewhere_is_described_by_its_card_and_asked() {
    let url = far("TASK_STATE_COMPLETED", "Rain.").await;
    let egress = Egress::default().with_allowed(AllowedTarget::of(&url).unwrap());
    let (ran, requests, _) = asking(&url, &egress).await;
    assert_eq!(ran.answer(), "Take a coat.");
    assert_eq!(statuses(&ran), ["asks 127.0.0.1: Rain?"]);
    assert!(requests[0].tools[0].description.contains("Knows the future"), "{:?}", requests[0].tools);
    assert!(requests[0].tools[0].description.contains("Tells the weather"));
    assert_eq!(result(&requests), ("Rain.".into(), false));
}

#[tokio::test]
async fn a_question_back_from_elsewhere_is_told_to_the_model() {
    let url = far("TASK_STATE_INPUT_REQUIRED", "Where?").await;
    let egress = Egress::default().with_allowed(AllowedTarget::of(&url).unwrap());
    let (_, requests, _) = asking(&url, &egress).await;
    assert_eq!(
        result(&requests),
        ("the agent asks a question: Where?; ask again with all that it needs".into(), true)
    );
}

#[tokio::test]
async fn a_private_address_that_nobody_allowed_is_not_offered() {
    let url = far("TASK_STATE_COMPLETED", "Rain.").await;
    let (_, requests, log) = asking(&url, &Egress::default()).await;
    assert!(requests[0].tools.is_empty());
    assert!(log.tail(9)[0].text.contains("not on the public internet"), "{:?}", log.tail(9));
}
