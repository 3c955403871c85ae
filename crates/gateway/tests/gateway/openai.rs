//! The OpenAI-style face: what a chat program sends, and what it gets.
//!
//! The shapes are held against golden files; the official client is a counterpart of the binary's own tests.

mod conversations;
mod refusals;
mod shapes;

use std::sync::Arc;

use agentsite_host::{Manifest, ScriptedRunner};
use serde_json::{Value, json};

use crate::story::{Story, body};

impl Story {
    /// Asks an agent for the next words of a chat.
    async fn chat(&self, asked: Value) -> Value {
        body(self.post("/v1/chat/completions").json(&asked).send().await.unwrap()).await
    }

    /// Asks an agent for a response.
    async fn response(&self, asked: Value) -> Value {
        body(self.post("/v1/responses").json(&asked).send().await.unwrap()).await
    }

    /// Adds an agent that does what a script says.
    fn scripted(&self, name: &str, runner: ScriptedRunner) -> Arc<ScriptedRunner> {
        let text = format!(
            "name = \"{name}\"\ndescription = \"Scripted\"\nvisibility = \"public\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        let runner = Arc::new(runner);
        self.site.agents().install_runner(Manifest::read(&text).unwrap(), runner.clone());
        runner
    }
}

/// A chat of one message.
fn says(model: &str, text: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": text }] })
}

/// The text of a completion.
fn content(completion: &Value) -> &str {
    completion["choices"][0]["message"]["content"].as_str().unwrap_or_else(|| panic!("{completion}"))
}

/// The text of a response.
fn output(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"))
}

/// The data of a stream, one after the other; what is no JSON stays a text.
fn events(stream: &str) -> Vec<Value> {
    crate::events::values(stream)
}
