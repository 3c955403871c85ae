//! Tasks and the events of a stream.
//!
//! Promises: states have the names of 0.3 (`input-required`), and one that 0.3 lacks is `unknown`. `final` is
//! set on a status after which the stream ends: the task has ended, or waits for its caller. Objects come and
//! go without the wrapper that 1.0 puts around them.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::content::{downgrade_artifact, downgrade_message, upgrade_artifact, upgrade_message};
use super::member::{change_each, change_object, drop_nulls};
use crate::{JsonMap, TaskState};

/// The name both versions use for an unspecified state.
const UNKNOWN: (&str, &str) = ("TASK_STATE_UNSPECIFIED", "unknown");

/// What the four things of a stream are called: the wrapper of 1.0, the `kind` of 0.3.
pub(super) const ITEMS: [(&str, &str); 4] = [
    ("task", "task"),
    ("message", "message"),
    ("statusUpdate", "status-update"),
    ("artifactUpdate", "artifact-update"),
];

/// Makes one of the four things that of 0.3; `wrapper` is its name in 1.0.
pub(super) fn downgrade_thing(wrapper: &str, thing: &mut JsonMap) {
    match wrapper {
        "task" => downgrade_task(thing),
        "message" => downgrade_message(thing),
        "statusUpdate" => downgrade_status_update(thing),
        _ => {
            drop_nulls(thing);
            change_object(thing, "artifact", downgrade_artifact);
            thing.insert("kind".into(), "artifact-update".into());
        }
    }
}

/// Makes one of the four things that of 1.0; `wrapper` is its name in 1.0.
pub(super) fn upgrade_thing(wrapper: &str, thing: &mut JsonMap) {
    match wrapper {
        "task" => upgrade_task(thing),
        "message" => upgrade_message(thing),
        other => {
            drop_nulls(thing);
            thing.remove("kind");
            if other == "statusUpdate" {
                thing.remove("final");
                change_object(thing, "status", upgrade_status);
            } else {
                change_object(thing, "artifact", upgrade_artifact);
            }
        }
    }
}

/// Which of the four things this is, by its `kind` or, where that is missing, by its members.
pub(super) fn wrapper_of(thing: &JsonMap) -> Option<&'static str> {
    if let Some(kind) = thing.get("kind").and_then(Value::as_str) {
        return ITEMS.iter().find(|(_, old)| *old == kind).map(|(wrapper, _)| *wrapper);
    }
    let has = |name: &str| thing.contains_key(name);
    Some(match () {
        () if has("artifact") => "artifactUpdate",
        () if has("status") && has("taskId") => "statusUpdate",
        () if has("status") && has("id") => "task",
        () if has("messageId") => "message",
        () => return None,
    })
}

/// Makes a task of 0.3.
pub(super) fn downgrade_task(task: &mut JsonMap) {
    drop_nulls(task);
    task.entry("contextId").or_insert_with(|| "".into());
    ensure_status(task);
    change_object(task, "status", downgrade_status);
    change_each(task, "artifacts", downgrade_artifact);
    change_each(task, "history", downgrade_message);
    task.insert("kind".into(), "task".into());
}

/// Makes a task of 1.0.
pub(super) fn upgrade_task(task: &mut JsonMap) {
    drop_nulls(task);
    // How 0.3 has to write that there is none.
    task.retain(|name, value| name != "contextId" || value != "");
    change_object(task, "status", upgrade_status);
    change_each(task, "artifacts", upgrade_artifact);
    change_each(task, "history", upgrade_message);
    task.remove("kind");
}

fn downgrade_status_update(update: &mut JsonMap) {
    drop_nulls(update);
    ensure_status(update);
    change_object(update, "status", downgrade_status);
    let state = update.get("status").and_then(|status| status["state"].as_str());
    let last = state.and_then(TaskState::from_word).is_some_and(TaskState::is_settled);
    update.insert("final".into(), last.into());
    update.insert("kind".into(), "status-update".into());
}

fn ensure_status(owner: &mut JsonMap) {
    if !owner.get("status").is_some_and(Value::is_object) {
        owner.insert("status".into(), json!({ "state": UNKNOWN.0 }));
    }
}

fn downgrade_status(status: &mut JsonMap) {
    drop_nulls(status);
    let state = status.get("state").and_then(|state| TaskState::deserialize(state).ok());
    status.insert("state".into(), state.map_or(UNKNOWN.1, TaskState::word).into());
    change_object(status, "message", downgrade_message);
}

fn upgrade_status(status: &mut JsonMap) {
    drop_nulls(status);
    let word = status.get("state").and_then(Value::as_str).unwrap_or_default();
    let state = match TaskState::from_word(word) {
        Some(state) => serde_json::to_value(state).ok(),
        None => (word == UNKNOWN.1).then(|| UNKNOWN.0.into()),
    };
    if let Some(state) = state {
        status.insert("state".into(), state);
    }
    if let Some(Value::String(at)) = status.get_mut("timestamp")
        && let Some(bare) = at.strip_suffix("+00:00")
    {
        // How the official SDK of 0.3 writes UTC; 1.0 requires the letter.
        *at = format!("{bare}Z");
    }
    change_object(status, "message", upgrade_message);
}
