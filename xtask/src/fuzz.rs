//! `cargo xtask fuzz`: libFuzzer over the decoders, on the stable toolchain.
//!
//! Promises: needs only cargo and a C++ compiler: the coverage that libFuzzer feeds on is a pass of LLVM that
//! stable rustc can run. Each target starts from the committed seeds in `fuzz/seeds/<target>` with a printed
//! random seed, so a run can be repeated; a crash leaves its input in `fuzz/artifacts`. There is no address
//! sanitizer: the decoders are safe Rust, and what is looked for is panics, hangs and runaway memory.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::metadata::PLATFORM;
use crate::workspace::{Workspace, line, run as run_command};

/// What `cargo xtask fuzz --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask fuzz [TARGET] [--runs N] [--seed N]

Builds the targets of fuzz/targets with coverage and runs each, or only TARGET.

  --runs N   how many inputs each target is given (default 1000000)
  --seed N   repeat a run: the seed it printed";

/// The proof asks for a million inputs for each decoder.
const RUNS: u64 = 1_000_000;

/// LLVM's coverage instrumentation, given as plain code generation flags. Comparisons with short strings are
/// turned into integer comparisons first, because only those are traced; without that, keywords are found by
/// luck alone. One codegen unit, because the counters of a crate have to stay together.
const COVERAGE: &[&str] = &[
    "-Cpasses=function(expand-memcmp),sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];

/// Largest input: well over the largest frame that any limit lets through whole in a test.
const LONGEST_INPUT: u32 = 65_536;
/// Seconds for one input before it counts as a hang.
const HANG_SECONDS: u32 = 10;
/// Megabytes before the decoder counts as running away.
const MEMORY_MEGABYTES: u32 = 2048;

/// Builds and runs the targets.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let runs = arguments.value("--runs")?.unwrap_or(RUNS);
    let seed = arguments.value("--seed")?.unwrap_or_else(random_seed);
    let only = arguments.word();
    arguments.finish()?;
    let targets = targets(workspace, only.as_deref())?;
    build(workspace)?;
    let mut rows = Vec::new();
    for target in &targets {
        println!("\n== {target}: {runs} inputs, seed {seed} ==");
        let begun = Instant::now();
        let done = fuzz(workspace, target, runs, seed)?;
        rows.push((target, done, begun.elapsed().as_secs_f64()));
    }
    println!();
    for (target, done, took) in &rows {
        let result = if survived(*done, runs) { "passed" } else { "failed" };
        println!(
            "  {target:<20}  {result}  {:>9} inputs  {took:>7.1} s  seed {seed}",
            done.unwrap_or_default()
        );
    }
    let failed = rows.iter().filter(|(_, done, _)| !survived(*done, runs)).count();
    println!("fuzz: {} passed, {failed} failed", rows.len() - failed);
    if failed == 0 {
        Ok(())
    } else {
        Err(Failure::new("a decoder did not survive; its input is in fuzz/artifacts"))
    }
}

/// libFuzzer counts the seeds too, so it may end a little above what was asked for.
fn survived(done: Option<u64>, runs: u64) -> bool {
    done.is_some_and(|done| done >= runs)
}

/// A random seed, from the only randomness std has.
fn random_seed() -> u32 {
    let bytes = RandomState::new().build_hasher().finish().to_le_bytes();
    // libFuzzer takes zero as "choose for me", which could not be repeated.
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).max(1)
}

/// The names of the targets: the files of the folder, or the one asked for.
fn targets(workspace: &Workspace, only: Option<&str>) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(workspace.path("fuzz/targets"))
        .map_err(|error| Failure::io("cannot list fuzz/targets", &error))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort_unstable();
    match only {
        None => Ok(names),
        Some(name) if names.iter().any(|known| known == name) => Ok(vec![name.to_owned()]),
        Some(name) => Err(Failure::Usage(format!(
            "there is no fuzz target `{name}`; the targets are {}",
            names.join(", ")
        ))),
    }
}

/// Builds every target. Naming the platform keeps build scripts and macros free of the instrumentation.
fn build(workspace: &Workspace) -> Outcome {
    let words = format!(
        "build --release --manifest-path fuzz/Cargo.toml --target-dir fuzz/target --target {PLATFORM} --bins"
    );
    run_command(workspace.cargo(&words).env("RUSTFLAGS", COVERAGE.join(" ")))
}

/// Runs one target and returns how many inputs it survived; `None` when it did not come to its end.
fn fuzz(workspace: &Workspace, target: &str, runs: u64, seed: u32) -> Result<Option<u64>, Failure> {
    let artifacts = folder(workspace, "fuzz/artifacts")?;
    // Each run starts from the seeds alone; with the finds of earlier runs the same seed would take another
    // way.
    let _ = fs::remove_dir_all(workspace.path(format!("fuzz/corpus/{target}")));
    let found = folder(workspace, &format!("fuzz/corpus/{target}"))?;
    let seeds = folder(workspace, &format!("fuzz/seeds/{target}"))?;
    let binary = workspace.path(format!("fuzz/target/{PLATFORM}/release/{target}"));
    let mut command = workspace.program(binary);
    command
        .arg(format!("-runs={runs}"))
        .arg(format!("-max_len={LONGEST_INPUT}"))
        .arg(format!("-timeout={HANG_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MEGABYTES}"))
        .arg(format!("-seed={seed}"))
        .arg("-print_final_stats=1")
        .arg(format!("-artifact_prefix={}/{target}-", artifacts.display()))
        .args([&found, &seeds])
        .stdout(Stdio::inherit())
        .stderr(Stdio::piped());
    let failed = |error: std::io::Error| Failure::io(format!("cannot run the target {target}"), &error);
    println!("$ {}", line(&command));
    let mut child = command.spawn().map_err(failed)?;
    let said = child.stderr.take().expect("the output was asked for");
    let mut done = None;
    for bytes in BufReader::new(said).split(b'\n') {
        let bytes = bytes.map_err(failed)?;
        let text = String::from_utf8_lossy(&bytes);
        done = inputs_done(&text).or(done);
        if is_telling(&text) {
            println!("{text}");
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok(done.filter(|_| status.success()))
}

fn folder(workspace: &Workspace, relative: &str) -> Result<PathBuf, Failure> {
    let path = workspace.path(relative);
    fs::create_dir_all(&path).map_err(|error| Failure::io(format!("cannot make {relative}"), &error))?;
    Ok(path)
}

/// Leaves out the line libFuzzer writes for each input it keeps, and the dictionary it recommends at the end.
fn is_telling(text: &str) -> bool {
    let kept = text.starts_with('#') && (text.contains("NEW ") || text.contains("REDUCE "));
    !kept && !text.contains("NEW_FUNC[") && !text.contains("# Uses: ") && !text.starts_with("######")
}

/// Reads `Done 1000000 runs in 12 second(s)`, libFuzzer's last word when nothing was found.
fn inputs_done(text: &str) -> Option<u64> {
    text.strip_prefix("Done ")?.split_once(" runs")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_libfuzzer_is_understood() {
        assert_eq!(inputs_done("Done 1000000 runs in 12 second(s)"), Some(1_000_000));
        assert_eq!(inputs_done("#2 INITED cov: 3"), None);
    }

    #[test]
    fn progress_is_shown_and_chatter_is_not() {
        assert!(is_telling("#262144 pulse  cov: 900 ft: 2400"));
        assert!(is_telling("thread '<unnamed>' panicked at crates/protocol/src/message.rs:1:1"));
        assert!(!is_telling("#77 NEW    cov: 210 ft: 300 corp: 4/120b"));
        assert!(!is_telling("\"\\001\\000\" # Uses: 58"));
    }

    #[test]
    fn seeds_are_never_the_one_that_cannot_be_repeated() {
        assert!((0..64).all(|_| random_seed() != 0));
    }
}
