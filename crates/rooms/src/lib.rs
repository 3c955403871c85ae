//! Conversations: what a person keeps of talking with agents, as a tree of turns.
//!
//! Promises: a conversation is its owner's alone, and a foreign one answers like none, also to admins. A turn
//! comes with its task in one commit and is named by it; question and answer are read from the task. What is
//! decided is decided by pure functions (`decide`, `passage`, `export`).
//!
//! Start reading at [`Conversations`] (the verbs) and `say.rs` (how a turn is made). Rooms, in which several
//! members talk, are in [`room`]: start at [`room::Rooms`].
//!
//! It runs no agent and owns no task: it sends messages by `tasks` and takes part in their commits by a hook.
//! What it needs of the site is [`SiteAccess`].

#![forbid(unsafe_code)]

mod access;
mod decide;
mod edit;
mod error;
mod export;
mod feed;
mod follow;
mod handle;
mod hook;
mod kinds;
mod list;
mod others;
mod passage;
pub mod room;
mod say;
mod turns;
mod utterance;
mod view;
mod writing;

#[cfg(test)]
mod tests;

pub use access::SiteAccess;
pub use decide::MAX_TITLE;
pub use edit::ConversationEdit;
pub use error::ConversationError;
pub use export::ExportFormat;
pub use feed::{ConversationEvent, ConversationFeed};
pub use follow::ConversationWatch;
pub use handle::{ConversationParts, Conversations};
pub use kinds::capability;
pub use list::MAX_SEARCH;
pub use say::{MAX_CONVERSATIONS, MAX_TURNS};
pub use turns::TurnPage;
pub use utterance::{Placing, Utterance};
pub use view::{ArtifactView, AsksView, ConversationView, Passage, SaidView, StartedView, TurnView};
pub use writing::ConversationExport;
