//! Api: all operations of a document, ready to be called.
//!
//! Promises: bounded in number, in a fixed order (paths, then methods). Every operation has an absolute
//! address; credentials go only to the place of the document itself or to one that the operator named.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_protocol::mcp::Tool;
use http::Method;
use serde_json::Value;
use url::Url;

use super::document::{Document, DocumentError};
use super::operation::{Operation, OperationPosition};
use super::schema::NodesLeft;
use crate::About;

/// Operations of one document: the largest public APIs have about twelve hundred.
const MOST_OPERATIONS: usize = 2_000;

/// Longest words about the whole API.
const LONGEST_WORDS: usize = 2_000;

/// The methods that become tools, in the order in which they are listed.
const METHODS: [(&str, Method); 6] = [
    ("get", Method::GET),
    ("head", Method::HEAD),
    ("post", Method::POST),
    ("put", Method::PUT),
    ("patch", Method::PATCH),
    ("delete", Method::DELETE),
];

/// Where a document comes from and where its operations go.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentLocation {
    /// The address of the document, if it has one.
    pub(super) document: Option<Url>,
    /// The address that the operator named for all operations.
    pub(super) base: Option<Url>,
    /// Whether there are credentials to be guarded.
    pub(super) guarded: bool,
}

/// The operations of a document.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) about: About,
    pub(super) tools: Arc<[Tool]>,
    operations: Vec<Operation>,
}

impl Api {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`] says what is wrong with it.
    pub(super) fn read(bytes: &[u8], whereabouts: &DocumentLocation) -> Result<Self, DocumentError> {
        let document = Document::read(bytes)?;
        let (mut operations, mut taken, mut nodes_left) = (Vec::new(), BTreeSet::new(), NodesLeft::default());
        for (path, item) in document.root()["paths"].as_object().into_iter().flatten() {
            let Some(item) = document.resolve(item).filter(|_| path.starts_with('/')) else { continue };
            for (word, method) in METHODS {
                let Some(operation) = item.get(word).filter(|operation| operation.is_object()) else {
                    continue;
                };
                if operations.len() == MOST_OPERATIONS {
                    return Err(DocumentError::TooManyOperations(MOST_OPERATIONS));
                }
                let base = base(&document, item, operation, whereabouts)
                    .ok_or_else(|| DocumentError::NoServer(format!("{method} {path}")))?;
                let spot = OperationPosition { document: &document, method, path, item, operation, base };
                let operation = Operation::read(spot, &mut taken, &mut nodes_left);
                check_origin(&operation, whereabouts)?;
                operations.push(operation);
            }
        }
        if operations.is_empty() {
            return Err(DocumentError::Empty);
        }
        let tools = operations.iter().map(|operation| operation.tool.clone()).collect();
        Ok(Self { about: about(&document.root()["info"]), tools, operations })
    }

    /// The operation of a tool.
    pub(super) fn operation(&self, tool: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.tool.name == tool)
    }
}

fn check_origin(operation: &Operation, whereabouts: &DocumentLocation) -> Result<(), DocumentError> {
    let DocumentLocation { document: Some(document), base: None, guarded: true } = whereabouts else {
        return Ok(());
    };
    if operation.base.origin() == document.origin() {
        return Ok(());
    }
    let origin = operation.base.origin().ascii_serialization();
    Err(DocumentError::Elsewhere { operation: operation.tool.name.clone(), origin })
}

/// Where an operation goes, without a slash at the end.
fn base(document: &Document, item: &Value, operation: &Value, whereabouts: &DocumentLocation) -> Option<Url> {
    if let Some(base) = &whereabouts.base {
        return Some(base.clone());
    }
    let first = |from: &Value| from["servers"].as_array().and_then(|servers| servers.first()).cloned();
    let server = first(operation).or_else(|| first(item)).or_else(|| first(document.root()));
    let address = match &server {
        Some(server) => filled(server["url"].as_str()?, &server["variables"]),
        None => "/".to_owned(),
    };
    let url = match &whereabouts.document {
        Some(document) => document.join(&address).ok()?,
        None => Url::parse(&address).ok()?,
    };
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The address of a server with the usual values in its places.
fn filled(address: &str, variables: &Value) -> String {
    let mut address = address.to_owned();
    for (name, variable) in variables.as_object().into_iter().flatten() {
        if let Some(value) = variable["default"].as_str() {
            address = address.replace(&format!("{{{name}}}"), value);
        }
    }
    address
}

fn about(info: &Value) -> About {
    let text =
        |value: &Value| value.as_str().map(|words| words.chars().take(LONGEST_WORDS).collect::<String>());
    About {
        name: text(&info["title"]).unwrap_or_default(),
        version: text(&info["version"]).unwrap_or_default(),
        instructions: text(&info["description"]),
        ..About::default()
    }
}
