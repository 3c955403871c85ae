//! What can be read from a store, one trait for each capability.
//!
//! Promises: a trait has at most eight methods, in a file of its own, and each engine implements it in a file
//! of its own. A capability with modest data needs no trait: it keeps records. Writing is not here:
//! everything is written by [`Store::commit`](crate::Store::commit).

mod changes;
mod conversations;
mod deliveries;
mod journal;
mod keys;
mod listings;
mod processes;
mod records;
mod rooms;
mod tasks;
mod upkeep;

pub use changes::ChangeReads;
pub use conversations::ConversationReads;
pub use deliveries::DeliveryReads;
pub use journal::JournalReads;
pub use keys::KeyReads;
pub use listings::ListingReads;
pub use processes::ProcessReads;
pub use records::RecordReads;
pub use rooms::RoomReads;
pub use tasks::TaskReads;
pub use upkeep::Upkeep;
