//! `subscriptions/listen`: a stream of what changes, for as long as somebody listens.
//!
//! Promises: the first message says which of the wanted notices will be sent; every message bears the id of
//! the request. Nothing is sent that was not asked for. A listener that fell behind learns that everything
//! changed. It does not keep anything for those who left.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use agentsite_protocol::mcp::Abilities;
use agentsite_protocol::{Caller, TaskId};
use agentsite_site::{About, Change, TaskWatch, Toolkit};
use axum::response::Response;
use futures::future::{pending, select_all};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::message::ClientMessage;
use super::params::{Params, parse, wrong};
use super::task::{Shown, needs_tasks, task_id};
use super::{McpCall, notice};
use crate::failure::Failure;
use crate::sse;

/// Most resources and tasks in one request: each costs a look at every change.
const MAX_WATCHED: usize = 100;

/// The key under which every message bears the id of the request.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What a client wants to be told, and what it will be.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    resource_subscriptions: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    task_ids: BTreeSet<String>,
}

impl Filter {
    /// Leaves out what this set of tools never tells.
    fn agree(&mut self, about: &About, changes: bool) {
        self.tools_list_changed &= changes;
        self.prompts_list_changed &= changes && about.prompts;
        self.resources_list_changed &= changes && about.resources;
        if !(changes && about.resources) {
            self.resource_subscriptions.clear();
        }
    }

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            Change::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }

    /// Everything that may have changed for a listener that fell behind.
    fn everything(&self) -> Vec<Change> {
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        let resources = self.resource_subscriptions.iter().cloned().map(Change::Resource);
        lists.into_iter().chain(resources).filter(|change| self.wants(change)).collect()
    }
}

/// Answers with a stream that lasts until the client hangs up.
pub(super) async fn answer(
    call: &McpCall<'_>,
    asked: &ClientMessage<'_>,
    params: &Params<'_>,
    about: &About,
    abilities: Abilities,
) -> Result<Response, Failure> {
    let raw =
        params.notifications.ok_or_else(|| wrong("`notifications` must say what you want to be told"))?;
    let mut filter: Filter = parse(raw, "notifications")?;
    let place = call.stream_place()?;
    if filter.resource_subscriptions.len() + filter.task_ids.len() > MAX_WATCHED {
        return Err(wrong(format!(
            "`notifications` names more than {MAX_WATCHED} things; listen several times"
        )));
    }
    if !filter.task_ids.is_empty() && !abilities.tasks {
        return Err(needs_tasks());
    }
    let changes = call.toolkit.changes();
    filter.agree(about, changes.is_some());
    let mut tasks = Vec::new();
    for written in std::mem::take(&mut filter.task_ids) {
        let id = task_id(&written)?;
        // Also refuses what is not a call of a tool of this set.
        call.toolkit.tasks().get(&call.caller, id).await?;
        tasks.push((id, call.front.site.tasks().watch_to_end(&call.caller, id, 0).await?));
        filter.task_ids.insert(written);
    }
    let id: Value = serde_json::from_str(asked.id).unwrap_or_default();
    let listening =
        Listening { caller: call.caller.clone(), toolkit: call.toolkit.clone(), id, changes, tasks, filter };
    for uri in &listening.filter.resource_subscriptions {
        listening.toolkit.watch(uri, true);
    }
    let agreed = json!({ "notifications": listening.filter });
    let mut first = Vec::new();
    listening.frame(&mut first, "notifications/subscriptions/acknowledged", agreed);
    Ok(sse::respond(call.front, place, first, listening))
}

/// Somebody who listens.
struct Listening {
    caller: Caller,
    toolkit: Toolkit,
    /// The id of the request.
    id: Value,
    filter: Filter,
    changes: Option<broadcast::Receiver<Change>>,
    tasks: Vec<(TaskId, TaskWatch)>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        for uri in &self.filter.resource_subscriptions {
            self.toolkit.watch(uri, false);
        }
    }
}

impl Listening {
    fn frame(&self, out: &mut Vec<u8>, method: &str, mut params: Value) {
        params["_meta"] = json!({ SUBSCRIPTION: self.id });
        sse::json_event(out, None, &notice::notification(method, &params));
    }

    fn tell(&self, out: &mut Vec<u8>, changes: &[Change]) {
        for change in changes.iter().filter(|change| self.filter.wants(change)) {
            let (method, params) = notice::change(change);
            self.frame(out, method, params);
        }
    }

    /// Shows a task as it stands now; one that has ended is followed no longer.
    async fn show(&mut self, out: &mut Vec<u8>, id: TaskId, goes_on: bool) {
        if let Ok(task) = self.toolkit.tasks().get(&self.caller, id).await {
            let shown = serde_json::to_value(Shown::whole(&task)).unwrap_or_default();
            self.frame(out, "notifications/tasks", shown);
        }
        if !goes_on {
            self.tasks.retain(|(followed, _)| *followed != id);
        }
    }
}

impl sse::SseSource for Listening {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let mut out = Vec::new();
            let Self { changes, tasks, .. } = self;
            let changed = async {
                match changes {
                    Some(changes) => changes.recv().await,
                    None => pending().await,
                }
            };
            let moved = async {
                if tasks.is_empty() {
                    return pending().await;
                }
                let watched = tasks.iter_mut().map(|(id, watch)| {
                    let id = *id;
                    Box::pin(async move { (id, watch.next().await.is_some()) })
                });
                select_all(watched).await.0
            };
            let event = tokio::select! {
                changed = changed => Ok(changed),
                moved = moved => Err(moved),
            };
            match event {
                Ok(Ok(change)) => self.tell(&mut out, &[change]),
                Ok(Err(broadcast::error::RecvError::Lagged(_))) => {
                    let all = self.filter.everything();
                    self.tell(&mut out, &all);
                }
                // The set of tools is gone; tasks may still move.
                Ok(Err(broadcast::error::RecvError::Closed)) => self.changes = None,
                Err((id, goes_on)) => self.show(&mut out, id, goes_on).await,
            }
            Some(out)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_that_was_not_asked_for_or_never_happens() {
        let wanted = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a"]}"#;
        let mut filter: Filter = serde_json::from_str(wanted).unwrap();
        filter.agree(&About { resources: true, ..About::default() }, true);
        assert_eq!(
            serde_json::to_string(&filter).unwrap(),
            r#"{"toolsListChanged":true,"resourceSubscriptions":["a"]}"#
        );
        assert!(filter.wants(&Change::Tools) && filter.wants(&Change::Resource("a".into())));
        assert!(!filter.wants(&Change::Resources) && !filter.wants(&Change::Resource("b".into())));
        assert_eq!(filter.everything(), [Change::Tools, Change::Resource("a".into())]);
        filter.agree(&About::default(), false);
        assert_eq!(serde_json::to_string(&filter).unwrap(), "{}");
    }
}
