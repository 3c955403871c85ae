//! What this site tells others: its public agents, itself, and nothing else.
//!
//! Promises: an agent is published only while it is public and the operator exposes it, and is taken back as
//! soon as it is not. Without any such agent the site does not publish itself either.

use std::collections::BTreeSet;

use agentsite_mesh::{AgentProfile, Claim, Input, SiteId, SiteProfile, Subject};
use agentsite_protocol::{AgentName, Visibility};

use super::MeshSession;
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
        for agent in &offered {
            match AgentProfile::of(&agent.card, agent.visibility, self.card_url(&agent.name).as_deref()) {
                Ok(profile) => inputs.push((Input::Publish { name: agent.name.clone(), profile }, None)),
                Err(error) => {
                    tracing::warn!(agent = %agent.name, %error, "Other sites do not learn of an agent.");
                }
            }
        }
        self.apply(inputs).await
    }

    /// What the site says of itself.
    fn about(&self) -> SiteProfile {
        let about = &self.shared.about;
        let addresses = self.addresses.iter().take(MAX_ADDRESSES).cloned().collect();
        SiteProfile { title: about.title.clone(), url: about.url.clone(), addresses }
    }

    /// Where the card of an agent is, if others reach the site by an address.
    fn card_url(&self, name: &AgentName) -> Option<String> {
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
