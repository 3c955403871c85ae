//! The handle for programs that connect to be agents of the site.
//!
//! Promises: only callers who are known connect; nobody takes the name of another, nor of an agent of the
//! site; a program that shows its resume token takes the place of its earlier connection. An agent whose
//! program stays away is shown as down until its lease is over, then it is taken out. How the connection is
//! driven is `gateway`'s matter.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{AgentLog, AgentSession, ConnectedRunner, Presence, SessionEnd};
use agentsite_protocol::agent_session::{AGENT_SESSION_VERSION, Introduction};
use agentsite_protocol::{AgentName, Caller, KeyId, Principal, Timestamp};
use agentsite_registry::{Names, Registry, bounded_introduction};
use agentsite_store::{KeyRecord, StoreError};
use tokio_util::sync::CancellationToken;

use crate::connected::{self, Claim, Connected, ConnectedEntry, StoredAgent, claim, manifest};
use crate::keys::Keys;
use crate::local_agents::{Entry, Holder, LocalAgents};
use crate::{SiteError, SiteSettings, Worker};
use agentsite_tasks::{Capability, Lifetime, Processes, RecordChanges, WorkerScope};

/// How often leases are looked at when nothing else happens.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Shortest time between two such looks, for a lease that is set very low.
const LOOK_LEAST: Duration = Duration::from_secs(1);

/// An agent of the site whose program has just connected.
#[derive(Debug)]
pub struct ConnectedAgent {
    /// The name under which it is called.
    pub name: AgentName,
    /// What the program sends the next time, to take the place of this connection.
    pub resume: String,
    /// How long its place is kept when it is away.
    pub lease: Duration,
    /// What the owner of the program should look at.
    pub warnings: Vec<String>,
    /// The connection; dropping it ends it.
    pub session: AgentSession,
}

/// The agents of a site whose programs connect to it.
#[derive(Debug, Clone)]
pub struct ConnectedAgents {
    pub(super) connected: Arc<Connected>,
    pub(super) local: Arc<LocalAgents>,
    pub(super) names: Arc<Names>,
    pub(super) registry: Arc<Registry>,
    pub(super) keys: Arc<Keys>,
    pub(super) lifetime: Lifetime,
    pub(super) settings: Arc<SiteSettings>,
    pub(super) processes: Processes,
}

impl ConnectedAgents {
    /// What connected agents contribute to a site.
    pub(super) fn capability(&self) -> Capability {
        let (agents, about) = (self.clone(), "Keeps the places of programs that connected and went away.");
        let following = self.clone();
        connected::capability()
            .worker("connected", about, WorkerScope::Process, move |worker, stop| {
                agents.clone().keep_connected(worker, stop)
            })
            .follow(move |changes| {
                let agents = following.clone();
                async move { agents.read_again(changes).await }
            })
    }

    /// Takes over what another process changed: agents whose programs connected there or were taken out.
    async fn read_again(&self, changes: RecordChanges) -> Result<(), StoreError> {
        let _one_at_a_time = self.connected.changing.lock().await;
        for (name, stored) in self.connected.stored(&changes).await? {
            let known = self.connected.get(&name);
            match stored {
                Some((record, revision)) if known.as_ref().is_none_or(|kept| kept.revision < revision) => {
                    self.seat(record, revision, known);
                }
                Some(_) => {}
                None => {
                    if let Some(kept) = self.connected.forget(&name) {
                        kept.runner.retire(SessionEnd::Removed);
                        self.local.uninstall(&name);
                    }
                }
            }
        }
        self.local.changed.notify_one();
        Ok(())
    }

    /// The agents whose programs are connected to this process.
    pub(super) fn here(&self) -> Vec<AgentName> {
        let all = self.connected.all().into_iter();
        all.filter(|kept| is_here(&kept.runner)).map(|kept| kept.record.introduction.name).collect()
    }

    /// Refuses callers who may connect no program, before anything is read from them.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for strangers, [`SiteError::Stopping`].
    pub fn may_connect(&self, caller: &Caller) -> Result<(), SiteError> {
        if self.lifetime.is_stopping() {
            return Err(SiteError::Stopping);
        }
        if caller.is_anonymous() || caller.is_peer() {
            let needed = "connecting an agent needs a key; ask the people who run this site for one";
            return Err(SiteError::Forbidden(needed.into()));
        }
        Ok(())
    }

    /// Makes a program that connects an agent of the site, or brings one back.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for strangers and for names of others, [`SiteError::QuotaExceeded`],
    /// [`SiteError::BadListing`].
    pub async fn connect(
        &self,
        caller: &Caller,
        introduction: Introduction,
    ) -> Result<ConnectedAgent, SiteError> {
        self.may_connect(caller)?;
        let said = bounded(introduction)?;
        let connected = &self.connected;
        let _one_at_a_time = connected.changing.lock().await;
        let name = said.name.clone();
        self.check_name(&name)?;
        let known = connected.get(&name);
        let here = known.as_ref().is_some_and(|kept| is_here(&kept.runner))
            || self.processes.is_connected_elsewhere(&name);
        let claim =
            claim(known.as_ref().map(|kept| &kept.record), here, caller.owner(), said.resume.as_deref())?;
        if claim == Claim::New {
            self.names.check(caller, name.as_str())?;
            connected.check_space(self.settings.max_connected)?;
            self.registry.check_may_add(caller, connected.count_of(caller.owner())).await?;
        }
        let resume = match (claim, &said.resume) {
            (Claim::Token, Some(token)) => token.clone(),
            _ => connected.token(),
        };
        let own = |shapes: &[String]| {
            let mut like = self.local.names_like(shapes);
            like.retain(|other| *other != name);
            like
        };
        let now = connected.ids.clock().now();
        let mut record = StoredAgent::new(said, caller.owner().clone(), &resume, now);
        record.registered_at = known.as_ref().map_or(now, |kept| kept.record.registered_at);
        record.warnings = self.registry.warnings_about(name.as_str(), caller.owner(), &own).await?;
        let did = if claim == Claim::New { "connected" } else { "connected again" };
        let revision = connected.write(&record, caller.owner(), format!("{did} {name}")).await?;
        let warnings = record.warnings.clone();
        let runner = self.seat(record, revision, known);
        let (lease, session) = (self.settings.hub.lease.0, runner.attach());
        Ok(ConnectedAgent { name, resume, lease, warnings, session })
    }

    /// Takes out an agent whose program connects; its connection ends.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], [`SiteError::Forbidden`] for all but its owner and the people who run the
    /// site.
    pub async fn disconnect(&self, caller: &Caller, name: &AgentName) -> Result<(), SiteError> {
        let entry = self.local.visible(caller, name)?;
        let Some(holder) = &entry.holder else {
            let sentence = format!("{name} is an agent of the site itself; remove its folder");
            return Err(SiteError::Forbidden(sentence));
        };
        if !caller.is_admin() && holder.owner != *caller.owner() {
            let sentence = "only its owner and the people who run this site may take this agent out";
            return Err(SiteError::Forbidden(sentence.into()));
        }
        self.take_out(name, caller.owner(), format!("took {name} out")).await
    }

    /// Takes out all agents of an owner who has lost the right to connect them.
    pub(super) async fn disconnect_owner(
        &self,
        by: &Principal,
        owner: &Principal,
        why: &str,
    ) -> Result<(), SiteError> {
        let all = self.connected.all();
        for kept in all.iter().filter(|kept| kept.record.owner == *owner) {
            let name = &kept.record.introduction.name;
            self.take_out(name, by, format!("took {name} out: its owner's key {why}")).await?;
        }
        Ok(())
    }

    /// An agent of the site itself has taken the place of one whose program connects.
    pub(super) async fn yield_name(&self, name: &AgentName) -> Result<(), SiteError> {
        let _one_at_a_time = self.connected.changing.lock().await;
        let text = format!("took {name} out: an agent of the site itself has its name now");
        let gone = self.connected.remove(name, &Principal::site(), text).await?;
        if let Some(kept) = gone {
            kept.runner.retire(SessionEnd::NameTaken);
        }
        Ok(())
    }

    /// Takes out an agent whose program stayed away longer than the lease; nothing happens to one that is
    /// here or has time.
    async fn expire_lease(&self, name: &AgentName, lease: Duration) -> Result<(), SiteError> {
        let connected = &self.connected;
        let _one_at_a_time = connected.changing.lock().await;
        let now = connected.ids.clock().settled();
        let over = |kept: &ConnectedEntry| match kept.runner.presence() {
            Presence::Here { .. } => false,
            Presence::Away { since } => now >= since.max(kept.record.seen_at).plus(lease),
            Presence::Waiting => now >= kept.record.seen_at.plus(lease),
        };
        if !connected.get(name).is_some_and(|kept| over(&kept)) {
            return Ok(());
        }
        let text = format!("took {name} out: its program stayed away longer than its lease");
        self.drop_kept(name, &Principal::site(), text).await
    }

    async fn take_out(&self, name: &AgentName, by: &Principal, text: String) -> Result<(), SiteError> {
        let _one_at_a_time = self.connected.changing.lock().await;
        self.drop_kept(name, by, text).await
    }

    /// Takes an agent out of store, memory and the list of agents; the lock is held by whoever calls.
    async fn drop_kept(&self, name: &AgentName, by: &Principal, text: String) -> Result<(), SiteError> {
        if let Some(kept) = self.connected.remove(name, by, text).await? {
            kept.runner.retire(SessionEnd::Removed);
            self.local.uninstall(name);
        }
        Ok(())
    }

    /// Shows the agents of an earlier process, whose programs are waited for.
    pub(super) fn expect_programs(&self) {
        for (record, revision) in self.connected.take_read() {
            self.seat(record, revision, None);
        }
    }

    /// Takes over what is done in the background for them: writes down who went, and takes out who stays
    /// away.
    pub(super) async fn keep_connected(self, worker: Worker, stop: CancellationToken) {
        loop {
            match self.look_after_connected().await {
                Ok(here) => worker.idle(&format!("{here} programs are connected")),
                Err(error) => worker.failing(&error.to_string()),
            }
            let wait = self.until_next_look();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.connected.changed.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// How long nothing has to be looked at: until a lease or a key may end.
    fn until_next_look(&self) -> Duration {
        let (now, lease) = (self.connected.ids.clock().now(), self.settings.hub.lease.0);
        let ends = self.keys.list().into_iter().filter_map(|key| key.expires_at);
        let next = ends.filter(|end| *end > now).min().map_or(LOOK_AGAIN, |end| end.since(now));
        // What other processes have connected is looked at often enough that no lease ends too early.
        let most = if self.processes.is_shared() { lease / 4 } else { lease };
        most.clamp(LOOK_LEAST, LOOK_AGAIN).min(next)
    }

    /// Takes out the agents that connected with a key whose time is over, as one that is revoked loses them.
    async fn end_expired(&self) -> Result<(), SiteError> {
        let now = self.connected.ids.clock().settled();
        let over = |key: &KeyRecord| key.expires_at.is_some_and(|end| end <= now);
        for key in self.keys.list().into_iter().filter(over) {
            self.disconnect_owner(&Principal::site(), &key_owner(&key.id), "has expired").await?;
        }
        Ok(())
    }

    /// One look; gives how many programs are connected.
    pub(crate) async fn look_after_connected(&self) -> Result<usize, SiteError> {
        let (connected, lease) = (&self.connected, self.settings.hub.lease.0);
        self.end_expired().await?;
        let (away, mut here) = connected.away();
        for mut kept in away {
            let (name, presence) = (kept.record.introduction.name.clone(), kept.runner.presence());
            if self.processes.is_connected_elsewhere(&name) {
                // Its lease counts from when that process loses it.
                kept.record.seen_at = connected.ids.clock().settled();
                connected.hold(kept);
                continue;
            }
            match presence {
                // It came back meanwhile.
                Presence::Here { .. } => here += 1,
                Presence::Away { since } if presence != kept.told => self.write_away(&kept, since).await?,
                Presence::Away { .. } | Presence::Waiting => self.expire_lease(&name, lease).await?,
            }
        }
        self.local.changed.notify_one();
        Ok(here)
    }

    async fn write_away(&self, kept: &ConnectedEntry, since: Timestamp) -> Result<(), SiteError> {
        let connected = &self.connected;
        let _one_at_a_time = connected.changing.lock().await;
        let name = &kept.record.introduction.name;
        // It may have come back, or been taken out, while the lock was waited for.
        let away = Presence::Away { since };
        let Some(mut now) = connected.get(name).filter(|now| now.runner.presence() == away) else {
            return Ok(());
        };
        (now.record.seen_at, now.told) = (since, away);
        let text = format!("the program of {name} went away");
        now.revision = connected.write(&now.record, &now.record.owner, text).await?;
        connected.hold(now);
        Ok(())
    }

    /// Gives an agent its place among the agents of the site, unless it has it already; gives its runner.
    fn seat(
        &self,
        record: StoredAgent,
        revision: u64,
        known: Option<ConnectedEntry>,
    ) -> Arc<ConnectedRunner> {
        let (connected, manifest) = (&self.connected, manifest(&record.introduction));
        let clock = connected.ids.clock().clone();
        let name = manifest.name.clone();
        let before = self.local.get(&name);
        let log = before.as_ref().map_or_else(|| AgentLog::new(clock.clone()), |entry| entry.log.clone());
        let runner = known.map(|kept| kept.runner).unwrap_or_else(|| {
            let (retry, changed) = (manifest.limits.retry, connected.changed.clone());
            let (processes, agent) = (self.processes.clone(), name.clone());
            let elsewhere = Arc::new(move || processes.is_connected_elsewhere(&agent));
            let runner = ConnectedRunner::new(name, retry, log.clone(), clock, changed);
            Arc::new(runner.with_elsewhere(elsewhere))
        });
        runner.set_retry(manifest.limits.retry);
        runner.set_notice(Some(record.warnings.join("; ")).filter(|notice| !notice.is_empty()));
        let (owner, since, instance) = (record.owner.clone(), record.registered_at, record.instance());
        let holder = Some(Holder { owner, instance, since, warnings: record.warnings.clone() });
        let same = |entry: &Arc<Entry>| entry.manifest == manifest && entry.holder == holder;
        if !before.as_ref().is_some_and(same) {
            self.local.put(Entry::held(manifest, runner.clone(), log, None, holder));
        }
        connected.hold(ConnectedEntry { record, revision, runner: runner.clone(), told: runner.presence() });
        runner
    }

    /// Refuses names that the site gives itself or that belong to its own agents: running, hidden, suspended,
    /// or with a folder that cannot be read now.
    fn check_name(&self, name: &AgentName) -> Result<(), SiteError> {
        name.check_choice().map_err(|reserved| SiteError::NameTaken(reserved.to_string()))?;
        let taken = self.local.get(name).is_some_and(|entry| entry.holder.is_none() || entry.hidden);
        let folder = format!("{name}/agent.toml");
        let broken = self.local.broken().iter().any(|broken| {
            let file = broken.file.replace('\\', "/");
            file == folder || file.ends_with(&format!("/{folder}"))
        });
        if taken || broken {
            let sentence = format!("the name {name} belongs to an agent of this site; choose another");
            return Err(SiteError::NameTaken(sentence));
        }
        Ok(())
    }
}

/// Whom what a key did belongs to.
pub(super) fn key_owner(id: &KeyId) -> Principal {
    Principal::key(id)
}

fn is_here(runner: &ConnectedRunner) -> bool {
    matches!(runner.presence(), Presence::Here { .. })
}

/// Cuts what a program says of itself to what the registry keeps of an entry.
fn bounded(said: Introduction) -> Result<Introduction, SiteError> {
    let bad = |sentence: String| Err(SiteError::BadListing(sentence));
    if said.protocol != AGENT_SESSION_VERSION {
        return bad(format!(
            "this site speaks version {AGENT_SESSION_VERSION} of this protocol; use a program that does"
        ));
    }
    if said.description.trim().is_empty() {
        return bad("say in `description` what the agent does; others find it by these words".into());
    }
    Ok(bounded_introduction(said)?)
}
