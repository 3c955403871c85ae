//! Calls an agent and prints its answer as it comes.
//!
//!     cargo run -p agentsite-client --example call -- http://127.0.0.1:4747/a2a/calc "2 + 2"
//!
//! Any A2A agent will do. It keeps no conversation; send the context of the answer along to continue one.

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;

use agentsite_client::{A2aClient, Egress, SendOptions, StreamItem};
use agentsite_protocol::{Message, Role};
use futures::StreamExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(text)) = (arguments.next(), arguments.next()) else {
        return Err("say whom to call and what to say: call URL TEXT".into());
    };
    // An agent of this machine may be called too; `Egress::default()` would refuse private addresses.
    let agent = A2aClient::resolve(&Egress::unguarded(), &url.parse()?, None).await?;

    // A message with the same id is the same message, so each needs its own.
    let id = format!("{:016x}", RandomState::new().hash_one(&text));
    let message = Message::text(id.parse()?, Role::User, text);

    let mut out = std::io::stdout();
    let mut items = agent.stream(&message, &SendOptions::default());
    while let Some(item) = items.next().await {
        let status = match item? {
            StreamItem::Artifact { artifact, .. } => {
                write!(out, "{}", artifact.plain_text())?;
                None
            }
            StreamItem::Message(message) => {
                write!(out, "{}", message.plain_text())?;
                None
            }
            // The first item; of an agent that answers at once it is the only one and holds the answer.
            StreamItem::Task(task) => {
                task.artifacts.iter().try_for_each(|artifact| write!(out, "{}", artifact.plain_text()))?;
                Some(task.status)
            }
            StreamItem::Status { status, .. } => Some(status),
        };
        if let Some(status) = status.filter(|status| status.state.is_settled()) {
            let words = status.message.map(|words| words.plain_text()).unwrap_or_default();
            write!(out, "\n[{}] {words}", status.state)?;
        }
        out.flush()?;
    }
    Ok(writeln!(out)?)
}
