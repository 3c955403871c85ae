//! `agentsite demo planet`: a small internet of agent sites on one machine.
//!
//! Promises: real processes that join by an invite and talk over loopback; what is shown is what the sites
//! answered. It ends at a signal or an error; either way the sites are stopped and their folder is removed.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agentsite_protocol::{Match, Query};
use agentsite_site::{Matches, World};
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::report::Report;
use super::roster::{ANSWER, QUESTION, TEXT, members};
use super::site::PlanetSite;
use crate::cli::shell::{Shell, field, list};
use crate::exit::{CliError, Exit};

/// The folder of a planet; only its owner may look into it.
const FOLDER_MODE: u32 = 0o700;

/// Longest wait for what takes seconds: a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at a site.
const LOOK: Duration = Duration::from_millis(100);

/// Matches of a query that are shown.
const SHOWN: usize = 3;

/// Letters of a DID by which people tell sites apart.
const DID_LETTERS: usize = 12;

/// Starts a planet, shows what it does, and waits for a signal.
pub(super) async fn run(shell: &Shell, count: usize) -> Result<Exit, CliError> {
    let mut signals = Signals::listen()?;
    let report = Report::new(shell.output);
    let mut planet = Planet::new()?;
    let shown = tokio::select! {
        shown = planet.show(shell, report, count) => shown,
        () = signals.next() => Ok(()),
    };
    tokio::select! {
        () = planet.stop() => {}
        // A second signal: the processes are killed when they are dropped.
        () = signals.next() => {}
    }
    drop(planet);
    shown?;
    report.event("stopped", "every site of the planet, and its folder is removed", json!({}))?;
    Ok(Exit::Ok)
}

/// The sites and the folder that holds everything they write.
struct Planet {
    folder: PathBuf,
    sites: Vec<PlanetSite>,
}

impl Drop for Planet {
    fn drop(&mut self) {
        // Dropping a process kills it; a folder that a dying one still writes to is removed by the second
        // call.
        self.sites.clear();
        if fs::remove_dir_all(&self.folder).is_err() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Planet {
    fn new() -> Result<Self, CliError> {
        let word = World::system().ids().rng().bytes16();
        let word: String = word.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let folder = std::env::temp_dir().join(format!("agentsite-planet-{word}"));
        let made = fs::DirBuilder::new().mode(FOLDER_MODE).create(&folder);
        made.map_err(|error| CliError::file("make", &folder, &error))?;
        Ok(Self { folder, sites: Vec::new() })
    }

    /// The whole story; does not end by itself.
    async fn show(&mut self, shell: &Shell, report: Report, count: usize) -> Result<(), CliError> {
        let begun = Instant::now();
        self.start(shell, report, count).await?;
        self.join(report).await?;
        self.wait_for_agents(report, begun).await?;
        self.show_page(report).await?;
        let found = self.ask(report, "query").await?;
        let first = self.best(&found).ok_or_else(|| CliError::error("no other site has a fitting agent"))?;
        self.call(report, first).await?;
        self.lose(report, first).await?;
        let found = self.ask(report, "query").await?;
        match self.best(&found) {
            Some(second) => self.call(report, second).await?,
            None => report.more("no other site has such an agent; start at least 3 sites to see one")?,
        }
        let words =
            "the planet runs until ctrl-C; open the page, or use the command line in a site's folder:";
        report.event("running", words, json!({ "folder": self.folder }))?;
        report.more(&format!("cd {} && agentsite peer ls", self.folder.join("home").display()))?;
        std::future::pending().await
    }

    async fn start(&mut self, shell: &Shell, report: Report, count: usize) -> Result<(), CliError> {
        let words = format!("{count} sites in {}", self.folder.display());
        report.event("planet", &words, json!({ "sites": count, "folder": self.folder }))?;
        let key = self.folder.join("network.key");
        let secret = World::system().ids().rng().bytes16();
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&key, secret).map_err(|error| CliError::file("write", &key, &error))?;
        for (number, member) in members(count).iter().enumerate() {
            let folder = self.folder.join(member.name.to_lowercase().replace(' ', "-"));
            // The first site makes the private network; the others learn its secret from the invite.
            let network =
                format!("network = \"planet\"\nnetwork_key_file = {:?}\n", key.display().to_string());
            let mesh = if number == 0 { network.as_str() } else { "" };
            self.sites.push(PlanetSite::start(shell, member, folder, mesh)?);
        }
        try_join_all(self.sites.iter_mut().map(PlanetSite::ready)).await?;
        for site in &self.sites {
            let (url, agents) = (site.url()?, site.agents);
            let words = format!("{:<14} {url}  {} (agents: {agents})", site.name, short(&site.did));
            let members = json!({ "site": site.name, "url": url, "did": site.did, "agents": agents, "pid": site.pid() });
            report.event("start", &words, members)?;
        }
        Ok(())
    }

    /// Every site takes the invite of the first one.
    async fn join(&self, report: Report) -> Result<(), CliError> {
        let Some((home, others)) = self.sites.split_first() else { return Ok(()) };
        let host = home.client()?;
        let link = until("the mesh of the first site", async || {
            let invite: Value = host.post("api/mesh/invite", &json!({})).await?;
            Ok(Some(field(&invite, "link")))
        })
        .await?;
        let words = format!("agentsite peer join {}…", link.chars().take(40).collect::<String>());
        report.event(
            "invite",
            &format!("{} invites the others: {words}", home.name),
            json!({ "link": link }),
        )?;
        for site in others {
            let client = site.client()?;
            until("a site joins", async || {
                client.post::<_, Value>("api/mesh/join", &json!({ "link": link })).await.map(Some)
            })
            .await?;
            report.event("join", &format!("{} joined", site.name), json!({ "site": site.name }))?;
        }
        Ok(())
    }

    /// Waits until the first site lists agents of all others and is connected with them.
    async fn wait_for_agents(&self, report: Report, begun: Instant) -> Result<(), CliError> {
        let Some((home, others)) = self.sites.split_first() else { return Ok(()) };
        let client = home.client()?;
        let (listed, connected) = until("the agents of all sites are known", async || {
            let mesh: Value = client.get("api/mesh").await?;
            let peers = list(&mesh, "peers");
            let arrived = |site: &&PlanetSite| {
                peers.iter().any(|peer| field(peer, "site") == site.did && peer["agents"].as_u64() > Some(0))
            };
            let connected = peers.iter().filter(|peer| peer["connected"] == true).count();
            let is_complete = others.iter().filter(arrived).count() == others.len();
            Ok(is_complete.then(|| (mesh["listed"].as_i64().unwrap_or_default(), connected)))
        })
        .await?;
        let seconds = begun.elapsed().as_secs_f64();
        let words = format!(
            "{} is connected with {connected} sites and lists {listed} of their agents, {seconds:.1} s after the start",
            home.name
        );
        report.event("mesh", &words, json!({ "connected": connected, "listed": listed, "seconds": seconds }))
    }

    async fn show_page(&self, report: Report) -> Result<(), CliError> {
        let Some(home) = self.sites.first() else { return Ok(()) };
        let link: Value = home.client()?.post("api/signin-links", &json!({})).await?;
        let link = field(&link, "url");
        report.event("page", &link, json!({ "url": home.url()?, "signIn": link }))?;
        report.more("signs one browser in, once, within 15 minutes; then look at /network")
    }

    /// Asks at the first site, and shows the best matches.
    async fn ask(&self, report: Report, word: &str) -> Result<Vec<Match>, CliError> {
        let Some(home) = self.sites.first() else { return Ok(Vec::new()) };
        let query = Query { limit: Some(SHOWN), ..Query::of(QUESTION) };
        let found: Matches = home.client()?.post("api/find", &query).await?;
        let words = format!("agentsite find {QUESTION:?}, asked at {}", home.name);
        report.event(word, &words, json!({ "text": QUESTION, "matches": found.matches }))?;
        for one in &found.matches {
            let place = match self.site_of(one) {
                Some(number) => format!("{} ({})", self.sites[number].name, short(&self.sites[number].did)),
                None => home.name.clone(),
            };
            let state = if one.live == Some(false) { "  not reachable" } else { "" };
            report.more(&format!("{:.3}  {:<8} at {place}{state}", one.score, one.name))?;
        }
        Ok(found.matches)
    }

    /// The number of the site that has the best match that can be called.
    fn best(&self, found: &[Match]) -> Option<usize> {
        let fits = |one: &&Match| one.name == "words" && one.live != Some(false);
        found.iter().filter(fits).find_map(|one| self.site_of(one))
    }

    /// The number of the other site that an agent is of.
    fn site_of(&self, one: &Match) -> Option<usize> {
        let publisher = one.id.split(':').nth(2)?;
        self.sites.iter().position(|site| site.did.strip_prefix("did:key:") == Some(publisher))
    }

    async fn call(&self, report: Report, number: usize) -> Result<(), CliError> {
        let (Some(home), Some(site)) = (self.sites.first(), self.sites.get(number)) else { return Ok(()) };
        let target = format!("words@{}", site.name);
        let begun = Instant::now();
        let answer = home.command(&["call", &target, TEXT]).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let words = format!("agentsite call {target:?} {TEXT:?}: {answer} ({seconds:.1} s)");
        let members = json!({ "target": target, "text": TEXT, "answer": answer, "seconds": seconds });
        report.event("call", &words, members)?;
        if answer == ANSWER {
            return Ok(());
        }
        Err(CliError::error(format!("{target} answered {answer} instead of {ANSWER}")))
    }

    /// Kills a site, and waits until the first one shows that it is gone.
    async fn lose(&mut self, report: Report, number: usize) -> Result<(), CliError> {
        let Some(site) = self.sites.get_mut(number) else { return Ok(()) };
        let (name, did, pid) = (site.name.clone(), site.did.clone(), site.pid());
        site.kill().await?;
        let begun = Instant::now();
        report.event("kill", &format!("kill -9 {pid}: {name}"), json!({ "site": name, "pid": pid }))?;
        let client = self.sites[0].client()?;
        let id = format!("urn:air:{}:agents:words", did.trim_start_matches("did:key:"));
        let query = Query { limit: Some(SHOWN), ..Query::of(QUESTION) };
        until("the lost site is shown as gone", async || {
            let found: Matches = client.post("api/find", &query).await?;
            let dead = found.matches.iter().find(|one| one.id == id);
            Ok(dead.is_none_or(|one| one.live == Some(false)).then_some(()))
        })
        .await?;
        let seconds = begun.elapsed().as_secs_f64();
        let words = format!("{name} is shown as not reachable, {seconds:.1} s after it was killed");
        report.event("gone", &words, json!({ "site": name, "seconds": seconds }))
    }

    /// Stops every site in good order.
    async fn stop(&mut self) {
        let sites = std::mem::take(&mut self.sites);
        futures::future::join_all(sites.into_iter().map(PlanetSite::stop)).await;
    }
}

/// Asks again until there is an answer; an error counts as none until the time is over.
async fn until<T>(
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<Option<T>, CliError>,
) -> Result<T, CliError> {
    let begun = Instant::now();
    loop {
        let last = match ask().await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => String::new(),
            Err(error) => format!(": {error}"),
        };
        if begun.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            return Err(CliError::error(format!("this did not happen within {seconds} s: {what}{last}")));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The beginning of a DID, by which `agentsite call` knows a site, too.
fn short(did: &str) -> String {
    did.trim_start_matches("did:key:").chars().take(DID_LETTERS).collect()
}

/// The signals that end a demo.
struct Signals([Signal; 3]);

impl Signals {
    fn listen() -> Result<Self, CliError> {
        let listen = |kind| {
            signal(kind).map_err(|error| CliError::error(format!("cannot listen for signals: {error}")))
        };
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(listen);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
