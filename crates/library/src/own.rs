//! The documentation of agentsite, carried in the program, so that a site without files can say how it is
//! used.
//!
//! Promises: these are the pages for users in `docs`; a test checks that none is missing. Pages about how the
//! program is built are left out.

use super::document::{Content, Found, Version};
use super::read::Kind;

macro_rules! pages {
    ($($file:literal),+ $(,)?) => {
        [$(($file, include_str!(concat!("../../../", $file)))),+]
    };
}

/// The pages for users.
const PAGES: &[(&str, &str)] = &pages![
    "README.md",
    "docs/agents.md",
    "docs/ard.md",
    "docs/benchmarks.md",
    "docs/cli.md",
    "docs/cluster.md",
    "docs/configuration.md",
    "docs/conformance.md",
    "docs/connect-agents.md",
    "docs/connect.md",
    "docs/conversations.md",
    "docs/extensions.md",
    "docs/hub.md",
    "docs/keys.md",
    "docs/library.md",
    "docs/mcp.md",
    "docs/mesh.md",
    "docs/openai.md",
    "docs/pages.md",
    "docs/push.md",
    "docs/rooms.md",
    "docs/search.md",
    "docs/security.md",
];

/// The pages as documents; they never change.
pub(super) fn documents() -> Vec<Found> {
    let document = |(file, text): (&str, &'static str)| Found {
        file: file.to_owned(),
        content: Content::Carried(text),
        kind: Kind::Markdown,
        version: Version { size: text.len() as u64, modified: None },
    };
    PAGES.iter().copied().map(document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For developers and reviewers of the program.
    const LEFT_OUT: [&str; 3] =
        ["docs/adding-a-capability.md", "docs/architecture.md", "docs/mesh-results.md"];

    #[test]
    fn every_page_for_users_is_carried() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for entry in std::fs::read_dir(docs).unwrap() {
            let name = format!("docs/{}", entry.unwrap().file_name().to_string_lossy());
            let known = LEFT_OUT.contains(&name.as_str()) || PAGES.iter().any(|(page, _)| *page == name);
            assert!(known || !name.ends_with(".md"), "add {name} to PAGES, or to LEFT_OUT");
        }
    }
}
