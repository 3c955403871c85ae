//! The SDK for programs that want to be agents, against a real gateway.
//!
//! What the frames hold is told in `protocol`; programs in other languages are end-to-end stories.

use std::sync::Arc;

use agentsite_client::Token;
use agentsite_client::agent::{Agent, AgentError, Ending, EndingWay, News};
use agentsite_egress::Egress;
use agentsite_protocol::Visibility;
use tokio::sync::{Notify, mpsc};
use url::Url;

use super::*;

fn agent(name: &str) -> Agent {
    Agent::new(name.parse().unwrap(), "Counts words.").visibility(Visibility::Public)
}

fn token(story: &Story) -> Token {
    Token::new(&story.admin)
}

fn address(story: &Story) -> Url {
    story.url("/").parse().unwrap()
}

#[tokio::test]
async fn a_program_answers_asks_and_is_cancelled() {
    let story = Story::begin().await;
    let (connected, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (ready, stopped) = (connected.clone(), told.clone());
    let agent = agent("counter").on_news(move |news| {
        if let News::Connected(welcome) = news {
            assert!(welcome.urls.a2a.ends_with("/a2a/counter"));
            ready.notify_one();
        }
    });
    let (egress, site) = (Egress::unguarded(), address(&story));
    let token = token(&story);
    let serving = agent.serve(&egress, &site, Some(&token), move |given, work| {
        let stopped = stopped.clone();
        async move {
            match given.text.as_str() {
                "wait" => {
                    work.status("waiting").await.unwrap();
                    work.cancelled().await;
                    stopped.notify_one();
                    Ending::new(EndingWay::Canceled)
                }
                "" => Ending::saying(EndingWay::InputRequired, "Which text?"),
                text => {
                    work.text(format!("{} words", text.split_whitespace().count())).await.unwrap();
                    Ending::new(EndingWay::Completed)
                }
            }
        }
    });
    let calling = async {
        connected.notified().await;
        let answer = story.call("counter", "SendMessage", says("one two three")).await;
        assert_eq!(answer["result"]["task"]["artifacts"][0]["parts"][0]["text"], "3 words", "{answer}");
        let mut params = says("wait");
        params["configuration"] = json!({ "returnImmediately": true });
        let task = story.call("counter", "SendMessage", params).await["result"]["task"]["id"].clone();
        let canceled = story.call("counter", "CancelTask", json!({ "id": task })).await;
        assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
        told.notified().await;
    };
    tokio::select! {
        error = serving => panic!("{error}"),
        () = calling => {}
    }
}

#[tokio::test]
async fn a_program_that_is_refused_is_told_why_and_does_not_come_again() {
    let story = Story::begin().await;
    let (egress, site) = (Egress::unguarded(), address(&story));
    let idle = async |_, _| Ending::new(EndingWay::Completed);
    let taken = agent("echo").serve(&egress, &site, Some(&token(&story)), idle).await;
    assert!(matches!(&taken, AgentError::Refused(why) if why.contains("agent of this site")), "{taken:?}");
    let wrong = Token::new("ask_wrong");
    let refused = agent("x").serve(&egress, &site, Some(&wrong), idle).await;
    assert!(matches!(&refused, AgentError::Refused(why) if why.contains("401")), "{refused:?}");
}

#[tokio::test]
async fn a_program_whose_connection_is_lost_comes_back_with_its_token() {
    let story = Story::begin().await;
    let (news, mut heard) = mpsc::channel::<String>(8);
    let agent = agent("counter").retry(1).on_news(move |what| {
        let word = match what {
            News::Connected(_) => "connected",
            News::Lost(..) => "lost",
            News::Notice(_) => "notice",
        };
        news.try_send(word.into()).unwrap();
    });
    // A relay that cuts the first connection after the welcome, as a network does.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (cut, to) = (Arc::new(Notify::new()), story.address);
    let cutting = cut.clone();
    let relay = async {
        for number in 0.. {
            let (mut near, _) = listener.accept().await.unwrap();
            let cutting = cutting.clone();
            tokio::spawn(async move {
                let mut far = TcpStream::connect(to).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    () = cutting.notified(), if number == 0 => {}
                }
            });
        }
    };
    let egress = Egress::unguarded();
    let token = token(&story);
    let serving = agent.serve(&egress, &site, Some(&token), async |given, work| {
        work.text(given.text).await.unwrap();
        Ending::new(EndingWay::Completed)
    });
    let following = async {
        assert_eq!(heard.recv().await.as_deref(), Some("connected"));
        cut.notify_one();
        assert_eq!(heard.recv().await.as_deref(), Some("lost"));
        assert_eq!(heard.recv().await.as_deref(), Some("connected"));
        let answer = story.call("counter", "SendMessage", says("back")).await;
        assert_eq!(answer["result"]["task"]["artifacts"][0]["parts"][0]["text"], "back", "{answer}");
    };
    tokio::select! {
        error = serving => panic!("{error}"),
        () = relay => {}
        () = following => {}
    }
}
