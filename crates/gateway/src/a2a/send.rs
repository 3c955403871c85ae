//! SendMessage: a message goes to the agent, its answer comes back.
//!
//! Promises: waits until the task has ended or waits for its caller, unless `returnImmediately` is set; an
//! agent that answers with messages gives a message. A caller that hangs up does not stop the task.

use agentsite_protocol::{BadMessage, JsonMap, Message, Period, PushConfig, Role, Task};
use agentsite_site::{Sent, Submission, TaskWatch};
use serde::Deserialize;
use serde_json::Value;

use super::extensions::{resume_after, ttl};
use super::protojson::number;
use super::{A2aCall, bad_params, read, task::history_length, violation};
use crate::failure::{Failure, Violation};

#[derive(Deserialize)]
struct SendParams {
    message: Message,
    #[serde(default)]
    configuration: Option<Configuration>,
    #[serde(default)]
    metadata: Option<JsonMap>,
}

/// How the answer to a message is wanted.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Configuration {
    #[serde(alias = "return_immediately")]
    pub(super) return_immediately: Option<bool>,
    #[serde(alias = "history_length", deserialize_with = "number")]
    pub(super) history_length: Option<i64>,
    #[serde(alias = "task_push_notification_config")]
    pub(super) task_push_notification_config: Option<PushConfig>,
}

/// A message that may be sent, and how its answer is wanted.
pub(super) struct Sending {
    message: Message,
    /// Who is to be told about the task.
    receiver: Option<PushConfig>,
    return_immediately: bool,
    pub(super) history: Option<usize>,
    /// The last event that the caller has seen of the task that this message opened before.
    pub(super) after: Option<u64>,
    ttl: Option<Period>,
}

impl Sending {
    /// Reads the parameters of both ways to send.
    pub(super) fn read(params: &str) -> Result<Self, Failure> {
        let SendParams { message, configuration, metadata } = read(params, explain)?;
        Self::new(message, configuration.unwrap_or_default(), &metadata.unwrap_or_default())
    }

    /// A message that was read, if it may be sent.
    pub(super) fn new(
        mut message: Message,
        configuration: Configuration,
        metadata: &JsonMap,
    ) -> Result<Self, Failure> {
        message.check_request().map_err(|bad| bad_params("", vec![unfit(bad)]))?;
        forget_unknown(&mut message);
        // An empty string is how some writers leave a field out.
        message.task_id = message.task_id.filter(|id| !id.is_empty());
        let history = history_length("configuration.historyLength", configuration.history_length)?;
        let (after, ttl) = (resume_after(metadata)?, ttl(metadata)?);
        let return_immediately = configuration.return_immediately == Some(true);
        let receiver = configuration.task_push_notification_config;
        Ok(Self { message, receiver, return_immediately, history, after, ttl })
    }
}

impl Sending {
    /// The message with everything that comes along, for the site.
    pub(super) fn submission(self, call: &A2aCall<'_>) -> Submission {
        let receiver = self.receiver.map(|config| PushConfig { is_old: call.as_old, ..config });
        let (ttl, extensions) = (self.ttl, call.wanted.all().to_vec());
        Submission { message: self.message, ttl, extensions, receiver }
    }
}

/// Fields of a message that are taken although nothing here reads them.
const KEPT_OF_MESSAGE: [&str; 3] = ["metadata", "extensions", "referenceTaskIds"];

/// Drops what the specification does not know: a field that came in would come out again in the task's
/// history, and a strict reader refuses it.
fn forget_unknown(message: &mut Message) {
    if let Some(references) = message.extra.remove("reference_task_ids") {
        message.extra.entry("referenceTaskIds").or_insert(references);
    }
    message.extra.retain(|name, _| KEPT_OF_MESSAGE.contains(&name.as_str()));
    for part in &mut message.parts {
        part.extra.retain(|name, _| name == "metadata");
    }
}

/// What a message led to.
#[expect(clippy::large_enum_variant, reason = "taken apart at once; a box would cost every call")]
pub(super) enum SendOutcome {
    /// A message in place of a task.
    Message(Message),
    /// A task, with as much history as was asked for.
    Task(Task, Option<usize>),
}

/// Sends a message and waits for what it leads to, unless the caller does not want to.
pub(super) async fn send(call: &A2aCall<'_>, sending: Sending) -> Result<SendOutcome, Failure> {
    let (return_immediately, history) = (sending.return_immediately, sending.history);
    match call.front.site.send(&call.caller, &call.agent, sending.submission(call)).await? {
        Sent::Message(message) => Ok(SendOutcome::Message(message)),
        Sent::Task(mut watch) => {
            let task = if return_immediately { watch.snapshot() } else { settle(call, watch).await? };
            Ok(SendOutcome::Task(task, history))
        }
    }
}

/// Waits for the task; when the gateway closes first, tells how far it is.
async fn settle(call: &A2aCall<'_>, watch: TaskWatch) -> Result<Task, Failure> {
    let id = watch.id();
    let at_work = call.at_work()?;
    let task = tokio::select! {
        task = watch.settled() => task,
        () = call.front.closing.cancelled() => call.front.site.tasks().get(&call.caller, id).await?,
    };
    drop(at_work);
    Ok(task)
}

/// The field of a message that breaks a rule of the protocol.
pub(super) fn unfit(bad: BadMessage) -> Violation {
    violation(&format!("message.{}", bad.field()), bad.rule())
}

/// What is wrong with the parameters of a message that could not be read.
fn explain(params: &Value) -> Vec<Violation> {
    let Some(message) = params.get("message").filter(|message| !message.is_null()) else {
        return vec![violation("message", "is required")];
    };
    if !message.is_object() {
        return vec![violation("message", "must be an object")];
    }
    let mut wrong = Vec::new();
    match message.get("messageId").or_else(|| message.get("message_id")) {
        Some(Value::String(id)) if !id.is_empty() => {}
        Some(Value::String(_)) => wrong.push(violation("message.messageId", "must not be empty")),
        Some(other) if !other.is_null() => wrong.push(violation("message.messageId", "must be a string")),
        _ => wrong.push(violation("message.messageId", "is required")),
    }
    match message.get("role") {
        Some(role) if Role::deserialize(role).is_ok() => {}
        _ => wrong.push(unfit(BadMessage::Role)),
    }
    match message.get("parts") {
        Some(Value::Array(parts)) if parts.iter().all(Value::is_object) => {}
        Some(Value::Array(_)) => wrong.push(violation("message.parts", "must hold objects")),
        _ => wrong.push(violation("message.parts", "is required and must be a list")),
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Fault;

    fn refusal(params: &str) -> String {
        Sending::read(params).err().unwrap().sentence.into_owned()
    }

    #[test]
    fn names_with_underscores_and_numbers_as_text_are_read() {
        let params = r#"{
            "message": {"message_id": "m", "role": 1, "context_id": "c", "parts": [{"raw": "aGk=", "media_type": "text/plain"}], "reference_task_ids": ["t"]},
            "configuration": {"return_immediately": true, "history_length": "2", "task_push_notification_config": {"task_id": "t", "url": "https://h.example"}}
        }"#;
        let sending = Sending::read(params).ok().unwrap();
        assert!(sending.return_immediately && sending.receiver.is_some_and(|one| one.task_id == "t"));
        assert_eq!(sending.history, Some(2));
        let written = serde_json::to_value(&sending.message).unwrap();
        assert_eq!(
            written,
            serde_json::json!({
                "messageId": "m", "role": "ROLE_USER", "contextId": "c", "referenceTaskIds": ["t"],
                "parts": [{ "raw": "aGk=", "mediaType": "text/plain" }],
            })
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(refusal("{}"), "`message` is required");
        assert_eq!(refusal(r#"{"message":7}"#), "`message` must be an object");
        let several = refusal(r#"{"message":{"messageId":"","parts":[1]}}"#);
        assert!(several.contains("`message.messageId` must not be empty"), "{several}");
        assert!(several.contains("`message.role` must be ROLE_USER"), "{several}");
        assert!(several.contains("`message.parts` must hold objects"), "{several}");
        let empty = refusal(r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#);
        assert_eq!(empty, "`message.parts` must have at least one part");
        let agent = refusal(r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}"#);
        assert_eq!(agent, "`message.role` must be ROLE_USER");
        let several = refusal(r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}"#);
        assert_eq!(several, "`message.parts` must each have exactly one of text, raw, url and data");
    }

    #[test]
    fn what_is_wrong_elsewhere_is_told_by_the_reader() {
        let long = "x".repeat(200);
        let told =
            refusal(&format!(r#"{{"message":{{"messageId":"{long}","role":"ROLE_USER","parts":[]}}}}"#));
        assert!(told.contains("an id must have"), "{told}");
        let told = refusal(r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":7}]}}"#);
        assert!(told.contains("invalid type"), "{told}");
    }

    #[test]
    fn unknown_fields_are_forgotten() {
        let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","mood":7,"metadata":{"a":1},
            "parts":[{"text":"a","tone":"kind","metadata":{"b":2}}]},"more":1}"#;
        let message = Sending::read(params).ok().unwrap().message;
        assert_eq!(message.extra.keys().collect::<Vec<_>>(), ["metadata"]);
        assert_eq!(message.parts[0].extra.keys().collect::<Vec<_>>(), ["metadata"]);
    }

    #[test]
    fn configuration_is_read() {
        let message = r#""message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}"#;
        let params =
            format!(r#"{{{message},"configuration":{{"taskPushNotificationConfig":{{"url":"http://x"}}}}}}"#);
        assert_eq!(Sending::read(&params).ok().unwrap().receiver.unwrap().url, "http://x");
        let params = format!(r#"{{{message},"configuration":{{"historyLength":-1}}}}"#);
        assert_eq!(Sending::read(&params).err().unwrap().fault, Fault::BadParams);
        assert!(Sending::read(&format!(r#"{{{message},"configuration":null,"tenant":"x"}}"#)).is_ok());
    }
}
