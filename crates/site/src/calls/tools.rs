//! The tools of an agent, as another agent of the site uses them.
//!
//! Promises: a call takes a slot in the lane of the agent whose tool it is, so that its limits hold for every
//! caller. It is part of the task of the one who calls, and opens none of its own.

use std::sync::Arc;

use agentsite_host::{About, Exchange, ToolFault, Toolbox};
use agentsite_protocol::mcp::{Reply, Tool, ToolCall, ToolResult};
use futures::future::BoxFuture;

use crate::local_agents::Entry;
use crate::remote_toolbox::RemoteToolbox;
use agentsite_tasks::{ProcessCalls, Slot};

/// The tools of an agent of this site.
#[derive(Debug)]
pub(super) struct Neighbour {
    pub(super) entry: Arc<Entry>,
    pub(super) toolbox: Arc<dyn Toolbox>,
    pub(super) calls: ProcessCalls,
}

impl Neighbour {
    /// A slot of this process, unless another one makes the call.
    async fn admitted(&self) -> Result<Option<Slot>, ToolFault> {
        if !RemoteToolbox::needs_slot(&self.entry, &self.calls) {
            return Ok(None);
        }
        self.entry.slot().await.map(Some).map_err(|later| {
            let (name, seconds) = (&self.entry.manifest.name, later.as_secs().max(1));
            ToolFault::Down(format!("{name} is busy; try again in {seconds} s"))
        })
    }
}

impl Toolbox for Neighbour {
    fn about(&self) -> About {
        self.toolbox.about()
    }

    fn tools(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        self.toolbox.tools(exchange)
    }

    fn call(
        &self,
        exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(async move {
            let _slot = self.admitted().await?;
            self.toolbox.call(exchange, call).await
        })
    }
}
