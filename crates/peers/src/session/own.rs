//! What this site tells everybody: its public agents, itself, and nothing else.
//!
//! Promises: an agent is published only while it is public and the operator exposes it, and is taken back as
//! soon as it is not. Without any such agent the site does not publish itself either.

use std::collections::BTreeSet;

use agentsite_mesh::{
    AgentProfile, Body, Claim, GossipTicket, Input, RecordKey, SiteId, SiteProfile, Subject,
};
use agentsite_protocol::{AgentName, Visibility};

use super::MeshSession;
use super::vectors::{Encoded, Readiness};
use crate::error::PeersError;
use crate::local::OfferedAgent;

/// Most addresses that a site tells of.
const MAX_ADDRESSES: usize = 8;

impl MeshSession {
    /// The agents that others may learn of.
    pub(super) fn offered(&self) -> Vec<OfferedAgent> {
        let settings = &self.shared.settings;
        let mut all = self.shared.local.agents();
        all.retain(|agent| agent.visibility == Visibility::Public && settings.exposes(&agent.name));
        all
    }

    /// Brings what others learn in step with the agents of the site.
    pub(super) async fn tell_of_own(&mut self) -> Result<(), PeersError> {
        self.tell_everybody().await?;
        self.show_to_peers().await
    }

    async fn tell_everybody(&mut self) -> Result<(), PeersError> {
        let offered = self.offered();
        let names: BTreeSet<&AgentName> = offered.iter().map(|agent| &agent.name).collect();
        let published: Vec<AgentName> = self.catalogue()?.published().cloned().collect();
        let gone = published.iter().filter(|name| !names.contains(name)).cloned();
        let mut inputs: Vec<_> = gone.map(|name| (Input::Unpublish { name }, None)).collect();
        if offered.is_empty() {
            if !inputs.is_empty() {
                inputs.push((Input::Retire, None));
            }
            return self.apply(inputs).await;
        }
        inputs.push((Input::Describe(self.about()), None));
        self.vectors.retain(|name| names.contains(name));
        for agent in &offered {
            let url = self.card_url(&agent.name);
            match AgentProfile::of(&agent.card, agent.visibility, url.as_deref()) {
                Ok(profile) => inputs.extend(self.publication(&agent.name, profile)),
                Err(error) => {
                    tracing::warn!(agent = %agent.name, %error, "Other sites do not learn of an agent.");
                }
            }
        }
        self.apply(inputs).await
    }

    /// The input that publishes an agent; none while its vectors are waited for.
    fn publication(
        &mut self,
        name: &AgentName,
        profile: AgentProfile,
    ) -> Option<(Input, Option<GossipTicket>)> {
        let held = self.catalogue.as_ref().and_then(|catalogue| {
            let body = catalogue.get(&RecordKey::agent(self.site, name.clone()))?.body();
            if let Body::Agent(held) = body { Some(held) } else { None }
        });
        let now = self.shared.ids.clock().now();
        match self.vectors.ready(name, profile, held.as_ref(), now) {
            Readiness::Publish(profile) => Some((Input::Publish { name: name.clone(), profile }, None)),
            Readiness::Wait => None,
        }
    }

    /// Takes in what the encoder gave: publishes an agent with its vectors, or judges another site's.
    pub(super) async fn take_vectors(&mut self, encoded: Encoded) -> Result<(), PeersError> {
        let (now, rng) = (self.shared.ids.clock().now(), self.shared.ids.rng().clone());
        let (is_own, effects) = self.vectors.encoded(encoded, now, rng.as_ref());
        for effect in effects {
            self.judge_vectors(effect).await?;
        }
        if is_own { self.tell_of_own().await } else { Ok(()) }
    }

    /// What the site says of itself.
    fn about(&self) -> SiteProfile {
        let about = &self.shared.about;
        let addresses = self.addresses.iter().take(MAX_ADDRESSES).cloned().collect();
        SiteProfile { title: about.title.clone(), url: about.url.clone(), addresses }
    }

    /// Where the card of an agent is, if others reach the site by an address.
    pub(super) fn card_url(&self, name: &AgentName) -> Option<String> {
        let base = self.shared.about.url.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/a2a/{name}/.well-known/agent-card.json"))
    }
}

/// The records without what the site said of itself: a site that tells of no agent does not tell of itself.
pub(super) fn without_site(mut wire: Vec<Vec<u8>>, own: SiteId) -> Vec<Vec<u8>> {
    wire.retain(|bytes| {
        Claim::decode(bytes).is_ok_and(|claim| claim.site() != own || *claim.subject() != Subject::Site)
    });
    wire
}
