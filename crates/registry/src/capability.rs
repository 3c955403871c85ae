//! The capabilities of this crate as the values by which a site knows them: names, registry, challenges.
//!
//! Promises: every kind of journal line and every collection of this crate is declared here once. It decides
//! nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_protocol::AgentName;
use agentsite_tasks::{Capability, WorkerScope};

use crate::challenges::Challenges;
use crate::names::Names;
use crate::registry::Registry;
use crate::{challenges, kinds, names};

/// What names, registry and challenges contribute to a site. `own` gives the names of the agents that the
/// site has when it starts.
pub fn capabilities(
    registry: &Arc<Registry>,
    names: &Arc<Names>,
    challenges: &Arc<Challenges>,
    own: impl Fn() -> BTreeSet<AgentName> + Send + Sync + 'static,
) -> [Capability; 3] {
    let (registry, kept) = (registry.clone(), names.clone());
    let (names, challenges) = (names.clone(), challenges.clone());
    [
        Capability::new("names")
            .kinds(kinds::NAMES)
            .collections(names::COLLECTIONS)
            .prepare(move || {
                let (names, own) = (kept.clone(), own());
                async move { names.keep_step(&own).await }
            })
            .follow(move |_| {
                let names = names.clone();
                async move { names.read_again().await }
            }),
        Capability::new("registry").kinds(kinds::LISTINGS).worker(
            "hub",
            "Looks whether registered agents from elsewhere still answer.",
            WorkerScope::Site,
            move |worker, stop| registry.clone().keep_fresh(worker, stop),
        ),
        Capability::new("challenges").kinds(kinds::CHALLENGES).collections(challenges::COLLECTIONS).follow(
            move |_| {
                let challenges = challenges.clone();
                async move { challenges.read_again().await }
            },
        ),
    ]
}
