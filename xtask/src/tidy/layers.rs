//! The rule that only the gateway knows HTTP (invariant 3).
//!
//! Promises: a path through `axum`, or one that names `StatusCode`, is found in the normal code of every
//! crate whose task is not HTTP. Tests may name both, and so may the crates in [`SPEAK_HTTP`].

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// The crates whose task is HTTP: the faces, the SDK that calls them, the egress guard, the binary that wires
/// them, its development tools, the simulator.
const SPEAK_HTTP: &[&str] = &["gateway", "client", "egress", "agentsite", "dev", "sim"];

/// Finds HTTP vocabulary below the gateway.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let Some((krate, inside)) = source.crate_and_rest() else { return Vec::new() };
    if SPEAK_HTTP.contains(&krate) || !inside.starts_with("src/") {
        return Vec::new();
    }
    let remedy = "return a domain error; the gateway's table maps it";
    source
        .mentions
        .iter()
        .filter(|mention| !source.is_test_line(mention.line))
        .filter_map(|mention| {
            let named = mention.segments.iter().find(|segment| *segment == "StatusCode");
            let named = named.or_else(|| mention.segments.first().filter(|first| *first == "axum"))?;
            Some(Finding::error(&source.path, mention.line, format!("`{named}` below the gateway"), remedy))
        })
        .collect()
}
