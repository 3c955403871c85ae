//! Push notification configurations.
//!
//! Promises: 0.3 nests the configuration below the id of its task and lists several authentication schemes;
//! 1.0 has one flat object and one scheme. Further schemes are kept as extra members, so that they survive
//! the round trip.

use serde_json::Value;

use super::member::{drop_nulls, object};
use crate::JsonMap;

/// Makes `{taskId, pushNotificationConfig}` of a flat configuration.
pub(super) fn downgrade_task_config(config: Value) -> Value {
    let mut inner = object(config);
    drop_nulls(&mut inner);
    let mut outer = JsonMap::new();
    outer.insert("taskId".into(), inner.remove("taskId").unwrap_or_else(|| "".into()));
    downgrade_config(&mut inner);
    outer.insert("pushNotificationConfig".into(), inner.into());
    outer.into()
}

/// Makes a flat configuration of `{taskId, pushNotificationConfig}`.
pub(super) fn upgrade_task_config(config: Value) -> Value {
    let mut outer = object(config);
    drop_nulls(&mut outer);
    let Some(Value::Object(mut inner)) = outer.remove("pushNotificationConfig") else { return outer.into() };
    upgrade_config(&mut inner);
    for (name, value) in inner {
        // The task is what the outer object says.
        outer.entry(name).or_insert(value);
    }
    outer.into()
}

/// Makes the configuration itself one of 0.3.
pub(super) fn downgrade_config(config: &mut JsonMap) {
    drop_nulls(config);
    let Some(Value::Object(authentication)) = config.get_mut("authentication") else { return };
    drop_nulls(authentication);
    let scheme = authentication.remove("scheme");
    authentication.entry("schemes").or_insert_with(|| Value::Array(scheme.into_iter().collect()));
}

/// Makes the configuration itself one of 1.0.
pub(super) fn upgrade_config(config: &mut JsonMap) {
    drop_nulls(config);
    let Some(Value::Object(authentication)) = config.get_mut("authentication") else { return };
    drop_nulls(authentication);
    let Some(Value::Array(mut schemes)) = authentication.remove("schemes") else { return };
    if let Some(first) = schemes.first_mut() {
        authentication.insert("scheme".into(), first.clone());
    }
    if schemes.len() > 1 {
        authentication.insert("schemes".into(), schemes.into());
    }
}
