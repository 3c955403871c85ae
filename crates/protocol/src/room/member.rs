//! Who takes part in a room, in which role, and what each role may do.
//!
//! Promises: an id is one written form, bounded and printable; authority is a pure function of role and verb,
//! and every verb is checked against it. Possession of an id is never authority: the caller of
//! [`super::Room::decide`] has proven who the sender is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentName, Principal};

/// Most members of a room, invitations included: the largest fan-out that is measured, twice.
pub const MAX_MEMBERS: usize = 2_000;

/// Longest written form: that of a principal, with a DID of a long host name.
const MAX_MEMBER_ID: usize = 512;

/// How the site of a room is written as a sender.
const SITE: &str = "site";

/// What the written form of an agent of the room's site begins with.
const AGENT: &str = "agent:";

/// An id that is empty, too long or not printable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a member's id must have 1 to {MAX_MEMBER_ID} characters, no spaces and no control characters")]
pub struct BadMemberId;

/// A member of a room: the written form of a principal of its site, or a DID of a member elsewhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemberId(Arc<str>);

impl MemberId {
    /// The site of the room, which writes what happens by itself.
    #[must_use]
    pub fn site() -> Self {
        Self(SITE.into())
    }

    /// An agent of the room's site.
    #[must_use]
    pub fn agent(name: &AgentName) -> Self {
        Self(format!("{AGENT}{name}").into())
    }

    /// The agent of the room's site that this is.
    #[must_use]
    pub fn agent_name(&self) -> Option<AgentName> {
        self.0.strip_prefix(AGENT)?.parse().ok()
    }

    /// Whether this is the site of the room.
    #[must_use]
    pub fn is_site(&self) -> bool {
        &*self.0 == SITE
    }

    /// The written form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Principal> for MemberId {
    fn from(principal: &Principal) -> Self {
        // Older sites wrote admins in another form; all admins are one member.
        Self(if principal.is_admin() { "admin".into() } else { principal.as_str().into() })
    }
}

impl FromStr for MemberId {
    type Err = BadMemberId;

    fn from_str(text: &str) -> Result<Self, BadMemberId> {
        let sized = !text.is_empty() && text.len() <= MAX_MEMBER_ID;
        let plain = !text.contains(|letter: char| letter.is_control() || letter.is_whitespace());
        if sized && plain { Ok(Self(text.into())) } else { Err(BadMemberId) }
    }
}

impl TryFrom<String> for MemberId {
    type Error = BadMemberId;

    fn try_from(text: String) -> Result<Self, BadMemberId> {
        text.parse()
    }
}

impl From<MemberId> for String {
    fn from(id: MemberId) -> Self {
        id.0.as_ref().into()
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for MemberId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberKind {
    /// A person, or a program that acts for one.
    #[default]
    Person,
    /// An agent: caps, budgets and guards apply to it.
    Agent,
}

/// What a member may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberRole {
    /// Everything.
    Owner,
    /// A person who may take the floor at any time and end the room.
    Human,
    /// Takes part.
    #[default]
    Member,
    /// Reads.
    Observer,
}

/// What a role is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomVerb {
    /// Read messages and members.
    Read,
    /// Send messages, take turns, answer for tasks.
    Send,
    /// Open votes and cast ballots.
    Vote,
    /// Give tasks.
    Assign,
    /// Propose the answer.
    Conclude,
    /// Take the floor from others.
    Interrupt,
    /// Invite members.
    Invite,
    /// Remove members.
    Remove,
    /// Change roles.
    SetRole,
    /// Change title, goal and rules.
    Configure,
    /// Cancel tasks of others.
    Cancel,
    /// End the room without an answer.
    Abort,
    /// Close the room.
    Close,
    /// Continue a room that has an answer.
    Reopen,
    /// Continue a room that is closed or was ended.
    Restore,
}

impl RoomVerb {
    /// Every verb.
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::Send,
        Self::Vote,
        Self::Assign,
        Self::Conclude,
        Self::Interrupt,
        Self::Invite,
        Self::Remove,
        Self::SetRole,
        Self::Configure,
        Self::Cancel,
        Self::Abort,
        Self::Close,
        Self::Reopen,
        Self::Restore,
    ];

    /// What the verb does, for a refusal.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Send => "send messages",
            Self::Vote => "vote",
            Self::Assign => "assign tasks",
            Self::Conclude => "conclude",
            Self::Interrupt => "interrupt",
            Self::Invite => "invite members",
            Self::Remove => "remove members",
            Self::SetRole => "change roles",
            Self::Configure => "change the rules of the room",
            Self::Cancel => "cancel tasks of others",
            Self::Abort => "end the room",
            Self::Close => "close the room",
            Self::Reopen => "reopen the room",
            Self::Restore => "reopen a closed room",
        }
    }
}

impl MemberRole {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Human, Self::Member, Self::Observer];

    /// Whether this role may do this.
    #[must_use]
    pub const fn may(self, verb: RoomVerb) -> bool {
        use RoomVerb::{Abort, Assign, Cancel, Conclude, Interrupt, Invite, Read, Reopen, Send, Vote};
        match self {
            Self::Owner => true,
            Self::Human => matches!(
                verb,
                Read | Send | Vote | Assign | Conclude | Interrupt | Invite | Cancel | Abort | Reopen
            ),
            Self::Member => matches!(verb, Read | Send | Vote | Assign | Conclude | Reopen),
            Self::Observer => matches!(verb, Read),
        }
    }

    /// The word of the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Human => "human",
            Self::Member => "member",
            Self::Observer => "observer",
        }
    }
}

/// A member that has joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomMember {
    /// What it is.
    pub kind: MemberKind,
    /// What it may do.
    pub role: MemberRole,
    /// The number of the event with which it joined; it reads from there on, unless the history is open.
    pub joined: u64,
}

impl RoomMember {
    /// Whether caps, budgets and guards apply to it.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        self.kind == MemberKind::Agent
    }
}
