//! Debian's packages, for what a machine lacks.
//!
//! Promises: installs only as root and says what to do otherwise; shows what apt does, shortened. It supports
//! no other system.

use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, shortened};

/// Installs packages because `missing` is not there.
pub(crate) fn install(workspace: &Workspace, missing: &str, packages: &str) -> Outcome {
    let root = capture(workspace.program("id").arg("-u")).is_ok_and(|user| user.trim() == "0");
    if !root {
        return Err(Failure::new(format!(
            "{missing} does not work here; on Debian install it: apt-get install {packages}"
        )));
    }
    println!("{missing} does not work yet; installing Debian's {packages}");
    let apt = |words: &str| {
        let mut command = workspace.program("apt-get");
        command.args(words.split(' ')).env("DEBIAN_FRONTEND", "noninteractive");
        shortened(&mut command)
    };
    apt("update")?;
    apt(&format!("install -y --no-install-recommends {packages}"))
}

/// Installs the reverse proxies for the attacks on access.
pub(crate) fn proxies(workspace: &Workspace) -> Outcome {
    programs(workspace, &[("/usr/sbin/nginx", "-v", "nginx-light"), ("/usr/bin/caddy", "version", "caddy")])
}

/// Installs what makes networks that fail, for the stories of the mesh.
pub(crate) fn networks(workspace: &Workspace) -> Outcome {
    programs(
        workspace,
        &[
            ("/usr/bin/unshare", "--version", "util-linux"),
            ("/bin/ip", "-V", "iproute2"),
            ("/usr/sbin/nft", "--version", "nftables"),
        ],
    )
}

/// Installs the packages of programs that do not start; each with the argument by which it only shows its
/// version.
fn programs(workspace: &Workspace, all: &[(&str, &str, &str)]) -> Outcome {
    for (program, argument, package) in all {
        if capture(workspace.program(program).arg(argument)).is_err() {
            install(workspace, program, package)?;
        }
    }
    Ok(())
}

/// Installs the server of PostgreSQL; the tests of the store start and stop their own.
pub(crate) fn postgres(workspace: &Workspace) -> Outcome {
    let mut versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    if versions.any(|version| version.path().join("bin/postgres").is_file()) {
        return Ok(());
    }
    install(workspace, "PostgreSQL", "postgresql")
}
