//! The twins of the chat: how one talks here, the conversations of a caller, and one conversation.
//!
//! Promises: conversations are those of this caller alone, as the site decides; guests learn how to talk
//! without them. What people and agents said stands in quotation marks of its own, line by line, so that none
//! of it passes for a heading or a link of ours. It changes nothing.

use agentsite_protocol::{Caller, ConversationId};
use agentsite_site::{ConversationError, TurnView};
use serde_json::Value;

use super::line;
use crate::failure::Failure;
use crate::front::Front;

/// Conversations of the list.
const CONVERSATIONS: usize = 50;

/// Turns of a conversation, its last ones; the export has all.
const TURNS: usize = 50;

/// Letters of a question or an answer; the export has all of them.
const LETTERS: usize = 4_000;

/// How one talks here, and what this caller talked about, the last first.
pub(super) async fn list(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    let mut text = format!(
        "# Chat\n\nSay what you need to `{base}/a2a` by A2A (`SendMessage`, `SendStreamingMessage`) and one is chosen who can; or name one yourself: `{base}/a2a/NAME`. \
         Conversations that are kept, with a key: `POST {base}/api/conversations {{\"agent\": \"NAME\", \"message\": \"…\"}}`, then `POST {base}/api/conversations/ID/turns`.\n"
    );
    if caller.is_anonymous() {
        text.push_str(
            "\nConversations are kept for callers that are known; send Authorization: Bearer KEY.\n",
        );
        return Ok(text);
    }
    let page = front.site.conversations().list(caller, None, None, CONVERSATIONS).await?;
    text.push_str(&format!(
        "\n## Conversations\n\nAPI: `GET {base}/api/conversations`, with `?text=` to search.\n\n"
    ));
    if page.items.is_empty() {
        text.push_str("None yet.\n");
        return Ok(text);
    }
    text.push_str("| conversation | with | turns | changed |\n|---|---|---|---|\n");
    for one in &page.items {
        let pin = if one.pinned { "(pinned) " } else { "" };
        text.push_str(&format!(
            "| {pin}[{}]({base}/chat/{}.md) | {} | {} | {} |\n",
            line(&one.title),
            one.id,
            one.agent,
            one.turns,
            one.updated_at
        ));
    }
    Ok(text)
}

/// One conversation: the end of the path that is shown.
pub(super) async fn one(front: &Front, caller: &Caller, id: &str, base: &str) -> Result<String, Failure> {
    let no = || ConversationError::NoSuchConversation(id.chars().take(40).collect());
    let id: ConversationId = id.parse().map_err(|_| no())?;
    let kept = front.site.conversations().get(caller, id).await?;
    let page = front.site.conversations().turns(caller, id, None, TURNS).await?;
    let mut text = format!(
        "# Conversation: {}\n\n- with: {}\n- turns: {}\n- changed: {}\n- go on: `POST {base}/api/conversations/{id}/turns {{\"message\": \"…\"}}`\n\
         - API: GET {base}/api/conversations/{id}/turns; all of it: GET {base}/api/conversations/{id}/export?format=md\n",
        line(&kept.title),
        kept.agent,
        kept.turns,
        kept.updated_at
    );
    if page.before.is_some() {
        text.push_str("\nThere is more before this.\n");
    }
    for turn in &page.turns {
        text.push_str(&told(turn, base));
    }
    Ok(text)
}

fn told(turn: &TurnView, base: &str) -> String {
    let mut out = format!("\n## {} to {}\n\n{}\n", turn.at, turn.agent, quoted(&question(turn)));
    let took = turn.duration_ms.map(|took| format!(", {took} ms")).unwrap_or_default();
    let tokens = match turn.usage.tokens() {
        0 => String::new(),
        tokens => format!(", {tokens} tokens"),
    };
    out.push_str(&format!("\n{}{took}{tokens}, [task]({base}/tasks/{}.md)\n", turn.state, turn.id));
    for started in &turn.started {
        let (agent, state, id) = (&started.agent, started.state, started.id);
        out.push_str(&format!("\n- asked {agent}: {state}, [task]({base}/tasks/{id}.md)\n"));
    }
    if !turn.answer.is_empty() {
        out.push_str(&format!("\n{}\n", quoted(&turn.answer)));
    }
    if turn.asks.is_some() {
        let id = turn.id;
        out.push_str(&format!("\nIt waits: answer with `{{\"message\": \"…\", \"answers\": \"{id}\"}}`\n"));
    }
    out
}

fn question(turn: &TurnView) -> String {
    let part = |part: &Value| match (part["text"].as_str(), part["filename"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(name)) => format!("(file {name})"),
        (None, None) => "(data)".to_owned(),
    };
    turn.question.iter().map(part).collect::<Vec<_>>().join("\n")
}

/// Foreign text as a quotation, line by line.
fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(LETTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let plain = |line: &str| format!("> {}", line.replace('<', "&lt;").replace('[', "\\["));
    short.lines().map(plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_stays_a_quotation() {
        assert_eq!(
            quoted("a\n# b <img>\n\n[x](javascript:y)"),
            "> a\n> # b &lt;img>\n> \n> \\[x](javascript:y)"
        );
        assert!(quoted(&"x".repeat(LETTERS + 1)).ends_with("x…"));
    }
}
