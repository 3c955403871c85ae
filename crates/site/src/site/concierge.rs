//! Concierge: the agent that answers for the site itself. It takes a request in plain language, finds the agents that could do it, compares them, hands
//! over to the best, and says whom it asked and why.
//!
//! Promises: it only hands over to agents of this site that the caller could call without it. It names its choice. Where nobody stands out it asks
//! instead of guessing, once; where the first is down or will not do it, the next is asked, a bounded number of times. Files go along, what the agent makes
//! is passed on as it comes, and when it asks back, the caller is asked and the answer is given to it. It calls no agent that the site only knows from
//! elsewhere. How well an agent fits is `find`'s matter; what follows from it is `choice`'s.

mod choice;
mod errand;

use std::sync::{Arc, Weak};

use agentsite_host::{AgentLog, Health, Job, Manifest, Reporter, Runner};
use agentsite_protocol::{
    AgentName, Caller, Filter, KeyId, MAX_MATCHES, MAX_QUERY, Message, Outcome, Owner, Part, Query, Role,
};
use futures::future::BoxFuture;

use super::listings::OWN_OWNER;
use super::{Inner, Site};
use crate::SiteError;
use crate::hub::Entry;
use choice::{Candidate, Choice, choose, is_sum, named};
use errand::Asked;

/// The concierge's name among the agents of a site.
pub(super) const NAME: &str = "concierge";

/// Agents named when none fits, so that the answer stays readable.
const MAX_NAMED: usize = 20;

const MANIFEST: &str = r#"
name = "concierge"
description = "Finds the agent of this site that can do what you ask, hands over, and says whom it asked"
visibility = "public"
[[skills]]
id = "ask-anyone"
name = "Ask anyone who can"
description = "Takes a request in plain language and gives it to the agent that fits best"
tags = ["routing"]
examples = ["what is 17 * 23?", "what time is it in Tokyo?"]
[runtime]
kind = "builtin"
builtin = "echo"
[limits]
timeout = "5m"
concurrency = 256
"#;

/// Routes messages to the agents of its site.
#[derive(Debug)]
struct Concierge {
    site: Weak<Inner>,
}

/// The entry of the concierge, which belongs to the site and is not listed.
pub(super) fn entry(site: Weak<Inner>, log: AgentLog) -> Entry {
    let manifest = Manifest::read(MANIFEST).expect("the built-in manifest is sound");
    Entry { hidden: true, ..Entry::new(manifest, Arc::new(Concierge { site }), log, None) }
}

impl Runner for Concierge {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let site = self.site.upgrade().map(Site);
        Box::pin(async move {
            match site {
                Some(site) => Errand { site, job, report }.run().await,
                None => job.failed("the site is stopping"),
            }
        })
    }
}

/// One request to the concierge.
struct Errand {
    site: Site,
    job: Job,
    report: Reporter,
}

impl Errand {
    async fn run(self) -> Outcome {
        if let Some(asked) = Asked::of(&self.job) {
            return self.go_on(asked).await;
        }
        let caller = self.site.caller_of(&self.job.owner);
        let request = Request::of(&self.job);
        let candidates = match self.candidates(&caller, &request).await {
            Ok(candidates) => candidates,
            Err(error) => return self.job.failed(error.to_string()),
        };
        match choose(candidates, !request.was_asked) {
            Choice::Nobody => Outcome::Rejected(self.job.words(self.nobody(&caller))),
            Choice::Unsure(some) => Outcome::InputRequired(self.job.words(unsure(&some))),
            Choice::These(order) => self.hand_over(order, request.parts).await,
        }
    }

    /// The agents that could do it, the best first; one that the caller named, or whose examples are of the same kind, before all others.
    async fn candidates(&self, caller: &Caller, request: &Request) -> Result<Vec<Candidate>, SiteError> {
        let agents = self.site.0.hub.list(caller);
        let names: Vec<&AgentName> = agents.iter().map(|entry| &entry.manifest.name).collect();
        if let Some(name) = named(&request.last, &names) {
            return Ok(vec![Candidate::sure(name.clone(), "you named it")]);
        }
        let filter = Filter { owners: vec![OWN_OWNER.into()], ..Filter::default() };
        let text = request.whole[..request.whole.floor_char_boundary(MAX_QUERY)].to_owned();
        let query = Query { text, filter, limit: Some(MAX_MATCHES), ..Query::default() };
        let found = match self.site.find(caller, &query, "").await {
            Err(SiteError::BadQuery(_)) => Vec::new(),
            found => found?.matches,
        };
        let mut candidates: Vec<Candidate> = Vec::new();
        let sums = is_sum(&request.whole).then(|| agents.iter().filter(|entry| does_sums(entry)));
        for entry in sums.into_iter().flatten() {
            candidates.push(Candidate::sure(entry.manifest.name.clone(), "it works out sums"));
        }
        for one in found.into_iter().filter(|one| one.local) {
            let Ok(name) = one.name.parse::<AgentName>() else { continue };
            let Some(entry) = self.site.0.hub.get(&name) else { continue };
            if candidates.iter().all(|known| known.name != name) {
                let ready = entry.runner.health() == Health::Ready;
                candidates.push(Candidate::found(name, one, ready));
            }
        }
        Ok(candidates)
    }

    fn nobody(&self, caller: &Caller) -> String {
        let agents = self.site.0.hub.list(caller);
        let mut names: Vec<&str> =
            agents.iter().take(MAX_NAMED).map(|entry| entry.manifest.name.as_str()).collect();
        if agents.len() > MAX_NAMED {
            names.push("…");
        }
        format!(
            "I found no agent for this. There are: {}. Name one, or say it in other words.",
            names.join(", ")
        )
    }
}

fn unsure(some: &[Candidate]) -> String {
    let line = |one: &Candidate| format!("- {}: {} ({})", one.name, one.about, one.why);
    let lines: Vec<String> = some.iter().map(line).collect();
    format!(
        "I am not sure who should do this. There are:\n{}\nName one, or say more about what you need.",
        lines.join("\n")
    )
}

/// Whether people ask this agent to work out sums.
fn does_sums(entry: &Entry) -> bool {
    entry.skills().iter().any(|skill| skill.examples.iter().any(|example| is_sum(example)))
}

/// What the caller wants.
struct Request {
    /// What is handed over: the words, and the files of everything that was said.
    parts: Vec<Part>,
    /// What is searched for.
    whole: String,
    /// What was said last.
    last: String,
    /// Whether the concierge has asked back before.
    was_asked: bool,
}

impl Request {
    /// The message of a job; after a question of ours, the request before it and the answer. An answer that only names an agent is no part of it.
    fn of(job: &Job) -> Self {
        let last = job.message.plain_text();
        let said: Vec<&Message> = job.history.iter().filter(|message| message.role == Role::User).collect();
        let (text, whole) = match said.first().map(|first| first.plain_text()) {
            None => (last.clone(), last.clone()),
            Some(first) if last.split_whitespace().count() <= 1 => {
                let whole = format!("{first}\n{last}");
                (first, whole)
            }
            Some(first) => {
                let both = format!("{first}\n{last}");
                (both.clone(), both)
            }
        };
        let files = said.iter().copied().chain([&job.message]).flat_map(|message| &message.parts);
        let words = (!text.trim().is_empty()).then(|| Part::text(text));
        let parts = words.into_iter().chain(files.filter(|part| part.text.is_none()).cloned()).collect();
        Self { parts, whole, last, was_asked: !said.is_empty() }
    }
}

impl Site {
    /// The caller behind an owner, with no more powers than it has now: a key as it is kept, a token while it is good. Whoever is not known here counts
    /// as unknown.
    pub(super) fn caller_of(&self, owner: &Owner) -> Caller {
        let unknown = || Caller::anonymous(std::net::Ipv4Addr::UNSPECIFIED.into());
        match owner.as_str().split_once(':') {
            None if owner.is_admin() => Caller::admin(),
            Some(("key", id)) => {
                let now = self.ids().clock().now();
                let holds = |id: KeyId| {
                    let keys = self.0.keys.list();
                    let key = keys.into_iter().find(|key| key.id == id)?;
                    key.expires_at.is_none_or(|end| end > now).then(|| Caller::key(&id, key.scopes))
                };
                id.parse().ok().and_then(holds).unwrap_or_else(unknown)
            }
            Some(("user", _)) => {
                self.0.tokens.as_ref().and_then(|tokens| tokens.holder(owner)).unwrap_or_else(unknown)
            }
            _ => unknown(),
        }
    }
}
