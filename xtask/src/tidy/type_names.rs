//! The rule that one public type name means one thing: it occurs in at most two modules of the workspace.
//!
//! Promises: structs, enums and traits that are `pub` or `pub(crate)` are counted where they are declared,
//! tests left out. A name in three or more modules is a warning at its first place that names the others.
//! Re-exports and aliases are not declarations and do not count.

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// In how many modules one name is a defect.
const TOO_MANY: usize = 3;

/// How many type names there are, and how many are used too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Census {
    /// Different names.
    pub(crate) names: usize,
    /// Those declared in more than one module.
    pub(crate) shared: usize,
    /// Those declared in [`TOO_MANY`] modules or more.
    pub(crate) repeated: usize,
}

/// The declarations of each name.
type Places<'a> = BTreeMap<String, Vec<(&'a str, usize)>>;

impl Census {
    fn of(places: &Places<'_>) -> Self {
        let at_least = |least: usize| places.values().filter(|places| places.len() >= least).count();
        Self { names: places.len(), shared: at_least(2), repeated: at_least(TOO_MANY) }
    }

    /// Tells the count in one line.
    pub(crate) fn line(self) -> String {
        let percent = |count: usize| 100.0 * count as f64 / self.names.max(1) as f64;
        format!(
            "{} names, {} in more than one module ({:.1} %), {} in {TOO_MANY} or more ({:.1} %)",
            self.names,
            self.shared,
            percent(self.shared),
            self.repeated,
            percent(self.repeated)
        )
    }
}

/// Finds the public names that occur too often, and counts them.
pub(crate) fn check(sources: &[Source]) -> (Vec<Finding>, Census) {
    let places = places(sources, is_public);
    let repeated = places.iter().filter(|(_, places)| places.len() >= TOO_MANY);
    (repeated.map(|(name, places)| report(name, places)).collect(), Census::of(&places))
}

/// Counts all type names, also those that only one module sees.
pub(crate) fn count_all(sources: &[Source]) -> Census {
    Census::of(&places(sources, |_| true))
}

fn places(sources: &[Source], counts: fn(&syn::Visibility) -> bool) -> Places<'_> {
    let mut places = Places::new();
    for source in sources.iter().filter(|source| !source.is_test_file && is_product(source)) {
        for (name, line) in declared(&source.syntax.items, counts) {
            if !source.is_test_line(line) {
                places.entry(name).or_default().push((&source.path, line));
            }
        }
    }
    places
}

fn report(name: &str, places: &[(&str, usize)]) -> Finding {
    let others: Vec<String> = places[1..].iter().map(|(path, line)| format!("{path}:{line}")).collect();
    let what = format!("`{name}` is declared in {} modules, also in {}", places.len(), others.join(", "));
    Finding::warning(places[0].0, places[0].1, what, "give each idea a name of its own")
}

/// Whether a file belongs to a crate's own code; examples and integration tests are read one at a time.
fn is_product(source: &Source) -> bool {
    source.crate_and_rest().is_some_and(|(_, inside)| inside.starts_with("src/"))
}

/// The types of some visibility that are declared among some items, with their lines; inline modules
/// included.
fn declared(items: &[syn::Item], counts: fn(&syn::Visibility) -> bool) -> Vec<(String, usize)> {
    let mut names = Vec::new();
    for item in items {
        let (visibility, name) = match item {
            syn::Item::Enum(item) => (&item.vis, &item.ident),
            syn::Item::Struct(item) => (&item.vis, &item.ident),
            syn::Item::Trait(item) => (&item.vis, &item.ident),
            syn::Item::Mod(module) => {
                let inside = module.content.iter().flat_map(|(_, items)| declared(items, counts));
                names.extend(inside);
                continue;
            }
            _ => continue,
        };
        if counts(visibility) {
            names.push((name.to_string(), name.span().start().line));
        }
    }
    names
}

/// `pub` and `pub(crate)`; what only a parent sees is its own matter.
fn is_public(visibility: &syn::Visibility) -> bool {
    match visibility {
        syn::Visibility::Public(_) => true,
        syn::Visibility::Restricted(inside) => inside.path.is_ident("crate"),
        syn::Visibility::Inherited => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::{assert_one, sources};

    #[test]
    fn a_public_type_name_in_three_modules_is_warned_about() {
        let files = sources(&[
            ("crates/x/src/a.rs", "pub struct Place;\npub struct Other;\nstruct Hidden;\n"),
            ("crates/x/src/b.rs", "pub(crate) enum Place {}\npub struct Other;\nstruct Hidden;\n"),
            ("crates/y/src/c.rs", "struct Hidden;\nmod inner { pub trait Place {} }\n"),
            (
                "crates/y/src/d.rs",
                "pub(super) struct Other;\n#[cfg(test)]\nmod tests { pub struct Other; }\n",
            ),
            ("crates/y/examples/e.rs", "pub struct Other;\n"),
        ]);
        let (found, census) = check(&files);
        let expected = "crates/x/src/a.rs:1: warning: `Place` is declared in 3 modules, \
                        also in crates/x/src/b.rs:1, crates/y/src/c.rs:2 (";
        assert_one(&found, expected);
        assert_eq!(census, Census { names: 2, shared: 2, repeated: 1 });
        assert_eq!(count_all(&files), Census { names: 3, shared: 3, repeated: 3 });
        assert!(census.line().contains("1 in 3 or more (50.0 %"), "{}", census.line());
    }
}
