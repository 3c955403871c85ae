//! Who names whom among the modules of one level, and the shortest way back.
//!
//! Promises: the result depends on the edges alone, so the same tree always gives the same cycle. It knows
//! nothing of files.

use std::collections::{BTreeMap, VecDeque};

/// Where one module first names another: file and line.
pub(super) type Place = (String, usize);

/// Which module names which others, and where first.
pub(super) type Edges = BTreeMap<String, BTreeMap<String, Place>>;

/// The modules of the shortest way from `start` back to itself.
pub(super) fn shortest_cycle(edges: &Edges, start: &str) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(module) = waiting.pop_front() {
        for next in edges.get(module).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                let mut steps = vec![module.to_owned()];
                let mut at = module;
                while at != start {
                    at = came_from[at];
                    steps.push(at.to_owned());
                }
                steps.reverse();
                return Some(steps);
            }
            if !came_from.contains_key(next.as_str()) {
                came_from.insert(next, module);
                waiting.push_back(next);
            }
        }
    }
    None
}
