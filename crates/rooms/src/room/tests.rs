//! Facts about rooms, told as stories on the memory store with scripted agents and no site.
//!
//! The rules of a room are tested in `protocol`, what is kept in `store`. Here is that callers send in their
//! own name, that agents are called and answer, and that nothing is lost or doubled.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentsite_host::{Manifest, NoCalls, Runner, ScriptedRunner};
use agentsite_protocol::room::{
    AssignBlock, Envelope, FloorPolicy, MemberId, MemberRole, MessageType, ReplyMode, RoomRefusal,
    RoomSettings, RoomState,
};
use agentsite_protocol::{
    AgentName, Algorithm, Caller, Clock, Ids, Part, Rng, RoomId, Scope, SigningKey, Timestamp,
};
use agentsite_store::{MemStore, RoomReads, StoreError, Touched};
use agentsite_tasks::{
    AgentDirectory, IdCipher, Lifetime, Processes, Submission, TaskAgent, TaskError, TaskHooks, TaskMetrics,
    TaskParts, TaskRequest, Tasks, check_message,
};
use futures::future::BoxFuture;

use super::{NewRoom, RoomAnswers, RoomError, RoomExportFormat, RoomParts, Rooms};
use crate::SiteAccess;

/// Bytes of a message in a story.
const MAX_MESSAGE: u64 = 1 << 20;

/// A clock that is moved by the story.
#[derive(Debug, Default)]
struct StoryClock(AtomicI64);

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + self.0.load(Ordering::Relaxed))
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

/// The part of a site that rooms need.
#[derive(Debug, Default)]
struct StorySite(Mutex<BTreeMap<AgentName, Arc<TaskAgent>>>);

impl StorySite {
    fn find(&self, name: &AgentName) -> Option<Arc<TaskAgent>> {
        self.0.lock().unwrap().get(name).cloned()
    }
}

impl SiteAccess for StorySite {
    fn check_visible(&self, _: &Caller, agent: &AgentName) -> Result<(), TaskError> {
        self.find(agent).map(drop).ok_or_else(|| TaskError::NoSuchAgent(agent.to_string()))
    }

    fn accept(
        &self,
        _: &Caller,
        agent: &AgentName,
        submission: Submission,
    ) -> Result<(Arc<TaskAgent>, TaskRequest), TaskError> {
        let agent = self.find(agent).ok_or_else(|| TaskError::NoSuchAgent(agent.to_string()))?;
        let (message, ttl, ephemeral) = submission.part()?;
        check_message(&message, MAX_MESSAGE)?;
        Ok((agent, TaskRequest { ttl, ephemeral, ..TaskRequest::from(message) }))
    }

    fn expire(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Rooms in a story.
struct Story {
    rooms: Rooms,
    tasks: Tasks,
    store: MemStore,
    site: Arc<StorySite>,
    clock: Arc<StoryClock>,
}

impl Story {
    fn begin() -> Self {
        Self::on(MemStore::new())
    }

    fn on(store: MemStore) -> Self {
        let (site, clock) = (Arc::new(StorySite::default()), Arc::new(StoryClock::default()));
        let ids = Ids::new(clock.clone(), Arc::new(StoryRng::default()));
        let known = site.clone();
        let agents = AgentDirectory::new(move |name| known.find(name));
        let answers = Arc::new(RoomAnswers::default());
        let parts = TaskParts {
            store: Arc::new(store.clone()),
            ids: ids.clone(),
            metrics: TaskMetrics::default(),
            cipher: IdCipher::new([7; 32]),
            hooks: TaskHooks::new(vec![answers.clone()]),
            agents: agents.clone(),
            lifetime: Lifetime::default(),
            processes: Processes::alone(Arc::new(store.clone())),
        };
        let tasks = Tasks::new(parts, |_| Arc::new(NoCalls));
        let rooms = Rooms::new(RoomParts {
            store: Arc::new(store.clone()),
            ids,
            tasks: tasks.clone(),
            agents,
            site: site.clone(),
            key: SigningKey::from_seed(Algorithm::EdDsa, &[3; 32]).unwrap(),
            answers,
        });
        let story = Self { rooms, tasks, store, site, clock };
        story.agent("echo", ScriptedRunner::new().echo());
        story
    }

    fn agent(&self, name: &str, runner: impl Runner) {
        let text = format!(
            "name = \"{name}\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        let agent = TaskAgent::new(Manifest::read(&text).unwrap(), Arc::new(runner), None);
        self.site.0.lock().unwrap().insert(agent.manifest.name.clone(), agent);
    }

    async fn room(&self, settings: RoomSettings, members: &[&str]) -> RoomId {
        let members = members.iter().map(|name| (member(name), MemberRole::Member)).collect();
        let new = NewRoom { title: "Plans".into(), settings, goal: None, members };
        self.rooms.create(&key("ann"), new).await.unwrap().id.parse().unwrap()
    }

    fn said(&self, room: RoomId, from: &str, id: &str, text: &str) -> Envelope {
        Envelope::discuss(id.parse().unwrap(), room, member(from), self.clock.now(), text)
    }

    async fn say(&self, room: RoomId, from: &str, id: &str, text: &str) -> Result<u64, RoomError> {
        let name = from.strip_prefix("key:").unwrap();
        Ok(self.rooms.post(&key(name), self.said(room, from, id, text)).await?.seq)
    }

    /// Calls agents and posts their answers until nothing happens any more.
    async fn settle(&self, room: RoomId) {
        loop {
            let before = self.store.room(room).await.unwrap().unwrap().head.seq;
            self.rooms.call_in(Touched::All).await.unwrap();
            for head in self.store.clone_tasks().await {
                let watch = self.tasks.watch(&Caller::local(), head, 0).await.unwrap();
                watch.settled().await;
                self.rooms.post_answer(room, head).await.unwrap();
            }
            if self.store.room(room).await.unwrap().unwrap().head.seq == before {
                return;
            }
        }
    }

    async fn texts(&self, room: RoomId) -> Vec<(String, String)> {
        let page = self.rooms.read(&key("ann"), room, 0, 500).await.unwrap();
        let said = page.events.iter().filter(|event| !event.envelope.content.is_empty());
        said.map(|event| (event.envelope.sender_id.to_string(), event.envelope.plain_text())).collect()
    }
}

/// The ids of all tasks of a store.
trait AllTasks {
    async fn clone_tasks(&self) -> Vec<agentsite_protocol::TaskId>;
}

impl AllTasks for MemStore {
    async fn clone_tasks(&self) -> Vec<agentsite_protocol::TaskId> {
        let page = agentsite_store::TaskReads::tasks(self, Default::default(), None, 500).await.unwrap();
        page.items.iter().map(|head| head.id).collect()
    }
}

fn key(name: &str) -> Caller {
    Caller::key(&name.parse().unwrap(), [Scope::Call])
}

fn member(name: &str) -> MemberId {
    name.parse().unwrap()
}

#[tokio::test]
async fn a_caller_sends_in_its_own_name_and_only_into_its_rooms() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    assert!(story.say(room, "key:ann", "m1", "hello").await.is_ok());
    let spoofed = story.rooms.post(&key("eve"), story.said(room, "key:ann", "m2", "I am Ann")).await;
    assert!(matches!(spoofed, Err(RoomError::OtherSender(..))), "{spoofed:?}");
    let outsider = story.say(room, "key:eve", "m3", "hi").await;
    assert!(matches!(outsider, Err(RoomError::NoSuchRoom(_))), "{outsider:?}");
    let nowhere = story.say(RoomId::from_bytes([9; 16]), "key:ann", "m4", "hi").await;
    assert!(
        matches!(nowhere, Err(RoomError::NoSuchRoom(_))),
        "a foreign room answers like none: {nowhere:?}"
    );
    assert!(matches!(story.rooms.get(&key("eve"), room).await, Err(RoomError::NoSuchRoom(_))));
    assert!(matches!(story.rooms.read(&key("eve"), room, 0, 10).await, Err(RoomError::NoSuchRoom(_))));
    assert!(story.rooms.follow(&key("eve"), room, 0).await.is_err());
    let anonymous = Caller::anonymous("192.0.2.1".parse().unwrap());
    let refused = story.rooms.create(&anonymous, NewRoom { title: "x".into(), ..NewRoom::default() }).await;
    assert!(matches!(refused, Err(RoomError::Anonymous)));
}

#[tokio::test]
async fn the_same_message_is_one_event_and_an_id_used_twice_is_refused() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    let message = story.said(room, "key:ann", "m1", "hello");
    let first = story.rooms.post(&key("ann"), message.clone()).await.unwrap();
    let again = story.rooms.post(&key("ann"), message.clone()).await.unwrap();
    assert_eq!((again.seq, again.duplicate, first.duplicate), (first.seq, true, false));
    let other = Envelope { content: vec![Part::text("something else")], ..message };
    assert!(matches!(story.rooms.post(&key("ann"), other).await, Err(RoomError::IdReused)));
    let caller = key("ann");
    let both = (0..8)
        .map(|_| story.rooms.post(&caller, story.said(room, "key:ann", "m2", "at once")))
        .collect::<Vec<_>>();
    let posted = futures::future::join_all(both).await;
    let numbers: Vec<u64> = posted.into_iter().map(|posted| posted.unwrap().seq).collect();
    assert!(numbers.iter().all(|seq| *seq == numbers[0]), "{numbers:?}");
}

#[tokio::test]
async fn messages_of_many_senders_at_once_get_dense_numbers() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    let sending =
        (0..200).map(|number| {
            let story = &story;
            async move {
                story.say(room, "key:ann", &format!("m{number}"), &format!("text {number}")).await.unwrap()
            }
        });
    let mut numbers = futures::future::join_all(sending).await;
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(2..=201));
    let again = Story::on(story.store.clone());
    again.say(room, "key:ann", "after", "folded from the log").await.unwrap();
    assert_eq!(again.rooms.get(&key("ann"), room).await.unwrap().seq, 202);
}

#[tokio::test]
async fn two_processes_write_to_one_room() {
    let one = Story::begin();
    let two = Story::on(one.store.clone());
    let room = one.room(RoomSettings::default(), &[]).await;
    for number in 0..10 {
        let story = if number % 2 == 0 { &one } else { &two };
        story.say(room, "key:ann", &format!("m{number}"), &format!("text {number}")).await.unwrap();
    }
    assert_eq!(one.texts(room).await, two.texts(room).await);
    assert_eq!(one.texts(room).await.len(), 10);
}

#[tokio::test]
async fn an_agent_answers_when_it_is_mentioned_and_not_otherwise() {
    let story = Story::begin();
    let room = story
        .room(RoomSettings { reply_mode: ReplyMode::Mentions, ..RoomSettings::default() }, &["agent:echo"])
        .await;
    story.say(room, "key:ann", "m1", "to all").await.unwrap();
    story.settle(room).await;
    assert_eq!(story.texts(room).await.len(), 1);
    let mut mention = story.said(room, "key:ann", "m2", "@echo: ships");
    mention.mentions = vec![member("agent:echo")];
    story.rooms.post(&key("ann"), mention).await.unwrap();
    story.settle(room).await;
    let texts = story.texts(room).await;
    assert_eq!(texts.last().unwrap(), &("agent:echo".into(), "ships".into()), "{texts:?}");
    story.settle(room).await;
    assert_eq!(story.texts(room).await.len(), 3, "it answers once");
    let unknown = story.rooms.get(&key("ann"), room).await.unwrap();
    let echo = unknown.members.iter().find(|member| member.id == "agent:echo").unwrap();
    assert!(echo.joined && echo.processed >= 4);
}

#[tokio::test]
async fn a_default_agent_answers_people_and_a_task_gives_a_result() {
    let story = Story::begin();
    let settings = RoomSettings {
        reply_mode: ReplyMode::Default,
        default_agent: Some(member("agent:echo")),
        ..RoomSettings::default()
    };
    let room = story.room(settings, &["agent:echo"]).await;
    story.say(room, "key:ann", "m1", "hello").await.unwrap();
    story.settle(room).await;
    assert_eq!(story.texts(room).await.last().unwrap(), &("agent:echo".into(), "hello".into()));
    let mut assign =
        Envelope::new("m2".parse().unwrap(), room, member("key:ann"), MessageType::Assign, story.clock.now());
    let assignees = vec![member("agent:echo")];
    assign.assign = Some(AssignBlock { task_desc: "count".into(), assignees, ..AssignBlock::default() });
    assign.task_id = Some("t1".parse().unwrap());
    assert_eq!(story.rooms.post(&key("ann"), assign).await.unwrap().state, RoomState::Waiting);
    story.settle(room).await;
    let page = story.rooms.read(&key("ann"), room, 0, 100).await.unwrap();
    let result = page.events.iter().find(|event| event.envelope.kind == MessageType::Result).unwrap();
    assert_eq!((result.envelope.plain_text().as_str(), result.state), ("count", RoomState::Discussion));
}

#[tokio::test]
async fn an_agent_decides_by_a_structured_answer() {
    let story = Story::begin();
    story.agent(
        "boss",
        ScriptedRunner::new().complete("{\"type\":\"conclude\",\"conclude\":{\"answer\":\"tea\"}}"),
    );
    let settings = RoomSettings { floor: FloorPolicy::RoundRobin, ..RoomSettings::default() };
    let room = story.room(settings, &["agent:boss"]).await;
    let mut said = story.said(room, "key:ann", "m1", "what do we drink?");
    said.to = vec![member("agent:boss")];
    story.rooms.post(&key("ann"), said).await.unwrap();
    story.settle(room).await;
    let view = story.rooms.get(&key("ann"), room).await.unwrap();
    assert_eq!((view.state, view.conclusion.as_deref()), (RoomState::Concluded, Some("tea")));
    let late = story.say(room, "key:ann", "m2", "and cake").await;
    assert!(matches!(late, Err(RoomError::Refused(RoomRefusal::Ended(_)))), "{late:?}");
}

#[tokio::test]
async fn a_link_lets_a_known_caller_in_and_ends() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    story.say(room, "key:ann", "m1", "before").await.unwrap();
    let link =
        story.rooms.link(&key("ann"), room, MemberRole::Member, Some(Duration::from_secs(60))).await.unwrap();
    assert!(matches!(story.rooms.join(&key("bob"), "guess").await, Err(RoomError::BadLink)));
    story.rooms.join(&key("bob"), &link.token).await.unwrap();
    story.say(room, "key:bob", "m1", "after").await.unwrap();
    let seen = story.rooms.read(&key("bob"), room, 0, 10).await.unwrap();
    assert!(seen.events.iter().all(|event| event.seq > 2), "what was said before is not shown");
    let refused = story.rooms.link(&key("bob"), room, MemberRole::Member, None).await;
    assert!(matches!(refused, Err(RoomError::Refused(RoomRefusal::NotAllowed(..)))));
    story.clock.0.fetch_add(61_000, Ordering::Relaxed);
    assert!(matches!(story.rooms.join(&key("eve"), &link.token).await, Err(RoomError::BadLink)));
}

#[tokio::test]
async fn a_removed_member_reads_and_sends_nothing_more() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    let link = story.rooms.link(&key("ann"), room, MemberRole::Member, None).await.unwrap();
    story.rooms.join(&key("bob"), &link.token).await.unwrap();
    let mut remove =
        Envelope::new("r".parse().unwrap(), room, member("key:ann"), MessageType::Remove, story.clock.now());
    let extra = agentsite_protocol::JsonMap::new();
    remove.remove = Some(agentsite_protocol::room::RemoveBlock { member: member("key:bob"), extra });
    story.rooms.post(&key("ann"), remove).await.unwrap();
    assert!(matches!(story.say(room, "key:bob", "m", "still here").await, Err(RoomError::NoSuchRoom(_))));
    assert!(story.rooms.read(&key("bob"), room, 0, 10).await.is_err());
    assert!(story.rooms.list(&key("bob"), None, 10).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_follower_reads_on_from_its_cursor() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    story.say(room, "key:ann", "m1", "one").await.unwrap();
    let mut watch = story.rooms.follow(&key("ann"), room, 1).await.unwrap();
    assert_eq!(watch.next().await.unwrap().events.len(), 1);
    let waiting = watch.next();
    let saying = async {
        story.say(room, "key:ann", "m2", "two").await.unwrap();
        story.rooms.0.feed.publish(room);
    };
    let (page, ()) = futures::future::join(waiting, saying).await;
    assert_eq!(page.unwrap().events[0].envelope.plain_text(), "two");
    story.rooms.ack(&key("ann"), room, 3, 2).await.unwrap();
    assert!(story.rooms.ack(&key("ann"), room, 99, 2).await.is_err());
    let me = &story.rooms.get(&key("ann"), room).await.unwrap().members[0];
    assert_eq!((me.delivered, me.processed), (3, 2));
}

#[tokio::test]
async fn a_deadline_that_has_passed_moves_the_room() {
    let story = Story::begin();
    let settings = RoomSettings { quorum: 2, invitation_ms: 5_000, ..RoomSettings::default() };
    let room = story.room(settings, &[]).await;
    assert_eq!(story.rooms.tick_due().await.unwrap(), 0);
    story.clock.0.fetch_add(6_000, Ordering::Relaxed);
    assert_eq!(story.rooms.tick_due().await.unwrap(), 1);
    assert_eq!(story.rooms.get(&key("ann"), room).await.unwrap().state, RoomState::Aborted);
    assert_eq!(story.rooms.tick_due().await.unwrap(), 0);
}

#[tokio::test]
async fn a_room_is_searched_and_exported() {
    let story = Story::begin();
    let room = story.room(RoomSettings::default(), &[]).await;
    story.say(room, "key:ann", "m1", "the tram to the harbour").await.unwrap();
    let found = story.rooms.search(&key("ann"), room, "harb", 10).await.unwrap();
    assert_eq!(found.len(), 1);
    let mut all = String::new();
    for format in [RoomExportFormat::Markdown, RoomExportFormat::JsonLines] {
        let mut export = story.rooms.export(&key("ann"), room, format).await.unwrap();
        while let Some(piece) = export.next().await.unwrap() {
            all += &piece;
        }
    }
    assert!(all.starts_with("# Plans\n"), "{all}");
    assert!(all.contains("**key:ann** (discussion) the tram to the harbour"), "{all}");
    assert!(all.contains("\"type\":\"discuss\""), "{all}");
}
