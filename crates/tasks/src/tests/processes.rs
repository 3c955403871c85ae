//! Several processes serve one site from one store: a task that one runs is followed, cancelled and continued
//! through another, and taken up when its process dies.

use super::*;
use crate::{ProcessReport, Workers};
use agentsite_host::{Ephemeral, Health, Job, Reporter};
use agentsite_protocol::Outcome;
use agentsite_store::{ProcessInfo, RecordQuery};
use futures::future::BoxFuture;
use std::sync::atomic::AtomicBool;
use tokio::sync::Semaphore;

/// How long a process lives without a renewal.
const TTL: Duration = Duration::from_secs(5);

/// One process of the site, with its background work.
struct Member {
    story: Story,
    processes: Processes,
    connected: Arc<Mutex<Vec<AgentName>>>,
    folder: Arc<Mutex<Vec<AgentName>>>,
    clock: Arc<StoryClock>,
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
        let ids = Ids::new(clock.clone(), Arc::new(StoryRng(AtomicU64::new(seed))));
        let info = ProcessInfo { name: format!("process {seed}"), version: "1".into() };
        let processes = Processes::join(Arc::new(store.clone()), info, TTL).await.unwrap();
        let story = Story::of_process(store, ids, Vec::new(), processes.clone());
        Self { story, processes, connected: Arc::default(), folder: Arc::default(), clock }
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
    // The first process is frozen: it does not renew.
    a.processes.stop_renewing();
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

#[tokio::test(start_paused = true)]
async fn a_process_stays_a_member_while_it_starts_and_while_it_drains() {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    let gate = Arc::new(Semaphore::new(0));
    a.agent_with("one", "", Arc::new(ScriptedRunner::new().gate(&gate).chunk("done")));
    b.start();
    // The start of the first one takes far longer than its lease: its background work has not begun.
    let number = a.processes.id();
    pass(&store, &b, 3 * TTL).await;
    assert_eq!(b.processes.count(), 2, "nobody declared it dead");
    a.start();
    let watch = a.send(&agent(&a), "go").await;
    // It drains far longer than its lease, too, because a task still runs.
    let draining = tokio::spawn({
        let lifetime = a.lifetime.clone();
        async move { lifetime.drain(100 * TTL).await }
    });
    pass(&store, &b, 3 * TTL).await;
    assert_eq!((a.processes.id(), b.processes.count()), (number, 2));
    gate.add_permits(1);
    assert_eq!(watch.settled().await.answer(), "done", "what it writes is taken");
    assert!(draining.await.unwrap());
    a.processes.leave().await.unwrap();
    pass(&store, &b, TTL).await;
    assert_eq!(b.processes.count(), 1);
}

/// The runner of an agent whose program is connected to one of the processes.
#[derive(Debug)]
struct AtProgram {
    here: AtomicBool,
    runner: ScriptedRunner,
}

impl AtProgram {
    fn new(here: bool, runner: ScriptedRunner) -> Arc<Self> {
        Arc::new(Self { here: AtomicBool::new(here), runner })
    }
}

impl Runner for AtProgram {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        if self.is_here() {
            return self.runner.run(job, report);
        }
        // Waits for the program, as a connected agent does.
        Box::pin(async move {
            job.cancel.cancelled().await;
            Outcome::Canceled(None)
        })
    }

    fn health(&self) -> Health {
        Health::Ready
    }

    fn is_here(&self) -> bool {
        self.here.load(Ordering::Relaxed)
    }
}

/// Two processes; the program of the agent `one` is connected to the first, which runs it by this script.
async fn at_the_first(more: &str, runner: ScriptedRunner) -> (Member, Member, Arc<AtProgram>) {
    let store = MemStore::shared();
    let (a, b) = (Member::join(store.clone(), 1).await, Member::join(store.another(), 2).await);
    a.connected.lock().unwrap().push("one".parse().unwrap());
    let program = AtProgram::new(true, runner);
    a.agent_with("one", more, program.clone());
    b.agent_with("one", more, AtProgram::new(false, echo()));
    a.start();
    b.start();
    // Each has read what the other reports.
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(2 * b.processes.pause()).await;
    (a, b, program)
}

/// An agent that keeps no record.
const NO_RECORD: &str = "answers = \"message\"";

async fn asked(member: &Member, text: &str) -> Result<Message, TaskError> {
    let message = member.says(text);
    member.tasks.ask(&Caller::local(), &agent(member), message, Ephemeral::default()).await
}

async fn calls(member: &Member) -> usize {
    let query = RecordQuery::of("process-calls", 10);
    agentsite_store::RecordReads::records(&member.store, query).await.unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_keeps_no_record_is_asked_through_every_process() {
    let (a, b, program) = at_the_first(NO_RECORD, echo()).await;
    let answer = asked(&b, "hello").await.unwrap();
    assert_eq!(answer.plain_text(), "hello");
    assert!(answer.context_id.is_some() && answer.task_id.is_none());
    assert_eq!(program.runner.jobs().len(), 1, "once");
    assert_eq!(asked(&a, "here").await.unwrap().plain_text(), "here");
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(b.processes.pause()).await;
    assert_eq!(calls(&b).await, 0, "nothing is kept");
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_elsewhere_says_of_a_failure_reaches_the_caller() {
    let (_a, b, _) = at_the_first(NO_RECORD, ScriptedRunner::new().fail("no ink")).await;
    let error = asked(&b, "print").await.unwrap_err();
    assert!(matches!(&error, TaskError::Agent(why) if why == "no ink"), "{error}");
    let slow = "answers = \"message\"\n[limits]\ntimeout = \"3s\"";
    let (_a, b, _) = at_the_first(slow, ScriptedRunner::new().hold()).await;
    let error = asked(&b, "print").await.unwrap_err();
    assert!(error.to_string().contains("did not answer within 3s"), "{error}");
    let busy = "answers = \"message\"\n[limits]\nconcurrency = 1\nqueue = 0";
    let (_a, b, program) = at_the_first(busy, ScriptedRunner::new().hold()).await;
    let (first, second) =
        tokio::join!(tokio::time::timeout(Duration::from_secs(2), asked(&b, "first")), async {
            program.runner.started(1).await;
            asked(&b, "second").await
        });
    assert!(first.is_err(), "it holds on");
    assert!(matches!(second, Err(TaskError::QueueFull { .. })), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_goes_away_stops_the_work_in_the_other_process() {
    let (a, b, program) = at_the_first(NO_RECORD, ScriptedRunner::new().hold()).await;
    let gone = tokio::time::timeout(Duration::from_secs(2), asked(&b, "go")).await;
    assert!(gone.is_err());
    program.runner.started(1).await;
    let job = program.runner.jobs().remove(0);
    tokio::time::timeout(TTL, job.cancel.cancelled()).await.expect("the run is stopped");
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(a.processes.pause()).await;
    assert_eq!(calls(&b).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_learns_that_the_process_which_worked_for_it_died() {
    let (a, b, program) = at_the_first(NO_RECORD, ScriptedRunner::new().hold()).await;
    let store = b.store.clone();
    let (answer, ()) = tokio::join!(asked(&b, "go"), async {
        program.runner.started(1).await;
        a.kill().await;
        pass(&store, &b, 2 * TTL).await;
    });
    let error = answer.unwrap_err();
    assert!(error.to_string().contains("was lost"), "{error}");
    assert_eq!(program.runner.jobs().len(), 1, "it is not tried again");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_a_while_for_a_program_and_then_fails() {
    let (a, b, program) = at_the_first(NO_RECORD, echo()).await;
    program.here.store(false, Ordering::Relaxed);
    a.connected.lock().unwrap().clear();
    let error = asked(&b, "hello").await.unwrap_err();
    assert!(error.to_string().contains("no process of this site can run one"), "{error}");
    // It comes back while a call waits.
    let (answer, ()) = tokio::join!(asked(&b, "hello"), async {
        // tidy: waits because time is virtual and moves only by waiting.
        tokio::time::sleep(TTL).await;
        program.here.store(true, Ordering::Relaxed);
        a.connected.lock().unwrap().push("one".parse().unwrap());
    });
    assert_eq!(answer.unwrap().plain_text(), "hello");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_program_follows_it_to_another_process() {
    let (a, b, program) = at_the_first("[limits]\nconcurrency = 1", ScriptedRunner::new().hold()).await;
    // The connection is lost, and no process has the program.
    program.here.store(false, Ordering::Relaxed);
    a.connected.lock().unwrap().clear();
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(2 * b.processes.pause()).await;
    let (first, second) = (a.send(&agent(&a), "first").await, a.send(&agent(&a), "second").await);
    let states = [a.watch(first.id()).await.snapshot(), a.watch(second.id()).await.snapshot()];
    assert_eq!(states.map(|task| state(&task)), [TaskState::Working, TaskState::Submitted]);
    // It connects to the other one.
    b.agent_with("one", "[limits]\nconcurrency = 1", AtProgram::new(true, echo()));
    b.connected.lock().unwrap().push("one".parse().unwrap());
    let (first, second) = (first.settled().await, second.settled().await);
    assert_eq!((state(&first), first.answer().as_str(), first.attempt), (TaskState::Completed, "first", 2));
    assert_eq!((second.answer().as_str(), second.attempt), ("second", 1), "it had not begun");
    let events = b.tasks.events(&Caller::local(), first.head.id, 0, 100).await.unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "dense");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_handed_over_is_cancelled_like_any_other() {
    let (a, b, program) = at_the_first("", ScriptedRunner::new().hold()).await;
    program.here.store(false, Ordering::Relaxed);
    a.connected.lock().unwrap().clear();
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(2 * b.processes.pause()).await;
    let id = a.send(&agent(&a), "go").await.id();
    let held = Arc::new(ScriptedRunner::new().hold());
    b.agent_with("one", "", held.clone());
    b.connected.lock().unwrap().push("one".parse().unwrap());
    held.started(1).await;
    assert!(!a.tasks.control().is_live(id) && b.tasks.control().is_live(id));
    assert_eq!(state(&a.tasks.cancel(&Caller::local(), id).await.unwrap()), TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_minutes_off_does_not_change_the_order_within_a_task() {
    let (a, b) = two("", || ScriptedRunner::new().ask("which?")).await;
    b.agent("one", echo());
    b.clock.0.fetch_sub(300_000, Ordering::Relaxed);
    let first = a.ask(&agent(&a), "x").await;
    let answer = b.try_send(&Caller::local(), &agent(&b), b.answers(&first, "this")).await.unwrap();
    let task = answer.settled().await;
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "this"));
    let events = a.tasks.events(&Caller::local(), task.head.id, 0, 100).await.unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(events.last().unwrap().at < events[0].at, "the times are those of the processes");
    let texts: Vec<String> = task.history.iter().map(Message::plain_text).collect();
    assert_eq!(texts, ["x", "which?", "this"]);
    assert_eq!(a.tasks.get(&Caller::local(), task.head.id).await.unwrap().head, task.head);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_connected_to_one_process_is_reached_through_the_other() {
    let (_a, b, _) = at_the_first("", echo()).await;
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
