//! The sandbox as the binary uses it: the hidden verb of the launcher, and where the site's things are.
//!
//! Promises: the launcher is recognised before anything else happens, so that it has one thread and reads no
//! configuration. What is confined, and how, is decided in `host`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use agentsite_host::{Confinement, ConfinementSettings, LAUNCHER_VERB};

use crate::config::{Config, Loaded};
use crate::instance::DataFolder;

/// The number of the file with the policy, when this process was started as a launcher.
pub(crate) fn policy_of_launcher() -> Option<u32> {
    let mut arguments = std::env::args_os().skip(1);
    let verb = arguments.next()?;
    if verb != LAUNCHER_VERB {
        return None;
    }
    arguments.next()?.to_str()?.parse().ok()
}

/// Runs a program under the policy in the file of this number.
#[cfg(target_os = "linux")]
pub(crate) fn launch(policy: u32) -> ExitCode {
    agentsite_host::run_launcher(policy)
}

/// Other systems have no launcher.
#[cfg(not(target_os = "linux"))]
pub(crate) fn launch(_: u32) -> ExitCode {
    ExitCode::FAILURE
}

/// How agents are confined on this machine, determined by trying it in separate processes. Blocks for a few
/// milliseconds.
pub(crate) fn confinement(loaded: &Loaded, variables: &BTreeMap<String, String>) -> Confinement {
    confinement_with(DataFolder::at(&loaded.config.data).homes(), loaded, variables)
}

/// The same for a look from outside, which leaves the data folder alone.
pub(crate) fn possible_confinement(loaded: &Loaded, variables: &BTreeMap<String, String>) -> Confinement {
    let homes = std::env::temp_dir().join(format!("agentsite-doctor-{}", std::process::id()));
    let found = confinement_with(homes.clone(), loaded, variables);
    // What is left would be an empty folder for temporary files.
    let _ = std::fs::remove_dir_all(homes);
    found
}

fn confinement_with(homes: PathBuf, loaded: &Loaded, variables: &BTreeMap<String, String>) -> Confinement {
    let Config { data, agents, .. } = &loaded.config;
    let sealed = [Some(data.clone()), loaded.file.clone()].into_iter().flatten().collect();
    Confinement::detect(ConfinementSettings {
        homes,
        sealed,
        hidden: vec![agents.clone()],
        operator_home: variables.get("HOME").filter(|home| !home.is_empty()).map(Into::into),
    })
}
