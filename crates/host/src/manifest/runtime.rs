//! Runtimes: what an `agent.toml` declares about how its agent runs.
//!
//! Promises: values that were read and checked by `table`; one structure for each kind. It starts nothing.

use std::collections::BTreeMap;

use agentsite_client::Binding;
use agentsite_protocol::{ByteSize, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

/// Longest that a supervised server may take to start when the file says nothing; the slowest Python server
/// seen took 12 s.
pub(super) const START_TIMEOUT: Period = Period::seconds(60);

/// The same for a tool server: a package runner fetches it and everything it needs the first time.
pub(super) const TOOL_SERVER_START_TIMEOUT: Period = Period::seconds(120);

/// Tokens of one answer when the file says nothing.
pub(super) const MAX_TOKENS: u32 = 1_024;

/// Earlier messages that a model sees when the file says nothing: ten turns of question and answer.
pub(super) const MEMORY: usize = 20;

/// The kinds of runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeKind {
    /// Built into the site.
    Builtin,
    /// A command, started once for each task.
    Exec,
    /// An A2A server, here or elsewhere.
    A2a,
    /// A program that implements the Agent Client Protocol.
    Acp,
    /// A REST API by its OpenAPI document.
    Openapi,
    /// A prompt and a model.
    Llm,
    /// An MCP server, here or elsewhere.
    Mcp,
    /// A program elsewhere that connects to the site; no file declares it.
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    Connected,
}

impl RuntimeKind {
    /// The value in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Exec => "exec",
            Self::A2a => "a2a",
            Self::Acp => "acp",
            Self::Openapi => "openapi",
            Self::Llm => "llm",
            Self::Mcp => "mcp",
            Self::Connected => "connected",
        }
    }
}

/// How an agent runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Runtime {
    /// Built into the site.
    Builtin(Builtin),
    /// Built into the site, and answers from a folder of documents.
    Library(LibraryRuntime),
    /// A command, started once for each task.
    Exec(ExecRuntime),
    /// An A2A server, here or elsewhere.
    A2a(A2aRuntime),
    /// A program that implements the Agent Client Protocol.
    Acp(AcpRuntime),
    /// A REST API by its OpenAPI document.
    Openapi(OpenApiRuntime),
    /// A prompt and a model.
    Llm(LlmRuntime),
    /// An MCP server, here or elsewhere.
    Mcp(McpRuntime),
    /// A program elsewhere that connects to the site; no file declares it.
    Connected,
}

impl Runtime {
    /// Which kind it is.
    #[must_use]
    pub const fn kind(&self) -> RuntimeKind {
        match self {
            Self::Builtin(_) | Self::Library(_) => RuntimeKind::Builtin,
            Self::Exec(_) => RuntimeKind::Exec,
            Self::A2a(_) => RuntimeKind::A2a,
            Self::Acp(_) => RuntimeKind::Acp,
            Self::Openapi(_) => RuntimeKind::Openapi,
            Self::Llm(_) => RuntimeKind::Llm,
            Self::Mcp(_) => RuntimeKind::Mcp,
            Self::Connected => RuntimeKind::Connected,
        }
    }
}

/// The built-in agents, which only need a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Says what was said to it.
    Echo,
    /// Works out expressions.
    Calc,
    /// Tells the time anywhere.
    Clock,
}

/// Answers questions from the documents of a folder. `host` only reads what the file says of it; `site` runs
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryRuntime {
    /// The folder, relative to the agent's own; the documentation of agentsite itself when left out.
    pub path: Option<String>,
    /// Whether a model, when there is one, writes the answer from the passages.
    pub talk: bool,
    /// The prompt of that model, besides how to quote.
    pub prompt: Option<String>,
    /// Which model: `PROVIDER:MODEL`, or `MODEL` of the first provider; the provider's own default when left
    /// out.
    pub model: Option<String>,
}

/// What a command reads on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stdin {
    /// The text of the message.
    #[default]
    Text,
    /// One JSON object: the message, its history, ids.
    Json,
}

/// A command, started once for each task.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecRuntime {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it reads.
    pub stdin: Stdin,
    /// Variables it gets.
    pub env: BTreeMap<String, String>,
    /// Variables of the site that it gets too.
    pub pass_env: Vec<String>,
    /// Most memory of one process.
    pub memory: Option<ByteSize>,
    /// Most processor time of one process.
    pub cpu: Option<Period>,
    /// Largest file it may write.
    pub file_size: Option<ByteSize>,
    /// Most open files of one process.
    pub open_files: Option<u64>,
}

/// An A2A server, here or elsewhere. Either `card` or `command` is set.
#[derive(Debug, Clone, PartialEq)]
pub struct A2aRuntime {
    /// Address of its card, or of the server whose well-known card is meant.
    pub card: Option<Url>,
    /// The program that is started as the server; it finds its port in `PORT`.
    pub command: Vec<String>,
    /// Variables the program gets.
    pub env: BTreeMap<String, String>,
    /// Variables of the site that it gets too.
    pub pass_env: Vec<String>,
    /// How long the server may take until its card answers.
    pub start_timeout: Period,
    /// Name of the variable that holds the token for the remote agent.
    pub token_env: Option<String>,
    /// The only binding in which it is called; what its card prefers when `None`.
    pub binding: Option<A2aBinding>,
    /// The DID of the site that runs it, to which this site proves that the call is its own. No file sets it.
    pub site: Option<String>,
    /// Where the same agent is called by JSON-RPC when the addresses of its card fail. No file sets it.
    pub second_way: Option<Url>,
}

impl A2aRuntime {
    /// An agent elsewhere that is called by its card, without a credential.
    #[must_use]
    pub fn elsewhere(card: Url) -> Self {
        Self {
            card: Some(card),
            command: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            start_timeout: START_TIMEOUT,
            token_env: None,
            binding: None,
            site: None,
            second_way: None,
        }
    }

    /// The same agent, of the site with this DID.
    #[must_use]
    pub fn of_site(self, did: &str) -> Self {
        Self { site: Some(did.to_owned()), ..self }
    }

    /// The same agent, which is also called at this address.
    #[must_use]
    pub fn also_at(self, url: Url) -> Self {
        Self { second_way: Some(url), ..self }
    }
}

/// How an A2A agent is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum A2aBinding {
    /// JSON-RPC over HTTP.
    Jsonrpc,
    /// HTTP+JSON.
    Rest,
    /// gRPC.
    Grpc,
}

impl From<A2aBinding> for Binding {
    fn from(binding: A2aBinding) -> Self {
        match binding {
            A2aBinding::Jsonrpc => Self::JsonRpc,
            A2aBinding::Rest => Self::Rest,
            A2aBinding::Grpc => Self::Grpc,
        }
    }
}

/// A program that implements the Agent Client Protocol on its standard input and output.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpRuntime {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables it gets.
    pub env: BTreeMap<String, String>,
    /// Variables of the site that it gets too.
    pub pass_env: Vec<String>,
    /// How long it may take until it is ready to talk.
    pub start_timeout: Period,
    /// Who answers when it asks for a permission.
    pub permissions: Permissions,
    /// Which files it may have through the site.
    pub files: FileAccess,
    /// Which of its ways to sign in is used.
    pub auth_method: Option<String>,
}

/// A REST API by its OpenAPI document: each operation is a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenApiRuntime {
    /// The document: a file in the agent's folder, or an address.
    pub document: String,
    /// Where all operations go instead of to the document's servers.
    pub base_url: Option<Url>,
    /// Name of the variable that holds the API's bearer token.
    pub token_env: Option<String>,
    /// Names of the variables that hold the API's other secrets, by the names of the document's security
    /// schemes.
    pub keys: BTreeMap<String, String>,
}

/// Who answers when an agent asks for a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// The caller: the task asks and waits.
    #[default]
    Ask,
    /// No person: everything is allowed, once.
    Allow,
    /// No person: everything is rejected, once.
    Reject,
}

/// Which files an agent may have through the site; always only those in its own folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileAccess {
    /// None.
    #[default]
    None,
    /// It may read.
    Read,
    /// It may read and write, except its own agent.toml.
    Write,
}

/// The wire form of a model server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelApi {
    /// Chat completions, as OpenAI, Ollama, vLLM and llama.cpp implement them.
    #[default]
    Openai,
    /// Anthropic messages.
    Anthropic,
}

/// A prompt and a model.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmRuntime {
    /// Who the agent is and how it should answer.
    pub prompt: Option<String>,
    /// A file in the agent's folder with the prompt.
    pub prompt_file: Option<String>,
    /// `PROVIDER:MODEL`, or `MODEL` of the first provider; the provider's own default when left out.
    pub model: Option<String>,
    /// A dedicated server instead of a configured provider.
    pub base_url: Option<Url>,
    /// The wire form of that server.
    pub api: ModelApi,
    /// Name of the variable that holds that server's key.
    pub key_env: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Most tokens of one answer.
    pub max_tokens: u32,
    /// Earlier messages of the conversation that the model sees.
    pub memory: usize,
    /// What it may use: `agent:NAME`, `agent:URL` or `mcp:NAME`.
    pub tools: Vec<String>,
}

/// An MCP server, here or elsewhere. Either `url` or `command` is set.
#[derive(Debug, Clone, PartialEq)]
pub struct McpRuntime {
    /// Where it is, when it is not started here.
    pub url: Option<Url>,
    /// The program that is started, connected through its standard input and output.
    pub command: Vec<String>,
    /// Variables the program gets.
    pub env: BTreeMap<String, String>,
    /// Variables of the site that it gets too.
    pub pass_env: Vec<String>,
    /// Most memory of one process.
    pub memory: Option<ByteSize>,
    /// Most processor time of one process.
    pub cpu: Option<Period>,
    /// Largest file it may write.
    pub file_size: Option<ByteSize>,
    /// Most open files of one process.
    pub open_files: Option<u64>,
    /// How long the server may take until it answers.
    pub start_timeout: Period,
    /// Name of the variable that holds the token for a server elsewhere.
    pub token_env: Option<String>,
    /// How the site gets a token for a remote server that requires one of its authorization server.
    pub auth: Option<ServerAuth>,
    /// Which tools must be approved before they can be used.
    pub approve: Approve,
    /// Whether the server may ask the site's model when its caller has none.
    pub sampling: bool,
    /// Whether plain words are understood with the help of a model, when there is one.
    pub talk: bool,
    /// What that model gets to know about the tools, besides what they say themselves.
    pub prompt: Option<String>,
    /// Which model: `PROVIDER:MODEL`, or `MODEL` of the first provider; the provider's own default when left
    /// out.
    pub model: Option<String>,
}

impl McpRuntime {
    /// A remote tool server that is called without a credential; its tools need no approval.
    #[must_use]
    pub fn elsewhere(url: Url) -> Self {
        Self {
            url: Some(url),
            command: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            memory: None,
            cpu: None,
            file_size: None,
            open_files: None,
            start_timeout: TOOL_SERVER_START_TIMEOUT,
            token_env: None,
            auth: None,
            approve: Approve::Never,
            sampling: false,
            talk: true,
            prompt: None,
            model: None,
        }
    }
}

/// How the site gets a token for a tool server from the authorization server that it names (OAuth 2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAuth {
    /// Who the token is for.
    pub grant: ServerGrant,
    /// The client that was registered manually; without it, each login registers one.
    pub client_id: Option<String>,
    /// Name of the variable that holds that client's secret.
    pub client_secret_env: Option<String>,
    /// The scopes that are asked for; those that the server names when empty.
    pub scopes: Vec<String>,
}

/// Who a token for a tool server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerGrant {
    /// A person, who logs in once with `agentsite agent login`; the site refreshes the token from then on.
    Login,
    /// The site itself, with the id and the secret of its own client.
    Machine,
}

/// Which tools of a server must be approved by the operator before they can be used. What a server says of
/// its tools steers the models that read it, so a tool that is not what it was is always flagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Approve {
    /// None; tools that are new or changed are flagged and can be used.
    #[default]
    Never,
    /// Those that are new or changed since the server was first seen.
    Changed,
    /// All, also when the server is seen for the first time.
    Always,
}

impl LlmRuntime {
    /// What an agent that says nothing about its model gets.
    #[must_use]
    pub fn plain(prompt: Option<String>, model: Option<String>) -> Self {
        Self {
            prompt,
            prompt_file: None,
            model,
            base_url: None,
            api: ModelApi::default(),
            key_env: None,
            temperature: None,
            max_tokens: MAX_TOKENS,
            memory: MEMORY,
            tools: Vec::new(),
        }
    }
}
