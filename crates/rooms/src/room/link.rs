//! Links: how a person joins a room without an invitation.
//!
//! Promises: a link is a secret of 128 bits that is stored as its hash only, names the role it gives, and
//! ends by itself. The link alone lets nobody in who is not known to the site.

use std::time::Duration;

use agentsite_protocol::room::{MemberKind, MemberRole, MessageType, RoomAdmission, RoomVerb};
use agentsite_protocol::{Caller, JournalLine, JournalSubject, RoomId, Timestamp};
use agentsite_store::{Change, Collection};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::RoomError;
use super::handle::{Rooms, member};
use super::kinds;
use super::view::RoomView;

/// Where links are kept.
pub(crate) const LINKS: Collection<StoredLink> = Collection::new("room-links");

/// How long a link holds when nothing else is said.
const TTL: Duration = Duration::from_hours(7 * 24);

/// Longest time of a link.
const MAX_TTL: Duration = Duration::from_hours(90 * 24);

/// A link into a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoomLink {
    /// The secret that the link contains.
    pub token: String,
    /// The room.
    pub room: String,
    /// The role that it gives.
    pub role: MemberRole,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A link as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredLink {
    room: String,
    role: MemberRole,
    expires_at: Timestamp,
}

impl Rooms {
    /// Makes a link with which others who are known to the site join.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`], [`RoomError::Refused`] for members who may not invite.
    pub async fn link(
        &self,
        caller: &Caller,
        id: RoomId,
        role: MemberRole,
        ttl: Option<Duration>,
    ) -> Result<RoomLink, RoomError> {
        let (me, joined, _) = self.joined(caller, id).await?;
        let verb = if role == MemberRole::Owner { RoomVerb::SetRole } else { RoomVerb::Invite };
        if !joined.role.may(verb) {
            return Err(agentsite_protocol::room::RoomRefusal::NotAllowed(joined.role, verb).into());
        }
        let now = self.0.ids.clock().now();
        let expires_at = now.plus(ttl.unwrap_or(TTL).min(MAX_TTL));
        let token: String = self.0.ids.rng().bytes16().iter().map(|byte| format!("{byte:02x}")).collect();
        let stored = StoredLink { room: id.to_string(), role, expires_at };
        let put = LINKS.put(&digest(&token), Some(caller.owner()), 0, &stored)?.ending(expires_at);
        let line = JournalLine::new(kinds::LINKED, now, me.as_str(), "made a link into the room")
            .about(JournalSubject::Other(format!("room:{id}")));
        self.0.store.commit(Change::new(line).edit(put)).await?;
        Ok(RoomLink { token, room: id.to_string(), role, expires_at })
    }

    /// Joins a room by a link. A member that is there already stays as it is.
    ///
    /// # Errors
    /// [`RoomError::BadLink`], [`RoomError::Refused`].
    pub async fn join(&self, caller: &Caller, token: &str) -> Result<RoomView, RoomError> {
        let me = member(caller)?;
        let link = LINKS.get(&self.0.store, &digest(token)).await?.ok_or(RoomError::BadLink)?.value;
        let room: RoomId = link.room.parse().map_err(|_| RoomError::BadLink)?;
        if link.expires_at <= self.0.ids.clock().now() {
            return Err(RoomError::BadLink);
        }
        if self.0.logs.get(room).await?.room.member(&me).is_none() {
            let joining = self.envelope(room, &me, MessageType::Join);
            let admission = RoomAdmission { kind: MemberKind::Person, role: link.role };
            Box::pin(self.append(joining, None, Some(admission))).await?;
        }
        self.get(caller, room).await
    }
}

fn digest(token: &str) -> String {
    Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
