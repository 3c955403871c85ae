//! `agentsite find --watch`: keeps a query at the site while the command runs, and tells of agents that
//! appear.
//!
//! Promises: the query is forgotten when the command ends by Ctrl-C. A line for each agent, JSON with
//! `--json`.

use agentsite_protocol::Query;
use agentsite_site::{QueryMatch, SavedQuery};
use futures::StreamExt;
use serde_json::json;

use crate::cli::shell::Shell;
use crate::exit::{CliError, Exit};

/// Follows until Ctrl-C.
pub(super) async fn run(shell: &Shell, query: Query) -> Result<Exit, CliError> {
    let site = shell.site()?;
    let query = Query { limit: None, ..query };
    let kept: SavedQuery = site.post("api/queries", &json!({ "query": query })).await?;
    shell.output.note("waiting for agents that fit; end with Ctrl-C");
    let followed = tokio::select! {
        followed = follow(shell, &kept.id) => followed,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    site.delete(&format!("api/queries/{}", kept.id)).await?;
    followed.map(|()| Exit::Ok)
}

async fn follow(shell: &Shell, id: &str) -> Result<(), CliError> {
    let mut events = shell.site()?.events(&format!("api/queries/{id}/events")).await?;
    while let Some(event) = events.next().await {
        let Ok(appeared) = serde_json::from_str::<QueryMatch>(&event?.data.unwrap_or_default()) else {
            continue;
        };
        if shell.output.is_json() {
            shell.output.json(&appeared)?;
            continue;
        }
        let one = &appeared.found;
        let line = format!(
            "{:.3}  {}  {}  {}\n",
            one.score,
            one.name,
            one.why(),
            one.description.replace('\n', " ")
        );
        shell.output.piece(&line)?;
    }
    Ok(())
}
