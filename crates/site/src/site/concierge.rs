//! Concierge: the agent that answers for the site itself. It takes a request in plain language, finds the
//! agents that could do it, compares them, hands over to the best, and says whom it asked and why.
//!
//! Promises: it only hands over to agents that the caller could call without it: those of this site, and
//! where none of them fits, those that other sites of the mesh publish, for callers who are known here. It
//! names its choice. Where no agent stands out it asks instead of guessing, once; where the first is down or
//! will not do it, the next is asked, a bounded number of times. Files go along, what the agent makes is
//! passed on as it comes, and when it asks back, the caller is asked and the answer is given to it. It calls
//! no other agent that the site only knows from elsewhere. What is said to itself (a greeting, "help", "who
//! are you?") it answers itself, with the agents that the caller may use. How well an agent fits is `find`'s
//! matter; what follows from it is `choice`'s.

mod choice;
mod handover;
mod small_talk;

use std::sync::{Arc, Weak};

use agentsite_host::{AgentLog, Builtin, Health, Job, Manifest, Reporter, Runner, Runtime};
use agentsite_peers::Peers;
use agentsite_protocol::{
    AgentName, Caller, Filter, MAX_MATCHES, MAX_QUERY, Message, Outcome, Part, Principal, Query, Role,
};
use futures::future::BoxFuture;

use super::{Inner, Site};
use crate::SiteError;
use crate::local_agents::Entry;
use choice::{Candidate, Choice, choose, is_sum, named};
use handover::PendingQuestion;
use small_talk::{SmallTalk, is_chinese, small_talk};

/// Agents named when none fits, so that the answer stays readable.
const MAX_NAMED: usize = 20;

/// Agents of other sites that are opened for one request.
const MAX_OPENED: usize = 2;

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
                Some(site) => ConciergeRun { site, job, report }.run().await,
                None => job.failed("the site is stopping"),
            }
        })
    }
}

/// One request to the concierge.
struct ConciergeRun {
    site: Site,
    job: Job,
    report: Reporter,
}

impl ConciergeRun {
    async fn run(self) -> Outcome {
        if let Some(asked) = PendingQuestion::of(&self.job) {
            return self.go_on(asked).await;
        }
        let caller = self.site.0.keys.caller_of(&self.job.owner);
        let request = Request::of(&self.job);
        let is_first = !request.was_asked && request.parts.iter().all(|part| part.text.is_some());
        if let Some(talk) = is_first.then(|| small_talk(&request.last)).flatten() {
            return self.chat(&caller, talk, &request.last).await;
        }
        let candidates = match self.candidates(&caller, &request).await {
            Ok(candidates) => candidates,
            Err(error) => return self.job.failed(error.to_string()),
        };
        let choice = match choose(candidates, !request.was_asked) {
            Choice::Nobody => self.elsewhere(&caller, &request).await,
            here => here,
        };
        match choice {
            Choice::Nobody => {
                let words = self.nobody(&caller, is_chinese(&request.last));
                Outcome::Rejected(self.job.words(words))
            }
            Choice::Unsure(some) => Outcome::InputRequired(self.job.words(unsure(&some))),
            Choice::These(order) => self.hand_over(order, request.parts).await,
        }
    }

    /// The agents that could do it, the best first; one that the caller named, or whose examples are of the
    /// same kind, before all others.
    async fn candidates(&self, caller: &Caller, request: &Request) -> Result<Vec<Candidate>, SiteError> {
        let agents = self.site.0.local.list(caller);
        let names: Vec<&AgentName> = agents.iter().map(|entry| &entry.manifest.name).collect();
        if let Some(name) = named(&request.last, &names) {
            return Ok(vec![Candidate::sure(name.clone(), "you named it")]);
        }
        let filter = Filter { owners: vec![Principal::admin().to_string()], ..Filter::default() };
        let text = request.whole[..request.whole.floor_char_boundary(MAX_QUERY)].to_owned();
        let query = Query { text, filter, limit: Some(MAX_MATCHES), ..Query::default() };
        let found = match self.site.0.search.find(caller, &query, "").await {
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
            let Some(entry) = self.site.0.local.get(&name) else { continue };
            if candidates.iter().all(|known| known.name != name) {
                let ready = entry.runner.health() == Health::Ready;
                candidates.push(Candidate::found(name, one, ready, is_narrow(&entry)));
            }
        }
        Ok(candidates)
    }

    /// Agents of other sites in the mesh that could do it; nobody for callers who are not known here, because
    /// this site does not relay.
    async fn elsewhere(&self, caller: &Caller, request: &Request) -> Choice {
        if caller.is_anonymous() || caller.is_peer() || !self.site.0.peers.is_enabled() {
            return Choice::Nobody;
        }
        let text = request.whole[..request.whole.floor_char_boundary(MAX_QUERY)].to_owned();
        let query = Query { text, limit: Some(MAX_MATCHES), ..Query::default() };
        let Ok(found) = self.site.0.search.find(caller, &query, "").await else { return Choice::Nobody };
        let mut candidates = Vec::new();
        for mut one in found.matches.into_iter().filter(|one| !one.local) {
            let Some(id) = one.id.parse().ok().filter(Peers::is_entry) else { continue };
            // Opened before it is chosen, because it has a name here only then.
            let Ok(name) = self.site.0.registry.open(caller, &id).await else { continue };
            one.description = format!("{} (an agent of another site)", one.description);
            candidates.push(Candidate::found(name, one, true, false));
            if candidates.len() == MAX_OPENED {
                break;
            }
        }
        choose(candidates, !request.was_asked)
    }

    /// Answers what is said to the concierge itself; no agent is asked.
    async fn chat(self, caller: &Caller, talk: SmallTalk, text: &str) -> Outcome {
        let chinese = is_chinese(text);
        let answer = match (talk, chinese) {
            (SmallTalk::Thanks, false) => "You are welcome. Ask me whenever you need something else.".into(),
            (SmallTalk::Thanks, true) => "不客气。需要别的就告诉我。".into(),
            (SmallTalk::Farewell, false) => "Goodbye!".into(),
            (SmallTalk::Farewell, true) => "再见！".into(),
            (SmallTalk::Greeting | SmallTalk::About, false) => {
                let site = &self.site.0.settings.site.name;
                let agents = self.agents(caller, false);
                format!(
                    "Hello! I am the concierge of {site}. Tell me in plain language what you need: I find the agent that can do \
                     it, ask it, and say which one I asked. {agents}"
                )
            }
            (SmallTalk::Greeting | SmallTalk::About, true) => {
                let site = &self.site.0.settings.site.name;
                let agents = self.agents(caller, true);
                format!(
                    "你好！我是 {site} 的接待员。请直接说你需要什么：我会找到合适的智能体，替你询问，并告诉你我问了谁。{agents}"
                )
            }
        };
        match self.report.text("answer", answer).await {
            Ok(()) => Outcome::Completed(None),
            Err(_) => Outcome::Canceled(None),
        }
    }

    /// The agents that this caller may use, each with what it does and an example.
    fn agents(&self, caller: &Caller, chinese: bool) -> String {
        let agents = self.site.0.local.list(caller);
        if agents.is_empty() {
            let none = "There is no agent here that you may use yet; ask the admin of this site for access.";
            return if chinese {
                "这里还没有你可以使用的智能体；请联系本站管理员。".into()
            } else {
                none.into()
            };
        }
        let mut lines = vec![if chinese { "可用的智能体：" } else { "Agents that you can use:" }.to_owned()];
        lines.extend(agents.iter().take(MAX_NAMED).map(|entry| line_of(entry, chinese)));
        if agents.len() > MAX_NAMED {
            let more = agents.len() - MAX_NAMED;
            lines.push(if chinese { format!("- 另有 {more} 个") } else { format!("- and {more} more") });
        }
        lines.join("\n")
    }

    /// That no agent fits, which there are, and what would help.
    fn nobody(&self, caller: &Caller, chinese: bool) -> String {
        let agents = self.agents(caller, chinese);
        if chinese {
            return format!(
                "没有适合这个请求的智能体。{agents}\n可以点名其中一个，换一种说法，或请管理员添加能做这件事的智能体。"
            );
        }
        format!(
            "No agent of this site fits this request. {agents}\nName one of them, say it in other words, or ask the admin of this \
             site to add an agent that can do it."
        )
    }
}

fn line_of(entry: &Entry, chinese: bool) -> String {
    let (name, about) = (&entry.manifest.name, &entry.manifest.description);
    let skills = entry.skills();
    let example = skills.iter().flat_map(|skill| &skill.examples).next();
    match example {
        Some(example) if chinese => format!("- {name}：{about}（例如“{example}”）"),
        Some(example) => format!("- {name}: {about} (for example \"{example}\")"),
        None => format!("- {name}: {about}"),
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

/// Whether an agent does one small thing only, so that a request must be near to it: what repeats a text
/// could be asked anything.
fn is_narrow(entry: &Entry) -> bool {
    matches!(entry.manifest.runtime, Runtime::Builtin(Builtin::Echo | Builtin::Clock | Builtin::Calc))
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
    /// The message of a job; after a question of ours, the request before it and the answer. An answer that
    /// only names an agent is no part of it.
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
