//! Room: people and agents who work on something together, as a pure state machine over one ordered log.
//!
//! Promises: a room is the fold of its events, which are numbered 1, 2, 3, …; the same events always give the
//! same room. [`Room::decide`] turns a message of a member into events or a refusal and changes nothing;
//! [`Room::tick`] does the same for the passing of time; [`Room::apply`] folds an event. Members decide what
//! happens, the room checks it: floor, awaited tasks, pauses, votes, caps and deadlines. A room that has not
//! ended always names the deadline at which it continues without its members ([`Room::next_deadline`]).
//!
//! The message form is envelope v1 ([`Envelope`]); other forms are read by [`adapter`]. It does not store,
//! send or call agents: `rooms` does, after the events are on disk.

pub mod adapter;
mod block;
mod budget;
mod chain;
mod deadline;
mod decide;
mod effect;
mod envelope;
mod fold;
mod guard;
mod limit;
mod member;
mod refusal;
mod schema;
mod seal;
mod settings;
mod state;
mod word;

#[cfg(test)]
mod tests;

pub use block::{
    AssignBlock, AssignMode, BallotBlock, CloseBlock, ConcludeBlock, DeclineBlock, EnvelopeSignature,
    FailBlock, InviteBlock, PauseBlock, PlanBlock, ProgressBlock, ReactBlock, RemoveBlock, ResultBlock,
    RoleBlock, RoomStateBlock, TimeoutAction, TriggerNeed, VoteBlock,
};
pub use budget::RoomBudget;
pub use chain::{ChainHash, content_ref};
pub use deadline::{DeadlineKind, RoomDeadline};
pub use decide::{Posting, RoomAdmission, RoomRefusal};
pub use effect::{AssignmentEnd, Departure, ResumeReason, RoomEffect, RoomEvent};
pub use envelope::{Envelope, Provenance};
pub use guard::similarity;
pub use member::{BadMemberId, MAX_MEMBERS, MemberId, MemberKind, MemberRole, RoomMember, RoomVerb};
pub use refusal::{BadEnvelope, ENVELOPE_VERSION, MAX_ENVELOPE};
pub use schema::envelope_schema;
pub use seal::ROOM_EVENT_DOMAIN;
pub use settings::{BadSettings, FloorPolicy, HistoryAccess, ReplyMode, RoomSettings};
pub use state::{BadRoomEvent, Floor, Invitation, MAX_OPEN_TASKS, Room, RoomPause, RoomTask, RoomVote};
pub use word::{MessageType, RoomState, StateWord};
