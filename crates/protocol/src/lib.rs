//! The nouns of agentsite, their state machines and their wire forms.
//!
//! Promises: no IO, no async, no clock, no randomness. Everything here is a value or a pure function, so that
//! the same bytes and the same events always give the same result. Wire forms follow A2A 1.0 (ProtoJSON);
//! fields we do not know survive a round trip.
//!
//! It deliberately does not know HTTP, JSON-RPC codes, files or sockets.

#![forbid(unsafe_code)]

pub mod agent_session;
mod artifact;
mod caller;
mod canonical;
mod card;
mod challenge;
mod delivery;
mod did;
pub mod extension;
#[cfg(test)]
mod golden;
mod id;
mod journal;
mod key;
pub mod legacy;
pub mod listing;
pub mod mcp;
mod measure;
mod message;
mod money;
mod nesting;
mod presence;
mod principal;
pub mod proto;
mod pseudonym;
mod push;
mod query;
pub mod room;
mod rotation;
mod signature;
mod site_token;
mod statement;
mod task;
mod time;
mod token;
mod trace;
mod usage;
mod world;

pub use artifact::Artifact;
pub use caller::{Caller, Scope, UnknownScope};
pub use canonical::{NoCanonicalForm, canonical_json, read_unambiguous};
pub use card::{
    AgentCapabilities, AgentCard, AgentInterface, AgentProvider, Skill, UnknownVisibility, Visibility,
};
pub use challenge::{answer_challenge, verify_challenge};
pub use delivery::{Delivery, DeliveryProof};
pub use did::{did_web, did_web_keys, did_web_place};
pub use extension::AgentExtension;
pub use id::{
    AgentInstance, AgentName, BadName, ContextId, ConversationId, IdTooLong, KeyId, MAX_FOREIGN_ID, MAX_NAME,
    MessageId, RESERVED_PREFIXES, ReservedName, RoomId, TaskId,
};
pub use journal::{JournalKind, JournalLine, JournalSubject};
pub use key::{Algorithm, BadKey, PublicKey, SigningKey};
pub use measure::{BadMeasure, ByteSize, Period};
pub use message::{BadMessage, Message, Part, Role, TextKind};
pub use money::{Asset, BadMoney, MAX_CODE, MAX_DECIMALS, Money};
pub use nesting::{Nesting, TooNested};
pub use principal::{Principal, PrincipalKind, UnknownPrincipal, account_of};
pub use pseudonym::{BadPseudonym, Pseudonym};
pub use push::{BadPushConfig, PushAuthentication, PushConfig};
pub use query::{
    BadQuery, DEFAULT_MATCHES, Filter, MAX_FILTER_VALUE, MAX_FILTER_VALUES, MAX_MATCHES, MAX_OFFSET,
    MAX_QUERY, Match, Query, Reach, Reason,
};
pub use rotation::{BadRotation, RotationRecord, follow_rotations};
pub use signature::{
    BadSignature, CardSignature, ProtectedHeader, sign_card, sign_card_as, sign_detached, verify_detached,
};
pub use site_token::{BadSiteToken, SITE_TOKEN_LEEWAY, SiteToken};
pub use statement::SIGNATURE_BYTES;
pub use task::{
    BadEvent, Command, MAX_EVENTS, Opening, Outcome, Refusal, Step, Task, TaskEvent, TaskEventKind, TaskHead,
    TaskState, TaskStatus, WireStreamItem, WireTask,
};
pub use time::Timestamp;
pub use token::{AccessToken, BadToken, Grant, TokenKeys};
pub use trace::TraceContext;
pub use usage::Usage;
pub use world::{Clock, Ids, Rng};

/// JSON object used for metadata and for fields of a newer protocol that we pass on unread.
pub type JsonMap = serde_json::Map<String, serde_json::Value>;
