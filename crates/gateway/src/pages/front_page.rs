//! The front page: what the site has and how to call it.
//!
//! Promises: shows only agents that this caller may call; commands can be copied as they stand, because text in them is
//! quoted for the shell. It decides nothing.

use agentsite_protocol::{Caller, Visibility};
use agentsite_site::{AgentView, SiteSettings};

use super::html::Html;

/// Words to call an agent with that names no example of its own.
const GREETING: &str = "hello";

/// Examples shown of each skill; more would bury the next agent.
const EXAMPLES: usize = 3;

/// Where the line to copy gets its message id.
const MESSAGE_ID: &str = "MESSAGE-ID";

/// Writes the page.
pub(super) fn write(settings: &SiteSettings, agents: &[AgentView], caller: &Caller, base: &str) -> Html {
    let mut page = Html::page(&settings.name);
    page.open("header").element("h1", &settings.name);
    if !settings.description.is_empty() {
        page.element("p", &settings.description);
    }
    page.open_class("p", "who").text("You are ").text(who(caller)).text(".").close("p").close("header");
    page.open("main");
    if agents.is_empty() {
        no_agents(&mut page, caller);
    }
    for agent in agents {
        card(&mut page, agent, base);
    }
    page.close("main");
    footer(&mut page, caller);
    page
}

fn who(caller: &Caller) -> &'static str {
    if caller.owner().as_str() == "local" {
        "at this machine and may do everything"
    } else if caller.is_admin() {
        "signed in and may do everything"
    } else if caller.is_anonymous() {
        "not signed in and see the public agents"
    } else {
        "known by your key"
    }
}

fn no_agents(page: &mut Html, caller: &Caller) {
    page.open("section");
    if caller.is_admin() {
        page.element("h2", "No agents yet").element("p", "Make one; it answers within a second:");
        page.element("pre", "agentsite agent new greeter --lang sh");
    } else {
        page.element("h2", "No public agents")
            .element("p", "This site shows its agents to callers with a key.");
    }
    page.close("section");
}

fn card(page: &mut Html, agent: &AgentView, base: &str) {
    page.open("article").open("h2").text(agent.name.as_str()).text(" ");
    page.open_class("span", health_class(agent.health)).text(agent.health).close("span").close("h2");
    page.element("p", &agent.description);
    if let Some(reason) = &agent.reason {
        page.open_class("p", "reason").text(reason).close("p");
    }
    for skill in &agent.skills {
        page.open("h3").text(&skill.name).close("h3").element("p", &skill.description);
        if !skill.examples.is_empty() {
            page.open("ul");
            for example in skill.examples.iter().take(EXAMPLES) {
                page.element("li", example);
            }
            page.close("ul");
        }
    }
    page.element("pre", &call_line(agent)).element("pre", &curl_line(agent, base));
    page.open_class("p", "facts").text(&facts(agent)).text(" · ");
    page.link(&format!("/a2a/{}/.well-known/agent-card.json", agent.name), "card")
        .close("p")
        .close("article");
}

fn health_class(health: &str) -> &'static str {
    match health {
        "ready" => "health ready",
        "starting" => "health starting",
        _ => "health down",
    }
}

fn facts(agent: &AgentView) -> String {
    let seen = match agent.visibility {
        Visibility::Private => "private",
        Visibility::Peers => "for callers with a key",
        Visibility::Public => "public",
    };
    format!("version {} · {seen} · {} running, {} waiting", agent.version, agent.running, agent.queued)
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
        // Outside the quotes, so that the shell makes another id each time: the same one twice is the same message.
        quote(&body.to_string()).replace(MESSAGE_ID, "'$(date +%s%N)'")
    )
}

/// Quotes a text for the shell.
fn quote(text: &str) -> String {
    let one_line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    format!("'{}'", one_line.replace('\'', r"'\''"))
}

fn footer(page: &mut Html, caller: &Caller) {
    page.open("footer");
    if !caller.is_admin() {
        page.element("p", "Do you run this site? On its machine, run this and open the link it prints:");
        page.element("pre", "agentsite signin");
    }
    page.open("p")
        .link("/.well-known/agent-card.json", "site card")
        .text(" · ")
        .link("/llms.txt", "llms.txt");
    page.text(" · ").link("/docs/api", "HTTP interfaces");
    page.text(" · ").link("/.well-known/ai-catalog.json", "catalogue");
    page.text(" · ").link("/healthz", "health").close("p").close("footer");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_copied_whatever_the_example_says() {
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("a\nb; rm -rf /"), "'a b; rm -rf /'");
    }
}
