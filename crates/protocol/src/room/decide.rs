//! Which message is possible in which state, and what follows from it: T1 to T13 of ioa.md 7.3.
//!
//! Promises: pure; either one event or a refusal that says why and what to do. Every verb is checked against
//! the role of its sender; caps, budgets and deadlines refuse, they are never only asked for. Identity is not
//! checked here: the caller has proven that the sender sent the message.

mod conclude;
mod draft;
mod membership;
mod tasks;
mod tick;
mod turn;
mod vote;

use self::draft::Draft;
use super::{
    BadEnvelope, BadSettings, Envelope, MemberId, MemberKind, MemberRole, MessageType, Room, RoomBudget,
    RoomEffect, RoomEvent, RoomMember, RoomSettings, RoomState, RoomVerb,
};
use crate::{MessageId, RoomId, Timestamp};

/// A message with what its receiver knows about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Posting {
    /// The message.
    pub envelope: Envelope,
    /// What it cost, as the site measured it.
    pub cost: Option<RoomBudget>,
    /// That the sender may join, by a link that the site has checked.
    pub admission: Option<RoomAdmission>,
}

impl From<Envelope> for Posting {
    fn from(envelope: Envelope) -> Self {
        Self { envelope, cost: None, admission: None }
    }
}

/// As what a member joins by a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomAdmission {
    /// What it is.
    pub kind: MemberKind,
    /// In which role.
    pub role: MemberRole,
}

/// Why a message is not possible now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoomRefusal {
    /// Sent to another room.
    #[error("the message names another room: {0}")]
    OtherRoom(RoomId),
    /// Not a member.
    #[error("not a member of this room: ask a member for an invitation")]
    NotMember,
    /// The role does not permit it.
    #[error("the role {} may not {}: ask an owner of the room", .0.word(), .1.phrase())]
    NotAllowed(MemberRole, RoomVerb),
    /// The room has ended.
    #[error("the room is {}: reopen it to continue", .0)]
    Ended(RoomState),
    /// The room has not ended.
    #[error("the room is {}: only a room that has ended can be reopened", .0)]
    NotEnded(RoomState),
    /// Not possible in this state.
    #[error("the room is {}: wait until the discussion continues", .0)]
    Busy(RoomState),
    /// Another member has the floor.
    #[error("{0} has the floor: wait for your turn")]
    NoFloor(MemberId),
    /// A cap or budget is used up.
    #[error("the {0} of the room are used up: conclude, or ask an owner to raise the limit")]
    Exhausted(&'static str),
    /// A member that is named is not in the room.
    #[error("{0} is not a member of this room who can take part: invite it first")]
    UnknownMember(MemberId),
    /// A member is already in the room.
    #[error("{0} is already a member or invited")]
    AlreadyMember(MemberId),
    /// The last owner cannot give up the room.
    #[error("a room needs an owner: make another member an owner first")]
    LastOwner,
    /// The room is full.
    #[error("the room has its largest number of {0}: {1}")]
    Full(&'static str, usize),
    /// No such task, or not the sender's.
    #[error("no open task {0} of yours in this room")]
    UnknownTask(MessageId),
    /// The id is in use.
    #[error("the room already has an open task {0}: choose another task_id")]
    TaskExists(MessageId),
    /// Two members would wait for each other.
    #[error("{0} waits for you, directly or through others: assign the task as detached")]
    Cycle(MemberId),
    /// Nothing to wait for.
    #[error("none of the triggers is pending: continue the discussion instead of pausing")]
    NothingPending,
    /// No vote of this id.
    #[error("no open vote {0} in this room")]
    NoVote(MessageId),
    /// A vote is open already.
    #[error("a vote is open: wait until it is closed")]
    VoteOpen,
    /// Not an option of the vote.
    #[error("`{0}` is not an option of this vote")]
    NoOption(String),
    /// Tasks hold up the conclusion.
    #[error("{0} tasks are still awaited: wait for them, or conclude with `force` as an owner")]
    OpenTasks(usize),
    /// Nearly the same was said before.
    #[error("you said nearly the same before: say something new, or pause until a task is done")]
    Repeated,
    /// Two agents only answer each other.
    #[error("only two agents have talked for {0} messages: involve another member, assign, vote or conclude")]
    Loop(u16),
    /// Agents have addressed agents too often in a row.
    #[error("agents have addressed agents {0} times in a row: wait for a person, or conclude")]
    Depth(u16),
    /// The rules cannot be taken.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// The message is not well-formed.
    #[error(transparent)]
    Envelope(#[from] BadEnvelope),
}

impl Room {
    /// Opens a room with a message of type `created`, whose sender becomes its owner.
    ///
    /// # Errors
    /// [`RoomRefusal`] when the rules or the message cannot be taken.
    pub fn create(
        envelope: Envelope,
        kind: MemberKind,
        title: &str,
        settings: RoomSettings,
        now: Timestamp,
    ) -> Result<RoomEvent, RoomRefusal> {
        envelope.check()?;
        settings.check()?;
        let creator = envelope.sender_id.clone();
        let mut effects = vec![
            RoomEffect::Opened { title: title.to_owned(), settings: Box::new(settings) },
            RoomEffect::Joined { member: creator.clone(), kind, role: MemberRole::Owner },
        ];
        let mut event = RoomEvent {
            room: envelope.group_id,
            seq: 1,
            at: now,
            state: RoomState::Forming,
            envelope,
            effects: effects.clone(),
        };
        let room = Self::open(&event).expect("an opening opens a room");
        let mut draft = Draft::of(&room, now);
        draft.form();
        effects.extend(draft.effects);
        event.effects = effects;
        event.state = draft.room.state();
        Ok(event)
    }

    /// Decides what follows from a message. Apply the event once it is on disk.
    ///
    /// # Errors
    /// [`RoomRefusal`] when the message is not possible; nothing has changed then.
    pub fn decide(&self, posting: Posting, now: Timestamp) -> Result<RoomEvent, RoomRefusal> {
        let Posting { envelope, cost, admission } = posting;
        if envelope.group_id != self.id {
            return Err(RoomRefusal::OtherRoom(envelope.group_id));
        }
        envelope.check()?;
        if envelope.kind.is_of_site() {
            return Err(BadEnvelope::OfSite(envelope.kind.word().to_owned()).into());
        }
        let mut draft = Draft::of(self, now);
        match self.members.get(&envelope.sender_id) {
            Some(member) => self.post(&mut draft, &envelope, member, cost)?,
            None => self.arrive(&mut draft, &envelope, admission)?,
        }
        Ok(draft.finish(envelope))
    }

    /// What a member may send.
    fn post(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
        cost: Option<RoomBudget>,
    ) -> Result<(), RoomRefusal> {
        self.check_state(envelope)?;
        if let Some(unknown) = envelope.to.iter().chain(&envelope.mentions).find(|id| !self.can_act(id)) {
            return Err(RoomRefusal::UnknownMember(unknown.clone()));
        }
        if let Some(cost) = cost.filter(|cost| !cost.is_empty()) {
            draft.add(RoomEffect::Spent { cost });
        }
        match &envelope.kind {
            MessageType::Discuss | MessageType::Plan | MessageType::Other(_) => {
                self.say(draft, envelope, member)
            }
            MessageType::Assign => self.assign(draft, envelope, member),
            MessageType::Accept | MessageType::Decline if envelope.task_id.is_none() => {
                self.approve(draft, envelope)
            }
            MessageType::Accept => self.accept_task(draft, envelope),
            MessageType::Decline | MessageType::Result | MessageType::Fail => {
                self.answer_task(draft, envelope, cost.is_some())
            }
            MessageType::Progress => self.assigned(envelope).map(|_| ()),
            MessageType::Cancel => self.cancel_task(draft, envelope, member),
            MessageType::Pause => self.pause(draft, envelope, member),
            MessageType::Resume => self.resume(draft, envelope),
            MessageType::Vote => self.open_vote(draft, envelope, member),
            MessageType::Ballot => self.cast(draft, envelope, member),
            MessageType::Conclude => self.conclude(draft, envelope, member),
            MessageType::Interrupt => self.interrupt(draft, envelope, member),
            MessageType::React => require(member, RoomVerb::Send),
            MessageType::Join => Err(RoomRefusal::AlreadyMember(envelope.sender_id.clone())),
            _ => self.administer(draft, envelope, member),
        }
    }

    /// Verbs that change who takes part, by which rules, and whether the room is open.
    fn administer(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        match &envelope.kind {
            MessageType::RoomState => Self::configure(draft, envelope, member),
            MessageType::Invite => self.invite(draft, envelope, member),
            MessageType::Leave => {
                draft.depart(&envelope.sender_id, super::Departure::Left);
                Ok(())
            }
            MessageType::Remove => self.remove(draft, envelope, member),
            MessageType::Role => self.set_role(draft, envelope, member),
            MessageType::Close => Self::close(draft, envelope, member),
            MessageType::Abort => Self::abort(draft, envelope, member),
            MessageType::Reopen => self.reopen(draft, envelope, member),
            _ => Ok(()),
        }
    }

    /// What is possible before the room is formed and after it has ended.
    fn check_state(&self, envelope: &Envelope) -> Result<(), RoomRefusal> {
        use MessageType::{
            Abort, Accept, Close, Decline, Invite, Join, Leave, Remove, Reopen, Role, RoomState as Rules,
        };
        let state = self.state();
        let kind = &envelope.kind;
        match state {
            RoomState::Forming => match kind {
                Invite | Accept | Decline | Join | Leave | Remove | Role | Rules | Abort | Close => Ok(()),
                Reopen => Err(RoomRefusal::NotEnded(state)),
                _ => Err(RoomRefusal::Busy(state)),
            },
            RoomState::Archived if *kind == Close => Err(RoomRefusal::Ended(state)),
            RoomState::Concluded | RoomState::Aborted | RoomState::Archived => match kind {
                Reopen | Leave | Remove | Close => Ok(()),
                _ => Err(RoomRefusal::Ended(state)),
            },
            _ if *kind == Reopen => Err(RoomRefusal::NotEnded(state)),
            _ => Ok(()),
        }
    }

    /// Whether a member is there and can take part.
    fn can_act(&self, id: &MemberId) -> bool {
        self.members.get(id).is_some_and(|member| member.role.may(RoomVerb::Send))
    }
}

/// Refuses a member whose role does not permit the verb.
fn require(member: &RoomMember, verb: RoomVerb) -> Result<(), RoomRefusal> {
    if member.role.may(verb) { Ok(()) } else { Err(RoomRefusal::NotAllowed(member.role, verb)) }
}
