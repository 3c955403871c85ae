//! Who may take a name, and what becomes of the tasks of an agent whose name another one has now.
//!
//! The rule behind every story: a task stays with the agent that it was opened with, and nothing that was
//! said in it reaches a later holder of the name, whatever way the name was taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_host::AgentSession;
use agentsite_protocol::agent_session::{Ending, EndingWay, FromAgent};
use agentsite_protocol::{Scope, Visibility};
use futures::FutureExt as _;

use super::connected::{answer, holder, introduction, work};
use super::*;
use crate::{ConversationView, Placing, TurnView, Utterance};

const SECRET: &str = "my password is swordfish";

/// An agent that asks back, so that its task waits for a further message.
async fn asks_back(session: &mut AgentSession) {
    let task = work(session).await.task;
    let ending = Ending::saying(EndingWay::InputRequired, "which one?");
    session.receive(FromAgent::End { task, ending }).await;
}

fn refusal(result: Result<Sent, SiteError>) -> String {
    result.map(drop).unwrap_err().to_string()
}

impl Story {
    /// A connected `poet` of one owner with a task that waits for its caller; the name then passes to another
    /// owner.
    async fn poet_passes_on(&self) -> (Task, crate::ConnectedAgent) {
        let mut poet = self.connect(&holder("one"), introduction("poet")).await.unwrap();
        let (task, ()) = tokio::join!(self.ask(&poet.name, SECRET), asks_back(&mut poet.session));
        assert_eq!(state(&task), TaskState::InputRequired);
        self.site.connected().disconnect(&holder("one"), &poet.name).await.unwrap();
        self.site.names().release(&Caller::admin(), "poet").await.unwrap();
        (task, self.connect(&holder("two"), introduction("poet")).await.unwrap())
    }
}

#[tokio::test]
async fn a_task_stays_with_the_agent_that_it_was_opened_with() {
    let story = Story::begin().await;
    let (task, mut thief) = story.poet_passes_on().await;
    let poet = thief.name.clone();
    let why = refusal(story.try_send(&Caller::local(), &poet, story.answers(&task, "the first")).await);
    assert!(why.contains("another agent has its name now"), "{why}");
    let canceled = story.site.tasks().cancel(&Caller::local(), task.head.id).await.unwrap();
    assert_eq!(state(&canceled), TaskState::Canceled);
    let why = story.site.retry(&Caller::local(), task.head.id).await.unwrap_err().to_string();
    assert!(why.contains("another agent has its name now"), "{why}");
    assert!(thief.session.next().now_or_never().is_none(), "nothing of the task reached the new holder");

    let (fresh, ()) =
        tokio::join!(story.ask(&poet, "a new question"), answer(&mut thief.session, "an answer"));
    assert_eq!(fresh.answer(), "an answer", "new tasks go to the new holder");
}

#[tokio::test]
async fn the_same_owner_goes_on_after_a_restart_and_after_it_gave_its_name_up() {
    let story = Story::begin().await;
    let mut poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let (task, ()) = tokio::join!(story.ask(&poet.name, "roses"), asks_back(&mut poet.session));
    let story = story.crash().await;
    story.site.start().await.unwrap();
    let back = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    story.site.connected().disconnect(&holder("one"), &back.name).await.unwrap();
    let mut again = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let answers = story.answers(&task, "the red ones");
    let (sent, ()) = tokio::join!(
        async {
            let Ok(Sent::Task(watch)) = story.try_send(&Caller::local(), &again.name, answers).await else {
                panic!("the task goes on")
            };
            watch.settled().await
        },
        answer(&mut again.session, "are red")
    );
    assert_eq!(sent.answer(), "are red");
}

#[tokio::test]
async fn work_that_waited_for_an_agent_fails_when_another_one_has_its_name() {
    let story = Story::begin().await;
    let retried = agentsite_protocol::agent_session::Introduction { retry: 3, ..introduction("poet") };
    let mut poet = story.connect(&holder("one"), retried).await.unwrap();
    let waiting = story.send(&poet.name, SECRET).await.id();
    work(&mut poet.session).await;
    let story = story.crash().await;
    // A folder of the operator takes the name while the site is stopped.
    let runner = Arc::new(echo());
    story.agent_with("poet", "", runner.clone());
    story.site.start().await.unwrap();
    let task = story.site.tasks().get(&Caller::local(), waiting).await.unwrap();
    assert_eq!(state(&task), TaskState::Failed);
    assert!(last_words(&task).contains("another agent has its name now"), "{}", last_words(&task));
    assert!(runner.jobs().is_empty());
}

#[tokio::test]
async fn released_names_are_reserved_for_their_previous_owners_also_after_a_restart() {
    let story = Story::begin().await;
    let poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    story.site.agents().install(manifest("calc", ""), None).await.unwrap();
    story.site.agents().install(manifest("clock", ""), None).await.unwrap();
    story.site.start().await.unwrap();
    story.site.connected().disconnect(&holder("one"), &poet.name).await.unwrap();
    assert!(story.site.agents().uninstall(&"calc".parse().unwrap()).await);
    let story = story.crash().await;
    // The folder of `clock` went while the site was stopped.
    story.site.start().await.unwrap();
    for name in ["poet", "calc", "clock"] {
        let why = story.refused(&holder("two"), introduction(name)).await;
        assert!(why.contains("reserved for its previous owner"), "{name}: {why}");
    }
    assert!(story.connect(&holder("one"), introduction("poet")).await.is_ok(), "its own");
    assert!(story.connect(&Caller::admin(), introduction("calc")).await.is_ok(), "the site's is the admins'");

    let names = |story: &Story| -> Vec<String> {
        story.site.names().list(&Caller::admin()).unwrap().into_iter().map(|one| one.name).collect()
    };
    assert_eq!(names(&story), ["clock"]);
    assert!(story.site.names().list(&holder("two")).is_err());
    assert!(story.site.names().release(&holder("two"), "clock").await.is_err());
    story.site.names().release(&Caller::admin(), "clock").await.unwrap();
    assert!(
        story.site.names().release(&Caller::admin(), "clock").await.is_err(),
        "it is not reserved any more"
    );
    assert!(story.connect(&holder("two"), introduction("clock")).await.is_ok());
}

#[tokio::test]
async fn hidden_suspended_and_reserved_names_are_nobodys() {
    let story = Story::begin().await;
    let card = serde_json::json!({
        "name": "Weather", "description": "Tells the weather.", "version": "7",
        "supportedInterfaces": [{"url": "https://w.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    });
    let admin = Caller::admin();
    let entry =
        story.site.registry().post(&admin, card.to_string().as_bytes(), Visibility::Public).await.unwrap();
    let far = story.site.registry().open(&admin, &entry.listing.id).await.unwrap();
    for closed in [false, true] {
        if closed {
            story.site.registry().suspend(&admin, &entry.listing.id).await.unwrap();
        }
        let why = story.refused(&holder("two"), introduction(far.as_str())).await;
        assert!(why.contains("`far-`"), "{why}");
    }
    let mut manifest = manifest("agent", "");
    manifest.name = far.clone();
    let why = story.site.agents().install(manifest, None).await.unwrap_err().to_string();
    assert!(why.contains("`far-`"), "{why}");

    story.site.agents().set_idle(BTreeSet::from(["dormant".parse().unwrap()]));
    for (name, words) in [("dormant", "suspended or cannot be loaded"), ("concierge", "agent of this site")] {
        for caller in [holder("two"), Caller::admin()] {
            let why = story.refused(&caller, introduction(name)).await;
            assert!(why.contains(words), "{name}: {why}");
        }
    }
}

#[tokio::test]
async fn a_context_that_was_begun_with_another_holder_is_not_handed_over() {
    let story = Story::begin().await;
    let mut poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let (first, ()) = tokio::join!(story.ask(&poet.name, SECRET), answer(&mut poet.session, "noted"));
    let runner = Arc::new(echo().remembering(10));
    let model = story.agent_with("poet", "", runner.clone());
    let mut message = story.says("what did I say?");
    message.context_id = Some(first.head.context.clone());
    let Ok(Sent::Task(watch)) = story.try_send(&Caller::local(), &model, message).await else { panic!() };
    watch.settled().await;
    let mut message = story.says("and now?");
    message.extra.insert("referenceTaskIds".into(), serde_json::json!([first.head.id]));
    let Ok(Sent::Task(watch)) = story.try_send(&Caller::local(), &model, message).await else { panic!() };
    watch.settled().await;
    for job in runner.jobs() {
        assert!(!format!("{:?}{:?}", job.conversation, job.history).contains("swordfish"), "{job:?}");
    }
}

#[tokio::test]
async fn a_conversation_begins_anew_with_another_holder() {
    let story = Story::begin().await;
    let caller = Caller::key(&"caller".parse().unwrap(), [Scope::Call]);
    let mut poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let says = |text: &str| Utterance {
        parts: Some(vec![agentsite_protocol::Part::text(text)]),
        ..Utterance::default()
    };
    let begun = async {
        let begun = story
            .site
            .conversations()
            .begin(&caller, Some(poet.name.clone()), None, Some(says(SECRET)))
            .await;
        let (view, turn): (ConversationView, Option<TurnView>) = begun.unwrap();
        let turn = turn.unwrap().id;
        story.site.tasks().watch(&caller, turn, 0).await.unwrap().settled().await;
        (view, turn)
    };
    let ((view, turn), ()) = tokio::join!(begun, answer(&mut poet.session, "noted"));
    let before = story.site.tasks().get(&caller, turn).await.unwrap();
    let runner = Arc::new(echo().remembering(10));
    story.agent_with("poet", "", runner.clone());

    let again = Utterance { placing: Placing::Instead(turn), ..Utterance::default() };
    let why = story.site.conversations().say(&caller, view.id, again).await.unwrap_err().to_string();
    assert!(why.contains("another agent has its name now"), "{why}");
    let next = story.site.conversations().say(&caller, view.id, says("what did I say?")).await.unwrap().id;
    let task = story.site.tasks().watch(&caller, next, 0).await.unwrap().settled().await;
    assert_ne!(task.head.context, before.head.context);
    let jobs = runner.jobs();
    assert_eq!(jobs.len(), 1);
    assert!(!format!("{:?}", jobs[0].conversation).contains("swordfish"), "{:?}", jobs[0].conversation);
}
