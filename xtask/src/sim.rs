//! `cargo xtask sim`: the large simulations of the mesh, with their tables and plots.
//!
//! Promises: runs the example `mesh_results` of the simulator and the real driver under virtual time
//! (`sim-p2p`), and lets `tests/python/mesh_results.py` write `docs/mesh-results.md` and the plots next to it
//! from the figures. The figures of each part are kept, so one part can run again without the others. Nothing
//! of it is needed to build or to test the product.

use std::path::Path;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::python::PLOTS;
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask sim --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask sim [PART]... [--small] [--draw] [--seed N]

Simulates the mesh, prints a line of JSON for each row, and writes docs/mesh-results.md with its plots. Without PART all parts
run, which takes about an hour and 12 GB of memory; the figures of the other parts are those of their last run.

  spread      until all of 100 sites know of a change, for 24 seeds
  liars       servers that leave agents out, and identities in bulk
  failures    a partition of half an hour
  widths      many small cells
  catalogue   the catalogue at 100, 1,000 and 10,000 nodes
  sizes       up to a million made-up agents over 10,000 nodes
  p2p         the real libp2p driver under virtual time at 20, 100 and 200 nodes

  --small     a small set, to see that everything works; writes nothing in docs
  --draw      draws again from the figures of the last run, without a simulation
  --seed N    the seed of the part p2p (default 1)";

/// Where the figures of the last runs are, below the root.
const FIGURES: &str = "target/sim";
/// The parts of the simulator of pure machines.
const PURE: [&str; 6] = ["spread", "liars", "failures", "widths", "catalogue", "sizes"];
/// The part with the real driver.
const REAL: &str = "p2p";

/// Runs the simulations.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let (is_small, only_draws) = (arguments.flag("--small"), arguments.flag("--draw"));
    let seed: u64 = arguments.value("--seed")?.unwrap_or(1);
    let mut parts = Vec::new();
    while let Some(part) = arguments.word() {
        if !PURE.contains(&part.as_str()) && part != REAL {
            return Err(Failure::Usage(format!("there is no part `{part}`")));
        }
        parts.push(part);
    }
    arguments.finish()?;
    let folder = workspace.path(if is_small { "target/sim-small" } else { FIGURES });
    std::fs::create_dir_all(&folder).map_err(|error| Failure::io("cannot make target/sim", &error))?;
    if !only_draws {
        simulate(workspace, &folder, &parts, is_small)?;
        if parts.is_empty() || parts.iter().any(|part| part == REAL) {
            real_driver(workspace, &folder.join("p2p.jsonl"), seed, is_small)?;
        }
    }
    if is_small {
        return Ok(());
    }
    PLOTS.set_up(workspace)?;
    let mut python = workspace.program(PLOTS.program(workspace, "python"));
    run_command(python.arg("tests/python/mesh_results.py").arg(&folder).arg("docs"))
}

fn simulate(workspace: &Workspace, folder: &Path, parts: &[String], is_small: bool) -> Outcome {
    let pure: Vec<&String> = parts.iter().filter(|part| *part != REAL).collect();
    if pure.is_empty() && !parts.is_empty() {
        return Ok(());
    }
    let mut command =
        workspace.cargo("run --quiet --release --package agentsite-sim --example mesh_results --");
    command.arg(folder).args(pure);
    if is_small {
        command.arg("--small");
    }
    run_command(&mut command)
}

/// One process for each size, so that the memory of one is not counted in the next.
fn real_driver(workspace: &Workspace, figures: &Path, seed: u64, is_small: bool) -> Outcome {
    if figures.exists() {
        std::fs::remove_file(figures).map_err(|error| Failure::io("cannot remove old figures", &error))?;
    }
    let sizes: &[&[&str]] =
        if is_small { &[&["20"]] } else { &[&["20"], &["100"], &["200"], &["100", "50"]] };
    sizes.iter().try_for_each(|size| {
        let mut command = workspace.cargo(&format!("run --quiet --release {VIRTUAL} --"));
        run_command(command.arg(figures).arg(seed.to_string()).args(*size))
    })
}

/// Where the workspace of the real driver under virtual time is, and what it is built into.
const VIRTUAL: &str = "--manifest-path sim-p2p/Cargo.toml --target-dir sim-p2p/target";

/// The stage `virtual` of `cargo xtask test`: a small set of the real driver under virtual time.
pub(crate) fn virtual_time(workspace: &Workspace) -> Outcome {
    run_command(&mut workspace.cargo(&format!("test {VIRTUAL}")))
}
