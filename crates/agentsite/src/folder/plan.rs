//! Decides what a scan of the agents folder changes.
//!
//! Promises: a pure function of what is running and what was found. A broken file leaves the last good
//! version of its agent running; a name belongs to the folder that had it first; each error is logged once,
//! when it is new. It touches neither files nor the site.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentsite_host::Manifest;
use agentsite_protocol::AgentName;

use super::scan::Found;

/// An agent that runs from a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderAgent {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The version that was taken from it.
    pub(crate) stamp: u64,
}

/// What the last scan left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScanState {
    /// The agents that run from the folder.
    pub(crate) agents: BTreeMap<AgentName, FolderAgent>,
    /// What is wrong, by file.
    pub(crate) errors: BTreeMap<String, String>,
    /// Which of the versions in `agents` the site would not have, by file; they stay refused until they
    /// change.
    pub(crate) refused: BTreeMap<String, String>,
}

impl ScanState {
    /// Notes that the site would not have the version that was installed last from the folder of this file.
    pub(crate) fn refuse(&mut self, file: String, error: String) {
        self.errors.insert(file.clone(), error.clone());
        self.refused.insert(file, error);
    }

    /// Carries a refusal over from an earlier scan.
    fn keep_refusal(&mut self, earlier: &Self, file: &str) -> Option<String> {
        let error = earlier.refused.get(file)?.clone();
        self.refused.insert(file.to_owned(), error.clone());
        Some(error)
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// The agent is new or has changed.
    Install {
        /// What it declares.
        manifest: Box<Manifest>,
        /// Where it lies.
        folder: PathBuf,
    },
    /// The agent is gone.
    Remove(AgentName),
    /// Something is wrong that was not wrong before.
    Complain {
        /// The `agent.toml`.
        file: String,
        /// What is wrong, beginning with line and column.
        error: String,
    },
}

/// What to do, and what is known afterwards.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In this order: agents go before others come, so that a name can move.
    pub(crate) actions: Vec<Action>,
    /// To be handed to the next plan.
    pub(crate) known: ScanState,
}

/// Compares what runs with what was found.
pub(crate) fn plan(known: &ScanState, found: Vec<Found>) -> Plan {
    let mut next = ScanState::default();
    let mut installs = Vec::new();
    let (sound, broken): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|one| one.reading.is_ok());

    for one in &broken {
        let error = one.reading.as_ref().err().cloned().unwrap_or_default();
        next.errors.insert(one.file(), error);
        // The last good version keeps running, and keeps its name.
        if let Some((name, placed)) = known.agents.iter().find(|(_, placed)| placed.folder == one.folder) {
            next.agents.insert(name.clone(), placed.clone());
            next.keep_refusal(known, &one.file());
        }
    }

    // Those that already run come first: a newcomer cannot take their name away.
    let (running, new): (Vec<Found>, Vec<Found>) = sound.into_iter().partition(|one| is_running(known, one));
    for one in running.into_iter().chain(new) {
        let (file, Found { folder, reading, stamp }) = (one.file(), one);
        let Ok(manifest) = reading else { continue };
        if let Some(other) = next.agents.get(&manifest.name) {
            next.errors.insert(file, taken(&manifest.name, other));
            continue;
        }
        let placed = FolderAgent { folder: folder.clone(), stamp };
        let unchanged = known.agents.get(&manifest.name) == Some(&placed);
        if unchanged && let Some(error) = next.keep_refusal(known, &file) {
            next.errors.insert(file, error);
        }
        next.agents.insert(manifest.name.clone(), placed);
        if !unchanged {
            installs.push(Action::Install { manifest, folder });
        }
    }

    let gone = known.agents.keys().filter(|name| !next.agents.contains_key(*name));
    let mut actions: Vec<Action> = gone.map(|name| Action::Remove(name.clone())).collect();
    actions.append(&mut installs);
    let is_new = |(file, error): &(&String, &String)| known.errors.get(*file) != Some(*error);
    let complaints = next.errors.iter().filter(is_new);
    actions.extend(
        complaints.map(|(file, error)| Action::Complain { file: file.clone(), error: error.clone() }),
    );
    Plan { actions, known: next }
}

fn is_running(known: &ScanState, one: &Found) -> bool {
    let Ok(manifest) = &one.reading else { return false };
    known.agents.get(&manifest.name).is_some_and(|placed| placed.folder == one.folder)
}

fn taken(name: &AgentName, other: &FolderAgent) -> String {
    format!("1:1: the name `{name}` belongs to {}; give each agent its own name", other.folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(folder: &str, name: &str, stamp: u64) -> Found {
        let text = format!(
            "name = \"{name}\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        let manifest = Manifest::read(&text).unwrap();
        Found { folder: folder.into(), reading: Ok(Box::new(manifest)), stamp }
    }

    fn broken(folder: &str, error: &str) -> Found {
        Found { folder: folder.into(), reading: Err(error.into()), stamp: 0 }
    }

    fn described(plan: &Plan) -> Vec<String> {
        let words = |action: &Action| match action {
            Action::Install { manifest, folder } => {
                format!("install {} from {}", manifest.name, folder.display())
            }
            Action::Remove(name) => format!("remove {name}"),
            Action::Complain { file, error } => format!("{file}:{error}"),
        };
        plan.actions.iter().map(words).collect()
    }

    #[test]
    fn new_agents_are_installed_and_unchanged_ones_left_alone() {
        let first = plan(&ScanState::default(), vec![sound("a", "one", 1), sound("b", "two", 1)]);
        assert_eq!(described(&first), ["install one from a", "install two from b"]);
        let second = plan(&first.known, vec![sound("a", "one", 1), sound("b", "two", 2)]);
        assert_eq!(described(&second), ["install two from b"]);
        let third = plan(&second.known, vec![sound("b", "two", 2)]);
        assert_eq!(described(&third), ["remove one"]);
    }

    #[test]
    fn a_broken_file_is_told_once_and_its_last_good_version_goes_on() {
        let first = plan(&ScanState::default(), vec![sound("a", "one", 1)]);
        let second = plan(&first.known, vec![broken("a", "3:7: what")]);
        assert_eq!(described(&second), ["a/agent.toml:3:7: what"]);
        let third = plan(&second.known, vec![broken("a", "3:7: what")]);
        assert!(described(&third).is_empty());
        let fourth = plan(&third.known, vec![broken("a", "4:1: else")]);
        assert_eq!(described(&fourth), ["a/agent.toml:4:1: else"]);
        let mended = plan(&fourth.known, vec![sound("a", "one", 1)]);
        assert!(described(&mended).is_empty(), "the same version still runs");
        assert!(mended.known.errors.is_empty());
    }

    #[test]
    fn a_broken_newcomer_stops_no_other_agent() {
        let first = plan(&ScanState::default(), vec![sound("a", "one", 1)]);
        let second = plan(&first.known, vec![sound("a", "one", 1), broken("b", "1:1: no")]);
        assert_eq!(described(&second), ["b/agent.toml:1:1: no"]);
        let gone = plan(&second.known, vec![sound("a", "one", 1)]);
        assert!(described(&gone).is_empty() && gone.known.errors.is_empty());
    }

    #[test]
    fn a_name_belongs_to_the_folder_that_had_it_first() {
        let first = plan(&ScanState::default(), vec![sound("b", "one", 1)]);
        let second = plan(&first.known, vec![sound("a", "one", 1), sound("b", "one", 1)]);
        let complaint = "a/agent.toml:1:1: the name `one` belongs to b; give each agent its own name";
        assert_eq!(described(&second), [complaint]);
        let freed = plan(&second.known, vec![sound("a", "one", 1)]);
        assert_eq!(described(&freed), ["install one from a"]);
    }

    #[test]
    fn a_broken_folder_keeps_its_name() {
        let first = plan(&ScanState::default(), vec![sound("a", "one", 1)]);
        let second = plan(&first.known, vec![broken("a", "1:1: no"), sound("b", "one", 1)]);
        assert!(
            described(&second)
                .iter()
                .any(|line| line.starts_with("b/agent.toml:1:1: the name `one` belongs to a"))
        );
        assert!(!described(&second).iter().any(|line| line.starts_with("install")));
    }

    #[test]
    fn an_agent_that_is_renamed_leaves_under_its_old_name() {
        let first = plan(&ScanState::default(), vec![sound("a", "one", 1)]);
        let second = plan(&first.known, vec![sound("a", "two", 2)]);
        assert_eq!(described(&second), ["remove one", "install two from a"]);
    }

    #[test]
    fn names_can_be_exchanged() {
        let first = plan(&ScanState::default(), vec![sound("a", "one", 1), sound("b", "two", 1)]);
        let second = plan(&first.known, vec![sound("a", "two", 2), sound("b", "one", 2)]);
        assert_eq!(described(&second), ["install two from a", "install one from b"]);
    }

    #[test]
    fn what_the_site_refused_stays_told_until_the_file_changes() {
        let mut first = plan(&ScanState::default(), vec![sound("a", "one", 1)]);
        first.known.refuse("a/agent.toml".into(), "refused".into());
        let second = plan(&first.known, vec![sound("a", "one", 1)]);
        assert!(described(&second).is_empty());
        assert_eq!(second.known.errors.len(), 1);
        let broken = plan(&second.known, vec![broken("a", "1:1: no")]);
        let again = plan(&broken.known, vec![sound("a", "one", 1)]);
        assert_eq!(described(&again), ["a/agent.toml:refused"], "it is still the version that was refused");
        let third = plan(&again.known, vec![sound("a", "one", 2)]);
        assert_eq!(described(&third), ["install one from a"]);
        assert!(third.known.errors.is_empty());
    }
}
