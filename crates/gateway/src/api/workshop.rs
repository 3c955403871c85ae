//! `/api/workshop` and what belongs to it below `/api/agents`: making and changing the site's own agents.
//!
//! Promises: for the people who run the site only, before anything else is looked at. A new agent and a changed one are answered when the site has taken
//! them, and what it would not have is told. Files are the workshop's matter.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::agents::named;
use super::{Answer, Asking, Given, json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::workshop::{
    DraftFile, ManifestFile, NewAgent, Problem, SuspendedAgent, Template, Workshop, WorkshopError,
};

#[derive(Serialize)]
struct Bench {
    templates: Vec<Template>,
    suspended: Vec<SuspendedAgent>,
}

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    let workshop = opened(&front, &asking.caller)?;
    let suspended = workshop.suspended().await?;
    json(StatusCode::OK, &Bench { templates: workshop.templates(), suspended })
}

#[derive(Serialize)]
struct Draft {
    files: Vec<DraftFile>,
}

pub(super) async fn draft(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(wanted): Given<NewAgent>,
) -> Answer {
    let files = opened(&front, &asking.caller)?.draft(&wanted)?;
    json(StatusCode::OK, &Draft { files })
}

pub(super) async fn create(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(wanted): Given<NewAgent>,
) -> Answer {
    let workshop = opened(&front, &asking.caller)?;
    let name = wanted.name.clone();
    if front.site.agent(&asking.caller, &name).is_ok() {
        return Err(WorkshopError::Taken(name).into());
    }
    workshop.create(wanted).await?;
    json(StatusCode::CREATED, &front.site.agent(&asking.caller, &name)?)
}

/// An `agent.toml` with what the site thinks of it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    file: ManifestFile,
    /// Why the site would not have it as it is; an earlier version goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

pub(super) async fn manifest(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    let file = opened(&front, &asking.caller)?.manifest(named(&name)?).await?;
    shown(&front, &asking.caller, file)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    text: String,
}

#[derive(Serialize)]
struct Checked {
    problems: Vec<Problem>,
}

pub(super) async fn check(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Given(given): Given<Text>,
) -> Answer {
    let workshop = opened(&front, &asking.caller)?;
    json(StatusCode::OK, &Checked { problems: workshop.check(&named(&name)?, &given.text) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    text: String,
    revision: String,
}

pub(super) async fn write(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Given(edit): Given<Edit>,
) -> Answer {
    let workshop = opened(&front, &asking.caller)?;
    let file = workshop.write(named(&name)?, edit.text, edit.revision).await?;
    shown(&front, &asking.caller, file)
}

pub(super) async fn suspend(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    let file = opened(&front, &asking.caller)?.suspend(named(&name)?).await?;
    shown(&front, &asking.caller, file)
}

pub(super) async fn resume(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    let file = opened(&front, &asking.caller)?.resume(named(&name)?).await?;
    shown(&front, &asking.caller, file)
}

/// Takes an agent out: the folder of one of the site's own goes to the trash, a program that connects is sent away.
pub(super) async fn remove(front: &Front, caller: &Caller, name: AgentName) -> Answer {
    let has_folder = front.site.agent(caller, &name).is_ok_and(|agent| agent.folder.is_some());
    let gone =
        front.site.agent(caller, &name).is_err() && caller.is_admin() && front.settings.workshop.is_some();
    if !has_folder && !gone {
        front.site.disconnect_agent(caller, &name).await?;
        return Ok(nothing());
    }
    opened(front, caller)?.remove(name).await?;
    Ok(nothing())
}

fn shown(front: &Front, caller: &Caller, file: ManifestFile) -> Answer {
    let broken = front.site.broken(caller).into_iter().find(|broken| broken.file == file.file);
    json(StatusCode::OK, &Shown { file, refused: broken.map(|broken| broken.error) })
}

fn opened<'f>(front: &'f Front, caller: &Caller) -> Result<&'f Arc<dyn Workshop>, Failure> {
    if !caller.is_admin() {
        let sentence =
            "only the people who run this site make and change its agents; use a key with the scope admin";
        return Err(Failure::new(Fault::Forbidden, sentence));
    }
    front.settings.workshop.as_ref().ok_or_else(|| {
        Failure::new(Fault::Unsupported, "this site has no agents folder that can be changed from here")
    })
}

impl From<WorkshopError> for Failure {
    fn from(error: WorkshopError) -> Self {
        let fault = match &error {
            WorkshopError::NoSuchAgent(_) => Fault::NoSuchAgent,
            WorkshopError::Taken(_) | WorkshopError::Moved => Fault::Moved,
            WorkshopError::Bad(_) => Fault::BadParams,
            WorkshopError::Failed(_) => Fault::Internal,
        };
        Self::new(fault, error.to_string())
    }
}
