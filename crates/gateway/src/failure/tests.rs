//! The table held against its golden file, and every error of the site against the table.
//!
//! A new fault or error needs a row here; causes inside the site must not reach a caller.

use agentsite_protocol::TaskState;

use super::*;

async fn body(response: Response) -> serde_json::Value {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn the_rows_stand_in_the_order_of_the_faults() {
    for (index, row) in TABLE.iter().enumerate() {
        assert_eq!(row.fault as usize, index, "{row:?}");
        assert!(StatusCode::from_u16(row.status).is_ok());
    }
}

#[test]
fn the_table_is_the_one_in_the_golden_file() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/errors.json");
    let rows: Vec<String> = TABLE.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
    let now = format!("[\n  {}\n]\n", rows.join(",\n  "));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &now).unwrap();
    }
    assert_eq!(
        now,
        std::fs::read_to_string(file).unwrap(),
        "run with UPDATE_GOLDEN=1 when the change is meant"
    );
}

#[test]
fn words_are_unique_and_statuses_that_clients_must_see_are_kept() {
    let words: std::collections::BTreeSet<_> = TABLE.iter().map(|row| row.word).collect();
    assert_eq!(words.len(), TABLE.len());
    for row in &TABLE {
        let seen = matches!(row.status, 401 | 403 | 408 | 413 | 429 | 503 | 507);
        assert!(!seen || row.keeps_status, "{row:?}");
    }
}

#[tokio::test]
async fn a_failure_by_json_rpc_has_the_details_of_the_specification() {
    let response = Failure::from(SiteError::NoSuchTask("x".into())).rpc("\"1\"");
    assert_eq!(response.status(), StatusCode::OK);
    let body = body(response).await;
    assert_eq!(body["id"], "1");
    assert_eq!(body["error"]["code"], -32001);
    assert_eq!(body["error"]["data"][0]["reason"], "TASK_NOT_FOUND");
    assert_eq!(body["error"]["data"][0]["domain"], "a2a-protocol.org");
    assert_eq!(body["error"]["data"][0]["metadata"], serde_json::json!({}));
}

#[tokio::test]
async fn every_error_of_the_site_has_its_row() {
    let busy = || SiteError::Busy { agent: "a".parse().unwrap(), retry_after: Duration::from_millis(1500) };
    let cases = [
        (SiteError::NoSuchAgent("a".into()), 404, -32000),
        (SiteError::NoSuchTask("t".into()), 404, -32001),
        (SiteError::NotCancelable(TaskState::Completed), 400, -32002),
        (SiteError::TaskEnded(TaskState::Completed), 400, -32004),
        (SiteError::TaskBusy(TaskState::Working), 400, -32004),
        (SiteError::ContextMismatch, 400, -32602),
        (SiteError::BadMessage("b".into()), 400, -32602),
        (SiteError::IdReused, 400, -32602),
        (busy(), 429, -32000),
        (SiteError::Forbidden("f".into()), 403, -32000),
        (SiteError::BadKey, 401, -32000),
        (SiteError::Stopping, 503, -32000),
        (SiteError::Store(StoreError::Full), 507, -32000),
        (SiteError::Store(StoreError::Unavailable("db.internal".into())), 503, -32000),
        (SiteError::Store(StoreError::Engine("secret path".into())), 500, -32603),
        (SiteError::Identity, 500, -32603),
        (SiteError::Agent("a".into()), 500, -32006),
    ];
    for (error, status, code) in cases {
        let failure = Failure::from(error);
        assert_eq!(failure.status().as_u16(), status, "{failure:?}");
        let body = body(failure.rpc("null")).await;
        assert_eq!(body["error"]["code"], code, "{failure:?}");
        assert!(!body.to_string().contains("secret path"));
    }
    assert_eq!(Failure::from(busy()).rest().headers()[header::RETRY_AFTER], "2");
}

#[tokio::test]
async fn the_rest_face_has_a_word_and_a_sentence() {
    let response = Failure::from(SiteError::BadKey).rest();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.headers()[header::WWW_AUTHENTICATE], r#"Bearer realm="agentsite""#);
    let body = body(response).await;
    assert_eq!(body["error"]["code"], "unauthenticated");
    assert!(body["error"]["message"].as_str().unwrap().contains("agentsite key new"));
}

/// What every face says of an error, but for the sentence.
async fn in_every_face(error: SiteError) -> Vec<(&'static str, serde_json::Value)> {
    let failure = Failure::from(error);
    let read = async |response: Response| (response.status().as_u16(), body(response).await);
    let (status, rest) = read(failure.rest()).await;
    let (_, rpc) = read(failure.rpc("1")).await;
    let (_, http_json) = read(failure.status_answer("application/json")).await;
    let (_, openai) = read(failure.openai()).await;
    let (_, ard) = read(failure.ard()).await;
    let (registry, _) = read(failure.mcp_registry()).await;
    let (_, sessions) = read(failure.mcp(Era::Sessions, Some("1"))).await;
    let (_, stateless) = read(failure.mcp(Era::Stateless, Some("1"))).await;
    let frame: serde_json::Value = serde_json::from_slice(&failure.rpc_body("1")).unwrap();
    let grpc = failure.grpc().headers()["grpc-status"].to_str().unwrap().to_owned();
    vec![
        ("status", status.into()),
        ("REST", rest["error"]["code"].clone()),
        ("JSON-RPC, A2A and /rpc", rpc["error"]["code"].clone()),
        ("JSON-RPC, reason", rpc["error"]["data"][0]["reason"].clone()),
        ("HTTP+JSON", http_json["error"]["status"].clone()),
        ("gRPC", grpc.into()),
        ("MCP with sessions", sessions["error"]["code"].clone()),
        ("MCP without", stateless["error"]["code"].clone()),
        ("OpenAI, type", openai["error"]["type"].clone()),
        ("OpenAI, code", openai["error"]["code"].clone()),
        ("ARD", ard["errorCode"].clone()),
        ("registry of MCP", registry.into()),
        ("WebSocket", frame["error"]["code"].clone()),
    ]
}

#[tokio::test]
async fn a_quota_is_another_error_than_a_malformed_request_in_every_face() {
    let malformed = in_every_face(SiteError::BadMessage("wrong".into())).await;
    let quotas = [
        RegistryError::TooManyListings(1).into(),
        RegistryError::TooManyChallenges(1).into(),
        ConversationError::TooManyConversations(1).into(),
        ConversationError::TooManyTurns(1).into(),
        SiteError::QuotaExceeded("you keep 20 queries".into()),
    ];
    for quota in quotas {
        let sentence = quota.to_string();
        for ((face, found), (_, wrong)) in in_every_face(quota).await.iter().zip(&malformed) {
            assert!(!found.is_null() && found != wrong, "{face}: {found} for `{sentence}`");
        }
    }
}

#[tokio::test]
async fn a_busy_agent_and_a_full_store_are_other_errors_than_a_malformed_request_in_every_face() {
    let malformed = in_every_face(SiteError::BadMessage("wrong".into())).await;
    let agent: agentsite_protocol::AgentName = "echo".parse().unwrap();
    let limits = [
        SiteError::Busy { agent, retry_after: Duration::from_secs(3) },
        SiteError::Store(StoreError::Full),
        SiteError::Stopping,
    ];
    for limit in limits {
        let sentence = limit.to_string();
        for ((face, found), (_, wrong)) in in_every_face(limit).await.iter().zip(&malformed) {
            assert!(!found.is_null() && found != wrong, "{face}: {found} for `{sentence}`");
        }
    }
}

#[tokio::test]
async fn programs_do_not_repeat_what_a_quota_refused() {
    let response = Failure::from(ConversationError::TooManyConversations(1)).openai();
    assert_eq!(response.headers()["x-should-retry"], "false");
    assert_eq!(body(response).await["error"]["type"], "insufficient_quota");
}
