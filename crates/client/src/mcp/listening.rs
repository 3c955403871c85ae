//! Listening: notifications about changes at a server, in the form of its revision.
//!
//! Promises: one subscription at a time carries everything that is wanted, and a lost one is opened again
//! with growing pauses. Servers of older revisions tell changes of lists unasked and are asked for each
//! resource. It does not read what changed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, CustomRequest, SubscriptionFilter};
use rmcp::service::Peer;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::calls::Calls;
use super::tap::change_of;
use super::{Connection, McpError};

/// Resources that may be watched over one connection; the list goes with every subscription.
const MAX_WATCHED: usize = 1_000;

/// The first and the longest pause before a lost subscription is opened again.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is wanted, and who listens for it.
pub(super) struct Listening {
    wanted: watch::Sender<BTreeSet<String>>,
    /// A std lock: held to look whether there is a listener, never across an await.
    listener: Mutex<Option<AbortHandle>>,
}

impl Default for Listening {
    fn default() -> Self {
        Self { wanted: watch::channel(BTreeSet::new()).0, listener: Mutex::default() }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let listener = self.listener.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = listener.take() {
            listener.abort();
        }
    }
}

impl Listening {
    /// Listens from now on; does nothing when that is so already, or when the server tells changes unasked.
    pub(super) fn begin(&self, connection: &Arc<Connection>) {
        if !connection.modern {
            return;
        }
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.is_none() {
            let listening = Listener {
                peer: connection.peer.clone(),
                calls: Arc::downgrade(&connection.shared.calls),
                wanted: self.wanted.subscribe(),
                about: connection.about.clone(),
            };
            *listener = Some(tokio::spawn(listening.listen()).abort_handle());
        }
    }

    /// Adds a resource to what is wanted, or takes it away.
    pub(super) async fn watch(
        &self,
        connection: &Arc<Connection>,
        uri: &str,
        on: bool,
    ) -> Result<(), McpError> {
        if !connection.about.subscriptions {
            return Err(McpError::Unsupported(
                "the tool server does not announce changes of a resource".into(),
            ));
        }
        if on && self.wanted.borrow().len() >= MAX_WATCHED {
            return Err(McpError::Unsupported(format!(
                "no more than {MAX_WATCHED} resources are watched at once"
            )));
        }
        let news = self
            .wanted
            .send_if_modified(|wanted| if on { wanted.insert(uri.into()) } else { wanted.remove(uri) });
        if connection.modern {
            self.begin(connection);
            return Ok(());
        }
        if !news {
            return Ok(());
        }
        let method = if on { "resources/subscribe" } else { "resources/unsubscribe" };
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(json!({ "uri": uri }))));
        connection.ask::<Value>("subscribe", request).await.map(|_| ())
    }
}

struct Listener {
    peer: Peer<RoleClient>,
    calls: Weak<Calls>,
    wanted: watch::Receiver<BTreeSet<String>>,
    about: super::About,
}

impl Listener {
    async fn listen(mut self) {
        let mut pause = PAUSE;
        while !self.peer.is_transport_closed() {
            let filter = self.filter();
            match self.peer.listen(filter).await {
                Ok(subscription) => {
                    pause = PAUSE;
                    if self.follow(subscription).await {
                        continue;
                    }
                }
                Err(error) => tracing::debug!(%error, "a tool server does not announce its changes"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Passes changes on until the subscription ends; true when something else is wanted now.
    async fn follow(&mut self, mut subscription: rmcp::service::Subscription) -> bool {
        loop {
            tokio::select! {
                told = subscription.next() => {
                    let Ok(Some(told)) = told else { return false };
                    let Some(calls) = self.calls.upgrade() else { return false };
                    if let Some(change) = change_of(&told) {
                        calls.changed(change);
                    }
                }
                news = self.wanted.changed() => return news.is_ok(),
            }
        }
    }

    fn filter(&mut self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = self.about.tools.then_some(true);
        filter.resources_list_changed = self.about.resources.then_some(true);
        filter.prompts_list_changed = self.about.prompts.then_some(true);
        let wanted = self.wanted.borrow_and_update();
        if !wanted.is_empty() {
            filter.resource_subscriptions = Some(wanted.iter().cloned().collect());
        }
        filter
    }
}
