//! The handle for conversations: begin, say, list, read, change, follow, export, delete.
//!
//! Promises: a conversation is its owner's alone, and a foreign one answers like none, also to admins. What
//! was said is on disk with its task before the verb answers; the task then runs by itself. Two changes of
//! the same conversation at once both succeed, one after the other, unless one of them insists on the
//! revision that it read. Anonymous callers have no conversations.

mod export;
mod follow;

use std::collections::HashMap;
use std::sync::Arc;

use agentsite_protocol::{
    AgentName, Caller, ContextId, ConversationId, Ids, JournalKind, JournalLine, JournalSubject, Message,
    Part, Role, Task, TaskId,
};
use agentsite_store::{
    Change, Conversation, ConversationChange, ConversationCursor, ConversationMatch, ConversationQuery, Page,
    SharedStore, Spot, StoreError, TaskHistory, Turn, TurnPosition,
};

use super::MAX_PAGE;
use super::intake::MessageIntake;
use crate::conversations::export::ExportFormat;
use crate::conversations::passage::passage;
use crate::conversations::{
    ConversationEdit, ConversationView, Feed, FeedChange, MAX_CONVERSATIONS, MAX_SEARCH, MAX_TURNS, NewTurn,
    Passage, Placing, STARTED, TurnView, Utterance, decide,
};
use crate::hub::Hub;
use crate::retention::Expirer;
use crate::{SiteError, Submission, kinds};
use agentsite_tasks::{Origin, REMEMBERED, TaskRequest, Tasks};
pub use export::ConversationExport;
pub use follow::ConversationWatch;
use follow::event;

/// How often a change is decided anew when others changed the conversation meanwhile; people are few and
/// slow.
const TRIES: usize = 16;

/// Events that are read at once for a page of turns: those of fifty long answers. A page of longer ones is
/// read in several parts, so that memory stays bounded.
const EVENTS_AT_ONCE: usize = 20_000;

/// A page of the path of a conversation.
#[derive(Debug, Clone)]
pub struct TurnPage {
    /// The turns, oldest first.
    pub turns: Vec<TurnView>,
    /// The oldest turn of the page, when there are more before it.
    pub before: Option<TaskId>,
}

/// The conversations of a site's callers.
#[derive(Debug, Clone)]
pub struct Conversations {
    pub(super) store: SharedStore,
    pub(super) ids: Ids,
    pub(super) hub: Arc<Hub>,
    pub(super) intake: MessageIntake,
    pub(super) tasks: Tasks,
    pub(super) feed: Arc<Feed>,
    pub(super) expirer: Expirer,
    pub(super) concierge: AgentName,
}

impl Conversations {
    /// Begins a conversation with an agent, or with the concierge when none is named; with first words, it
    /// has its first turn at once.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], [`SiteError::TooManyConversations`]; what is wrong with the title or the
    /// words.
    pub async fn begin(
        &self,
        caller: &Caller,
        agent: Option<AgentName>,
        title: Option<String>,
        first: Option<Utterance>,
    ) -> Result<(ConversationView, Option<TurnView>), SiteError> {
        known(caller)?;
        let agent = agent.unwrap_or_else(|| self.concierge.clone());
        self.hub.visible(caller, &agent)?;
        let title = title.map(|title| decide::title(&title)).transpose()?;
        let count = self.store.count_conversations(caller.owner()).await?;
        if count >= MAX_CONVERSATIONS as u64 {
            return Err(SiteError::TooManyConversations(MAX_CONVERSATIONS));
        }
        let now = self.ids.clock().now();
        let new = Conversation {
            id: self.ids.conversation(),
            owner: caller.owner().clone(),
            named: title.is_some(),
            title: title.unwrap_or_else(|| decide::made_title(&[])),
            pinned: false,
            agent,
            created_at: now,
            updated_at: now,
            revision: 0,
            head: None,
            turns: 0,
        };
        if let Some(first) = first {
            let turn = self.add_turn(caller, new, &[], true, first).await?;
            let kept = self.own(caller, turn.turn.conversation).await?;
            return Ok((kept.into(), Some(self.turn_view(turn).await?)));
        }
        let new = Conversation { revision: 1, ..new };
        let line = self.line_about(&new, kinds::conversation::CREATED, "began a conversation".into());
        self.put(new.clone(), line).await?;
        Ok((new.into(), None))
    }

    /// Says something in a conversation: a new turn, whose task runs by itself, or an answer to what an agent
    /// asked back.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], [`SiteError::NoSuchTurn`], [`SiteError::NoSuchAgent`],
    /// [`SiteError::TooManyTurns`]; what is wrong with the words; what the agent refuses.
    pub async fn say(
        &self,
        caller: &Caller,
        id: ConversationId,
        said: Utterance,
    ) -> Result<TurnView, SiteError> {
        known(caller)?;
        if let Placing::Answering(turn) = said.placing {
            return self.answer(caller, id, turn, said).await;
        }
        for _ in 0..TRIES {
            let kept = self.own(caller, id).await?;
            let (parent, said) = self.placed(&kept, said.clone()).await?;
            let path = match parent {
                Some(parent) => self.path_in(id, parent, REMEMBERED).await?,
                None => Vec::new(),
            };
            let alone = match parent {
                None => kept.turns == 0,
                Some(parent) => kept.head == Some(parent) || self.store.leaf(parent).await? == Some(parent),
            };
            match self.add_turn(caller, kept, &path, alone, said).await {
                Err(SiteError::Store(StoreError::Moved(_))) => {}
                Ok(place) if place.turn.conversation != id => return Err(SiteError::IdReused),
                done => return self.turn_view(done?).await,
            }
        }
        Err(SiteError::ConversationMoved)
    }

    /// The turn after which something is said, and what is said with what it takes from the turn it stands
    /// beside.
    async fn placed(
        &self,
        kept: &Conversation,
        mut said: Utterance,
    ) -> Result<(Option<TaskId>, Utterance), SiteError> {
        let beside = match said.placing {
            Placing::Last | Placing::Answering(_) => return Ok((kept.head, said)),
            Placing::After(turn) => return Ok((Some(turn), said)),
            Placing::Instead(turn) => self.turn_in(kept.id, turn).await?,
        };
        if said.parts.is_none() {
            let task = self.tasks.opened(beside.task).await?.ok_or_else(|| no_turn(beside.task))?;
            if let Some(entry) = self.hub.get(said.agent.as_ref().unwrap_or(&beside.agent))
                && entry.manifest.name == beside.agent
            {
                entry.check_holds(&task)?;
            }
            let first = task.history.into_iter().next();
            said.parts = Some(first.ok_or_else(|| no_turn(beside.task))?.parts);
        }
        said.agent.get_or_insert(beside.agent);
        Ok((beside.parent, said))
    }

    /// Adds a turn with its task; gives the one that was added before when the message is a repeat.
    async fn add_turn(
        &self,
        caller: &Caller,
        kept: Conversation,
        path: &[TurnPosition],
        alone: bool,
        said: Utterance,
    ) -> Result<TurnPosition, SiteError> {
        if kept.turns >= MAX_TURNS {
            return Err(SiteError::TooManyTurns(MAX_TURNS));
        }
        let agent = said.agent.unwrap_or_else(|| kept.agent.clone());
        let parts = said
            .parts
            .ok_or_else(|| SiteError::BadMessage("say something: the message is missing".into()))?;
        let (ids, now) = (&self.ids, self.ids.clock().now());
        let context = self.context_for(path, &agent, alone).await?.unwrap_or_else(|| ids.context());
        let turn = Turn {
            task: ids.task(),
            conversation: kept.id,
            parent: path.first().map(|place| place.turn.task),
            agent,
            message: said.message.unwrap_or_else(|| ids.message()),
            context,
            at: now,
        };
        let title =
            if kept.named || kept.turns > 0 { kept.title.clone() } else { decide::made_title(&parts) };
        let conversation = Conversation {
            title,
            head: Some(turn.task),
            turns: kept.turns + 1,
            revision: kept.revision + 1,
            updated_at: now,
            ..kept
        };
        let message = asked(&turn, parts, path);
        let words = message.plain_text();
        let (entry, request) = self.intake.accept(caller, &turn.agent, message.into())?;
        let request = TaskRequest {
            id: Some(turn.task),
            origin: Origin::Conversation(turn.conversation),
            attached: vec![Arc::new(NewTurn { conversation, turn, words })],
            ..request
        };
        let watch = Box::pin(self.tasks.send(caller, entry.agent.clone(), request)).await?;
        let place = self.store.path(watch.id(), 1).await?.into_iter().next();
        // A repeat of a message that was no turn, or one whose conversation was removed, names no turn.
        place.ok_or(SiteError::IdReused)
    }

    /// The context in which an agent continues; none when it begins a new one, also because its name has
    /// another holder than before.
    async fn context_for(
        &self,
        path: &[TurnPosition],
        agent: &AgentName,
        alone: bool,
    ) -> Result<Option<ContextId>, SiteError> {
        let Some(context) = decide::context(path, agent, alone) else { return Ok(None) };
        let last = path.iter().find(|place| place.turn.agent == *agent);
        let (Some(last), Some(entry)) = (last, self.hub.get(agent)) else { return Ok(None) };
        let opened = self.tasks.opened(last.turn.task).await?;
        Ok(opened.filter(|task| entry.holds(task)).map(|_| context.clone()))
    }

    /// Answers what the agent of a turn asked back.
    async fn answer(
        &self,
        caller: &Caller,
        id: ConversationId,
        turn: TaskId,
        said: Utterance,
    ) -> Result<TurnView, SiteError> {
        self.own(caller, id).await?;
        let turn = self.turn_in(id, turn).await?;
        let parts = said
            .parts
            .ok_or_else(|| SiteError::BadMessage("say something: the message is missing".into()))?;
        let mut message = Message::text(said.message.unwrap_or_else(|| self.ids.message()), Role::User, "");
        (message.parts, message.task_id) = (parts, Some(turn.task.to_string()));
        let (entry, request) = self.intake.accept(caller, &turn.agent, Submission::from(message))?;
        Box::pin(self.tasks.send(caller, entry.agent.clone(), request)).await?;
        let place = self.path_in(id, turn.task, 1).await?.remove(0);
        self.turn_view(place).await
    }

    /// The conversations of this caller: pinned ones first, then the last changed first; with a text those in
    /// which it stands.
    ///
    /// # Errors
    /// [`SiteError::BadConversation`] when the text is too long; [`SiteError::Store`].
    pub async fn list(
        &self,
        caller: &Caller,
        text: Option<String>,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Result<Page<ConversationView, ConversationCursor>, SiteError> {
        known(caller)?;
        let text = text.filter(|text| !text.trim().is_empty());
        if text.as_ref().is_some_and(|text| text.len() > MAX_SEARCH) {
            let what = format!("what is searched for has at most {MAX_SEARCH} bytes; leave some words out");
            return Err(SiteError::BadConversation(what));
        }
        let query = ConversationQuery { owner: caller.owner().clone(), text: text.clone() };
        let page = self.store.conversations(query, after, limit.clamp(1, MAX_PAGE)).await?;
        let turns = page.items.iter().filter_map(|found| turn_of(found.spot.as_ref()?)).collect();
        let mut tasks = self.tasks_of(turns).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for ConversationMatch { conversation, spot } in page.items {
            let mut view = ConversationView::from(conversation);
            if let (Some(spot), Some(text)) = (spot, &text) {
                let task = turn_of(&spot).and_then(|turn| tasks.remove(&turn));
                view.passage = Some(passage_at(&spot, &view.title, task.as_ref(), text));
            }
            items.push(view);
        }
        Ok(Page { items, next: page.next })
    }

    /// Tasks as the store has them, by id; those that are not there are left out.
    async fn tasks_of(&self, ids: Vec<TaskId>) -> Result<HashMap<TaskId, Task>, SiteError> {
        let (mut left, mut tasks) = (ids, HashMap::new());
        while !left.is_empty() {
            let read = self.store.histories(left.clone(), EVENTS_AT_ONCE, 0).await?;
            left.drain(..read.len().clamp(1, left.len()));
            for history in read {
                tasks.extend(replayed(&history)?.map(|task| (history.id, task)));
            }
        }
        Ok(tasks)
    }

    /// One conversation.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], also when it is somebody else's.
    pub async fn get(&self, caller: &Caller, id: ConversationId) -> Result<ConversationView, SiteError> {
        Ok(self.own(caller, id).await?.into())
    }

    /// A page of the path that is shown, oldest first: the last turns, or those before `before`.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], also when it is somebody else's; [`SiteError::NoSuchTurn`].
    pub async fn turns(
        &self,
        caller: &Caller,
        id: ConversationId,
        before: Option<TaskId>,
        limit: usize,
    ) -> Result<TurnPage, SiteError> {
        let kept = self.own(caller, id).await?;
        let from = match before {
            Some(before) => self.turn_in(id, before).await?.parent,
            None => kept.head,
        };
        let Some(from) = from else { return Ok(TurnPage { turns: Vec::new(), before: None }) };
        let path = self.path_in(id, from, limit.clamp(1, MAX_PAGE)).await?;
        let before = path.last().filter(|place| place.turn.parent.is_some()).map(|place| place.turn.task);
        let turns = self.turn_views(path.into_iter().rev().collect()).await?;
        Ok(TurnPage { turns, before })
    }

    /// Renames a conversation, pins it, or chooses the branch that is shown.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], also when it is somebody else's; [`SiteError::NoSuchTurn`];
    /// [`SiteError::ConversationMoved`] when the edit names a revision and there is a newer one;
    /// [`SiteError::BadConversation`].
    pub async fn edit(
        &self,
        caller: &Caller,
        id: ConversationId,
        edit: ConversationEdit,
    ) -> Result<ConversationView, SiteError> {
        let title = edit.title.as_deref().map(decide::title).transpose()?;
        let edited = edited(&edit);
        for _ in 0..TRIES {
            let mut kept = self.own(caller, id).await?;
            insists(edit.revision, &kept)?;
            if let Some(title) = &title {
                (kept.title, kept.named) = (title.clone(), true);
            }
            kept.pinned = edit.pinned.unwrap_or(kept.pinned);
            if let Some(turn) = edit.head {
                self.turn_in(id, turn).await?;
                kept.head = self.store.leaf(turn).await?;
            }
            kept.revision += 1;
            let line = self.line_about(&kept, kinds::conversation::EDITED, edited.clone());
            match self.put(kept.clone(), line).await {
                Err(SiteError::Store(StoreError::Moved(_))) => {}
                done => return done.map(|()| kept.into()),
            }
        }
        Err(SiteError::ConversationMoved)
    }

    /// Removes a conversation with everything that was said in it; what still runs for it is cancelled.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], also when it is somebody else's; [`SiteError::ConversationMoved`]
    /// when a revision is named and there is a newer one.
    pub async fn delete(
        &self,
        caller: &Caller,
        id: ConversationId,
        revision: Option<u64>,
    ) -> Result<(), SiteError> {
        for _ in 0..TRIES {
            let kept = self.own(caller, id).await?;
            insists(revision, &kept)?;
            let running = self.running_in(id).await?;
            let gone = ConversationChange::Remove { id, owner: kept.owner.clone(), revision: kept.revision };
            let line = self.line_about(&kept, kinds::conversation::REMOVED, "removed a conversation".into());
            match self.store.commit(Change::new(line).edit(gone)).await {
                Err(StoreError::Moved(_)) => continue,
                done => done?,
            }
            self.feed.publish(&kept.owner, id, FeedChange::Removed);
            for task in running {
                // One that ended by itself meanwhile needs no more.
                let _ = self.tasks.cancel(caller, task).await;
            }
            return self.expirer.expire().await.map(drop);
        }
        Err(SiteError::ConversationMoved)
    }

    /// The tasks of a conversation that have not ended.
    async fn running_in(&self, id: ConversationId) -> Result<Vec<TaskId>, SiteError> {
        let mut running = Vec::new();
        for head in self.store.open_tasks().await? {
            if self.store.turn(head.id).await?.is_some_and(|turn| turn.conversation == id) {
                running.push(head.id);
            }
        }
        Ok(running)
    }

    /// Follows one conversation, or all of this caller; the first event tells how it stands.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], also when it is somebody else's.
    pub async fn follow(
        &self,
        caller: &Caller,
        id: Option<ConversationId>,
    ) -> Result<ConversationWatch, SiteError> {
        known(caller)?;
        let news = self.feed.subscribe();
        let first = match id {
            Some(id) => Some(event(id, FeedChange::Changed, Some(self.own(caller, id).await?))),
            None => None,
        };
        Ok(ConversationWatch {
            conversations: self.clone(),
            caller: caller.clone(),
            id,
            news,
            first,
            ended: false,
        })
    }

    /// Writes a conversation out, piece by piece.
    ///
    /// # Errors
    /// [`SiteError::NoSuchConversation`], also when it is somebody else's.
    pub async fn export(
        &self,
        caller: &Caller,
        id: ConversationId,
        format: ExportFormat,
    ) -> Result<ConversationExport, SiteError> {
        let kept = self.own(caller, id).await?;
        let mut left = Vec::new();
        let mut from = kept.head.filter(|_| format == ExportFormat::Markdown);
        while let Some(at) = from {
            let path = self.store.path(at, MAX_PAGE).await?;
            from = path.last().and_then(|place| place.turn.parent);
            left.extend(path.iter().map(|place| place.turn.task));
        }
        let beginning = Some(format.beginning(&kept.into()));
        Ok(ConversationExport {
            conversations: self.clone(),
            id,
            format,
            beginning,
            left,
            after: None,
            any: false,
            ended: false,
        })
    }

    /// A conversation of this caller.
    async fn own(&self, caller: &Caller, id: ConversationId) -> Result<Conversation, SiteError> {
        known(caller)?;
        let kept = self.store.conversation(id).await?;
        kept.filter(|kept| kept.owner == *caller.owner())
            .ok_or_else(|| SiteError::NoSuchConversation(id.to_string()))
    }

    /// A turn of this conversation.
    async fn turn_in(&self, id: ConversationId, task: TaskId) -> Result<Turn, SiteError> {
        let turn = self.store.turn(task).await?;
        turn.filter(|turn| turn.conversation == id).ok_or_else(|| no_turn(task))
    }

    /// The path to a turn of this conversation, the nearest first; never empty.
    async fn path_in(
        &self,
        id: ConversationId,
        from: TaskId,
        limit: usize,
    ) -> Result<Vec<TurnPosition>, SiteError> {
        let path = self.store.path(from, limit).await?;
        let right = path.first().is_some_and(|place| place.turn.conversation == id);
        if right { Ok(path) } else { Err(no_turn(from)) }
    }

    /// A turn with its task as it is now.
    async fn turn_view(&self, place: TurnPosition) -> Result<TurnView, SiteError> {
        Ok(self.turn_views(vec![place]).await?.remove(0))
    }

    /// Turns with their tasks as they are now, in order. The store is read once for many of them.
    async fn turn_views(&self, places: Vec<TurnPosition>) -> Result<Vec<TurnView>, SiteError> {
        let mut left: Vec<TaskId> = places.iter().map(|place| place.turn.task).collect();
        let mut places = places.into_iter();
        let mut views = Vec::with_capacity(places.len());
        while !left.is_empty() {
            let read = self.store.histories(left.clone(), EVENTS_AT_ONCE, STARTED).await?;
            left.drain(..read.len().clamp(1, left.len()));
            for (history, place) in read.into_iter().zip(places.by_ref()) {
                let task = match self.tasks.live(history.id) {
                    Some(task) => Some(task),
                    None => replayed(&history)?,
                };
                let mut started = history.started;
                started.sort_by_key(|head| head.id);
                views.push(TurnView::new(place, task.as_ref(), started));
            }
        }
        Ok(views)
    }

    /// A line about a conversation. It names no title: the line outlives the conversation.
    fn line_about(&self, kept: &Conversation, kind: JournalKind, text: String) -> JournalLine {
        let line = JournalLine::new(kind, self.ids.clock().now(), kept.owner.as_str(), text);
        line.about(JournalSubject::Conversation(kept.id))
    }

    async fn put(&self, kept: Conversation, line: JournalLine) -> Result<(), SiteError> {
        let (owner, id) = (kept.owner.clone(), kept.id);
        self.store.commit(Change::new(line).edit(ConversationChange::Put(Box::new(kept)))).await?;
        self.feed.publish(&owner, id, FeedChange::Changed);
        Ok(())
    }
}

/// The turn in which words stand; none for a title.
const fn turn_of(spot: &Spot) -> Option<TaskId> {
    match spot {
        Spot::Title => None,
        Spot::Question(turn) | Spot::Answer(turn) => Some(*turn),
    }
}

/// The words that were searched for, with what stands around them.
fn passage_at(spot: &Spot, title: &str, task: Option<&Task>, wanted: &str) -> Passage {
    let question = |task: &Task| task.history.first().map(Message::plain_text).unwrap_or_default();
    let (of, words) = match spot {
        Spot::Title => return Passage { of: "title", turn: None, text: title.to_owned() },
        Spot::Question(_) => ("question", task.map(question)),
        Spot::Answer(_) => ("answer", task.map(Task::answer)),
    };
    Passage { of, turn: turn_of(spot), text: passage(&words.unwrap_or_default(), wanted) }
}

/// The task of a history; none when it is not there.
fn replayed(history: &TaskHistory) -> Result<Option<Task>, SiteError> {
    let damaged = |error| StoreError::Corrupt(format!("task {}: {error}", history.id));
    Ok(Task::replay(&history.events).map_err(damaged)?)
}

/// What an edit does, for the journal.
fn edited(edit: &ConversationEdit) -> String {
    let parts = [
        edit.title.is_some().then_some("renamed a conversation"),
        edit.pinned.map(|pinned| if pinned { "pinned a conversation" } else { "unpinned a conversation" }),
        edit.head.is_some().then_some("chose a branch of a conversation"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "changed nothing of a conversation".into() } else { parts.join(", ") }
}

/// The message of a turn, which names the turns that its agent shall remember.
fn asked(turn: &Turn, parts: Vec<Part>, path: &[TurnPosition]) -> Message {
    let mut message = Message::text(turn.message.clone(), Role::User, "");
    (message.parts, message.context_id) = (parts, Some(turn.context.clone()));
    let mut remembered: Vec<TaskId> = path.iter().map(|place| place.turn.task).collect();
    remembered.reverse();
    message.refer_to(&remembered);
    message
}

/// Refuses guests.
fn known(caller: &Caller) -> Result<(), SiteError> {
    if !caller.is_anonymous() {
        return Ok(());
    }
    let why = "conversations are kept for those who are known here; sign in or send an API key, or ask the agent without one";
    Err(SiteError::Forbidden(why.into()))
}

/// Refuses a change that was decided on an older reading.
fn insists(revision: Option<u64>, kept: &Conversation) -> Result<(), SiteError> {
    if revision.is_none_or(|revision| revision == kept.revision) {
        return Ok(());
    }
    Err(SiteError::ConversationMoved)
}

fn no_turn(task: TaskId) -> SiteError {
    SiteError::NoSuchTurn(task.to_string())
}
