//! Crates that are in the binary twice.
//!
//! Promises: two versions of one crate that cargo cannot unite are found, unless the doubling is in [`KNOWN`]
//! with the reason why it cannot be helped now. Crates that only tests need are not counted: they cost users
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::metadata::Package;

/// Doublings that cannot be helped at present: the crate, and who has to move first.
const KNOWN: &[(&str, &str)] = &[
    ("base64", "oauth2 5 of rmcp stays on 0.22"),
    ("block-buffer", "digest 0.10 for oauth2 5 of rmcp"),
    ("cpufeatures", "sha2 0.10 for oauth2 5 of rmcp"),
    ("crypto-common", "digest 0.10 for oauth2 5 of rmcp"),
    ("digest", "sha2 0.10 for oauth2 5 of rmcp"),
    (
        "fallible-iterator",
        "postgres-protocol 0.6 stays on 0.2, rusqlite 0.41 has moved on; a trait of 2,000 lines",
    ),
    ("getrandom", "ring 0.17 and oauth2 5 of rmcp stay on 0.2"),
    ("nix", "rtnetlink 0.20, by which libp2p watches the addresses of the machine, stays on 0.30"),
    ("rand", "oauth2 5 of rmcp is on 0.8, opentelemetry_sdk 0.33 on 0.9"),
    ("rand_chacha", "rand 0.8 for oauth2 5 of rmcp, rand 0.9 for opentelemetry_sdk 0.33"),
    (
        "rand_core",
        "opentelemetry_sdk 0.33 is on rand 0.9, oauth2 5 of rmcp on 0.8; the signature crates have moved on",
    ),
    ("sha2", "oauth2 5 of rmcp stays on 0.10"),
    ("syn", "tracing-attributes 0.1 stays on 2; costs compile time only"),
    ("thiserror", "oauth2 5 of rmcp stays on 1"),
    ("thiserror-impl", "thiserror 1 for oauth2 5 of rmcp; costs compile time only"),
];

/// Finds the doublings without an explanation.
pub(crate) fn check(shipped: &[&Package]) -> Vec<String> {
    doubled(shipped)
        .into_iter()
        .filter(|(name, _)| !KNOWN.iter().any(|(known, _)| known == name))
        .map(|(name, versions)| {
            let versions: Vec<String> =
                versions.iter().map(|version| format!("{version} (for {})", users(shipped, name, version))).collect();
            format!(
                "`{name}` is there twice: {} (align the versions, or explain it in xtask/src/deps/doubles.rs)",
                versions.join(", ")
            )
        })
        .collect()
}

/// The explained doublings that are gone.
pub(crate) fn stale(shipped: &[&Package]) -> Vec<&'static str> {
    let doubled = doubled(shipped);
    KNOWN.iter().map(|(name, _)| *name).filter(|name| !doubled.contains_key(name)).collect()
}

/// The crates with more than one incompatible version, and those versions.
fn doubled<'a>(shipped: &[&'a Package]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut versions: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for package in shipped {
        versions.entry(&package.name).or_default().insert(compatibility(&package.version), &package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions.into_iter().map(|(name, versions)| (name, versions.into_values().collect())).collect()
}

/// The leading part of a version that has to be equal for cargo to use one crate for both.
fn compatibility(version: &str) -> &str {
    let leading_zeros = version.split('.').take(2).take_while(|part| *part == "0").count();
    let dots = version.match_indices('.').map(|(at, _)| at);
    dots.take(leading_zeros + 1).nth(leading_zeros).map_or(version, |at| &version[..at])
}

fn users(shipped: &[&Package], name: &str, version: &str) -> String {
    let is_it = |package: &&&Package| package.name == name && package.version == version;
    let Some(package) = shipped.iter().find(is_it) else { return "no crate".to_owned() };
    let uses = |user: &&&Package| user.edges.contains(&package.id);
    let names: BTreeSet<&str> = shipped.iter().filter(uses).map(|user| user.name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(name: &str, version: &str) -> Package {
        Package {
            id: format!("{name}@{version}"),
            name: name.into(),
            version: version.into(),
            ..Package::default()
        }
    }

    #[test]
    fn versions_unite_by_their_first_part_that_is_not_zero() {
        assert_eq!(compatibility("1.2.3"), "1");
        assert_eq!(compatibility("0.8.4"), "0.8");
        assert_eq!(compatibility("0.0.7"), "0.0.7");
        assert_eq!(compatibility("2.0.0-rc.1"), "2");
    }

    #[test]
    fn a_doubling_is_told_with_who_needs_each() {
        let (old, new) = (version("twin", "0.8.5"), version("twin", "0.9.1"));
        let user = Package { edges: vec![old.id.clone()], ..version("slow", "1.0.0") };
        let found = check(&[&old, &new, &user]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("`twin` is there twice: 0.8.5 (for slow), 0.9.1 (for )"), "{found:?}");
    }

    #[test]
    fn compatible_versions_are_no_doubling() {
        let (old, new) = (version("serde", "1.0.1"), version("serde", "1.0.200"));
        assert_eq!(check(&[&old, &new]), Vec::<String>::new());
    }
}
