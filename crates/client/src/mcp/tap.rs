//! Tap: sees every message between the protocol engine and a transport, in order.
//!
//! Promises: a request is known before it leaves, so no notice about it can come too early; notices reach
//! their call or listeners in order, and nothing is spawned or stored for them. It does not change messages.

use std::sync::Arc;

use agentsite_protocol::mcp::{Change, Notice};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, GetMeta, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::watch;

use super::calls::{CallMark, Calls};

/// A transport whose messages are seen on their way.
pub(super) struct Tap<T> {
    inner: T,
    calls: Arc<Calls>,
    /// Dropped with the engine, which ends all waiting calls.
    _alive: watch::Sender<()>,
}

impl<T> Tap<T> {
    pub(super) fn new(inner: T, calls: Arc<Calls>, alive: watch::Sender<()>) -> Self {
        Self { inner, calls, _alive: alive }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &message
            && let Some(mark) = request.request.extensions().get::<CallMark>()
        {
            let token = request.request.get_meta().get_progress_token();
            self.calls.sent(*mark, request.id.clone(), token);
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            match message {
                ServerJsonRpcMessage::Notification(notification)
                    if notification.notification.get_meta().subscription_id().is_none() =>
                {
                    if !deliver_notice(&self.calls, &notification.notification) {
                        return Some(ServerJsonRpcMessage::Notification(notification));
                    }
                }
                other => return Some(other),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Passes a notification on; false when it is for the engine.
fn deliver_notice(calls: &Calls, notification: &ServerNotification) -> bool {
    match notification {
        ServerNotification::ProgressNotification(told) => {
            let told = &told.params;
            let notice = Notice::Progress {
                progress: told.progress,
                total: told.total,
                message: told.message.clone(),
            };
            calls.progressed(&told.progress_token, notice);
        }
        ServerNotification::LoggingMessageNotification(told) => {
            if let Some(notice) = log_of(notification) {
                let _ = told;
                calls.logged(notice);
            }
        }
        ServerNotification::CancelledNotification(_) => return false,
        other => {
            if let Some(change) = change_of(other) {
                calls.changed(change);
            }
        }
    }
    true
}

/// The line of a log in a notification.
fn log_of(notification: &ServerNotification) -> Option<Notice> {
    let value = serde_json::to_value(notification).ok()?;
    let params = value.get("params")?;
    Some(Notice::Log {
        level: serde_json::from_value(params.get("level")?.clone()).ok()?,
        logger: params.get("logger").and_then(Value::as_str).map(str::to_owned),
        data: params.get("data").cloned().unwrap_or_default(),
    })
}

/// What a notification says has changed.
pub(super) fn change_of(notification: &ServerNotification) -> Option<Change> {
    match notification {
        ServerNotification::ToolListChangedNotification(_) => Some(Change::Tools),
        ServerNotification::ResourceListChangedNotification(_) => Some(Change::Resources),
        ServerNotification::PromptListChangedNotification(_) => Some(Change::Prompts),
        ServerNotification::ResourceUpdatedNotification(told) => {
            Some(Change::Resource(told.params.uri.clone()))
        }
        _ => None,
    }
}
