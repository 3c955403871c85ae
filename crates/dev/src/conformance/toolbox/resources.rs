//! Resources of the suite: words, bytes, one that can be watched, and a family.
//!
//! Promises: what is listed can be read. It does not know who reads.

use agentsite_host::ToolFault;
use agentsite_protocol::mcp::{Contents, Resource, ResourceTemplate};
use serde_json::json;

use super::content::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";

/// The resource whose changes are announced.
pub(super) const WATCHED: &str = "test://watched-resource";

/// The family of resources.
pub(super) const TEMPLATE: &str = "test://template/{id}/data";

pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, description: &str, mime_type: &str| Resource {
        uri: uri.into(),
        name: name.into(),
        description: Some(description.into()),
        mime_type: Some(mime_type.into()),
        ..Resource::default()
    };
    vec![
        resource(TEXT, "static-text", "Words that stay the same", "text/plain"),
        resource(BINARY, "static-binary", "Bytes that stay the same", "image/png"),
        resource(WATCHED, "watched-resource", "Words whose changes can be followed", "text/plain"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate {
        uri_template: TEMPLATE.into(),
        name: "template".into(),
        description: Some("Data by its id".into()),
        mime_type: Some("application/json".into()),
        ..ResourceTemplate::default()
    }]
}

pub(super) fn read(uri: &str) -> Result<Vec<Contents>, ToolFault> {
    let text = |text: &str| Contents::text(uri, "text/plain", text);
    let contents = match uri {
        TEXT => text("This is the content of the static text resource."),
        BINARY => Contents {
            uri: uri.into(),
            mime_type: Some("image/png".into()),
            blob: Some(PNG.into()),
            ..Contents::default()
        },
        WATCHED => text("Watched resource content"),
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id.filter(|id| !id.is_empty() && !id.contains('/')) else {
                return Err(ToolFault::NoSuchResource(uri.into()));
            };
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Contents::text(uri, "application/json", data.to_string())
        }
    };
    Ok(vec![contents])
}
