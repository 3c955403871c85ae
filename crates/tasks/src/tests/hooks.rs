//! What hooks of tasks can rely on.
//!
//! Shown with a hook that writes a record in each commit and remembers each notification; the hooks of push,
//! usage and conversations are tested with their capabilities.

use std::sync::atomic::AtomicBool;

use agentsite_host::Ephemeral;
use agentsite_protocol::TaskId;
use agentsite_store::{RecordChange, RecordQuery, RecordReads, StoredRecord, Upkeep};

use super::*;
use crate::{Contribution, Origin, TaskIntent, TaskMoment, TaskRequest};

/// The collection of the hook.
const COLLECTION: &str = "witness";

/// Writes a record with the number of the last event for each commit of a task, and remembers what it heard.
#[derive(Debug, Default)]
struct Witness {
    heard: Mutex<Vec<(TaskId, u64, bool)>>,
    origins: Mutex<Vec<Origin>>,
    refuses: AtomicBool,
}

impl TaskHook for Witness {
    fn admit(&self, intent: &TaskIntent<'_>) -> Result<(), TaskError> {
        if !self.refuses.load(Ordering::Relaxed) {
            return Ok(());
        }
        let TaskIntent { caller, agent, message, origin, task } = intent;
        let (owner, words) = (caller.owner().as_str(), message.plain_text());
        let words = format!("{owner} may not say {words} to {agent} now ({origin:?}, {task:?})");
        Err(TaskError::Forbidden(words))
    }

    fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
        let head = &moment.task.head;
        let key = format!("{}-{:04}", head.id, head.seq);
        let record = StoredRecord::new(key, None, moment.events.len().to_string());
        contribution.add(RecordChange::Put { collection: COLLECTION, record });
    }

    fn committed(&self, moment: &TaskMoment<'_>) {
        let head = &moment.task.head;
        self.heard.lock().unwrap().push((head.id, head.seq, moment.ends()));
        self.origins.lock().unwrap().push(moment.origin());
    }
}

/// A hook with nothing to do.
#[derive(Debug)]
struct Quiet;

impl TaskHook for Quiet {}

impl Witness {
    /// The number of the last event of each commit of a task that the hook heard of.
    fn heard(&self, task: TaskId) -> Vec<u64> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(id, ..)| *id == task).map(|(_, seq, _)| *seq).collect()
    }
}

/// The same numbers as the store has them.
async fn written(story: &Story, task: TaskId) -> Vec<u64> {
    let records = story.store.records(RecordQuery::of(COLLECTION, 1_000)).await.unwrap();
    let prefix = format!("{task}-");
    records.iter().filter_map(|record| record.key.strip_prefix(&prefix)?.parse().ok()).collect()
}

#[tokio::test]
async fn a_hook_writes_in_every_commit_of_a_task_and_hears_of_each_once() {
    let witness = Arc::new(Witness::default());
    let story = Story::with_hook(witness.clone());
    let agent = story.agent("asker", ScriptedRunner::new().chunk("half").ask("which?"));
    let task = story.ask(&agent, "x").await;
    let watch = story.try_send(&Caller::local(), &agent, story.answers(&task, "y")).await.unwrap();
    watch.settled().await;
    story.tasks.cancel(&Caller::local(), task.head.id).await.unwrap();
    let last = story.tasks.get(&Caller::local(), task.head.id).await.unwrap().head.seq;
    let heard = witness.heard(task.head.id);
    assert_eq!(heard, written(&story, task.head.id).await, "contributed and heard are the same commits");
    assert!(heard.is_sorted_by(|one, next| one < next), "none twice: {heard:?}");
    assert_eq!(heard.last(), Some(&last));
    let ends = witness.heard.lock().unwrap().iter().filter(|(.., ends)| *ends).count();
    assert_eq!(ends, 1, "a task ends once");
}

#[tokio::test]
async fn what_the_store_refuses_leaves_nothing_of_a_hook() {
    let witness = Arc::new(Witness::default());
    let story = Story::with_hook(witness.clone());
    let agent = story.agent("echo", echo());
    story.store.fail_next(StoreError::Full);
    story.try_send(&Caller::local(), &agent, story.says("x")).await.unwrap_err();
    assert!(witness.heard.lock().unwrap().is_empty());
    assert!(story.store.records(RecordQuery::of(COLLECTION, 10)).await.unwrap().is_empty());
    assert_eq!(story.store.stats().await.unwrap().tasks, 0);
}

#[tokio::test]
async fn a_hook_whose_contribution_does_not_fit_refuses_the_task() {
    /// Always writes the same new record.
    #[derive(Debug)]
    struct Once;
    impl TaskHook for Once {
        fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
            if moment.task.head.seq == moment.events.len() as u64 {
                let record = StoredRecord::new("only", None, String::new());
                contribution.add(RecordChange::Put { collection: COLLECTION, record });
            }
        }
    }
    let story = Story::with_hook(Arc::new(Once));
    let agent = story.agent("echo", echo());
    assert_eq!(state(&story.ask(&agent, "first").await), TaskState::Completed);
    let refused = story.try_send(&Caller::local(), &agent, story.says("second")).await.unwrap_err();
    assert!(matches!(refused, TaskError::Store(StoreError::Moved(_))), "{refused}");
    assert_eq!(story.store.stats().await.unwrap().tasks, 1);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_is_tried_again_is_heard_once() {
    let witness = Arc::new(Witness::default());
    let story = Story::with_hook(witness.clone());
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let agent = story.agent("slow", ScriptedRunner::new().gate(&gate).chunk("kept"));
    let watch = story.send(&agent, "go").await;
    story.store.fail_next(StoreError::Full);
    gate.add_permits(2);
    let task = watch.settled().await;
    assert_eq!(witness.heard(task.head.id), written(&story, task.head.id).await);
}

#[tokio::test]
async fn recovery_after_a_crash_is_a_commit_like_any_other() {
    let story = Story::with_hook(Arc::new(Witness::default()));
    let runner = Arc::new(ScriptedRunner::new().hold());
    let agent = story.agent_with("one", "[limits]\nretry = 1", runner.clone());
    let retried = story.send(&agent, "go").await.id();
    let doomed = story.agent_with("two", "", Arc::new(ScriptedRunner::new().hold()));
    let failed = story.send(&doomed, "go").await.id();
    runner.started(1).await;
    let before = [written(&story, retried).await, written(&story, failed).await];

    let witness = Arc::new(Witness::default());
    let story = story.crash_to(vec![witness.clone()]);
    story.agent_with("one", "[limits]\nretry = 1", Arc::new(echo()));
    story.agent("two", echo());
    story.recover().await;
    story.settled(retried).await;
    for (task, before) in [retried, failed].into_iter().zip(before) {
        let heard = witness.heard(task);
        assert!(!heard.is_empty());
        let all: Vec<u64> = before.into_iter().chain(heard).collect();
        assert_eq!(all, written(&story, task).await);
    }
}

#[tokio::test]
async fn a_refusal_leaves_nothing_and_takes_no_slot() {
    let witness = Arc::new(Witness::default());
    let story = Story::with_hook(witness.clone());
    let asker =
        story.agent_with("asker", "[limits]\nconcurrency = 1", Arc::new(ScriptedRunner::new().ask("which?")));
    let brief = story.agent_with("brief", "answers = \"message\"", Arc::new(echo()));
    let task = story.ask(&asker, "x").await;
    let heard = witness.heard.lock().unwrap().len();
    witness.refuses.store(true, Ordering::Relaxed);
    let me = Caller::local();
    for message in [story.says("new"), story.answers(&task, "more")] {
        let refused = story.try_send(&me, &asker, message).await.unwrap_err();
        assert!(matches!(refused, TaskError::Forbidden(_)), "{refused}");
    }
    let refused = story.tasks.ask(&me, &brief, story.says("quick"), Ephemeral::default()).await.unwrap_err();
    assert!(matches!(refused, TaskError::Forbidden(_)), "{refused}");
    assert_eq!(witness.heard.lock().unwrap().len(), heard);
    assert_eq!(story.store.stats().await.unwrap().tasks, 1);
    assert_eq!((asker.running(), asker.waiting()), (0, 0));
}

#[tokio::test]
async fn a_task_says_where_it_came_from() {
    let witness = Arc::new(Witness::default());
    let story = Story::with_hook(witness.clone());
    let agent = story.agent("echo", echo());
    let (parent, me) = (story.ask(&agent, "x").await.head.id, Caller::local());
    let called = TaskRequest { origin: Origin::Task(parent), ..TaskRequest::from(story.says("y")) };
    story.tasks.send(&me, agent.clone(), called).await.unwrap().settled().await;
    let origins = witness.origins.lock().unwrap();
    assert!(origins.contains(&Origin::Call) && origins.contains(&Origin::Task(parent)), "{origins:?}");
}

#[tokio::test]
async fn a_hook_that_came_with_a_message_takes_part_in_its_commit_alone() {
    let (attached, registered) = (Arc::new(Witness::default()), Arc::new(Quiet));
    let story = Story::with_hook(registered);
    let agent = story.agent("asker", ScriptedRunner::new().ask("which?"));
    let request = TaskRequest { attached: vec![attached.clone()], ..TaskRequest::from(story.says("x")) };
    let task = story.tasks.send(&Caller::local(), agent.clone(), request).await.unwrap().settled().await;
    assert_eq!(attached.heard(task.head.id).len(), 1, "the later commits of the task are not its matter");
    let watch = story.try_send(&Caller::local(), &agent, story.answers(&task, "y")).await.unwrap();
    watch.settled().await;
    assert_eq!(attached.heard(task.head.id), written(&story, task.head.id).await);
    assert_eq!(attached.heard(task.head.id).len(), 1);
}
