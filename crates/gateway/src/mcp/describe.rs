//! What a server says about itself: its capabilities, its name, and how a model should use it.
//!
//! Promises: says only what is kept: a capability that is not declared is a method that is not there. It does
//! not look at callers.

use agentsite_site::{About, Toolkit};
use serde_json::{Value, json};

use super::answer::kept;
use super::params::TASKS;
use super::version::{Revision, STATELESS};

/// What `server/discover` answers.
pub(super) fn discovered(toolkit: &Toolkit, about: &About, site: &str) -> Value {
    let mut capabilities = capabilities(toolkit, about);
    capabilities["extensions"] = json!({ TASKS: {} });
    let mut description = json!({
        "supportedVersions": STATELESS,
        "capabilities": capabilities,
        "_meta": { "io.modelcontextprotocol/serverInfo": info(toolkit, about, site) },
    });
    instruct(&mut description, about);
    kept(&mut description);
    description
}

/// What `initialize` answers.
pub(super) fn initialized(toolkit: &Toolkit, about: &About, site: &str, revision: Revision) -> Value {
    let mut description = json!({
        "protocolVersion": revision.name(),
        "capabilities": capabilities(toolkit, about),
        "serverInfo": info(toolkit, about, site),
    });
    instruct(&mut description, about);
    description
}

fn instruct(description: &mut Value, about: &About) {
    if let Some(instructions) = &about.instructions {
        description["instructions"] = instructions.as_str().into();
    }
}

fn capabilities(toolkit: &Toolkit, about: &About) -> Value {
    let changes = toolkit.changes().is_some();
    let mut capabilities = json!({ "tools": { "listChanged": changes } });
    if about.resources {
        capabilities["resources"] = json!({ "listChanged": changes, "subscribe": changes });
    }
    if about.prompts {
        capabilities["prompts"] = json!({ "listChanged": changes });
    }
    if about.completions {
        capabilities["completions"] = json!({});
    }
    if about.logging {
        capabilities["logging"] = json!({});
    }
    capabilities
}

fn info(toolkit: &Toolkit, about: &About, site: &str) -> Value {
    let own = toolkit.agent().map_or(site, |agent| agent.as_str());
    let or =
        |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { text.to_owned() };
    json!({ "name": or(&about.name, own), "version": or(&about.version, env!("CARGO_PKG_VERSION")) })
}
