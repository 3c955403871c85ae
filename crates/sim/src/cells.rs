//! The cells of the mesh as a node: the pure machine, and the spreading of splits in place of its driver.
//!
//! Every node reaches every other, as by dialling. Splits are records, which the catalogue spreads in the
//! product; here they are flooded to a few random nodes, and two nodes exchange all that they know when
//! they differ.

mod agents;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::cells::{CellEffect, CellHit, CellInput, CellMessage, Cells, Coverage};
use agentsite_mesh::story::at;
use agentsite_mesh::{CellId, SiteId, SplitProfile};
use agentsite_protocol::Timestamp;

use crate::node::{Context, Event, Node, NodeId};

pub use agents::{Agents, VectorSource};
pub use world::{CellSetting, CellWorld, Quality};

/// To how many random nodes a new support is sent.
const FAN_OUT: usize = 6;
/// How often a node compares what it knows of splits with another one.
const EXCHANGE: Duration = Duration::from_secs(30);
/// How old the world is when a simulation begins: agents that are there from the start are old.
const AGE: Duration = Duration::from_secs(3_600);
/// Bytes of a record of a split: two centroids in base64, head and signature.
const SPLIT_BYTES: usize = 1_500;

/// Who supports which split of which cell.
pub type Supports = BTreeMap<(CellId, SiteId), Arc<SplitProfile>>;

/// What nodes send each other.
#[derive(Debug, Clone)]
pub enum CellTransmission {
    /// A message of the cells.
    Cells(CellMessage),
    /// Supports of splits; answered when the receiver knows more.
    Supports {
        /// The supports.
        supports: Arc<Supports>,
        /// Whether the sender knows all of them, so that the receiver tells it what is missing.
        is_all: bool,
    },
    /// How many supports the sender knows.
    Count(usize),
}

/// A node with cells.
#[derive(Debug)]
pub struct CellNode {
    cells: Cells,
    directory: Arc<Vec<SiteId>>,
    numbers: Arc<BTreeMap<SiteId, NodeId>>,
    supports: Supports,
    exchange_at: Option<Duration>,
    wake: Option<Duration>,
    /// Whether it leaves the best agents out of its answers.
    omits: bool,
    found: BTreeMap<u64, (Vec<CellHit>, Coverage, Duration)>,
    omissions: Vec<SiteId>,
    search_bytes: u64,
}

impl CellNode {
    /// Bytes of questions and answers of searches that it sent.
    #[must_use]
    pub const fn search_bytes(&self) -> u64 {
        self.search_bytes
    }

    /// Its cells.
    #[must_use]
    pub const fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The servers that it caught leaving something out.
    #[must_use]
    pub fn omissions(&self) -> &[SiteId] {
        &self.omissions
    }

    /// What a search found, and when.
    #[must_use]
    pub fn found(&self, search: u64) -> Option<&(Vec<CellHit>, Coverage, Duration)> {
        self.found.get(&search)
    }

    fn time(now: Duration) -> Timestamp {
        at(0).plus(AGE + now)
    }

    fn apply(&mut self, input: CellInput, context: &mut Context<'_, CellTransmission>) {
        for effect in self.cells.apply(input, Self::time(context.now), context.dice) {
            self.act(effect, context);
        }
    }

    fn act(&mut self, effect: CellEffect, context: &mut Context<'_, CellTransmission>) {
        match effect {
            CellEffect::Send { peer, mut message } => {
                if let CellMessage::Answer { answer: Some(answer), .. } = &mut message
                    && self.omits
                {
                    answer.hits.drain(..answer.hits.len().min(5));
                }
                if matches!(message, CellMessage::Ask { .. } | CellMessage::Answer { .. }) {
                    self.search_bytes += message.size() as u64;
                }
                if let Some(number) = self.numbers.get(&peer) {
                    context.send(*number, CellTransmission::Cells(message));
                }
            }
            CellEffect::Endorse { cell, split } => {
                let own = self.directory[context.id.0];
                self.supports.insert((cell, own), split.clone());
                let supports = Arc::new(Supports::from([((cell, own), split)]));
                self.flood(&supports, context);
            }
            CellEffect::Found { search, hits, coverage } => {
                self.found.insert(search, (hits, coverage, context.now));
            }
            CellEffect::Omitted { peer } => self.omissions.push(peer),
            CellEffect::WakeAt(time) => {
                self.wake = Some(time.since(at(0)).saturating_sub(AGE));
            }
            CellEffect::Keep(_) | CellEffect::Drop(_) => {}
        }
    }

    fn random_node(&self, context: &Context<'_, CellTransmission>) -> NodeId {
        NodeId(context.dice.below(self.directory.len()))
    }

    fn flood(&self, supports: &Arc<Supports>, context: &mut Context<'_, CellTransmission>) {
        for _ in 0..FAN_OUT {
            let to = self.random_node(context);
            let message = CellTransmission::Supports { supports: supports.clone(), is_all: false };
            context.send(to, message);
        }
    }

    /// Takes in what is new of some supports, and passes it on.
    fn learn(&mut self, supports: &Supports, context: &mut Context<'_, CellTransmission>) {
        let mut new = Supports::new();
        for (key, split) in supports {
            if !self.supports.contains_key(key) {
                self.supports.insert(*key, split.clone());
                new.insert(*key, split.clone());
                let (cell, signer) = *key;
                self.apply(CellInput::Support { signer, cell, split: Some(split.clone()) }, context);
            }
        }
        if !new.is_empty() {
            self.flood(&Arc::new(new), context);
        }
    }

    fn received(
        &mut self,
        from: NodeId,
        message: CellTransmission,
        context: &mut Context<'_, CellTransmission>,
    ) {
        match message {
            CellTransmission::Cells(message) => {
                let peer = self.directory[from.0];
                self.apply(CellInput::Received { peer, message }, context);
            }
            CellTransmission::Supports { supports, is_all } => {
                self.learn(&supports, context);
                if is_all && self.supports.len() > supports.len() {
                    let supports = Arc::new(self.supports.clone());
                    context.send(from, CellTransmission::Supports { supports, is_all: false });
                }
            }
            CellTransmission::Count(count) if count != self.supports.len() => {
                let supports = Arc::new(self.supports.clone());
                context.send(from, CellTransmission::Supports { supports, is_all: true });
            }
            CellTransmission::Count(_) => {}
        }
    }
}

impl Node for CellNode {
    type Message = CellTransmission;
    type Command = CellInput;

    fn handle(
        &mut self,
        event: Event<CellTransmission, CellInput>,
        context: &mut Context<'_, CellTransmission>,
    ) {
        match event {
            Event::Received { from, message } => self.received(from, message, context),
            Event::Command(CellInput::Restored { known, supports, own }) => {
                self.supports
                    .extend(supports.iter().map(|(signer, cell, split)| ((*cell, *signer), split.clone())));
                self.apply(CellInput::Restored { known, supports, own }, context);
            }
            Event::Command(input) => self.apply(input, context),
            Event::Started | Event::Connected(_) | Event::Disconnected(_) | Event::Woken => {}
        }
        if self.exchange_at.is_none_or(|at| at <= context.now) {
            if self.exchange_at.is_some() {
                let (to, count) = (self.random_node(context), self.supports.len());
                context.send(to, CellTransmission::Count(count));
            }
            self.exchange_at = Some(context.now + context.dice.between(EXCHANGE * 4 / 5, EXCHANGE * 6 / 5));
        }
        if self.wake.is_some_and(|at| at <= context.now) {
            self.wake = None;
            self.apply(CellInput::Tick, context);
        }
        if let Some(at) = [self.exchange_at, self.wake].into_iter().flatten().min() {
            context.wake_at(at);
        }
    }

    fn size(message: &CellTransmission) -> usize {
        match message {
            CellTransmission::Cells(message) => message.size(),
            CellTransmission::Supports { supports, .. } => supports.len() * SPLIT_BYTES,
            CellTransmission::Count(_) => 10,
        }
    }

    fn check(&self) -> Result<(), String> {
        self.cells.audit()
    }
}
