//! The twins of the pages about agents: the site, the hub, one agent.
//!
//! Promises: shows only agents that this caller may see; commands can be copied as they stand, because text
//! in them is quoted for the shell. It decides nothing and calls no agent.

use agentsite_protocol::listing::Listing;
use agentsite_protocol::{AgentName, Caller, Skill, Visibility};
use agentsite_site::AgentView;

use super::line;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::hub as every;

/// Words to call an agent with that names no example of its own.
const GREETING: &str = "hello";

/// Examples shown of each skill; more would bury the next agent.
const EXAMPLES: usize = 3;

/// Most agents of the hub's twin; beyond that a search is the better way.
const MAX_AGENTS: usize = 1_000;

/// Where the line to copy gets its message id.
const MESSAGE_ID: &str = "MESSAGE-ID";

/// The site: who asks, its agents, and where to continue.
pub(super) fn home(front: &Front, caller: &Caller, base: &str) -> String {
    let site = &front.site.settings().site;
    let mut text = format!("# {}\n\n", line(&site.name));
    if !site.description.is_empty() {
        text.push_str(&format!("> {}\n\n", line(&site.description)));
    }
    text.push_str(&format!("You are {}.\n\n## Agents\n\n", who(caller)));
    let agents = front.site.agents().list(caller);
    if agents.is_empty() {
        text.push_str(no_agents(caller));
    }
    for agent in agents.iter().take(MAX_AGENTS) {
        text.push_str(&format!("### [{}]({base}/hub/{}.md)\n\n", agent.name, agent.name));
        text.push_str(&format!("{} ({})\n\n", line(&agent.description), facts(agent)));
        text.push_str(&format!("```sh\n{}\n{}\n```\n\n", call_line(agent), curl_line(agent, base)));
    }
    if !caller.is_admin() {
        text.push_str(
            "Do you run this site? On its machine, run `agentsite open`, or open the link that it prints.\n\n",
        );
    }
    text.push_str(&format!(
        "## Pages\n\n- [Hub]({base}/hub.md)\n- [New agent]({base}/new.md)\n- [Register an agent]({base}/register.md)\n- [Chat]({base}/chat.md)\n- [Tasks]({base}/tasks.md)\n\
         - [Network]({base}/network.md)\n- [Operations]({base}/ops.md)\n- [HTTP interfaces]({base}/openapi.json)\n- [For models]({base}/llms.txt)\n"
    ));
    text
}

/// Every agent, of this site and from elsewhere.
pub(super) async fn hub(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    let mut text = format!(
        "# Agents\n\nAsk for what you need: `POST {base}/search` with `{{\"query\":{{\"text\":\"…\"}}}}`; with a key `POST {base}/api/find`, narrowed by \
         `filter`: `tags`, `protocols`, `inputModes`, `outputModes`, `regions`, `owners`, `live`, `maxPrice`, `minTrust`. How agents are spread over them: `POST {base}/explore`.\n\n\
         | agent | what it does | owner | proof | state | visibility | trust | price |\n|---|---|---|---|---|---|---|---|\n"
    );
    let all = every::all(&front.site, caller, base).await?;
    for listing in all.iter().take(MAX_AGENTS) {
        text.push_str(&row(listing, base));
    }
    if all.len() > MAX_AGENTS {
        text.push_str(&format!("\n{} more: search for them.\n", all.len() - MAX_AGENTS));
    }
    Ok(text)
}

fn row(listing: &Listing, base: &str) -> String {
    let key = if listing.local { listing.name.clone() } else { listing.id.to_string() };
    format!(
        "| [{}]({base}/hub/{}.md) | {} | {} | {} | {} | {} | {} | {} |\n",
        line(&listing.name),
        line(&key),
        line(&listing.description),
        line(listing.owner.as_str()),
        word(&listing.proof),
        reachability(listing),
        seen(listing.visibility),
        listing.trust,
        listing.price.map(|price| price.to_string()).unwrap_or_default()
    )
}

/// Whether an agent answers, as far as anybody has checked, and when that was.
fn reachability(listing: &Listing) -> String {
    match listing.checked_at {
        Some(checked) if !listing.local => format!("{} (checked {checked})", listing.reachability()),
        _ => listing.reachability().to_owned(),
    }
}

/// One agent: what it can do and how it is called.
pub(super) async fn one(front: &Front, caller: &Caller, id: &str, base: &str) -> Result<String, Failure> {
    if let Ok(name) = id.parse::<AgentName>() {
        return Ok(own(&front.site.agents().get(caller, &name)?, base));
    }
    let found = every::one(&front.site, caller, id, base).await?;
    found.map(|listing| elsewhere(&listing, base)).ok_or_else(|| {
        Failure::new(Fault::NoSuchAgent, "there is no agent of this name; the hub lists them at /hub.md")
    })
}

fn own(agent: &AgentView, base: &str) -> String {
    let name = &agent.name;
    let mut text = format!("# {name}\n\n{}\n\n{}\n\n", line(&agent.description), facts(agent));
    if let Some(reason) = &agent.reason {
        text.push_str(&format!("It is not ready: {}\n\n", line(reason)));
    }
    skills(&mut text, &agent.skills);
    text.push_str(&format!("## Call it\n\n```sh\n{}\n{}\n```\n\n", call_line(agent), curl_line(agent, base)));
    text.push_str(&format!(
        "- A2A: {base}/a2a/{name}\n- MCP: {base}/mcp/{name}\n- Card: {base}/a2a/{name}/.well-known/agent-card.json\n- API: GET {base}/api/agents/{name}; how it was used: …/usage; changing it: …/manifest\n"
    ));
    text
}

fn elsewhere(listing: &Listing, base: &str) -> String {
    let mut text = format!("# {}\n\n{}\n\n", line(&listing.name), line(&listing.description));
    text.push_str(&format!(
        "- id: {}\n- owner: {}\n- proof: {}\n- state: {}\n- visibility: {}\n",
        line(listing.id.as_str()),
        line(listing.owner.as_str()),
        word(&listing.proof),
        reachability(listing),
        seen(listing.visibility)
    ));
    for warning in &listing.warnings {
        text.push_str(&format!("- warning: {}\n", line(warning)));
    }
    if let Some(url) = &listing.url {
        text.push_str(&format!("- card: {}\n", line(url)));
    }
    for one in &listing.interfaces {
        let url = one.url.as_deref().unwrap_or_default();
        text.push_str(&format!("- interface: {} {}\n", line(&one.media_type), line(url)));
    }
    text.push_str(&format!("- trust: {}\n", listing.trust));
    let price = listing.price.map(|price| price.to_string());
    let seen = listing.seen_at.map(|seen| seen.to_string());
    for (label, fact) in [("price", price), ("region", listing.region.clone()), ("last answered", seen)] {
        if let Some(fact) = fact {
            text.push_str(&format!("- {label}: {}\n", line(&fact)));
        }
    }
    text.push_str(&format!(
        "- API: GET {base}/api/hub/{}; POST …/open gives a name under which this site calls it for you\n\n",
        line(listing.id.as_str())
    ));
    skills(&mut text, &listing.skills);
    text
}

fn skills(text: &mut String, skills: &[Skill]) {
    for skill in skills {
        text.push_str(&format!("## {}\n\n{}\n\n", line(&skill.name), line(&skill.description)));
        for example in skill.examples.iter().take(EXAMPLES) {
            text.push_str(&format!("- such as: {}\n", line(example)));
        }
        text.push('\n');
    }
}

fn who(caller: &Caller) -> &'static str {
    if caller.is_admin() {
        "signed in as an admin and may do everything"
    } else if caller.is_anonymous() {
        "not signed in and see the public agents (sign in with `agentsite open` or an API key)"
    } else {
        "known by your key"
    }
}

fn no_agents(caller: &Caller) -> &'static str {
    if caller.is_admin() {
        "None yet. Make one; it answers within a second: `agentsite agent new greeter --lang sh`\n\n"
    } else {
        "This site shows its agents to callers with a key.\n\n"
    }
}

fn facts(agent: &AgentView) -> String {
    let (running, queued) = (agent.running, agent.queued);
    format!(
        "{}, version {}, {}, {running} running, {queued} waiting",
        agent.health,
        line(&agent.version),
        seen(agent.visibility)
    )
}

/// Who sees an agent, in words.
pub(super) fn seen(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Private => "private",
        Visibility::Peers => "for callers with a key",
        Visibility::Public => "public",
    }
}

/// The word that an enumeration has in JSON.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn example(agent: &AgentView) -> &str {
    agent.skills.iter().find_map(|skill| skill.examples.first()).map_or(GREETING, String::as_str)
}

fn call_line(agent: &AgentView) -> String {
    format!("agentsite call {} {}", agent.name, quote(example(agent)))
}

fn curl_line(agent: &AgentView, base: &str) -> String {
    let body = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": { "messageId": MESSAGE_ID, "role": "ROLE_USER", "parts": [{ "text": example(agent) }] } },
    });
    let url = quote(&format!("{base}/a2a/{}", agent.name));
    format!(
        "curl {url} -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' -d {}",
        // Outside the quotes, so that the shell makes another id each time: the same one twice is the same
        // message.
        quote(&body.to_string()).replace(MESSAGE_ID, "'$(date +%s%N)'")
    )
}

/// Quotes a text for the shell, on one line and without what would end a block of code.
fn quote(text: &str) -> String {
    let one_line: String =
        text.chars().map(|letter| if letter.is_control() || letter == '`' { ' ' } else { letter }).collect();
    format!("'{}'", one_line.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_copied_whatever_the_example_says() {
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("a\nb; rm -rf / ```"), "'a b; rm -rf /    '");
    }
}
