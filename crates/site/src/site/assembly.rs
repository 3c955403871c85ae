//! Assembly: how a site is put together when it opens.
//!
//! Promises: the state of every capability is read first, then tasks get their hooks, then each handle gets
//! exactly the parts that its verbs use. The order in which handles are made is that of their dependencies.
//! Nothing is started here.

use std::sync::Arc;

use agentsite_host::Workshop;
use agentsite_library::IndexFolders;
use agentsite_peers::Peers;
use agentsite_protocol::{AgentName, Ids};
use agentsite_registry::{Challenges, Federation, Names, Registry, Scout};
use agentsite_rooms::room::{RoomAnswers, RoomParts, Rooms, answers_capability, rooms_capability};
use agentsite_rooms::{ConversationFeed, ConversationParts, Conversations};
use agentsite_store::{Edit, ProcessInfo, SharedStore};

use super::Inner;
use super::access::ApiKeys;
use super::agents::Agents;
use super::cards::Cards;
use super::connect::ConnectedAgents;
use super::conversation_access::ConversationAccess;
use super::finding::{Finding, Search};
use super::founding::Founding;
use super::intake::MessageIntake;
use super::login::AgentLogins;
use super::mesh::{MeshSite, PeerAgents, PseudonymKey};
use super::operation::{self, Operations};
use super::process_status::{clock_ahead, clock_check};
use super::push::Deliveries;
use super::queries::SavedQueries;
use super::registry::SiteRegistry;
use super::remote::RemoteAgents;
use super::toolkit::ToolkitParts;
use crate::calls::SiteCalls;
use crate::connected::Connected;
use crate::identity::Identity;
use crate::keys::Keys;
use crate::local_agents::{CONCIERGE, LocalAgents};
use crate::logins::Logins;
use crate::push::{Courier, Push, PushParts};
use crate::queries::Queries;
use crate::remote_toolbox::serve_tools;
use crate::retention::Expirer;
use crate::secret::Secret;
use crate::settings::ProcessSettings;
use crate::settled::SettledClock;
use crate::site_servers::SiteServers;
use crate::tokens::Tokens;
use crate::usage::UsageHook;
use crate::{SiteError, SiteSettings, Workers, World, audit, identity, keys, logins, queries};
use agentsite_tasks::{
    AgentDirectory, Capability, IdCipher, Lifetime, ProcessReport, Processes, TaskHook, TaskHooks,
    TaskMetrics, TaskParts, Tasks, record_feed,
};

/// The state of each capability, as the store has it.
pub(super) struct SiteState {
    settings: Arc<SiteSettings>,
    settled: Arc<SettledClock>,
    store: SharedStore,
    pub(super) ids: Ids,
    workshop: Workshop,
    local: Arc<LocalAgents>,
    secret: Secret,
    keys: Arc<Keys>,
    tokens: Option<Arc<Tokens>>,
    identity: Arc<Identity>,
    founding: Arc<Founding>,
    logins: Arc<Logins>,
    queries: Arc<Queries>,
    challenges: Arc<Challenges>,
    federation: Arc<Federation>,
    names: Arc<Names>,
    entries: Arc<Registry>,
    connected: Arc<Connected>,
    finding: Arc<Finding>,
    peers: Peers,
    processes: Processes,
}

/// What runs tasks, and what takes part in them.
pub(super) struct TaskRuntime {
    lifetime: Lifetime,
    push: Arc<Push>,
    feed: Arc<ConversationFeed>,
    /// The hook by which answers come back into rooms.
    answers: Arc<RoomAnswers>,
    tasks: Tasks,
    metrics: TaskMetrics,
    /// What those capabilities contribute that take part in tasks.
    capabilities: Vec<Capability>,
}

impl SiteState {
    /// Reads everything.
    pub(super) async fn read(
        settings: SiteSettings,
        world: World,
        store: SharedStore,
        workshop: Workshop,
        scout: Arc<dyn Scout>,
    ) -> Result<Self, SiteError> {
        let processes = join(&store, &settings.process).await?;
        let settled = SettledClock::open(world.clock, &store).await?;
        let world = World { clock: settled.clone(), ..world };
        let ids = world.ids();
        let folders = IndexFolders::at(settings.libraries.clone());
        let local =
            Arc::new(LocalAgents::new(world.clock.clone(), settings.search.embedders.clone(), folders));
        let (secret, new_secret) = Secret::open(&store, &ids).await?;
        let link_key = secret.key_for("one-time sign-in links");
        let keys = Arc::new(Keys::open(store.clone(), ids.clone(), link_key).await?);
        let (identity, new_identity) = Identity::open(store.clone(), ids.clone()).await?;
        let identity = Arc::new(identity);
        let issuer = settings.issuer.clone();
        let tokens = issuer.map(|issuer| Arc::new(Tokens::new(issuer, &workshop.egress, ids.clone())));
        let founding = new_identity.map(Edit::from).into_iter().chain(new_secret.map(Edit::from)).collect();
        let founding = Arc::new(Founding::new(store.clone(), ids.clone(), founding));
        let logins = Logins::open(store.clone(), ids.clone(), &secret).await?;
        let workshop = Workshop { credentials: logins.clone(), ..workshop };
        let queries = Arc::new(Queries::open(store.clone(), ids.clone()).await?);
        let challenges = Arc::new(Challenges::open(store.clone(), ids.clone(), identity.clone()).await?);
        let federation =
            Arc::new(Federation::new(&settings.site.upstreams, scout.clone(), world.clock.clone()));
        let keep_names = settings.retention.age.0;
        let names = Arc::new(Names::open(store.clone(), ids.clone(), keep_names).await?);
        let entries = Registry::new(settings.hub.clone(), store.clone(), ids.clone(), scout, names.clone());
        let connected = Arc::new(Connected::open(store.clone(), ids.clone(), names.clone()).await?);
        let finding = Arc::new(Finding::open(settings.search.clone(), entries.watch()).await?);
        let settings = Arc::new(settings);
        let pseudonyms = PseudonymKey(secret.key_for("pseudonyms of callers at other sites"));
        let site = MeshSite::new(local.clone(), identity.clone(), settings.clone(), pseudonyms);
        let peers = site.peers(&store, &ids, &entries, &workshop.egress, processes.is_shared()).await?;
        Ok(Self {
            settings,
            settled,
            store,
            ids,
            workshop,
            local,
            secret,
            keys,
            tokens,
            identity,
            founding,
            logins,
            queries,
            challenges,
            federation,
            names,
            entries,
            connected,
            finding,
            peers,
            processes,
        })
    }

    /// Makes what runs tasks, with the site's own hooks and further ones.
    pub(super) fn run(&self, courier: Arc<dyn Courier>, hooks: Vec<Arc<dyn TaskHook>>) -> TaskRuntime {
        let cipher = IdCipher::new(self.secret.key_for("ids of anonymous callers"));
        let push = Push::new(PushParts {
            settings: self.settings.push.clone(),
            store: self.store.clone(),
            ids: self.ids.clone(),
            identity: self.identity.clone(),
            egress: self.workshop.egress.clone(),
            courier,
            cipher,
        });
        let (feed, lifetime) = (Arc::new(ConversationFeed::default()), Lifetime::default());
        let answers = Arc::new(RoomAnswers::default());
        let metrics = TaskMetrics::default();
        let usage = UsageHook::new(self.store.clone(), metrics.clone());
        // The order of the hooks: what is counted, what leaves the site, what people follow.
        let capabilities = vec![
            agentsite_tasks::capability(metrics.clone()),
            usage.capability(),
            push.capability(),
            agentsite_rooms::capability(&feed, self.store.clone(), &self.processes),
            answers_capability(&answers),
        ];
        let own = capabilities.iter().filter_map(|capability| capability.hook.clone());
        let parts = TaskParts {
            store: self.store.clone(),
            ids: self.ids.clone(),
            metrics: metrics.clone(),
            cipher,
            hooks: TaskHooks::new(own.chain(hooks).collect()),
            agents: directory(&self.local),
            lifetime: lifetime.clone(),
            processes: self.processes.clone(),
        };
        let calls = |tasks| SiteCalls::new(tasks, &self.local, self.ids.clone());
        let tasks = Tasks::new(parts, |tasks| Arc::new(calls(tasks)));
        serve_tools(&tasks.control().process_calls(), &self.local, &tasks.downgrade());
        TaskRuntime { lifetime, push, feed, answers, tasks, metrics, capabilities }
    }

    /// Makes the handles and what they share.
    pub(super) fn join(self, running: TaskRuntime) -> Inner {
        let concierge: AgentName = CONCIERGE.parse().expect("the concierge's name is a name");
        let intake = MessageIntake { local: self.local.clone(), settings: self.settings.clone() };
        let expirer = self.expirer();
        let connected = self.connected(&running);
        let keys = self.keys(&connected);
        let agents = self.agents(&running, &connected, concierge.clone());
        let search = self.search();
        let conversations = self.conversations(&running, &intake, &expirer, concierge);
        let rooms = self.rooms(&running, &intake, &expirer);
        self.peers.join_processes(running.tasks.control().process_calls());
        let remote = RemoteAgents::new(self.entries.clone(), agents.clone(), self.peers.clone());
        let registry = SiteRegistry { registry: self.entries.clone(), local: self.local.clone(), remote };
        let queries = self.queries(&running.push, &keys, &search);
        let ask_again = queries.clone().asking();
        let further = self.capabilities(&expirer, &connected, &agents, search.capability(ask_again));
        let cards = self.cards(&agents);
        let toolkit = self.toolkit(&running, &intake, &search, &cards);
        let TaskRuntime { lifetime, push, tasks, metrics, mut capabilities, .. } = running;
        capabilities.extend(further);
        capabilities.push(rooms_capability(&rooms));
        let cluster = tasks.control().cluster(self.report(&connected, &agents.servers));
        capabilities.push(checked_clocks(cluster, &self.processes));
        capabilities.push(record_feed(self.store.clone(), &self.processes, &capabilities));
        let (store, ids) = (&self.store, &self.ids);
        Inner {
            started_at: search.started_at,
            deliveries: Deliveries { push, tasks: tasks.clone() },
            logins: AgentLogins { local: self.local.clone(), store: store.clone(), ids: ids.clone() },
            operations: Operations { store: store.clone(), ids: ids.clone(), metrics },
            cards,
            queries,
            workers: Workers::new(ids.clock().clone()),
            settings: self.settings,
            store: self.store,
            local: self.local,
            ids: self.ids,
            lifetime,
            identity: self.identity,
            secret: self.secret,
            intake,
            expirer,
            capabilities,
            tasks,
            agents,
            challenges: self.challenges,
            connected,
            conversations,
            keys,
            names: self.names,
            peer_agents: PeerAgents { registry: registry.clone(), peers: self.peers.clone() },
            peers: self.peers,
            registry,
            rooms,
            search,
            toolkit,
        }
    }

    /// What the capabilities contribute that take no part in tasks. They are prepared in this order.
    fn capabilities(
        &self,
        expirer: &Expirer,
        connected: &ConnectedAgents,
        agents: &Agents,
        search: Capability,
    ) -> Vec<Capability> {
        let (local, processes) = (self.local.clone(), self.processes.clone());
        // An agent that only another process has is not given up.
        let own = move || local.own_names().into_iter().chain(processes.agents_elsewhere()).collect();
        let mut all =
            vec![self.founding.capability(), identity::capability(&self.identity), keys::capability()];
        all.extend(agentsite_registry::capabilities(&self.entries, &self.names, &self.challenges, own));
        all.extend([
            agents.capability(),
            agents.servers.capability(),
            connected.capability(),
            logins::capability(&self.logins),
            search,
            queries::capability(&self.queries),
            expirer.capability(),
            audit::capability(&self.store, &self.identity),
            operation::capability(),
            self.peers.capability(),
        ]);
        all
    }

    fn expirer(&self) -> Expirer {
        Expirer {
            store: self.store.clone(),
            keys: self.keys.clone(),
            clock: self.settled.clone(),
            retention: self.settings.retention.clone(),
            anonymous_storage: self.settings.anonymous_storage,
        }
    }

    fn connected(&self, running: &TaskRuntime) -> ConnectedAgents {
        ConnectedAgents {
            connected: self.connected.clone(),
            local: self.local.clone(),
            names: self.names.clone(),
            registry: self.entries.clone(),
            keys: self.keys.clone(),
            lifetime: running.lifetime.clone(),
            settings: self.settings.clone(),
            processes: self.processes.clone(),
        }
    }

    /// Makes what this process tells the others.
    fn report(
        &self,
        connected: &ConnectedAgents,
        servers: &Arc<SiteServers>,
    ) -> impl Fn() -> ProcessReport + Send + Sync + 'static {
        let (local, connected, servers) = (self.local.clone(), connected.clone(), servers.clone());
        let settings = self.settings.process.settings.clone();
        let (ids, processes) = (self.ids.clone(), self.processes.clone());
        move || ProcessReport {
            agents: local.fingerprints(),
            connected: connected.here(),
            servers: servers.here(),
            settings: settings.clone(),
            clock_ahead: clock_ahead(ids.clock().now(), processes.store_time()),
        }
    }

    fn keys(&self, connected: &ConnectedAgents) -> ApiKeys {
        ApiKeys {
            keys: self.keys.clone(),
            tokens: self.tokens.clone(),
            connected: connected.clone(),
            founding: self.founding.clone(),
            ids: self.ids.clone(),
        }
    }

    fn agents(&self, running: &TaskRuntime, connected: &ConnectedAgents, concierge: AgentName) -> Agents {
        Agents {
            local: self.local.clone(),
            workshop: self.workshop.clone(),
            servers: SiteServers::new(
                self.processes.clone(),
                running.tasks.control().process_calls(),
                self.store.clone(),
                self.local.clone(),
            ),
            logins: self.logins.clone(),
            names: self.names.clone(),
            connected: connected.clone(),
            tasks: running.tasks.clone(),
            store: self.store.clone(),
            ids: self.ids.clone(),
            lifetime: running.lifetime.clone(),
            settings: self.settings.clone(),
            concierge,
        }
    }

    fn cards(&self, agents: &Agents) -> Cards {
        Cards {
            local: self.local.clone(),
            agents: agents.clone(),
            identity: self.identity.clone(),
            founding: self.founding.clone(),
            settings: self.settings.clone(),
        }
    }

    fn toolkit(
        &self,
        running: &TaskRuntime,
        intake: &MessageIntake,
        search: &Search,
        cards: &Cards,
    ) -> Arc<ToolkitParts> {
        Arc::new(ToolkitParts {
            local: self.local.clone(),
            tasks: running.tasks.clone(),
            search: search.clone(),
            cards: cards.clone(),
            intake: intake.clone(),
            ids: self.ids.clone(),
            settings: self.settings.clone(),
            calls: running.tasks.control().process_calls(),
            lifetime: running.lifetime.clone(),
        })
    }

    fn search(&self) -> Search {
        Search {
            finding: self.finding.clone(),
            local: self.local.clone(),
            registry: self.entries.clone(),
            federation: self.federation.clone(),
            peers: self.peers.clone(),
            store: self.store.clone(),
            ids: self.ids.clone(),
            settings: self.settings.clone(),
            started_at: self.ids.clock().now(),
        }
    }

    fn queries(&self, push: &Arc<Push>, keys: &ApiKeys, search: &Search) -> SavedQueries {
        SavedQueries {
            queries: self.queries.clone(),
            search: search.clone(),
            keys: keys.clone(),
            push: push.clone(),
            ids: self.ids.clone(),
            deadline: self.settings.push.deadline,
        }
    }

    fn conversations(
        &self,
        running: &TaskRuntime,
        intake: &MessageIntake,
        expirer: &Expirer,
        concierge: AgentName,
    ) -> Conversations {
        Conversations::new(ConversationParts {
            store: self.store.clone(),
            ids: self.ids.clone(),
            tasks: running.tasks.clone(),
            agents: directory(&self.local),
            site: Arc::new(ConversationAccess { intake: intake.clone(), expirer: expirer.clone() }),
            feed: running.feed.clone(),
            concierge,
        })
    }

    fn rooms(&self, running: &TaskRuntime, intake: &MessageIntake, expirer: &Expirer) -> Rooms {
        Rooms::new(RoomParts {
            store: self.store.clone(),
            ids: self.ids.clone(),
            tasks: running.tasks.clone(),
            agents: directory(&self.local),
            site: Arc::new(ConversationAccess { intake: intake.clone(), expirer: expirer.clone() }),
            key: self.identity.mesh_key(),
            answers: running.answers.clone(),
        })
    }
}

/// The agents of this site as tasks find them.
fn directory(local: &Arc<LocalAgents>) -> AgentDirectory {
    let local = local.clone();
    AgentDirectory::new(move |name| local.get(name).map(|entry| entry.agent.clone()))
}

/// The same capability with a check of the clocks, where several processes serve the site.
fn checked_clocks(cluster: Capability, processes: &Processes) -> Capability {
    if !processes.is_shared() {
        return cluster;
    }
    let processes = processes.clone();
    cluster.check(move || {
        let living = processes.living();
        async move { clock_check(&living) }
    })
}

/// Joins the processes of the store, and waits until none of them is opening the site: the first one makes
/// what all share. The start of the site gives the lease back.
async fn join(store: &SharedStore, settings: &ProcessSettings) -> Result<Processes, SiteError> {
    let info = ProcessInfo { name: settings.name.clone(), version: env!("CARGO_PKG_VERSION").into() };
    let processes = Processes::join(store.clone(), info, settings.lease).await?;
    while !processes.acquire(OPENING).await? {
        tokio::time::sleep(processes.pause()).await;
    }
    Ok(processes)
}

/// The lease of the process that opens the site.
pub(super) const OPENING: &str = "opening";
