//! JSON-RPC of A2A 0.3: requests are written in its form, answers are read into that of 1.0.
//!
//! Promises: the shape of foreign JSON is checked before it is read, as in 1.0; what 0.3 cannot express is
//! refused before anything is sent. The translation itself is the protocol's (`protocol::legacy`).

use agentsite_egress::{Egress, EgressError, EgressRequest};
use agentsite_protocol::legacy;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::endpoint::Endpoint;
use super::jsonrpc;
use super::operation::Operation;
use super::wire::StreamItem;
use crate::ClientError;

/// The request for an operation. 0.3 has no tenants and no version header.
pub(super) fn request(
    egress: &Egress,
    endpoint: &Endpoint,
    operation: &Operation<'_>,
    number: u64,
) -> Result<EgressRequest, ClientError> {
    let params = serde_json::to_value(operation).map_err(|error| EgressError::Settings(error.to_string()))?;
    let (method, params) = legacy::downgrade_request(operation.name(), params).map_err(|error| {
        ClientError::Unsupported(format!(
            "the agent uses A2A 0.3 and does not support {}: {error}",
            operation.name()
        ))
    })?;
    jsonrpc::foreign_request(egress, endpoint, method, &params, number)
}

/// Reads the answer to a call.
pub(super) fn read_answer<T: DeserializeOwned>(
    from: &str,
    operation: &Operation<'_>,
    bytes: &[u8],
) -> Result<T, ClientError> {
    let result = jsonrpc::read_result(from, bytes)?;
    let upgraded = legacy::upgrade_result(operation.name(), result).map_err(|error| bad(from, &error))?;
    serde_json::from_value(upgraded).map_err(|error| bad(from, &error))
}

/// Reads one event of a stream.
pub(super) fn read_item(from: &str, bytes: &[u8]) -> Result<StreamItem, ClientError> {
    let item: Value = jsonrpc::read_result(from, bytes)?;
    let upgraded = legacy::upgrade_item(item).map_err(|error| bad(from, &error))?;
    serde_json::from_value(upgraded).map_err(|error| bad(from, &error))
}

fn bad(from: &str, error: &dyn std::error::Error) -> ClientError {
    ClientError::BadAnswer { from: from.to_owned(), what: error.to_string() }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::TaskState;

    use super::*;
    use crate::a2a::wire::{RemoteTask, Reply};

    const TASK: &str = r#"{"id":"1","jsonrpc":"2.0","result":{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","message":{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"which?"}]}}}}"#;

    #[test]
    fn answers_are_read_into_the_words_of_today() {
        let task: RemoteTask =
            read_answer("h", &Operation::Get { id: "t", history_length: None }, TASK.as_bytes()).unwrap();
        assert_eq!(task.status.state, TaskState::InputRequired);
        let item = read_item("h", TASK.as_bytes()).unwrap();
        assert!(matches!(item, StreamItem::Task(same) if same == task));
        let words = r#"{"result":{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"hi"}]}}"#;
        let message =
            agentsite_protocol::Message::text("m".parse().unwrap(), agentsite_protocol::Role::User, "x");
        let configuration = crate::a2a::Configuration { history_length: None, return_immediately: false };
        let send = Operation::Send(crate::a2a::Sending { message: &message, configuration });
        let reply: Reply = read_answer("h", &send, words.as_bytes()).unwrap();
        assert!(matches!(reply, Reply::Message(said) if said.plain_text() == "hi"));
    }

    #[test]
    fn errors_and_nonsense_are_told() {
        let error = read_item("h", br#"{"error":{"code":-32001,"message":"gone"}}"#).unwrap_err();
        assert!(error.is_unknown_task());
        for nonsense in [r#"{"result":{"kind":"mystery"}}"#, r#"{"result":7}"#, "<html>"] {
            let error = read_item("h", nonsense.as_bytes()).unwrap_err();
            assert!(matches!(error, ClientError::BadAnswer { .. }), "{nonsense}: {error}");
        }
    }
}
