//! The names of methods and versions.
//!
//! Promises: each method of A2A 0.3 has exactly one counterpart in 1.0; `ListTasks` of 1.0 has none.

/// The methods of both versions: the name in 1.0, then the name in 0.3.
pub const METHODS: [(&str, &str); 10] = [
    ("SendMessage", "message/send"),
    ("SendStreamingMessage", "message/stream"),
    ("GetTask", "tasks/get"),
    ("CancelTask", "tasks/cancel"),
    ("SubscribeToTask", "tasks/resubscribe"),
    ("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"),
    ("GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get"),
    ("ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list"),
    ("DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete"),
    ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"),
];

/// The name in 1.0 of a method of 0.3.
#[must_use]
pub fn modern_method(old: &str) -> Option<&'static str> {
    METHODS.iter().find(|(_, name)| *name == old).map(|(modern, _)| *modern)
}

/// The name in 0.3 of a method of 1.0.
#[must_use]
pub fn old_method(modern: &str) -> Option<&'static str> {
    METHODS.iter().find(|(name, _)| *name == modern).map(|(_, old)| *old)
}

/// Whether a version, as headers and cards name it, is 0.3 (or one of its patches).
#[must_use]
pub fn is_legacy_version(version: &str) -> bool {
    match version.trim().strip_prefix("0.3") {
        Some(patch) => {
            patch.is_empty() || patch.strip_prefix('.').is_some_and(|number| number.parse::<u32>().is_ok())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (modern, old) in METHODS {
            assert_eq!((modern_method(old), old_method(modern)), (Some(modern), Some(old)));
        }
        assert_eq!((modern_method("SendMessage"), old_method("ListTasks")), (None, None));
    }

    #[test]
    fn versions_are_read_with_their_patch() {
        assert!(["0.3", "0.3.0", " 0.3.26 "].into_iter().all(is_legacy_version));
        assert!(!["", "0.2", "0.30", "0.3.", "0.3.x", "1.0"].into_iter().any(is_legacy_version));
    }
}
