//! The registry API of MCP as a view to read, and server cards.
//! Only what everybody may see is asked for here; who sees what is told elsewhere.

use reqwest::StatusCode;
use serde_json::Value;

use crate::golden::hold;
use crate::story::{Story, body};

async fn get(story: &Story, path: &str) -> Value {
    let response = story.get(path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    body(response).await
}

fn names(list: &Value) -> Vec<&str> {
    list["servers"].as_array().unwrap().iter().map(|one| one["server"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn agents_are_listed_as_servers_of_tools_in_pages() {
    let story = Story::begin().await;
    for version in ["/v0", "/v0.1"] {
        let first = get(&story, &format!("{version}/servers?limit=3")).await;
        assert_eq!(first["metadata"]["count"], 3);
        let next = first["metadata"]["nextCursor"].as_str().unwrap().replace('/', "%2F");
        let rest = get(&story, &format!("{version}/servers?limit=3&cursor={next}")).await;
        assert!(rest["metadata"].get("nextCursor").is_none());
        let all: Vec<&str> = names(&first).into_iter().chain(names(&rest)).collect();
        assert_eq!(
            all,
            ["echo", "hidden", "long", "parrot", "steps"].map(|name| format!("127.0.0.1/{name}"))
        );
    }
    assert_eq!(names(&get(&story, "/v0.1/servers?search=PARR").await), ["127.0.0.1/parrot"]);
    assert_eq!(names(&get(&story, "/v0.1/servers?updated_since=2999-01-01T00:00:00Z").await).len(), 0);
    assert_eq!(names(&get(&story, "/v0.1/servers?version=latest").await).len(), 5);
    let stranger = story.guest().get("/v0.1/servers").send().await.unwrap();
    assert!(!names(&body(stranger).await).contains(&"127.0.0.1/hidden"));
    hold(&story, "mcp_servers", get(&story, "/v0.1/servers?search=echo").await);
}

#[tokio::test]
async fn one_server_is_read_by_its_name() {
    let story = Story::begin().await;
    let name = "127.0.0.1%2Fecho";
    for path in ["", "/versions/latest", "/versions/1.0.0"] {
        let told = get(&story, &format!("/v0.1/servers/{name}{path}")).await;
        assert_eq!(
            told["server"]["remotes"][0]["url"],
            format!("http://{}/mcp/echo", story.address),
            "{path}"
        );
    }
    assert_eq!(names(&get(&story, &format!("/v0.1/servers/{name}/versions")).await), ["127.0.0.1/echo"]);
    for path in [
        "/v0.1/servers/nobody%2Fx",
        "/v0.1/servers/127.0.0.1%2Fecho/versions/9.9",
        "/v0/servers/127.0.0.1%2Fnobody",
    ] {
        let response = story.get(path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert!(body(response).await["error"].is_string());
    }
    for path in ["limit=0", "limit=many", "updated_since=yesterday", &format!("search={}", "x".repeat(600))] {
        let response = story.get(&format!("/v0.1/servers?{path}")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path}");
    }
    let written = story.post("/v0.1/servers").send().await.unwrap();
    assert_eq!(written.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_server_card_says_where_an_agent_is_called() {
    let story = Story::begin().await;
    for (name, path) in
        [("mcp_site_card", "/.well-known/mcp/server-card.json"), ("mcp_card", "/mcp/echo/server-card")]
    {
        let response = story.get(path).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/mcp-server-card+json");
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        assert!(response.headers().contains_key("etag"));
        hold(&story, name, body(response).await);
    }
    let hidden = story.get("/mcp/hidden/server-card").send().await.unwrap();
    assert!(!hidden.headers().contains_key("access-control-allow-origin"));
    assert_eq!(body(hidden).await["remotes"][0]["headers"][0]["name"], "Authorization");
    let stranger = story.guest().get("/mcp/hidden/server-card").send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::NOT_FOUND);
}
