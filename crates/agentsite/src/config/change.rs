//! Change: in what two configurations differ, and what a change takes to count.
//!
//! Promises: pure comparison of values, key by key; the origin of a value does not count.

use super::Loaded;
use super::docs::{self, Shown};

/// The keys that a reload applies; all others need a restart.
const RELOADED: [&str; 1] = ["telemetry.log"];

/// Whether a change of this key needs a restart.
pub(crate) fn needs_restart(key: &str) -> bool {
    !RELOADED.contains(&key)
}

/// The keys whose values differ.
pub(crate) fn changed(before: &Loaded, after: &Loaded) -> Vec<String> {
    let (before, after) = (docs::shown(before), docs::shown(after));
    let has =
        |all: &[Shown], one: &Shown| all.iter().any(|other| other.key == one.key && other.value == one.value);
    let knows = |all: &[Shown], one: &Shown| all.iter().any(|other| other.key == one.key);
    let new = after.iter().filter(|one| !has(&before, one));
    let gone = before.iter().filter(|one| !knows(&after, one));
    new.chain(gone).map(|one| one.key.clone()).collect()
}

/// The keys that changed and need a restart.
pub(crate) fn waiting_for_restart(before: &Loaded, after: &Loaded) -> Vec<String> {
    let mut keys = changed(before, after);
    keys.retain(|key| needs_restart(key));
    keys
}
