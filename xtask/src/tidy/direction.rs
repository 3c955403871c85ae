//! The rule that our crates depend on each other in one direction only.
//!
//! Promises: an edge between two of our crates that is not in [`ALLOWED`] is found at the line of the
//! manifest that makes it; so is a crate the table does not know, and tokio in a crate that decides without
//! IO (invariant 1). Dependencies of tests are not judged: a test may look at anything.

use crate::metadata::{Package, Purpose};
use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

/// Which of our crates each may name, by folder. A new edge needs a written reason in the change that adds
/// it.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "agentsite",
        &[
            "dev", "gateway", "site", "library", "registry", "peers", "mesh", "mesh-p2p", "search", "host",
            "trust", "store", "store-pg", "client", "egress", "protocol",
        ],
    ),
    ("dev", &["search", "host", "client", "egress", "protocol"]),
    ("gateway", &["site", "protocol"]),
    (
        "site",
        &[
            "rooms", "tasks", "registry", "peers", "library", "mesh", "search", "host", "trust", "store",
            "client", "egress", "protocol",
        ],
    ),
    // A capability: a turn of a conversation is a task.
    ("rooms", &["tasks", "store", "protocol"]),
    // A capability: tasks are kept in the store and run by the host.
    ("tasks", &["host", "store", "protocol"]),
    // A capability: it runs as an agent (host) and finds passages (search).
    ("library", &["host", "search", "protocol"]),
    // A capability: it keeps entries (store), looks at what others publish (client, egress), and turns an
    // entry into what an agent is started from (host); its background work is shown like that of all (tasks).
    ("registry", &["tasks", "host", "store", "client", "egress", "protocol"]),
    // A capability: it keeps records (store), lists agents of other sites (registry), calls them through
    // links (egress), and its background work is shown like that of all (tasks).
    ("peers", &["registry", "tasks", "mesh", "store", "egress", "protocol"]),
    ("host", &["client", "egress", "protocol"]),
    ("mesh", &["protocol"]),
    // The overlay of the mesh on libp2p, in a crate of its own because it is slow to compile.
    ("mesh-p2p", &["mesh", "protocol"]),
    ("search", &["protocol"]),
    ("trust", &["protocol"]),
    ("store", &["protocol"]),
    // An engine of the store in a crate of its own, so that only who wants it compiles it.
    ("store-pg", &["store", "protocol"]),
    ("client", &["egress", "protocol"]),
    ("egress", &["protocol"]),
    ("protocol", &[]),
    ("xtask", &[]),
    (
        "sim",
        &[
            "agentsite",
            "gateway",
            "site",
            "rooms",
            "tasks",
            "library",
            "registry",
            "mesh",
            "search",
            "host",
            "trust",
            "store",
            "client",
            "protocol",
        ],
    ),
];

/// The crates that decide and never wait (invariant 1).
const WITHOUT_TOKIO: &[&str] = &["protocol", "trust"];

/// Finds edges against the direction.
pub(crate) fn check(members: &[Package], tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in members {
        let from = folder(&package.name);
        let manifest = manifest_of(from);
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == from) else {
            let what = format!("`{from}` has no place in the order of crates");
            findings.push(Finding::error(
                &manifest,
                1,
                what,
                "add it to the table in xtask/src/tidy/direction.rs",
            ));
            continue;
        };
        for (name, _) in package.names.iter().filter(|(_, purpose)| *purpose != Purpose::Dev) {
            let line = tree.line_of(&manifest, name);
            let to = folder(name);
            if members.iter().any(|member| member.name == *name) && !allowed.contains(&to) {
                let remedy = "turn the edge round, or move what is needed down to a crate both may use";
                findings.push(Finding::error(&manifest, line, format!("{from} depends on {to}"), remedy));
            }
            if name == "tokio" && WITHOUT_TOKIO.contains(&from) {
                let remedy = "decide in pure functions and let a driver in another crate wait";
                findings.push(Finding::error(&manifest, line, format!("{from} depends on tokio"), remedy));
            }
        }
    }
    findings
}

fn folder(package: &str) -> &str {
    package.strip_prefix("agentsite-").unwrap_or(package)
}

fn manifest_of(folder: &str) -> String {
    if folder == "xtask" { "xtask/Cargo.toml".to_owned() } else { format!("crates/{folder}/Cargo.toml") }
}
