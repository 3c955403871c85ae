//! Conversations in memory: a map of them and a list of turns in the order in which they were said.
//!
//! Promises: all guards of a change are checked, one after the other as if those before were done, before
//! anything is written. It has no index: every search looks at everything.

use std::collections::BTreeMap;

use agentsite_protocol::{ConversationId, Principal, TaskId};

use super::MemStore;
use crate::conversation::{MAX_SIBLINGS, SEARCHED};
use crate::query::MAX_PAGE;
use crate::storage::fixed;
use crate::words::SearchPhrases;
use crate::{
    Conversation, ConversationChange, ConversationCursor, ConversationMatch, ConversationQuery,
    ConversationReads, Page, Reply, Spot, StoreError, Turn, TurnPosition,
};

impl ConversationReads for MemStore {
    fn conversation(&self, id: ConversationId) -> Reply<'_, Option<Conversation>> {
        self.reply(|content| content.conversations.get(id))
    }

    fn conversations(
        &self,
        query: ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Reply<'_, Page<ConversationMatch, ConversationCursor>> {
        self.reply(|content| content.conversations.list(&query, after, limit))
    }

    fn count_conversations(&self, owner: &Principal) -> Reply<'_, u64> {
        self.reply(|content| content.conversations.count(owner))
    }

    fn turn(&self, task: TaskId) -> Reply<'_, Option<Turn>> {
        self.reply(|content| content.conversations.turn(task))
    }

    fn path(&self, from: TaskId, limit: usize) -> Reply<'_, Vec<TurnPosition>> {
        self.reply(|content| content.conversations.path(from, limit))
    }

    fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<Turn>> {
        self.reply(|content| content.conversations.turns(id, after, limit))
    }

    fn leaf(&self, from: TaskId) -> Reply<'_, Option<TaskId>> {
        self.reply(|content| content.conversations.leaf(from))
    }
}

#[derive(Default)]
pub(super) struct Conversations {
    kept: BTreeMap<ConversationId, Conversation>,
    turns: Vec<Spoken>,
}

/// A turn with the words by which it is found.
struct Spoken {
    turn: Turn,
    question: String,
    answer: String,
    /// Bytes of the words that were ever counted for it.
    words: u64,
}

impl Conversations {
    /// Refuses changes that do not fit.
    pub(super) fn guard<'a>(
        &self,
        changes: impl Iterator<Item = &'a ConversationChange>,
    ) -> Result<(), StoreError> {
        let mut meanwhile: BTreeMap<ConversationId, Option<(&Principal, u64)>> = BTreeMap::new();
        for change in changes {
            let Some((id, owner, expected, stays)) = change.assumes() else { continue };
            let kept = || self.kept.get(&id).map(|kept| (&kept.owner, kept.revision));
            let found = meanwhile.get(&id).copied().unwrap_or_else(kept);
            if found.is_some_and(|(of, _)| of != owner) {
                return Err(StoreError::Foreign(id.to_string()));
            }
            let strange = |parent| self.turn(parent).is_none_or(|turn| turn.conversation != id);
            let lost =
                matches!(change, ConversationChange::Said { turn, .. } if turn.parent.is_some_and(strange));
            if lost || found.map_or(0, |(_, revision)| revision) != expected {
                return Err(StoreError::Moved(id.to_string()));
            }
            meanwhile.insert(id, stays.then_some((owner, expected + 1)));
        }
        Ok(())
    }

    /// Makes a change whose guard has been checked; gives the tasks that are no longer kept.
    pub(super) fn change(&mut self, change: ConversationChange) -> Vec<TaskId> {
        match change {
            ConversationChange::Put(new) => drop(self.kept.insert(new.id, *new)),
            ConversationChange::Said { conversation, turn, words } => {
                self.kept.insert(conversation.id, *conversation);
                let bytes = words.len() as u64;
                self.turns.push(Spoken { turn: *turn, question: words, answer: String::new(), words: bytes });
            }
            ConversationChange::Ended { task, words, at } => {
                let Some(spoken) = self.turns.iter_mut().find(|spoken| spoken.turn.task == task) else {
                    return Vec::new();
                };
                spoken.words += words.len() as u64;
                spoken.answer = words;
                if let Some(kept) = self.kept.get_mut(&spoken.turn.conversation) {
                    kept.revision += 1;
                    kept.updated_at = kept.updated_at.max(at);
                }
            }
            ConversationChange::Remove { id, .. } => {
                self.kept.remove(&id);
                let (gone, left) = std::mem::take(&mut self.turns)
                    .into_iter()
                    .partition::<Vec<_>, _>(|spoken| spoken.turn.conversation == id);
                self.turns = left;
                return gone.into_iter().map(|spoken| spoken.turn.task).collect();
            }
        }
        Vec::new()
    }

    /// What each conversation and turn takes, by owner.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        let conversation = |kept: &Conversation| fixed::CONVERSATION + kept.title.len() as u64;
        let conversations = self.kept.values().map(move |kept| (kept.owner.as_str(), conversation(kept)));
        let turns = self.turns.iter().filter_map(|spoken| {
            let kept = self.kept.get(&spoken.turn.conversation)?;
            Some((kept.owner.as_str(), fixed::TURN + spoken.words))
        });
        conversations.chain(turns)
    }

    pub(super) fn get(&self, id: ConversationId) -> Option<Conversation> {
        self.kept.get(&id).cloned()
    }

    pub(super) fn list(
        &self,
        query: &ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Page<ConversationMatch, ConversationCursor> {
        let own = self.kept.values().filter(|kept| kept.owner == query.owner);
        let found = |kept: &Conversation| {
            let spot = match &query.text {
                None => None,
                Some(text) => Some(self.spot(kept, &SearchPhrases::read(text)?)?),
            };
            Some(ConversationMatch { conversation: kept.clone(), spot })
        };
        Page::of(own.filter_map(found).collect(), after, limit)
    }

    fn spot(&self, kept: &Conversation, wanted: &SearchPhrases) -> Option<Spot> {
        let turns = self.turns.iter().rev().filter(|spoken| spoken.turn.conversation == kept.id);
        let fits = |spoken: &Spoken| {
            let task = spoken.turn.task;
            let answer = wanted.fits(&spoken.answer).then_some(Spot::Answer(task));
            answer.or_else(|| wanted.fits(&spoken.question).then_some(Spot::Question(task)))
        };
        turns.take(SEARCHED).find_map(fits).or_else(|| wanted.fits(&kept.title).then_some(Spot::Title))
    }

    pub(super) fn count(&self, owner: &Principal) -> u64 {
        self.kept.values().filter(|kept| kept.owner == *owner).count() as u64
    }

    pub(super) fn turn(&self, task: TaskId) -> Option<Turn> {
        self.turns.iter().find(|spoken| spoken.turn.task == task).map(|spoken| spoken.turn.clone())
    }

    pub(super) fn path(&self, from: TaskId, limit: usize) -> Vec<TurnPosition> {
        let mut found = Vec::new();
        let mut next = self.turn(from);
        while let Some(turn) = next.take().filter(|_| found.len() < limit.clamp(1, MAX_PAGE)) {
            next = turn.parent.and_then(|parent| self.turn(parent));
            let beside = self.turns.iter().map(|spoken| &spoken.turn);
            let beside =
                beside.filter(|one| one.conversation == turn.conversation && one.parent == turn.parent);
            let siblings = beside.take(MAX_SIBLINGS).map(|one| one.task).collect();
            found.push(TurnPosition { turn, siblings });
        }
        found
    }

    pub(super) fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Vec<Turn> {
        let from = after.and_then(|task| self.turns.iter().position(|spoken| spoken.turn.task == task));
        let rest = self.turns.iter().skip(from.map_or(0, |at| at + 1)).map(|spoken| &spoken.turn);
        rest.filter(|turn| turn.conversation == id).take(limit.clamp(1, MAX_PAGE)).cloned().collect()
    }

    pub(super) fn leaf(&self, from: TaskId) -> Option<TaskId> {
        let mut leaf = self.turn(from)?.task;
        let child = |of: TaskId| self.turns.iter().rev().find(|spoken| spoken.turn.parent == Some(of));
        while let Some(child) = child(leaf) {
            leaf = child.turn.task;
        }
        Some(leaf)
    }
}
