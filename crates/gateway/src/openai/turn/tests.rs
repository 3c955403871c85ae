//! Stories of one turn, told by its events.
//!
//! How they look on the wire is held by the golden files.

use agentsite_protocol::{Role, TaskId};
use serde_json::json;

use super::*;

/// Folds events and checks that the pieces are the whole.
fn told(is_json: bool, kinds: Vec<TaskEventKind>) -> Turn {
    let mut turn = Turn::new(is_json);
    let mut pieces = String::new();
    for (index, kind) in kinds.into_iter().enumerate() {
        let at = Timestamp::from_millis(index as i64);
        let event = TaskEvent { task: TaskId::from_bytes([7; 16]), seq: index as u64 + 2, at, kind };
        pieces.push_str(&turn.take(&event));
    }
    if turn.fault.is_none() {
        assert_eq!(pieces, turn.text, "the pieces are the whole");
    }
    turn
}

fn made(id: &str, parts: Vec<Part>, append: bool) -> TaskEventKind {
    let artifact = Artifact { artifact_id: id.into(), parts, ..Artifact::default() };
    TaskEventKind::Artifact { artifact, append, last_chunk: false }
}

fn says(id: &str, text: &str, append: bool) -> TaskEventKind {
    made(id, vec![Part::text(text)], append)
}

fn status(state: TaskState, words: Option<&str>) -> TaskEventKind {
    let message = words.map(|words| Message::text("m".parse().unwrap(), Role::Agent, words));
    TaskEventKind::Status { state, message }
}

fn done() -> TaskEventKind {
    status(TaskState::Completed, None)
}

#[test]
fn chunks_join_and_things_are_parted() {
    let turn = told(
        false,
        vec![
            TaskEventKind::Started { attempt: 1 },
            status(TaskState::Working, Some("I look it up.")),
            says("a", "Hel", false),
            says("a", "lo", true),
            made("b", vec![Part::text("one"), Part::text("two"), Part::data(json!([1]))], false),
            TaskEventKind::Used { usage: Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() } },
            status(TaskState::Completed, Some("Done.")),
        ],
    );
    assert_eq!(turn.text, "Hello\n\none\ntwo\n[\n  1\n]");
    assert_eq!((turn.state, turn.usage.tokens()), (TaskState::Completed, 7));
}

#[test]
fn last_words_are_the_answer_when_nothing_was_made() {
    let turn = told(false, vec![status(TaskState::Completed, Some("Fine."))]);
    assert_eq!(turn.text, "Fine.");
}

#[test]
fn a_question_follows_what_was_made() {
    let turn = told(false, vec![says("a", "Draft.", false), status(TaskState::InputRequired, Some("Good?"))]);
    assert_eq!(turn.text, "Draft.\n\nGood?");
    assert!(turn.is_settled() && turn.fault.is_none());
}

#[test]
fn a_question_that_was_shown_is_not_repeated() {
    let asks = status(TaskState::InputRequired, Some("Which colour?"));
    assert_eq!(told(false, vec![says("a", "Which colour?\n", false), asks]).text, "Which colour?\n");
}

#[test]
fn a_refusal_is_an_answer_and_a_failure_is_not() {
    assert_eq!(told(false, vec![status(TaskState::Rejected, Some("No."))]).text, "No.");
    let turn = told(false, vec![says("a", "half", false), status(TaskState::Failed, Some("broken"))]);
    assert_eq!((turn.text.as_str(), turn.fault.as_deref()), ("half", Some("broken")));
    let turn = told(false, vec![status(TaskState::Failed, None)]);
    assert!(turn.fault.unwrap().contains("did not say why"));
}

#[test]
fn what_is_made_anew_shows_what_it_adds() {
    let turn = told(false, vec![says("a", "one", false), says("a", "one two", false), done()]);
    assert_eq!(turn.text, "one two");
    let turn = told(false, vec![says("a", "one", false), says("a", "uno", false), done()]);
    assert_eq!(turn.text, "one\n\nuno");
    let turn = told(false, vec![says("a", "x", false), says("b", "y", false), says("a", "x", false), done()]);
    assert_eq!(turn.text, "x\n\ny");
}

#[test]
fn json_is_exactly_the_data() {
    let data = |value| made("a", vec![Part::text("Here it is:"), Part::data(value)], false);
    assert_eq!(told(true, vec![data(json!({ "a": 1 })), done()]).text, r#"{"a":1}"#);
    let two = vec![data(json!(1)), made("b", vec![Part::data(json!(2))], false), done()];
    assert_eq!(told(true, two).text, "[1,2]");
    let anew = vec![data(json!(1)), data(json!(2)), done()];
    assert_eq!(told(true, anew).text, "2");
}

#[test]
fn json_in_words_is_taken_out_of_its_fence() {
    let fenced = "```json\n{\"a\": 1}\n```";
    assert_eq!(told(true, vec![says("a", fenced, false), done()]).text, "{\"a\": 1}");
    assert_eq!(told(true, vec![status(TaskState::Completed, Some("[1]"))]).text, "[1]");
    let turn = told(true, vec![says("a", "one", false), done()]);
    assert!(turn.fault.unwrap().contains("not in JSON"));
    assert_eq!(turn.state, TaskState::Failed);
}

#[test]
fn a_question_is_asked_in_words_also_where_json_was_wanted() {
    let turn = told(true, vec![status(TaskState::InputRequired, Some("Which one?"))]);
    assert_eq!(turn.text, "Which one?");
}

#[test]
fn a_message_is_a_whole_turn() {
    let mut message = Message::text("m".parse().unwrap(), Role::Agent, "one");
    message.parts.push(Part::text("two"));
    let turn = Turn::of_message(&message, false);
    assert_eq!((turn.text.as_str(), turn.state), ("one\ntwo", TaskState::Completed));
}
