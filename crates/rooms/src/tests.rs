//! Facts about conversations, told as stories on the memory store with scripted agents and no site.
//!
//! What is shared by the stories is here. Stories that need the site's own agents, its visibility or its
//! retention are tested in `site`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentsite_host::{Manifest, NoCalls, Runner, ScriptedRunner};
use agentsite_protocol::{
    AgentName, Caller, Clock, ConversationId, Ids, Part, Rng, Scope, TaskState, Timestamp,
};
use agentsite_store::{ConversationReads, MemStore, StoreError, Upkeep};
use agentsite_tasks::{
    AgentDirectory, IdCipher, Lifetime, Processes, Submission, TaskAgent, TaskError, TaskHooks, TaskMetrics,
    TaskParts, TaskRequest, Tasks, check_message,
};
use futures::future::BoxFuture;

use crate::{
    ConversationEdit, ConversationError, ConversationFeed, ConversationParts, Conversations, ExportFormat,
    Placing, SiteAccess, TurnView, Utterance,
};

/// Bytes of a message in a story.
const MAX_MESSAGE: u64 = 1 << 20;

/// A clock that stands still.
#[derive(Debug)]
struct StoryClock;

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }
}

/// Bytes that differ each time and are the same in each run.
#[derive(Debug, Default)]
struct StoryRng(AtomicU64);

impl Rng for StoryRng {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let mut word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The part of a site that conversations need.
#[derive(Debug, Default)]
struct StorySite {
    agents: Mutex<BTreeMap<AgentName, Arc<TaskAgent>>>,
    expiries: AtomicUsize,
}

impl StorySite {
    fn find(&self, name: &AgentName) -> Option<Arc<TaskAgent>> {
        self.agents.lock().unwrap().get(name).cloned()
    }

    fn visible(&self, name: &AgentName) -> Result<Arc<TaskAgent>, TaskError> {
        self.find(name).ok_or_else(|| TaskError::NoSuchAgent(name.to_string()))
    }
}

impl SiteAccess for StorySite {
    fn check_visible(&self, _: &Caller, agent: &AgentName) -> Result<(), TaskError> {
        self.visible(agent).map(drop)
    }

    fn accept(
        &self,
        _: &Caller,
        agent: &AgentName,
        submission: Submission,
    ) -> Result<(Arc<TaskAgent>, TaskRequest), TaskError> {
        let agent = self.visible(agent)?;
        let (message, ttl, ephemeral) = submission.part()?;
        check_message(&message, MAX_MESSAGE)?;
        Ok((agent, TaskRequest { ttl, ephemeral, ..TaskRequest::from(message) }))
    }

    fn expire(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.expiries.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(()) })
    }
}

/// Conversations in a story.
struct Story {
    conversations: Conversations,
    tasks: Tasks,
    store: MemStore,
    site: Arc<StorySite>,
}

impl Story {
    fn begin() -> Self {
        let (store, site) = (MemStore::new(), Arc::new(StorySite::default()));
        let (ids, feed) = (
            Ids::new(Arc::new(StoryClock), Arc::new(StoryRng::default())),
            Arc::new(ConversationFeed::default()),
        );
        let known = site.clone();
        let agents = AgentDirectory::new(move |name| known.find(name));
        let parts = TaskParts {
            store: Arc::new(store.clone()),
            ids: ids.clone(),
            metrics: TaskMetrics::default(),
            cipher: IdCipher::new([7; 32]),
            hooks: TaskHooks::new(vec![feed.clone()]),
            agents: agents.clone(),
            lifetime: Lifetime::default(),
            processes: Processes::alone(Arc::new(store.clone())),
        };
        let tasks = Tasks::new(parts, |_| Arc::new(NoCalls));
        let conversations = Conversations::new(ConversationParts {
            store: Arc::new(store.clone()),
            ids,
            tasks: tasks.clone(),
            agents,
            site: site.clone(),
            feed,
            concierge: "echo".parse().unwrap(),
        });
        let story = Self { conversations, tasks, store, site };
        story.agent("echo", ScriptedRunner::new().echo());
        story
    }

    fn agent(&self, name: &str, runner: impl Runner) -> AgentName {
        let text = format!(
            "name = \"{name}\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        let agent = TaskAgent::new(Manifest::read(&text).unwrap(), Arc::new(runner), None);
        let name = agent.manifest.name.clone();
        self.site.agents.lock().unwrap().insert(name.clone(), agent);
        name
    }

    /// A conversation whose first turn is answered.
    async fn begun(&self, words: &str) -> (ConversationId, TurnView) {
        let (kept, turn) = self.conversations.begin(&me(), None, None, Some(says(words))).await.unwrap();
        self.answered(&turn.unwrap()).await;
        (kept.id, self.last(kept.id).await)
    }

    async fn say(&self, id: ConversationId, said: Utterance) -> TurnView {
        let turn = self.conversations.say(&me(), id, said).await.unwrap();
        self.answered(&turn).await;
        turn
    }

    async fn answered(&self, turn: &TurnView) {
        self.tasks.watch(&me(), turn.id, 0).await.unwrap().settled().await;
    }

    async fn last(&self, id: ConversationId) -> TurnView {
        self.conversations.turns(&me(), id, None, 1).await.unwrap().turns.remove(0)
    }
}

fn me() -> Caller {
    Caller::local()
}

fn says(words: &str) -> Utterance {
    Utterance { parts: Some(vec![Part::text(words)]), ..Utterance::default() }
}

#[tokio::test]
async fn a_turn_is_kept_with_its_task_and_its_answer_is_read_from_it() {
    let story = Story::begin();
    let (id, turn) = story.begun("What is the time?").await;
    assert_eq!((turn.answer.as_str(), turn.state), ("What is the time?", "completed"));
    let kept = story.conversations.get(&me(), id).await.unwrap();
    assert_eq!((kept.title.as_str(), kept.named, kept.turns), ("What is the time?", false, 1));
    assert_eq!(story.tasks.get(&me(), turn.id).await.unwrap().conversation, Some(id));
    let found = story.conversations.list(&me(), Some("time".into()), None, 10).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert!(found.items[0].passage.is_some());
}

#[tokio::test]
async fn a_conversation_is_its_owners_alone() {
    let story = Story::begin();
    let (id, turn) = story.begun("mine").await;
    let key = "k".parse().unwrap();
    for other in [Caller::key(&key, [Scope::Call]), Caller::key(&key, [Scope::Admin])] {
        let refused = story.conversations.get(&other, id).await.unwrap_err();
        assert!(matches!(refused, ConversationError::NoSuchConversation(_)), "{refused}");
        let refused = story.conversations.say(&other, id, says("hello")).await.unwrap_err();
        assert!(matches!(refused, ConversationError::NoSuchConversation(_)), "{refused}");
    }
    let guest = Caller::anonymous("192.0.2.7".parse().unwrap());
    let refused = story.conversations.begin(&guest, None, None, Some(says("x"))).await.unwrap_err();
    assert!(matches!(refused, ConversationError::Anonymous), "{refused}");
    let (other, _) = story.begun("another").await;
    let after = Utterance { placing: Placing::After(turn.id), ..says("x") };
    let refused = story.conversations.say(&me(), other, after).await.unwrap_err();
    assert!(matches!(refused, ConversationError::NoSuchTurn(_)), "{refused}");
}

#[tokio::test]
async fn a_retry_is_a_branch_with_a_context_of_its_own() {
    let story = Story::begin();
    let (id, first) = story.begun("one").await;
    let second = story.say(id, says("two")).await;
    assert_eq!((second.parent, &second.context_id), (Some(first.id), &first.context_id));
    let instead = Utterance { placing: Placing::Instead(second.id), ..Utterance::default() };
    let again = story.say(id, instead).await;
    assert_eq!(again.parent, Some(first.id));
    assert_ne!(again.context_id, first.context_id, "an agent never hears of a branch that was left");
    let again = story.last(id).await;
    assert_eq!((again.answer.as_str(), again.siblings.len()), ("two", 2));
}

#[tokio::test]
async fn the_same_message_again_is_the_same_turn() {
    let story = Story::begin();
    let (id, _) = story.begun("one").await;
    let said = Utterance { message: Some("m-1".parse().unwrap()), ..says("two") };
    let turn = story.say(id, said.clone()).await;
    assert_eq!(story.say(id, said).await.id, turn.id);
    assert_eq!(story.conversations.get(&me(), id).await.unwrap().turns, 2);
}

#[tokio::test]
async fn an_agent_that_asks_back_is_answered_in_its_turn() {
    let story = Story::begin();
    let asker = story.agent("asker", ScriptedRunner::new().ask("which?"));
    let (id, _) = story.begun("one").await;
    let turn = story.say(id, Utterance { agent: Some(asker), ..says("choose") }).await;
    let turn_now = story.last(id).await;
    assert_eq!((turn_now.state, turn_now.asks.is_some()), ("input-required", true));
    story.agent("asker", ScriptedRunner::new().echo());
    let answer = Utterance { placing: Placing::Answering(turn.id), ..says("this") };
    assert_eq!(story.say(id, answer).await.id, turn.id);
    assert_eq!(story.last(id).await.answer, "this");
}

#[tokio::test]
async fn an_edit_that_insists_on_an_old_revision_is_refused() {
    let story = Story::begin();
    let (id, _) = story.begun("one").await;
    let before = story.conversations.get(&me(), id).await.unwrap().revision;
    let edit = ConversationEdit { title: Some("Plan".into()), revision: Some(before), ..Default::default() };
    let kept = story.conversations.edit(&me(), id, edit.clone()).await.unwrap();
    assert_eq!((kept.title.as_str(), kept.named), ("Plan", true));
    let refused = story.conversations.edit(&me(), id, edit).await.unwrap_err();
    assert!(matches!(refused, ConversationError::Changed), "{refused}");
    let refused = story.conversations.delete(&me(), id, Some(before)).await.unwrap_err();
    assert!(matches!(refused, ConversationError::Changed), "{refused}");
}

#[tokio::test]
async fn deleting_a_conversation_cancels_what_runs_and_removes_the_rest() {
    let story = Story::begin();
    let (id, _) = story.begun("one").await;
    let slow = story.agent("slow", ScriptedRunner::new().hold());
    let said = Utterance { agent: Some(slow), ..says("go") };
    let turn = story.conversations.say(&me(), id, said).await.unwrap();
    story.conversations.delete(&me(), id, None).await.unwrap();
    let task = story.tasks.get(&me(), turn.id).await.unwrap();
    assert_eq!(task.head.state, TaskState::Canceled);
    assert_eq!(story.site.expiries.load(Ordering::Relaxed), 1);
    assert!(story.store.conversation(id).await.unwrap().is_none());
    assert!(story.store.stats().await.unwrap().tasks > 0, "expiry is the site's matter");
}

#[tokio::test]
async fn a_follower_hears_of_turns_of_its_own_conversations() {
    let story = Story::begin();
    let (id, _) = story.begun("one").await;
    let mut watch = story.conversations.follow(&me(), Some(id)).await.unwrap();
    assert_eq!(watch.next().await.unwrap().kind, "changed", "how it stands");
    let turn = story.say(id, says("two")).await;
    let mut states = Vec::new();
    while states.last() != Some(&"completed") {
        let event = watch.next().await.unwrap();
        assert_eq!((event.kind, event.turn), ("turn", Some(turn.id)));
        states.extend(event.state);
    }
    story.conversations.delete(&me(), id, None).await.unwrap();
    assert_eq!(watch.next().await.unwrap().kind, "removed");
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_conversation_is_written_out_as_markdown_and_as_json() {
    let story = Story::begin();
    let (id, _) = story.begun("one").await;
    story.say(id, says("two")).await;
    for (format, expected) in
        [(ExportFormat::Markdown, "## You to echo"), (ExportFormat::Json, "\"turns\":[")]
    {
        let mut export = story.conversations.export(&me(), id, format).await.unwrap();
        let mut text = String::new();
        while let Some(piece) = export.next().await.unwrap() {
            text.push_str(&piece);
        }
        assert!(text.contains(expected) && text.contains("one") && text.contains("two"), "{text}");
    }
}
