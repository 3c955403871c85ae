//! Operation: what can be asked of an agent, the same in every binding.
//!
//! Promises: bindings make an operation of a request and write its answer; they decide nothing. What waits
//! for an agent takes as long as the agent may; all else has a time limit.

use agentsite_protocol::{AgentCard, Message, PushConfig, Task};

use super::push::{self, ConfigList, ConfigWanted, ConfigsWanted};
use super::send::{self, SendOutcome, Sending};
use super::stream::{self, Events};
use super::task::{self, ListWanted, TaskList, TaskWanted};
use super::{A2aCall, card, read};
use crate::failure::{Failure, Fault};
use crate::jsonrpc;
use crate::visit::StreamPlace;

/// Methods of A2A 1.0, by the names that all bindings share.
pub(super) const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

/// One thing that is asked, with its parameters.
pub(super) enum Operation {
    Send(Sending),
    Stream(Sending),
    Get(TaskWanted),
    List(ListWanted),
    Cancel(TaskWanted),
    Subscribe(TaskWanted),
    ExtendedCard,
    CreatePush(PushConfig),
    GetPush(ConfigWanted),
    ListPush(ConfigsWanted),
    DeletePush(ConfigWanted),
}

/// What an operation gave.
pub(super) enum Answer {
    /// A message in place of a task.
    Message(Message),
    /// The task that a message led to, with as much history as was asked for.
    Sent(Task, Option<usize>),
    /// A task that was named.
    Task(Task, Option<usize>),
    Tasks(TaskList),
    Card(Box<AgentCard>),
    /// Events, and the place of the stream that tells them.
    Events(Events, StreamPlace),
    PushConfig(PushConfig),
    PushConfigs(ConfigList),
    /// It is done, and there is nothing to say.
    Nothing,
}

impl Operation {
    /// Reads an operation by its name and its parameters as JSON.
    pub(super) fn named(method: &str, params: &str) -> Result<Self, Failure> {
        Ok(match method {
            "SendMessage" => Self::Send(Sending::read(params)?),
            "SendStreamingMessage" => Self::Stream(Sending::read(params)?),
            "GetTask" => Self::Get(TaskWanted::read(params)?),
            "ListTasks" => Self::List(read(params, |_| Vec::new())?),
            "CancelTask" => Self::Cancel(TaskWanted::read(params)?),
            "SubscribeToTask" => Self::Subscribe(TaskWanted::read(params)?),
            "GetExtendedAgentCard" => Self::ExtendedCard,
            "CreateTaskPushNotificationConfig" => Self::CreatePush(push::read_config(params)?),
            "GetTaskPushNotificationConfig" => Self::GetPush(ConfigWanted::read(params)?),
            "ListTaskPushNotificationConfigs" => Self::ListPush(ConfigsWanted::read(params)?),
            "DeleteTaskPushNotificationConfig" => Self::DeletePush(ConfigWanted::read(params)?),
            other => return Err(jsonrpc::no_such_method(other, &METHODS)),
        })
    }

    /// Does it.
    pub(super) async fn perform(self, call: &A2aCall<'_>) -> Result<Answer, Failure> {
        let limit = call.front.settings.limits.answer_time;
        match self {
            Self::Send(sending) => Ok(match send::send(call, sending).await? {
                SendOutcome::Message(message) => Answer::Message(message),
                SendOutcome::Task(task, history) => Answer::Sent(task, history),
            }),
            Self::Stream(sending) => {
                let place = call.stream_place()?;
                Ok(Answer::Events(stream::send(call, sending).await?, place))
            }
            quick => tokio::time::timeout(limit, Box::pin(quick.look(call))).await.unwrap_or_else(|_| {
                let sentence = "the site took too long; it may be overloaded, try again later";
                Err(Failure::new(Fault::TimedOut, sentence))
            }),
        }
    }

    /// What does not wait for an agent.
    async fn look(self, call: &A2aCall<'_>) -> Result<Answer, Failure> {
        match self {
            Self::Get(wanted) => {
                task::get(call, &wanted).await.map(|(task, history)| Answer::Task(task, history))
            }
            Self::Cancel(wanted) => task::cancel(call, &wanted).await.map(|task| Answer::Task(task, None)),
            Self::List(wanted) => task::list(call, &wanted).await.map(Answer::Tasks),
            Self::Subscribe(wanted) => {
                let place = call.stream_place()?;
                Ok(Answer::Events(stream::subscribe(call, &wanted).await?, place))
            }
            Self::CreatePush(config) => push::create(call, config).await.map(Answer::PushConfig),
            Self::GetPush(wanted) => push::get(call, &wanted).await.map(Answer::PushConfig),
            Self::ListPush(wanted) => push::list(call, &wanted).await.map(Answer::PushConfigs),
            Self::DeletePush(wanted) => push::delete(call, &wanted).await.map(|()| Answer::Nothing),
            Self::ExtendedCard => card::extended(call).map(|card| Answer::Card(Box::new(card))),
            Self::Send(_) | Self::Stream(_) => {
                Err(Failure::new(Fault::Internal, "what waits for an agent was asked among what does not"))
            }
        }
    }
}
