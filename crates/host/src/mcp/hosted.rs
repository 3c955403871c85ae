//! HostedServer: a tool server of the site, as a toolbox.
//!
//! Promises: tools, resources, prompts, completions and changes are passed through as the server has them,
//! bounded. A tool that awaits approval is neither listed nor called. A call to a server that dies fails with
//! a sentence, and the next one reaches the server that was started again. It does not start or connect the
//! server: its keeper does.

use std::sync::Arc;
use std::time::Duration;

use agentsite_client::mcp::{McpClient, McpError};
use agentsite_protocol::ByteSize;
use agentsite_protocol::mcp::{
    Completing, Completions, Content, Contents, Notice, Prompt, PromptCall, PromptText, Reading, Reply,
    Resource, ResourceTemplate, Round, Tool, ToolCall, ToolResult,
};
use futures::future::BoxFuture;
use tokio::sync::broadcast;

use super::questions::{QuestionOutcome, SiteAnswers, opened};
use super::session::Shared;
use crate::child::Watch;
use crate::{
    About, AgentLog, Change, Exchange, Health, LogLevel, LogSource, ServerLogin, ToolFault, Toolbox,
};

/// How often the site answers a server's questions in one call by itself; a server that asks on and on is
/// stopped.
const MAX_ROUNDS: usize = 8;

/// The revision of the protocol from which on servers know what the caller can do.
const MODERN: &str = "2026-07-28";

/// A tool server of the site.
#[derive(Debug)]
pub(super) struct HostedServer {
    pub(super) watch: Watch<McpClient>,
    pub(super) shared: Shared,
    pub(super) clerk: SiteAnswers,
    /// How long a server that is being started is waited for.
    pub(super) patience: Duration,
    /// Most bytes of one result.
    pub(super) output: ByteSize,
    /// The login that the server requires.
    pub(super) login: Option<Arc<ServerLogin>>,
    pub(super) log: AgentLog,
}

impl HostedServer {
    async fn client(&self) -> Result<Arc<McpClient>, ToolFault> {
        let ready = self.watch.clone().ready(self.patience).await;
        ready.map_err(|why| match self.watch.health() {
            Health::Needs(_) => ToolFault::Down(format!("the tool server cannot be used yet: {why}")),
            _ => ToolFault::Down(format!("the tool server is not available: {why}")),
        })
    }

    /// Makes a request until it is answered or the caller must be asked.
    async fn go<T, F>(
        &self,
        exchange: &Exchange,
        round: Round,
        request: impl Fn(Arc<McpClient>, Round) -> F,
    ) -> Result<Reply<T>, ToolFault>
    where
        F: Future<Output = Result<Reply<T>, McpError>>,
    {
        let client = self.client().await?;
        let modern = client.revision() >= MODERN;
        let mut round = opened(round);
        for _ in 0..MAX_ROUNDS {
            let answer = tokio::select! {
                biased;
                () = exchange.cancel.cancelled() => {
                    return Err(ToolFault::Failed("the answer is no longer needed".into()));
                }
                answer = request(client.clone(), round) => answer,
            };
            match answer.map_err(|error| self.fault(&error))? {
                Reply::Done(done) => return Ok(Reply::Done(done)),
                Reply::Input(needed) => {
                    match self.clerk.settle(needed, exchange.abilities, modern, &exchange.budget).await? {
                        QuestionOutcome::Ask(needed) => return Ok(Reply::Input(needed)),
                        QuestionOutcome::Again(answered) => round = answered,
                    }
                }
            }
        }
        Err(ToolFault::Failed(format!(
            "the tool server asked {MAX_ROUNDS} times in a row and never answered; see its log"
        )))
    }

    fn fault(&self, error: &McpError) -> ToolFault {
        if error.is_down() || *error == McpError::LoginNeeded {
            self.shared.doubt.notify_one();
        }
        match error {
            McpError::LoginNeeded => {
                let wanted = self.login.as_ref().map(|login| format!(": {}", login.wanted()));
                ToolFault::Down(format!("{error}{}", wanted.unwrap_or_default()))
            }
            McpError::Down(why) => ToolFault::Down(format!(
                "the tool server ended in the middle of the call ({why}); it is started again, try once more"
            )),
            error if error.is_down() => ToolFault::Down(error.to_string()),
            error if error.is_bad_request() => ToolFault::BadArguments(error.to_string()),
            error => ToolFault::Failed(error.to_string()),
        }
    }

    fn too_much(&self, size: usize) -> Option<ToolFault> {
        let most = self.output;
        (size as u64 > most.0).then(|| {
            ToolFault::Failed(format!(
                "the tool server answered with {}, more than the {most} that it may (limits.output)",
                ByteSize(size as u64)
            ))
        })
    }

    async fn call_tool(&self, exchange: Exchange, call: ToolCall) -> Result<Reply<ToolResult>, ToolFault> {
        let pins = &self.shared.pins;
        if pins.withholds(&call.name) {
            return Err(ToolFault::Failed(format!(
                "the tool `{}` is not what the operator of this site approved; it can be used again once it is approved with \
                 `agentsite agent approve`",
                call.name
            )));
        }
        self.client().await?;
        if !pins.usable().iter().any(|tool| tool.name == call.name) {
            return Err(ToolFault::NoSuchTool(call.name));
        }
        let ToolCall { name, arguments, round } = call;
        let reply = self
            .go(&exchange, round, |client, round| {
                let call = ToolCall { name: name.clone(), arguments: arguments.clone(), round };
                let tell = self.teller(&exchange);
                async move { client.call(call, tell).await }
            })
            .await?;
        match reply {
            Reply::Done(result) => self.too_much(size(&result)).map_or(Ok(Reply::Done(result)), Err),
            asked @ Reply::Input(_) => Ok(asked),
        }
    }

    /// Tells the caller what the server tells on the way, and the agent's log what it should know.
    fn teller(&self, exchange: &Exchange) -> impl Fn(Notice) + Send + Sync + 'static {
        let (exchange, log) = (exchange.clone(), self.log.clone());
        move |notice| {
            if let Notice::Log { level, logger, data } = &notice
                && *level >= LogLevel::Warning
            {
                let from = logger.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
                let words = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
                log.push(LogSource::Out, &format!("{from}{words}"));
            }
            exchange.tell(notice);
        }
    }
}

/// The same server for callers who send messages: they are people or agents and no models, so the site's
/// model is asked before them.
#[derive(Debug)]
pub(super) struct MessageToolbox(pub(super) Arc<HostedServer>);

impl Toolbox for MessageToolbox {
    fn about(&self) -> About {
        self.0.about()
    }

    fn tools(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        self.0.tools(exchange)
    }

    fn call(
        &self,
        mut exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        exchange.abilities.sampling &= self.0.clerk.sampler.is_none();
        self.0.call(exchange, call)
    }
}

fn size(result: &ToolResult) -> usize {
    let structured = result.structured_content.as_ref().map_or(0, |value| value.to_string().len());
    result.content.iter().map(Content::size).sum::<usize>() + structured
}

impl Toolbox for HostedServer {
    fn about(&self) -> About {
        let Some(client) = self.watch.way() else { return About::default() };
        let about = client.about();
        About {
            name: about.name.clone(),
            version: about.version.clone(),
            instructions: about.instructions.clone(),
            resources: about.resources,
            prompts: about.prompts,
            completions: about.completions,
            logging: about.logging,
        }
    }

    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        Box::pin(async {
            // What a server offered stays true while it is started again.
            if self.watch.way().is_none() {
                self.client().await?;
            }
            Ok(self.shared.pins.usable())
        })
    }

    fn call(
        &self,
        exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(self.call_tool(exchange, call))
    }

    fn resources(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<Resource>, ToolFault>> {
        Box::pin(async { self.client().await?.resources().await.map_err(|error| self.fault(&error)) })
    }

    fn templates(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ToolFault>> {
        Box::pin(async { self.client().await?.templates().await.map_err(|error| self.fault(&error)) })
    }

    fn read(
        &self,
        exchange: Exchange,
        reading: Reading,
    ) -> BoxFuture<'_, Result<Reply<Vec<Contents>>, ToolFault>> {
        Box::pin(async move {
            let Reading { uri, round } = reading;
            let reply = self
                .go(&exchange, round, |client, round| {
                    let reading = Reading { uri: uri.clone(), round };
                    async move { client.read(reading).await }
                })
                .await?;
            match reply {
                Reply::Done(read) => {
                    let size = read.iter().map(Contents::size).sum();
                    self.too_much(size).map_or(Ok(Reply::Done(read)), Err)
                }
                asked @ Reply::Input(_) => Ok(asked),
            }
        })
    }

    fn prompts(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<Prompt>, ToolFault>> {
        Box::pin(async { self.client().await?.prompts().await.map_err(|error| self.fault(&error)) })
    }

    fn prompt(
        &self,
        exchange: Exchange,
        call: PromptCall,
    ) -> BoxFuture<'_, Result<Reply<PromptText>, ToolFault>> {
        Box::pin(async move {
            let PromptCall { name, arguments, round } = call;
            self.go(&exchange, round, |client, round| {
                let call = PromptCall { name: name.clone(), arguments: arguments.clone(), round };
                async move { client.prompt(call).await }
            })
            .await
        })
    }

    fn complete(
        &self,
        _: &Exchange,
        completing: Completing,
    ) -> BoxFuture<'_, Result<Completions, ToolFault>> {
        Box::pin(async {
            self.client().await?.complete(completing).await.map_err(|error| self.fault(&error))
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.shared.changes.subscribe())
    }

    fn watch(&self, uri: &str, on: bool) {
        let Ok(client) = self.watch.now() else { return };
        let (uri, log) = (uri.to_owned(), self.log.clone());
        // It is not joined: the client bounds how long it takes.
        tokio::spawn(async move {
            let told = if on { client.subscribe(&uri).await } else { client.unsubscribe(&uri).await };
            if let Err(error) = told {
                log.push(LogSource::Site, &format!("changes of {uri} are not announced: {error}"));
            }
        });
    }
}
