//! `agentsite`: starts and ends the process.
//!
//! Everything else is in the library of this package, which says why.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentsite::run()
}
