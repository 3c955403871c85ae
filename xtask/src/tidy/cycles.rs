//! The rule that no modules of a crate form a cycle, at any level (invariant 9).
//!
//! Promises: siblings of every folder are compared, from the top-level modules down. Each cycle is reported
//! once, as short as it can be, with a file and line for each step. A parent does not count as a step: it
//! declares and re-exports its children, so names that it re-exports count as the child they come from. Test
//! code is ignored. Edges are read from paths that begin with `crate`, `self` or `super`. No
//! folder is exempt.

mod graph;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use self::graph::{Edges, shortest_cycle};
use self::names::Crate;
use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

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
