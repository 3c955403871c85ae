//! The concierge finds the agent that can do it, hands over, and says whom it asked.
//!
//! What follows from how well agents fit is told beside `choice`; here the whole way is, with agents that
//! follow a script.

use agentsite_host::{Health, Job, Reporter};
use agentsite_protocol::{Outcome, Part, Scope, TaskEvent, TaskEventKind};
use futures::future::BoxFuture;

use super::find::skilled;
use super::*;

impl Story {
    fn does(&self, name: &str, does: &str, example: &str, runner: impl Runner) {
        self.site.agents().install_runner(skilled(name, "public", does, example), Arc::new(runner));
    }

    async fn concierge(&self, text: &str) -> Task {
        self.ask(&self.site.agents().concierge(), text).await
    }
}

fn answers(text: &str) -> ScriptedRunner {
    ScriptedRunner::new().chunk(text)
}

async fn a_site() -> Story {
    let story = Story::begin().await;
    story.does("calc", "Works out arithmetic expressions", "what is 2 + 2?", answers("391"));
    story.does("clock", "Tells the time in any place", "what time is it in Tokyo?", answers("noon"));
    story.does("upper", "Turns text into capital letters", "make this loud: hello", answers("HELLO"));
    story
}

/// An agent that will not do it, or is not there.
#[derive(Debug)]
struct Unwilling(Health);

impl Runner for Unwilling {
    fn run(&self, job: Job, _: Reporter) -> BoxFuture<'static, Outcome> {
        let rejects = self.0 == Health::Ready;
        Box::pin(async move {
            let words = job.words("not this one");
            if rejects { Outcome::Rejected(words) } else { Outcome::Failed(words) }
        })
    }

    fn health(&self) -> Health {
        self.0.clone()
    }
}

#[tokio::test]
async fn the_agent_that_fits_is_asked_and_named() {
    let story = a_site().await;
    for (text, agent, answer) in [
        ("what is 17 * 23?", "calc", "391"),
        ("what time is it in Berlin", "clock", "noon"),
        ("make hello loud", "upper", "HELLO"),
        ("ask upper: good morning", "upper", "HELLO"),
    ] {
        let task = story.concierge(text).await;
        assert_eq!(
            (state(&task), task.answer().as_str()),
            (TaskState::Completed, answer),
            "{text}: {task:?}"
        );
        assert_eq!(last_words(&task), format!("I asked {agent}."));
    }
}

#[tokio::test]
async fn nobody_is_asked_when_nothing_fits() {
    let story = a_site().await;
    for text in ["bake cakes", "?!", ""] {
        let message = if text.is_empty() { story.says(" ") } else { story.says(text) };
        let Ok(Sent::Task(watch)) =
            story.try_send(&Caller::local(), &story.site.agents().concierge(), message).await
        else {
            continue;
        };
        let task = watch.settled().await;
        assert_eq!(state(&task), TaskState::Rejected, "{text}: {task:?}");
        let words = last_words(&task);
        assert!(words.starts_with("No agent of this site fits this request."), "{words}");
        for agent in ["- calc: Works out", "- clock: ", "- upper: "] {
            assert!(words.contains(agent), "{words}");
        }
    }
}

#[tokio::test]
async fn small_talk_is_answered_by_the_concierge_itself() {
    let story = a_site().await;
    story
        .site
        .agents()
        .install_runner(skilled("secret", "private", "Keeps secrets", "a secret"), Arc::new(answers("s")));
    let english = ["help", "hello", "hi", "Who are you?", "what can you do?"];
    let chinese = ["你好", "帮助", "你是谁", "你能做什么"];
    for (text, words) in english
        .map(|text| (text, "I am the concierge"))
        .into_iter()
        .chain(chinese.map(|text| (text, "接待员")))
    {
        let task = story.concierge(text).await;
        assert_eq!(state(&task), TaskState::Completed, "{text}: {task:?}");
        let answer = task.answer();
        assert!(
            answer.contains(words) && answer.contains("calc") && answer.contains("2 + 2"),
            "{text}: {answer}"
        );
        assert!(Called(&task).children(&story).await.is_empty(), "{text}: no agent was asked");
    }
    let thanks = story.concierge("thanks!").await;
    assert_eq!(thanks.answer(), "You are welcome. Ask me whenever you need something else.");
    let computed = story.concierge("help me compute 2+2").await;
    assert_eq!(last_words(&computed), "I asked calc.");
    let guest = Caller::anonymous(std::net::Ipv4Addr::LOCALHOST.into());
    let said = story.says("what can you do?");
    let Ok(Sent::Task(watch)) = story.try_send(&guest, &story.site.agents().concierge(), said).await else {
        panic!()
    };
    let answer = watch.settled().await.answer();
    assert!(answer.contains("calc") && !answer.contains("secret"), "{answer}");
}

#[tokio::test]
async fn where_two_fit_alike_the_caller_is_asked_once() {
    let story = Story::begin().await;
    story.does("north", "Delivers parcels", "deliver a parcel", answers("by sledge"));
    story.does("south", "Delivers parcels", "deliver a parcel", answers("by boat"));
    let asked = story.concierge("deliver a parcel to my aunt").await;
    assert_eq!(state(&asked), TaskState::InputRequired, "{asked:?}");
    let words = last_words(&asked);
    assert!(words.contains("north: Delivers parcels") && words.contains("south"), "{words}");
    let reply = story.answers(&asked, "south");
    let Sent::Task(watch) =
        story.try_send(&Caller::local(), &story.site.agents().concierge(), reply).await.unwrap()
    else {
        panic!()
    };
    let done = watch.settled().await;
    assert_eq!((state(&done), done.answer().as_str()), (TaskState::Completed, "by boat"), "{done:?}");
    let child = Called(&done).children(&story).await;
    assert_eq!(child, ["deliver a parcel to my aunt"], "what is handed over is the request, not the name");
    let asked = story.concierge("deliver a parcel").await;
    let vague = story.answers(&asked, "whoever you like best");
    let Sent::Task(watch) =
        story.try_send(&Caller::local(), &story.site.agents().concierge(), vague).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(state(&watch.settled().await), TaskState::Completed, "it asks only once");
}

/// What the agents were told that a task called.
struct Called<'a>(&'a Task);

impl Called<'_> {
    async fn children(&self, story: &Story) -> Vec<String> {
        let filter = crate::TaskFilter { parent: Some(self.0.head.id), ..Default::default() };
        let mut said = Vec::new();
        for head in story.site.tasks().list(&Caller::local(), filter, None, 10).await.unwrap().items {
            let task = story.site.tasks().get(&Caller::local(), head.id).await.unwrap();
            said.extend(task.history.first().map(Message::plain_text));
        }
        said
    }
}

#[tokio::test]
async fn the_next_is_asked_when_the_first_rejects_or_is_down() {
    let story = Story::begin().await;
    story.does("picky", "Paints portraits of cats", "paint my cat", Unwilling(Health::Ready));
    story.does("plain", "Paints portraits of animals", "paint an animal", answers("a picture"));
    let task = story.concierge("paint my cat").await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "a picture"), "{task:?}");
    let words = last_words(&task);
    assert!(
        words.starts_with("I asked picky; it said: rejected: not this one.")
            && words.ends_with("I asked plain.")
    );
    story.does("picky", "Paints portraits of cats", "paint my cat", Unwilling(Health::Down("gone".into())));
    assert_eq!(
        last_words(&story.concierge("paint my cat").await),
        "I asked plain.",
        "one that works comes first"
    );
}

#[tokio::test]
async fn no_more_than_three_are_asked() {
    let story = Story::begin().await;
    for (name, more) in
        [("one", ""), ("two", " well"), ("three", " very well"), ("four", " very well indeed")]
    {
        story.does(name, &format!("Paints cats{more}"), "paint cats", Unwilling(Health::Ready));
    }
    let asked = story.concierge("paint cats").await;
    let task = match state(&asked) {
        TaskState::InputRequired => {
            let reply = story.answers(&asked, "any of them will do");
            let sent =
                story.try_send(&Caller::local(), &story.site.agents().concierge(), reply).await.unwrap();
            let Sent::Task(watch) = sent else { panic!() };
            watch.settled().await
        }
        _ => asked,
    };
    assert_eq!(state(&task), TaskState::Failed, "{task:?}");
    assert_eq!(last_words(&task).matches("I asked").count(), 3);
}

#[tokio::test]
async fn it_reaches_what_its_caller_reaches_and_no_more() {
    let story = Story::begin().await;
    let hidden = |name: &str, visibility: &str| {
        let manifest = skilled(name, visibility, "Opens safes at night", "open the safe");
        story.site.agents().install_runner(manifest, Arc::new(answers("open")));
    };
    hidden("burglar", "private");
    let ask = async |caller: &Caller| {
        let sent = story
            .try_send(caller, &story.site.agents().concierge(), story.says("open the safe"))
            .await
            .unwrap();
        let Sent::Task(watch) = sent else { panic!() };
        state(&watch.settled().await)
    };
    let new_key = async |scope: Scope| {
        let by = Caller::local();
        let made = story.site.keys().create(
            &by,
            "a key",
            vec![scope, Scope::CallAgent(story.site.agents().concierge())],
            None,
        );
        story.site.keys().caller(&made.await.unwrap().secret).await.unwrap()
    };
    let (any, named) = (new_key(Scope::Call).await, new_key("call:burglar".parse().unwrap()).await);
    assert_eq!(ask(&any).await, TaskState::Rejected);
    assert_eq!(ask(&named).await, TaskState::Completed);
    assert_eq!(ask(&Caller::local()).await, TaskState::Completed);
    hidden("burglar", "peers");
    assert_eq!(ask(&any).await, TaskState::Completed);
}

#[tokio::test]
async fn files_go_along_and_what_is_made_comes_piece_by_piece() {
    let story = Story::begin().await;
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let painter = ScriptedRunner::new().chunk("first, ").gate(&gate).chunk("then");
    story.does("painter", "Paints portraits of cats", "paint my cat", painter);
    let mut message = story.says("paint my cat");
    let picture = Part { raw: Some("aGk=".into()), filename: Some("cat.png".into()), ..Part::default() };
    message.parts.push(picture.clone());
    let sent = story.try_send(&Caller::local(), &story.site.agents().concierge(), message).await.unwrap();
    let Sent::Task(mut watch) = sent else { panic!() };
    let made = |event: &Arc<TaskEvent>| matches!(event.kind, TaskEventKind::Artifact { .. });
    while !watch.next().await.unwrap().iter().any(made) {}
    assert_eq!(watch.snapshot().answer(), "first, ", "the agent still works on the rest");
    gate.add_permits(1);
    let task = watch.settled().await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "first, then"), "{task:?}");
    let filter = crate::TaskFilter { parent: Some(task.head.id), ..Default::default() };
    let child = story.site.tasks().list(&Caller::local(), filter, None, 10).await.unwrap().items.remove(0);
    let child = story.site.tasks().get(&Caller::local(), child.id).await.unwrap();
    assert_eq!(child.history[0].parts, [Part::text("paint my cat"), picture]);
}

#[tokio::test]
async fn an_agent_that_asks_back_is_answered_through_the_concierge() {
    let story = Story::begin().await;
    let asker = ScriptedRunner::new().ask("Which city?").then().chunk("sunny");
    story.does("weather", "Tells the weather", "what is the weather like?", asker);
    let asked = story.concierge("what is the weather like?").await;
    assert_eq!((state(&asked), last_words(&asked).as_str()), (TaskState::InputRequired, "Which city?"));
    let reply = story.answers(&asked, "Rome, please");
    let sent = story.try_send(&Caller::local(), &story.site.agents().concierge(), reply).await.unwrap();
    let Sent::Task(watch) = sent else { panic!() };
    let done = watch.settled().await;
    assert_eq!((state(&done), done.answer().as_str()), (TaskState::Completed, "sunny"), "{done:?}");
    assert_eq!(last_words(&done), "I asked weather.");
    let filter = crate::TaskFilter { parent: Some(done.head.id), ..Default::default() };
    let children = story.site.tasks().list(&Caller::local(), filter, None, 10).await.unwrap().items;
    assert_eq!((children.len(), children[0].state), (1, TaskState::Completed), "one task, which went on");
}
