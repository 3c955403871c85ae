//! Facts about the task machine, by example and by property.
//!
//! The properties hold for any sequence of commands: events are dense, replay gives the same task, nothing
//! follows a terminal state, and an illegal command changes nothing.

use proptest::prelude::*;

use super::*;
use crate::{Part, Role};

fn said(text: &str) -> Message {
    Message::text("m".parse().unwrap(), Role::Agent, text)
}

fn opening() -> TaskEvent {
    let opening = Opening {
        instance: None,
        ttl: None,
        conversation: None,
        room: None,
        agent: "echo".parse().unwrap(),
        context: "c1".parse().unwrap(),
        owner: "local".parse::<Principal>().unwrap(),
        message: Message::text("m1".parse().unwrap(), Role::User, "hello"),
        parent: None,
        deadline: None,
    };
    let id = TaskId::from_bytes([7; 16]);
    TaskEvent {
        task: id,
        seq: 1,
        at: Timestamp::from_millis(1),
        kind: TaskEventKind::Opened(Box::new(opening)),
    }
}

fn run(task: &mut Task, command: Command) -> Result<Vec<TaskEvent>, Refusal> {
    let events = task.decide(command, Timestamp::from_millis(2))?;
    for event in &events {
        task.apply(event).expect("decided events apply");
    }
    Ok(events)
}

#[test]
fn a_task_is_submitted_worked_on_and_completed() {
    let mut task = Task::open(&opening()).unwrap();
    assert_eq!(task.head.state, TaskState::Submitted);
    run(&mut task, Command::Start).unwrap();
    assert_eq!((task.head.state, task.attempt), (TaskState::Working, 1));
    let chunk = |text: &str, append| Step::Artifact {
        artifact: Artifact::text("a", text),
        append,
        last_chunk: append,
    };
    run(&mut task, Command::Report(chunk("he", false))).unwrap();
    run(&mut task, Command::Report(chunk("llo", true))).unwrap();
    run(&mut task, Command::Finish(Outcome::Completed(None))).unwrap();
    assert_eq!(task.head.state, TaskState::Completed);
    assert_eq!(task.answer(), "hello");
    assert_eq!(task.head.seq, 5);
}

#[test]
fn unwritten_chunks_join_into_one_event() {
    let mut task = Task::open(&opening()).unwrap();
    run(&mut task, Command::Start).unwrap();
    let step = Step::Artifact { artifact: Artifact::text("a", "one "), append: false, last_chunk: false };
    let mut events = run(&mut task, Command::Report(step)).unwrap();
    assert_eq!(task.join_chunk(events.last_mut(), Artifact::text("a", "two"), true), Ok(3));
    assert!(
        task.join_chunk(events.last_mut(), Artifact::text("a", "late"), false).is_err(),
        "the artifact is closed"
    );
    assert!(task.join_chunk(events.last_mut(), Artifact::text("b", "x"), false).is_err());
    assert_eq!(task.answer(), "one two");
    let mut again = Task::open(&opening()).unwrap();
    run(&mut again, Command::Start).unwrap();
    again.apply(&events[0]).unwrap();
    assert_eq!(again, task);
}

#[test]
fn a_question_waits_for_the_caller_and_the_answer_queues_it_again() {
    let mut task = Task::open(&opening()).unwrap();
    run(&mut task, Command::Start).unwrap();
    assert_eq!(run(&mut task, Command::Say(said("early"))), Err(Refusal::Busy(TaskState::Working)));
    run(&mut task, Command::Finish(Outcome::InputRequired(said("which one?")))).unwrap();
    run(&mut task, Command::Say(said("the red one"))).unwrap();
    assert_eq!(task.head.state, TaskState::Submitted);
    let texts: Vec<String> = task.history.iter().map(Message::plain_text).collect();
    assert_eq!(texts, ["hello", "which one?", "the red one"]);
    run(&mut task, Command::Start).unwrap();
    assert_eq!(task.attempt, 2);
}

#[test]
fn an_interrupted_task_goes_back_to_the_queue() {
    let mut task = Task::open(&opening()).unwrap();
    assert!(run(&mut task, Command::Requeue(said("x"))).is_err());
    run(&mut task, Command::Start).unwrap();
    run(&mut task, Command::Requeue(said("the site was restarted"))).unwrap();
    assert_eq!((task.head.state, task.retries), (TaskState::Submitted, 1));
    run(&mut task, Command::Start).unwrap();
    run(&mut task, Command::Finish(Outcome::InputRequired(said("which?")))).unwrap();
    run(&mut task, Command::Say(said("this"))).unwrap();
    assert_eq!(task.retries, 0, "a further message begins the count anew");
}

#[test]
fn a_task_is_handed_over_before_it_begins_and_while_it_works() {
    let mut task = Task::open(&opening()).unwrap();
    run(&mut task, Command::HandOver(said("its agent moved"))).unwrap();
    assert_eq!((task.head.state, task.retries), (TaskState::Submitted, 0), "it had not begun");
    run(&mut task, Command::Start).unwrap();
    run(&mut task, Command::HandOver(said("its agent moved"))).unwrap();
    assert_eq!((task.head.state, task.retries), (TaskState::Submitted, 1));
    run(&mut task, Command::Start).unwrap();
    run(&mut task, Command::Finish(Outcome::Completed(None))).unwrap();
    assert!(run(&mut task, Command::HandOver(said("too late"))).is_err());
}

#[test]
fn a_runner_that_cannot_begin_fails_the_task() {
    let mut task = Task::open(&opening()).unwrap();
    assert!(run(&mut task, Command::Finish(Outcome::Completed(None))).is_err());
    run(&mut task, Command::Finish(Outcome::Failed(said("no such command")))).unwrap();
    assert_eq!(task.head.state, TaskState::Failed);
}

#[test]
fn a_task_that_says_too_much_can_still_be_ended() {
    let mut task = Task::open(&opening()).unwrap();
    run(&mut task, Command::Start).unwrap();
    task.head.seq = MAX_EVENTS - 1;
    assert_eq!(
        task.decide(Command::Report(Step::Status(said("x"))), task.head.updated_at),
        Err(Refusal::TooManyEvents)
    );
    assert!(run(&mut task, Command::Finish(Outcome::Failed(said("too much")))).is_ok());
}

#[test]
fn events_out_of_order_are_refused_and_change_nothing() {
    let mut task = Task::open(&opening()).unwrap();
    let before = task.clone();
    let late = TaskEvent { seq: 3, kind: TaskEventKind::Started { attempt: 1 }, ..opening() };
    assert_eq!(task.apply(&late), Err(BadEvent::OutOfOrder { expected: 2, found: 3 }));
    let second = TaskEvent { seq: 2, ..opening() };
    assert_eq!(task.apply(&second), Err(BadEvent::Opening));
    assert_eq!(task, before);
}

#[test]
fn the_wire_form_is_a2a() {
    let mut task = Task::open(&opening()).unwrap();
    run(&mut task, Command::Start).unwrap();
    let made = Artifact { artifact_id: "a".into(), parts: vec![Part::text("x")], ..Artifact::default() };
    let step = Step::Artifact { artifact: made, append: false, last_chunk: true };
    let events = run(&mut task, Command::Report(step)).unwrap();
    let item = serde_json::to_value(events[0].wire(&task.head.context)).unwrap();
    let id = task.head.id.to_string();
    assert_eq!(
        item,
        serde_json::json!({"artifactUpdate": {"taskId": id, "contextId": "c1",
            "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": false, "lastChunk": true}})
    );
    let whole = serde_json::to_value(task.wire(Some(0))).unwrap();
    assert_eq!(whole["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(whole["status"]["timestamp"], "1970-01-01T00:00:00.002Z");
    assert!(whole.get("history").is_none());
}

fn any_command() -> impl Strategy<Value = Command> {
    let text = "[a-z]{0,6}";
    prop_oneof![
        Just(Command::Start),
        text.prop_map(|t| Command::Say(said(&t))),
        text.prop_map(|t| Command::Report(Step::Status(said(&t)))),
        (text, any::<bool>(), any::<bool>(), 0..3_u8).prop_map(|(t, append, last_chunk, id)| {
            Command::Report(Step::Artifact {
                artifact: Artifact::text(id.to_string(), t),
                append,
                last_chunk,
            })
        }),
        Just(Command::Report(Step::Used(Usage { calls: 1, ..Usage::default() }))),
        Just(Command::Report(Step::Memo(serde_json::json!({"remote": 1})))),
        text.prop_map(|t| Command::Finish(Outcome::InputRequired(said(&t)))),
        text.prop_map(|t| Command::Finish(Outcome::AuthRequired(said(&t)))),
        Just(Command::Finish(Outcome::Completed(None))),
        text.prop_map(|t| Command::Finish(Outcome::Failed(said(&t)))),
        text.prop_map(|t| Command::Finish(Outcome::Rejected(said(&t)))),
        Just(Command::Cancel(None)),
        text.prop_map(|t| Command::Expire(said(&t))),
        text.prop_map(|t| Command::Requeue(said(&t))),
        text.prop_map(|t| Command::HandOver(said(&t))),
    ]
}

proptest! {
    #[test]
    fn any_commands_leave_a_task_that_its_events_rebuild(commands in prop::collection::vec(any_command(), 0..60)) {
        let mut log = vec![opening()];
        let mut task = Task::open(&log[0]).unwrap();
        for command in commands {
            let before = task.clone();
            match run(&mut task, command) {
                Ok(events) => {
                    prop_assert!(!before.head.state.is_terminal(), "nothing follows a terminal state");
                    log.extend(events);
                }
                Err(_) => prop_assert_eq!(&before, &task),
            }
        }
        let numbers: Vec<u64> = log.iter().map(|event| event.seq).collect();
        prop_assert_eq!(numbers, (1..=log.len() as u64).collect::<Vec<_>>());
        let stored = serde_json::to_string(&log).unwrap();
        let mut read: Vec<TaskEvent> = serde_json::from_str(&stored).unwrap();
        for event in &mut read {
            event.task = task.head.id;
        }
        prop_assert_eq!(Task::replay(&read).unwrap().unwrap(), task);
    }
}
