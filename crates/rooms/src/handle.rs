//! Conversations: the handle by which the rest of a site works with conversations.
//!
//! Promises: clones are handles on the same conversations. A conversation is its owner's alone, and a foreign
//! one answers like none, also to admins. Two changes of the same conversation at once both succeed, one
//! after the other, unless one of them insists on the revision that it read. Anonymous callers have no
//! conversations. The verbs are in files of their own: `say`, `list`, `turns`, `edit`, `follow`, `writing`.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller, ConversationId, Ids, JournalKind, JournalLine, JournalSubject};
use agentsite_store::{Change, Conversation, ConversationChange, SharedStore};
use agentsite_tasks::{AgentDirectory, Tasks};

use crate::access::SiteAccess;
use crate::error::ConversationError;
use crate::feed::{ConversationFeed, FeedChange};
use crate::view::ConversationView;

/// Most rows of one page, whatever is asked for.
pub(crate) const MAX_PAGE: usize = 500;

/// How often a change is decided anew when others changed the conversation meanwhile; people are few and
/// slow.
pub(crate) const TRIES: usize = 16;

/// What a site gives to its conversations.
#[derive(Debug)]
pub struct ConversationParts {
    /// Where conversations are kept.
    pub store: SharedStore,
    /// Time, chance, and the ids made of both.
    pub ids: Ids,
    /// The tasks that answer turns.
    pub tasks: Tasks,
    /// The agents of the site.
    pub agents: AgentDirectory,
    /// What else is needed of the site.
    pub site: Arc<dyn SiteAccess>,
    /// The feed that is registered as a hook of the tasks.
    pub feed: Arc<ConversationFeed>,
    /// With whom a conversation is begun that names no agent.
    pub concierge: AgentName,
}

/// The conversations of a site's callers.
#[derive(Debug, Clone)]
pub struct Conversations(pub(crate) Arc<ConversationParts>);

impl Conversations {
    /// The conversations of a site.
    #[must_use]
    pub fn new(parts: ConversationParts) -> Self {
        Self(Arc::new(parts))
    }

    /// One conversation.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], also when it belongs to another owner.
    pub async fn get(
        &self,
        caller: &Caller,
        id: ConversationId,
    ) -> Result<ConversationView, ConversationError> {
        Ok(self.own(caller, id).await?.into())
    }

    /// A conversation of this caller.
    pub(crate) async fn own(
        &self,
        caller: &Caller,
        id: ConversationId,
    ) -> Result<Conversation, ConversationError> {
        refuse_anonymous(caller)?;
        let kept = self.0.store.conversation(id).await?;
        kept.filter(|kept| kept.owner == *caller.owner())
            .ok_or_else(|| ConversationError::NoSuchConversation(id.to_string()))
    }

    /// A line about a conversation. It names no title: the line outlives the conversation.
    pub(crate) fn line_about(&self, kept: &Conversation, kind: JournalKind, text: String) -> JournalLine {
        let line = JournalLine::new(kind, self.0.ids.clock().now(), kept.owner.as_str(), text);
        line.about(JournalSubject::Conversation(kept.id))
    }

    /// Writes a conversation without its turns, and tells its followers.
    pub(crate) async fn put(&self, kept: Conversation, line: JournalLine) -> Result<(), ConversationError> {
        let (owner, id) = (kept.owner.clone(), kept.id);
        self.0.store.commit(Change::new(line).edit(ConversationChange::Put(Box::new(kept)))).await?;
        self.0.feed.publish(&owner, id, FeedChange::Changed);
        Ok(())
    }
}

/// Refuses anonymous callers, for whom nothing is kept.
pub(crate) fn refuse_anonymous(caller: &Caller) -> Result<(), ConversationError> {
    if caller.is_anonymous() { Err(ConversationError::Anonymous) } else { Ok(()) }
}
