//! Several processes serve one site from one store: a task that one runs is followed, cancelled and continued
//! through another, and taken up when its process dies.

use super::*;
use crate::{ProcessReport, Workers};
use agentsite_host::{Health, Job, Reporter};
use agentsite_protocol::Outcome;
use agentsite_store::ProcessInfo;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

/// How long a process lives without a renewal.
const TTL: Duration = Duration::from_secs(5);

/// One process of the site, with its background work.
struct Member {
    story: Story,
    processes: Processes,
    connected: Arc<Mutex<Vec<AgentName>>>,
    folder: Arc<Mutex<Vec<AgentName>>>,
}

impl std::ops::Deref for Member {
    type Target = Story;

    fn deref(&self) -> &Story {
        &self.story
    }
}

impl Member {
    /// A process joins; its background work begins with [`Self::start`], after its agents are installed.
    async fn join(store: MemStore, seed: u64) -> Self {
        let clock = Arc::new(StoryClock(AtomicI64::new(1_700_000_000_000)));
        let ids = Ids::new(clock, Arc::new(StoryRng(AtomicU64::new(seed))));
        let info = ProcessInfo { name: format!("process {seed}"), version: "1".into() };
        let processes = Processes::join(Arc::new(store.clone()), info, TTL).await.unwrap();
        let story = Story::of_process(store, ids, Vec::new(), processes.clone());
        Self { story, processes, connected: Arc::default(), folder: Arc::default() }
    }

    fn start(&self) {
        let (connected, folder) = (self.connected.clone(), self.folder.clone());
        let report = move || ProcessReport {
            connected: connected.lock().unwrap().clone(),
            agents: folder.lock().unwrap().iter().map(|name| (name.clone(), String::new())).collect(),
            ..Default::default()
        };
        let workers = Workers::new(self.ids.clock().clone());
        self.tasks.control().cluster(report).start_workers(&workers, &self.lifetime, &self.processes);
    }

    /// The process dies without a word.
    async fn kill(self) {
        self.store.kill();
        self.lifetime.halt(Duration::ZERO).await;
    }

    async fn watch(&self, id: agentsite_protocol::TaskId) -> TaskWatch {
        self.tasks.watch(&Caller::local(), id, 0).await.unwrap()
    }
}

/// Two processes of one site that both have the agent `one`, made by `runner`.
async fn two(more: &str, runner: impl Fn() -> ScriptedRunner) -> (Member, Member) {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    for member in [&a, &b] {
        member.agent_with("one", more, Arc::new(runner()));
        member.start();
    }
    (a, b)
}

fn agent(member: &Member) -> Arc<TaskAgent> {
    member.agents.lock().unwrap().values().next().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_task_of_one_process_is_followed_event_by_event_through_another() {
    let gate = Arc::new(Semaphore::new(0));
    let (a, b) = two("", || ScriptedRunner::new().chunk("first ").gate(&gate).chunk("second")).await;
    let id = a.send(&agent(&a), "go").await.id();
    let mut watch = b.watch(id).await;
    while watch.snapshot().answer() != "first " {
        watch.next().await.unwrap();
    }
    assert_eq!(state(&watch.snapshot()), TaskState::Working);
    gate.add_permits(1);
    let (mut last, mut seen) = (watch.snapshot().head.seq, 0);
    while let Some(events) = watch.next().await {
        for event in events {
            assert_eq!(event.seq, last + 1, "dense and once");
            last = event.seq;
            seen += 1;
        }
    }
    assert!(seen > 0);
    let task = b.tasks.get(&Caller::local(), id).await.unwrap();
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "first second"));
}

#[tokio::test(start_paused = true)]
async fn a_task_of_one_process_is_cancelled_through_another() {
    let (a, b) = two("", || ScriptedRunner::new().hold()).await;
    let id = a.send(&agent(&a), "go").await.id();
    let task = b.tasks.cancel(&Caller::local(), id).await.unwrap();
    assert_eq!(state(&task), TaskState::Canceled);
    assert!(!a.tasks.control().is_live(id));
    let again = b.tasks.cancel(&Caller::local(), id).await.unwrap_err();
    assert!(matches!(again, TaskError::NotCancelable(TaskState::Canceled)), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_question_asked_in_one_process_is_answered_through_another() {
    let (a, b) = two("", || ScriptedRunner::new().ask("which?")).await;
    b.agent("one", echo());
    let id = a.send(&agent(&a), "x").await.id();
    let mut watch = a.tasks.watch_to_end(&Caller::local(), id, 0).await.unwrap();
    let task = a.settled(watch.id()).await;
    assert_eq!(state(&task), TaskState::InputRequired);
    let answer = b.try_send(&Caller::local(), &agent(&b), b.answers(&task, "this")).await.unwrap();
    assert_eq!(answer.settled().await.answer(), "this");
    // The stream that was opened in the first process outlasts the change.
    let mut end = None;
    while let Some(events) = watch.next().await {
        end = events.last().map(|event| event.seq);
    }
    assert_eq!(end, Some(b.tasks.get(&Caller::local(), task.head.id).await.unwrap().head.seq));
}

#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_process_that_died_are_taken_up_and_its_streams_continue() {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    a.agent_with("one", "[limits]\nretry = 1", Arc::new(ScriptedRunner::new().chunk("half").hold()));
    a.agent_with("two", "", Arc::new(ScriptedRunner::new().chunk("half").hold()));
    b.agent_with("one", "[limits]\nretry = 1", Arc::new(echo()));
    b.agent_with("two", "", Arc::new(echo()));
    a.start();
    b.start();
    let agents = a.agents.lock().unwrap().clone();
    let retried = a.send(&agents[&"one".parse().unwrap()], "again").await.id();
    let failed = a.send(&agents[&"two".parse().unwrap()], "once").await.id();
    let watches = (b.watch(retried).await, b.watch(failed).await);
    let (halfway, halfway_too) = (a.watch(retried).await, a.watch(failed).await);
    for mut watch in [halfway, halfway_too] {
        while watch.snapshot().answer() != "half" {
            watch.next().await.unwrap();
        }
    }
    a.kill().await;
    pass(&store, &b, TTL).await;
    let (retried, failed) = (watches.0.settled().await, watches.1.settled().await);
    assert_eq!((state(&retried), retried.attempt), (TaskState::Completed, 2));
    assert!(retried.answer().ends_with("again"), "{}", retried.answer());
    assert_eq!((state(&failed), failed.answer().as_str()), (TaskState::Failed, "half"));
}

/// Lets time pass by the clock of the store, while this process renews its membership.
async fn pass(store: &MemStore, member: &Member, time: Duration) {
    for _ in 0..10 {
        store.advance(time / 5);
        // tidy: waits because time is virtual and moves only by waiting.
        tokio::time::sleep(member.processes.pause()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_slept_gives_its_work_up_and_joins_again() {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    let asleep = Arc::new(ScriptedRunner::new().chunk("half").hold());
    a.agent_with("one", "[limits]\nretry = 1", asleep.clone());
    b.agent_with("one", "[limits]\nretry = 1", Arc::new(echo()));
    b.start();
    let watch = a.send(&agent(&a), "go").await;
    let id = watch.id();
    asleep.started(1).await;
    // The first process does not renew: its background work has not begun.
    pass(&store, &b, TTL).await;
    let first = a.processes.id().unwrap();
    a.start();
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(2 * a.processes.pause()).await;
    assert!(a.processes.id().unwrap() > first, "it joined again");
    assert!(!a.tasks.control().is_live(id), "it gave the task up");
    let task = watch.settled().await;
    assert_eq!((state(&task), task.attempt), (TaskState::Completed, 2), "its watchers see the end");
    // It works on as a member.
    assert_eq!(state(&a.ask(&agent(&b), "more").await), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn what_a_process_leaves_is_taken_up_at_once() {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    a.agent_with("one", "[limits]\nretry = 1", Arc::new(ScriptedRunner::new().hold()));
    b.agent_with("one", "[limits]\nretry = 1", Arc::new(echo()));
    a.start();
    b.start();
    let id = a.send(&agent(&a), "go").await.id();
    a.lifetime.drain(Duration::ZERO).await;
    a.lifetime.halt(Duration::from_secs(1)).await;
    a.processes.leave().await.unwrap();
    let task = b.settled(id).await;
    assert_eq!((state(&task), task.attempt), (TaskState::Completed, 2));
}

/// The runner of an agent whose program is connected to one of the processes.
#[derive(Debug)]
struct AtProgram {
    here: bool,
    runner: ScriptedRunner,
}

impl Runner for AtProgram {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        assert!(self.here, "only the process with the program runs it");
        self.runner.run(job, report)
    }

    fn health(&self) -> Health {
        Health::Ready
    }

    fn is_here(&self) -> bool {
        self.here
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_connected_to_one_process_is_reached_through_the_other() {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    a.connected.lock().unwrap().push("one".parse().unwrap());
    for (member, here) in [(&a, true), (&b, false)] {
        member.agent("one", AtProgram { here, runner: echo() });
        member.start();
    }
    // Each has read what the other reports.
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(2 * b.processes.pause()).await;
    let watch = b.send(&agent(&b), "hello").await;
    let id = watch.id();
    let task = watch.settled().await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "hello"));
    // The same message again is the same task.
    let message = b.says("once");
    let first = b.try_send(&Caller::local(), &agent(&b), message.clone()).await.unwrap();
    let second = b.try_send(&Caller::local(), &agent(&b), message).await.unwrap();
    assert_eq!(first.id(), second.id());
    assert_ne!(first.id(), id);
    assert_eq!(state(&second.settled().await), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn the_concurrency_of_an_agent_holds_for_all_processes() {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    let (at_a, at_b) = (Arc::new(ScriptedRunner::new().hold()), Arc::new(ScriptedRunner::new().hold()));
    for (member, runner) in [(&a, &at_a), (&b, &at_b)] {
        member.folder.lock().unwrap().push("one".parse().unwrap());
        member.agent_with("one", "[limits]\nconcurrency = 1", runner.clone());
        member.start();
    }
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(3 * a.processes.pause()).await;
    let (first, second) = (b.send(&agent(&b), "first").await.id(), a.send(&agent(&a), "second").await.id());
    at_a.started(1).await;
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(10 * a.processes.pause()).await;
    assert_eq!((at_a.jobs().len(), at_b.jobs().len()), (1, 0), "one at a time in the whole site");
    let states = [b.watch(first).await.snapshot(), b.watch(second).await.snapshot()].map(|task| state(&task));
    assert!(states.contains(&TaskState::Working) && states.contains(&TaskState::Submitted), "{states:?}");
}
