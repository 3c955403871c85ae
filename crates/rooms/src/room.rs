//! Rooms: people and agents who work on something together, in one ordered log.
//!
//! Promises: a message is on disk with its number before its sender is answered, and the same message again
//! is the same event. A caller sends in its own name only; a room that the caller does not belong to answers
//! like one that does not exist. What is possible is decided by `agentsite_protocol::room`; here is what
//! acts: the log (`log`), the verbs (`handle`, `post`, `read`, `link`), the calls of agents (`call`,
//! `answer`) and the deadlines (`work`). A slow reader or a dead agent delays no other member: everybody
//! reads from a cursor, and agents are called by tasks of their own.
//!
//! It has no faces and does not reach other sites yet.

mod address;
mod answer;
mod call;
mod error;
mod export;
mod feed;
mod handle;
mod hook;
mod kinds;
mod link;
mod log;
mod post;
mod read;
mod transcript;
mod view;
mod work;

#[cfg(test)]
mod tests;

pub use error::RoomError;
pub use export::{RoomExport, RoomExportFormat};
pub use handle::{MAX_ROOMS, NewRoom, RoomParts, Rooms};
pub use hook::RoomAnswers;
pub use link::RoomLink;
pub use post::Posted;
pub use read::{RoomPage, RoomWatch};
pub use view::{FloorView, MemberView, RoomView};
pub use work::{answers_capability, rooms_capability};
