//! Known weaknesses of the crates we use, looked up by `cargo deny check advisories`.
//!
//! Promises: where the RustSec database can be reached, every crate of the lock file is compared with it by a
//! pinned version of cargo-deny. Where it cannot be reached, nothing is installed and the stage says that
//! nothing was checked, without failing. Exceptions are in `deny.toml`, each with its reason.

use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::{Workspace, capture, run};

/// The database of advisories that cargo-deny reads.
const DATABASE: &str = "https://github.com/rustsec/advisory-db";

/// Seconds that the database may take to answer: a machine without a network must not wait for long.
const PATIENCE: &str = "20";

/// Compares the crates with the database, if it can be reached.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    reachable(workspace, DATABASE)?;
    run(&mut tools::cargo_deny(workspace)?)
}

/// Asks the database for its newest state; [`Failure::Skipped`] when it does not answer.
fn reachable(workspace: &Workspace, database: &str) -> Outcome {
    let mut question = workspace.program("timeout");
    question
        .args([PATIENCE, "git", "ls-remote", "--quiet", database, "HEAD"])
        .env("GIT_TERMINAL_PROMPT", "0");
    match capture(&mut question) {
        Ok(_) => Ok(()),
        Err(failure) => Err(Failure::Skipped(format!(
            "advisories NOT CHECKED: {database} cannot be reached; run `cargo xtask lint --only advisories` \
             on a machine that reaches it\n{failure}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_does_not_answer_is_not_a_failure_but_is_said() {
        let answer = reachable(&Workspace::here(), "file:///no/such/database");
        let Err(Failure::Skipped(why)) = answer else { panic!("{answer:?}") };
        assert!(why.starts_with("advisories NOT CHECKED: file:///no/such/database"), "{why}");
    }
}
