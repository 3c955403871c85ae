//! What happens when a deadline passes (T5, T7, T8, T10, T13).
//!
//! Promises: every deadline that [`Room::next_deadline`] names is gone or later afterwards, so that ticking
//! at each of them ends every room that its members have left alone.

use super::draft::Draft;
use crate::room::{
    AssignmentEnd, DeadlineKind, Envelope, FloorPolicy, MemberId, MessageType, ResumeReason, Room,
    RoomEffect, RoomEvent, TimeoutAction,
};
use crate::{MessageId, Part, Timestamp};

/// Most events of one tick: the rest follows with the next, so that one room does not hold up others.
const MAX_EXPIRED: usize = 64;

impl Room {
    /// What follows from the passing of time, in order; nothing when no deadline has passed.
    #[must_use]
    pub fn tick(&self, now: Timestamp) -> Vec<RoomEvent> {
        let mut room = self.clone();
        let mut events = Vec::new();
        while events.len() < MAX_EXPIRED {
            let Some(due) = room.next_deadline().filter(|due| due.at <= now) else { break };
            let event = room.expire(&due.what, now);
            room.apply(&event).expect("a decided event is the next one");
            events.push(event);
        }
        events
    }

    /// The event that tells members that everything before `first` is no longer kept.
    #[must_use]
    pub fn release(&self, first: u64, now: Timestamp) -> RoomEvent {
        let said = format!("Messages before number {first} are no longer kept.");
        let mut envelope = self.notice(said, now);
        envelope.kind = MessageType::Gap;
        envelope.extra.insert("first".into(), first.into());
        Draft::of(self, now).finish(envelope)
    }

    fn expire(&self, what: &DeadlineKind, now: Timestamp) -> RoomEvent {
        let mut draft = Draft::of(self, now);
        let said = match what {
            DeadlineKind::Room => draft.end_by("The deadline of the room has passed."),
            DeadlineKind::Forming => draft.end_by("Not enough members joined in time."),
            DeadlineKind::Exhausted => {
                draft.end_by(&format!("The {} of the room are used up.", self.exhausted().unwrap_or("turns")))
            }
            DeadlineKind::Idle => {
                let summary = "The room was silent for a long time.".to_owned();
                draft.add(RoomEffect::Archived { summary: summary.clone() });
                summary
            }
            DeadlineKind::Invitation(member) => {
                draft.add(RoomEffect::Uninvited { member: member.clone() });
                format!("The invitation of {member} has expired.")
            }
            DeadlineKind::Offer(task) => draft.expire_offer(task),
            DeadlineKind::Task(task) => {
                draft.end_task(task, AssignmentEnd::Expired);
                format!("Task {task} was not done in time.")
            }
            DeadlineKind::Pause(member) => draft.expire_pause(member),
            DeadlineKind::Vote => {
                draft.close_vote();
                "The vote is closed.".to_owned()
            }
            DeadlineKind::Approval => {
                let by = self.proposal.as_ref().map(|proposal| proposal.by.clone());
                draft.add(RoomEffect::Unapproved);
                draft.give_floor(by);
                "The conclusion was not approved in time.".to_owned()
            }
            DeadlineKind::Silence => draft.expire_silence(),
        };
        draft.finish(self.notice(said, now))
    }

    /// A message of the site of the room.
    fn notice(&self, said: String, now: Timestamp) -> Envelope {
        let id: MessageId =
            format!("{}:{}", self.id, self.seq + 1).parse().expect("a room and a number are a short id");
        let mut envelope = Envelope::new(id, self.id, MemberId::site(), MessageType::Expired, now);
        envelope.content = vec![Part::text(said)];
        envelope
    }
}

impl Draft {
    fn end_by(&mut self, reason: &str) -> String {
        self.add(RoomEffect::Aborted { reason: reason.to_owned() });
        reason.to_owned()
    }

    fn expire_offer(&mut self, task: &MessageId) -> String {
        let silent = self.room.tasks.get(task).map(|task| {
            let open = task.pending.iter().filter(|(_, accepted)| !**accepted);
            open.map(|(member, _)| member.clone()).collect::<Vec<_>>()
        });
        for member in silent.unwrap_or_default() {
            self.end_assignment(task, &member, AssignmentEnd::Expired);
        }
        format!("Task {task} was not accepted in time.")
    }

    fn expire_pause(&mut self, member: &MemberId) -> String {
        let ends = self.room.pauses.get(member).is_some_and(|pause| pause.on_timeout == TimeoutAction::Abort);
        if ends {
            return self.end_by("A pause ended without its triggers.");
        }
        self.add(RoomEffect::Resumed { member: member.clone(), why: ResumeReason::Expired });
        self.give_floor(Some(member.clone()));
        format!("The pause of {member} is over.")
    }

    /// Offers the floor again, then to the next member, and once all were silent to everybody.
    fn expire_silence(&mut self) -> String {
        let Some(holder) = self.room.floor.holder.clone() else { return String::new() };
        if !self.room.floor.reoffered {
            self.add(RoomEffect::Reoffered);
            return format!("{holder} has the floor.");
        }
        self.add(RoomEffect::Missed);
        let all_silent = self.room.floor.missed as usize >= self.room.speakers().len();
        let moderator = self.room.settings.moderator.clone().filter(|id| *id != holder);
        let next = match self.room.settings.floor {
            _ if all_silent => None,
            FloorPolicy::Free => None,
            FloorPolicy::Moderator => moderator,
            FloorPolicy::RoundRobin => self.after(&holder).filter(|next| *next != holder),
        };
        let said = match &next {
            Some(next) => format!("{holder} was silent; {next} has the floor."),
            None => format!("{holder} was silent; everybody may speak."),
        };
        self.give_floor(next);
        said
    }

    /// Takes from a member what others would wait for.
    pub(super) fn relieve(&mut self, member: &MemberId) {
        let taken: Vec<MessageId> = self
            .room
            .tasks
            .iter()
            .filter(|(_, task)| task.pending.contains_key(member))
            .map(|(id, _)| id.clone())
            .collect();
        for task in taken {
            self.end_assignment(&task, member, AssignmentEnd::Left);
        }
        if self.room.floor.holder.as_ref() == Some(member) {
            self.pass_floor(member, &[]);
        }
        self.close_complete_vote();
        self.conclude_approved();
    }
}
