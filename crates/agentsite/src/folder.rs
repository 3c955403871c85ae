//! The agents folder: the site offers what is in `agents/`, without restart.
//!
//! Promises: added, changed and removed folders take effect within a second; a broken `agent.toml` is one log
//! line and stops no other agent. Decisions are in `plan`, reading in `scan`, waiting in `watch`; here they
//! are carried out on the site.

mod look;
pub(crate) mod plan;
pub(crate) mod scan;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentsite_host::Manifest;
use agentsite_protocol::{AgentName, Caller};
use agentsite_site::{BrokenAgent, Site};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

pub(crate) use look::{ScanRequester, ScanRequests};
use plan::{Action, ScanState};
use watch::Watch;

/// Keeps a site in step with its agents folder.
#[derive(Debug)]
pub(crate) struct AgentsFolder {
    path: PathBuf,
    site: Site,
    /// Agents that are there when no folder has their name.
    demos: BTreeMap<AgentName, Manifest>,
    known: ScanState,
}

impl AgentsFolder {
    /// Joins a folder, which need not exist, and a site. Nothing happens before the first [`Self::refresh`].
    pub(crate) fn new(path: &Path, site: Site, demos: Vec<Manifest>) -> Self {
        let demos = demos.into_iter().map(|demo| (demo.name.clone(), demo)).collect();
        Self { path: path.to_owned(), site, demos, known: ScanState::default() }
    }

    /// Installs the demos.
    pub(crate) async fn install_demos(&self) {
        for demo in self.demos.values() {
            if let Err(error) = self.site.agents().install(demo.clone(), None).await {
                tracing::error!(agent = %demo.name, "the demo cannot be installed: {error}");
            }
        }
    }

    /// ScanRequester at the folder and does what has to be done.
    pub(crate) async fn refresh(&mut self) {
        let path = self.path.clone();
        let look = move || Ok::<_, std::io::Error>((scan::scan(&path)?, scan::idle(&path)?));
        let (found, idle) = match tokio::task::spawn_blocking(look).await {
            Ok(Ok(looked)) => looked,
            Ok(Err(error)) => return tracing::warn!("cannot read {}: {error}", self.path.display()),
            Err(error) => return tracing::error!("the scan of the agents folder broke off: {error}"),
        };
        // Before anything is taken out, so that no name is free in between.
        self.site.agents().set_idle(idle);
        let plan = plan::plan(&self.known, found);
        let mut known = plan.known;
        for action in plan.actions {
            self.carry_out(action, &mut known).await;
        }
        let broken =
            |(file, error): (&String, &String)| BrokenAgent { file: file.clone(), error: error.clone() };
        self.site.agents().set_broken(known.errors.iter().map(broken).collect());
        self.known = known;
    }

    /// How many agents there are, and how many of them are broken.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.site.agents().list(&Caller::local()).len(), self.known.errors.len())
    }

    /// An agent that can be tried, with a question that it answers: a demo when there are some.
    pub(crate) fn example(&self) -> Option<(AgentName, String)> {
        let calc: Option<AgentName> = "calc".parse().ok();
        if let Some(calc) = calc.filter(|calc| self.demos.contains_key(calc)) {
            return Some((calc, "2+2".into()));
        }
        let agents = self.site.agents().list(&Caller::local());
        let first = agents.first()?;
        let words = first.skills.iter().flat_map(|skill| &skill.examples).next();
        Some((first.name.clone(), words.cloned().unwrap_or_else(|| "hello".into())))
    }

    /// Follows the folder until the token is cancelled; `again` asks for a look without a change, and a
    /// request in `requests` is answered once its look is done.
    pub(crate) async fn follow(
        mut self,
        again: Arc<Notify>,
        mut requests: ScanRequests,
        stop: CancellationToken,
    ) {
        let worker = self
            .site
            .workers()
            .register("agents-folder", "Loads agents whose files appear, change or disappear.");
        let mut watch = Watch::begin(&self.path);
        let mut waiting = Vec::new();
        loop {
            // What changed between the first look and the beginning of the watch is found here.
            watch.follow();
            worker.working("looking at the folder");
            self.refresh().instrument(tracing::info_span!("agents_folder")).await;
            let (agents, broken) = self.count();
            worker.idle(&format!("{agents} agents, {broken} broken"));
            waiting.drain(..).for_each(look::ScanRequest::done);
            tokio::select! {
                Some(one) = requests.next() => waiting.push(one),
                () = watch.changed() => {}
                () = again.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn carry_out(&mut self, action: Action, known: &mut ScanState) {
        match action {
            Action::Install { manifest, folder } => self.install(*manifest, folder, known).await,
            Action::Remove(name) => self.remove(&name).await,
            Action::Complain { file, error } => tracing::error!("{file}:{error}"),
        }
    }

    async fn install(&mut self, manifest: Manifest, folder: PathBuf, known: &mut ScanState) {
        let name = manifest.name.clone();
        let before = self.known.agents.contains_key(&name);
        let place = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
        // Anew, because a file next to an equal manifest may have changed.
        match self.site.agents().reinstall(manifest, Some(place)).await {
            Ok(()) if before => tracing::info!(agent = %name, "changed: {}", folder.display()),
            Ok(()) => tracing::info!(agent = %name, "added: {}", folder.display()),
            Err(error) => {
                let file = folder.join(scan::MANIFEST).display().to_string();
                tracing::error!("{file}:1:1: {error}");
                known.refuse(file, format!("1:1: {error}"));
            }
        }
    }

    async fn remove(&mut self, name: &AgentName) {
        tracing::info!(agent = %name, "removed");
        match self.demos.get(name) {
            Some(demo) => {
                if let Err(error) = self.site.agents().install(demo.clone(), None).await {
                    tracing::error!(agent = %name, "the demo cannot be installed: {error}");
                }
            }
            None => {
                self.site.agents().uninstall(name).await;
            }
        }
    }
}
