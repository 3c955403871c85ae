//! The Rust SDK: use agents from programs, and be one.
//!
//! Promises: every request goes through an [`Egress`]. It implements A2A ([`A2aClient`]: 1.0 by JSON-RPC,
//! HTTP+JSON and gRPC, 0.3 by JSON-RPC, with failover and a circuit for each endpoint), MCP
//! ([`mcp::McpClient`]) and the REST interface of a site ([`SiteClient`]), verifies who signed a card
//! ([`verify_card`]), and makes a program an agent of a site by connecting to it ([`agent::Agent`]). It opens
//! no port and does not store anything.
//!
//! The types of `agentsite-egress` that a program needs are exported here; the nouns (messages, skills,
//! tasks) are those of `agentsite-protocol`. The examples below run on tokio; their hidden lines start a tiny
//! site, except for the first one, which needs a real one.
//!
//! # Be an agent
//!
//! A program becomes an agent by connecting to a site. It needs no port and no address. The handler is called
//! for each task; what it returns ends the task.
//!
//! ```no_run
//! use agentsite_client::agent::{Agent, Ending, EndingWay};
//! use agentsite_client::{Egress, Token};
//! use agentsite_protocol::{Skill, Visibility};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let skill = Skill {
//!     id: "count".into(),
//!     name: "Count words".into(),
//!     description: "Says how many words a text has.".into(),
//!     examples: vec!["how many words are in this sentence?".into()],
//!     ..Skill::default()
//! };
//! let agent = Agent::new("counter".parse()?, "Counts the words of a text.")
//!     .skill(skill)
//!     .visibility(Visibility::Public);
//!
//! let (site, key) = ("http://127.0.0.1:4747".parse()?, Token::new("your key"));
//! // `Egress::default()` refuses private addresses, such as those of this machine.
//! let refused = agent
//!     .serve(&Egress::unguarded(), &site, Some(&key), async |given, work| {
//!         let words = given.text.split_whitespace().count();
//!         match work.text(format!("{words} words")).await {
//!             Ok(()) => Ending::new(EndingWay::Completed),
//!             // The caller cancelled the task, or the connection is lost.
//!             Err(_) => Ending::new(EndingWay::Canceled),
//!         }
//!     })
//!     .await;
//! // A lost connection is made again; this is returned only when the site refuses the agent.
//! eprintln!("{refused}");
//! # Ok(())
//! # }
//! ```
//!
//! # Call an agent
//!
//! Any A2A agent will do, of a site or not. [`A2aClient::send`] waits until the task is settled.
//!
//! ```
//! use agentsite_client::{A2aClient, Egress, Reply, SendOptions};
//! use agentsite_protocol::{Message, Role};
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/tiny_site.inc"));
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let site = "http://127.0.0.1:4747";
//! # let site = tiny_site().await;
//! let url = format!("{site}/a2a/calc").parse()?;
//! let agent = A2aClient::resolve(&Egress::unguarded(), &url, None).await?;
//!
//! // The id makes a repeated message the same message, so each new one needs its own.
//! let message = Message::text("sum-1".parse()?, Role::User, "2 + 2");
//! let answer: String = match agent.send(&message, SendOptions::default()).await? {
//!     Reply::Message(answer) => answer.plain_text(),
//!     Reply::Task(task) => task.artifacts.iter().map(|artifact| artifact.plain_text()).collect(),
//! };
//! assert_eq!(answer, "4");
//! # Ok(())
//! # }
//! ```
//!
//! # Stream an answer
//!
//! [`A2aClient::stream`] gives the pieces as the agent makes them. The stream ends when the task is settled.
//!
//! ```
//! use agentsite_client::{A2aClient, Egress, SendOptions, StreamItem};
//! use agentsite_protocol::{Message, Role};
//! use futures::StreamExt;
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/tiny_site.inc"));
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let url = format!("{}/a2a/calc", tiny_site().await).parse()?;
//! # let agent = A2aClient::resolve(&Egress::unguarded(), &url, None).await?;
//! let message = Message::text("sum-2".parse()?, Role::User, "2 + 2");
//! let mut items = agent.stream(&message, &SendOptions::default());
//! let mut answer = String::new();
//! while let Some(item) = items.next().await {
//!     match item? {
//!         StreamItem::Artifact { artifact, .. } => answer.push_str(&artifact.plain_text()),
//!         StreamItem::Message(message) => answer.push_str(&message.plain_text()),
//!         StreamItem::Status { status, .. } => eprintln!("[{}]", status.state),
//!         StreamItem::Task(task) => eprintln!("[{}]", task.status.state),
//!     }
//! }
//! assert_eq!(answer, "4");
//! # Ok(())
//! # }
//! ```
//!
//! # Find agents
//!
//! A site finds agents by what they do. [`SiteClient`] uses its REST interface, which `/openapi.json` of the
//! site describes, with the types of `agentsite-protocol`.
//!
//! ```
//! use agentsite_client::{Egress, SiteClient, Token};
//! use agentsite_protocol::{Filter, Match, Query};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Found {
//!     matches: Vec<Match>,
//! }
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/tiny_site.inc"));
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let site = "http://127.0.0.1:4747";
//! # let site = tiny_site().await;
//! let site = SiteClient::new(&Egress::unguarded(), site.parse()?, Some(Token::new("your key")));
//!
//! let filter = Filter { live: true, max_price: Some("0.5".parse()?), ..Filter::default() };
//! let query = Query { filter, ..Query::of("add up the numbers of an invoice") };
//! let found: Found = site.post("api/find", &query).await?;
//! for one in &found.matches {
//!     println!("{:.2} {}: {}", one.score, one.name, one.why());
//! }
//!
//! // An agent of the site is called by its name.
//! let calc = site.a2a(&found.matches[0].name.parse()?, None).await?;
//! assert_eq!(calc.card().description, "Works out sums.");
//! # Ok(())
//! # }
//! ```
//!
//! The query itself is a plain value, which can be checked before it is sent:
//!
//! ```
//! use agentsite_protocol::{Money, Query};
//!
//! let query: Query = serde_json::from_str(r#"{"text": "sums", "filter": {"maxPrice": 0.5}}"#)?;
//! query.check()?;
//! assert_eq!(query.filter.max_price, Some("0.5".parse::<Money>()?));
//! assert!(Query::of("").check().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod a2a;
pub mod agent;
mod embeddings;
mod failure;
pub mod mcp;
mod signer;
mod site;
pub mod sse;
mod token;

pub use agentsite_egress::{AllowedTarget, Circuits, Egress, EgressError, EgressSettings};

pub use a2a::{
    A2aClient, A2aLimits, Binding, Dialect, Endpoint, ListTasks, RemoteStatus, RemoteTask, Reply,
    SendOptions, StreamItem, TaskPage, TaskStream, UnknownBinding, card_url,
};
pub use embeddings::{Embeddings, EmbeddingsSection, MAX_DIMENSIONS};
pub use failure::ClientError;
pub use signer::{
    CardRefusal, KnownBy, KnownKeys, SignedCard, Signer, did_web_of, key_set_url, verify_card, verify_card_at,
};
pub use site::SiteClient;
pub use token::Token;
