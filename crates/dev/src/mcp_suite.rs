//! The client that the conformance suite of MCP drives, run by `agentsite mcp-check`.
//!
//! Promises: it does with every server the same: connects, lists everything, uses everything once, and
//! answers what it is asked, with only the public client that the `mcp` runtime uses. What the suite adds
//! (calls to make, a client to log in as) comes as JSON. It trusts every address, because the suite's servers
//! are on this machine; it reads no environment variable itself.

mod made_up;

use std::sync::Arc;

use agentsite_client::Token;
use agentsite_client::mcp::{
    Address, Authorization, Consent, McpClient, McpError, OAuth, Options, RegisteredClient,
};
use agentsite_egress::Egress;
use agentsite_protocol::mcp::{PromptCall, Reading, Reply, Round, Tool, ToolCall};
use agentsite_protocol::{JsonMap, Rng};
use futures::future::BoxFuture;
use serde::Deserialize;
use url::Url;

/// The document about the client of the suite's own example, which its servers know.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// Where a person would come back to; nothing listens there, because the suite's answer is read off its
/// redirect.
const REDIRECT: &str = "http://localhost:3000/callback";

/// A tool of the suite that gives the schema of another tool back.
const ECHO_SCHEMA: &str = "json_schema_echo";

/// How often a server may ask back about one request.
const MAX_ROUNDS: usize = 10;

/// What the suite says in addition to the address.
#[derive(Debug, Default, Deserialize)]
struct Context {
    #[serde(default, alias = "toolCalls")]
    tool_calls: Vec<ExpectedCall>,
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default)]
    client_secret: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct ExpectedCall {
    name: String,
    #[serde(default)]
    arguments: JsonMap,
}

/// Uses everything that the server has. `context` is the JSON that the suite passes for the scenario.
///
/// # Errors
/// [`McpError`] when the server cannot be used.
pub async fn use_server(
    url: Url,
    context: Option<&str>,
    scenario: &str,
    rng: Arc<dyn Rng>,
) -> Result<(), McpError> {
    let context: Context = context.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let egress = Egress::unguarded();
    let login = login(&egress, &context, scenario);
    let address = Address::url(url, egress).authorized(Authorization::OAuth(login));
    use_all(address, context.tool_calls, rng).await
}

fn login(egress: &Egress, context: &Context, scenario: &str) -> OAuth {
    let secret = context.client_secret.as_deref().map(Token::new);
    let client = context.client_id.clone().map(|id| RegisteredClient { id, secret });
    if let Some(client) = client.clone().filter(|_| scenario.starts_with("auth/client-credentials")) {
        return OAuth::machine(client);
    }
    let consent = Arc::new(Headless(egress.clone()));
    let mut login = OAuth::new(REDIRECT.parse().expect("the address is sound"), consent);
    login.client = client;
    // Everywhere else the suite expects a registered client.
    if scenario == "auth/basic-cimd" {
        login.metadata = METADATA.parse().ok();
    }
    login
}

async fn use_all(address: Address, wanted: Vec<ExpectedCall>, rng: Arc<dyn Rng>) -> Result<(), McpError> {
    let client = McpClient::connect(address, Options::new(rng)).await?;
    let tools = client.tools().await?;
    let calls = if wanted.is_empty() { made_up_calls(&tools) } else { wanted };
    for ExpectedCall { name, arguments } in calls {
        use_tool(&client, ToolCall { name, arguments, round: Round::default() }).await?;
    }
    for prompt in client.prompts().await? {
        let arguments = prompt.arguments.into_iter().map(|place| (place.name, "test".to_owned())).collect();
        let call = PromptCall { name: prompt.name, arguments, round: Round::default() };
        client.prompt(call).await?;
    }
    for resource in client.resources().await? {
        client.read(Reading { uri: resource.uri, round: Round::default() }).await?;
    }
    client.templates().await?;
    client.close().await;
    Ok(())
}

/// A call of each tool. A tool that echoes a schema is there to see what became of that of its neighbour.
fn made_up_calls(tools: &[Tool]) -> Vec<ExpectedCall> {
    let call = |tool: &Tool| {
        let mut arguments = made_up::arguments(&tool.input_schema);
        let other = tools.iter().find(|other| other.name != tool.name);
        if let (true, Some(other)) = (tool.name == ECHO_SCHEMA, other) {
            arguments.insert("schema".into(), other.input_schema.clone());
        }
        ExpectedCall { name: tool.name.clone(), arguments }
    };
    tools.iter().map(call).collect()
}

async fn use_tool(client: &McpClient, mut call: ToolCall) -> Result<(), McpError> {
    for _ in 0..MAX_ROUNDS {
        let Reply::Input(needed) = client.call(call.clone(), |_| {}).await? else { break };
        let answers = needed.requests.iter().map(|(name, asked)| (name.clone(), made_up::answer(asked)));
        call.round = Round { answers: answers.collect(), state: needed.state };
    }
    Ok(())
}

/// Consents at once: the suite's authorization servers redirect every client back.
#[derive(Debug)]
struct Headless(Egress);

impl Consent for Headless {
    fn ask(&self, address: Url) -> BoxFuture<'_, Result<Url, McpError>> {
        Box::pin(async move {
            let answer = self.0.get(address.clone()).without_redirects().send().await?;
            let back = answer.headers().get("location").and_then(|value| value.to_str().ok());
            let back = back.and_then(|back| address.join(back).ok());
            back.ok_or_else(|| {
                McpError::Unauthorized("the authorization server does not redirect back".into())
            })
        })
    }
}
