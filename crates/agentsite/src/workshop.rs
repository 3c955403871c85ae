//! The agents folder as the pages change it: new agents from templates, edits of `agent.toml`, agents
//! disabled or removed.
//!
//! Promises: a name is the name of an agent and never a path; agents are found by what their files say,
//! inside of the folder only. A file is replaced whole, and only when it is still the one that was read.
//! Nothing is destroyed: a removed folder is in the trash. One change happens at a time, and each is answered
//! after the site has looked. The gateway checks permissions.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentsite_gateway::{
    DraftFile, ManifestFile, NewAgent, Problem, SuspendedAgent, Template, Worked, Workshop, WorkshopError,
};
use agentsite_host::Manifest;
use agentsite_protocol::{AgentName, Clock, Timestamp};
use clap::ValueEnum;
use tokio::sync::Mutex;

use crate::exit::CliError;
use crate::folder::{ScanRequester, scan};
use crate::templates::{self, Language, TemplateValues};

/// Written next to the file that it then replaces; begins with a dot, so that no watch takes it for
/// something.
const DRAFT: &str = ".agent.toml.new";

/// The agents folder of a running site.
#[derive(Debug)]
pub(crate) struct FolderWorkshop {
    agents: PathBuf,
    trash: PathBuf,
    clock: Arc<dyn Clock>,
    scans: ScanRequester,
    /// Two changes at once would not see each other.
    changing: Mutex<()>,
}

impl FolderWorkshop {
    /// Opens the workshop of a folder, which need not exist yet.
    pub(crate) fn new(agents: &Path, trash: PathBuf, clock: Arc<dyn Clock>, scans: ScanRequester) -> Self {
        Self { agents: agents.to_owned(), trash, clock, scans, changing: Mutex::new(()) }
    }

    /// Does something with files, away from the threads that answer; then lets the site look.
    async fn change<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> Result<T, WorkshopError> + Send + 'static,
    ) -> Result<T, WorkshopError> {
        let _one_at_a_time = self.changing.lock().await;
        let done = aside(act).await?;
        self.scans.scan().await;
        Ok(done)
    }
}

impl Workshop for FolderWorkshop {
    fn templates(&self) -> Vec<Template> {
        Language::value_variants().iter().map(|language| template(*language)).collect()
    }

    fn draft(&self, wanted: &NewAgent) -> Result<Vec<DraftFile>, WorkshopError> {
        let files =
            templates::files(language(wanted)?, &wanted.name, &wish(wanted)).map_err(WorkshopError::Bad)?;
        Ok(files.into_iter().map(|(path, text)| DraftFile { path: path.to_owned(), text }).collect())
    }

    fn create(&self, wanted: NewAgent) -> Worked<'_, ()> {
        Box::pin(async move {
            self.draft(&wanted)?;
            let agents = self.agents.clone();
            let act = move || {
                let (folder, language) = (agents.join(wanted.name.as_str()), language(&wanted)?);
                let known =
                    scan::folder_of(&agents, &wanted.name).map_err(|error| failed(&agents, &error))?;
                if known.is_some() || folder.symlink_metadata().is_ok() {
                    return Err(WorkshopError::Taken(wanted.name));
                }
                std::fs::create_dir_all(&agents).map_err(|error| failed(&agents, &error))?;
                templates::write_agent(language, &wanted.name, &folder, &wish(&wanted))
                    .map_err(|error| WorkshopError::Failed(error.to_string()))
            };
            self.change(act).await
        })
    }

    fn suspended(&self) -> Worked<'_, Vec<SuspendedAgent>> {
        let agents = self.agents.clone();
        Box::pin(aside(move || {
            let all = scan::scan_all(&agents).map_err(|error| failed(&agents, &error))?;
            let suspended = all.into_iter().filter(|one| scan::is_suspended(&one.folder));
            let listed = suspended.filter_map(|one| {
                let manifest = one.reading.ok()?;
                Some(SuspendedAgent { name: manifest.name, description: manifest.description })
            });
            Ok(listed.collect())
        }))
    }

    fn manifest(&self, name: AgentName) -> Worked<'_, ManifestFile> {
        let agents = self.agents.clone();
        Box::pin(aside(move || read(&folder(&agents, &name)?)))
    }

    fn check(&self, name: &AgentName, text: &str) -> Vec<Problem> {
        match Manifest::read(text) {
            Ok(manifest) if manifest.name == *name => Vec::new(),
            Ok(_) => {
                let line = text.lines().position(|line| line.trim_start().starts_with("name"));
                let what = format!("the name stays `{name}`; create a new agent for another name");
                vec![Problem { line: line.map_or(1, |at| at + 1), column: 1, what }]
            }
            Err(error) => vec![Problem { line: error.line, column: error.column, what: error.what }],
        }
    }

    fn write(&self, name: AgentName, text: String, revision: String) -> Worked<'_, ManifestFile> {
        Box::pin(async move {
            if let Some(problem) = self.check(&name, &text).first() {
                let Problem { line, column, what } = problem;
                return Err(WorkshopError::Bad(format!("agent.toml:{line}:{column}: {what}")));
            }
            let agents = self.agents.clone();
            let act = move || {
                let folder = folder(&agents, &name)?;
                if read(&folder)?.revision != revision {
                    return Err(WorkshopError::Moved);
                }
                replace(&folder, &text).map_err(|error| failed(&folder, &error))?;
                read(&folder)
            };
            self.change(act).await
        })
    }

    fn suspend(&self, name: AgentName) -> Worked<'_, ManifestFile> {
        let agents = self.agents.clone();
        Box::pin(self.change(move || {
            let folder = folder(&agents, &name)?;
            let mark = folder.join(scan::SUSPENDED);
            std::fs::write(&mark, "Suspended; remove this file to bring the agent back.\n")
                .map_err(|error| failed(&mark, &error))?;
            read(&folder)
        }))
    }

    fn resume(&self, name: AgentName) -> Worked<'_, ManifestFile> {
        let agents = self.agents.clone();
        Box::pin(self.change(move || {
            let folder = folder(&agents, &name)?;
            let mark = folder.join(scan::SUSPENDED);
            match std::fs::remove_file(&mark) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(&mark, &error)),
                _ => read(&folder),
            }
        }))
    }

    fn remove(&self, name: AgentName) -> Worked<'_, String> {
        let (agents, trash, now) = (self.agents.clone(), self.trash.clone(), self.clock.now());
        Box::pin(self.change(move || {
            let folder = folder(&agents, &name)?;
            let gone = discard(&folder, &trash, &name, now);
            gone.map(|at| at.display().to_string()).map_err(|error| WorkshopError::Failed(error.to_string()))
        }))
    }
}

/// Moves the folder of an agent to the trash; gives its new path.
///
/// # Errors
/// [`CliError`] when it cannot be moved.
pub(crate) fn discard(
    folder: &Path,
    trash: &Path,
    name: &AgentName,
    now: Timestamp,
) -> Result<PathBuf, CliError> {
    std::fs::create_dir_all(trash).map_err(|error| CliError::file("make", trash, &error))?;
    let to = trash.join(format!("{name}-{}", now.as_millis()));
    std::fs::rename(folder, &to).map_err(|error| CliError::file("move", folder, &error))?;
    Ok(to)
}

async fn aside<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, WorkshopError> + Send + 'static,
) -> Result<T, WorkshopError> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|error| WorkshopError::Failed(format!("this broke off: {error}")))?
}

fn template(language: Language) -> Template {
    let manifest = language.manifest();
    Template {
        id: language.word(),
        about: language.about(),
        description: manifest.description,
        example: language.example().to_owned(),
        visibility: manifest.visibility,
        model: language == Language::Llm,
    }
}

fn language(wanted: &NewAgent) -> Result<Language, WorkshopError> {
    Language::from_str(&wanted.template, false).map_err(|_| {
        let known: Vec<String> = Language::value_variants().iter().map(|one| one.word()).collect();
        WorkshopError::Bad(format!("template: there are {}", known.join(", ")))
    })
}

fn wish(wanted: &NewAgent) -> TemplateValues {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    TemplateValues {
        description: said(&wanted.description),
        visibility: wanted.visibility,
        model: said(&wanted.model),
    }
}

fn folder(agents: &Path, name: &AgentName) -> Result<PathBuf, WorkshopError> {
    let found = scan::folder_of(agents, name).map_err(|error| failed(agents, &error))?;
    found.ok_or_else(|| WorkshopError::NoSuchAgent(name.clone()))
}

fn read(folder: &Path) -> Result<ManifestFile, WorkshopError> {
    let path = folder.join(scan::MANIFEST);
    let text = scan::text_of(&path).map_err(|error| failed(&path, &error))?;
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let revision = format!("{:016x}", hash.finish());
    Ok(ManifestFile {
        file: path.display().to_string(),
        text,
        revision,
        suspended: scan::is_suspended(folder),
    })
}

/// Puts the text in the place of the file: a reader sees the old one or the new one, also after a power
/// cut.
fn replace(folder: &Path, text: &str) -> std::io::Result<()> {
    let (draft, path) = (folder.join(DRAFT), folder.join(scan::MANIFEST));
    let mut file = std::fs::File::create(&draft)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_permissions(std::fs::metadata(&path)?.permissions()))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&draft, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn failed(path: &Path, error: &std::io::Error) -> WorkshopError {
    WorkshopError::Failed(format!("{}: {error}; look at the folder's permissions", path.display()))
}

#[cfg(test)]
mod tests;
