//! The rule that a reserved word of the design names one idea: a type of that name is declared only in the
//! crates that own the idea.
//!
//! Promises: every struct, enum, trait and type alias is looked at, whatever its visibility, tests included.
//! Compound names (`StoredRecord`, `HubSettings`) are not: they say more than the bare word.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Each reserved word and the crates that may declare a type of that name.
const RESERVED: &[(&str, &[&str])] = &[
    ("Room", &["protocol", "rooms"]),
    ("Link", &["protocol", "mesh"]),
    ("Record", &["protocol", "mesh"]),
    ("Receipt", &["protocol", "trust"]),
    ("Ledger", &["protocol", "trust", "market"]),
    ("Hub", &["gateway"]),
    ("Peer", &["protocol", "mesh"]),
    ("Team", &["protocol", "goals"]),
];

/// Finds types that have a reserved word as their name outside of its crates.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let owner = source.crate_and_rest().map(|(name, _)| name);
    let mut findings = Vec::new();
    for (name, line) in declared(&source.syntax.items) {
        let Some((word, crates)) = RESERVED.iter().find(|(word, _)| *word == name) else { continue };
        if !owner.is_some_and(|owner| crates.contains(&owner)) {
            let what = format!("`{word}` is a reserved word of the design (crates: {})", crates.join(", "));
            findings.push(Finding::error(&source.path, line, what, "name this type after its own idea"));
        }
    }
    findings
}

/// The names of all types among some items, with their lines; inline modules included.
fn declared(items: &[syn::Item]) -> Vec<(String, usize)> {
    let mut names = Vec::new();
    for item in items {
        let name = match item {
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Mod(module) => {
                names.extend(module.content.iter().flat_map(|(_, items)| declared(items)));
                continue;
            }
            _ => continue,
        };
        names.push((name.to_string(), name.span().start().line));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::{assert_one, sources};

    #[test]
    fn a_reserved_word_names_a_type_only_in_its_crates() {
        let files = sources(&[
            ("crates/rooms/src/a.rs", "pub struct Room;\nmod inner { pub struct RoomKey; }\n"),
            ("crates/store/src/b.rs", "struct StoredRecord;\nmod inner {\n    struct Room;\n}\n"),
        ]);
        assert!(check(&files[0]).is_empty());
        assert_one(&check(&files[1]), "crates/store/src/b.rs:3: `Room` is a reserved word");
    }
}
