//! Access: an address is not a proof.
//!
//! Promises that are attacked: a caller without a credential never gets admin rights, whatever its address,
//! headers or proxy: not behind nginx and Caddy as they come, not from an agent's own process, not as another
//! user of the machine. Anonymous callers at one address cannot see each other. The proxies are Debian's,
//! with the one line of configuration that their manuals begin with.

use reqwest::Method;
use serde_json::{Value, json};

use super::report;
use crate::proxy::{Program, Proxy, temporary_paths};
use crate::site::{TestSite, answer, exec_agent, http, message};

/// Rates do not matter here, and would only hide what an attack got.
const UNLIMITED: &str = "[limits]\nanonymous_rate = 0\n";

/// What a visitor may claim about itself, in one header.
const FORGED: [(&str, &str); 9] = [
    ("x-forwarded-for", "127.0.0.1"),
    ("x-real-ip", "127.0.0.1"),
    ("forwarded", "for=127.0.0.1;host=localhost"),
    ("x-forwarded-host", "localhost"),
    ("via", "1.1 localhost"),
    ("origin", "http://localhost"),
    ("sec-fetch-site", "same-origin"),
    ("cookie", "agentsite_session=admin"),
    ("user-agent", "agentsite"),
];

/// nginx with `proxy_pass`, and nothing else about the request.
async fn nginx(site: &TestSite) -> Proxy {
    Proxy::start(Program::Nginx, |folder, port| {
        let server = format!("listen 127.0.0.1:{port}; location / {{ proxy_pass {}; }}", site.url);
        let http = format!("access_log off; {} server {{ {server} }}", temporary_paths(folder));
        format!("events {{}} http {{ {http} }}")
    })
    .await
}

/// Caddy with `reverse_proxy`, and nothing else about the request.
async fn caddy(site: &TestSite) -> Proxy {
    Proxy::start(Program::Caddy, |_, port| {
        let target = site.url.trim_start_matches("http://");
        format!(
            "{{\n admin off\n auto_https off\n}}\nhttp://127.0.0.1:{port} {{\n reverse_proxy {target}\n}}\n"
        )
    })
    .await
}

/// Every operation of the REST interface, with ids that exist nowhere.
async fn operations(site: &TestSite) -> Vec<(Method, String)> {
    let document = site.get("/openapi.json").await;
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/api/") || path == "/api/session" {
            continue;
        }
        let path: Vec<&str> =
            path.split('/').map(|step| if step.starts_with('{') { "echo" } else { step }).collect();
        for method in item.as_object().unwrap().keys() {
            if let Ok(method) = Method::from_bytes(method.to_uppercase().as_bytes()) {
                found.push((method, path.join("/")));
            }
        }
    }
    assert!(found.len() > 50, "{}", found.len());
    found
}

/// Tries every operation at this address without a credential; gives how many were refused. None may be
/// granted.
async fn attack(base: &str, operations: &[(Method, String)], headers: &[(&str, &str)]) -> usize {
    let client = http();
    for (method, path) in operations {
        let body = json!({"label": "x", "scopes": ["admin"]});
        let mut request = client.request(method.clone(), format!("{base}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let status = request.json(&body).send().await.unwrap().status().as_u16();
        assert!(matches!(status, 401 | 403), "{method} {path} {headers:?}: {status}");
    }
    operations.len()
}

#[tokio::test]
async fn no_visitor_behind_a_proxy_as_it_comes_gets_admin_rights() {
    for public_url in ["", "public_url = \"https://agents.example.org\"\n"] {
        let mut site = TestSite::new();
        site.write("agentsite.toml", &format!("{public_url}{UNLIMITED}"));
        site.start();
        let operations = operations(&site).await;
        for proxy in [nginx(&site).await, caddy(&site).await] {
            let mut tried = attack(&proxy.url, &operations, &[]).await;
            for forged in FORGED {
                tried += attack(&proxy.url, &operations[..8], &[forged]).await;
            }
            let metrics = http().get(format!("{}/metrics", proxy.url)).send().await.unwrap();
            assert_eq!(metrics.status(), 401);
            let public =
                http().post(format!("{}/a2a/echo", proxy.url)).json(&call("hi")).send().await.unwrap();
            assert_eq!(public.status(), 200, "a visitor reaches public agents");
            report("access", "admin operations by a visitor behind a proxy", format!("0 of {tried} granted"));
        }
        let keys = site.get("/api/keys").await["keys"].as_array().unwrap().len();
        assert_eq!(keys, 1, "only the admin token is there");
    }
}

fn call(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message(text)}})
}

#[tokio::test]
async fn no_process_of_this_machine_is_an_admin_without_the_token() {
    let mut site = TestSite::new();
    site.write("agentsite.toml", UNLIMITED);
    site.start();
    let operations = operations(&site).await;
    let mut tried = attack(&site.url, &operations, &[]).await;
    for forged in FORGED {
        tried += attack(&site.url, &operations[..8], &[forged]).await;
    }
    report("access", "admin operations by another process of the machine", format!("0 of {tried} granted"));
}

#[tokio::test]
async fn an_agents_own_process_is_nobody() {
    let script = "read port; exec 3<>/dev/tcp/127.0.0.1/$port; \
                  printf 'POST /api/keys HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: 20\\r\\nConnection: close\\r\\n\\r\\n{\"scopes\":[\"admin\"]}' >&3; \
                  head -1 <&3; env";
    let mut site = TestSite::new().agent("thief", &exec_agent("thief", &["bash", "-c", script], ""));
    site.start();
    let port = site.url.rsplit(':').next().unwrap().to_owned();
    let said = answer(&site.send("thief", &format!("{port}\n")).await);
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    let database = site.data().join("site.db").display().to_string();
    for secret in [site.token().as_str(), "admin.token", database.as_str()] {
        assert!(!said.contains(secret), "the environment tells {secret}: {said}");
    }
    report("access", "an agent's process asks its own site for an admin key", "refused");
}

#[test]
fn a_site_behind_a_proxy_does_not_make_everybody_an_admin() {
    for setting in [
        "public_url = \"https://agents.example.org\"\n",
        "trusted_proxies = [\"127.0.0.1/32\"]\n",
        "tls_terminated_by_proxy = true\n",
    ] {
        let site = TestSite::new();
        site.write("agentsite.toml", &format!("anonymous = \"admin\"\n{setting}"));
        let said = site.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(said.code(), 1, "{setting}: {said:?}");
        assert!(
            said.err().contains("anonymous = \"admin\"") && said.err().contains("agentsite open"),
            "{said:?}"
        );
    }
    report("access", "anonymous = \"admin\" behind a proxy", "refused at start");
}

/// A call by an anonymous caller.
async fn ask(site: &TestSite, agent: &str, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = http().post(format!("{}/a2a/{agent}", site.url)).header("a2a-version", "1.0").json(&body);
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn anonymous_callers_at_one_address_are_strangers() {
    let mut site = TestSite::new();
    site.write("agentsite.toml", UNLIMITED);
    site.start();
    let sent = ask(&site, "echo", "SendMessage", json!({"message": message("mine alone")})).await;
    let task = &sent["result"]["task"];
    let (id, context) = (task["id"].as_str().unwrap(), task["contextId"].as_str().unwrap());
    let read = ask(&site, "echo", "GetTask", json!({"id": id})).await;
    assert_eq!(read["result"]["id"], id, "the id that was given out opens the task: {read}");

    let listed = ask(&site, "echo", "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["tasks"], json!([]), "{listed}");
    let own = ask(&site, "echo", "ListTasks", json!({"contextId": context})).await;
    assert_eq!(own["result"]["tasks"][0]["id"], id, "who shows the conversation sees its tasks: {own}");

    let known = site.get("/api/tasks").await;
    let inner = known["tasks"][0]["id"].as_str().unwrap().to_owned();
    let inner_context = known["tasks"][0]["contextId"].as_str().unwrap().to_owned();
    assert_ne!(inner, id);
    let mut tried = 0;
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let foreign = ask(&site, "echo", method, json!({"id": inner})).await;
        assert_eq!(foreign["error"]["code"], -32001, "{method}: {foreign}");
        tried += 1;
    }
    let listed = ask(&site, "echo", "ListTasks", json!({"contextId": inner_context})).await;
    assert_eq!(listed["result"]["tasks"], json!([]), "{listed}");
    let log = site.log();
    assert!(!log.contains(id) && !log.contains(context), "what opens a task is not logged");
    report(
        "access",
        "another caller's task at the same address, by its inner id or a list",
        format!("0 of {} found", tried + 2),
    );
}
