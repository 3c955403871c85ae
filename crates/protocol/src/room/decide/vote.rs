//! Votes (T8).
//!
//! Promises: one ballot for each member, the last one counts; a vote closes when all have voted or at its
//! deadline, and a tie or too few ballots give no winner.

use super::draft::Draft;
use super::{RoomRefusal, require};
use crate::room::{BadEnvelope, Envelope, Room, RoomEffect, RoomMember, RoomSettings, RoomVerb};

impl Room {
    pub(super) fn open_vote(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Vote)?;
        let Some(vote) = &envelope.vote else { return Err(BadEnvelope::NoBlock("vote").into()) };
        if self.vote.is_some() || self.proposal.is_some() {
            return Err(RoomRefusal::VoteOpen);
        }
        self.check_turn(envelope, member)?;
        let quorum = vote.quorum.unwrap_or(1).max(1);
        if usize::from(quorum) > self.voters() {
            return Err(BadEnvelope::Value("quorum", "is more than the members who may vote").into());
        }
        draft.turn(member);
        draft.add(RoomEffect::VoteOpened {
            proposal: vote.proposal_id.clone(),
            by: envelope.sender_id.clone(),
            options: vote.options.clone(),
            quorum,
            deadline: RoomSettings::bounded(vote.closes_at, self.settings.vote_ms, draft.now),
        });
        Ok(())
    }

    pub(super) fn cast(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Vote)?;
        let Some(ballot) = &envelope.ballot else { return Err(BadEnvelope::NoBlock("ballot").into()) };
        let open = self.vote.as_ref().filter(|vote| vote.proposal == ballot.proposal_id);
        let vote = open.ok_or_else(|| RoomRefusal::NoVote(ballot.proposal_id.clone()))?;
        let place = vote.options.iter().position(|option| *option == ballot.option);
        let option = place.and_then(|place| u16::try_from(place).ok());
        let option = option.ok_or_else(|| RoomRefusal::NoOption(ballot.option.clone()))?;
        draft.add(RoomEffect::Voted { member: envelope.sender_id.clone(), option });
        draft.close_complete_vote();
        Ok(())
    }

    /// How many members may vote.
    fn voters(&self) -> usize {
        self.members.values().filter(|member| member.role.may(RoomVerb::Vote)).count()
    }
}

impl Draft {
    /// Closes the vote when all have voted.
    pub(super) fn close_complete_vote(&mut self) {
        if self.room.vote.as_ref().is_some_and(|vote| vote.ballots.len() >= self.room.voters()) {
            self.close_vote();
        }
    }

    /// Closes the vote; its proposer gets the floor.
    pub(super) fn close_vote(&mut self) {
        let Some(vote) = self.room.vote.clone() else { return };
        let mut tally = vec![0_u16; vote.options.len()];
        for option in vote.ballots.values() {
            if let Some(count) = tally.get_mut(usize::from(*option)) {
                *count += 1;
            }
        }
        let most = tally.iter().copied().max().unwrap_or(0);
        let mut leading = tally.iter().zip(&vote.options).filter(|(count, _)| **count == most);
        let winner = leading.next().map(|(_, option)| option.clone());
        let decided = vote.ballots.len() >= usize::from(vote.quorum) && leading.next().is_none();
        self.add(RoomEffect::VoteClosed {
            proposal: vote.proposal,
            winner: winner.filter(|_| decided && most > 0),
            tally,
        });
        self.give_floor(Some(vote.by));
    }
}
