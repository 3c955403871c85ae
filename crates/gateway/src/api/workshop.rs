//! `/api/workshop` and what belongs to it below `/api/agents`: making and changing the site's own agents.
//!
//! Promises: for admins only, but a program that connects is removed by its owner, too. A new agent and a
//! changed one are answered when the site has taken them, and what it refuses is reported. Files are the
//! workshop's matter.

use std::sync::Arc;

use agentsite_protocol::Caller;
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::named;
use super::request::{Admitted, JsonBody, REST, RestResult};
use crate::document::{json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::workshop::{
    DraftFile, ManifestFile, NewAgent, Problem, SuspendedAgent, Template, Workshop, WorkshopError,
};

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.post("/api/agents", create)
            .admin()
            .operation("createAgent", "Make a new agent from a template")
            .takes(Shape::of::<NewAgent>())
            .status("201")
            .gives("Agent"),
        REST.delete("/api/agents/{name}", remove).operation(
            "removeAgent",
            "Take an agent out: its folder goes to the trash, a program that connects is sent away",
        ),
        REST.get("/api/agents/{name}/manifest", manifest)
            .admin()
            .operation("getManifestFile", "The agent.toml of an agent")
            .gives(Shape::of::<Shown>()),
        REST.put("/api/agents/{name}/manifest", write)
            .admin()
            .operation("writeManifestFile", "Change the agent.toml of an agent")
            .takes(Shape::of::<Edit>())
            .gives(Shape::of::<Shown>()),
        REST.post("/api/agents/{name}/manifest/check", check)
            .admin()
            .operation("checkManifestFile", "What is wrong with an agent.toml")
            .takes(Shape::of::<Text>())
            .gives(Shape::of::<Checked>()),
        REST.post("/api/agents/{name}/suspend", suspend)
            .admin()
            .operation("suspendAgent", "Take an agent out for a while")
            .gives(Shape::of::<Shown>()),
        REST.post("/api/agents/{name}/resume", resume)
            .admin()
            .operation("resumeAgent", "Bring an agent back")
            .gives(Shape::of::<Shown>()),
        REST.get("/api/workshop", show)
            .admin()
            .operation("getWorkshop", "What agents are made from, and which were taken out for a while")
            .gives(Shape::of::<Bench>()),
        REST.post("/api/workshop/draft", draft)
            .admin()
            .operation("draftAgent", "The files of a new agent, without writing them")
            .takes(Shape::of::<NewAgent>())
            .gives(Shape::of::<Draft>()),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Workshop")]
struct Bench {
    templates: Vec<Template>,
    suspended: Vec<SuspendedAgent>,
}

async fn show(State(front): State<Arc<Front>>) -> RestResult {
    let workshop = opened(&front)?;
    let suspended = workshop.suspended().await?;
    json(StatusCode::OK, &Bench { templates: workshop.templates(), suspended })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentDraft")]
struct Draft {
    files: Vec<DraftFile>,
}

async fn draft(State(front): State<Arc<Front>>, JsonBody(wanted): JsonBody<NewAgent>) -> RestResult {
    let files = opened(&front)?.draft(&wanted)?;
    json(StatusCode::OK, &Draft { files })
}

async fn create(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(wanted): JsonBody<NewAgent>,
) -> RestResult {
    let workshop = opened(&front)?;
    let name = wanted.name.clone();
    if front.site.agents().get(&admitted.caller, &name).is_ok() {
        return Err(WorkshopError::Taken(name).into());
    }
    workshop.create(wanted).await?;
    json(StatusCode::CREATED, &front.site.agents().get(&admitted.caller, &name)?)
}

/// An `agent.toml` with what the site thinks of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ManifestFile")]
struct Shown {
    #[serde(flatten)]
    file: ManifestFile,
    /// Why the site refuses it as it is; an earlier version continues to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("about" = "Why the site would not have it as it is"))]
    refused: Option<String>,
}

async fn manifest(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
) -> RestResult {
    let file = opened(&front)?.manifest(named(&name)?).await?;
    shown(&front, &admitted.caller, file)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ManifestText")]
struct Text {
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ManifestProblems")]
struct Checked {
    problems: Vec<Problem>,
}

async fn check(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
    JsonBody(given): JsonBody<Text>,
) -> RestResult {
    let workshop = opened(&front)?;
    json(StatusCode::OK, &Checked { problems: workshop.check(&named(&name)?, &given.text) })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ManifestEdit")]
struct Edit {
    text: String,
    #[schemars(extend("about" = "That of the text which was changed"))]
    revision: String,
}

async fn write(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
    JsonBody(edit): JsonBody<Edit>,
) -> RestResult {
    let workshop = opened(&front)?;
    let file = workshop.write(named(&name)?, edit.text, edit.revision).await?;
    shown(&front, &admitted.caller, file)
}

async fn suspend(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
) -> RestResult {
    let file = opened(&front)?.suspend(named(&name)?).await?;
    shown(&front, &admitted.caller, file)
}

async fn resume(State(front): State<Arc<Front>>, admitted: Admitted, Path(name): Path<String>) -> RestResult {
    let file = opened(&front)?.resume(named(&name)?).await?;
    shown(&front, &admitted.caller, file)
}

/// Takes an agent out: the folder of one of the site's own goes to the trash, a program that connects is sent
/// away.
async fn remove(State(front): State<Arc<Front>>, admitted: Admitted, Path(name): Path<String>) -> RestResult {
    let (caller, name) = (&admitted.caller, named(&name)?);
    let has_folder = front.site.agents().get(caller, &name).is_ok_and(|agent| agent.folder.is_some());
    let gone = front.site.agents().get(caller, &name).is_err()
        && caller.is_admin()
        && front.settings.workshop.is_some();
    if !has_folder && !gone {
        front.site.connected().disconnect(caller, &name).await?;
        return Ok(nothing());
    }
    if !caller.is_admin() {
        let sentence = "Only an admin may remove an agent of the site's own. Use a key with the scope admin.";
        return Err(Failure::new(Fault::Forbidden, sentence));
    }
    opened(&front)?.remove(name).await?;
    Ok(nothing())
}

fn shown(front: &Front, caller: &Caller, file: ManifestFile) -> RestResult {
    let broken = front.site.agents().broken(caller).into_iter().find(|broken| broken.file == file.file);
    json(StatusCode::OK, &Shown { file, refused: broken.map(|broken| broken.error) })
}

fn opened(front: &Front) -> Result<&Arc<dyn Workshop>, Failure> {
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
