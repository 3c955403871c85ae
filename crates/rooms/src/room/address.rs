//! Which agents an event calls, what they get to read, and what their answers become.
//!
//! Promises: pure. An agent that is not addressed is not called and costs nothing. What an agent gets of the
//! history is bounded; answers that are one JSON object with a `type` are messages of that type, everything
//! else is something said.

use agentsite_protocol::room::{
    Envelope, MemberId, MemberKind, MessageType, ReplyMode, Room, RoomEffect, RoomEvent, RoomVerb,
};
use agentsite_protocol::{AgentName, JsonMap, MessageId, Part};
use serde_json::{Value, json};

use super::transcript::transcript;

/// Bytes of history that an agent with a model gets: about 2,000 tokens.
const HISTORY: usize = 8_000;

/// Members of an answer that an agent may set; the others are the site's.
const SETTABLE: [&str; 14] = [
    "type",
    "to",
    "mentions",
    "content",
    "task_id",
    "thread_id",
    "reply_to",
    "refs",
    "assign",
    "pause",
    "vote",
    "ballot",
    "conclude",
    "plan",
];

/// Why an agent is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallReason {
    /// It is to speak.
    Addressed,
    /// It has this task.
    Assigned(MessageId),
}

/// Whether an event calls an agent.
pub(crate) fn calls(room: &Room, event: &RoomEvent, agent: &MemberId) -> Option<CallReason> {
    let envelope = &event.envelope;
    if envelope.sender_id == *agent || event.state.is_ended() {
        return None;
    }
    if let (MessageType::Assign, Some(assign)) = (&envelope.kind, &envelope.assign)
        && assign.assignees.contains(agent)
    {
        return Some(CallReason::Assigned(envelope.task().clone()));
    }
    let has_floor = event.effects.iter().any(|effect| match effect {
        RoomEffect::Floor { to } => to.as_ref() == Some(agent),
        RoomEffect::Reoffered => room.floor.holder.as_ref() == Some(agent),
        _ => false,
    });
    let votes = envelope.kind == MessageType::Vote
        && room.member(agent).is_some_and(|member| member.role.may(RoomVerb::Vote));
    let said = matches!(envelope.kind, MessageType::Discuss | MessageType::Reopen);
    let answers = said && (envelope.addresses(agent) || responds(room, event, agent));
    (has_floor || votes || answers).then_some(CallReason::Addressed)
}

/// Whether an agent answers a message that addresses no member.
fn responds(room: &Room, event: &RoomEvent, agent: &MemberId) -> bool {
    let envelope = &event.envelope;
    let person = room.member(&envelope.sender_id).is_some_and(|member| member.kind == MemberKind::Person);
    if !person || !envelope.to.is_empty() || !envelope.mentions.is_empty() {
        return false;
    }
    match room.settings.reply_mode {
        ReplyMode::Mentions => false,
        ReplyMode::Default => room.settings.default_agent.as_ref() == Some(agent),
        ReplyMode::All => true,
        ReplyMode::Moderated => chosen(room, event.seq).as_ref() == Some(agent),
    }
}

/// The agent that the moderator chooses: itself when it is an agent, else one after the other.
fn chosen(room: &Room, seq: u64) -> Option<MemberId> {
    let is_agent =
        |id: &MemberId| room.member(id).is_some_and(agentsite_protocol::room::RoomMember::is_agent);
    if let Some(moderator) = room.settings.moderator.as_ref().filter(|id| is_agent(id)) {
        return Some(moderator.clone());
    }
    let mut agents: Vec<(&MemberId, u64)> = room
        .members
        .iter()
        .filter(|(_, member)| member.is_agent())
        .map(|(id, member)| (id, member.joined))
        .collect();
    agents.sort_by_key(|(_, joined)| *joined);
    let place = usize::try_from(seq).unwrap_or(0).checked_rem(agents.len())?;
    agents.get(place).map(|(id, _)| (*id).clone())
}

/// What an agent is asked: for one with a model the room and its newest history, for all the message itself.
pub(crate) fn question(
    room: &Room,
    history: &[RoomEvent],
    event: &RoomEvent,
    agent: &AgentName,
    has_model: bool,
) -> Vec<Part> {
    let mut parts = Vec::new();
    if has_model {
        parts.push(Part::text(situation(room, history, event, agent)));
    }
    let envelope = &event.envelope;
    if let Some(assign) = envelope.assign.as_ref().filter(|_| envelope.kind == MessageType::Assign) {
        let context = assign.context.as_deref().map(|context| format!("\n\n{context}")).unwrap_or_default();
        parts.push(Part::text(format!("{}{context}", assign.task_desc)));
    } else if let Some(vote) = &envelope.vote {
        parts.push(Part::text(format!("Vote {}: {}", vote.proposal_id, vote.options.join(" | "))));
    } else {
        parts.extend(envelope.content.iter().map(|part| unaddressed(part, agent)));
    }
    if parts.is_empty() {
        parts.push(Part::text("You have the floor."));
    }
    parts
}

/// A part without the mention of the agent at its beginning, which is not meant for a program.
fn unaddressed(part: &Part, agent: &AgentName) -> Part {
    let plain = part.text.as_deref().and_then(|text| text.trim_start().strip_prefix(&format!("@{agent}")));
    match plain {
        Some(rest) => {
            Part { text: Some(rest.trim_start_matches([' ', ',', ':']).to_owned()), ..part.clone() }
        }
        None => part.clone(),
    }
}

fn situation(room: &Room, history: &[RoomEvent], event: &RoomEvent, agent: &AgentName) -> String {
    let members: Vec<&str> = room.members.keys().map(MemberId::as_str).collect();
    let (mut lines, mut bytes, mut left_out) = (Vec::new(), 0, 0);
    for past in history.iter().rev().filter(|past| past.seq < event.seq) {
        let line = transcript(past);
        if bytes + line.len() > HISTORY {
            left_out += 1;
        } else {
            bytes += line.len();
            lines.push(line);
        }
    }
    lines.reverse();
    let cut =
        if left_out > 0 { format!("({left_out} earlier messages are left out)\n") } else { String::new() };
    format!(
        "You are agent:{agent} in the room \"{}\". Members: {}. State: {}.\n{cut}{}\
         Answer {} in plain text. To do more, answer with one JSON object with the members type (discuss, assign, \
         pause, vote, ballot, conclude), to, content, and the block of that type.",
        room.title,
        members.join(", "),
        room.state(),
        lines.concat(),
        event.envelope.sender_id,
    )
}

/// The message that an answer of an agent becomes; `base` has its id, sender and room.
pub(crate) fn answer(base: Envelope, text: &str, reason: &CallReason) -> Envelope {
    if let Some(structured) = structured(&base, text) {
        return structured;
    }
    let mut envelope = base;
    envelope.content = vec![Part::text(if text.trim().is_empty() { "(no answer)" } else { text })];
    if let CallReason::Assigned(task) = reason {
        envelope.kind = MessageType::Result;
        envelope.task_id = Some(task.clone());
    }
    envelope
}

fn structured(base: &Envelope, text: &str) -> Option<Envelope> {
    let text = text.trim().trim_start_matches("```json").trim_matches('`').trim();
    let said: JsonMap = serde_json::from_str(text).ok()?;
    said.get("type").and_then(Value::as_str)?;
    let mut whole = base.to_value();
    for name in SETTABLE {
        if let Some(value) = said.get(name) {
            let value = match (name, value) {
                ("content", Value::String(text)) => json!([{ "text": text }]),
                ("to" | "mentions", Value::String(one)) => json!([one]),
                _ => value.clone(),
            };
            whole[name] = value;
        }
    }
    Envelope::from_value(whole).ok().filter(|envelope| !envelope.kind.is_of_site())
}
