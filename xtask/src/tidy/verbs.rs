//! The rule that interfaces stay small: a handle of the site has at most 15 verbs, a read trait of the store
//! at most 8 methods.
//!
//! Promises: a handle is every type of the capabilities that a public method of `Site` gives out, so there
//! is no list to maintain. Its verbs are its public methods that take `self`, in all `impl` blocks;
//! constructors, trait implementations, errors and tests do not count. It does not look at free functions.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Most verbs of a handle: what one page of documentation can show.
const MOST_VERBS: usize = 15;

/// Most methods of a read trait: each is written once for every engine.
const MOST_METHODS: usize = 8;

/// The crates whose types a site hands out.
const CAPABILITIES: [&str; 4] = ["site", "tasks", "rooms", "registry"];

/// Where the read traits of the store are.
const READS: &str = "crates/store/src/reads/";

/// The type that hands out the others.
const SITE: &str = "Site";

/// How many operations each interface has, by its name, with where it begins.
type Interfaces<'a> = BTreeMap<String, (usize, &'a str, usize)>;

/// Finds the interfaces that are too large, and tells their sizes in lines for the summary.
pub(crate) fn check(sources: &[Source]) -> (Vec<Finding>, [String; 2]) {
    let (handles, traits) = (handles(sources), traits(sources));
    let mut findings = over(&handles, MOST_VERBS, "verbs", "split the handle, or hand out a smaller one");
    findings.extend(over(&traits, MOST_METHODS, "methods", "split the trait by what reads it"));
    let lines = [line("handles of the site", "verbs", &handles), line("read traits", "methods", &traits)];
    (findings, lines)
}

fn over(all: &Interfaces<'_>, most: usize, what: &str, remedy: &str) -> Vec<Finding> {
    all.iter()
        .filter(|(_, (count, ..))| *count > most)
        .map(|(name, (count, path, line))| {
            Finding::error(path, *line, format!("`{name}` has {count} {what}; at most {most}"), remedy)
        })
        .collect()
}

fn line(what: &str, of: &str, all: &Interfaces<'_>) -> String {
    let mut sizes: Vec<(usize, &str)> =
        all.iter().map(|(name, (count, ..))| (*count, name.as_str())).collect();
    sizes.sort_by_key(|(count, name)| (std::cmp::Reverse(*count), *name));
    let sizes: Vec<String> = sizes.iter().map(|(count, name)| format!("{name} {count}")).collect();
    format!("{} {what} ({of}): {}", all.len(), sizes.join(", "))
}

/// The types that `Site` gives out and that have verbs.
fn handles(sources: &[Source]) -> Interfaces<'_> {
    let mut given = Named::default();
    let mut verbs = Interfaces::new();
    for source in sources.iter().filter(|source| is_capability(source)) {
        for block in inherent(source) {
            let Some((owner, line)) = name_of(&block.self_ty) else { continue };
            for method in public_methods(block) {
                if owner == SITE {
                    given.visit_return_type(&method.sig.output);
                } else {
                    verbs.entry(owner.clone()).or_insert((0, &source.path, line)).0 += 1;
                }
            }
        }
    }
    verbs.retain(|name, _| given.names.contains(name) && !name.ends_with("Error"));
    verbs
}

fn traits(sources: &[Source]) -> Interfaces<'_> {
    let mut all = Interfaces::new();
    for source in sources.iter().filter(|source| source.path.starts_with(READS) && !source.is_test_file) {
        for item in &source.syntax.items {
            if let syn::Item::Trait(item) = item {
                let methods = item.items.iter().filter(|item| matches!(item, syn::TraitItem::Fn(_))).count();
                let line = item.ident.span().start().line;
                all.insert(item.ident.to_string(), (methods, &source.path, line));
            }
        }
    }
    all
}

fn is_capability(source: &Source) -> bool {
    let inside = |(name, rest): (&str, &str)| CAPABILITIES.contains(&name) && rest.starts_with("src/");
    !source.is_test_file && source.crate_and_rest().is_some_and(inside)
}

/// The `impl` blocks of a file that implement no trait, tests left out.
fn inherent(source: &Source) -> impl Iterator<Item = &syn::ItemImpl> {
    source.syntax.items.iter().filter_map(|item| match item {
        syn::Item::Impl(block) if block.trait_.is_none() => {
            (!source.is_test_line(block.impl_token.span.start().line)).then_some(block)
        }
        _ => None,
    })
}

/// The methods of a block that everybody may call on a value.
fn public_methods(block: &syn::ItemImpl) -> impl Iterator<Item = &syn::ImplItemFn> {
    block.items.iter().filter_map(|item| match item {
        syn::ImplItem::Fn(method) => {
            let is_verb = matches!(method.vis, syn::Visibility::Public(_)) && method.sig.receiver().is_some();
            is_verb.then_some(method)
        }
        _ => None,
    })
}

fn name_of(kind: &syn::Type) -> Option<(String, usize)> {
    let syn::Type::Path(path) = kind else { return None };
    let last = &path.path.segments.last()?.ident;
    Some((last.to_string(), last.span().start().line))
}

/// Every name in a type.
#[derive(Default)]
struct Named {
    names: Vec<String>,
}

impl<'ast> Visit<'ast> for Named {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.names.push(segment.ident.to_string());
        visit::visit_path_segment(self, segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::{assert_one, sources};

    fn verbs(count: usize) -> String {
        (0..count).map(|at| format!("pub fn v{at}(&self) {{}}\n")).collect()
    }

    #[test]
    fn a_handle_with_too_many_verbs_is_found_wherever_its_blocks_are() {
        let site =
            "impl Site { pub fn keys(&self) -> &Keys {} pub fn kit(&self) -> Result<Kit, Error> {} }\n";
        let keys = format!("impl Keys {{\n{}}}\n", verbs(15));
        let kit = format!("impl Kit<'_> {{ pub fn new() -> Self {{}} fn own(&self) {{}}\n{}}}\n", verbs(15));
        let other = format!("impl Hidden {{\n{}}}\n", verbs(20));
        let more = "impl Keys { pub fn one_more(&self) {} }\nimpl Clone for Kit { fn clone(&self) {} }\n";
        let files = sources(&[
            ("crates/site/src/site.rs", site),
            ("crates/site/src/keys.rs", &keys),
            ("crates/tasks/src/kit.rs", &kit),
            ("crates/rooms/src/other.rs", &other),
            ("crates/site/src/more.rs", more),
        ]);
        let (found, lines) = check(&files);
        assert_one(&found, "crates/site/src/keys.rs:1: `Keys` has 16 verbs; at most 15 (");
        assert_eq!(lines[0], "2 handles of the site (verbs): Keys 16, Kit 15");
    }

    #[test]
    fn a_read_trait_with_too_many_methods_is_found() {
        let methods: String = (0..9).map(|at| format!("fn m{at}(&self);\n")).collect();
        let many = format!("pub trait Many {{\n{methods}}}\npub trait Few {{ fn one(&self); }}\n");
        let files = sources(&[
            ("crates/store/src/reads/many.rs", many.as_str()),
            ("crates/store/src/lib.rs", many.as_str()),
        ]);
        let (found, lines) = check(&files);
        assert_one(&found, "crates/store/src/reads/many.rs:1: `Many` has 9 methods; at most 8 (");
        assert_eq!(lines[1], "2 read traits (methods): Many 9, Few 1");
    }
}
