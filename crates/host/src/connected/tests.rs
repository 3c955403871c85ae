//! Tests of programs at the other end of a session, without a socket.
//!
//! The program is a task of the test that reads the frames of its session and answers by its script. It never
//! sleeps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentsite_protocol::agent_session::{
    Assignment, Ending, EndingWay, FromAgent, FromSite, Introduction, Progress,
};
use agentsite_protocol::{Message, Role, Step, TaskId};

use super::*;
use crate::contract::{self, BEGINNING, Ran, Specimen, Subject, VirtualClock, job, run, soon};

fn runner(retry: u32) -> Arc<ConnectedRunner> {
    let clock = VirtualClock::at(BEGINNING);
    let log = AgentLog::new(clock.clone());
    Arc::new(ConnectedRunner::new("subject".parse().unwrap(), retry, log, clock, Arc::default()))
}

fn read(frame: &str) -> FromSite {
    FromSite::read(frame.as_bytes()).unwrap()
}

/// The next work that a program is given.
async fn work(session: &mut AgentSession) -> Assignment {
    match read(&soon("work comes", session.next()).await.unwrap()) {
        FromSite::Run(work) => *work,
        other => panic!("{other:?}"),
    }
}

async fn canceled(session: &mut AgentSession) -> TaskId {
    match read(&soon("a cancel comes", session.next()).await.unwrap()) {
        FromSite::Cancel { task } => task,
        other => panic!("{other:?}"),
    }
}

fn step(task: TaskId, progress: Progress) -> FromAgent {
    FromAgent::Step { task, progress }
}

fn end(task: TaskId, way: EndingWay) -> FromAgent {
    FromAgent::End { task, ending: Ending::new(way) }
}

/// A program that does the same with all work, until its session ends.
fn program(runner: &ConnectedRunner, behaviour: Behaviour) -> Arc<AtomicUsize> {
    let (mut session, at_work) = (runner.attach(), Arc::new(AtomicUsize::new(0)));
    let counted = at_work.clone();
    tokio::spawn(async move {
        let mut talking: Option<TaskId> = None;
        loop {
            let frame = tokio::select! {
                biased;
                frame = session.next() => match frame { Ok(frame) => frame, Err(_) => return },
                () = std::future::ready(()), if talking.is_some() => {
                    let task = talking.expect("it talks");
                    if let Some(FromSite::Cancel { .. }) = session.receive(step(task, Progress::Text("and ".into()))).await {
                        talking = None;
                    }
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            match read(&frame) {
                FromSite::Run(work) => {
                    counted.fetch_add(1, Ordering::SeqCst);
                    match behaviour {
                        Behaviour::Echo => {
                            session.receive(step(work.task, Progress::Text(work.text.clone()))).await;
                            session.receive(end(work.task, EndingWay::Completed)).await;
                            counted.fetch_sub(1, Ordering::SeqCst);
                        }
                        Behaviour::Wait => {
                            drop(session.receive(step(work.task, Progress::Status("waiting".into()))).await);
                        }
                        Behaviour::Talk => talking = Some(work.task),
                    }
                }
                FromSite::Cancel { .. } => {
                    talking = None;
                    counted.fetch_sub(1, Ordering::SeqCst);
                }
                other => panic!("{other:?}"),
            }
        }
    });
    at_work
}

#[derive(Clone, Copy)]
enum Behaviour {
    Echo,
    Wait,
    Talk,
}

fn specimen(behaviour: Behaviour) -> Specimen {
    let runner = runner(0);
    let at_work = program(&runner, behaviour);
    let gone = async move {
        while at_work.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    };
    Specimen { runner, gone: Box::pin(gone) }
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let answering = runner(0);
    program(&answering, Behaviour::Echo);
    contract::run_all(Subject {
        answering,
        answer: str::to_owned,
        waiting: Some(Box::new(|| specimen(Behaviour::Wait))),
        talking: Some(Box::new(|| specimen(Behaviour::Talk))),
    })
    .await;
}

/// Runs a job while the story tells what the program does.
async fn while_running<T>(runner: &ConnectedRunner, job: Job, story: impl Future<Output = T>) -> (Ran, T) {
    tokio::join!(run(runner, job), story)
}

#[tokio::test]
async fn steps_and_endings_become_those_of_the_task_with_its_own_ids() {
    let (runner, job) = (runner(0), job("hello"));
    let mut session = runner.attach();
    let (task, context) = (job.task, job.context.clone());
    let foreign = Message {
        task_id: Some("somebody-elses".into()),
        ..Message::text("their-id".parse().unwrap(), Role::User, "Which one?")
    };
    let story = async {
        let given = work(&mut session).await;
        assert_eq!((given.task, given.attempt, given.text.as_str()), (task, 1, "hello"));
        for progress in
            [Progress::Text("Hel".into()), Progress::Text("lo".into()), Progress::Said(foreign.clone())]
        {
            assert_eq!(session.receive(step(task, progress)).await, None);
        }
        let ending = Ending { way: EndingWay::InputRequired, message: Some(foreign), text: None };
        assert_eq!(session.receive(FromAgent::End { task, ending }).await, None);
    };
    let (ran, ()) = while_running(&runner, job, story).await;
    assert_eq!((ran.answer().as_str(), ran.ending()), ("Hello", ("input-required", "Which one?".into())));
    let Some(Step::Status(said)) = ran.steps.last() else { panic!("{ran:?}") };
    assert_eq!((said.role, said.task_id.as_deref()), (Role::Agent, Some(task.to_string().as_str())));
    assert_eq!(said.context_id, Some(context));
    assert_ne!(said.message_id.as_str(), "their-id");
}

#[tokio::test]
async fn every_way_to_end_has_words() {
    for (way, word) in [
        (EndingWay::Failed, "failed"),
        (EndingWay::Rejected, "rejected"),
        (EndingWay::InputRequired, "input-required"),
        (EndingWay::AuthRequired, "auth-required"),
    ] {
        let (runner, job) = (runner(0), job("x"));
        let (mut session, task) = (runner.attach(), job.task);
        let story = async {
            work(&mut session).await;
            session.receive(end(task, way)).await;
        };
        let (ran, ()) = while_running(&runner, job, story).await;
        assert_eq!(ran.ending().0, word);
        assert!(!ran.ending().1.is_empty(), "{word}");
    }
}

#[tokio::test]
async fn a_lost_connection_fails_a_run_that_may_not_be_begun_again() {
    let runner = runner(0);
    let mut session = runner.attach();
    let story = async {
        let given = work(&mut session).await;
        session.receive(step(given.task, Progress::Text("half".into()))).await;
        drop(session);
    };
    let (ran, ()) = while_running(&runner, job("x"), story).await;
    let (word, said) = ran.ending();
    assert_eq!((word, ran.answer().as_str()), ("failed", "half"));
    assert!(said.contains("was lost while it worked on this"), "{said}");
    let Health::Down(why) = runner.health() else { panic!("it is away") };
    assert!(why.contains("start it again"), "{why}");
}

#[tokio::test]
async fn a_run_that_may_be_begun_again_is_given_to_the_program_that_comes_back() {
    let runner = runner(1);
    let mut first = runner.attach();
    let story = async {
        let given = work(&mut first).await;
        first.receive(step(given.task, Progress::Text("half".into()))).await;
        drop(first);
        let mut second = runner.attach();
        let again = work(&mut second).await;
        assert_eq!((again.task, again.attempt), (given.task, 2));
        second.receive(step(again.task, Progress::Text("whole".into()))).await;
        second.receive(end(again.task, EndingWay::Completed)).await;
    };
    let (ran, ()) = while_running(&runner, job("x"), story).await;
    assert_eq!(ran.ending().0, "completed");
    let answers: Vec<_> = ran.steps.iter().filter(|step| matches!(step, Step::Artifact { .. })).collect();
    let [_, Step::Artifact { append: false, artifact, .. }] = answers.as_slice() else { panic!("{ran:?}") };
    assert_eq!(artifact.plain_text(), "whole", "the second run writes over what the first one left");
    let told = |step: &Step| matches!(step, Step::Status(words) if words.plain_text().contains("1 of 1"));
    assert!(ran.steps.iter().any(told), "{ran:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_a_while_for_a_program_that_is_away() {
    let runner = runner(0);
    let Health::Down(why) = runner.health() else { panic!("no program connected yet") };
    assert!(why.contains("waiting for its program"), "{why}");
    let (ran, ()) = while_running(&runner, job("x"), async {
        // tidy: waits because time is paused, and moves only when nothing else is left to do
        tokio::time::sleep(Duration::from_secs(5)).await;
        program(&runner, Behaviour::Echo);
    })
    .await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("completed", "x"));
    drop(runner.attach());
    let ran = run(&*runner, job("x")).await;
    assert!(ran.ending().1.contains("did not come back"), "{ran:?}");
}

#[tokio::test]
async fn a_second_connection_replaces_the_first_whose_words_count_no_more() {
    let runner = runner(0);
    let (mut first, job) = (runner.attach(), job("x"));
    let task = job.task;
    let story = async {
        work(&mut first).await;
        let second = runner.attach();
        assert_eq!(first.next().await, Err(SessionEnd::Replaced));
        let answer = first.receive(step(task, Progress::Text("late".into()))).await;
        assert_eq!(answer, Some(FromSite::Cancel { task }));
        drop(first);
        assert!(matches!(runner.presence(), Presence::Here { .. }), "the end of the first one ends nothing");
        second
    };
    let (ran, second) = while_running(&runner, job, story).await;
    assert_eq!((ran.ending().0, ran.answer().as_str()), ("failed", ""));
    drop(second);
    assert!(matches!(runner.presence(), Presence::Away { .. }));
}

#[tokio::test]
async fn steps_of_a_task_that_nobody_works_on_are_answered_with_its_cancel() {
    let runner = runner(0);
    let (session, task) = (runner.attach(), job("x").task);
    let answer = session.receive(step(task, Progress::Status("busy".into()))).await;
    assert_eq!(answer, Some(FromSite::Cancel { task }));
    assert_eq!(session.receive(end(task, EndingWay::Completed)).await, None);
    let introduction = Box::new(Introduction::new("subject".parse().unwrap(), "d"));
    let id = agentsite_protocol::agent_session::FrameId::number(1);
    let answer = session.receive(FromAgent::Register { id: id.clone(), introduction }).await;
    assert!(matches!(answer, Some(FromSite::Notice { .. })));
    assert_eq!(session.receive(FromAgent::Ping { id: id.clone() }).await, Some(FromSite::Pong { id }));
}

#[tokio::test]
async fn a_task_about_which_nonsense_is_said_fails_with_what_is_wrong() {
    let (runner, job) = (runner(0), job("x"));
    let (mut session, task) = (runner.attach(), job.task);
    let story = async {
        work(&mut session).await;
        session.reject_frame(task, "task/end: unknown variant `eaten`".into()).await;
        assert_eq!(canceled(&mut session).await, task, "the program is asked to stop");
    };
    let (ran, ()) = while_running(&runner, job, story).await;
    assert!(ran.ending().1.contains("eaten"), "{ran:?}");
}

#[tokio::test]
async fn a_program_that_does_not_read_loses_its_connection() {
    let runner = runner(0);
    let mut session = runner.attach();
    for _ in 0..=SESSION_QUEUE {
        let (report, _listener) = Reporter::channel();
        let running = runner.run(job("x"), report);
        // One look begins the run; dropping it sends the cancel.
        let _ = futures::future::select(running, std::future::ready(())).await;
    }
    assert_eq!(soon("it ends", session.ended()).await, SessionEnd::Overflow);
    assert_eq!(session.next().await, Err(SessionEnd::Overflow));
    assert!(matches!(runner.presence(), Presence::Away { .. }));
}

#[tokio::test]
async fn an_agent_that_is_taken_out_ends_its_link_and_its_waiting_runs() {
    let runner = runner(5);
    let session = runner.attach();
    let story = async {
        runner.retire(SessionEnd::Removed);
        assert_eq!(session.ended().await, SessionEnd::Removed);
        drop(session);
    };
    let (ran, ()) = while_running(&runner, job("x"), story).await;
    assert_eq!(ran.ending().0, "failed");
    soon("no run is left", runner.stop()).await;
    assert_eq!(runner.attach().ended().await, SessionEnd::Removed, "no program comes back to it");
}

#[tokio::test]
async fn of_a_long_history_the_newest_part_is_sent() {
    let (runner, mut long) = (runner(0), job("x"));
    let said =
        |number: usize| Message::text(format!("m{number}").parse().unwrap(), Role::User, format!("{number}"));
    long.history = (0..200).map(said).collect();
    long.history[198] = Message::text("big".parse().unwrap(), Role::User, "y".repeat(2 << 20));
    let (mut session, task) = (runner.attach(), long.task);
    let story = async {
        let given = work(&mut session).await;
        session.receive(end(task, EndingWay::Completed)).await;
        given.history
    };
    let (_, history) = while_running(&runner, long, story).await;
    assert_eq!(history.iter().map(Message::plain_text).collect::<Vec<_>>(), ["199"]);
}

#[tokio::test]
async fn a_message_that_fits_no_frame_is_refused() {
    let runner = runner(0);
    let _link = runner.attach();
    let ran = run(&*runner, job(&"x".repeat(5 << 20))).await;
    assert!(ran.ending().1.contains("too large"), "{:?}", ran.ending());
}
