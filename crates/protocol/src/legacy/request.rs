//! Requests: the name of the method and its parameters.
//!
//! Promises: what 0.3 spells in its own way and is wrong (role, parts, the message itself) is refused here,
//! so that the error names the members that the caller sent; everything else is left to the reader of 1.0.
//! 0.3 has no `ListTasks`.

use serde_json::Value;

use super::content::{check_message, downgrade_message, upgrade_message};
use super::failure::NotLegacy;
use super::member::{change_object, drop_nulls, object, rename};
use super::method::{modern_method, old_method};
use super::push::{downgrade_config, downgrade_task_config, upgrade_config, upgrade_task_config};
use crate::JsonMap;

/// Makes a request of 1.0 (its method and parameters) of one of 0.3, for a server that is called.
///
/// ```
/// use agentsite_protocol::legacy::upgrade_request;
/// let (method, params) = upgrade_request("tasks/get", serde_json::json!({"id": "7"})).unwrap();
/// assert_eq!((method, &params["id"]), ("GetTask", &"7".into()));
/// ```
///
/// # Errors
/// [`NotLegacy::Method`] when 0.3 has no such method, [`NotLegacy::Field`] when a member is not what 0.3 has
/// there.
pub fn upgrade_request(method: &str, params: Value) -> Result<(&'static str, Value), NotLegacy> {
    let modern = modern_method(method).ok_or(NotLegacy::Method)?;
    let mut params = object(params);
    drop_nulls(&mut params);
    match modern {
        "SendMessage" | "SendStreamingMessage" => upgrade_sending(&mut params)?,
        "GetTask" => unlimited_history(&mut params),
        "CreateTaskPushNotificationConfig" => {
            if !params.get("pushNotificationConfig").is_some_and(Value::is_object) {
                return Err(NotLegacy::field("pushNotificationConfig", "is required and must be an object"));
            }
            return Ok((modern, upgrade_task_config(params.into())));
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            rename(&mut params, "id", "taskId");
            rename(&mut params, "pushNotificationConfigId", "id");
        }
        "ListTaskPushNotificationConfigs" => rename(&mut params, "id", "taskId"),
        _ => {}
    }
    Ok((modern, params.into()))
}

/// Makes a request of 0.3 (its method and parameters) of one of 1.0, for a client that calls an agent of 0.3.
///
/// # Errors
/// [`NotLegacy::Method`] when 0.3 has no such method.
pub fn downgrade_request(method: &str, params: Value) -> Result<(&'static str, Value), NotLegacy> {
    let old = old_method(method).ok_or(NotLegacy::Method)?;
    let mut params = object(params);
    drop_nulls(&mut params);
    match method {
        "SendMessage" | "SendStreamingMessage" => {
            change_object(&mut params, "message", downgrade_message);
            let mut configuration = params.remove("configuration").map(object).unwrap_or_default();
            downgrade_configuration(&mut configuration);
            params.insert("configuration".into(), configuration.into());
        }
        "CreateTaskPushNotificationConfig" => return Ok((old, downgrade_task_config(params.into()))),
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            rename(&mut params, "id", "pushNotificationConfigId");
            rename(&mut params, "taskId", "id");
        }
        "ListTaskPushNotificationConfigs" => rename(&mut params, "taskId", "id"),
        _ => {}
    }
    Ok((old, params.into()))
}

fn upgrade_sending(params: &mut JsonMap) -> Result<(), NotLegacy> {
    // A missing value or one that is not an object is reported by the reader of 1.0 in the same way.
    if let Some(Value::Object(message)) = params.get_mut("message") {
        check_message(message, "message")?;
        upgrade_message(message);
    }
    change_object(params, "configuration", upgrade_configuration);
    params
        .retain(|name, value| name != "configuration" || value.as_object().is_none_or(|all| !all.is_empty()));
    Ok(())
}

fn upgrade_configuration(configuration: &mut JsonMap) {
    drop_nulls(configuration);
    unlimited_history(configuration);
    match configuration.remove("blocking") {
        Some(Value::Bool(false)) => configuration.insert("returnImmediately".into(), true.into()),
        // Waiting is the default of both versions.
        None | Some(Value::Bool(true)) => None,
        Some(other) => configuration.insert("returnImmediately".into(), other),
    };
    rename(configuration, "pushNotificationConfig", "taskPushNotificationConfig");
    change_object(configuration, "taskPushNotificationConfig", upgrade_config);
}

fn downgrade_configuration(configuration: &mut JsonMap) {
    drop_nulls(configuration);
    let at_once = configuration.remove("returnImmediately");
    // Said in any case: servers of 0.3 differ in what they do when it is left out.
    configuration.insert("blocking".into(), (at_once != Some(Value::Bool(true))).into());
    rename(configuration, "taskPushNotificationConfig", "pushNotificationConfig");
    change_object(configuration, "pushNotificationConfig", downgrade_config);
}

/// In 0.3 a length of zero means all of the history; in 1.0 it means none.
fn unlimited_history(owner: &mut JsonMap) {
    if owner.get("historyLength").and_then(Value::as_i64) == Some(0) {
        owner.remove("historyLength");
    }
}
