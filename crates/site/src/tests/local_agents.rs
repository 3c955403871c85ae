//! Agents come, change and go while the site runs.
//!
//! What a card shows is checked against the A2A shape in the gateway's golden files; here only what the site
//! puts into it.

use agentsite_host::{Job, Reporter};
use agentsite_protocol::{AgentCard, Outcome};
use futures::future::BoxFuture;

use super::*;
use crate::{BrokenAgent, Submission};

#[tokio::test]
async fn agents_are_installed_replaced_and_taken_out() {
    let story = Story::begin().await;
    story.site.agents().install(manifest("echo", ""), None).await.unwrap();
    let name: AgentName = "echo".parse().unwrap();
    assert_eq!(story.ask(&name, "hi").await.answer(), "hi");
    story.site.agents().install(manifest("echo", "[limits]\nconcurrency = 2"), None).await.unwrap();
    assert_eq!(story.site.agents().get(&Caller::local(), &name).unwrap().concurrency, 2);
    assert!(story.site.agents().uninstall(&name).await);
    assert!(!story.site.agents().uninstall(&name).await);
    let error = story.try_send(&Caller::local(), &name, story.says("x")).await.unwrap_err();
    assert!(matches!(error, SiteError::NoSuchAgent(_)));
}

#[tokio::test]
async fn a_replaced_agent_lets_its_running_task_end() {
    let story = Story::begin().await;
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let old = Arc::new(ScriptedRunner::new().gate(&gate).chunk("from the old one"));
    let agent = story.agent_with("a", "", old.clone());
    let watch = story.send(&agent, "x").await;
    old.started(1).await;
    story.agent("a", ScriptedRunner::new().chunk("from the new one"));
    assert_eq!(story.ask(&agent, "x").await.answer(), "from the new one");
    gate.add_permits(1);
    assert_eq!(watch.settled().await.answer(), "from the old one");
}

#[tokio::test]
async fn cards_carry_the_sites_own_addresses() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let card = story.site.cards().get(&Caller::local(), &agent, "https://example.org").unwrap();
    let interfaces: Vec<_> = card
        .supported_interfaces
        .iter()
        .map(|one| (one.protocol_binding.as_str(), one.protocol_version.as_str()))
        .collect();
    assert_eq!(
        interfaces,
        [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("GRPC", "1.0"), ("JSONRPC", "0.3")],
        "the preferred one first"
    );
    let url = "https://example.org/a2a/echo";
    for one in &card.supported_interfaces {
        let at = if one.protocol_binding == "GRPC" { "example.org:443" } else { url };
        assert_eq!(one.url, at);
    }
    assert_eq!(card.extra["url"], url, "where readers of 0.3 look");
    assert_eq!(card.skills[0].id, "echo");
    let site = story.site.cards().of_site(&Caller::local(), "https://example.org");
    assert_eq!(site.supported_interfaces[0].url, "https://example.org/a2a");
    let ids: Vec<&str> = site.skills.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(ids, ["ask-anyone", "echo/echo"]);
}

#[tokio::test]
async fn broken_folders_are_shown_to_admins_only() {
    let story = Story::begin().await;
    story
        .site
        .agents()
        .set_broken(vec![BrokenAgent { file: "agents/x/agent.toml".into(), error: "1:1: what".into() }]);
    assert_eq!(story.site.agents().broken(&Caller::local()).len(), 1);
    assert!(story.site.agents().broken(&Caller::anonymous("192.0.2.1".parse().unwrap())).is_empty());
    let report = story.site.status(&Caller::local()).await.unwrap();
    assert_eq!(report.broken.len(), 1);
}

#[tokio::test]
async fn background_work_is_seen() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    let worker = story.site.workers().register("watcher", "Watches.");
    let find =
        |name: &str| story.site.workers().list().into_iter().find(|worker| worker.name == name).unwrap();
    assert_eq!(find("watcher").last_run_at, None);
    worker.failing("no such folder");
    let failing = find("watcher");
    assert_eq!((failing.state, failing.errors, failing.about), ("failing", 1, "Watches."));
    worker.idle("waits");
    assert_eq!(find("watcher").last_error.as_deref(), Some("no such folder"), "what went wrong stays told");
    assert!(find("watcher").last_run_at.is_some());
    drop(worker);
    assert_eq!(find("watcher").state, "stopped");
    find("retention");
}

/// An agent that lives elsewhere and tells this of itself.
#[derive(Debug)]
struct Elsewhere(Arc<AgentCard>);

impl Runner for Elsewhere {
    fn run(&self, job: Job, _: Reporter) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { Outcome::Completed(Some(job.words(job.ephemeral.extensions.join(" ")))) })
    }

    fn card(&self) -> Option<Arc<AgentCard>> {
        Some(self.0.clone())
    }
}

#[tokio::test]
async fn an_extension_that_an_agent_elsewhere_requires_is_declared_asked_for_and_passed_on() {
    let story = Story::begin().await;
    let card = serde_json::json!({
        "name": "far", "description": "d", "version": "1",
        "capabilities": { "extensions": [{ "uri": "urn:far:manners", "required": true }, { "uri": "urn:far:more" }] },
    });
    let agent = story.agent("far", Elsewhere(Arc::new(serde_json::from_value(card).unwrap())));
    let shown = story.site.cards().get(&Caller::local(), &agent, "http://x").unwrap().capabilities.extensions;
    assert!(shown.iter().any(|one| one.uri == "urn:far:manners" && one.required), "{shown:?}");

    let refused = story.try_send(&Caller::local(), &agent, story.says("hi")).await.unwrap_err();
    assert!(matches!(&refused, SiteError::ExtensionRequired(uri) if uri == "urn:far:manners"), "{refused}");
    let submission =
        Submission { extensions: vec!["urn:far:manners".into()], ..Submission::from(story.says("hi")) };
    let Sent::Task(watch) = story.site.send(&Caller::local(), &agent, submission).await.unwrap() else {
        panic!("the agent answers with tasks")
    };
    assert_eq!(last_words(&watch.settled().await), "urn:far:manners");
}
