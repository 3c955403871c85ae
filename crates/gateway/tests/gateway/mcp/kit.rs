//! A set of tools for the stories: each does what its name says.
//!
//! It knows no wire: the stories call it through the real gateway.

use std::sync::Arc;

use agentsite_host::{About, Change, Exchange, LogLevel, Notice, ToolFault, Toolbox};
use agentsite_protocol::mcp::{
    Completing, Completions, Contents, InputNeeded, InputRequest, Prompt, PromptCall, PromptMessage,
    PromptText, Reading, Reply, Resource, ResourceTemplate, TaskSupport, Tool, ToolCall, ToolResult,
};
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, broadcast};

/// The tools.
#[derive(Debug)]
pub(super) struct Kit {
    changes: broadcast::Sender<Change>,
    /// `wait` goes on when a permit is there.
    pub(super) gate: Semaphore,
    /// Gets a permit when `wait` was ended from outside.
    pub(super) ended: Arc<Semaphore>,
}

impl Default for Kit {
    fn default() -> Self {
        let (gate, ended) = (Semaphore::new(0), Arc::new(Semaphore::new(0)));
        Self { changes: broadcast::channel(8).0, gate, ended }
    }
}

impl Kit {
    pub(super) fn change(&self, change: Change) {
        self.changes.send(change).unwrap();
    }
}

/// Says that a call was dropped before its end.
struct Ended(Arc<Semaphore>, bool);

impl Drop for Ended {
    fn drop(&mut self) {
        if self.1 {
            self.0.add_permits(1);
        }
    }
}

fn tool(name: &str, properties: &Value) -> Tool {
    Tool {
        name: name.into(),
        description: Some(format!("Does what `{name}` says")),
        input_schema: json!({ "type": "object", "properties": properties }),
        ..Tool::default()
    }
}

fn question(method: &str, params: &Value) -> InputRequest {
    serde_json::from_value(json!({ "method": method, "params": params })).unwrap()
}

impl Kit {
    async fn use_tool(&self, exchange: Exchange, call: ToolCall) -> Result<Reply<ToolResult>, ToolFault> {
        let done = |text: &str| Ok(Reply::Done(ToolResult::text(text)));
        match call.name.as_str() {
            "echo" | "route" => done(&Value::Object(call.arguments).to_string()),
            "fail" => Err(ToolFault::Failed("it broke".into())),
            "report" => {
                exchange.tell(Notice::Progress { progress: 1.0, total: Some(2.0), message: None });
                let line = Notice::Log { level: LogLevel::Info, logger: None, data: json!("half") };
                exchange.tell(line);
                done("reported")
            }
            "wait" => {
                let mut ended = Ended(Arc::clone(&self.ended), true);
                exchange.tell(Notice::Progress { progress: 1.0, total: None, message: None });
                self.gate.acquire().await.unwrap().forget();
                ended.1 = false;
                done("waited")
            }
            "detach" => {
                exchange.tell(Notice::Detach);
                self.gate.acquire().await.unwrap().forget();
                done("detached")
            }
            "greet" => match call.round.answers.get("name") {
                Some(answer) => {
                    assert_eq!(call.round.state, Some(json!({ "asked": true })), "the state came back");
                    done(&format!("{answer}"))
                }
                None => Ok(Reply::Input(InputNeeded {
                    requests: [(
                        "name".to_owned(),
                        question("elicitation/create", &json!({ "message": "who?" })),
                    )]
                    .into(),
                    state: Some(json!({ "asked": true })),
                })),
            },
            "long" => done("long"),
            name => Err(ToolFault::NoSuchTool(name.into())),
        }
    }
}

impl Toolbox for Kit {
    fn about(&self) -> About {
        About {
            instructions: Some("Use them well.".into()),
            resources: true,
            prompts: true,
            completions: true,
            logging: true,
            ..About::default()
        }
    }

    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        let region = json!({ "region": { "type": "string", "x-mcp-header": "Region" } });
        let mut tools = vec![tool("route", &region)];
        tools
            .extend(["echo", "fail", "report", "wait", "detach", "greet"].map(|name| tool(name, &json!({}))));
        tools.push(Tool { tasks: TaskSupport::Required, ..tool("long", &json!({})) });
        Box::pin(ready(Ok(tools.into())))
    }

    fn call(
        &self,
        exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(self.use_tool(exchange, call))
    }

    fn resources(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<Resource>, ToolFault>> {
        let one = |number| Resource {
            uri: format!("kit://{number}"),
            name: format!("n{number}"),
            ..Resource::default()
        };
        Box::pin(ready(Ok((0..120).map(one).collect())))
    }

    fn templates(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ToolFault>> {
        let all = ResourceTemplate {
            uri_template: "kit://{n}".into(),
            name: "all".into(),
            ..ResourceTemplate::default()
        };
        Box::pin(ready(Ok(vec![all])))
    }

    fn read(&self, _: Exchange, reading: Reading) -> BoxFuture<'_, Result<Reply<Vec<Contents>>, ToolFault>> {
        Box::pin(ready(match reading.uri.as_str() {
            "kit://1" => Ok(Reply::Done(vec![Contents::text("kit://1", "text/plain", "one")])),
            _ => Err(ToolFault::NoSuchResource(reading.uri)),
        }))
    }

    fn prompts(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<Prompt>, ToolFault>> {
        Box::pin(ready(Ok(vec![Prompt { name: "hello".into(), ..Prompt::default() }])))
    }

    fn prompt(&self, _: Exchange, call: PromptCall) -> BoxFuture<'_, Result<Reply<PromptText>, ToolFault>> {
        let words = format!("Say hello to {}", call.arguments.get("who").map_or("all", String::as_str));
        let message = PromptMessage::user(agentsite_protocol::mcp::Content::text(words));
        Box::pin(ready(Ok(Reply::Done(PromptText { messages: vec![message], ..PromptText::default() }))))
    }

    fn complete(
        &self,
        _: &Exchange,
        completing: Completing,
    ) -> BoxFuture<'_, Result<Completions, ToolFault>> {
        let values = vec![format!("{}!", completing.value)];
        Box::pin(ready(Ok(Completions { values, total: Some(1), has_more: Some(false) })))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.changes.subscribe())
    }
}
