//! Attacks on the real binary, one file for each area of docs/security.md.
//!
//! Promises: every attack is a story of its own that fails when the attack succeeds. Ordinary test runs use
//! the short form; `cargo xtask attack` runs the same stories at full scale against the release binary and
//! prints a table of the rows that [`report`] wrote. Nothing here measures speed except as a ratio within one
//! run, and only the full form judges it.

mod access;
mod clock;
mod deletion;
mod deliveries;
mod first_start;
mod names;
mod sandbox;
mod secrets;
mod shares;
mod storage;
mod tampering;

use std::fmt::Display;
use std::io::Write as _;

/// Whether the attacks run at full scale.
pub(crate) fn is_full() -> bool {
    std::env::var_os("AGENTSITE_ATTACK_FULL").is_some()
}

/// Adds a row to the table of `cargo xtask attack`: the area, what was tried, and what came of it.
pub(crate) fn report(area: &str, attack: &str, outcome: impl Display) {
    println!("{area}: {attack}: {outcome}");
    if let Some(path) = std::env::var_os("AGENTSITE_ATTACK_REPORT") {
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{area}\t{attack}\t{outcome}\n").as_bytes()).unwrap();
    }
}
