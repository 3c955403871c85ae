//! What a Site does: its agents, its tasks, its callers, its journal.
//!
//! Promises: every verb checks its Caller; what a verb has acknowledged is on disk; events reach watchers
//! only after that. A foreign id answers like one that does not exist. Nothing here waits without a bound.
//!
//! It knows no wire protocol: `gateway` speaks, this crate acts. It joins the capabilities (`tasks`, `rooms`,
//! `library`) and the ground below them (`host`, `store`, `search`), whose crates do not know each other.

#![forbid(unsafe_code)]

mod audit;
mod calls;
mod connected;
mod error;
mod feeds;
mod identity;
mod keys;
mod local_agents;
mod logins;
mod push;
mod queries;
mod remote_toolbox;
mod retention;
mod secret;
mod settings;
mod settled;
mod site;
mod site_servers;
mod tokens;
mod usage;
mod world;

#[cfg(test)]
mod tests;

pub use agentsite_host::{
    About, AgentSession, Answers, Change, Exchange, Health, LogLevel, LogLine, LogSource, LoginBegun,
    Manifest, Notice, PinState, PinnedTool, RuntimeKind, SessionEnd, ToolFault,
};
pub use agentsite_peers::{
    CellCoverage, Invite, KnownSite, MeshSettings, MeshView, NetworkSecret, OverlayPlan, PeerStream,
    PeerView, Peers, SiteDocument, Transport, link_host,
};
pub use agentsite_registry::{
    Challenge, Challenges, Coverage, EntryChanges, EntryWatch, HubEdit, HubEntry, HubFormat, HubSettings,
    ImportReport, Names, RefusedEntry, RegistryError, ReleasedName, ServedChallenge, Unanswered,
    UpstreamMatch, UpstreamMatches, UpstreamQuery,
};
pub use agentsite_rooms::room::{
    NewRoom, Posted, RoomError, RoomExport, RoomExportFormat, RoomLink, RoomPage, RoomView, RoomWatch, Rooms,
};
pub use agentsite_rooms::{
    ArtifactView, AsksView, ConversationEdit, ConversationError, ConversationEvent, ConversationExport,
    ConversationView, ConversationWatch, Conversations, ExportFormat, MAX_CONVERSATIONS, MAX_SEARCH,
    MAX_TITLE, MAX_TURNS, Passage, Placing, SaidView, StartedView, TurnPage, TurnView, Utterance,
};
pub use agentsite_store::{
    ConversationCursor, DeliveryQuery, Disk, DiskState, JournalQuery, KeyRecord, ListingFilter, Page,
    StorageLimits, StorageSettings, StorageUse, StoreError, StoreStats, StoredLine, TaskCursor, TaskFilter,
};
pub use agentsite_tasks::{
    AskedTask, CheckReport, CheckVerdict, Recovery, Sent, Submission, TaskError, TaskFigures, TaskGraph,
    TaskWatch, Tasks, Worker, WorkerView, Workers,
};
pub use audit::verify_heads;
pub use error::SiteError;
pub use identity::IdentityView;
pub use keys::{KEY_PREFIX, NewKey, Session, SignedIn};
pub use local_agents::{AgentView, BrokenAgent};
pub use push::{DeliveryView, PushSection};
pub use queries::{QueryMatch, SavedQuery};
pub use retention::RetentionSection;
pub use settings::{ClusterSection, MeshParts, ProcessSettings, SiteSection, SiteSettings};
pub use site::{
    AgentLogins, Agents, ApiKeys, Cards, ConnectedAgent, ConnectedAgents, Deliveries, Matches, Operations,
    PeerAgents, ProcessStatus, QueryWatch, SavedQueries, Search, SearchStatus, Site, SiteRegistry,
    StatusReport, ToolOutcome, ToolTask, ToolTaskState, ToolTasks, Toolkit, ToolkitError, UsageDay,
    UsageFigures, UsageReport,
};
pub use tokens::{OauthSection, TokenIssuer};
pub use world::{SystemClock, SystemRng, World};

/// Reads any bytes as what a registry is handed by others, for the fuzzer.
#[doc(hidden)]
pub fn fuzz_registry_draft(bytes: &[u8]) {
    agentsite_registry::fuzz(bytes);
}
