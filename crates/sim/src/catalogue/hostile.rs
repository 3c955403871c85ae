//! A node that sends what it likes and answers nothing: a black hole that also talks.
//!
//! Promises: it sends only what a scenario tells it to.

use std::collections::BTreeSet;

use super::{Command, Transmission};
use crate::node::{Context, Event, NodeId};

/// A node that does not follow the protocol.
#[derive(Debug, Default)]
pub struct Hostile {
    neighbours: BTreeSet<NodeId>,
}

impl Hostile {
    /// How many still talk to it.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.neighbours.len()
    }

    pub(super) fn handle(
        &mut self,
        event: Event<Transmission, Command>,
        context: &mut Context<'_, Transmission>,
    ) {
        match event {
            Event::Connected(other) => drop(self.neighbours.insert(other)),
            Event::Disconnected(other) => drop(self.neighbours.remove(&other)),
            Event::Command(Command::Send(messages)) => {
                for bytes in messages {
                    let message = Transmission::Bytes(bytes.into());
                    self.neighbours.iter().for_each(|other| context.send(*other, message.clone()));
                }
            }
            _ => {}
        }
    }
}
