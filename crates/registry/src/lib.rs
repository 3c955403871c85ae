//! The registry of a site: agents from elsewhere, the names that are protected, the registries elsewhere.
//!
//! Promises: every verb that takes a [`Caller`](agentsite_protocol::Caller) checks it; a foreign id answers
//! like one that does not exist; each change is one commit with its journal line. What others publish is cut
//! to bounds before anything is decided about it, and everything that leaves the site goes through the
//! [`Scout`].
//!
//! It does not know which agents the site runs: their names are given to it where they matter. It does not
//! search, run agents or speak a protocol to callers.

#![forbid(unsafe_code)]

mod call;
mod capability;
mod challenges;
mod entry;
mod error;
mod federation;
mod kinds;
mod names;
mod registry;
mod scout;
mod settings;
mod watch;

#[cfg(test)]
mod tests;

pub use call::EntryAgent;
pub use capability::capabilities;
pub use challenges::{ChallengeSigner, Challenges, ServedChallenge};
pub use entry::{Challenge, HubEdit, HubEntry, HubFormat, sees};
pub use error::RegistryError;
pub use federation::{Coverage, Federation, Unanswered, UpstreamMatch, UpstreamMatches, UpstreamQuery};
pub use names::{NameChange, Names, ReleasedName};
pub use registry::{
    ForeignEntry, ImportReport, OwnNames, PeerAgent, RefusedEntry, Registry, TRUST_MANIFEST,
    bounded_introduction, name_shape, peer_entry_id,
};
pub use scout::{EgressScout, Looked, Scout, ToolServer};
pub use settings::HubSettings;
pub use watch::{EntryChanges, EntryWatch};

/// Reads any bytes as what a registry is handed by others, for the fuzzer.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    registry::fuzz_draft(bytes);
    federation::fuzz_answer(bytes);
}
