//! How a room looks to its members.
//!
//! Promises: values only, made from the room and its head; the words of messages are not in them.

use std::collections::BTreeMap;

use agentsite_protocol::Timestamp;
use agentsite_protocol::room::{MemberKind, MemberRole, Room, RoomBudget, RoomSettings, RoomState};
use agentsite_store::{RoomHead, RoomMemberRow};
use serde::Serialize;

/// A member of a room.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// Who.
    pub id: String,
    /// What it is.
    pub kind: MemberKind,
    /// What it may do.
    pub role: MemberRole,
    /// Whether it has joined; otherwise it is invited.
    pub joined: bool,
    /// The last event that was delivered to it.
    pub delivered: u64,
    /// The last event that it has processed.
    pub processed: u64,
}

/// Who may speak.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FloorView {
    /// The holder; none leaves it to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

/// A room.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomView {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it is in its course.
    pub state: RoomState,
    /// Number of its last event.
    pub seq: u64,
    /// Number of the first event that is kept.
    pub first: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last event was taken.
    pub updated_at: Timestamp,
    /// When it continues without its members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The answer, or what it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// Its rules; not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RoomSettings>,
    /// Who may speak; not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorView>,
    /// Who takes part; not in lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberView>,
    /// What was spent since it was opened.
    #[serde(skip_serializing_if = "RoomBudget::is_empty")]
    pub spent: RoomBudget,
    /// Turns of agents since it was opened.
    pub turns: u32,
}

impl RoomView {
    /// A room as lists have it.
    pub(crate) fn listed(head: &RoomHead) -> Self {
        Self {
            id: head.id.to_string(),
            title: head.title.clone(),
            state: head.state,
            seq: head.seq,
            first: head.first,
            created_at: head.created_at,
            updated_at: head.updated_at,
            deadline: head.deadline,
            conclusion: None,
            rules: None,
            floor: None,
            members: Vec::new(),
            spent: RoomBudget::default(),
            turns: 0,
        }
    }

    /// A room with everything but its messages.
    pub(crate) fn of(room: &Room, head: &RoomHead, cursors: &[RoomMemberRow]) -> Self {
        let read: BTreeMap<&str, (u64, u64)> =
            cursors.iter().map(|row| (row.member.as_str(), (row.delivered, row.processed))).collect();
        let view = |id: &str, kind, role, joined| {
            let (delivered, processed) = read.get(id).copied().unwrap_or_default();
            MemberView { id: id.to_owned(), kind, role, joined, delivered, processed }
        };
        let members =
            room.members.iter().map(|(id, member)| view(id.as_str(), member.kind, member.role, true));
        let invited = room.invitations.iter().map(|(id, one)| view(id.as_str(), one.kind, one.role, false));
        let holder = room.floor.holder.as_ref().map(ToString::to_string);
        Self {
            conclusion: room.conclusion.clone(),
            rules: Some((*room.settings).clone()),
            floor: Some(FloorView { holder, since: room.floor.since }),
            members: members.chain(invited).collect(),
            spent: room.spent,
            turns: room.turns,
            ..Self::listed(head)
        }
    }
}
