//! Vectors of a session: those of the site's own agents are made, and samples of others' are checked.
//!
//! Promises: encoding never holds up the session; one text or agent is at the encoder at a time. An agent is
//! published without vectors when they are not there within [`PUBLISH_WAIT`], and again when they are. What
//! was made is kept as long as the agent says the same. A site that cannot encode publishes without vectors
//! and checks none. What is waiting is bounded: by the agents of this site, and by [`VectorChecks`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::vector_check::{CheckInput, CheckPolicy, VectorChecks};
use agentsite_mesh::{
    AgentProfile, AgentVectors, PROTOCOL_MODEL, Record, RecordId, SiteId, VectorCodes, VectorText,
};
use agentsite_protocol::{AgentName, Rng, Timestamp};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::local::LocalSite;

pub(super) use agentsite_mesh::vector_check::CheckEffect;

/// How long a new agent waits for its vectors: some twenty texts are encoded meanwhile, and what is visible
/// within a second stays so.
pub(super) const PUBLISH_WAIT: Duration = Duration::from_millis(500);

/// Agents and checks that are encoded at once: after each batch all agents are looked at once.
const AT_ONCE: usize = 32;

/// What the encoder is asked for.
#[derive(Debug, Clone)]
enum Job {
    /// The vectors of an agent of this site.
    Own(AgentName, Vec<VectorText>),
    /// The vector of one text of a record.
    Check(RecordId, VectorText),
}

impl Job {
    fn texts(&self) -> &[VectorText] {
        match self {
            Self::Own(_, texts) => texts,
            Self::Check(_, text) => std::slice::from_ref(text),
        }
    }
}

/// What the encoder gave for each job; none when it could not.
pub(super) struct Encoded(Vec<(Job, Option<Vec<VectorCodes>>)>);

/// The vectors of one agent of this site.
#[derive(Debug)]
struct OwnVectors {
    texts: Vec<VectorText>,
    /// None while they are not there.
    vectors: Option<AgentVectors>,
    /// Since when they are asked for; none when the encoder has answered.
    since: Option<Timestamp>,
}

/// What is said of an agent now.
pub(super) enum Readiness {
    /// This is published.
    Publish(AgentProfile),
    /// Its vectors are there in a moment.
    Wait,
}

/// Makes the vectors of a session, and checks those of others.
pub(super) struct SessionVectors {
    local: Arc<dyn LocalSite>,
    checks: VectorChecks,
    own: BTreeMap<AgentName, OwnVectors>,
    waiting: VecDeque<Job>,
    /// One at most; dropped with the session.
    running: JoinSet<Encoded>,
}

impl SessionVectors {
    pub(super) fn new(local: Arc<dyn LocalSite>, now: Timestamp) -> Self {
        let checks = VectorChecks::new(CheckPolicy::default(), now);
        Self { local, checks, own: BTreeMap::new(), waiting: VecDeque::new(), running: JoinSet::new() }
    }

    /// Keeps vectors of these agents only.
    pub(super) fn retain(&mut self, is_offered: impl Fn(&AgentName) -> bool) {
        self.own.retain(|name, _| is_offered(name));
        self.waiting.retain(|job| !matches!(job, Job::Own(name, _) if !is_offered(name)));
    }

    /// What is published of an agent; `held` is what was published before.
    pub(super) fn ready(
        &mut self,
        name: &AgentName,
        profile: AgentProfile,
        held: Option<&AgentProfile>,
        now: Timestamp,
    ) -> Readiness {
        if let Some(vectors) = held.and_then(AgentProfile::vectors)
            && profile.clone().with_vectors(vectors.clone()).is_ok_and(|same| Some(&same) == held)
        {
            return Readiness::Publish(held.cloned().unwrap_or(profile));
        }
        let texts = profile.texts();
        if self.own.get(name).is_none_or(|own| own.texts != texts) {
            self.waiting.retain(|job| !matches!(job, Job::Own(other, _) if other == name));
            self.waiting.push_front(Job::Own(name.clone(), texts.clone()));
            let own = OwnVectors { texts, vectors: None, since: Some(now) };
            self.own.insert(name.clone(), own);
        }
        let Some(own) = self.own.get(name) else { return Readiness::Publish(profile) };
        match (&own.vectors, own.since) {
            (Some(vectors), _) => {
                Readiness::Publish(profile.clone().with_vectors(vectors.clone()).unwrap_or(profile))
            }
            (None, Some(since)) if now.since(since) < PUBLISH_WAIT => Readiness::Wait,
            (None, _) => Readiness::Publish(profile),
        }
    }

    /// How long until an agent that waits for its vectors is published without; none when none waits.
    pub(super) fn patience(&self, now: Timestamp) -> Option<Duration> {
        let waits = self.own.values().filter_map(|own| own.since).map(|since| since.plus(PUBLISH_WAIT));
        waits.filter(|until| *until > now).min().map(|until| until.since(now))
    }

    /// An agent of another site is listed: perhaps one of its vectors is checked.
    pub(super) fn listed(&mut self, record: &Arc<Record>, now: Timestamp, rng: &dyn Rng) {
        for effect in self.checks.apply(CheckInput::Listed(record.clone()), now, rng) {
            if let CheckEffect::Encode { record, text } = effect {
                self.waiting.push_back(Job::Check(record, text));
            }
        }
    }

    /// No vector of this site is used until then, as was decided before.
    pub(super) fn distrust(&mut self, site: SiteId, until: Timestamp) {
        self.checks.distrust(site, until);
    }

    /// Whether the vectors of a site are used.
    pub(super) fn trusts(&self, site: &SiteId, now: Timestamp) -> bool {
        self.checks.trusts(site, now)
    }

    /// Waits for the encoder; for ever while it has nothing to do. Safe to drop.
    pub(super) async fn next(&mut self) -> Encoded {
        loop {
            if self.running.is_empty() {
                if self.waiting.is_empty() {
                    return std::future::pending().await;
                }
                let jobs = self.waiting.drain(..self.waiting.len().min(AT_ONCE)).collect();
                let span = tracing::debug_span!("encode");
                self.running.spawn(encode(self.local.clone(), jobs).instrument(span));
            }
            // An encoder that panics has said so; its text is published or taken without vectors.
            if let Some(Ok(encoded)) = self.running.join_next().await {
                return encoded;
            }
        }
    }

    /// Takes in what the encoder gave: true when an agent of this site has its vectors now, and what the
    /// checks want done.
    pub(super) fn encoded(
        &mut self,
        encoded: Encoded,
        now: Timestamp,
        rng: &dyn Rng,
    ) -> (bool, Vec<CheckEffect>) {
        let (mut is_own, mut effects) = (false, Vec::new());
        for (job, codes) in encoded.0 {
            match job {
                Job::Own(name, texts) => {
                    if let Some(own) = self.own.get_mut(&name).filter(|own| own.texts == texts) {
                        own.since = None;
                        own.vectors = codes.and_then(|codes| AgentVectors::new(PROTOCOL_MODEL, codes).ok());
                        is_own = true;
                    }
                }
                Job::Check(record, _) => {
                    let codes = codes.and_then(|codes| codes.into_iter().next());
                    effects.extend(self.checks.apply(CheckInput::Encoded { record, codes }, now, rng));
                }
            }
        }
        (is_own, effects)
    }
}

async fn encode(local: Arc<dyn LocalSite>, jobs: Vec<Job>) -> Encoded {
    let texts: Vec<VectorText> = jobs.iter().flat_map(Job::texts).cloned().collect();
    let count = texts.len();
    let codes = local.encode(texts).await.filter(|codes| codes.len() == count);
    let mut codes = codes.map(Vec::into_iter);
    let done = jobs.into_iter().map(|job| {
        let own = codes.as_mut().map(|codes| codes.take(job.texts().len()).collect());
        (job, own)
    });
    Encoded(done.collect())
}

#[cfg(test)]
mod tests {
    use agentsite_mesh::story::{profile, vectors};
    use agentsite_protocol::{Pseudonym, SigningKey};
    use futures::future::BoxFuture;
    use tokio::sync::watch;

    use super::*;
    use crate::local::OfferedAgent;

    /// A site that never encodes.
    #[derive(Debug)]
    struct Silent;

    impl LocalSite for Silent {
        fn agents(&self) -> Vec<OfferedAgent> {
            Vec::new()
        }

        fn changes(&self) -> watch::Receiver<u64> {
            watch::Sender::new(0).subscribe()
        }

        fn names_like(&self, _: &[String]) -> Vec<AgentName> {
            Vec::new()
        }

        fn open_to(&self, _: &str) -> Vec<AgentName> {
            Vec::new()
        }

        fn pseudonym(&self, user: &str, did: &str) -> Pseudonym {
            Pseudonym::of(&[1; 32], user, did)
        }

        fn key(&self) -> SigningKey {
            agentsite_mesh::story::Site::new(1).key
        }

        fn encode(&self, _: Vec<VectorText>) -> BoxFuture<'static, Option<Vec<VectorCodes>>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn what_was_published_before_is_not_encoded_again_unless_it_changed() {
        let at = Timestamp::from_millis;
        let mut session = SessionVectors::new(Arc::new(Silent), at(0));
        let (name, bare): (AgentName, _) = ("calc".parse().unwrap(), profile("calc", "Adds"));
        let held = bare.clone().with_vectors(vectors(1)).unwrap();
        let said = session.ready(&name, bare, Some(&held), at(0));
        assert!(matches!(said, Readiness::Publish(profile) if profile == held));
        assert!(session.waiting.is_empty() && session.patience(at(0)).is_none());
        let other = profile("calc", "Multiplies");
        assert!(matches!(session.ready(&name, other.clone(), Some(&held), at(0)), Readiness::Wait));
        assert_eq!(
            (session.waiting.len(), session.patience(at(100))),
            (1, Some(PUBLISH_WAIT - Duration::from_millis(100)))
        );
        let said = session.ready(&name, other.clone(), Some(&held), at(500));
        assert!(
            matches!(said, Readiness::Publish(profile) if profile == other),
            "without vectors, after a while"
        );
        assert_eq!(session.waiting.len(), 1);
    }
}
