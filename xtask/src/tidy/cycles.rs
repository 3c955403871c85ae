//! The rule that no modules of a crate form a cycle, at any level (invariant 9).
//!
//! Promises: siblings of every folder are compared, from the top-level modules down. Each cycle is reported
//! once, as short as it can be, with a file and line for each step. A parent does not count as a step: it
//! declares and re-exports its children, so names that it re-exports count as the child they come from. Test
//! code is ignored. Edges are read from paths that begin with `crate`, `self` or `super`. [`exempt`]
//! turns the errors of some folders into warnings.

mod graph;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use self::graph::{Edges, shortest_cycle};
use self::names::Crate;
use crate::tidy::finding::{Finding, Weight};
use crate::tidy::source::Source;

/// Folders whose cycles are still being removed. Remove a line once its folder is clean; never add one.
const STILL_EXEMPT: &[&str] = &[
    "crates/client/src/mcp",
    "crates/host/src/connected",
    "crates/host/src/sandbox",
    "crates/store/src/sqlite",
];

/// The modules that share one parent, by the parent's path below the crate root, and who names whom among
/// them.
type Levels = BTreeMap<Vec<String>, Edges>;

/// Finds the cycles of every crate.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test_file) {
        if let Some((krate, inside)) = source.crate_and_rest()
            && inside.starts_with("src/")
            && !inside.starts_with("src/bin/")
        {
            crates.entry(krate).or_default().push(source);
        }
    }
    crates.iter().flat_map(|(krate, sources)| in_crate(krate, sources)).collect()
}

/// Turns the errors of folders in [`STILL_EXEMPT`] into warnings, and names those that need no exemption
/// any more.
pub(crate) fn exempt(findings: Vec<Finding>) -> Vec<Finding> {
    with_exemptions(findings, STILL_EXEMPT)
}

fn with_exemptions(mut findings: Vec<Finding>, exempt: &[&str]) -> Vec<Finding> {
    for folder in exempt {
        let inside = format!("{folder}/");
        let mut needed = false;
        for finding in findings.iter_mut().filter(|finding| finding.path.starts_with(&inside)) {
            finding.weight = Weight::Warning;
            needed = true;
        }
        if !needed {
            let what = format!("`{folder}` has no module cycle and is still exempt");
            findings.push(Finding::warning("xtask/src/tidy/cycles.rs", 1, what, "remove its line"));
        }
    }
    findings
}

fn in_crate(krate: &str, sources: &[&Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (parent, edges) in levels(sources) {
        let mut folder = vec![krate.to_owned()];
        folder.extend(parent);
        let mut seen: BTreeSet<BTreeSet<String>> = BTreeSet::new();
        for module in edges.keys() {
            let Some(steps) = shortest_cycle(&edges, module) else { continue };
            if seen.insert(steps.iter().cloned().collect()) {
                findings.push(report(&folder.join("/"), &edges, &steps));
            }
        }
    }
    findings
}

fn report(folder: &str, edges: &Edges, steps: &[String]) -> Finding {
    let mut text = format!("modules of {folder} form a cycle: {}", steps[0]);
    for (index, from) in steps.iter().enumerate() {
        let to = &steps[(index + 1) % steps.len()];
        let (path, line) = &edges[from][to];
        text.push_str(&format!(" -> {to} [{path}:{line}]"));
    }
    let (path, line) = &edges[&steps[0]][&steps[1 % steps.len()]];
    Finding::error(path, *line, text, "move what both need into a module below them")
}

/// Reads the edges of one crate, each at the level where the two modules part.
fn levels(sources: &[&Source]) -> Levels {
    let names = Crate::read(sources);
    let mut levels = Levels::new();
    for source in sources {
        let file_module = names::module_path(source);
        let anchored = source.mentions.iter().filter(|mention| {
            matches!(mention.segments[0].as_str(), "crate" | "self" | "super")
                && !source.is_test_line(mention.line)
        });
        for mention in anchored {
            let here: Vec<String> = file_module.iter().chain(&mention.scope).cloned().collect();
            for target in names.modules_behind(&here, &mention.segments) {
                let shared = here.iter().zip(&target).take_while(|(one, other)| one == other).count();
                let (Some(from), Some(to)) = (here.get(shared), target.get(shared)) else { continue };
                let edges = levels.entry(here[..shared].to_vec()).or_default();
                let place = (source.path.clone(), mention.line);
                edges.entry(from.clone()).or_default().entry(to.clone()).or_insert(place);
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exempt_folder_is_warned_about_until_it_is_clean() {
        let cycle = || vec![Finding::error("crates/x/src/a/b.rs", 1, "a cycle", "break it")];
        let found = with_exemptions(cycle(), &["crates/x/src/a"]);
        assert_eq!(found.iter().map(|finding| finding.weight).collect::<Vec<_>>(), [Weight::Warning]);
        let found = with_exemptions(cycle(), &["crates/x/src/ab"]);
        assert_eq!(found[0].weight, Weight::Error);
        assert_eq!((found.len(), found[1].weight), (2, Weight::Warning));
        assert!(found[1].what.contains("still exempt"));
    }
}
