//! What a model may call in one run: agents that take text, and sets of tools.
//!
//! Promises: every offer has a unique name that all model servers accept; results and descriptions are
//! bounded; a call that means nothing gives words for the model, never a failure of the run. It does not
//! count calls: the run does. [`ToolSource`] is the one place where a new kind of tools is added.

mod agent;
mod toolbox;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agentsite_egress::Egress;
use agentsite_protocol::mcp::{self, Round};
use serde_json::Value;

use super::model::{ToolCall, ToolSpec};
use crate::{Job, Toolbox};
use agent::AgentTool;
use toolbox::{Ordered, Stock, ToolboxSource, Use};

pub(super) use toolbox::ToolOutcome;

/// Longest name of a tool that every model server takes.
const MAX_TOOL_NAME: usize = 64;

/// Most bytes of an answer that go back to the model: about 8,000 tokens.
const MAX_RESULT: usize = 32 << 10;

/// Longest description of a tool; each turn pays for it again.
const MAX_DESCRIPTION: usize = 2_000;

/// Where tools come from.
#[derive(Debug, Clone)]
pub(super) struct ToolSource {
    /// As written in the agent's file.
    entry: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Agent(AgentTool),
    Toolbox(ToolboxSource),
}

impl ToolSource {
    /// Reads an entry of `tools` in an agent's file; `None` when it is none.
    pub(super) fn read(entry: &str, egress: &Egress) -> Option<Self> {
        let (scheme, target) = entry.split_once(':')?;
        let kind = match scheme {
            "agent" => Kind::Agent(AgentTool::read(target, egress)?),
            "mcp" => Kind::Toolbox(ToolboxSource::of_agent(target)?),
            _ => return None,
        };
        Some(Self { entry: entry.to_owned(), kind })
    }

    /// A local set of tools; without a label they are offered under their own names.
    pub(super) fn toolbox(label: &str, toolbox: Arc<dyn Toolbox>) -> Self {
        Self { entry: label.to_owned(), kind: Kind::Toolbox(ToolboxSource::at_hand(label, toolbox)) }
    }

    async fn offers(&self, job: &Job) -> Result<Vec<Offer>, String> {
        match &self.kind {
            Kind::Toolbox(tools) => tools.offers(job).await,
            Kind::Agent(agent) => {
                let name = format!("ask_{}", agent.label);
                let (description, schema) = (agent.describe(job).await?, AgentTool::schema());
                Ok(vec![Offer { name, description, schema, action: ToolAction::Ask(agent.clone()) }])
            }
        }
    }
}

/// Something that a model may call.
#[derive(Debug)]
struct Offer {
    /// The name it should have.
    name: String,
    description: String,
    schema: Value,
    action: ToolAction,
}

/// What is done when a model calls.
#[derive(Debug, Clone)]
enum ToolAction {
    Ask(AgentTool),
    Use(Arc<Stock>, Use),
}

/// All that a model may call in one run.
#[derive(Debug, Default)]
pub(super) struct Counter(Vec<(ToolSpec, ToolAction)>);

impl Counter {
    /// Asks every source what it offers now; the text names what is not offered and why.
    pub(super) async fn open(sources: &[ToolSource], job: &Job) -> (Self, Vec<String>) {
        let (mut counter, mut notes) = (Self::default(), Vec::new());
        for source in sources {
            match source.offers(job).await {
                Ok(offers) => offers.into_iter().for_each(|offer| counter.put(offer)),
                Err(why) => notes.push(format!("{} is not offered to the model: {why}", source.entry)),
            }
        }
        (counter, notes)
    }

    fn put(&mut self, offer: Offer) {
        let name = free_name(&offer.name, |name| self.0.iter().any(|(spec, _)| spec.name == name));
        let description = offer.description.chars().take(MAX_DESCRIPTION).collect();
        self.0.push((ToolSpec { name, description, schema: offer.schema }, offer.action));
    }

    /// How the offers are described to the model.
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// What a call means, or words for the model about what is wrong with it.
    pub(super) fn understand(&self, call: &ToolCall) -> Result<Order, String> {
        let Some((_, action)) = self.0.iter().find(|(spec, _)| spec.name == call.name) else {
            let names: Vec<&str> = self.0.iter().map(|(spec, _)| spec.name.as_str()).collect();
            let wrote = excerpt(&call.name, MAX_TOOL_NAME);
            return Err(format!("there is no tool `{wrote}`; there are: {}", names.join(", ")));
        };
        Ok(match action {
            ToolAction::Ask(agent) => Order::Ask(agent.clone(), AgentTool::message(&call.arguments)?),
            ToolAction::Use(stock, how) => match stock.understand(how, &call.arguments)? {
                Ordered::Call(call) => Order::Use(stock.clone(), call),
                Ordered::Answer(words) => Order::Known(call.name.clone(), words),
            },
        })
    }
}

/// A call of a model that is understood.
#[derive(Debug)]
pub(super) enum Order {
    /// An agent is asked.
    Ask(AgentTool, String),
    /// A tool is used.
    Use(Arc<Stock>, mcp::ToolCall),
    /// The answer is known already.
    Known(String, String),
}

impl Order {
    /// What happens, for people.
    pub(super) fn wording(&self) -> String {
        match self {
            Self::Ask(agent, message) => format!("asks {}: {message}", agent.label),
            Self::Use(stock, call) => stock.wording(call),
            Self::Known(name, _) => format!("looks up {name}"),
        }
    }

    /// How a tool is called; `None` when none is.
    pub(super) const fn tool_call(&self) -> Option<&mcp::ToolCall> {
        match self {
            Self::Use(_, call) => Some(call),
            Self::Ask(..) | Self::Known(..) => None,
        }
    }

    /// Does it; `round` holds what was answered to questions of the tool.
    pub(super) async fn carry_out(self, job: &Job, round: Round) -> ToolOutcome {
        let told = match self {
            Self::Known(_, words) => ToolOutcome::Answer(words),
            Self::Use(stock, call) => stock.call(job, mcp::ToolCall { round, ..call }).await,
            Self::Ask(agent, message) => match agent.ask(job, message).await {
                Ok(words) => ToolOutcome::Answer(words),
                Err(why) => ToolOutcome::Error(why),
            },
        };
        match told {
            ToolOutcome::Answer(words) => ToolOutcome::Answer(bounded(words)),
            ToolOutcome::Error(words) => ToolOutcome::Error(bounded(words)),
            question @ ToolOutcome::Question(_) => question,
        }
    }
}

/// The beginning of a text on one line, for people.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most).chain(['…']).collect()
}

/// A name for the model that no other tool has.
fn free_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let letters = wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    let plain: String = letters.take(MAX_TOOL_NAME).collect();
    let mut name = plain.clone();
    let mut number = 2;
    while taken(&name) {
        let suffix = format!("_{number}");
        name = format!("{}{suffix}", &plain[..plain.len().min(MAX_TOOL_NAME - suffix.len())]);
        number += 1;
    }
    name
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_RESULT {
        let mut end = MAX_RESULT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n[the answer was longer and is cut here]");
    }
    text
}
