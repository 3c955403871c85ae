//! The library: a built-in agent that answers from the documents of a folder.
//!
//! Promises: answers are quotations with their sources or, with a model, sentences that name the passages
//! they come from. Documents are followed as they change. Starting costs nothing: documents are read in the
//! background, and the index of an earlier process is used again. It needs no key and no model.
//!
//! It is a Runner of `host` and finds with `search`; it knows nothing else of a site.

#![forbid(unsafe_code)]

mod answer;
mod compose;
mod document;
mod folders;
mod own;
mod passage;
mod read;
mod reading;
mod runner;
mod scan;
mod sentence;
mod shelf;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use agentsite_host::{
    AgentLog, LaunchError, LibraryRuntime, Manifest, Runner, Runtime, SkillEntry, Workshop,
};
use agentsite_protocol::Clock;
use agentsite_search::Embedders;

use compose::Composer;
use folders::IndexFolder;
use scan::Source;

pub use folders::IndexFolders;

/// The skill that gives passages to programs.
const SEARCH: &str = "search_library";

/// The demo: a library of agentsite's own documentation.
const DEMO: &str = include_str!("demo.toml");

/// What a library can do when its file says nothing of it.
const SKILLS: &str = include_str!("skills.toml");

/// The manifest of the library that a site without agents serves.
#[must_use]
pub fn demo_library() -> Manifest {
    Manifest::read(DEMO).expect("the demo is read in a test")
}

/// Gives a library the skills that every library has: the one for programs, and the one for people unless its
/// file declares its own skills.
pub fn complete(manifest: &mut Manifest) {
    if !matches!(manifest.runtime, Runtime::Library(_)) {
        return;
    }
    let own = !manifest.skills.is_empty();
    let declared = manifest.skills.iter().any(|skill| skill.id == SEARCH);
    manifest
        .skills
        .extend(skills().into_iter().filter(|skill| if skill.id == SEARCH { !declared } else { !own }));
}

fn skills() -> Vec<SkillEntry> {
    Manifest::read(SKILLS).expect("the skills are read in a test").skills
}

/// Makes the runner of a library and begins to read.
///
/// # Errors
/// [`LaunchError`] says what is missing.
pub fn launch(
    library: &LibraryRuntime,
    manifest: &Manifest,
    folder: Option<&Path>,
    workshop: &Workshop,
    (embedders, folders): (&Embedders, &IndexFolders),
    log: &AgentLog,
) -> Result<Arc<dyn Runner>, LaunchError> {
    let source = Source::of(library.path.as_deref(), folder.unwrap_or(Path::new(".")));
    let composer = library.talk.then(|| Composer::launch(library, manifest, workshop, log)).transpose()?;
    let (folder, clock) = (folders.folder_of(&manifest.name), workshop.ids.clock().clone());
    Ok(runner::start(source, folder, composer, clock, embedders, log))
}

/// A library over `docs` in a folder whose answers are written by this runner in place of a model of the
/// workshop. Its index is in memory alone.
#[must_use]
pub fn with_model(
    folder: &Path,
    model: Arc<dyn Runner>,
    clock: Arc<dyn Clock>,
    embedders: &Embedders,
) -> Arc<dyn Runner> {
    let source = Source::of(Some("docs"), folder);
    let log = AgentLog::new(clock.clone());
    runner::start(source, IndexFolder::none(), Some(Composer::with(model)), clock, embedders, &log)
}
