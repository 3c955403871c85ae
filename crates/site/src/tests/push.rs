//! What receivers are told: every event, in order, at least once, through failures, crashes and deadlines.
//!
//! Deliveries leave by a courier that follows a script. Time is paused: the tokio clock moves by itself, the
//! story's when it is told to.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::push::{Courier, DeliveryAttempt, MAX_CONFIGS};
use crate::{DeliveryQuery, DeliveryView, JournalQuery, PushSection, Submission};
use agentsite_egress::DeliveryOutcome as Receipt;
use agentsite_protocol::{Period, PushAuthentication, PushConfig, Scope, TaskId};
use agentsite_store::{DeliveryReads, Upkeep};
use futures::future::BoxFuture;
use serde_json::Value;

/// One try, as the courier saw it.
#[derive(Debug, Clone)]
struct Carried {
    url: String,
    id: String,
    body: Value,
    at: Timestamp,
}

/// What a receiver does with a try; `None` for a receiver that never answers.
type Script = Box<dyn Fn(&Carried, usize) -> Option<Receipt> + Send>;

/// A courier that follows a script; without one everything is taken.
#[derive(Default)]
pub(super) struct StoryCourier {
    script: Mutex<Option<Script>>,
    carried: Mutex<Vec<Carried>>,
    rung: tokio::sync::Notify,
}

impl std::fmt::Debug for StoryCourier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("StoryCourier")
    }
}

impl Courier for StoryCourier {
    fn carry(&self, post: DeliveryAttempt) -> BoxFuture<'_, Receipt> {
        let carried = Carried {
            url: post.config.url,
            id: post.proof.idempotency_key,
            body: serde_json::from_slice(&post.body).unwrap(),
            at: post.now,
        };
        let answer = {
            let mut all = self.carried.lock().unwrap();
            let script = self.script.lock().unwrap();
            let answer = script.as_ref().map_or(Some(Receipt::Taken), |script| script(&carried, all.len()));
            all.push(carried);
            self.rung.notify_one();
            answer
        };
        Box::pin(async move {
            match answer {
                Some(receipt) => receipt,
                None => std::future::pending().await,
            }
        })
    }
}

impl StoryCourier {
    fn follows(&self, script: impl Fn(&Carried, usize) -> Option<Receipt> + Send + 'static) {
        *self.script.lock().unwrap() = Some(Box::new(script));
    }

    fn all(&self) -> Vec<Carried> {
        self.carried.lock().unwrap().clone()
    }

    /// What was carried first, once something was.
    pub(super) async fn first(&self) -> Value {
        loop {
            if let Some(carried) = self.all().into_iter().next() {
                return carried.body;
            }
            self.rung.notified().await;
        }
    }

    /// The kinds of what was carried to receivers whose address ends so.
    fn kinds(&self, to: &str) -> Vec<String> {
        let of = |carried: &Carried| {
            let (kind, content) = carried.body.as_object().unwrap().iter().next().unwrap();
            match content["status"]["state"].as_str() {
                Some(state) => format!("{kind} {}", state.trim_start_matches("TASK_STATE_").to_lowercase()),
                None => kind.clone(),
            }
        };
        self.all().iter().filter(|carried| carried.url.ends_with(to)).map(of).collect()
    }
}

fn later() -> Option<Receipt> {
    Some(Receipt::Later { why: "https://example.org answered 503".into(), wait: None, answered: true })
}

fn telling(message: Message, receiver: PushConfig) -> Submission {
    Submission { receiver: Some(receiver), ..message.into() }
}

fn receiver(name: &str) -> PushConfig {
    PushConfig {
        id: name.into(),
        url: format!("https://{name}.example.org/{name}"),
        token: "t0ken".into(),
        authentication: Some(PushAuthentication { scheme: "Bearer".into(), credentials: "cr3d".into() }),
        ..PushConfig::default()
    }
}

impl Story {
    async fn started() -> Self {
        let story = Self::begin().await;
        story.site.start().await.unwrap();
        story
    }

    async fn send_telling(&self, agent: &AgentName, config: PushConfig) -> TaskWatch {
        let sent = self.site.send(&Caller::local(), agent, telling(self.says("x"), config)).await.unwrap();
        let Sent::Task(watch) = sent else { panic!("the agent answers with tasks") };
        watch
    }

    /// So many seconds pass, and everything that is due happens.
    async fn pass(&self, seconds: i64) {
        self.clock.advance(seconds * 1_000);
        // tidy: waits because time is paused, and moves only when nothing else is left to do
        tokio::time::sleep(Duration::from_secs(3)).await;
    }

    async fn letters(&self) -> Vec<DeliveryView> {
        let query = DeliveryQuery { limit: 100, ..DeliveryQuery::default() };
        self.site.deliveries().list(&Caller::local(), query).await.unwrap()
    }
}

const WHOLE: [&str; 4] =
    ["task submitted", "statusUpdate working", "artifactUpdate", "statusUpdate completed"];

#[tokio::test(start_paused = true)]
async fn a_receiver_that_comes_with_the_message_is_told_everything_in_order() {
    let story = Story::started().await;
    let agent = story.agent("echo", echo());
    let task = story.send_telling(&agent, receiver("a")).await.settled().await;
    story.pass(0).await;
    assert_eq!(story.courier.kinds("/a"), WHOLE);
    let carried = story.courier.all();
    let mut ids: Vec<&str> = carried.iter().map(|carried| carried.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each delivery has an id of its own");
    assert_eq!(carried[0].body["task"]["id"], task.head.id.to_string());
    assert_eq!(carried[0].body["task"]["history"][0]["parts"][0]["text"], "x");
    assert!(story.letters().await.is_empty(), "what was taken is gone");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_comes_later_is_told_what_happens_from_then_on() {
    let story = Story::started().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("?"));
    let task = story.ask(&agent, "x").await;
    let local = Caller::local();
    let made = story.site.deliveries().put_receiver(
        &local,
        task.head.id,
        PushConfig { id: String::new(), ..receiver("a") },
    );
    let made = made.await.unwrap();
    assert!(!made.id.is_empty() && made.task_id == task.head.id.to_string());
    story.agent("asker", echo());
    let again = story.answers(&task, "y");
    let sent = story.site.send(&local, &agent, telling(again, receiver("b"))).await.unwrap();
    let Sent::Task(watch) = sent else { panic!() };
    watch.settled().await;
    story.pass(0).await;
    let rest = ["statusUpdate submitted", "statusUpdate working", "artifactUpdate", "statusUpdate completed"];
    assert_eq!(story.courier.kinds("/a"), rest);
    assert_eq!(story.courier.kinds("/b"), rest, "also one that comes with a further message");
}

#[tokio::test(start_paused = true)]
async fn a_failed_try_is_repeated_under_the_same_id_before_anything_else_is_told() {
    let story = Story::started().await;
    story.courier.follows(|_, before| if before < 3 { later() } else { Some(Receipt::Taken) });
    let agent = story.agent("echo", echo());
    story.send_telling(&agent, receiver("a")).await.settled().await;
    for _ in 0..10 {
        story.pass(10).await;
    }
    let first = WHOLE[0];
    assert_eq!(story.courier.kinds("/a"), [first, first, first, first, WHOLE[1], WHOLE[2], WHOLE[3]]);
    let carried = story.courier.all();
    assert!(carried[..4].iter().all(|carried| carried.id == carried_id(&story, 0)));
    assert_ne!(carried[4].id, carried[0].id);
}

fn carried_id(story: &Story, place: usize) -> String {
    story.courier.all()[place].id.clone()
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_a_dead_letter_until_somebody_sends_it_again() {
    let story = Story::started().await;
    let refused = || Some(Receipt::Refused("https://a.example.org answered 410 Gone".into()));
    story.courier.follows(
        move |carried, _| if carried.body["task"].is_null() { Some(Receipt::Taken) } else { refused() },
    );
    let agent = story.agent("echo", echo());
    let task = story.send_telling(&agent, receiver("a")).await.settled().await;
    story.pass(0).await;
    assert_eq!(story.courier.kinds("/a"), WHOLE, "what comes after goes on");
    let letters = story.letters().await;
    let letter = &letters[0];
    assert_eq!((letters.len(), letter.state, letter.attempts, letter.event), (1, "dead", 1, 1));
    assert_eq!((letter.receiver.as_str(), letter.config.as_str()), ("https://a.example.org", "a"));
    assert!(letter.error.as_ref().unwrap().contains("410"), "{letter:?}");
    let lines = JournalQuery { limit: 100, ..JournalQuery::default() };
    let journal = format!("{:?}", story.site.operations().journal(&Caller::local(), lines).await.unwrap());
    assert!(journal.contains("gave up telling https://a.example.org about event 1"), "{journal}");
    let shown = format!("{}{journal}", serde_json::to_string(&letters).unwrap());
    assert!(!shown.contains("t0ken") && !shown.contains("cr3d"), "{shown}");

    story.courier.follows(|_, _| Some(Receipt::Taken));
    story.pass(90_000).await;
    story.site.deliveries().retry(&Caller::local(), letter.id).await.unwrap();
    story.pass(0).await;
    let carried = story.courier.all();
    assert_eq!(carried[4].id, carried[0].id, "under the same id");
    assert_eq!(carried[4].body["task"]["id"], task.head.id.to_string());
    assert!(story.letters().await.is_empty());
    let gone = story.site.deliveries().retry(&Caller::local(), letter.id).await.unwrap_err();
    assert!(matches!(gone, SiteError::NoSuchLetter(_)), "{gone}");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_is_down_for_ever_is_given_up_at_the_deadline() {
    let push = PushSection { deadline: Period::seconds(600), ..PushSection::default() };
    let story = Story::with(SiteSettings { push, ..SiteSettings::default() }).await;
    story.site.start().await.unwrap();
    story.courier.follows(|_, _| later());
    let agent = story.agent("asker", ScriptedRunner::new().ask("?"));
    story.send_telling(&agent, receiver("a")).await.settled().await;
    let begun = story.clock.now();
    for _ in 0..80 {
        story.pass(10).await;
    }
    let letters = story.letters().await;
    assert_eq!(letters.len(), 3);
    for letter in &letters {
        assert_eq!(letter.state, "dead", "{letter:?}");
    }
    assert!(letters[0].attempts >= 5, "{letters:?}");
    assert!(letters[2].attempts >= 1, "each was tried at least once: {letters:?}");
    let late = story.courier.all().iter().map(|carried| carried.at.since(begun)).max().unwrap();
    assert!(late <= Duration::from_secs(620), "{late:?}");
    story.site.deliveries().remove(&Caller::local(), letters[0].id).await.unwrap();
    assert_eq!(story.letters().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_asks_for_time_gets_it() {
    let story = Story::started().await;
    let busy =
        || Some(Receipt::Later { why: "busy".into(), wait: Some(Duration::from_secs(100)), answered: true });
    story.courier.follows(move |_, before| if before == 0 { busy() } else { Some(Receipt::Taken) });
    let agent = story.agent("echo", echo());
    story.send_telling(&agent, receiver("a")).await.settled().await;
    story.pass(0).await;
    story.pass(98).await;
    assert_eq!(story.courier.all().len(), 1, "not before its time");
    story.pass(3).await;
    assert_eq!(story.courier.all().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_was_on_its_way_in_a_crash_is_told_again() {
    let story = Story::started().await;
    story.courier.follows(|_, _| None);
    let agent = story.agent("echo", echo());
    story.send_telling(&agent, receiver("a")).await.settled().await;
    story.pass(0).await;
    assert_eq!(story.courier.kinds("/a"), [WHOLE[0]], "claimed and not done");
    let first = carried_id(&story, 0);

    let story = story.crash().await;
    story.agent("echo", echo());
    story.site.start().await.unwrap();
    story.pass(1).await;
    assert!(story.courier.all().is_empty(), "the lease still holds");
    story.pass(30).await;
    assert_eq!(story.courier.kinds("/a"), WHOLE);
    assert_eq!(carried_id(&story, 0), first, "by another process under the same id");
}

#[tokio::test(start_paused = true)]
async fn a_task_and_its_receiver_are_accepted_together_or_not_at_all() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    story.store.hold();
    let (site, message) = (story.site.clone(), story.says("lost"));
    let sending = tokio::spawn(async move {
        site.send(&Caller::local(), &agent, telling(message, receiver("a"))).await.map(|_| ())
    });
    tokio::task::yield_now().await;
    let story = story.crash().await;
    assert!(sending.await.unwrap().is_err());
    let stats = story.store.stats().await.unwrap();
    assert_eq!((stats.tasks, stats.outbox), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_answers_holds_up_nobody_else() {
    let story = Story::started().await;
    story
        .courier
        .follows(|carried, _| if carried.url.contains("slow") { None } else { Some(Receipt::Taken) });
    let agent = story.agent("echo", echo());
    for number in 0..100 {
        let url = format!("https://slow.example.org/{number}");
        story.send_telling(&agent, PushConfig { url, ..receiver("slow") }).await.settled().await;
    }
    story.pass(0).await;
    let hanging = story.courier.all().len();
    assert_eq!(hanging, 4, "so many at once to one origin and no more");
    story.send_telling(&agent, receiver("quick")).await.settled().await;
    story.pass(0).await;
    assert_eq!(story.courier.kinds("/quick"), WHOLE);
    let waiting = story.letters().await;
    assert!(waiting.iter().all(|letter| letter.attempts <= 1), "stepping back is no try");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_was_removed_is_told_no_more() {
    let story = Story::started().await;
    story.courier.follows(|_, _| later());
    let agent = story.agent("echo", echo());
    let task = story.send_telling(&agent, receiver("a")).await.settled().await;
    story.pass(0).await;
    let told = story.courier.all().len();
    for _ in 0..2 {
        story.site.deliveries().remove_receiver(&Caller::local(), task.head.id, "a").await.unwrap();
    }
    story.pass(1_000).await;
    assert_eq!(story.courier.all().len(), told);
    assert!(story.letters().await.is_empty());
}

#[tokio::test]
async fn receivers_are_their_owners_matter() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("?"));
    let mut callers = Vec::new();
    for _ in 0..2 {
        let made = story.site.keys().create(&Caller::local(), "k", vec![Scope::Call], None).await.unwrap();
        callers.push(story.site.keys().caller(&made.secret).await.unwrap());
    }
    let (one, two) = (&callers[0], &callers[1]);
    let Sent::Task(watch) = story.try_send(one, &agent, story.says("mine")).await.unwrap() else { panic!() };
    let task = watch.settled().await.head.id;
    story.site.deliveries().put_receiver(one, task, receiver("a")).await.unwrap();
    let none: TaskId = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
    for id in [task, none] {
        let errors = [
            story.site.deliveries().put_receiver(two, id, receiver("b")).await.unwrap_err(),
            story.site.deliveries().receiver(two, id, "a").await.unwrap_err(),
            story.site.deliveries().receivers(two, id).await.unwrap_err(),
            story.site.deliveries().remove_receiver(two, id, "a").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), format!("task not found: there is no task `{id}` here"));
        }
    }
    let own = story.site.deliveries().receiver(one, task, "a").await.unwrap();
    assert_eq!(own, PushConfig { task_id: task.to_string(), ..receiver("a") });
    let seen =
        serde_json::to_string(&story.site.deliveries().receivers(&Caller::local(), task).await.unwrap())
            .unwrap();
    assert!(!seen.contains("t0ken") && !seen.contains("cr3d"), "{seen}");
    let missing = story.site.deliveries().receiver(one, task, "b").await.unwrap_err();
    assert!(matches!(missing, SiteError::NoSuchReceiver(_)), "{missing}");
    for error in [
        story.site.deliveries().list(one, DeliveryQuery::default()).await.map(|_| ()).unwrap_err(),
        story.site.deliveries().get(one, 1).await.map(|_| ()).unwrap_err(),
        story.site.deliveries().retry(one, 1).await.map(|_| ()).unwrap_err(),
        story.site.deliveries().remove(one, 1).await.unwrap_err(),
    ] {
        assert!(matches!(error, SiteError::Forbidden(_)), "{error}");
    }
}

#[tokio::test]
async fn receivers_are_bounded_replaced_and_checked() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("?"));
    let task = story.ask(&agent, "x").await;
    let put =
        async |config| story.site.deliveries().put_receiver(&Caller::local(), task.head.id, config).await;
    for number in 0..MAX_CONFIGS {
        put(receiver(&format!("r{number}"))).await.unwrap();
    }
    let full = put(receiver("more")).await.unwrap_err();
    assert!(matches!(full, SiteError::QuotaExceeded(_)), "{full}");
    put(PushConfig { token: "other".into(), ..receiver("r0") }).await.unwrap();
    let replaced = story.site.deliveries().receiver(&Caller::local(), task.head.id, "r0").await.unwrap();
    assert_eq!(replaced.token, "other");
    for url in ["http://127.0.0.1/", "https://[::ffff:10.0.0.1]/", "http://example.org/", "nowhere", ""] {
        let bad = PushConfig { url: url.into(), ..receiver("r1") };
        let refused = put(bad.clone()).await.unwrap_err();
        assert!(matches!(&refused, SiteError::BadPush(bad) if bad.field == "url"), "{url}: {refused}");
        let before = story.store.stats().await.unwrap().tasks;
        let refused =
            story.site.send(&Caller::local(), &agent, telling(story.says("x"), bad)).await.map(|_| ());
        assert!(matches!(refused, Err(SiteError::BadPush(_))), "{url}");
        assert_eq!(story.store.stats().await.unwrap().tasks, before, "nothing was accepted");
    }
}

#[tokio::test(start_paused = true)]
async fn a_site_that_tells_nobody_says_so() {
    let push = PushSection { enabled: false, ..PushSection::default() };
    let story = Story::with(SiteSettings { push, ..SiteSettings::default() }).await;
    story.site.start().await.unwrap();
    let agent = story.agent("echo", echo());
    let task = story.ask(&agent, "x").await.head.id;
    let refused =
        story.site.deliveries().put_receiver(&Caller::local(), task, receiver("a")).await.unwrap_err();
    assert!(matches!(refused, SiteError::PushOff), "{refused}");
    let sent = story.site.send(&Caller::local(), &agent, telling(story.says("x"), receiver("a"))).await;
    assert!(matches!(sent.map(|_| ()), Err(SiteError::PushOff)));
    assert!(
        !story
            .site
            .cards()
            .get(&Caller::local(), &agent, "http://x")
            .unwrap()
            .capabilities
            .push_notifications
    );
    assert!(!story.site.deliveries().are_on());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_answers_with_messages_has_nothing_to_tell() {
    let story = Story::started().await;
    let manifest = manifest("quick", "").name;
    let text = "name = \"quick\"\ndescription = \"d\"\nvisibility = \"public\"\nanswers = \"message\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install_runner(Manifest::read(text).unwrap(), Arc::new(echo()));
    let sent =
        story.site.send(&Caller::local(), &manifest, telling(story.says("hi"), receiver("a"))).await.unwrap();
    assert!(matches!(sent, Sent::Message(_)));
    story.pass(0).await;
    assert!(story.courier.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn retention_waits_for_what_must_leave_and_takes_the_receivers_with_the_task() {
    let story = Story::started().await;
    story.courier.follows(|_, _| later());
    let agent = story.agent("echo", echo());
    let task = story.send_telling(&agent, receiver("a")).await.settled().await.head.id;
    story.clock.advance(40 * 86_400_000);
    assert_eq!(story.site.expire().await.unwrap(), 0, "its receiver has not been told yet");
    for _ in 0..10 {
        story.pass(400).await;
    }
    assert!(story.letters().await.iter().all(|letter| letter.state == "dead"));
    assert_eq!(story.site.expire().await.unwrap(), 1);
    assert!(story.store.push_configs(task).await.unwrap().is_empty());
    assert!(story.letters().await.is_empty());
}
