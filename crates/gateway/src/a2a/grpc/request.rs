//! Requests in protobuf, read into operations.
//!
//! Promises: total; what is wrong is named by its field, as in the other bindings, several fields at once. It
//! looks nothing up.

use agentsite_protocol::proto::{self, Shape, WrongField};
use agentsite_protocol::{BadMessage, JsonMap, Message, Nesting, PushConfig};
use prost_types::Struct;

use super::super::operation::{METHODS, Operation};
use super::super::push::{ConfigWanted, ConfigsWanted};
use super::super::send::{Configuration, Sending, unfit};
use super::super::task::{ListWanted, TaskWanted};
use super::super::{bad_params, violation, wrong};
use crate::failure::{Failure, Fault, Violation};
use crate::jsonrpc;

/// What is asked, and of whom.
pub(super) struct GrpcRequest {
    /// The agent; none for the site itself.
    pub(super) agent: Option<String>,
    pub(super) operation: Operation,
}

impl GrpcRequest {
    /// Reads a request by the name of its method.
    pub(super) fn read(method: &str, message: &[u8]) -> Result<Self, Failure> {
        let (tenant, operation) = match method {
            "SendMessage" => sending(message).map(|(tenant, sending)| (tenant, Operation::Send(sending)))?,
            "SendStreamingMessage" => {
                sending(message).map(|(tenant, sending)| (tenant, Operation::Stream(sending)))?
            }
            "GetTask" => {
                let proto::GetTaskRequest { tenant, id, history_length } = decode(message, Shape::Flat)?;
                let history_length = history_length.map(i64::from);
                (tenant, Operation::Get(TaskWanted { history_length, ..wanted(&id)? }))
            }
            "ListTasks" => list(decode(message, Shape::Flat)?)?,
            "CancelTask" => {
                let asked: proto::CancelTaskRequest = decode(message, Shape::CancelTask)?;
                let metadata = metadata(asked.metadata)?;
                (asked.tenant, Operation::Cancel(TaskWanted { metadata, ..wanted(&asked.id)? }))
            }
            "SubscribeToTask" => {
                let asked: proto::SubscribeToTaskRequest = decode(message, Shape::Flat)?;
                (asked.tenant, Operation::Subscribe(wanted(&asked.id)?))
            }
            "GetExtendedAgentCard" => {
                let asked: proto::GetExtendedAgentCardRequest = decode(message, Shape::Flat)?;
                (asked.tenant, Operation::ExtendedCard)
            }
            "CreateTaskPushNotificationConfig" => {
                let asked: proto::TaskPushNotificationConfig = decode(message, Shape::Flat)?;
                (asked.tenant.clone(), Operation::CreatePush(receiver(&asked)?))
            }
            "GetTaskPushNotificationConfig" => {
                let asked: proto::GetTaskPushNotificationConfigRequest = decode(message, Shape::Flat)?;
                let wanted = ConfigWanted { task_id: asked.task_id, id: asked.id };
                (asked.tenant, Operation::GetPush(wanted))
            }
            "ListTaskPushNotificationConfigs" => {
                let asked: proto::ListTaskPushNotificationConfigsRequest = decode(message, Shape::Flat)?;
                let wanted = ConfigsWanted {
                    task_id: asked.task_id,
                    page_size: (asked.page_size != 0).then_some(asked.page_size.into()),
                    page_token: said(asked.page_token),
                };
                (asked.tenant, Operation::ListPush(wanted))
            }
            "DeleteTaskPushNotificationConfig" => {
                let asked: proto::DeleteTaskPushNotificationConfigRequest = decode(message, Shape::Flat)?;
                let wanted = ConfigWanted { task_id: asked.task_id, id: asked.id };
                (asked.tenant, Operation::DeletePush(wanted))
            }
            other => return Err(jsonrpc::no_such_method(other, &METHODS)),
        };
        Ok(Self { agent: said(tenant), operation })
    }
}

fn decode<M: prost::Message + Default>(message: &[u8], shape: Shape) -> Result<M, Failure> {
    let sentence = |error| format!("this is not what the method takes: {error}");
    proto::decode(message, shape, Nesting::REQUEST.nodes)
        .map_err(|error| Failure::new(Fault::BadRequest, sentence(error)))
}

/// A text that is there; protobuf does not tell an empty one from none.
fn said(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn wanted(id: &str) -> Result<TaskWanted, Failure> {
    if id.is_empty() { Err(wrong("id", "is required")) } else { Ok(TaskWanted::new(id)) }
}

fn sending(message: &[u8]) -> Result<(String, Sending), Failure> {
    let asked: proto::SendMessageRequest = decode(message, Shape::SendMessage)?;
    let Some(message) = asked.message else { return Err(wrong("message", "is required")) };
    let wrong = explain(&message);
    let message = Message::try_from(message).map_err(|error| match wrong.is_empty() {
        true => refusal(error.within("message")),
        false => bad_params("", wrong),
    })?;
    let configuration = asked.configuration.unwrap_or_default();
    let configuration = Configuration {
        return_immediately: Some(configuration.return_immediately),
        history_length: configuration.history_length.map(i64::from),
        task_push_notification_config: configuration
            .task_push_notification_config
            .as_ref()
            .map(receiver)
            .transpose()?,
    };
    let metadata = metadata(asked.metadata)?.unwrap_or_default();
    Ok((asked.tenant, Sending::new(message, configuration, &metadata)?))
}

/// A receiver of push notifications.
fn receiver(config: &proto::TaskPushNotificationConfig) -> Result<PushConfig, Failure> {
    let json = proto::to_json(config).map_err(refusal)?;
    serde_json::from_value(json).map_err(|error| bad_params(&error.to_string(), Vec::new()))
}

fn metadata(given: Option<Struct>) -> Result<Option<JsonMap>, Failure> {
    given.map(proto::object).transpose().map_err(|error| refusal(error.within("metadata")))
}

/// Everything that is wrong with a message that could not be read.
fn explain(message: &proto::Message) -> Vec<Violation> {
    let mut wrong = Vec::new();
    if message.message_id.is_empty() {
        wrong.push(violation("message.messageId", "is required"));
    }
    if message.role != i32::from(proto::Role::User) {
        wrong.push(unfit(BadMessage::Role));
    }
    if message.parts.is_empty() {
        wrong.push(unfit(BadMessage::NoParts));
    }
    wrong
}

fn list(asked: proto::ListTasksRequest) -> Result<(String, Operation), Failure> {
    let status = proto::TaskState::noun(asked.status).map_err(|error| refusal(error.within("status")))?;
    let wanted = ListWanted {
        status,
        status_timestamp_after: asked.changed_since().map_err(refusal)?,
        context_id: said(asked.context_id),
        page_size: asked.page_size.map(i64::from),
        page_token: said(asked.page_token),
        history_length: asked.history_length.map(i64::from),
        include_artifacts: asked.include_artifacts,
    };
    Ok((asked.tenant, Operation::List(wanted)))
}

/// The refusal of a field that has no counterpart among the nouns.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
fn refusal(error: WrongField) -> Failure {
    wrong(&error.field, &error.problem.to_string())
}
