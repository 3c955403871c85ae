//! Reads the agents folder: which agents are declared there, and what is wrong with the others.
//!
//! Promises: one folder with an `agent.toml` is one finding, valid or broken; nothing else in the folder
//! matters, and names that begin with a dot are skipped. It decides nothing and keeps nothing.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use agentsite_host::{Manifest, Runtime};
use agentsite_protocol::AgentName;

/// The file that makes a folder an agent.
pub(crate) const MANIFEST: &str = "agent.toml";

/// The file that keeps an agent out while its folder stays.
pub(crate) const SUSPENDED: &str = ".suspended";

/// Most bytes that are read of a manifest; one more than is allowed, so that the reader of manifests can
/// refuse it by name.
const MOST_READ: u64 = 256 * 1024 + 1;

/// One agent folder.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// What its `agent.toml` declares, or what is wrong with it, beginning with line and column.
    pub(crate) reading: Result<Box<Manifest>, String>,
    /// Changes when the agent must be made anew: its `agent.toml` or a file that it holds open has changed.
    pub(crate) stamp: u64,
}

impl Found {
    /// The `agent.toml`, as people see it.
    pub(crate) fn file(&self) -> String {
        self.folder.join(MANIFEST).display().to_string()
    }
}

/// Every agent folder whose agent is not suspended, ordered by name. A folder that does not exist holds none.
///
/// # Errors
/// What the system says when the folder exists and cannot be read.
pub(crate) fn scan(agents: &Path) -> std::io::Result<Vec<Found>> {
    let here = folders(agents)?.into_iter().filter(|folder| !is_suspended(folder));
    Ok(here.filter_map(read).collect())
}

/// The same with those that are suspended.
///
/// # Errors
/// As [`scan`].
pub(crate) fn scan_all(agents: &Path) -> std::io::Result<Vec<Found>> {
    Ok(folders(agents)?.into_iter().filter_map(read).collect())
}

/// The names of agents that have a folder and do not run: suspended ones, and those whose file cannot be
/// read, by the name of the folder.
///
/// # Errors
/// As [`scan`].
pub(crate) fn idle(agents: &Path) -> std::io::Result<BTreeSet<AgentName>> {
    let by_folder = |one: &Found| one.folder.file_name()?.to_str()?.parse().ok();
    let name = |one: Found| match &one.reading {
        Ok(manifest) => is_suspended(&one.folder).then(|| manifest.name.clone()),
        Err(_) => by_folder(&one),
    };
    Ok(scan_all(agents)?.into_iter().filter_map(name).collect())
}

/// Whether an agent was taken out for a while.
pub(crate) fn is_suspended(folder: &Path) -> bool {
    folder.join(SUSPENDED).symlink_metadata().is_ok()
}

/// The folder whose `agent.toml` bears the name, or which bears the name itself when its file cannot be read;
/// suspended or not.
///
/// # Errors
/// As [`scan`].
pub(crate) fn folder_of(agents: &Path, name: &AgentName) -> std::io::Result<Option<PathBuf>> {
    let named = |one: &Found| match &one.reading {
        Ok(manifest) => manifest.name == *name,
        Err(_) => one.folder.file_name().is_some_and(|folder| folder == name.as_str()),
    };
    Ok(scan_all(agents)?.into_iter().find(named).map(|one| one.folder))
}

/// Every folder that may be an agent, ordered by name.
///
/// # Errors
/// What the system says when the folder exists and cannot be read.
pub(crate) fn folders(agents: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(agents) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let hidden = |path: &Path| path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| !hidden(path) && path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

fn read(folder: PathBuf) -> Option<Found> {
    let text = match text_of(&folder.join(MANIFEST)) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
        text => text,
    };
    let mut stamp = DefaultHasher::new();
    let reading = match text {
        Ok(text) => {
            text.hash(&mut stamp);
            Manifest::read(&text).map(Box::new).map_err(|error| error.to_string())
        }
        Err(error) => {
            let what = format!("1:1: cannot be read: {error}");
            what.hash(&mut stamp);
            Err(what)
        }
    };
    if let Ok(manifest) = &reading {
        held(&folder, &manifest.runtime).iter().for_each(|file| version(file).hash(&mut stamp));
    }
    Some(Found { folder, reading, stamp: stamp.finish() })
}

/// The text of a manifest, or the beginning of one that is too long.
///
/// # Errors
/// What the system says, or that it is not text.
pub(crate) fn text_of(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(MOST_READ).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// The files that an agent reads when it is made rather than at every task.
fn held(folder: &Path, runtime: &Runtime) -> Vec<PathBuf> {
    match runtime {
        Runtime::Llm(llm) => {
            let documents = llm.tools.iter().filter_map(|tool| tool.strip_prefix("openapi:"));
            let files = llm.prompt_file.iter().map(String::as_str).chain(documents);
            files.map(|file| folder.join(file)).collect()
        }
        Runtime::A2a(a2a) => words_that_are_files(folder, &a2a.command),
        Runtime::Acp(acp) => words_that_are_files(folder, &acp.command),
        Runtime::Openapi(openapi) => words_that_are_files(folder, std::slice::from_ref(&openapi.document)),
        Runtime::Mcp(mcp) => words_that_are_files(folder, &mcp.command),
        Runtime::Builtin(_) | Runtime::Library(_) | Runtime::Exec(_) | Runtime::Connected => Vec::new(),
    }
}

fn words_that_are_files(folder: &Path, command: &[String]) -> Vec<PathBuf> {
    command.iter().map(|word| folder.join(word)).filter(|path| path.is_file()).collect()
}

/// Length and time of change; nothing for a file that is not there.
fn version(file: &Path) -> Option<(u64, Option<std::time::SystemTime>)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.len(), found.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: &str =
        "name = \"loud\"\ndescription = \"Loud\"\n[runtime]\nkind = \"exec\"\ncommand = [\"tr\"]\n";
    const WISE: &str =
        "name = \"wise\"\ndescription = \"Wise\"\n[runtime]\nkind = \"llm\"\nprompt_file = \"p.md\"\n";

    fn agent(root: &Path, folder: &str, text: &str) {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join(MANIFEST), text).unwrap();
    }

    #[test]
    fn a_missing_folder_holds_no_agents() {
        let root = tempfile::tempdir().unwrap();
        assert!(scan(&root.path().join("agents")).unwrap().is_empty());
    }

    #[test]
    fn only_visible_folders_with_a_manifest_are_agents() {
        let root = tempfile::tempdir().unwrap();
        agent(root.path(), "b", LOUD);
        agent(root.path(), ".draft", LOUD);
        agent(root.path(), "a", "name = ");
        std::fs::create_dir(root.path().join("notes")).unwrap();
        std::fs::write(root.path().join("agent.toml"), LOUD).unwrap();
        let found = scan(root.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|one| one.folder.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(found[0].reading.as_ref().unwrap_err().starts_with("1:"));
        assert_eq!(found[1].reading.as_ref().unwrap().name.as_str(), "loud");
    }

    #[test]
    fn a_manifest_that_is_no_text_is_a_broken_agent() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("x")).unwrap();
        std::fs::write(root.path().join("x").join(MANIFEST), [0xff, 0xfe]).unwrap();
        let found = scan(root.path()).unwrap();
        assert!(found[0].reading.as_ref().unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn the_stamp_follows_the_files_that_an_agent_holds() {
        let root = tempfile::tempdir().unwrap();
        agent(root.path(), "wise", WISE);
        agent(root.path(), "loud", LOUD);
        let stamps = || scan(root.path()).unwrap().iter().map(|one| one.stamp).collect::<Vec<_>>();
        let before = stamps();
        assert_eq!(before, stamps());
        std::fs::write(root.path().join("wise/p.md"), "Be wise.").unwrap();
        std::fs::write(root.path().join("loud/notes.md"), "for people").unwrap();
        let after = stamps();
        assert_eq!(before[0], after[0]);
        assert_ne!(before[1], after[1]);
    }
}
