//! Concierge: the agent that answers for the site itself. It takes a message in plain language, picks the agent whose words fit best, hands
//! over, and says whom it asked.
//!
//! Promises: it only hands over to agents that the caller could call without it; it names its choice. With no match it says which
//! agents there are.
//! It compares words, weighted by how rare they are; meaning is the matter of search.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use agentsite_host::{AgentLog, Job, Manifest, Reporter, Runner};
use agentsite_protocol::{AgentName, Caller, Outcome, Owner, Step};
use futures::future::BoxFuture;

use crate::hub::{Entry, Hub};

/// The concierge's name among the agents of a site.
pub(crate) const NAME: &str = "concierge";

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

/// Weight of a word in an agent's examples relative to one in its description: examples are how people ask.
const EXAMPLE_WEIGHT: f64 = 2.0;

/// Weight of a word in the agent's name.
const NAME_WEIGHT: f64 = 3.0;

/// Words so common that they say nothing about what is wanted.
const COMMON: [&str; 34] = [
    "a", "an", "and", "are", "be", "can", "do", "does", "for", "from", "give", "how", "i", "in", "is", "it",
    "me", "my", "of", "on", "or", "please", "tell", "that", "the", "this", "to", "want", "what", "which",
    "who", "with", "would", "you",
];

/// Routes messages to the agents of its site.
#[derive(Debug)]
struct Concierge {
    hub: Weak<Hub>,
}

/// The entry of the concierge, which belongs to the site and is not listed.
pub(crate) fn entry(hub: &Arc<Hub>, log: AgentLog) -> Entry {
    let manifest = Manifest::read(MANIFEST).expect("the built-in manifest is sound");
    let runner = Arc::new(Concierge { hub: Arc::downgrade(hub) });
    Entry { hidden: true, ..Entry::new(manifest, runner, log, None) }
}

impl Runner for Concierge {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let hub = self.hub.clone();
        Box::pin(async move {
            let Some(hub) = hub.upgrade() else { return job.failed("the site is stopping") };
            let text = job.message.plain_text();
            let agents = reachable(&hub, &job.owner);
            let Some(choice) = choose(&text, &agents) else {
                return Outcome::Rejected(job.words(nobody(&agents)));
            };
            if report.step(Step::Status(job.words(format!("I ask {choice}.")))).await.is_err() {
                return Outcome::Canceled(None);
            }
            let asked = tokio::select! {
                answer = job.calls.call(job.from(), choice.clone(), text) => answer,
                () = job.cancel.cancelled() => return Outcome::Canceled(None),
            };
            match asked {
                Ok(answer) => {
                    let _ = report.text("answer", answer).await;
                    Outcome::Completed(Some(job.words(format!("I asked {choice}."))))
                }
                Err(error) => job.failed(format!("I asked {choice}; it said: {error}")),
            }
        })
    }
}

/// The agents that this owner could call without the concierge. What a key may do is not known here, so keys and strangers are
/// taken to public agents only.
fn reachable(hub: &Hub, owner: &Owner) -> Vec<Arc<Entry>> {
    let caller = match owner.as_str() {
        "local" | "admin" => Caller::admin(),
        _ => Caller::anonymous(std::net::Ipv4Addr::UNSPECIFIED.into()),
    };
    hub.list(&caller)
}

fn nobody(agents: &[Arc<Entry>]) -> String {
    let names: Vec<&str> = agents.iter().map(|entry| entry.manifest.name.as_str()).collect();
    format!("I found no agent for this. There are: {}. Name one, or say it in other words.", names.join(", "))
}

/// The agent whose words fit best; `None` when no word that says anything fits.
fn choose(text: &str, agents: &[Arc<Entry>]) -> Option<AgentName> {
    ranked(text, agents).into_iter().next().map(|(_, entry)| entry.manifest.name.clone())
}

/// The agents whose words fit, each with how well, the best first.
pub(crate) fn ranked(text: &str, agents: &[Arc<Entry>]) -> Vec<(f64, Arc<Entry>)> {
    let wanted: HashSet<String> = words(text).collect();
    let profiles: Vec<HashMap<String, f64>> = agents.iter().map(|entry| profile(entry)).collect();
    let rarity = |word: &String| {
        let known = profiles.iter().filter(|profile| profile.contains_key(word)).count();
        ((agents.len() + 1) as f64 / (known + 1) as f64).ln() + 0.1
    };
    let score = |profile: &HashMap<String, f64>| -> f64 {
        wanted.iter().filter_map(|word| profile.get(word).map(|weight| weight * rarity(word))).sum()
    };
    let scored = agents.iter().zip(&profiles).map(|(entry, profile)| (score(profile), entry.clone()));
    let mut fits: Vec<(f64, Arc<Entry>)> = scored.filter(|(score, _)| *score > 0.0).collect();
    fits.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.manifest.name.cmp(&b.1.manifest.name)));
    fits
}

/// The words an agent is known by, with their weights.
fn profile(entry: &Entry) -> HashMap<String, f64> {
    let mut profile = HashMap::new();
    let mut learn = |text: &str, weight: f64| {
        for word in words(text) {
            let known: &mut f64 = profile.entry(word).or_default();
            *known = known.max(weight);
        }
    };
    learn(&entry.manifest.description, 1.0);
    learn(entry.manifest.name.as_str(), NAME_WEIGHT);
    for skill in entry.skills() {
        learn(&skill.name, 1.0);
        learn(&skill.description, 1.0);
        skill.tags.iter().for_each(|tag| learn(tag, EXAMPLE_WEIGHT));
        skill.examples.iter().for_each(|example| learn(example, EXAMPLE_WEIGHT));
    }
    profile
}

/// Words in lower case without the common ones; numbers and signs of arithmetic each become one word of their kind, so that a sum is
/// recognised whatever its numbers are.
fn words(text: &str) -> impl Iterator<Item = String> {
    let signs = text.chars().any(|c| matches!(c, '+' | '*' | '/' | '^' | '×' | '÷' | '='))
        && text.contains(|c: char| c.is_ascii_digit());
    let sign = signs.then(|| "#sum".to_owned());
    let plain = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| {
            if word.bytes().all(|byte| byte.is_ascii_digit()) {
                "#number".into()
            } else {
                word.to_lowercase()
            }
        })
        .filter(|word| !COMMON.contains(&word.as_str()));
    plain.collect::<Vec<_>>().into_iter().chain(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;
    use agentsite_host::ScriptedRunner;

    fn agent(name: &str, description: &str, example: &str) -> Arc<Entry> {
        let text = format!(
            "name = \"{name}\"\ndescription = \"{description}\"\n[[skills]]\nid = \"s\"\ndescription = \"{description}\"\nexamples = [\"{example}\"]\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        let runner = Arc::new(ScriptedRunner::new().echo());
        Arc::new(Entry::new(
            Manifest::read(&text).unwrap(),
            runner,
            AgentLog::new(Arc::new(SystemClock)),
            None,
        ))
    }

    fn site() -> Vec<Arc<Entry>> {
        vec![
            agent("calc", "Works out arithmetic expressions", "what is 2 + 2?"),
            agent("clock", "Tells the time in any place", "what time is it in Tokyo?"),
            agent("upper", "Turns text into capital letters", "make this loud: hello"),
        ]
    }

    #[test]
    fn the_agent_whose_words_fit_is_chosen() {
        for (text, name) in [
            ("what is 17 * 23?", "calc"),
            ("what time is it in Berlin", "clock"),
            ("make hello loud", "upper"),
            ("ask upper: good morning", "upper"),
        ] {
            assert_eq!(choose(text, &site()).unwrap().as_str(), name, "{text}");
        }
    }

    #[test]
    fn nobody_is_chosen_when_nothing_fits() {
        assert_eq!(choose("bake me a cake", &site()), None);
        assert_eq!(choose("", &site()), None);
        assert!(nobody(&site()).contains("calc, clock, upper"));
    }
}
