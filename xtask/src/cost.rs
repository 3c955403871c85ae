//! The `cost` stage of `cargo xtask lint`: what the first command of a newcomer may cost.
//!
//! Promises: the number of third-party packages in the lock file and the size of the release binary stay
//! within the constants of this file. A binary that was not built is not judged, and the stage says so. It
//! builds and measures nothing else: build times depend on the machine and are recorded in
//! docs/benchmarks.md.

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// Most third-party packages in Cargo.lock, those of tests and other platforms included. Each one is
/// downloaded, most are compiled: without the mesh (426) they take half of the build. libp2p with its
/// transports brought 131, of which many are for other platforms (docs/decisions/0040-libp2p.md). Raise it
/// together with the reason for the new package.
const MAX_PACKAGES: usize = 560;

/// Largest release binary in bytes. The weights of the two sentence encoders take 35 MB of it; the rest is
/// code, of which a resident site holds what it touches. It was 71.9 MB before libp2p came and 80.1 MB with
/// it, compiled for size (docs/benchmarks.md).
const MAX_BINARY: u64 = 84_000_000;

/// Where cargo puts the release binary.
const BINARY: &str = "target/release/agentsite";

/// Checks the lock file and, when there is one, the release binary.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    let lock = std::fs::read_to_string(workspace.path("Cargo.lock"));
    let lock = lock.map_err(|error| Failure::io("cannot read Cargo.lock", &error))?;
    let packages = third_party(&lock);
    println!("cost: {packages} third-party packages in Cargo.lock (at most {MAX_PACKAGES})");
    let binary = std::fs::metadata(workspace.path(BINARY)).ok().map(|file| file.len());
    match binary {
        Some(bytes) => println!("cost: {BINARY} has {} (at most {})", mib(bytes), mib(MAX_BINARY)),
        None => println!("cost: {BINARY} was not built, so its size is not checked"),
    }
    let findings = findings(packages, binary);
    if findings.is_empty() { Ok(()) } else { Err(Failure::new(findings.join("\n"))) }
}

fn findings(packages: usize, binary: Option<u64>) -> Vec<String> {
    let mut findings = Vec::new();
    if packages > MAX_PACKAGES {
        findings.push(format!(
            "Cargo.lock:1: {packages} third-party packages, at most {MAX_PACKAGES} (remove one, or raise the limit in xtask/src/cost.rs with the reason)"
        ));
    }
    if let Some(bytes) = binary.filter(|bytes| *bytes > MAX_BINARY) {
        findings.push(format!(
            "{BINARY}: {}, at most {} (see docs/decisions/0030-build-cost.md for what to look at)",
            mib(bytes),
            mib(MAX_BINARY)
        ));
    }
    findings
}

/// Packages that have a source; those of the workspace have none.
fn third_party(lock: &str) -> usize {
    lock.lines().filter(|line| line.starts_with("source = ")).count()
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_workspace_do_not_count() {
        let lock = "[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"a\"\nsource = \"registry+x\"\n";
        assert_eq!(third_party(lock), 1);
    }

    #[test]
    fn only_what_exceeds_its_limit_is_found() {
        assert!(findings(MAX_PACKAGES, Some(MAX_BINARY)).is_empty());
        assert!(findings(0, None).is_empty());
        assert_eq!(findings(MAX_PACKAGES + 1, Some(MAX_BINARY + 1)).len(), 2);
    }
}
