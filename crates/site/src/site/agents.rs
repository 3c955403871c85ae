//! The verbs of a site about the agents that it runs: put in, replaced, taken out, shown.
//!
//! Promises: replacing an agent stops its earlier version and leaves nothing of it behind; callers see only
//! the agents that they may call. How an agent runs is `host`'s matter, agents from elsewhere are `hub`'s,
//! programs that connect `connect`'s.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agentsite_host::{AgentLog, LogLine, Manifest, Runner};
use agentsite_protocol::{AgentName, Caller};

use super::{Site, admin_only, login};
use crate::hub::Entry;
use crate::{AgentView, BrokenAgent, SiteError};

impl Site {
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
        let known = self.0.hub.get(&name).is_some();
        if let Some(before) = self.0.hub.install(manifest, folder, &self.0.workshop, anew)? {
            if before.holder.is_some() {
                self.give_way(&name).await?;
            }
            before.runner.stop().await;
            self.drop_index(&before).await;
        }
        self.0.logins.keep_only(&name, server.as_ref()).await?;
        self.0.names.hold(&name).await?;
        self.relay_changes(&name);
        if !known && !self.is_stopping() {
            self.0.tasks.recover(Some(&name)).await?;
        }
        Ok(())
    }

    /// Adds an agent that runs in this process on a runner of your own, or replaces the one of this name.
    pub fn install_runner(&self, manifest: Manifest, runner: Arc<dyn Runner>) {
        let (log, name) = (AgentLog::new(self.ids().clock().clone()), manifest.name.clone());
        self.0.hub.put(Entry::new(manifest, runner, log, None));
        self.relay_changes(&name);
    }

    /// Takes an agent out; false when there was none. The name of one of the site's own stays reserved for a
    /// while.
    pub async fn uninstall(&self, name: &AgentName) -> bool {
        match self.0.hub.uninstall(name) {
            Some(entry) => {
                if entry.holder.is_none() {
                    self.release_own(name).await;
                }
                entry.runner.stop().await;
                self.drop_index(&entry).await;
                if let Err(error) = self.0.logins.keep_only(name, None).await {
                    tracing::error!(agent = %name, %error, "The login of an agent that was taken out could not be removed.");
                }
                true
            }
            None => false,
        }
    }

    async fn release_own(&self, name: &AgentName) {
        if let Err(error) = self.0.names.release_own(name).await {
            tracing::error!(agent = %name, %error, "The name of an agent that was taken out could not be reserved.");
        }
    }

    /// Says which agents have a folder and do not run, because they are suspended or cannot be read; their
    /// names stay reserved.
    pub fn set_idle(&self, names: BTreeSet<AgentName>) {
        self.0.names.set_idle(names);
    }

    /// Removes the index of a library that went, unless its next version is one, too.
    async fn drop_index(&self, before: &Entry) {
        let name = &before.manifest.name;
        if before.is_library() && !self.0.hub.libraries().contains(name) {
            self.0.hub.library_folders.clear(name).await;
        }
    }

    /// Says which agent folders could not be read.
    pub fn set_broken(&self, broken: Vec<BrokenAgent>) {
        self.0.hub.set_broken(broken);
    }

    /// Agent folders that could not be read; only the people who run the site see them.
    #[must_use]
    pub fn broken(&self, caller: &Caller) -> Vec<BrokenAgent> {
        if caller.is_admin() { self.0.hub.broken() } else { Vec::new() }
    }

    /// The agents this caller may call, by name.
    #[must_use]
    pub fn agents(&self, caller: &Caller) -> Vec<AgentView> {
        self.0.hub.list(caller).iter().map(|entry| self.view(caller, entry.view())).collect()
    }

    /// One agent.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn agent(&self, caller: &Caller, name: &AgentName) -> Result<AgentView, SiteError> {
        Ok(self.view(caller, self.0.hub.visible(caller, name)?.view()))
    }

    /// The last lines of an agent's log.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site; [`SiteError::NoSuchAgent`].
    pub fn agent_log(
        &self,
        caller: &Caller,
        name: &AgentName,
        most: usize,
    ) -> Result<Vec<LogLine>, SiteError> {
        admin_only(caller)?;
        Ok(self.0.hub.visible(caller, name)?.log.tail(most))
    }

    /// Folders, reasons and notices may tell about the machine; only the people who run the site see them.
    fn view(&self, caller: &Caller, mut view: AgentView) -> AgentView {
        if !caller.is_admin() {
            view.folder = None;
            view.reason = None;
            view.notice = None;
        }
        view
    }
}
