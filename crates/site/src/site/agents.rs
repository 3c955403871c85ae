//! The handle for the agents that a site runs: put in, replaced, taken out, shown.
//!
//! Promises: replacing an agent stops its earlier version and leaves nothing of it behind; callers see only
//! the agents that they may call. How an agent runs is `host`'s matter, agents from elsewhere are
//! `registry`'s, programs that connect `connect`'s.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentsite_host::{AgentLog, Change, LogLine, Manifest, Runner, Workshop};
use agentsite_protocol::{AgentName, Caller, Ids};
use agentsite_registry::Names;
use agentsite_store::SharedStore;
use tokio::sync::broadcast::error::RecvError;

use super::connect::ConnectedAgents;
use super::{admin_only, login};
use crate::local_agents::{Entry, LaunchOnce, LocalAgents};
use crate::logins::Logins;
use crate::site_servers::SiteServers;
use crate::{AgentView, BrokenAgent, SiteError, SiteSettings};
use agentsite_tasks::{Capability, Lifetime, Tasks};

/// The agents that a site runs.
#[derive(Debug, Clone)]
pub struct Agents {
    pub(super) local: Arc<LocalAgents>,
    pub(super) workshop: Workshop,
    pub(super) servers: Arc<SiteServers>,
    pub(super) logins: Arc<Logins>,
    pub(super) names: Arc<Names>,
    pub(super) connected: ConnectedAgents,
    pub(super) tasks: Tasks,
    pub(super) store: SharedStore,
    pub(super) ids: Ids,
    pub(super) lifetime: Lifetime,
    pub(super) settings: Arc<SiteSettings>,
    pub(super) concierge: AgentName,
}

impl Agents {
    /// What the agents contribute to a site: folders of libraries that are gone are removed at the start.
    pub(super) fn capability(&self) -> Capability {
        let local = self.local.clone();
        Capability::new("agents").prepare(move || {
            let local = local.clone();
            async move {
                // An agent whose file cannot be read at the moment may be a library.
                if local.broken().is_empty() {
                    local.library_folders.keep_only(&local.libraries()).await;
                }
                Ok(())
            }
        })
    }

    /// Adds an agent, or replaces the one of this name; does nothing when it is unchanged.
    ///
    /// # Errors
    /// [`SiteError::Agent`] says what the agent lacks; an earlier version then goes on.
    pub async fn install(&self, manifest: Manifest, folder: Option<PathBuf>) -> Result<(), SiteError> {
        self.set_up(manifest, folder, false).await
    }

    /// Like [`Self::install`], also when the manifest is unchanged: for an agent whose other files have
    /// changed.
    ///
    /// # Errors
    /// [`SiteError::Agent`] says what the agent lacks; the earlier version then goes on.
    pub async fn reinstall(&self, manifest: Manifest, folder: Option<PathBuf>) -> Result<(), SiteError> {
        self.set_up(manifest, folder, true).await
    }

    async fn set_up(&self, manifest: Manifest, folder: Option<PathBuf>, anew: bool) -> Result<(), SiteError> {
        let name = manifest.name.clone();
        name.check_choice().map_err(|reserved| SiteError::Agent(reserved.to_string()))?;
        let server = login::server_of(&manifest).cloned();
        let known = self.local.get(&name).is_some();
        let installed = {
            let once = |manifest: &Manifest, folder: Option<&Path>, log: &AgentLog| {
                self.servers.runner(manifest, folder, &self.workshop, log)
            };
            let once: Option<LaunchOnce<'_>> = self.servers.is_shared().then_some(&once);
            self.local.install(manifest, folder, &self.workshop, once, anew)?
        };
        if let Some(before) = installed {
            if before.holder.is_some() {
                self.connected.yield_name(&name).await?;
            }
            before.runner.stop().await;
            self.drop_index(&before).await;
        }
        self.logins.keep_only(&name, server.as_ref()).await?;
        self.names.hold(&name).await?;
        self.relay_changes(&name);
        if !known && !self.lifetime.is_stopping() {
            self.tasks.control().recover(Some(&name)).await?;
        }
        Ok(())
    }

    /// Adds an agent that runs in this process on a runner of your own, or replaces the one of this name.
    pub fn install_runner(&self, manifest: Manifest, runner: Arc<dyn Runner>) {
        let (log, name) = (AgentLog::new(self.ids.clock().clone()), manifest.name.clone());
        self.local.put(Entry::new(manifest, runner, log, None));
        self.relay_changes(&name);
    }

    /// Takes an agent out; false when there was none. The name of one of the site's own stays reserved for a
    /// while.
    pub async fn uninstall(&self, name: &AgentName) -> bool {
        match self.local.uninstall(name) {
            Some(entry) => {
                // Another process may still have its folder.
                let elsewhere = self.tasks.control().processes().agents_elsewhere();
                if entry.holder.is_none() && !elsewhere.contains(name) {
                    self.release_own(name).await;
                }
                entry.runner.stop().await;
                self.drop_index(&entry).await;
                if let Err(error) = self.logins.keep_only(name, None).await {
                    tracing::error!(agent = %name, %error, "The login of an agent that was taken out could not be removed.");
                }
                true
            }
            None => false,
        }
    }

    async fn release_own(&self, name: &AgentName) {
        if let Err(error) = self.names.release_own(name).await {
            tracing::error!(agent = %name, %error, "The name of an agent that was taken out could not be reserved.");
        }
    }

    /// Says which agents have a folder and do not run, because they are suspended or cannot be read; their
    /// names stay reserved.
    pub fn set_idle(&self, names: BTreeSet<AgentName>) {
        self.names.set_idle(names);
    }

    /// Removes the index of a library that went, unless its next version is one, too.
    async fn drop_index(&self, before: &Entry) {
        let name = &before.manifest.name;
        if before.is_library() && !self.local.libraries().contains(name) {
            self.local.library_folders.clear(name).await;
        }
    }

    /// Says which agent folders could not be read.
    pub fn set_broken(&self, broken: Vec<BrokenAgent>) {
        self.local.set_broken(broken);
    }

    /// Agent folders that could not be read; only admins see them.
    #[must_use]
    pub fn broken(&self, caller: &Caller) -> Vec<BrokenAgent> {
        if caller.is_admin() { self.local.broken() } else { Vec::new() }
    }

    /// The agents this caller may call, by name.
    #[must_use]
    pub fn list(&self, caller: &Caller) -> Vec<AgentView> {
        self.local.list(caller).iter().map(|entry| self.view(caller, entry.view())).collect()
    }

    /// One agent.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn get(&self, caller: &Caller, name: &AgentName) -> Result<AgentView, SiteError> {
        Ok(self.view(caller, self.local.visible(caller, name)?.view()))
    }

    /// The last lines of an agent's log.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchAgent`].
    pub fn log(&self, caller: &Caller, name: &AgentName, most: usize) -> Result<Vec<LogLine>, SiteError> {
        admin_only(caller)?;
        Ok(self.local.visible(caller, name)?.log.tail(most))
    }

    /// Folders, reasons and notices may tell about the machine; only admins see them.
    fn view(&self, caller: &Caller, mut view: AgentView) -> AgentView {
        if !caller.is_admin() {
            view.folder = None;
            view.reason = None;
            view.notice = None;
        }
        view
    }

    /// The agent that finds the right one for a message in plain language.
    #[must_use]
    pub fn concierge(&self) -> AgentName {
        self.concierge.clone()
    }

    /// The agent that answers this caller for the site itself: the one that the settings name, as long as it
    /// is there and this caller may call it, else the concierge.
    #[must_use]
    pub fn default_for(&self, caller: &Caller) -> AgentName {
        let named = self.settings.site.default_agent.as_ref();
        let named = named.filter(|name| self.local.visible(caller, name).is_ok());
        named.unwrap_or(&self.concierge).clone()
    }

    /// Passes on what an agent that is a set of tools tells of its changes, as long as this version of it is
    /// installed.
    pub(super) fn relay_changes(&self, name: &AgentName) {
        let Some(entry) = self.local.get(name) else { return };
        let Some(mut changes) = entry.runner.toolbox().and_then(|toolbox| toolbox.changes()) else { return };
        let (local, installed, name) = (Arc::downgrade(&self.local), Arc::downgrade(&entry), name.clone());
        let relaying = async move {
            loop {
                let told = changes.recv().await;
                let (Some(local), Some(entry)) = (local.upgrade(), installed.upgrade()) else { return };
                if local.get(&name).is_none_or(|now| !Arc::ptr_eq(&now, &entry)) {
                    return;
                }
                match told {
                    Ok(Change::Tools) | Err(RecvError::Lagged(_)) => local.feeds.tools_changed(),
                    Ok(_) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        };
        let stop = self.lifetime.stopping().clone();
        self.lifetime.spawn(async move { stop.run_until_cancelled(relaying).await });
    }
}
