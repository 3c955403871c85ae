//! `/llms.txt` and `/llms-full.txt`: what a model needs to use the site, as plain Markdown.
//!
//! Promises: shows only agents that this caller may call; foreign text stays on its line, so that it cannot
//! pass for a heading of ours. The short form names the agents, the full one also what they can be asked and
//! where each is called.

use agentsite_site::{AgentView, SiteSection};

/// Most agents that are listed one by one; the others are found by searching.
const MAX_AGENTS: usize = 500;

/// Examples told of each skill.
const EXAMPLES: usize = 3;

/// How much is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Short,
    Full,
}

/// Writes the text.
pub(super) fn write(site: &SiteSection, agents: &[AgentView], base: &str, extent: Extent) -> String {
    let mut text = format!("# {}\n\n", line(&site.name));
    if !site.description.is_empty() {
        text.push_str(&format!("> {}\n\n", line(&site.description)));
    }
    text.push_str(&how_to_call(base));
    text.push_str("## Agents\n\n");
    for agent in agents.iter().take(MAX_AGENTS) {
        tell(&mut text, agent, base, extent);
    }
    if agents.len() > MAX_AGENTS {
        text.push_str(&format!("- {} more: search for them.\n", agents.len() - MAX_AGENTS));
    }
    text.push_str(&format!(
        "\n## Documents\n\n\
         - [Catalogue]({base}/.well-known/ai-catalog.json): the public agents, machine-readable\n\
         - [Card of the site]({base}/.well-known/agent-card.json): A2A\n\
         - [Card of the site as a server of tools]({base}/.well-known/mcp/server-card.json): MCP\n\
         - [OpenAPI]({base}/openapi.json): REST and discovery interfaces\n\
         - [All in full]({base}/llms-full.txt): agents with skills and examples\n"
    ));
    text
}

fn how_to_call(base: &str) -> String {
    format!(
        "Agents that speak A2A 1.0 and MCP. Say what you need to {base}/a2a and one is chosen, or name one yourself.\n\n\
         ## How to call\n\n\
         - A2A: POST SendMessage by JSON-RPC to an agent's address, such as {base}/a2a/NAME (header A2A-Version: 1.0)\n\
         - MCP: streamable HTTP at {base}/mcp for the whole site, or {base}/mcp/NAME for one agent\n\
         - As if it were a model: {base}/v1/chat/completions with the agent's name as the model\n\
         - To find one: POST {base}/search with {{\"query\":{{\"text\":\"what you need\"}}}}\n\n"
    )
}

fn tell(text: &mut String, agent: &AgentView, base: &str, extent: Extent) {
    let name = &agent.name;
    let card = format!("{base}/a2a/{name}/.well-known/agent-card.json");
    match extent {
        Extent::Short => {
            text.push_str(&format!(
                "- [{name}]({base}/a2a/{name}): {} ([card]({card}))\n",
                line(&agent.description)
            ));
        }
        Extent::Full => {
            text.push_str(&format!("### {name}\n\n{}\n\n", line(&agent.description)));
            text.push_str(&format!("- A2A: {base}/a2a/{name}\n- MCP: {base}/mcp/{name}\n- Card: {card}\n"));
        }
    }
    for skill in &agent.skills {
        let mark = if extent == Extent::Full { "-" } else { "  -" };
        text.push_str(&format!("{mark} {}: {}\n", line(&skill.name), line(&skill.description)));
        if extent == Extent::Full {
            for example in skill.examples.iter().take(EXAMPLES) {
                text.push_str(&format!("  - such as: {}\n", line(example)));
            }
        }
    }
    if extent == Extent::Full {
        text.push('\n');
    }
}

/// Foreign text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_its_line() {
        assert_eq!(line(" a\n# b\t c "), "a # b c");
    }
}
