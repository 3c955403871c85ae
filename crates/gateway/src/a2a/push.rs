//! The four operations on push configs: create, get, list, delete.
//!
//! Promises: a task of another caller, of another agent or with a malformed id answers exactly like one that
//! does not exist, and so does a config that is not there. Creating with the id of another config replaces
//! it; deleting twice is no error. A config comes back whole, secrets included, to the owner of its task, and
//! without them to admins.

use agentsite_protocol::{PushConfig, TaskId};
use serde::{Deserialize, Serialize};

use super::protojson::number;
use super::task::named_task;
use super::{A2aCall, read, wrong};
use crate::failure::Failure;

/// Configs of a page when the caller names no number; a task has at most ten.
const PAGE: usize = 10;

/// Most configs of a page, the same number as for tasks.
const MAX_PAGE: usize = 100;

/// What a page token begins with, so that anything else is refused.
const TOKEN: &str = "after.";

/// One config of a task that is named.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConfigWanted {
    #[serde(alias = "task_id")]
    pub(super) task_id: String,
    pub(super) id: String,
}

/// Which configs of a task are wanted.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConfigsWanted {
    #[serde(alias = "task_id")]
    pub(super) task_id: String,
    #[serde(alias = "page_size", deserialize_with = "number")]
    pub(super) page_size: Option<i64>,
    #[serde(alias = "page_token")]
    pub(super) page_token: Option<String>,
}

/// A page of configs as other agents see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigList {
    pub(super) configs: Vec<PushConfig>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) next_page_token: String,
}

/// Reads a config that is to be created.
pub(super) fn read_config(params: &str) -> Result<PushConfig, Failure> {
    read(params, |_| Vec::new())
}

impl ConfigWanted {
    /// Reads parameters that name one config.
    pub(super) fn read(params: &str) -> Result<Self, Failure> {
        read(params, |_| Vec::new())
    }
}

impl ConfigsWanted {
    /// Reads parameters that name a task and a page.
    pub(super) fn read(params: &str) -> Result<Self, Failure> {
        read(params, |_| Vec::new())
    }
}

/// The id of a config that A2A 0.3 sets without one: there a task has one such config, which setting it again
/// changes, and clients ask for it by this word.
const UNNAMED: &str = "default";

/// Adds a receiver to a task.
pub(super) async fn create(call: &A2aCall<'_>, config: PushConfig) -> Result<PushConfig, Failure> {
    let task = task_of(call, &config.task_id).await?;
    let id = if call.as_old && config.id.is_empty() { UNNAMED.to_owned() } else { config.id };
    let config = PushConfig { is_old: call.as_old, id, ..config };
    Ok(shown(call.front.site.deliveries().put_receiver(&call.caller, task, config).await?))
}

/// Reads one. In A2A 0.3 the id may be left out; then the first one is meant.
pub(super) async fn get(call: &A2aCall<'_>, wanted: &ConfigWanted) -> Result<PushConfig, Failure> {
    let task = task_of(call, &wanted.task_id).await?;
    if wanted.id.is_empty() && call.as_old {
        let first = call.front.site.deliveries().receivers(&call.caller, task).await?.into_iter().next();
        let none = || agentsite_site::SiteError::NoSuchReceiver(String::new());
        return Ok(shown(first.ok_or_else(none)?));
    }
    check_id(wanted)?;
    Ok(shown(call.front.site.deliveries().receiver(&call.caller, task, &wanted.id).await?))
}

/// Lists them by id.
pub(super) async fn list(call: &A2aCall<'_>, wanted: &ConfigsWanted) -> Result<ConfigList, Failure> {
    let size = match wanted.page_size {
        None | Some(0) => PAGE,
        Some(size) => usize::try_from(size)
            .ok()
            .filter(|size| *size <= MAX_PAGE)
            .ok_or_else(|| wrong("pageSize", "must be between 1 and 100"))?,
    };
    let after = match wanted.page_token.as_deref() {
        None | Some("") => None,
        Some(token) => {
            let after = token.strip_prefix(TOKEN);
            Some(after.ok_or_else(|| wrong("pageToken", "is not one that this site gave"))?)
        }
    };
    let task = task_of(call, &wanted.task_id).await?;
    let mut configs = call.front.site.deliveries().receivers(&call.caller, task).await?;
    configs.retain(|config| after.is_none_or(|after| config.id.as_str() > after));
    let more = configs.len() > size;
    configs.truncate(size);
    let last = configs.last().filter(|_| more);
    let next_page_token = last.map(|config| format!("{TOKEN}{}", config.id)).unwrap_or_default();
    let configs = configs.into_iter().map(shown).collect();
    Ok(ConfigList { configs, next_page_token })
}

/// A config as its owner sees it, without what only the site needs to know.
fn shown(config: PushConfig) -> PushConfig {
    PushConfig { is_old: false, ..config }
}

/// Removes one.
pub(super) async fn delete(call: &A2aCall<'_>, wanted: &ConfigWanted) -> Result<(), Failure> {
    let task = task_of(call, &wanted.task_id).await?;
    check_id(wanted)?;
    Ok(call.front.site.deliveries().remove_receiver(&call.caller, task, &wanted.id).await?)
}

fn check_id(wanted: &ConfigWanted) -> Result<(), Failure> {
    if wanted.id.is_empty() { Err(wrong("id", "is required")) } else { Ok(()) }
}

/// The task, if the site tells anybody anything and the task is the caller's and the agent's.
async fn task_of(call: &A2aCall<'_>, id: &str) -> Result<TaskId, Failure> {
    if !call.front.site.deliveries().are_on() {
        return Err(agentsite_site::SiteError::PushOff.into());
    }
    if id.is_empty() {
        return Err(wrong("taskId", "is required"));
    }
    Ok(named_task(call, id).await?.head.id)
}
