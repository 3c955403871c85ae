//! Saying something: how a conversation begins, and how a turn or an answer is added to it.
//!
//! Promises: what was said is on disk with its task before the verb answers; the task then runs by itself. A
//! turn that was decided on an older reading of the conversation is decided again. The same message again is
//! the same turn. It does not judge the words: the site checks every message.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller, ContextId, ConversationId, Message, Part, Role, TaskId};
use agentsite_store::{Conversation, Turn, TurnPosition};
use agentsite_tasks::{Origin, REMEMBERED, Submission, TaskError, TaskRequest};

use crate::error::ConversationError;
use crate::handle::{Conversations, TRIES, refuse_anonymous};
use crate::hook::NewTurn;
use crate::turns::no_turn;
use crate::utterance::{Placing, Utterance};
use crate::view::{ConversationView, TurnView};
use crate::{decide, kinds};

/// Most conversations of one owner. A person who begins thirty a day needs a year for them; the list and the
/// search stay quick.
pub const MAX_CONVERSATIONS: usize = 10_000;

/// Most turns of one conversation, on all branches: ten times what the pages are measured with.
pub const MAX_TURNS: u64 = 100_000;

impl Conversations {
    /// Begins a conversation with an agent, or with the concierge when none is named; with first words, it
    /// has its first turn at once.
    ///
    /// # Errors
    /// [`TaskError::NoSuchAgent`], [`ConversationError::TooManyConversations`]; what is wrong with the title
    /// or the words.
    pub async fn begin(
        &self,
        caller: &Caller,
        agent: Option<AgentName>,
        title: Option<String>,
        first: Option<Utterance>,
    ) -> Result<(ConversationView, Option<TurnView>), ConversationError> {
        refuse_anonymous(caller)?;
        let agent = agent.unwrap_or_else(|| self.0.concierge.clone());
        self.0.site.check_visible(caller, &agent)?;
        let title = title.map(|title| decide::title(&title)).transpose()?;
        let count = self.0.store.count_conversations(caller.owner()).await?;
        if count >= MAX_CONVERSATIONS as u64 {
            return Err(ConversationError::TooManyConversations(MAX_CONVERSATIONS));
        }
        let new = self.empty(caller, agent, title);
        if let Some(first) = first {
            let turn = self.add_turn(caller, new, &[], true, first).await?;
            let kept = self.own(caller, turn.turn.conversation).await?;
            return Ok((kept.into(), Some(self.turn_view(turn).await?)));
        }
        let new = Conversation { revision: 1, ..new };
        let line = self.line_about(&new, kinds::CREATED, "began a conversation".into());
        self.put(new.clone(), line).await?;
        Ok((new.into(), None))
    }

    /// A conversation without turns that is not written yet.
    fn empty(&self, caller: &Caller, agent: AgentName, title: Option<String>) -> Conversation {
        let now = self.0.ids.clock().now();
        Conversation {
            id: self.0.ids.conversation(),
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
        }
    }

    /// Says something in a conversation: a new turn, whose task runs by itself, or an answer to what an agent
    /// asked back.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], [`ConversationError::NoSuchTurn`],
    /// [`TaskError::NoSuchAgent`], [`ConversationError::TooManyTurns`]; what is wrong with the words; what
    /// the agent refuses.
    pub async fn say(
        &self,
        caller: &Caller,
        id: ConversationId,
        said: Utterance,
    ) -> Result<TurnView, ConversationError> {
        refuse_anonymous(caller)?;
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
                Some(parent) => kept.head == Some(parent) || self.0.store.leaf(parent).await? == Some(parent),
            };
            match self.add_turn(caller, kept, &path, alone, said).await {
                Err(error) if error.is_conflict() => {}
                Ok(place) if place.turn.conversation != id => return Err(TaskError::IdReused.into()),
                done => return self.turn_view(done?).await,
            }
        }
        Err(ConversationError::Changed)
    }

    /// The turn after which something is said, and what is said with what it takes from the turn it stands
    /// beside.
    async fn placed(
        &self,
        kept: &Conversation,
        mut said: Utterance,
    ) -> Result<(Option<TaskId>, Utterance), ConversationError> {
        let beside = match said.placing {
            Placing::Last | Placing::Answering(_) => return Ok((kept.head, said)),
            Placing::After(turn) => return Ok((Some(turn), said)),
            Placing::Instead(turn) => self.turn_in(kept.id, turn).await?,
        };
        if said.parts.is_none() {
            let task =
                self.0.tasks.control().opened(beside.task).await?.ok_or_else(|| no_turn(beside.task))?;
            let agent = self.0.agents.find(said.agent.as_ref().unwrap_or(&beside.agent));
            if let Some(agent) = agent.filter(|agent| agent.manifest.name == beside.agent) {
                agent.check_holds(&task)?;
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
    ) -> Result<TurnPosition, ConversationError> {
        if kept.turns >= MAX_TURNS {
            return Err(ConversationError::TooManyTurns(MAX_TURNS));
        }
        let agent = said.agent.unwrap_or_else(|| kept.agent.clone());
        let parts = said.parts.ok_or_else(nothing_said)?;
        let (ids, now) = (&self.0.ids, self.0.ids.clock().now());
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
        let (agent, request) = self.0.site.accept(caller, &turn.agent, message.into())?;
        let request = TaskRequest {
            id: Some(turn.task),
            origin: Origin::Conversation(turn.conversation),
            attached: vec![Arc::new(NewTurn { conversation, turn, words })],
            ..request
        };
        let watch = Box::pin(self.0.tasks.send(caller, agent, request)).await?;
        let place = self.0.store.path(watch.id(), 1).await?.into_iter().next();
        // A repeat of a message that was no turn, or one whose conversation was removed, names no turn.
        place.ok_or_else(|| TaskError::IdReused.into())
    }

    /// The context in which an agent continues; none when it begins a new one, also because its name has
    /// another holder than before.
    async fn context_for(
        &self,
        path: &[TurnPosition],
        agent: &AgentName,
        alone: bool,
    ) -> Result<Option<ContextId>, ConversationError> {
        let Some(context) = decide::context(path, agent, alone) else { return Ok(None) };
        let last = path.iter().find(|place| place.turn.agent == *agent);
        let (Some(last), Some(agent)) = (last, self.0.agents.find(agent)) else { return Ok(None) };
        let opened = self.0.tasks.control().opened(last.turn.task).await?;
        Ok(opened.filter(|task| agent.holds(task)).map(|_| context.clone()))
    }

    /// Answers what the agent of a turn asked back.
    async fn answer(
        &self,
        caller: &Caller,
        id: ConversationId,
        turn: TaskId,
        said: Utterance,
    ) -> Result<TurnView, ConversationError> {
        self.own(caller, id).await?;
        let turn = self.turn_in(id, turn).await?;
        let parts = said.parts.ok_or_else(nothing_said)?;
        let mut message = Message::text(said.message.unwrap_or_else(|| self.0.ids.message()), Role::User, "");
        (message.parts, message.task_id) = (parts, Some(turn.task.to_string()));
        let (agent, request) = self.0.site.accept(caller, &turn.agent, Submission::from(message))?;
        Box::pin(self.0.tasks.send(caller, agent, request)).await?;
        let place = self.path_in(id, turn.task, 1).await?.remove(0);
        self.turn_view(place).await
    }
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

fn nothing_said() -> ConversationError {
    TaskError::BadMessage("say something: the message is missing".into()).into()
}
