//! Conversations: begun, gone on with, branched, found, exported, deleted; what agents remember of them; and
//! what survives a crash.
//!
//! The agents only echo or follow a script; what they are given to remember is read from the jobs that their
//! runners got.

use super::*;
use crate::{
    ConversationEdit, ConversationError, ConversationView, ExportFormat, MAX_TITLE, Placing, TaskError,
    TurnView, Utterance,
};
use agentsite_protocol::{ConversationId, Part, Principal, Scope, TaskId};
use agentsite_store::ConversationReads;
use tokio::sync::Semaphore;

fn words(text: &str) -> Utterance {
    Utterance { parts: Some(vec![Part::text(text)]), ..Utterance::default() }
}

fn at(placing: Placing, text: &str) -> Utterance {
    Utterance { placing, ..words(text) }
}

fn to(agent: &str, text: &str) -> Utterance {
    Utterance { agent: Some(agent.parse().unwrap()), ..words(text) }
}

impl Story {
    /// A conversation with an agent, and its first turn, which has ended.
    async fn talk(&self, agent: &AgentName, text: &str) -> (ConversationView, TurnView) {
        let first = Some(words(text));
        let begun = self.site.conversations().begin(&Caller::local(), Some(agent.clone()), None, first).await;
        let (conversation, turn) = begun.unwrap();
        (conversation, self.ended(turn.unwrap().id).await)
    }

    async fn says_in(&self, id: ConversationId, said: Utterance) -> TurnView {
        self.clock.advance(1);
        let turn = self.site.conversations().say(&Caller::local(), id, said).await.unwrap();
        self.ended(turn.id).await
    }

    /// A turn after its task has settled.
    async fn ended(&self, turn: TaskId) -> TurnView {
        let task = self.site.tasks().watch(&Caller::local(), turn, 0).await.unwrap().settled().await;
        let id = task.conversation.unwrap();
        let all = self.site.conversations().turns(&Caller::local(), id, None, 500).await.unwrap().turns;
        all.into_iter().find(|one| one.id == turn).unwrap()
    }

    async fn path(&self, id: ConversationId) -> Vec<String> {
        let page = self.site.conversations().turns(&Caller::local(), id, None, 500).await.unwrap();
        page.turns.iter().map(|turn| turn.question[0]["text"].as_str().unwrap().to_owned()).collect()
    }

    async fn found(&self, text: &str) -> Vec<ConversationView> {
        self.site.conversations().list(&Caller::local(), Some(text.into()), None, 10).await.unwrap().items
    }
}

fn remembered(runner: &ScriptedRunner) -> Vec<String> {
    let job = runner.jobs().pop().unwrap();
    job.conversation.iter().map(|message| message.plain_text().replace('\n', " ")).collect()
}

#[tokio::test]
async fn a_conversation_is_begun_and_gone_on_with() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (begun, first) = story.talk(&agent, "hello there").await;
    assert_eq!((begun.title.as_str(), begun.agent.as_str(), begun.turns), ("hello there", "echo", 1));
    assert_eq!((first.state, first.answer.as_str(), first.parent), ("completed", "hello there", None));
    let second = story.says_in(begun.id, words("and now?")).await;
    assert_eq!((second.parent, &second.context_id), (Some(first.id), &first.context_id));
    assert_eq!(second.siblings, [second.id]);
    assert_eq!(second.duration_ms, Some(0));
    let now = story.site.conversations().get(&Caller::local(), begun.id).await.unwrap();
    assert_eq!((now.head, now.turns, now.title.as_str()), (Some(second.id), 2, "hello there"));
    assert!(now.revision > begun.revision);
    assert_eq!(story.path(begun.id).await, ["hello there", "and now?"]);
}

#[tokio::test]
async fn without_an_agent_it_is_with_the_concierge_and_a_message_only_agent_leaves_a_record() {
    let story = Story::begin().await;
    let (begun, turn) = story.site.conversations().begin(&Caller::local(), None, None, None).await.unwrap();
    assert_eq!((begun.agent, begun.title.as_str()), (story.site.agents().concierge(), "New conversation"));
    assert!(turn.is_none() && story.path(begun.id).await.is_empty());
    let text = "name = \"quick\"\ndescription = \"d\"\nanswers = \"message\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install_runner(Manifest::read(text).unwrap(), Arc::new(echo()));
    let turn = story.says_in(begun.id, to("quick", "hi")).await;
    assert_eq!((turn.answer.as_str(), turn.agent.as_str()), ("hi", "quick"));
    let now = story.site.conversations().get(&Caller::local(), begun.id).await.unwrap();
    assert_eq!(now.title, "hi", "the first words make the title");
}

#[tokio::test]
async fn a_turn_tells_its_steps_whom_it_asked_and_what_it_asks_back() {
    let story = Story::begin().await;
    story.agent("echo", echo());
    let local = Caller::local();
    let first = Some(words("echo please"));
    let (talk, turn) = story.site.conversations().begin(&local, None, None, first).await.unwrap();
    let turn = story.ended(turn.unwrap().id).await;
    assert_eq!((turn.state, turn.answer.as_str()), ("completed", "echo please"));
    let said: Vec<_> =
        turn.said.iter().map(|one| (one.role, one.parts[0]["text"].as_str().unwrap())).collect();
    assert_eq!(said, [("agent", "I ask echo: you named it.")]);
    assert_eq!(turn.started.len(), 1);
    assert_eq!((turn.started[0].agent.as_str(), turn.started[0].state), ("echo", "completed"));
    assert!(turn.started[0].duration_ms.is_some() && turn.asks.is_none());
    let sent = story.site.tasks().get(&local, turn.started[0].id).await.unwrap();
    assert_eq!(sent.head.parent, Some(turn.id));

    story.agent("asker", ScriptedRunner::new().ask("Which city?").then().chunk("Rome it is"));
    let asked = story.says_in(talk.id, to("asker", "the weather?")).await;
    let asks = asked.asks.unwrap();
    assert_eq!((asked.state, asks.parts[0]["text"].as_str()), ("input-required", Some("Which city?")));
    let answer = at(Placing::Answering(asked.id), "Rome");
    let done = story.says_in(talk.id, answer).await;
    let said: Vec<_> =
        done.said.iter().map(|one| (one.role, one.parts[0]["text"].as_str().unwrap())).collect();
    assert_eq!(said, [("agent", "Which city?"), ("user", "Rome")]);
    assert!(done.asks.is_none());
}

#[tokio::test]
async fn edits_and_retries_are_branches_and_the_path_is_the_chosen_one() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, first) = story.talk(&agent, "one").await;
    let second = story.says_in(talk.id, words("two")).await;
    let third = story.says_in(talk.id, words("three")).await;
    let edited = story.says_in(talk.id, at(Placing::Instead(second.id), "TWO")).await;
    assert_eq!((edited.parent, &edited.siblings), (Some(first.id), &vec![second.id, edited.id]));
    assert_ne!(edited.context_id, second.context_id, "a branch has a context of its own");
    assert_eq!(story.path(talk.id).await, ["one", "TWO"]);
    let retried = Utterance { placing: Placing::Instead(third.id), ..Utterance::default() };
    let retried = story.says_in(talk.id, retried).await;
    assert_eq!((retried.parent, retried.answer.as_str()), (Some(second.id), "three"));
    assert_ne!(retried.message_id, third.message_id);
    assert_eq!(story.path(talk.id).await, ["one", "two", "three"]);
    let choose = |turn| ConversationEdit { head: Some(turn), ..ConversationEdit::default() };
    let now = story.site.conversations().edit(&Caller::local(), talk.id, choose(edited.id)).await.unwrap();
    assert_eq!(now.head, Some(edited.id));
    let now = story.site.conversations().edit(&Caller::local(), talk.id, choose(second.id)).await.unwrap();
    assert_eq!(now.head, Some(retried.id), "the newest way through the chosen turn");
    let anew = story.says_in(talk.id, at(Placing::Instead(first.id), "ONE")).await;
    assert_eq!((anew.parent, story.path(talk.id).await), (None, vec!["ONE".to_owned()]));
    let page = story.site.conversations().turns(&Caller::local(), talk.id, Some(third.id), 1).await.unwrap();
    assert_eq!(
        (page.turns[0].id, page.before),
        (second.id, Some(second.id)),
        "any branch is read from any turn"
    );
}

#[tokio::test]
async fn an_agent_remembers_the_path_and_not_the_branch_that_was_left() {
    let story = Story::begin().await;
    let runner = Arc::new(echo().remembering(10));
    let agent = story.agent_with("model", "", runner.clone());
    let (talk, first) = story.talk(&agent, "one").await;
    let second = story.says_in(talk.id, words("two")).await;
    assert_eq!(remembered(&runner), ["one", "one"]);
    story.says_in(talk.id, words("three")).await;
    assert_eq!(remembered(&runner), ["one", "one", "two", "two"]);
    let edited = story.says_in(talk.id, at(Placing::Instead(second.id), "TWO")).await;
    assert_eq!(remembered(&runner), ["one", "one"]);
    story.says_in(talk.id, at(Placing::After(edited.id), "four")).await;
    assert_eq!(remembered(&runner), ["one", "one", "TWO", "TWO"]);
    assert_eq!(first.parent, None);
}

#[tokio::test]
async fn several_agents_in_one_conversation_hear_each_other_by_name() {
    let story = Story::begin().await;
    let runner = Arc::new(echo().remembering(10));
    let agent = story.agent_with("model", "", runner.clone());
    story.agent("calc", ScriptedRunner::new().chunk("4"));
    let (talk, _) = story.talk(&agent, "hello").await;
    let asked = story.says_in(talk.id, to("calc", "2 + 2")).await;
    assert_eq!((asked.agent.as_str(), asked.answer.as_str()), ("calc", "4"));
    let own = story.says_in(talk.id, words("and twice that?")).await;
    assert_eq!(own.agent.as_str(), "model", "the conversation goes on with the one it was begun with");
    assert_eq!(remembered(&runner), ["hello", "hello", "2 + 2", "[calc answered] 4"]);
    assert!(
        runner
            .jobs()
            .pop()
            .unwrap()
            .conversation
            .iter()
            .all(|message| message.role == Role::User || message.plain_text() == "hello")
    );
    // One message to two agents is two turns in a row.
    let both = |agent: &str| Utterance { message: Some("m-both".parse().unwrap()), ..to(agent, "and you?") };
    let one = story.says_in(talk.id, both("calc")).await;
    let two = story.says_in(talk.id, both("model")).await;
    assert_eq!((two.parent, &two.message_id), (Some(one.id), &one.message_id));
    let heard = remembered(&runner);
    assert_eq!(heard[heard.len() - 1], "[calc answered] 4");
    assert!(!heard.contains(&"and you?".to_owned()), "said once: {heard:?}");
    assert_eq!(own.context_id, two.context_id, "going on straight keeps the context of each agent");
}

#[tokio::test]
async fn references_of_any_message_are_remembered_and_foreign_ones_left_out() {
    let story = Story::begin().await;
    let runner = Arc::new(echo().remembering(10));
    let agent = story.agent_with("model", "", runner.clone());
    let one = story.ask(&agent, "mine").await;
    let stranger = Caller::key(&"k".parse().unwrap(), [Scope::Call]);
    let Sent::Task(watch) = story.try_send(&stranger, &agent, story.says("secret")).await.unwrap() else {
        panic!("a task")
    };
    let foreign = watch.settled().await;
    let mut message = story.says("go on");
    message.refer_to(&[foreign.head.id, one.head.id, TaskId::from_bytes([9; 16])]);
    let Sent::Task(watch) = story.try_send(&Caller::local(), &agent, message).await.unwrap() else {
        panic!("a task")
    };
    watch.settled().await;
    assert_eq!(remembered(&runner), ["mine", "mine"]);
}

#[tokio::test]
async fn a_message_sent_twice_is_one_turn() {
    let story = Story::begin().await;
    let agent = story.agent_with("echo", "", Arc::new(echo()));
    let known = |text: &str| Utterance { message: Some("m1".parse().unwrap()), ..words(text) };
    let begin = async || {
        let first = Some(known("hi"));
        story.site.conversations().begin(&Caller::local(), Some(agent.clone()), None, first).await
    };
    let ((one, first), (two, again)) = (begin().await.unwrap(), begin().await.unwrap());
    assert_eq!((one.id, first.unwrap().id), (two.id, again.unwrap().id));
    assert_eq!(story.found("hi").await.len(), 1);
    let say = async |id, said| story.site.conversations().say(&Caller::local(), id, said).await;
    assert_eq!(say(one.id, known("hi")).await.unwrap().id, one.head.unwrap());
    let error = say(one.id, known("something else")).await.unwrap_err();
    assert!(matches!(error, ConversationError::Task(TaskError::IdReused)), "{error}");
    let (other, _) = story.talk(&agent, "another").await;
    let error = say(other.id, known("hi")).await.unwrap_err();
    assert!(matches!(error, ConversationError::Task(TaskError::IdReused)), "{error}");
    assert_eq!(story.path(one.id).await, ["hi"]);
}

#[tokio::test]
async fn two_who_speak_at_once_are_both_heard() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, _) = story.talk(&agent, "first").await;
    let many = (0..6).map(|number| {
        let (site, text) = (story.site.clone(), number.to_string());
        async move { site.conversations().say(&Caller::local(), talk.id, words(&text)).await.unwrap().id }
    });
    for turn in futures::future::join_all(many).await {
        story.ended(turn).await;
    }
    let mut path = story.path(talk.id).await;
    assert_eq!(path.remove(0), "first");
    path.sort();
    assert_eq!(path, ["0", "1", "2", "3", "4", "5"], "one after the other on one path");
}

#[tokio::test]
async fn a_question_back_is_answered_within_the_turn() {
    let story = Story::begin().await;
    let agent = story.agent("shop", ScriptedRunner::new().ask("which one?").then().chunk("the red one"));
    let (talk, turn) = story.talk(&agent, "a ball").await;
    assert_eq!((turn.state, turn.words.as_deref()), ("input-required", Some("which one?")));
    let answered = story.says_in(talk.id, at(Placing::Answering(turn.id), "red")).await;
    assert_eq!(
        (answered.id, answered.state, answered.answer.as_str()),
        (turn.id, "completed", "the red one")
    );
    assert_eq!(story.path(talk.id).await, ["a ball"]);
    let late = story
        .site
        .conversations()
        .say(&Caller::local(), talk.id, at(Placing::Answering(turn.id), "blue"))
        .await;
    assert!(matches!(late, Err(ConversationError::Task(TaskError::TaskEnded(_)))), "{late:?}");
}

#[tokio::test]
async fn while_a_turn_runs_more_may_be_said() {
    let story = Story::begin().await;
    let gate = Arc::new(Semaphore::new(0));
    let runner = Arc::new(ScriptedRunner::new().gate(&gate).chunk("done").remembering(10));
    let agent = story.agent_with("slow", "", runner.clone());
    let begun =
        story.site.conversations().begin(&Caller::local(), Some(agent), None, Some(words("one"))).await;
    let (talk, first) = begun.unwrap();
    let second = story.site.conversations().say(&Caller::local(), talk.id, words("two")).await.unwrap();
    assert_eq!(second.parent, Some(first.as_ref().unwrap().id));
    runner.started(2).await;
    assert_eq!(remembered(&runner), ["one"], "what is not answered yet is only asked");
    gate.add_permits(2);
    assert_eq!(story.ended(second.id).await.answer, "done");
    assert_eq!(story.ended(first.unwrap().id).await.answer, "done");
}

#[tokio::test]
async fn conversations_are_their_owners_alone() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, turn) = story.talk(&agent, "private").await;
    let stranger = Caller::key(&"k".parse().unwrap(), [Scope::Admin]);
    let none = |error: ConversationError| {
        assert!(matches!(error, ConversationError::NoSuchConversation(_)), "{error}");
    };
    none(story.site.conversations().get(&stranger, talk.id).await.unwrap_err());
    none(story.site.conversations().turns(&stranger, talk.id, None, 5).await.unwrap_err());
    none(story.site.conversations().say(&stranger, talk.id, words("hi")).await.unwrap_err());
    none(story.site.conversations().edit(&stranger, talk.id, ConversationEdit::default()).await.unwrap_err());
    none(story.site.conversations().delete(&stranger, talk.id, None).await.unwrap_err());
    none(story.site.conversations().follow(&stranger, Some(talk.id)).await.unwrap_err());
    none(story.site.conversations().export(&stranger, talk.id, ExportFormat::Json).await.unwrap_err());
    assert!(story.site.conversations().list(&stranger, None, None, 9).await.unwrap().items.is_empty());
    let private = Some("private".to_owned());
    assert!(story.site.conversations().list(&stranger, private, None, 9).await.unwrap().items.is_empty());
    let own =
        story.site.conversations().begin(&stranger, Some(agent), None, Some(words("mine"))).await.unwrap().0;
    let error = story
        .site
        .conversations()
        .say(&stranger, own.id, at(Placing::After(turn.id), "x"))
        .await
        .unwrap_err();
    assert!(matches!(error, ConversationError::NoSuchTurn(_)), "a turn of another conversation: {error}");
    let guest = Caller::anonymous("192.0.2.1".parse().unwrap());
    let error = story.site.conversations().begin(&guest, None, None, None).await.unwrap_err();
    assert!(error.to_string().contains("sign in"), "{error}");
}

#[tokio::test]
async fn what_is_not_right_is_refused() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, turn) = story.talk(&agent, "hi").await;
    let edit = async |edit| story.site.conversations().edit(&Caller::local(), talk.id, edit).await;
    let title = |title: String| ConversationEdit { title: Some(title), ..ConversationEdit::default() };
    assert!(matches!(edit(title("x".repeat(MAX_TITLE + 1))).await, Err(ConversationError::Invalid(_))));
    let stale = ConversationEdit { revision: Some(1), ..title("late".into()) };
    assert!(matches!(edit(stale).await, Err(ConversationError::Changed)));
    let now = story.site.conversations().get(&Caller::local(), talk.id).await.unwrap();
    let right =
        ConversationEdit { revision: Some(now.revision), pinned: Some(true), ..title("On time".into()) };
    let now = edit(right).await.unwrap();
    assert_eq!((now.title.as_str(), now.named, now.pinned), ("On time", true, true));
    let nowhere = ConversationEdit { head: Some(TaskId::from_bytes([7; 16])), ..ConversationEdit::default() };
    assert!(matches!(edit(nowhere).await, Err(ConversationError::NoSuchTurn(_))));
    let say = async |said| story.site.conversations().say(&Caller::local(), talk.id, said).await;
    assert!(matches!(
        say(Utterance::default()).await,
        Err(ConversationError::Task(TaskError::BadMessage(_)))
    ));
    assert!(matches!(say(to("nobody", "hi")).await, Err(ConversationError::Task(TaskError::NoSuchAgent(_)))));
    story.site.agents().uninstall(&agent).await;
    assert!(
        matches!(say(words("hi")).await, Err(ConversationError::Task(TaskError::NoSuchAgent(_)))),
        "the agent is gone"
    );
    assert_eq!(story.path(talk.id).await, ["hi"], "and what was said is read all the same");
    let error = story.site.forget(&Caller::local(), turn.id).await.unwrap_err();
    assert!(matches!(error, SiteError::Forbidden(_)), "a conversation keeps its tasks: {error}");
    let long = "x".repeat(600);
    let error = story.site.conversations().list(&Caller::local(), Some(long), None, 9).await.unwrap_err();
    assert!(matches!(error, ConversationError::Invalid(_)), "{error}");
}

#[tokio::test]
async fn words_are_found_with_the_passage_around_them() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    story.agent("guide", ScriptedRunner::new().chunk("It is warm in Sicily."));
    let (one, _) = story.talk(&agent, "a holiday").await;
    let answered = story.says_in(one.id, to("guide", "where?")).await;
    story.clock.advance(10);
    let (two, asked) = story.talk(&agent, "sicily, please").await;
    let found = story.found("SICI").await;
    assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), [two.id, one.id]);
    let passage = found[1].passage.clone().unwrap();
    assert_eq!((passage.of, passage.turn), ("answer", Some(answered.id)));
    assert_eq!(passage.text, "It is warm in Sicily.");
    assert_eq!(found[0].passage.as_ref().unwrap().turn, Some(asked.id));
    assert!(story.found("nothing like it").await.is_empty());
}

#[tokio::test]
async fn a_conversation_keeps_its_tasks_until_it_is_deleted() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, turn) = story.talk(&agent, "keep me").await;
    let loose = story.ask(&agent, "loose").await;
    story.clock.advance(400 * 86_400_000);
    assert_eq!(story.site.expire().await.unwrap(), 1);
    assert!(story.site.tasks().get(&Caller::local(), loose.head.id).await.is_err());
    assert_eq!(story.path(talk.id).await, ["keep me"]);
    let hold = story.agent_with("slow", "", Arc::new(ScriptedRunner::new().hold()));
    let said = Utterance { agent: Some(hold), ..words("and this") };
    let running = story.site.conversations().say(&Caller::local(), talk.id, said).await.unwrap();
    story.site.conversations().delete(&Caller::local(), talk.id, None).await.unwrap();
    for gone in [turn.id, running.id] {
        let error = story.site.tasks().get(&Caller::local(), gone).await.unwrap_err();
        assert!(matches!(error, crate::TaskError::NoSuchTask(_)), "{error}");
    }
    assert!(story.found("keep").await.is_empty());
    let error = story.site.conversations().delete(&Caller::local(), talk.id, None).await.unwrap_err();
    assert!(matches!(error, ConversationError::NoSuchConversation(_)), "{error}");
}

#[tokio::test]
async fn an_ended_task_is_asked_again_as_a_branch_of_its_conversation() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, turn) = story.talk(&agent, "again").await;
    let task = story.site.retry(&Caller::local(), turn.id).await.unwrap();
    assert_eq!(task.conversation, Some(talk.id));
    assert_eq!(story.ended(task.head.id).await.siblings, [turn.id, task.head.id]);
    let loose = story.ask(&agent, "loose").await;
    let again = story.site.retry(&Caller::local(), loose.head.id).await.unwrap();
    assert_ne!(again.head.id, loose.head.id);
    assert_eq!((again.head.context, again.conversation), (loose.head.context, None));
}

#[tokio::test]
async fn a_task_tells_what_it_started() {
    let story = Story::begin().await;
    story.agent("calc", ScriptedRunner::new().chunk("4"));
    story.site.agents().install(manifest("echo", ""), None).await.unwrap();
    let task = story.ask(&story.site.agents().concierge(), "calc 2 + 2").await;
    let graph = story.site.tasks().graph(&Caller::local(), task.head.id).await.unwrap();
    let told: Vec<(&str, bool)> =
        graph.tasks.iter().map(|head| (head.agent.as_str(), head.parent == Some(task.head.id))).collect();
    assert_eq!(told, [(story.site.agents().concierge().as_str(), false), ("calc", true)]);
    assert!(!graph.cut);
    let stranger = Caller::key(&"k".parse().unwrap(), [Scope::Call]);
    let error = story.site.tasks().graph(&stranger, task.head.id).await.unwrap_err();
    assert!(matches!(error, crate::TaskError::NoSuchTask(_)), "{error}");
}

#[tokio::test]
async fn followers_hear_of_turns_changes_and_the_end() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo().pure());
    let (talk, _) = story.talk(&agent, "one").await;
    let mut one = story.site.conversations().follow(&Caller::local(), Some(talk.id)).await.unwrap();
    let mut all = story.site.conversations().follow(&Caller::local(), None).await.unwrap();
    let first = one.next().await.unwrap();
    assert_eq!((first.kind, first.conversation.unwrap().turns), ("changed", 1));
    let turn = story.says_in(talk.id, words("two")).await;
    let heard = one.next().await.unwrap();
    assert_eq!((heard.kind, heard.turn, heard.state), ("turn", Some(turn.id), Some("completed")));
    assert_eq!(heard.conversation.unwrap().head, Some(turn.id));
    let (other, _) = story.talk(&agent, "elsewhere").await;
    let pin = ConversationEdit { pinned: Some(true), ..ConversationEdit::default() };
    story.site.conversations().edit(&Caller::local(), talk.id, pin).await.unwrap();
    assert!(one.next().await.unwrap().conversation.unwrap().pinned);
    story.site.conversations().delete(&Caller::local(), talk.id, None).await.unwrap();
    assert_eq!(one.next().await.unwrap().kind, "removed");
    assert!(one.next().await.is_none());
    let heard = [all.next().await.unwrap(), all.next().await.unwrap()];
    assert_eq!((heard[0].id, heard[1].id), (Some(talk.id), Some(other.id)));
}

#[tokio::test]
async fn a_conversation_is_exported_to_read_and_to_process() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let (talk, first) = story.talk(&agent, "one").await;
    for number in 0..60 {
        story.says_in(talk.id, words(&format!("question {number}"))).await;
    }
    story.says_in(talk.id, at(Placing::Instead(first.id), "anew")).await;
    let write = async |format| {
        let mut export = story.site.conversations().export(&Caller::local(), talk.id, format).await.unwrap();
        let mut out = String::new();
        while let Some(piece) = export.next().await.unwrap() {
            out.push_str(&piece);
        }
        out
    };
    let text = write(ExportFormat::Markdown).await;
    assert!(text.starts_with("# one\n\nWith echo, begun 2023-") && text.contains("## You to echo"), "{text}");
    assert!(text.contains("\nanew\n") && !text.contains("question 3"), "the path that is shown: {text}");
    let json: serde_json::Value = serde_json::from_str(&write(ExportFormat::Json).await).unwrap();
    assert_eq!(json["turns"].as_array().unwrap().len(), 62);
    assert_eq!(json["conversation"]["title"], "one");
    assert_eq!(json["turns"][1]["parent"], first.id.to_string());
}

#[tokio::test]
async fn a_turn_survives_a_crash_in_the_middle_of_it() {
    let story = Story::begin().await;
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("one", "[limits]\nretry = 1", runner.clone());
    let begun =
        story.site.conversations().begin(&Caller::local(), Some(agent), None, Some(words("go on"))).await;
    let (talk, turn) = begun.unwrap();
    runner.started(1).await;
    let story = story.crash().await;
    story.agent_with("one", "[limits]\nretry = 1", Arc::new(ScriptedRunner::new().chunk("went on")));
    story.site.start().await.unwrap();
    assert_eq!(story.ended(turn.unwrap().id).await.answer, "went on");
    assert_eq!(
        story.found("went").await[0].id,
        talk.id,
        "the answer is found though another process wrote it"
    );
    assert_eq!(story.store.count_conversations(&Principal::admin()).await.unwrap(), 1);
}
