//! The rule that the top-level modules of a crate form no cycle (invariant 9).
//!
//! Promises: each cycle is reported once, as short as it can be, with a file and line for each step. Names that the
//! crate root re-exports count as the module they come from. Test code is ignored, and so is the root itself: it
//! declares and re-exports everything. Edges are read from paths that begin with `crate`, `self` or `super`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::tidy::finding::Finding;
use crate::tidy::mentions::{self, Mention};
use crate::tidy::source::Source;

/// Where one module first names another.
type Place = (String, usize);

/// Who names whom, and where first.
type Edges = BTreeMap<String, BTreeMap<String, Place>>;

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
    let mut seen: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    let edges = edges(sources);
    let mut findings = Vec::new();
    for module in edges.keys() {
        let Some(steps) = shortest_cycle(&edges, module) else { continue };
        if seen.insert(steps.iter().cloned().collect()) {
            findings.push(report(krate, &edges, &steps));
        }
    }
    findings
}

fn report(krate: &str, edges: &Edges, steps: &[String]) -> Finding {
    let mut text = format!("modules of {krate} form a cycle: {}", steps[0]);
    for (index, from) in steps.iter().enumerate() {
        let to = &steps[(index + 1) % steps.len()];
        let (path, line) = &edges[from][to];
        text.push_str(&format!(" -> {to} [{path}:{line}]"));
    }
    let (path, line) = &edges[&steps[0]][&steps[1 % steps.len()]];
    Finding::error(path, *line, text, "move what both need into a module below them")
}

/// The modules of the shortest way from `start` back to itself.
fn shortest_cycle(edges: &Edges, start: &str) -> Option<Vec<String>> {
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

fn edges(sources: &[&Source]) -> Edges {
    let modules: BTreeSet<String> =
        sources.iter().filter_map(|source| module_path(source).first().cloned()).collect();
    let exported = Exports::read(sources);
    let mut edges = Edges::new();
    for source in sources {
        let file_module = module_path(source);
        for mention in source.mentions.iter().filter(|mention| !source.is_test_line(mention.line)) {
            let here: Vec<&str> = file_module.iter().chain(&mention.scope).map(String::as_str).collect();
            let Some(from) = here.first() else { continue };
            let Some(name) = first_below_root(&here, mention) else { continue };
            let to = if modules.contains(name) { name } else { exported.module_of(name).unwrap_or(from) };
            if to != *from {
                let place = (source.path.clone(), mention.line);
                edges.entry((*from).to_owned()).or_default().entry(to.to_owned()).or_insert(place);
            }
        }
    }
    edges
}

/// The module path of a file below the crate root; empty for the root.
fn module_path(source: &Source) -> Vec<String> {
    let inside = source.crate_and_rest().map(|(_, inside)| inside).unwrap_or_default();
    let inside = inside.trim_start_matches("src/").trim_end_matches(".rs");
    if inside == "lib" || inside == "main" {
        return Vec::new();
    }
    inside.split('/').map(str::to_owned).collect()
}

/// The first name below the crate root that a path goes through, when the path leaves its own top-level module.
fn first_below_root<'a>(here: &[&str], mention: &'a Mention) -> Option<&'a str> {
    let mut segments = mention.segments.iter().map(String::as_str);
    let mut depth = here.len();
    loop {
        match segments.next()? {
            "crate" => depth = 0,
            "super" => depth = depth.checked_sub(1)?,
            "self" => {}
            name if depth == 0 && mention.segments[0] != name => return Some(name),
            _ => return None,
        }
    }
}

/// The names that the crate root re-exports, with the module each comes from.
#[derive(Default)]
struct Exports {
    modules: BTreeMap<String, String>,
}

impl Exports {
    fn read(sources: &[&Source]) -> Self {
        let mut exports = Self::default();
        for root in sources.iter().filter(|source| module_path(source).is_empty()) {
            for item in &root.syntax.items {
                let syn::Item::Use(item) = item else { continue };
                for import in mentions::imports(&item.tree) {
                    exports.import(sources, &import);
                }
            }
        }
        exports
    }

    fn import(&mut self, sources: &[&Source], import: &mentions::Import) {
        let below_root = import.segments.iter().find(|name| *name != "crate" && *name != "self");
        let Some(module) = below_root.filter(|_| import.segments.len() > 1) else { return };
        if import.name != "*" {
            self.modules.insert(import.name.clone(), module.clone());
            return;
        }
        for source in sources.iter().filter(|source| module_path(source).first() == Some(module)) {
            for name in declared(source) {
                self.modules.entry(name).or_insert_with(|| module.clone());
            }
        }
    }

    fn module_of(&self, name: &str) -> Option<&str> {
        self.modules.get(name).map(String::as_str)
    }
}

/// The names a file declares or re-exports at its top.
fn declared(source: &Source) -> Vec<String> {
    let mut names = Vec::new();
    for item in &source.syntax.items {
        match item {
            syn::Item::Const(item) => names.push(item.ident.to_string()),
            syn::Item::Enum(item) => names.push(item.ident.to_string()),
            syn::Item::Fn(item) => names.push(item.sig.ident.to_string()),
            syn::Item::Static(item) => names.push(item.ident.to_string()),
            syn::Item::Struct(item) => names.push(item.ident.to_string()),
            syn::Item::Trait(item) => names.push(item.ident.to_string()),
            syn::Item::Type(item) => names.push(item.ident.to_string()),
            syn::Item::Use(item) if !matches!(item.vis, syn::Visibility::Inherited) => {
                names.extend(mentions::imports(&item.tree).into_iter().map(|import| import.name));
            }
            _ => {}
        }
    }
    names
}
