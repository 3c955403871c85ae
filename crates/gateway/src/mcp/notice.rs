//! Notice: progress on the way to a result, or a change, as a JSON-RPC notification.
//!
//! Promises: progress is written only for a request that gave a token for it, log lines only from the wanted
//! level on. It does not send.

use agentsite_site::{Change, LogLevel, Notice};
use serde_json::{Value, json};

/// What a request wants to be told.
#[derive(Debug, Clone, Default)]
pub(super) struct NoticeFilter {
    /// The token of its progress, as JSON.
    pub(super) progress: Option<String>,
    /// From which level on it wants log lines.
    pub(super) log: Option<LogLevel>,
}

impl NoticeFilter {
    /// Whether nothing at all is wanted.
    pub(super) fn is_nothing(&self) -> bool {
        self.progress.is_none() && self.log.is_none()
    }

    /// Writes a notice; `None` when it is not wanted.
    pub(super) fn write(&self, notice: &Notice) -> Option<Vec<u8>> {
        match notice {
            Notice::Progress { progress, total, message } => {
                let token: Value = serde_json::from_str(self.progress.as_deref()?).ok()?;
                let mut params = json!({ "progressToken": token, "progress": number(*progress) });
                if let Some(total) = total {
                    params["total"] = number(*total);
                }
                if let Some(message) = message {
                    params["message"] = message.as_str().into();
                }
                Some(notification("notifications/progress", &params))
            }
            Notice::Log { level, logger, data } => {
                if *level < self.log? {
                    return None;
                }
                let mut params = json!({ "level": level, "data": data });
                if let Some(logger) = logger {
                    params["logger"] = logger.as_str().into();
                }
                Some(notification("notifications/message", &params))
            }
            Notice::Detach => None,
        }
    }
}

/// A number without a fraction where it has none.
fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "only whole numbers in range are cast")]
    let whole = value as i64;
    #[expect(clippy::cast_precision_loss, reason = "the comparison is what counts")]
    if value.fract() == 0.0 && (whole as f64).to_bits() == value.to_bits() {
        whole.into()
    } else {
        value.into()
    }
}

/// Writes a notification.
pub(super) fn notification(method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().into_bytes()
}

/// The method and the parameters that tell a change.
pub(super) fn change(change: &Change) -> (&'static str, Value) {
    match change {
        Change::Tools => ("notifications/tools/list_changed", json!({})),
        Change::Resources => ("notifications/resources/list_changed", json!({})),
        Change::Prompts => ("notifications/prompts/list_changed", json!({})),
        Change::Resource(uri) => ("notifications/resources/updated", json!({ "uri": uri })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<Vec<u8>>) -> Option<String> {
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn progress_is_told_under_its_token_and_only_with_one() {
        let notice = Notice::Progress { progress: 50.0, total: Some(99.5), message: Some("half".into()) };
        assert_eq!(text(NoticeFilter::default().write(&notice)), None);
        let wanted = NoticeFilter { progress: Some(r#""t""#.into()), log: None };
        let told: Value = serde_json::from_str(&text(wanted.write(&notice)).unwrap()).unwrap();
        assert_eq!(
            told["params"],
            json!({ "progressToken": "t", "progress": 50, "total": 99.5, "message": "half" })
        );
    }

    #[test]
    fn log_lines_are_told_from_the_wanted_level_on() {
        let line = |level| Notice::Log { level, logger: Some("l".into()), data: json!("x") };
        let wanted = NoticeFilter { progress: None, log: Some(LogLevel::Warning) };
        assert!(wanted.write(&line(LogLevel::Info)).is_none());
        let told: Value = serde_json::from_str(&text(wanted.write(&line(LogLevel::Error))).unwrap()).unwrap();
        assert_eq!(told["method"], "notifications/message");
        assert_eq!(told["params"], json!({ "level": "error", "logger": "l", "data": "x" }));
    }
}
