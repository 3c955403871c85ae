//! Node: what takes part in a simulation.
//!
//! Promises: a node acts through its context alone, so that a run can be repeated.

use std::time::Duration;

use crate::dice::Dice;

/// The number of a node, in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// What happens to a node.
#[derive(Debug)]
pub enum Event<M, C> {
    /// It starts.
    Started,
    /// It has a connection with another node.
    Connected(NodeId),
    /// It has noticed that a connection ended.
    Disconnected(NodeId),
    /// A message arrived.
    Received {
        /// Who sent it.
        from: NodeId,
        /// What was sent.
        message: M,
    },
    /// The time came that it asked for.
    Woken,
    /// The scenario wants something done.
    Command(C),
}

/// A state machine that takes part in a simulation. It acts through its [`Context`] alone.
pub trait Node {
    /// What nodes send each other.
    type Message: Clone;
    /// What a scenario tells a node to do.
    type Command;

    /// Takes in what happened.
    fn handle(
        &mut self,
        event: Event<Self::Message, Self::Command>,
        context: &mut Context<'_, Self::Message>,
    );

    /// How many bytes a message takes on the wire.
    fn size(message: &Self::Message) -> usize;

    /// Checks what must always be true; asked after every step of this node.
    ///
    /// # Errors
    /// What is not true, in a sentence.
    fn check(&self) -> Result<(), String>;
}

/// How a node acts while it handles an event.
#[derive(Debug)]
pub struct Context<'a, M> {
    /// Which node it is.
    pub id: NodeId,
    /// The time since the simulation began.
    pub now: Duration,
    /// The randomness of the run.
    pub dice: &'a Dice,
    pub(crate) sent: Vec<(NodeId, M)>,
    pub(crate) dropped: Vec<NodeId>,
    pub(crate) wake: Option<Duration>,
}

impl<M> Context<'_, M> {
    /// Sends a message over a connection; without one it is lost.
    pub fn send(&mut self, to: NodeId, message: M) {
        self.sent.push((to, message));
    }

    /// Ends the connection with a node.
    pub fn disconnect(&mut self, from: NodeId) {
        self.dropped.push(from);
    }

    /// Asks to be woken at this time, instead of any time asked for before.
    pub const fn wake_at(&mut self, at: Duration) {
        self.wake = Some(at);
    }
}
