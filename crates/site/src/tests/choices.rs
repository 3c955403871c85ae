//! What an agent may choose: messages or tasks, what it takes, whether a repeated message is the same.
//!
//! Beside it what the operator may choose, the agent that speaks for the site and the readers of its cards;
//! and watches that outlast a question.

use agentsite_protocol::{Part, TaskId};
use agentsite_store::Upkeep;

use super::*;
use agentsite_protocol::extension::SEND_ONCE;

/// A manifest with keys before its tables.
fn choosing(keys: &str, runner: ScriptedRunner, story: &Story) -> AgentName {
    let text = format!(
        "name = \"chooser\"\ndescription = \"d\"\nvisibility = \"public\"\n{keys}\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
    );
    story.site.agents().install_runner(Manifest::read(&text).unwrap(), Arc::new(runner));
    "chooser".parse().unwrap()
}

#[tokio::test]
async fn an_agent_may_answer_one_message_at_once_and_open_a_task_for_another() {
    let story = Story::begin().await;
    let script = ScriptedRunner::new().at_once("ping", "pong").echo();
    let agent = choosing("answers = \"either\"", script, &story);
    let mut ping = story.says("ping");
    ping.context_id = Some("talk".parse().unwrap());
    let Sent::Message(answer) = story.try_send(&Caller::local(), &agent, ping).await.unwrap() else {
        panic!("a message")
    };
    assert_eq!((answer.role, answer.plain_text().as_str()), (Role::Agent, "pong"));
    assert_eq!((answer.context_id.unwrap().as_str(), answer.task_id), ("talk", None));
    assert_eq!(story.store.stats().await.unwrap().tasks, 0, "nothing is recorded of it");
    assert_eq!(story.ask(&agent, "else").await.answer(), "else");
}

#[tokio::test]
async fn agents_that_may_not_choose_are_not_asked() {
    let story = Story::begin().await;
    let agent = story.agent("plain", ScriptedRunner::new().at_once("ping", "pong").echo());
    assert_eq!(story.ask(&agent, "ping").await.answer(), "ping");
}

#[tokio::test]
async fn a_message_that_continues_a_task_is_never_answered_beside_it() {
    let story = Story::begin().await;
    let script = ScriptedRunner::new().at_once("ping", "pong").ask("?").then().chunk("done");
    let agent = choosing("answers = \"either\"", script, &story);
    let task = story.ask(&agent, "else").await;
    let sent = story.try_send(&Caller::local(), &agent, story.answers(&task, "ping")).await.unwrap();
    let Sent::Task(watch) = sent else { panic!("the task goes on") };
    assert_eq!(watch.settled().await.answer(), "done");
}

#[tokio::test]
async fn one_id_may_lead_to_several_tasks_where_the_agent_wants_it() {
    let story = Story::begin().await;
    let agent = choosing("repeats = \"new\"", ScriptedRunner::new().ask("?"), &story);
    let mut seen: Vec<TaskId> = Vec::new();
    for text in ["one", "one", "two"] {
        let message = Message::text("same".parse().unwrap(), Role::User, text);
        let sent = story.try_send(&Caller::local(), &agent, message).await.unwrap();
        let Sent::Task(watch) = sent else { panic!("a task") };
        let task = watch.settled().await;
        assert!(!seen.contains(&task.head.id));
        let again = Message { message_id: "same".parse().unwrap(), ..story.answers(&task, "more") };
        assert!(story.try_send(&Caller::local(), &agent, again).await.is_ok());
        seen.push(task.head.id);
    }
    let promises = |agent: &AgentName| {
        let card = story.site.cards().get(&Caller::local(), agent, "http://x").unwrap();
        card.capabilities.extensions.iter().any(|one| one.uri == SEND_ONCE)
    };
    assert!(!promises(&agent));
    assert!(promises(&story.agent("once", echo())));
}

#[tokio::test]
async fn a_part_of_a_type_that_the_agent_does_not_take_is_refused() {
    let story = Story::begin().await;
    let skill = "[[skills]]\nid = \"s\"\ndescription = \"d\"\ninput_modes = [\"image/*\"]\n";
    let agent = story.agent_with("eyes", skill, Arc::new(echo()));
    let typed = |media: &str, part: Part| Part { media_type: Some(media.into()), ..part };
    let file = || Part { raw: Some("dGNr".into()), ..Part::default() };
    for (part, taken) in [
        (typed("image/png", file()), true),
        (typed("text/plain; charset=utf-8", file()), true),
        (typed("text/markdown", Part::text("# Hello")), true),
        (typed("text/markdown", file()), true),
        (typed("application/x-unknown", file()), false),
        (file(), true),
    ] {
        let mut message = story.says("x");
        message.parts = vec![part.clone()];
        let sent = story.try_send(&Caller::local(), &agent, message).await;
        assert_eq!(sent.is_ok(), taken, "{part:?}");
        if let Err(error) = sent {
            assert!(matches!(error, SiteError::MediaType { .. }), "{error}");
        }
    }
}

/// A manifest of each runtime, and which of data, links and files reach its agent.
const INTAKES: [(&str, [bool; 3]); 12] = [
    ("kind = \"exec\"\ncommand = [\"cat\"]", [true, false, false]),
    ("kind = \"exec\"\ncommand = [\"cat\"]\nstdin = \"json\"", [true, true, true]),
    ("kind = \"llm\"\nprompt = \"p\"", [true, true, false]),
    ("kind = \"builtin\"\nbuiltin = \"echo\"", [true, true, true]),
    ("kind = \"builtin\"\nbuiltin = \"calc\"", [false, false, false]),
    ("kind = \"builtin\"\nbuiltin = \"clock\"", [false, false, false]),
    ("kind = \"builtin\"\nbuiltin = \"library\"", [true, false, false]),
    ("kind = \"mcp\"\ncommand = [\"x\"]", [true, false, false]),
    ("kind = \"openapi\"\ndocument = \"https://example.org/api.json\"", [true, false, false]),
    ("kind = \"acp\"\ncommand = [\"x\"]", [true, true, true]),
    ("kind = \"a2a\"\ncard = \"https://example.org/card\"", [true, true, true]),
    ("connected", [true, true, true]),
];

#[tokio::test]
async fn the_card_of_every_runtime_offers_what_its_agent_gets() {
    let story = Story::begin().await;
    for (runtime, takes) in INTAKES {
        let file = if runtime == "connected" { INTAKES[0].0 } else { runtime };
        let text =
            format!("name = \"taker\"\ndescription = \"d\"\nvisibility = \"public\"\n[runtime]\n{file}\n");
        let mut manifest = Manifest::read(&text).unwrap();
        if runtime == "connected" {
            manifest.runtime = agentsite_host::Runtime::Connected;
        }
        story.site.agents().install_runner(manifest, Arc::new(echo()));
        let agent = "taker".parse().unwrap();
        let parts = [
            Part::data(serde_json::json!({"a": 1})),
            Part { url: Some("https://example.org/a".into()), ..Part::default() },
            Part { raw: Some("/9j/4A==".into()), ..Part::default() },
        ];
        for (part, taken) in parts.into_iter().zip(takes) {
            let mut message = story.says("look");
            message.parts.push(part.clone());
            let sent = story.try_send(&Caller::local(), &agent, message).await;
            assert_eq!(sent.is_ok(), taken, "{runtime}: {part:?}");
            assert!(!matches!(sent, Err(ref error) if !matches!(error, SiteError::MediaType { .. })));
        }
        let card = story.site.cards().get(&Caller::local(), &agent, "https://example.org").unwrap();
        let offers = card.default_input_modes.iter().any(|mode| mode == "application/json");
        assert_eq!(offers, takes[0], "{runtime}: {:?}", card.default_input_modes);
    }
}

#[tokio::test]
async fn any_agent_may_speak_for_the_site() {
    let settings = introduced(|site| site.default_agent = Some("echo".parse().unwrap()));
    let story = Story::with(settings).await;
    let (local, base) = (Caller::local(), "https://example.org");
    assert_eq!(story.site.agents().default_for(&local), story.site.agents().concierge(), "until it is there");
    let echo = story.agent("echo", echo());
    assert_eq!(story.site.agents().default_for(&local), echo);
    let card = story.site.cards().of_site(&local, base);
    assert_eq!(
        (card.name.as_str(), card.supported_interfaces[0].url.as_str()),
        ("echo", "https://example.org/a2a")
    );
    let text = "name = \"echo\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install_runner(Manifest::read(text).unwrap(), Arc::new(ScriptedRunner::new()));
    let stranger = Caller::anonymous("192.0.2.1".parse().unwrap());
    assert_eq!(
        story.site.agents().default_for(&stranger),
        story.site.agents().concierge(),
        "it is not for strangers"
    );
    assert_eq!(story.site.cards().of_site(&stranger, base).name, "agentsite");
}

#[tokio::test]
async fn cards_are_for_readers_of_one_version_where_that_is_wanted() {
    for hybrid_cards in [true, false] {
        let story = Story::with(introduced(|site| site.hybrid_cards = hybrid_cards)).await;
        let echo = story.agent("echo", echo());
        let card = story.site.cards().get(&Caller::local(), &echo, "https://example.org").unwrap();
        assert_eq!(card.extra.contains_key("preferredTransport"), hybrid_cards);
        let site = story.site.cards().of_site(&Caller::local(), "https://example.org");
        assert_eq!(site.extra.contains_key("preferredTransport"), hybrid_cards);
    }
}

#[tokio::test]
async fn a_watch_to_the_end_outlasts_the_wait_for_an_answer() {
    let story = Story::begin().await;
    let script = ScriptedRunner::new().ask("?").then().ask("and?").then().chunk("done").complete("bye");
    let agent = story.agent("asker", script);
    let task = story.ask(&agent, "x").await;
    let (local, id) = (Caller::local(), task.head.id);
    let watch = story.site.tasks().watch_to_end(&local, id, task.head.seq).await.unwrap();
    let watching = async {
        let (mut watch, mut seen) = (watch, Vec::new());
        while let Some(events) = watch.next().await {
            seen.extend(events.iter().map(|event| event.seq));
        }
        seen
    };
    let talking = async {
        for _ in 0..2 {
            tokio::task::yield_now().await;
            let sent = story.try_send(&local, &agent, story.answers(&task, "more")).await.unwrap();
            let Sent::Task(watch) = sent else { panic!("a task") };
            watch.settled().await;
        }
    };
    let (seen, ()) = tokio::join!(watching, talking);
    let ended = story.site.tasks().get(&local, id).await.unwrap();
    assert_eq!(state(&ended), TaskState::Completed);
    let after: Vec<u64> = (task.head.seq + 1..=ended.head.seq).collect();
    assert_eq!(seen, after, "every event once, in order, and then the end");
}

#[tokio::test]
async fn a_watch_to_the_end_sees_a_cancel_and_a_stop() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("?"));
    let (canceled, left) = (story.ask(&agent, "x").await, story.ask(&agent, "y").await);
    let local = Caller::local();
    let seq = canceled.head.seq;
    let mut first = story.site.tasks().watch_to_end(&local, canceled.head.id, seq).await.unwrap();
    let mut second = story.site.tasks().watch_to_end(&local, canceled.head.id, seq).await.unwrap();
    let cancel = async {
        tokio::task::yield_now().await;
        story.site.tasks().cancel(&local, canceled.head.id).await.unwrap();
    };
    let (one, two, ()) = tokio::join!(first.next(), second.next(), cancel);
    assert_eq!(one.unwrap().last().unwrap().seq, seq + 1);
    assert_eq!(two.unwrap().last().unwrap().seq, seq + 1);
    assert!(first.next().await.is_none(), "it has ended");
    let mut waiting = story.site.tasks().watch_to_end(&local, left.head.id, left.head.seq).await.unwrap();
    let (after, ()) = tokio::join!(waiting.next(), story.site.stop());
    assert!(after.is_none());
}
