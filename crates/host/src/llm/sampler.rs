//! Sampler: the site's model, asked by a tool server.
//!
//! Promises: the question and the answer are in the form of MCP's `sampling/createMessage`; what it costs
//! counts against the agent's daily budget, and against that of the message for which the tool works. Only
//! words are sampled: pictures and sounds are refused in a sentence. It offers the model no tools.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Clock, JsonMap, Usage};
use futures::StreamExt;
use serde_json::{Value, json};

use super::daily_usage::DailyUsage;
use super::model::{ChatMessage, ChatRequest, EndReason, Model, ModelEvent, estimated_tokens};
use super::selection::ModelSource;
use crate::{LlmRuntime, Manifest, TaskBudget, Workshop};

/// Most tokens of an answer, regardless of what the server requests.
const MAX_TOKENS: u32 = 4_096;

/// Most messages of a question; a tool that needs more should hold its own conversation.
const MAX_MESSAGES: usize = 100;

/// The site's model, asked by a tool server.
#[derive(Debug)]
pub(crate) struct Sampler {
    source: ModelSource,
    agent: AgentName,
    daily_usage: DailyUsage,
    clock: Arc<dyn Clock>,
}

impl Sampler {
    /// The model that `runtime` chooses, within the budget of the agent.
    pub(crate) fn new(runtime: &LlmRuntime, manifest: &Manifest, workshop: &Workshop) -> Self {
        Self::with(ModelSource::choose(runtime, workshop), manifest, workshop.ids.clock().clone())
    }

    fn with(source: ModelSource, manifest: &Manifest, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            agent: manifest.name.clone(),
            daily_usage: DailyUsage::new(manifest.budget.clone()),
            clock,
        }
    }

    /// Answers the params of `sampling/createMessage`, or says why not.
    pub(crate) async fn answer(&self, params: &JsonMap, budget: &TaskBudget) -> Result<Value, String> {
        let model = self.source.model().await?;
        let request = request(params)?;
        let (now, reads) = (self.clock.now(), request.estimated_tokens());
        let reserved = self.daily_usage.reserve(now, &Usage::default(), reads, request.max_tokens);
        let reserved = reserved.map_err(|over| over.sentence(&self.agent))?;
        let share = budget.reserve(reads, reserved.max_tokens).map_err(|over| over.to_string())?;
        let request = ChatRequest { max_tokens: share.max_tokens, ..request };
        let asked = ask(&*model, request).await;
        let (Ok(Sampled { used, .. }) | Err((used, _))) = &asked;
        let used = used.unwrap_or_default();
        self.daily_usage.book(self.clock.now(), Usage { turns: 1, ..used });
        budget.book(used.tokens());
        let Sampled { text, end, .. } = asked.map_err(|(_, why)| why)?;
        let stop = if end == EndReason::Length { "maxTokens" } else { "endTurn" };
        Ok(json!({
            "role": "assistant",
            "content": { "type": "text", "text": text },
            "model": "site",
            "stopReason": stop,
        }))
    }
}

struct Sampled {
    text: String,
    end: EndReason,
    used: Option<Usage>,
}

/// Reads the whole answer; what it cost also when it breaks off.
async fn ask(model: &dyn Model, request: ChatRequest) -> Result<Sampled, (Option<Usage>, String)> {
    let reads = request.estimated_tokens();
    let mut stream = model.chat(request).await.map_err(|error| (None, error.to_string()))?;
    let (mut text, mut told) = (String::new(), None);
    let cost = |told: Option<Usage>, text: &str| {
        let seen =
            Usage { input_tokens: reads, output_tokens: estimated_tokens(text.len()), ..Usage::default() };
        Some(told.unwrap_or(seen))
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::Text(words)) => text.push_str(&words),
            Ok(ModelEvent::Usage(usage)) => told = Some(usage),
            Ok(ModelEvent::End(end)) => return Ok(Sampled { used: cost(told, &text), text, end }),
            Ok(ModelEvent::ToolCall(_)) => {}
            Err(error) => return Err((cost(told, &text), error.to_string())),
        }
    }
    Err((cost(told, &text), "the model stopped in the middle of its answer".into()))
}

fn request(params: &JsonMap) -> Result<ChatRequest, String> {
    let messages = params.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(format!(
            "the tool asks the site's model with {} messages; 1 to {MAX_MESSAGES} are taken",
            messages.len()
        ));
    }
    let wanted = params.get("maxTokens").and_then(Value::as_u64).and_then(|most| u32::try_from(most).ok());
    #[expect(clippy::cast_possible_truncation, reason = "a temperature has few digits")]
    let temperature = params.get("temperature").and_then(Value::as_f64).map(|heat| heat as f32);
    Ok(ChatRequest {
        system: params.get("systemPrompt").and_then(Value::as_str).unwrap_or_default().to_owned(),
        messages: messages.iter().map(message).collect::<Result<_, _>>()?,
        tools: Vec::new(),
        temperature,
        max_tokens: wanted.unwrap_or(MAX_TOKENS).clamp(1, MAX_TOKENS),
    })
}

fn message(said: &Value) -> Result<ChatMessage, String> {
    let pieces = match &said["content"] {
        Value::Array(pieces) => pieces.iter().collect(),
        one => vec![one],
    };
    let words: Option<Vec<&str>> = pieces.iter().map(|piece| piece["text"].as_str()).collect();
    let text = words.ok_or("the tool sends the site's model something other than text")?.join("\n");
    Ok(match said["role"].as_str() {
        Some("assistant") => ChatMessage::Assistant { text, calls: Vec::new() },
        _ => ChatMessage::User(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BEGINNING, VirtualClock};
    use crate::llm::{ScriptedModel, ScriptedTurn};

    fn sampler(model: Arc<ScriptedModel>, budget: &str) -> Sampler {
        let text = format!(
            "name = \"a\"\ndescription = \"d\"\n[runtime]\nkind = \"mcp\"\ncommand = [\"x\"]\n[budget]\n{budget}\n"
        );
        let manifest = Manifest::read(&text).unwrap();
        Sampler::with(ModelSource::Chosen(model), &manifest, VirtualClock::at(BEGINNING))
    }

    fn params(value: &Value) -> JsonMap {
        value.as_object().cloned().unwrap()
    }

    #[tokio::test]
    async fn a_question_of_a_server_is_answered_by_the_model() {
        let model = Arc::new(ScriptedModel::new([ScriptedTurn::says(["Four", "."]).costs(10, 2)]));
        let sampler = sampler(model.clone(), "");
        let asked = params(&json!({
            "systemPrompt": "Be brief.",
            "messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
            "maxTokens": 50,
        }));
        let answer = sampler.answer(&asked, &TaskBudget::default()).await.unwrap();
        assert_eq!((&answer["content"]["text"], &answer["stopReason"]), (&json!("Four."), &json!("endTurn")));
        let request = &model.requests()[0];
        assert_eq!((request.system.as_str(), request.max_tokens), ("Be brief.", 50));
        assert_eq!(request.messages, [ChatMessage::User("2+2?".into())]);
    }

    #[tokio::test]
    async fn what_a_server_may_spend_is_bounded() {
        let turns = [ScriptedTurn::says(["a"]).costs(90, 10)];
        let sampler = sampler(Arc::new(ScriptedModel::new(turns)), "tokens_per_day = 100");
        let asked =
            params(&json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}));
        sampler.answer(&asked, &TaskBudget::default()).await.unwrap();
        let refused = sampler.answer(&asked, &TaskBudget::default()).await.unwrap_err();
        assert!(refused.contains("tokens_per_day"), "{refused}");
    }

    #[tokio::test]
    async fn what_a_server_spends_counts_for_the_message_behind_it() {
        let turns = [ScriptedTurn::says(["a"]).costs(90, 10)];
        let sampler = sampler(Arc::new(ScriptedModel::new(turns)), "");
        let budget = TaskBudget::default().below(&"planner".parse().unwrap(), 120, 0);
        let asked = params(
            &json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 10}),
        );
        sampler.answer(&asked, &budget).await.unwrap();
        let long = "word ".repeat(40);
        let asked =
            params(&json!({"messages": [{"role": "user", "content": {"type": "text", "text": long}}]}));
        let refused = sampler.answer(&asked, &budget).await.unwrap_err();
        assert!(refused.contains("agents/planner/agent.toml"), "{refused}");
    }

    #[tokio::test]
    async fn pictures_and_empty_questions_are_refused() {
        let sampler = sampler(Arc::new(ScriptedModel::new([])), "");
        let picture = json!({"messages": [{"role": "user", "content": {"type": "image", "data": "AA"}}]});
        assert!(
            sampler
                .answer(&params(&picture), &TaskBudget::default())
                .await
                .unwrap_err()
                .contains("something other than text")
        );
        assert!(
            sampler.answer(&JsonMap::new(), &TaskBudget::default()).await.unwrap_err().contains("0 messages")
        );
    }
}
