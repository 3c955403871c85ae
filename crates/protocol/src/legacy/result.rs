//! Results and the items of streams.
//!
//! Promises: 1.0 wraps what it answers (`{"task":…}`), 0.3 tells it by `kind`; both forms are made from the
//! other. A result that is none of what its method gives is refused when it comes from an agent of 0.3, and
//! passed on as it is when it is our own.

use serde_json::{Value, json};

use super::card::{hybrid_card, upgrade_card};
use super::failure::NotLegacy;
use super::member::object;
use super::push::{downgrade_task_config, upgrade_task_config};
use super::task::{ITEMS, downgrade_task, downgrade_thing, upgrade_task, upgrade_thing, wrapper_of};

/// Makes the result of a method (named as in 1.0) one of 0.3, for a server that answers; of a method that
/// streams, one item.
#[must_use]
pub fn downgrade_result(method: &str, result: Value) -> Value {
    match method {
        "SendMessage" | "SendStreamingMessage" | "SubscribeToTask" => downgrade_item(result),
        "GetTask" | "CancelTask" => {
            let mut task = object(result);
            downgrade_task(&mut task);
            task.into()
        }
        "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig" => downgrade_task_config(result),
        "ListTaskPushNotificationConfigs" => match object(result).remove("configs") {
            Some(Value::Array(configs)) => configs.into_iter().map(downgrade_task_config).collect(),
            _ => json!([]),
        },
        "DeleteTaskPushNotificationConfig" => Value::Null,
        "GetExtendedAgentCard" => hybrid_card(result),
        _ => result,
    }
}

/// Makes the result of a method (named as in 1.0) one of 1.0, for a client that called an agent of 0.3; of a
/// method that streams, one item.
///
/// # Errors
/// [`NotLegacy::Answer`] when it is not what this method gives.
pub fn upgrade_result(method: &str, result: Value) -> Result<Value, NotLegacy> {
    Ok(match (method, result) {
        ("SendMessage", result) => {
            let item = upgrade_item(result)?;
            let expected = item.get("task").is_some() || item.get("message").is_some();
            return if expected { Ok(item) } else { Err(NotLegacy::Answer) };
        }
        ("GetTask" | "CancelTask", Value::Object(mut task)) if task.contains_key("status") => {
            upgrade_task(&mut task);
            task.into()
        }
        ("CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig", config @ Value::Object(_)) => {
            upgrade_task_config(config)
        }
        ("ListTaskPushNotificationConfigs", Value::Array(configs)) => {
            json!({ "configs": configs.into_iter().map(upgrade_task_config).collect::<Vec<_>>() })
        }
        ("SendStreamingMessage" | "SubscribeToTask", item) => return upgrade_item(item),
        ("DeleteTaskPushNotificationConfig", _) => json!({}),
        ("GetExtendedAgentCard", card @ Value::Object(_)) => upgrade_card(card),
        _ => return Err(NotLegacy::Answer),
    })
}

/// Makes an item of a stream, or the result of `SendMessage`, one of 0.3; what is none is passed on as it is.
#[must_use]
pub fn downgrade_item(item: Value) -> Value {
    let Value::Object(mut wrapped) = item else { return item };
    let found = ITEMS.iter().find(|(wrapper, _)| wrapped.get(*wrapper).is_some_and(Value::is_object));
    let Some((wrapper, _)) = found else { return wrapped.into() };
    let mut thing = wrapped.remove(*wrapper).map(object).unwrap_or_default();
    downgrade_thing(wrapper, &mut thing);
    thing.into()
}

/// Makes an item of a stream, or the result of `message/send`, one of 1.0.
///
/// # Errors
/// [`NotLegacy::Answer`] when it is not a task, message, status update or artifact update.
pub fn upgrade_item(item: Value) -> Result<Value, NotLegacy> {
    let Value::Object(mut thing) = item else { return Err(NotLegacy::Answer) };
    let wrapper = wrapper_of(&thing).ok_or(NotLegacy::Answer)?;
    upgrade_thing(wrapper, &mut thing);
    Ok(json!({ wrapper: thing }))
}
