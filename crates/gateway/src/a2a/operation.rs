//! Operation: what can be asked of an agent, the same in every binding.
//!
//! Promises: bindings make an operation of a request and write its answer; they decide nothing. What waits for an agent takes as long as
//! the agent may; all else has a time limit.

use agentsite_protocol::{AgentCard, Message, Task};

use super::send::{self, Sending};
use super::stream::{self, Events};
use super::task::{self, ListWanted, TaskList, TaskWanted};
use super::{Call, card, read};
use crate::failure::{Failure, Fault};
use crate::jsonrpc;

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
    /// Any of the four on push notifications.
    PushConfig,
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
    Events(Events),
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
            push if push.contains("PushNotificationConfig") && METHODS.contains(&push) => Self::PushConfig,
            other => return Err(jsonrpc::no_such_method(other, &METHODS)),
        })
    }

    /// Does it.
    pub(super) async fn perform(self, call: &Call<'_>) -> Result<Answer, Failure> {
        let limit = call.front.settings.limits.answer_time;
        match self {
            Self::Send(sending) => send::send(call, sending).await,
            Self::Stream(sending) => stream::send(call, sending).await.map(Answer::Events),
            quick => tokio::time::timeout(limit, quick.look(call)).await.unwrap_or_else(|_| {
                let sentence = "the site took too long; it may be overloaded, try again later";
                Err(Failure::new(Fault::TimedOut, sentence))
            }),
        }
    }

    /// What does not wait for an agent.
    async fn look(self, call: &Call<'_>) -> Result<Answer, Failure> {
        match self {
            Self::Get(wanted) => task::get(call, &wanted).await,
            Self::Cancel(wanted) => task::cancel(call, &wanted).await,
            Self::List(wanted) => task::list(call, &wanted).await.map(Answer::Tasks),
            Self::Subscribe(wanted) => stream::subscribe(call, &wanted).await.map(Answer::Events),
            Self::PushConfig => Err(Failure::new(
                Fault::PushNotSupported,
                "push notifications are not supported by this agent; follow the task as a stream, or read it again",
            )),
            Self::ExtendedCard => card::extended(call).map(|card| Answer::Card(Box::new(card))),
            Self::Send(_) | Self::Stream(_) => {
                Err(Failure::new(Fault::Internal, "what waits for an agent was asked among what does not"))
            }
        }
    }
}
