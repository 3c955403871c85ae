//! MCP: the nouns of the Model Context Protocol, the same for both eras of its wire.
//!
//! Promises: what a tool server says survives a round trip, also fields of later revisions. A question back
//! to the caller is a value ([`Round`], [`InputNeeded`]), never a held connection: that is the form of
//! revision 2026-07-28, and code that serves an older one translates at the edge.
//!
//! Methods, sessions, headers and codes belong to `gateway` and `client`.

mod content;
mod input;
mod notice;
mod prompt;
mod resource;
mod schema;
mod tool;

pub use content::Content;
pub use input::{Abilities, InputNeeded, InputRequest, Reply, Round};
pub use notice::{Change, LogLevel, Notice};
pub use prompt::{
    Completing, CompletionOf, Completions, Prompt, PromptArgument, PromptCall, PromptMessage, PromptText,
};
pub use resource::{Contents, Reading, Resource, ResourceTemplate};
pub use schema::misfit;
pub use tool::{TaskSupport, Tool, ToolCall, ToolResult};
