//! Two processes of one site on one store: what a caller gets does not depend on the process that is asked.
//! The store is in memory; with a real database the end-to-end stories of the cluster show the same.

use std::time::Duration;

use agentsite_host::{Exchange, ToolFault, Toolbox, ToolboxRunner};
use agentsite_protocol::mcp::{Abilities, Reply, Tool, ToolCall, ToolResult};
use futures::future::BoxFuture;

use super::*;
use crate::ToolOutcome;
use crate::settings::ProcessSettings;

/// A tool that says where it is.
#[derive(Debug)]
struct Here(&'static str);

impl Toolbox for Here {
    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        let tool = Tool { name: "where".into(), ..Tool::default() };
        Box::pin(std::future::ready(Ok(Arc::from([tool]))))
    }

    fn call(&self, _: Exchange, call: ToolCall) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(std::future::ready(match call.name.as_str() {
            "where" => Ok(Reply::Done(ToolResult::text(self.0))),
            other => Err(ToolFault::NoSuchTool(other.into())),
        }))
    }
}

/// A process of a site, started.
async fn process(store: MemStore, seed: u64, name: &'static str) -> Story {
    let clock = Arc::new(StoryClock::default());
    clock.advance(1_700_000_000_000);
    let process = ProcessSettings { name: name.into(), lease: Duration::from_secs(2), ..Default::default() };
    let settings = SiteSettings { process, ..SiteSettings::default() };
    let rng = Arc::new(StoryRng(AtomicU64::new(seed)));
    let story = Story::open(settings, store, clock, rng).await;
    story.agent_with(
        "tools",
        "[limits]\nconcurrency = 1\n",
        Arc::new(ToolboxRunner::new(Arc::new(Here(name)))),
    );
    story.site.start().await.unwrap();
    story
}

async fn call(story: &Story, tool: &str) -> Result<String, String> {
    let toolkit = story.site.toolkit(&Caller::local(), Some(&"tools".parse().unwrap())).unwrap();
    let exchange = Exchange::silent(Caller::local(), Abilities::default());
    match toolkit.call(exchange, ToolCall { name: tool.into(), ..ToolCall::default() }).await {
        Ok(ToolOutcome::Reply(Reply::Done(result))) => Ok(result.content[0].text.clone().unwrap_or_default()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_called_in_the_process_that_has_a_slot_for_it() {
    let store = MemStore::shared();
    let first = process(store.clone(), 1, "first").await;
    let second = process(store.another(), 1 << 40, "second").await;
    assert_eq!(second.site.process_count().load(Ordering::Relaxed), 2);
    // Each has read what the other reports.
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(first.site.process_count().load(Ordering::Relaxed), 2);
    assert_eq!(call(&first, "where").await.unwrap(), "first");
    assert_eq!(call(&second, "where").await.unwrap(), "first", "one at a time in the whole site");
    let fault = call(&second, "elsewhere").await.unwrap_err();
    assert_eq!(fault, ToolFault::NoSuchTool("elsewhere".into()).to_string());
    first.site.stop().await;
    // tidy: waits because time is virtual and moves only by waiting.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(call(&second, "where").await.unwrap(), "second");
    assert_eq!(second.site.process_count().load(Ordering::Relaxed), 1);
}
