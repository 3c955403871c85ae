//! What one owner may take of the sockets: how many, how many that have not registered, and how many bytes.
//!
//! Limits are set low, so that a story reaches them with a few sockets.

use agentsite_gateway::{Division, GatewaySettings, HttpLimits};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::*;

async fn story(change: impl FnOnce(&mut HttpLimits)) -> Story {
    let mut settings = GatewaySettings::default();
    change(&mut settings.limits);
    Story::with(settings).await
}

fn named(name: &str) -> Value {
    json!({ "name": name, "description": "Answers." })
}

/// A socket with this key.
async fn knock(story: &Story, key: &str) -> Result<Program, Error> {
    Program::knock(story, &[("authorization", &format!("Bearer {key}"))]).await
}

/// The head of a message of this length, and nothing of the message itself.
async fn begin_message(program: &mut Program, length: u64) {
    let header = FrameHeader {
        is_final: true,
        opcode: OpCode::Data(Data::Text),
        mask: Some([0; 4]),
        ..FrameHeader::default()
    };
    let mut head = Vec::new();
    header.format(length, &mut head).unwrap();
    program.0.get_mut().write_all(&head).await.unwrap();
}

#[tokio::test]
async fn one_owner_has_few_sockets_that_have_not_registered() {
    let story = story(|limits| {
        limits.unregistered = Division { total: 100, reserve: 0, per_address: 3, per_owner: 2 };
    })
    .await;
    let (one, other, third) =
        (story.key(&["call"]).await, story.key(&["call"]).await, story.key(&["call"]).await);
    let mut first = knock(&story, &one).await.unwrap();
    let _second = knock(&story, &one).await.unwrap();
    assert_eq!(status(knock(&story, &one).await), StatusCode::TOO_MANY_REQUESTS, "the owner's share");
    let _of_other = knock(&story, &other).await.unwrap();
    assert_eq!(status(knock(&story, &third).await), StatusCode::TOO_MANY_REQUESTS, "the address's share");
    let welcome = first.registers(named("poet")).await;
    assert_eq!(welcome["result"]["name"], "poet", "{welcome}");
    knock(&story, &one).await.expect("one that has registered does not count");
}

#[tokio::test]
async fn one_owner_has_a_share_of_all_sockets() {
    let story = story(|limits| {
        limits.sockets = Division { total: 3, reserve: 0, per_address: 0, per_owner: 2 };
    })
    .await;
    let (one, other) = (story.key(&["call"]).await, story.key(&["call"]).await);
    let _two = [knock(&story, &one).await.unwrap(), knock(&story, &one).await.unwrap()];
    assert_eq!(status(knock(&story, &one).await), StatusCode::TOO_MANY_REQUESTS);
    let _third = knock(&story, &other).await.unwrap();
    assert_eq!(status(knock(&story, &other).await), StatusCode::TOO_MANY_REQUESTS, "there are no more");
}

#[tokio::test]
async fn a_program_that_does_not_register_in_time_loses_its_socket() {
    let story = story(|limits| limits.register_time = Duration::from_millis(50)).await;
    let mut program = Program::known(&story).await;
    assert_eq!(program.closed().await.0, 4006);
}

#[tokio::test]
async fn messages_are_small_until_a_program_has_registered() {
    let story = Story::begin().await;
    let mut stranger = Program::known(&story).await;
    let large = json!({ "jsonrpc": "2.0", "id": 1, "method": "agent/register", "params": { "name": "x".repeat(100_000) } });
    stranger.says(&large).await;
    assert_eq!(stranger.closed().await.0, 1009);
    let (mut program, _) = Program::connected(&story, poet()).await;
    let large = json!({ "jsonrpc": "2.0", "id": 7, "method": "agent/unknown", "params": { "x": "y".repeat(3 << 20) } });
    for _ in 0..3 {
        program.says(&large).await;
        let answer = program.hears().await;
        assert_eq!((&answer["id"], answer["error"].is_object()), (&json!(7), true), "{answer}");
    }
}

#[tokio::test]
async fn half_sent_messages_of_one_owner_share_one_budget() {
    let story = story(|limits| {
        limits.socket_memory = Division { total: 8 << 20, reserve: 0, per_address: 0, per_owner: 2 << 20 };
    })
    .await;
    let (greedy, honest) = (story.key(&["call"]).await, story.key(&["call"]).await);
    let mut sockets = Vec::new();
    for number in 0..8 {
        let mut program = knock(&story, &greedy).await.unwrap();
        program.registers(named(&format!("greedy-{number}"))).await;
        begin_message(&mut program, 4 << 20).await;
        sockets.push(program);
    }
    let mut poet = knock(&story, &honest).await.unwrap();
    poet.registers(named("poet")).await;
    let part = vec![b' '; 1 << 20];
    for program in &mut sockets {
        let _ = program.0.get_mut().write_all(&part).await;
    }
    // Two megabytes are two of them; the others are closed.
    let admin = story.key(&["admin"]).await;
    tokio::time::timeout(HANG, async {
        loop {
            let status = story.get("/api/status").bearer_auth(&admin).send().await.unwrap();
            if body(status).await["refused"]["socket_memory"].as_u64() >= Some(6) {
                return;
            }
        }
    })
    .await
    .expect("what does not fit is closed");
    poet.says(&json!({ "jsonrpc": "2.0", "id": 7, "method": "agent/unknown", "params": { "x": "y".repeat(1 << 20) } })).await;
    assert_eq!(poet.hears().await["id"], 7, "others are not concerned");
}
