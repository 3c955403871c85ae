//! Which module a path leads to, as far as files, `mod` blocks and `use` declarations tell.
//!
//! Promises: re-exports and private imports of a parent are followed, also by glob, because children reach
//! both through `super`. A path that leaves the crate leads nowhere. Names made by macros are not known.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::mentions;
use crate::tidy::source::Source;

/// A module by the names between the crate root and it; empty for the root.
type ModulePath = Vec<String>;

/// How many re-exports are followed one after the other; a chain that is longer leads in a circle.
const LONGEST_CHAIN: usize = 8;

/// The modules of a crate and the names that each imports.
pub(super) struct Crate {
    modules: BTreeSet<ModulePath>,
    imports: BTreeMap<ModulePath, BTreeMap<String, Vec<String>>>,
}

impl Crate {
    /// Reads the modules and imports of one crate.
    pub(super) fn read(sources: &[&Source]) -> Self {
        let mut modules = BTreeSet::new();
        for source in sources {
            let path = module_path(source);
            let scopes: BTreeSet<&Vec<String>> =
                source.mentions.iter().map(|mention| &mention.scope).collect();
            modules.extend(scopes.into_iter().map(|scope| path.iter().chain(scope).cloned().collect()));
            modules.extend((0..=path.len()).map(|length| path[..length].to_vec()));
        }
        let mut all = Self { modules, imports: BTreeMap::new() };
        let declared: BTreeMap<ModulePath, Vec<String>> =
            sources.iter().map(|source| (module_path(source), declared(source))).collect();
        for source in sources {
            all.read_imports(source, &declared);
        }
        all
    }

    fn read_imports(&mut self, source: &Source, declared: &BTreeMap<ModulePath, Vec<String>>) {
        let here = module_path(source);
        for item in &source.syntax.items {
            let syn::Item::Use(item) = item else { continue };
            for import in mentions::imports(&item.tree) {
                let Some(mut path) = self.absolute(&here, &import.segments) else { continue };
                let names = self.imports.entry(here.clone()).or_default();
                if import.name != "*" {
                    names.insert(import.name, path);
                    continue;
                }
                path.pop();
                for name in declared.get(&path).into_iter().flatten() {
                    let target = path.iter().chain([name]).cloned().collect();
                    names.entry(name.clone()).or_insert(target);
                }
            }
        }
    }

    /// The path below the root that a written path means in a module; `None` when it leaves the crate.
    fn absolute(&self, here: &[String], segments: &[String]) -> Option<Vec<String>> {
        let mut path = here.to_vec();
        let mut names = segments.iter().peekable();
        let mut anchored = false;
        while let Some(name) = names.peek() {
            match name.as_str() {
                "crate" => path.clear(),
                "super" => drop(path.pop()?),
                "self" => {}
                _ => break,
            }
            anchored = true;
            names.next();
        }
        let first = path.iter().chain(names.peek().copied()).cloned().collect::<Vec<_>>();
        let below = names.len() > 0 && self.modules.contains(&first);
        (anchored || below).then(|| path.into_iter().chain(names.cloned()).collect())
    }

    /// The modules that a path from the root or from a parent goes to: the one it names, and each one that a
    /// name on the way was imported from.
    pub(super) fn modules_behind(&self, here: &[String], segments: &[String]) -> Vec<ModulePath> {
        let mut found = Vec::new();
        let mut path = self.absolute(here, segments);
        for _ in 0..LONGEST_CHAIN {
            let Some(whole) = path else { break };
            let length = (0..=whole.len()).rev().find(|length| self.modules.contains(&whole[..*length]));
            let (module, rest) = whole.split_at(length.unwrap_or_default());
            found.push(module.to_vec());
            let import = rest.first().and_then(|name| self.imports.get(module)?.get(name));
            path = import.map(|target| target.iter().chain(&rest[1..]).cloned().collect());
        }
        found
    }
}

/// The module path of a file below the crate root; empty for the root.
pub(super) fn module_path(source: &Source) -> ModulePath {
    let inside = source.crate_and_rest().map(|(_, inside)| inside).unwrap_or_default();
    let inside = inside.trim_start_matches("src/").trim_end_matches(".rs");
    if inside == "lib" || inside == "main" {
        return Vec::new();
    }
    inside.split('/').map(str::to_owned).collect()
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
