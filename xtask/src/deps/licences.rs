//! Which licences a third-party crate may have.
//!
//! Promises: every crate whose licence cannot be satisfied from [`ACCEPTED`], is missing, or is not
//! understood is found. It reads what the crate declares; it does not open licence files.

use super::spdx::satisfiable;
use crate::metadata::Package;

/// Licences that let one binary be passed on under Apache-2.0 with nothing more than notices. MPL-2.0 binds
/// only changes to the files it covers, and we change none.
const ACCEPTED: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    "CDLA-Permissive-2.0",
    "MPL-2.0",
    "BSL-1.0",
    "CC0-1.0",
    "0BSD",
    "Unlicense",
    "OpenSSL",
];

/// Finds the crates whose licence does not do.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().filter(|package| package.source.is_some()).filter_map(problem).collect()
}

fn problem(package: &Package) -> Option<String> {
    let named = format!("`{} {}`", package.name, package.version);
    let Some(expression) = &package.license else {
        return Some(format!("{named} declares no licence (read its licence file, or replace it)"));
    };
    match satisfiable(expression, &|name| ACCEPTED.contains(&name)) {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "{named} is under `{expression}` (replace it, or accept it in xtask/src/deps/licences.rs)"
        )),
        Err(error) => Some(format!("{named}: {error} (read its licence file, or replace it)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn third_party(license: Option<&str>) -> Package {
        Package {
            name: "x".to_owned(),
            source: Some("registry".to_owned()),
            license: license.map(str::to_owned),
            ..Package::default()
        }
    }

    #[test]
    fn accepted_licences_pass_and_others_are_named() {
        assert_eq!(
            check(&[third_party(Some("MIT OR Apache-2.0 OR LGPL-2.1-or-later"))]),
            Vec::<String>::new()
        );
        assert!(check(&[third_party(Some("AGPL-3.0-only"))])[0].contains("AGPL-3.0-only"));
    }

    #[test]
    fn a_crate_without_a_licence_is_found_unless_it_is_ours() {
        assert_eq!(check(&[third_party(None)]).len(), 1);
        assert_eq!(check(&[Package { source: None, ..third_party(None) }]), Vec::<String>::new());
    }
}
