//! `agentsite`: starts and ends the process. Everything else is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentsite::run()
}
