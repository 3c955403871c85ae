//! Servers that the test plays at the other end of a pipe: hostile ones, broken ones, and well-behaved ones
//! of each era.
//!
//! Time is virtual wherever it matters, so that the limits are reached at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::*;

/// Bytes that fit into the pipe at once; small, so that a flood has to be read to continue.
const PIPE: usize = 64 << 10;

/// The other end of the pipe.
struct PipeServer {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl PipeServer {
    /// The next message of the client, passing over what it tells unasked.
    async fn request(&mut self) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the client says something");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// The next notification of the client.
    async fn told(&mut self) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the client says something");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("id").is_none() {
                return message;
            }
        }
    }

    async fn say(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).await.unwrap();
    }

    async fn answer(&mut self, request: &Value, result: &Value) {
        self.say(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    /// Plays the first messages of a server of the older revision.
    async fn shake_hands(&mut self) {
        let asked = self.request().await;
        assert_eq!(asked["method"], "server/discover");
        self.say(
            &json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32601, "message": "what?" } }),
        )
        .await;
        let asked = self.request().await;
        assert_eq!(
            (&asked["method"], &asked["params"]["protocolVersion"]),
            (&json!("initialize"), &json!("2025-11-25"))
        );
        let capabilities = json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true } });
        let info = json!({ "name": "played", "version": "1" });
        let result =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info });
        self.answer(&asked, &result).await;
    }
}

/// The key of `_meta` that says which subscription a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A client of revision 2026-07-28, and the server that it talks to.
async fn connected_anew() -> (McpClient, PipeServer) {
    let (address, mut peer) = pipe();
    let greet = async {
        let asked = peer.request().await;
        assert_eq!(asked["method"], "server/discover");
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true } },
        });
        peer.answer(&asked, &result).await;
    };
    let (client, ()) = tokio::join!(McpClient::connect(address, options()), greet);
    (client.unwrap(), peer)
}

fn pipe() -> (Address, PipeServer) {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (read, write) = tokio::io::split(ours);
    let (from, to) = tokio::io::split(theirs);
    (Address::pipes(read, write), PipeServer { lines: BufReader::new(from).lines(), write: to })
}

/// A client with these limits, and the server that it talks to.
async fn connected(limits: Limits) -> (McpClient, PipeServer) {
    let (address, mut peer) = pipe();
    let options = Options { limits, ..options() };
    let (client, ()) = tokio::join!(McpClient::connect(address, options), peer.shake_hands());
    (client.unwrap(), peer)
}

fn text(words: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": words }] })
}

fn elicitation(id: u64) -> Value {
    let params = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params })
}

fn answered(call: &ToolCall, needed: agentsite_protocol::mcp::InputNeeded, words: &str) -> ToolCall {
    let answers = needed
        .requests
        .keys()
        .map(|name| (name.clone(), json!({ "action": "accept", "content": { "name": words } })));
    ToolCall { round: Round { answers: answers.collect(), state: needed.state }, ..call.clone() }
}

fn asked(reply: Result<Reply<ToolResult>, McpError>) -> agentsite_protocol::mcp::InputNeeded {
    match reply {
        Ok(Reply::Input(needed)) => needed,
        other => panic!("it does not ask: {other:?}"),
    }
}

#[tokio::test]
async fn a_line_without_an_end_ends_the_connection_and_not_the_memory() {
    let (client, mut peer) = connected(Limits { message: 100_000, ..Limits::default() }).await;
    let flood = async {
        peer.request().await;
        let piece = [b'a'; 10_000];
        while peer.write.write_all(&piece).await.is_ok() {}
    };
    let (called, ()) = tokio::join!(client.call(tool("t", json!({})), |_| {}), flood);
    assert!(matches!(called, Err(McpError::TooLarge(_))), "{called:?}");
    assert!(matches!(client.closed().await, McpError::TooLarge(_)));
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_only_its_own_call() {
    let (client, mut peer) = connected(Limits { message: 100_000, ..Limits::default() }).await;
    let serve = async {
        let large = peer.request().await;
        peer.answer(&large, &text(&"a".repeat(1_000_000))).await;
        let small = peer.request().await;
        peer.answer(&small, &text("fine")).await;
    };
    let both = async {
        let large = client.call(tool("large", json!({})), |_| {}).await;
        assert!(matches!(large, Err(McpError::TooLarge(_))), "{large:?}");
        done(client.call(tool("small", json!({})), |_| {}).await.unwrap())
    };
    let (small, ()) = tokio::join!(both, serve);
    assert_eq!(small.plain_text(), "fine");
}

#[tokio::test]
async fn a_flood_of_notices_is_heard_in_order_and_holds_nothing_up() {
    let (client, mut peer) = connected(Limits::default()).await;
    let last = Arc::new(AtomicUsize::new(0));
    let heard = last.clone();
    let hear = move |notice| {
        if let Notice::Progress { progress, .. } = notice {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small whole numbers"
            )]
            let now = progress as usize;
            assert!(heard.swap(now, Ordering::Relaxed) < now, "out of order");
        }
    };
    let mut changes = client.changes();
    let flood = async {
        let call = peer.request().await;
        let token = &call["params"]["_meta"]["progressToken"];
        for progress in 1..=2_000 {
            let params = json!({ "progressToken": token, "progress": progress });
            peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
                .await;
            peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })).await;
            peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/never/heard/of" })).await;
        }
        peer.answer(&call, &text("done")).await;
    };
    let (called, ()) = tokio::join!(client.call(tool("t", json!({})), hear), flood);
    assert_eq!(done(called.unwrap()).plain_text(), "done");
    assert_eq!(last.load(Ordering::Relaxed), 2_000);
    let lagged = changes.recv().await;
    assert!(matches!(lagged, Err(broadcast::error::RecvError::Lagged(_))), "{lagged:?}");
    assert_eq!(changes.recv().await.unwrap(), Change::Tools);
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_of_a_call_is_down() {
    let (client, mut peer) = connected(Limits::default()).await;
    let die = async move {
        peer.request().await;
        drop(peer);
    };
    let (called, ()) = tokio::join!(client.call(tool("t", json!({})), |_| {}), die);
    assert!(called.unwrap_err().is_down());
    assert!(client.closed().await.is_down());
    assert!(client.call(tool("t", json!({})), |_| {}).await.unwrap_err().is_down());
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let (client, mut peer) = connected(Limits::default()).await;
    let mut call = Box::pin(client.call(tool("t", json!({})), |_| {}));
    let request = tokio::select! {
        _ = &mut call => panic!("no server answered"),
        request = peer.request() => request,
    };
    drop(call);
    let told = loop {
        let told = peer.told().await;
        if told["method"] == "notifications/cancelled" {
            break told;
        }
    };
    assert_eq!(told["params"]["requestId"], request["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_ends_and_progress_keeps_it_alive() {
    let limits = Limits { call_silence: Duration::from_secs(10), ..Limits::default() };
    let (client, mut peer) = connected(limits).await;
    let begun = tokio::time::Instant::now();
    let serve = async {
        let call = peer.request().await;
        let token = call["params"]["_meta"]["progressToken"].clone();
        for progress in 1..=5 {
            // tidy: waits because the clock is virtual and silence is the subject
            tokio::time::sleep(Duration::from_secs(9)).await;
            let params = json!({ "progressToken": token, "progress": progress });
            peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
                .await;
        }
    };
    let (called, ()) = tokio::join!(client.call(tool("t", json!({})), |_| {}), serve);
    assert!(matches!(called, Err(McpError::TimedOut { .. })), "{called:?}");
    assert_eq!(begun.elapsed().as_secs(), 55);
}

#[tokio::test]
async fn a_list_without_an_end_is_refused() {
    let (client, mut peer) = connected(Limits { pages: 5, ..Limits::default() }).await;
    let item = |name: String| json!({ "name": name, "inputSchema": { "type": "object" } });
    let pages = async {
        for page in 0..5 {
            let asked = peer.request().await;
            let tools = [item(format!("tool-{page}"))];
            peer.answer(&asked, &json!({ "tools": tools, "nextCursor": format!("page-{page}") })).await;
        }
        for _ in 0..2 {
            let asked = peer.request().await;
            peer.answer(&asked, &json!({ "tools": [item("t".into())], "nextCursor": "again" })).await;
        }
    };
    let both = async { (client.tools().await, client.tools().await) };
    let ((endless, turning), ()) = tokio::join!(both, pages);
    assert!(matches!(endless, Err(McpError::TooLarge(_))), "{endless:?}");
    assert!(matches!(turning, Err(McpError::BadAnswer(_))), "{turning:?}");
}

#[tokio::test]
async fn questions_of_two_calls_at_once_are_never_put_to_the_wrong_caller() {
    let (client, mut peer) = connected(Limits::default()).await;
    let (ada, bob) = (tool("ada", json!({})), tool("bob", json!({})));
    let serve = async {
        let first = peer.request().await;
        let second = peer.request().await;
        // Both are running: the question does not name its call, until the other call is over.
        peer.say(&elicitation(7)).await;
        let (asks, ends) = if first["params"]["name"] == "ada" { (first, second) } else { (second, first) };
        peer.answer(&ends, &text("bob is done")).await;
        let answer = peer.request().await;
        assert_eq!((&answer["id"], &answer["result"]["content"]["name"]), (&json!(7), &json!("Ada")));
        peer.answer(&asks, &text("hello Ada")).await;
    };
    let ask_ada = async {
        let needed = asked(client.call(ada.clone(), |_| {}).await);
        done(client.call(answered(&ada, needed, "Ada"), |_| {}).await.unwrap())
    };
    let (ada, bob, ()) = tokio::join!(ask_ada, client.call(bob, |_| {}), serve);
    assert_eq!(done(bob.unwrap()).plain_text(), "bob is done");
    assert_eq!(ada.plain_text(), "hello Ada");
}

#[tokio::test]
async fn calls_that_wait_for_answers_are_bounded_and_a_foreign_answer_finds_none() {
    let (client, mut peer) = connected(Limits { parked: 1, ..Limits::default() }).await;
    let serve = async {
        for id in 1..=2 {
            peer.request().await;
            peer.say(&elicitation(id)).await;
        }
        // The second question is refused, and its call is cancelled.
        let refused = peer.request().await;
        assert_eq!((&refused["id"], refused["error"].is_object()), (&json!(2), true));
        peer
    };
    let ask = async {
        let needed = asked(client.call(tool("first", json!({})), |_| {}).await);
        (needed, client.call(tool("second", json!({})), |_| {}).await)
    };
    let ((needed, second), _peer) = tokio::join!(ask, serve);
    assert_eq!(second.unwrap_err(), McpError::TooManyParked(1));
    let other = answered(&tool("other", json!({})), needed, "Eve");
    assert_eq!(client.call(other, |_| {}).await.unwrap_err(), McpError::CallGone);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_given_up_after_a_while() {
    let (client, mut peer) = connected(Limits::default()).await;
    let call = tool("t", json!({}));
    let serve = async {
        peer.request().await;
        peer.say(&elicitation(1)).await;
    };
    let (reply, ()) = tokio::join!(client.call(call.clone(), |_| {}), serve);
    let needed = asked(reply);
    // tidy: waits because the clock is virtual and patience is the subject
    tokio::time::sleep(Limits::default().patience + Duration::from_secs(1)).await;
    let refused = peer.request().await;
    assert!(refused["error"].is_object(), "{refused}");
    assert_eq!(client.call(answered(&call, needed, "late"), |_| {}).await.unwrap_err(), McpError::CallGone);
}

#[tokio::test]
async fn questions_we_cannot_be_asked_and_lines_that_are_no_messages_are_passed_over() {
    let (client, mut peer) = connected(Limits::default()).await;
    let serve = async {
        let call = peer.request().await;
        peer.raw(b"Listening on stdio!\n\n{\"not\": \"a message\"}\n[]\n").await;
        peer.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "secrets/list" })).await;
        let refused = peer.request().await;
        assert_eq!(refused["error"]["code"], -32601);
        peer.say(&json!({ "jsonrpc": "2.0", "id": call["id"], "result": "words" })).await;
    };
    let (called, ()) = tokio::join!(client.call(tool("t", json!({})), |_| {}), serve);
    assert!(matches!(called, Err(McpError::BadAnswer(_) | McpError::Refused { .. })), "{called:?}");
}

#[tokio::test]
async fn a_server_that_never_says_who_it_is_is_given_up() {
    let (address, peer) = pipe();
    let limits = Limits { connect: Duration::from_millis(50), ..Limits::default() };
    let refused = McpClient::connect(address, Options { limits, ..options() }).await.unwrap_err();
    assert!(matches!(refused, McpError::TimedOut { .. }), "{refused}");
    drop(peer);
    let (address, peer) = pipe();
    drop(peer);
    assert!(McpClient::connect(address, options()).await.unwrap_err().is_down());
}

#[tokio::test]
async fn a_resource_is_watched_until_it_is_not() {
    let (client, mut peer) = connected(Limits::default()).await;
    let mut changes = client.changes();
    let serve = async {
        let on = peer.request().await;
        assert_eq!((&on["method"], &on["params"]["uri"]), (&json!("resources/subscribe"), &json!("a://b")));
        peer.answer(&on, &json!({})).await;
        let params = json!({ "uri": "a://b" });
        peer.say(&json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params }))
            .await;
        let off = peer.request().await;
        assert_eq!(off["method"], "resources/unsubscribe");
        peer.answer(&off, &json!({})).await;
    };
    let watch = async {
        client.subscribe("a://b").await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), Change::Resource("a://b".into()));
        client.unsubscribe("a://b").await.unwrap();
    };
    tokio::join!(watch, serve);
}

#[tokio::test]
async fn a_question_of_the_newer_revision_is_answered_by_making_the_call_again() {
    let (client, mut peer) = connected_anew().await;
    assert_eq!(client.revision(), "2026-07-28");
    let serve = async {
        let first = peer.request().await;
        assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
        let requests = json!({ "who": { "method": "elicitation/create", "params": form } });
        let result =
            json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s-1" });
        peer.answer(&first, &result).await;
        let second = peer.request().await;
        let given = &second["params"];
        assert_eq!(
            (&given["requestState"], &given["inputResponses"]["who"]["action"]),
            (&json!("s-1"), &json!("accept"))
        );
        peer.answer(
            &second,
            &json!({ "resultType": "complete", "content": [{ "type": "text", "text": "hi" }] }),
        )
        .await;
    };
    let ask = async {
        let call = tool("t", json!({}));
        let needed = asked(client.call(call.clone(), |_| {}).await);
        assert_eq!(
            (needed.state.clone(), needed.requests["who"].method.as_str()),
            (Some(json!("s-1")), "elicitation/create")
        );
        done(client.call(answered(&call, needed, "Ada"), |_| {}).await.unwrap())
    };
    let (result, ()) = tokio::join!(ask, serve);
    assert_eq!(result.plain_text(), "hi");
    assert!(!result.extra.contains_key("resultType"), "{result:?}");
}

#[tokio::test]
async fn changes_of_the_newer_revision_come_by_one_subscription_that_grows() {
    let (client, mut peer) = connected_anew().await;
    let mut changes = client.changes();
    let tell = |method: &str, id: &Value, params: Value| {
        let mut params = params;
        params["_meta"] = json!({ SUBSCRIPTION: id });
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    };
    let first = peer.request().await;
    assert_eq!(
        (&first["method"], &first["params"]["notifications"]["toolsListChanged"]),
        (&json!("subscriptions/listen"), &json!(true))
    );
    let accepted = json!({ "notifications": first["params"]["notifications"] });
    peer.say(&tell("notifications/subscriptions/acknowledged", &first["id"], accepted)).await;
    peer.say(&tell("notifications/tools/list_changed", &first["id"], json!({}))).await;
    assert_eq!(changes.recv().await.unwrap(), Change::Tools);
    client.subscribe("a://b").await.unwrap();
    let second = peer.request().await;
    assert_eq!(second["params"]["notifications"]["resourceSubscriptions"], json!(["a://b"]));
    let accepted = json!({ "notifications": second["params"]["notifications"] });
    peer.say(&tell("notifications/subscriptions/acknowledged", &second["id"], accepted)).await;
    peer.say(&tell("notifications/resources/updated", &second["id"], json!({ "uri": "a://b" }))).await;
    assert_eq!(changes.recv().await.unwrap(), Change::Resource("a://b".into()));
}
