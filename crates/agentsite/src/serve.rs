//! A site from start to stop, step by step.
//!
//! Promises: each step builds on those before it, and a stop undoes them in reverse: first the door is
//! closed, then running work is waited for, then the store is closed. Every failure to start is one sentence
//! that says what to do. It decides nothing about agents or tasks: `site` does.

mod banner;
mod figures;
mod mesh;
mod operator;
mod parts;
mod search;
mod signals;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentsite_client::mcp::InMemory;
use agentsite_dev::conformance::{self, Kit};
use agentsite_egress::Circuits;
use agentsite_gateway::{Gateway, GatewayMetrics, GatewaySettings};
use agentsite_host::builtin::demo_manifests;
use agentsite_host::{Environment, SITE_MARK, Workshop, end_orphans};
use agentsite_library::demo_library;
use agentsite_site::{Site, SiteSettings, World};
use agentsite_store::SharedStore;
use prometheus_client::registry::Registry;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::models::models;
use crate::config::{Config, Loaded, Reader};
use crate::exit::{CliError, Exit};
use crate::folder::{AgentsFolder, ScanRequester, ScanRequests};
use crate::instance::{DataFolder, RunningSite, keep_private, protect_log};
use crate::output::Output;
use crate::sandbox;
use crate::sitekey::SiteKey;
use crate::store;
use crate::telemetry::Telemetry;
use crate::workshop::FolderWorkshop;
use banner::Banner;
use figures::CircuitFigures;
use operator::{ActiveConfig, Process};
use signals::{Signal, Signals};

/// How much longer than the drain a stop may take before the rest is given up: time for the last commits and
/// traces.
const LAST_COMMITS: Duration = Duration::from_secs(10);

/// What a site is started with.
pub(crate) struct Startup {
    /// The configuration.
    pub(crate) loaded: Loaded,
    /// Reads the configuration again.
    pub(crate) reader: Reader,
    /// Where the banner goes.
    pub(crate) output: Output,
    /// Set when the site is not the purpose of the process.
    pub(crate) guest: Option<EmbeddedMode>,
}

/// How a site runs inside of a process that has another purpose: it prints nothing on stdout, and stops when
/// its token is cancelled.
#[derive(Debug)]
pub(crate) struct EmbeddedMode {
    /// Notified once the site is ready.
    pub(crate) ready: oneshot::Sender<()>,
    /// Stops the site, as a signal does.
    pub(crate) stop: CancellationToken,
}

/// Serves until a signal comes.
///
/// # Errors
/// [`CliError`] with what keeps the site from starting.
pub(crate) async fn run(mut startup: Startup) -> Result<Exit, CliError> {
    let config = startup.loaded.config.clone();
    let world = World::system();
    let variables = startup.reader.variables().clone();
    let egress = parts::egress(&config)?;
    keep_private();
    protect_log();
    let telemetry =
        Telemetry::begin(&config.telemetry, startup.output.colours_err(), world.clock.clone(), &egress)?;
    startup.loaded.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let guest = startup.guest.take();
    let mut signals = Signals::listen(guest.as_ref().map(|guest| guest.stop.clone()))?;

    parts::raise_open_files();

    let data = DataFolder::at(&config.data);
    data.create()?;
    let mut registry = Registry::default();
    let key = SiteKey::find_or_make(&config, &variables, world.rng.as_ref())?;
    let store = store::open(&config, &data, key, &mut registry).await?;
    let (models, complaints) = models(&config, &variables);
    complaints.iter().for_each(|complaint| tracing::warn!("{complaint}"));
    let environment = environment(&data, variables.clone());
    let circuits = Circuits::new(world.ids().rng().clone());
    registry.register_collector(Box::new(CircuitFigures(circuits.clone())));
    let search = search::settings(&config, &variables, &data, &egress, &circuits).await;
    let libraries = Some(data.libraries());
    let process = store::process(&config);
    let settings =
        SiteSettings { search, libraries, process, ..parts::site_settings(&startup.loaded, &world.clock)? };
    // The site puts its own keeper of credentials in the place of this one.
    let credentials = Arc::new(InMemory::default());
    let confinement = sandbox::confinement(&startup.loaded, &variables);
    tracing::info!("Agents are confined by: {}.", confinement.summary());
    confinement
        .shortfalls()
        .iter()
        .for_each(|shortfall| tracing::warn!("The sandbox is incomplete: {shortfall}."));
    let ids = world.ids();
    let workshop = Workshop { ids, egress, circuits, models, environment, credentials, confinement };
    let site = open_site(settings, &world, store, workshop, &mut registry).await?;

    let served = serve(&startup, &site, &data, &world, registry, &telemetry, &mut signals, guest).await;
    data.withdraw();
    let exit = match served {
        Ok(running) => running.stop(&site, &config, &mut signals).await,
        Err(error) => {
            site.stop().await;
            Err(error)
        }
    };
    telemetry.end().await;
    exit
}

/// Opens the door, says so, and waits for the signal to stop.
#[expect(clippy::too_many_arguments, reason = "the parts of one site; a struct would only repeat them")]
async fn serve(
    startup: &Startup,
    site: &Site,
    data: &DataFolder,
    world: &World,
    registry: Registry,
    telemetry: &Telemetry,
    signals: &mut Signals,
    guest: Option<EmbeddedMode>,
) -> Result<Running, CliError> {
    let config = &startup.loaded.config;
    // The address is taken before anything else happens: a port in use must not cost a first run or a task
    // its retry.
    let reload = Arc::new(Notify::new());
    let in_force = ActiveConfig::new(startup.loaded.clone());
    let operator =
        Process::new(startup.reader.clone(), in_force.clone(), data.clone(), site.clone(), reload.clone());
    let (scans, requests) = ScanRequester::channel();
    let workshop = FolderWorkshop::new(&config.agents, data.trash(), world.clock.clone(), scans);
    let settings = GatewaySettings {
        log: telemetry.book(),
        operator: Some(Arc::new(operator)),
        workshop: Some(Arc::new(workshop)),
        listen: parts::listen(&startup.loaded),
        ..parts::gateway_settings(config)?
    };
    let (gateway, url) = open_gateway(config, settings, site, registry, &reload).await?;
    let fresh = site.keys().ensure_admin_token(data.token().as_deref()).await;
    if let Some(token) = fresh.map_err(|error| CliError::error(error.to_string()))? {
        data.keep_token(&token)?;
    }
    let mut demos = if config.demos { demo_manifests() } else { Vec::new() };
    demos.extend(config.demos.then(demo_library));
    let mut agents = AgentsFolder::new(&config.agents, site.clone(), demos);
    agents.install_demos().await;
    agents.refresh().await;
    if config.conformance != Kit::None {
        site.agents().install_runner(conformance::manifest(), Arc::new(conformance::Conformance::new()));
    }
    let recovery = site.start().await.map_err(|error| CliError::error(error.to_string()))?;
    parts::log_recovery(&recovery);

    let started_at = world.clock.now();
    let announced = data.announce(&RunningSite { pid: std::process::id(), url: url.clone(), started_at });
    if let Err(error) = announced {
        // A full disk must not keep a site from serving what it has.
        tracing::error!(%error, "Commands on this machine do not find the site by its folder; give them --site {url}.");
    }
    match guest {
        // A receiver that is gone has closed the bridge, and the stop follows.
        Some(guest) => drop(guest.ready.send(())),
        None => Banner::new(config, &url, &agents).show(site, startup.output).await?,
    }

    let mut running = Running::begin(gateway, agents, requests, in_force);
    running.until_stopped(startup, telemetry, &reload, signals).await?;
    Ok(running)
}

/// What agents may see of the environment, with the mark of this site; processes that still have the mark
/// were left by a killed site, and are ended, now that this process holds the data.
fn environment(data: &DataFolder, mut variables: BTreeMap<String, String>) -> Environment {
    // A digest: agents see the mark, and need not know where the site keeps its data.
    let path = std::path::absolute(data.database()).unwrap_or_else(|_| data.database());
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let site: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let orphans = end_orphans(&site);
    if orphans > 0 {
        tracing::warn!(orphans, "Ended processes of agents that had survived the last run of the site.");
    }
    variables.insert(SITE_MARK.into(), site);
    Environment::new(variables)
}

async fn open_site(
    settings: SiteSettings,
    world: &World,
    store: SharedStore,
    workshop: Workshop,
    registry: &mut Registry,
) -> Result<Site, CliError> {
    let opened = Site::open(settings, world.clone(), store, workshop).await;
    let site = opened.map_err(|error| CliError::error(error.to_string()))?;
    site.register_metrics(registry);
    Ok(site)
}

async fn open_gateway(
    config: &Config,
    mut settings: GatewaySettings,
    site: &Site,
    mut registry: Registry,
    reload: &Arc<Notify>,
) -> Result<(Gateway, String), CliError> {
    let metrics = GatewayMetrics::default();
    metrics.register(&mut registry);
    settings.metrics = metrics;
    let again = reload.clone();
    settings.reload = Some(Arc::new(move || again.notify_one()));
    let bound = Gateway::bind(settings, site.clone(), Arc::new(registry)).await;
    let gateway = bound.map_err(|error| CliError::error(error.to_string()))?;
    let url = parts::local_url(config, gateway.local_addr());
    Ok((gateway, url))
}

/// What runs until the site stops.
struct Running {
    stop: CancellationToken,
    door: JoinHandle<()>,
    folder: JoinHandle<()>,
    look_again: Arc<Notify>,
    in_force: ActiveConfig,
}

impl Running {
    fn begin(gateway: Gateway, agents: AgentsFolder, requests: ScanRequests, in_force: ActiveConfig) -> Self {
        let (stop, look_again) = (CancellationToken::new(), Arc::new(Notify::new()));
        let closing = stop.clone();
        let door = tokio::spawn(async move {
            gateway.serve(closing).await;
        });
        let folder = tokio::spawn(agents.follow(look_again.clone(), requests, stop.clone()));
        Self { stop, door, folder, look_again, in_force }
    }

    /// Waits for the signal to stop; answers signals and requests to reload.
    async fn until_stopped(
        &mut self,
        startup: &Startup,
        telemetry: &Telemetry,
        reload: &Notify,
        signals: &mut Signals,
    ) -> Result<(), CliError> {
        loop {
            tokio::select! {
                signal = signals.next() => match signal {
                    Signal::Stop => return Ok(()),
                    Signal::Reload => self.reload(startup, telemetry),
                },
                () = reload.notified() => self.reload(startup, telemetry),
                _ = &mut self.door => return Err(CliError::error("the site stopped listening; the log says why")),
            }
        }
    }

    fn reload(&self, startup: &Startup, telemetry: &Telemetry) {
        self.look_again.notify_one();
        match startup.reader.load() {
            Err(error) => tracing::error!("only the agents were reloaded: {error}"),
            Ok(loaded) => {
                loaded.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
                let rules = telemetry.set_rules(&loaded.config.telemetry.log);
                let _ = rules.inspect_err(|error| tracing::error!("{error}"));
                let waiting = self.in_force.reload(loaded);
                if waiting.is_empty() {
                    tracing::info!("reloaded");
                } else {
                    tracing::warn!("reloaded; restart the site for a change of: {}", waiting.join(", "));
                }
            }
        }
    }

    /// Closes the door, waits for running work, closes the rest. A second signal ends the waiting.
    async fn stop(self, site: &Site, config: &Config, signals: &mut Signals) -> Result<Exit, CliError> {
        tracing::info!(
            "stopping: waiting up to {} for running work; a second signal ends the wait",
            config.site.drain
        );
        self.stop.cancel();
        let orderly = async {
            site.stop().await;
            let _ = self.door.await;
            let _ = self.folder.await;
        };
        tokio::select! {
            done = tokio::time::timeout(config.site.drain.0 + LAST_COMMITS, orderly) => {
                if done.is_err() {
                    tracing::warn!("some connections did not end in time and were cut");
                }
                tracing::info!("stopped");
                Ok(Exit::Ok)
            }
            () = signals.second() => Ok(Exit::Forced),
        }
    }
}

/// Reads a file that the configuration names.
fn read_file(key: &str, path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path)
        .map_err(|error| CliError::error(format!("{key}: cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests;
