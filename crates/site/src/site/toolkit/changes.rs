//! Changes: who watches what, and what is told of it.
//!
//! Promises: changes of a task are told to its owner only; changes of an agent's own tools reach those who
//! see the whole site. What looks out ends with the task, with the agent, or with the site.

use agentsite_host::Change;
use agentsite_protocol::TaskId;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use super::resources::Address;
use super::{Kind, Toolkit};

impl Toolkit {
    /// Tells from now on what changes; `None` when nothing ever does.
    #[must_use]
    pub fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => toolbox.changes(),
            Kind::Whole | Kind::Agent(_) => Some(self.site.local.feeds.listen(self.caller.owner())),
        }
    }

    /// Somebody wants to know (or no longer) when this resource changes. What is not for the caller is
    /// watched in vain.
    pub fn watch(&self, uri: &str, on: bool) {
        if let Kind::Hosted(_, toolbox) = &self.kind {
            return toolbox.watch(uri, on);
        }
        let (feeds, owner) = (&self.site.local.feeds, self.caller.owner());
        match (on, Address::read(uri)) {
            (false, _) => feeds.unwatch(owner, uri),
            (true, Some(Address::Card(_))) => feeds.watch(owner, uri, || None),
            (true, Some(Address::Task(id) | Address::Artifact(id, _))) => {
                feeds.watch(owner, uri, || Some(self.follow(id, uri.to_owned())));
            }
            (true, None) => {}
        }
    }

    /// Tells of every change of a task until it has ended or nobody hears.
    fn follow(&self, id: TaskId, uri: String) -> AbortHandle {
        let (site, caller) = (self.site.clone(), self.caller.clone());
        let following = async move {
            let Ok(task) = site.tasks.get(&caller, id).await else { return };
            let Ok(mut watch) = site.tasks.watch_to_end(&caller, id, task.head.seq).await else { return };
            while watch.next().await.is_some() {
                if !site.local.feeds.resource_changed(caller.owner(), &uri) {
                    return;
                }
            }
        };
        let stop = self.site.lifetime.stopping().clone();
        let spawned = self.site.lifetime.spawn(async move {
            stop.run_until_cancelled(following).await;
        });
        spawned.abort_handle()
    }
}
