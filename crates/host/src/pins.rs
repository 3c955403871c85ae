//! Pins: which tools of a server were approved, and whether they still are what they were.
//!
//! Promises: a tool is known by the SHA-256 of everything that it says of itself, so that no changed word
//! goes unseen. What was seen first is kept in `tools.lock` next to `agent.toml`; a tool that is new or
//! changed is flagged until it is approved, and where the operator asks for approval it cannot be used
//! before. A lock that cannot be read approves nothing. It does not judge what a tool does.

mod lock;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::canonical_json;
use agentsite_protocol::mcp::Tool;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use crate::{Approve, Change};

/// Tools that are named in one sentence; the list names them all.
const NAMED: usize = 5;

/// The tools of a server and what was approved of them.
#[derive(Debug)]
pub struct ToolPins {
    approve: Approve,
    /// Where approvals are kept; in memory only when there is no folder.
    folder: Option<PathBuf>,
    changes: broadcast::Sender<Change>,
    // A std lock: held to compare lists and to write a small file, never across an await.
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    /// What was approved, by the names of the tools; `None` before the server was ever seen.
    approved: Option<BTreeMap<String, String>>,
    /// What the server offers now.
    offered: Vec<(Tool, String)>,
    /// Those of them that can be used.
    usable: Arc<[Tool]>,
    /// The last message about them, so that it is logged once.
    said: Option<String>,
}

/// What was seen in a look at the tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolCheck {
    /// Text for the log, when there is news about the tools.
    pub(crate) said: Option<String>,
    /// Whether they differ from those before.
    pub(crate) changed: bool,
}

/// How a tool compares with what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PinState {
    /// It is what was approved.
    Same,
    /// It was not there.
    New,
    /// It says something else of itself.
    Changed,
}

/// One tool of a server, as its operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct PinnedTool {
    /// Its name.
    pub name: String,
    /// How it compares with what was approved.
    pub state: PinState,
    /// Whether it can be used now.
    pub usable: bool,
    /// What it says of itself now.
    pub description: String,
    /// The SHA-256 of everything it says of itself now.
    pub sha256: String,
}

/// Why tools were not approved.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The server offers no such tool.
    #[error("there is no tool `{0}` to approve; `agentsite agent tools` lists them")]
    NoSuchTool(String),
    /// The approval cannot be kept.
    #[error("the approval cannot be written to {file}: {source}; make the agent's folder writable")]
    Unwritten {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
}

impl ToolPins {
    /// Reads what was approved; the text describes what is wrong with the file, if anything.
    pub(crate) fn open(
        approve: Approve,
        folder: Option<&Path>,
        changes: broadcast::Sender<Change>,
    ) -> (Self, Option<String>) {
        let (approved, complaint) = match folder.map(lock::read) {
            None => (None, None),
            Some(Ok(approved)) => (approved, None),
            Some(Err(why)) => (Some(BTreeMap::new()), Some(why)),
        };
        let shelf = Mutex::new(Shelf { approved, ..Shelf::default() });
        (Self { approve, folder: folder.map(Path::to_owned), changes, shelf }, complaint)
    }

    /// Takes the tools that the server offers now.
    pub(crate) fn see(&self, tools: Vec<Tool>) -> ToolCheck {
        let mut shelf = self.shelf();
        let before = shelf.prints();
        shelf.offered = tools
            .into_iter()
            .map(|tool| {
                let print = fingerprint(&tool);
                (tool, print)
            })
            .collect();
        let mut said = None;
        if shelf.approved.is_none() {
            let first = if self.approve == Approve::Always { BTreeMap::new() } else { shelf.prints() };
            said = self.keep(&first).err().map(|error| error.to_string());
            shelf.approved = Some(first);
        }
        self.lay_out(&mut shelf);
        let said = said.or_else(|| self.describe(&shelf));
        let news = said.clone().filter(|_| said != shelf.said);
        shelf.said = said;
        ToolCheck { said: news, changed: shelf.prints() != before }
    }

    /// Approves tools as they are now, all of them when none is named; gives the names of those that were
    /// flagged before.
    ///
    /// # Errors
    /// [`PinError`] when a tool is not there or the approval cannot be written; nothing is approved then.
    pub fn approve(&self, names: &[String]) -> Result<Vec<String>, PinError> {
        let mut shelf = self.shelf();
        let prints = shelf.prints();
        if let Some(missing) = names.iter().find(|name| !prints.contains_key(*name)) {
            return Err(PinError::NoSuchTool(missing.clone()));
        }
        let mut approved = shelf.approved.clone().unwrap_or_default();
        let mut flagged = Vec::new();
        for (name, print) in prints {
            if (names.is_empty() || names.contains(&name)) && approved.get(&name) != Some(&print) {
                approved.insert(name.clone(), print);
                flagged.push(name);
            }
        }
        if names.is_empty() {
            // What the server no longer offers would have to be approved anew.
            approved.retain(|name, _| shelf.offered.iter().any(|(tool, _)| tool.name == *name));
        }
        self.keep(&approved)?;
        shelf.approved = Some(approved);
        self.lay_out(&mut shelf);
        drop(shelf);
        let _ = self.changes.send(Change::Tools);
        Ok(flagged)
    }

    /// All tools that the server offers, with their state.
    #[must_use]
    pub fn list(&self) -> Vec<PinnedTool> {
        let shelf = self.shelf();
        let pinned = |(tool, print): &(Tool, String)| {
            let state = shelf.state(&tool.name, print);
            PinnedTool {
                name: tool.name.clone(),
                state,
                usable: self.lets(state),
                description: tool.description.clone().unwrap_or_default(),
                sha256: print.clone(),
            }
        };
        shelf.offered.iter().map(pinned).collect()
    }

    /// A sentence about tools that are flagged; `None` when there are none.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        self.describe(&self.shelf())
    }

    /// The tools that can be used.
    pub(crate) fn usable(&self) -> Arc<[Tool]> {
        self.shelf().usable.clone()
    }

    /// Whether the server offers a tool that cannot be used before it is approved.
    pub(crate) fn withholds(&self, name: &str) -> bool {
        let shelf = self.shelf();
        let offered = shelf.offered.iter().find(|(tool, _)| tool.name == name);
        offered.is_some_and(|(tool, print)| !self.lets(shelf.state(&tool.name, print)))
    }

    fn lets(&self, state: PinState) -> bool {
        state == PinState::Same || self.approve == Approve::Never
    }

    fn lay_out(&self, shelf: &mut Shelf) {
        let lets = |(tool, print): &&(Tool, String)| self.lets(shelf.state(&tool.name, print));
        shelf.usable = shelf.offered.iter().filter(lets).map(|(tool, _)| tool.clone()).collect();
    }

    fn keep(&self, approved: &BTreeMap<String, String>) -> Result<(), PinError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        lock::write(folder, approved).map_err(|source| PinError::Unwritten {
            file: folder.join(lock::FILE).display().to_string(),
            source,
        })
    }

    fn describe(&self, shelf: &Shelf) -> Option<String> {
        let of = |state: PinState, word: &str| {
            let flagged =
                shelf.offered.iter().filter(|(tool, print)| shelf.state(&tool.name, print) == state);
            let names: Vec<&str> = flagged.map(|(tool, _)| tool.name.as_str()).collect();
            let more = if names.len() > NAMED { ", …" } else { "" };
            let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
            (!names.is_empty()).then(|| format!("{} {word} ({first}{more})", names.len()))
        };
        let found: Vec<String> =
            [of(PinState::Changed, "changed"), of(PinState::New, "new")].into_iter().flatten().collect();
        let unusable = if self.approve == Approve::Never { "" } else { "; they cannot be used before" };
        (!found.is_empty()).then(|| {
            format!(
                "tools differ from what was approved: {}; look with `agentsite agent tools`, approve with \
                 `agentsite agent approve`{unusable}",
                found.join(" and ")
            )
        })
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn prints(&self) -> BTreeMap<String, String> {
        self.offered.iter().map(|(tool, print)| (tool.name.clone(), print.clone())).collect()
    }

    fn state(&self, name: &str, print: &str) -> PinState {
        match self.approved.as_ref().and_then(|approved| approved.get(name)) {
            None => PinState::New,
            Some(approved) if approved == print => PinState::Same,
            Some(_) => PinState::Changed,
        }
    }
}

/// The SHA-256 of everything that models and people read of a tool.
fn fingerprint(tool: &Tool) -> String {
    let said = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    });
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes(&said)) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The canonical form; a schema with numbers that have none is taken as it is written.
fn bytes(said: &Value) -> Vec<u8> {
    canonical_json(said).unwrap_or_else(|_| said.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> Tool {
        let schema = json!({"type": "object"});
        Tool {
            name: name.into(),
            description: Some(description.into()),
            input_schema: schema,
            ..Tool::default()
        }
    }

    fn pins(approve: Approve, folder: &Path) -> ToolPins {
        let (changes, _) = broadcast::channel(8);
        let (pins, complaint) = ToolPins::open(approve, Some(folder), changes);
        assert_eq!(complaint, None);
        pins
    }

    fn states(pins: &ToolPins) -> Vec<(String, PinState, bool)> {
        pins.list().into_iter().map(|tool| (tool.name, tool.state, tool.usable)).collect()
    }

    #[test]
    fn what_is_seen_first_is_pinned_and_what_changes_is_flagged_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let first = pins(Approve::Never, folder.path());
        assert_eq!(
            first.see(vec![tool("add", "Adds"), tool("sub", "Subtracts")]),
            ToolCheck { said: None, changed: true }
        );
        assert_eq!(first.notice(), None);

        let again = pins(Approve::Never, folder.path());
        let told =
            again.see(vec![tool("add", "Adds, and mails me"), tool("sub", "Subtracts"), tool("mul", "M")]);
        let told = told.said.unwrap();
        assert!(told.contains("1 changed (add) and 1 new (mul)"), "{told}");
        assert_eq!(
            states(&again),
            [
                ("add".into(), PinState::Changed, true),
                ("sub".into(), PinState::Same, true),
                ("mul".into(), PinState::New, true)
            ]
        );
        assert_eq!(again.approve(&["mul".into()]).unwrap(), ["mul"]);
        assert!(again.notice().unwrap().contains("1 changed (add);"));
        assert_eq!(again.approve(&[]).unwrap(), ["add"]);
        assert_eq!(again.notice(), None);
    }

    #[test]
    fn where_changes_need_approval_they_cannot_be_used_before() {
        let folder = tempfile::tempdir().unwrap();
        let pins = pins(Approve::Changed, folder.path());
        assert_eq!(pins.see(vec![tool("add", "Adds")]).said, None, "what is seen first is taken");
        let mut changes = pins.changes.subscribe();
        assert!(
            pins.see(vec![tool("add", "Adds more"), tool("new", "N")])
                .said
                .unwrap()
                .contains("cannot be used")
        );
        assert!(pins.usable().is_empty() && pins.withholds("add") && pins.withholds("new"));
        assert!(!pins.withholds("nobody"));
        pins.approve(&["add".into()]).unwrap();
        assert_eq!(changes.try_recv().unwrap(), Change::Tools);
        assert_eq!(pins.usable().len(), 1);
        assert!(matches!(pins.approve(&["none".into()]), Err(PinError::NoSuchTool(name)) if name == "none"));
        assert_eq!(pins.see(vec![tool("add", "Adds more")]), ToolCheck { said: None, changed: true });
        assert!(!pins.see(vec![tool("add", "Adds more")]).changed);
    }

    #[test]
    fn where_all_need_approval_nothing_is_taken_at_first_sight() {
        let folder = tempfile::tempdir().unwrap();
        let pins = pins(Approve::Always, folder.path());
        assert!(pins.see(vec![tool("add", "Adds")]).said.is_some());
        assert!(pins.usable().is_empty());
        pins.approve(&[]).unwrap();
        assert_eq!(pins.usable().len(), 1);
    }

    #[test]
    fn every_word_of_a_tool_counts_and_the_order_of_members_does_not() {
        let one = Tool { input_schema: json!({"a": 1, "b": 2}), ..tool("t", "d") };
        let other: Value = serde_json::from_str(r#"{"b": 2, "a": 1}"#).unwrap();
        assert_eq!(fingerprint(&one), fingerprint(&Tool { input_schema: other, ..one.clone() }));
        let annotations = json!({"readOnlyHint": true}).as_object().cloned();
        for changed in [
            Tool { title: Some("T".into()), ..one.clone() },
            Tool { description: None, ..one.clone() },
            Tool { input_schema: json!({"a": 1}), ..one.clone() },
            Tool { output_schema: Some(json!({})), ..one.clone() },
            Tool { annotations, ..one.clone() },
        ] {
            assert_ne!(fingerprint(&one), fingerprint(&changed), "{changed:?}");
        }
        let odd = Tool { input_schema: json!({"maximum": u64::MAX}), ..one.clone() };
        assert_ne!(fingerprint(&one), fingerprint(&odd));
    }

    #[test]
    fn a_lock_that_cannot_be_read_approves_nothing_and_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(lock::FILE), "tools = 1").unwrap();
        let (changes, _) = broadcast::channel(8);
        let (pins, complaint) = ToolPins::open(Approve::Changed, Some(folder.path()), changes);
        assert!(complaint.unwrap().contains("tools.lock"));
        pins.see(vec![tool("add", "Adds")]);
        assert!(pins.usable().is_empty());
    }
}
