//! What this crate asks the site for: its agents, and the key that it signs with.
//!
//! Promises: a seam with few questions; the site implements it, and a small one in the stories.

use std::fmt;

use agentsite_mesh::{VectorCodes, VectorText};
use agentsite_protocol::{AgentCard, AgentName, Pseudonym, SigningKey, Visibility};
use futures::future::BoxFuture;
use tokio::sync::watch;

/// An agent that others might learn of.
#[derive(Debug, Clone)]
pub struct OfferedAgent {
    /// Its name.
    pub name: AgentName,
    /// Who may find it.
    pub visibility: Visibility,
    /// Its card.
    pub card: AgentCard,
}

/// The site that takes part in the mesh.
pub trait LocalSite: fmt::Debug + Send + Sync {
    /// The agents of the site that are listed, of every visibility.
    fn agents(&self) -> Vec<OfferedAgent>;

    /// Changes with each change among them.
    fn changes(&self) -> watch::Receiver<u64>;

    /// The names of agents of the site that have one of these shapes.
    fn names_like(&self, shapes: &[String]) -> Vec<AgentName>;

    /// The agents that name the site with this DID as a caller.
    fn open_to(&self, did: &str) -> Vec<AgentName>;

    /// By what the site with this DID knows a user of this one, if it is to know it.
    fn pseudonym(&self, user: &str, did: &str) -> Pseudonym;

    /// The key that the site signs with at present: an Ed25519 key.
    fn key(&self) -> SigningKey;

    /// The vectors of texts, by the model of the protocol and in the order of the texts; none when this site
    /// does not have that model.
    fn encode(&self, texts: Vec<VectorText>) -> BoxFuture<'static, Option<Vec<VectorCodes>>>;
}
