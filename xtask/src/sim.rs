//! `cargo xtask sim`: the large simulations of the mesh, with their tables and plots.
//!
//! Promises: runs the example `mesh_results` of the simulator, and lets `tests/python/mesh_results.py`
//! write `docs/mesh-results.md` and the plots next to it from the figures. Nothing of it is needed to build
//! or to test the product.

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::python::PLOTS;
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask sim --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask sim [--small] [--draw]

Simulates the mesh at 100, 1,000 and 10,000 nodes with up to a million made-up agents, prints a line of JSON for each row, and
writes docs/mesh-results.md with its plots. Takes some 20 minutes and 6 GB of memory.

  --small   a small set, to see that everything works; writes nothing in docs
  --draw    draws again from the figures of the last run, without a simulation";

/// Where the figures of the last run are, below the root.
const FIGURES: &str = "target/sim/mesh.jsonl";

/// Runs the simulations.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let (is_small, only_draws) = (arguments.flag("--small"), arguments.flag("--draw"));
    arguments.finish()?;
    let figures = workspace.path(FIGURES);
    let folder = figures.parent().unwrap_or(&figures);
    std::fs::create_dir_all(folder).map_err(|error| Failure::io("cannot make target/sim", &error))?;
    if !only_draws {
        let mut command = workspace.cargo("run --quiet --package agentsite-sim --example mesh_results --");
        command.arg(&figures);
        if is_small {
            command.arg("--small");
        }
        run_command(&mut command)?;
    }
    if is_small {
        return Ok(());
    }
    PLOTS.set_up(workspace)?;
    let mut python = workspace.program(PLOTS.program(workspace, "python"));
    run_command(python.arg("tests/python/mesh_results.py").arg(&figures).arg("docs"))
}
