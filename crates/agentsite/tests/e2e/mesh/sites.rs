//! Sites: several sites of the real binary, each in its own network namespace, as one value that a story
//! operates.
//!
//! Promises: every site offers a `clerk`, which writes down what it is asked and answers the same. That the
//! sites agree is read from what each of them lists, like any client does.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::namespaces::{Network, address, admin_address, home_address, name};
use crate::site::{TestSite, eventually, exec_agent};

/// The agent of each site that writes down what it is asked.
pub(crate) const CLERK: &str = "clerk";

/// Where a clerk writes it down, in the site's folder.
const LEDGER: &str = "agentsite-data/homes/clerk/ledger";

/// The port of the mesh; each site has its own network.
const PORT: u16 = 4101;

/// Sites in one network, numbered from 1. The first one is the seed of the others and relays for them.
pub(super) struct Sites {
    pub(super) network: Network,
    sites: Vec<TestSite>,
    /// The agents that each site offers.
    offered: Vec<BTreeSet<String>>,
}

impl Sites {
    /// So many sites, started and connected.
    pub(super) async fn connected(count: u8) -> Self {
        let mut sites = Self { network: Network::new(), sites: Vec::new(), offered: Vec::new() };
        for number in 1..=count {
            sites.network.add_host(number);
            sites.add(number, &address(number));
        }
        sites.agree().await;
        sites
    }

    /// Adds a site behind a router that lets nothing in; gives its number.
    pub(super) fn add_behind_nat(&mut self) -> u8 {
        let number = u8::try_from(self.sites.len() + 1).unwrap();
        self.network.add_host_behind_nat(number);
        self.add(number, &home_address(number));
        number
    }

    fn add(&mut self, number: u8, address_in_mesh: &str) {
        let seeds = if number == 1 { String::new() } else { format!("\"{}:{PORT}\"", address(1)) };
        let listen = format!("\"{address_in_mesh}:{PORT}\", \"/ip4/{address_in_mesh}/udp/{PORT}/quic-v1\"");
        let relays = number == 1;
        let site = TestSite::new()
            .within(&name(number))
            .flag("--no-demos")
            .flag("--tls-terminated-by-proxy")
            .agent(CLERK, &clerk());
        site.write(
            "agentsite.toml",
            &format!(
                "[site]\nname = \"Site {number}\"\n[mesh]\nenabled = true\nlisten = [{listen}]\nseeds = [{seeds}]\n\
                 allow_private_addresses = true\nrelay = {relays}\n"
            ),
        );
        self.sites.push(site);
        self.offered.push(BTreeSet::from([CLERK.to_owned()]));
        self.start(number);
    }

    /// One of the sites.
    pub(super) fn site(&self, number: u8) -> &TestSite {
        &self.sites[usize::from(number) - 1]
    }

    /// The numbers of all sites.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        1..=u8::try_from(self.sites.len()).unwrap()
    }

    /// Starts a site that does not run.
    pub(super) fn start(&mut self, number: u8) {
        self.sites[usize::from(number) - 1].start_at(&format!("{}:0", admin_address(number)));
    }

    /// Kills a site with SIGKILL.
    pub(super) fn kill(&mut self, number: u8) {
        self.sites[usize::from(number) - 1].kill();
    }

    /// A site offers one more agent.
    pub(super) fn offer(&mut self, number: u8, agent: &str) {
        self.offer_command(number, agent, &exec_agent(agent, &["cat"], ""));
    }

    /// The same with a manifest.
    pub(super) fn offer_command(&mut self, number: u8, agent: &str, manifest: &str) {
        self.site(number).write(&format!("agents/{agent}/agent.toml"), manifest);
        self.offered[usize::from(number) - 1].insert(agent.to_owned());
    }

    /// A site no longer offers an agent.
    pub(super) fn withdraw(&mut self, number: u8, agent: &str) {
        std::fs::remove_dir_all(self.site(number).path().join("agents").join(agent)).unwrap();
        self.offered[usize::from(number) - 1].remove(agent);
    }

    /// Cuts every link between these sites and those.
    pub(super) fn split(&mut self, these: &[u8], those: &[u8]) {
        for one in these {
            those.iter().for_each(|other| self.network.cut(*one, *other));
        }
    }

    /// Waits until these sites and those are no longer connected; gives how long that took.
    pub(super) async fn give_up(&self, these: &[u8], those: &[u8]) -> Duration {
        let begun = Instant::now();
        for (one, other) in these.iter().flat_map(|one| those.iter().map(move |other| (*one, *other))) {
            for (from, to) in [(one, other), (other, one)] {
                eventually(&format!("site {from} is not connected to site {to}"), async || {
                    (self.peer(from, to).await["connected"] != true).then_some(())
                })
                .await;
            }
        }
        begun.elapsed()
    }

    /// Waits until every site lists what all others offer, and nothing else; gives how long that took.
    pub(super) async fn agree(&self) -> Duration {
        self.agree_among(&self.numbers().collect::<Vec<_>>(), |_, _| true).await
    }

    /// The same for some of them, about what these offer.
    pub(super) async fn agree_apart(&self, some: &[u8]) {
        self.agree_among(some, |_, other| some.contains(&other)).await;
    }

    async fn agree_among(&self, some: &[u8], counts: impl Fn(u8, u8) -> bool) -> Duration {
        let begun = Instant::now();
        for number in some {
            let mut last = BTreeSet::new();
            let expected = self.expected(*number, &counts);
            let what = format!("site {number} lists {expected:?}");
            eventually(&what, async || {
                let listed = self.listed(*number).await;
                let of_those: BTreeSet<_> =
                    listed.iter().filter(|(other, _)| counts(*number, *other)).cloned().collect();
                if of_those != last {
                    last.clone_from(&of_those);
                    println!("{:>8.2?} site {number} lists {}", begun.elapsed(), last.len());
                }
                (of_those == expected).then_some(())
            })
            .await;
        }
        begun.elapsed()
    }

    fn expected(&self, number: u8, counts: impl Fn(u8, u8) -> bool) -> BTreeSet<(u8, String)> {
        let others = self.numbers().filter(|other| *other != number && counts(number, *other));
        let agents =
            |other: u8| self.offered[usize::from(other) - 1].iter().map(move |agent| (other, agent.clone()));
        others.flat_map(agents).collect()
    }

    /// The agents of others that a site lists, with the number of their site.
    async fn listed(&self, number: u8) -> BTreeSet<(u8, String)> {
        let hub = self.site(number).get("/api/hub?limit=500").await;
        let items = hub["items"].as_array().cloned().unwrap_or_default();
        let listed = items.iter().filter_map(|item| {
            let owner = item["owner"].as_str()?.strip_prefix("site:")?.to_owned();
            let site = self.numbers().find(|number| self.did(*number) == owner)?;
            Some((site, item["name"].as_str()?.to_owned()))
        });
        listed.collect()
    }

    /// The DID of a site.
    pub(super) fn did(&self, number: u8) -> String {
        let path = self.site(number).path().join("did");
        std::fs::read_to_string(&path).unwrap_or_else(|_| {
            let shown = self.site(number).run(&["identity", "show", "--json"]).ok().json();
            let did = shown["didKey"].as_str().unwrap().to_owned();
            std::fs::write(path, &did).unwrap();
            did
        })
    }

    /// What the clerk of a site has written down.
    pub(super) fn ledger(&self, number: u8) -> Vec<String> {
        let text = std::fs::read_to_string(self.site(number).path().join(LEDGER)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How a site sees another one.
    pub(super) async fn peer(&self, number: u8, other: u8) -> Value {
        let mesh = self.site(number).get("/api/mesh").await;
        let peers = mesh["peers"].as_array().cloned().unwrap_or_default();
        let did = self.did(other);
        peers.into_iter().find(|peer| peer["site"] == did.as_str()).unwrap_or_default()
    }

    /// Opens an agent of another site; gives the name by which it is called at this one.
    pub(super) async fn open(&self, number: u8, agent: &str, of: u8) -> String {
        let (site, asked) = (self.site(number), json!({"agent": agent, "site": self.did(of)}));
        let opened = site.http.post(format!("{}/api/mesh/open", site.url)).json(&asked).send().await.unwrap();
        let opened: Value = opened.json().await.unwrap();
        opened["agent"].as_str().unwrap_or_else(|| panic!("{agent} of site {of}: {opened}")).to_owned()
    }
}

/// The manifest of a clerk.
pub(crate) fn clerk() -> String {
    exec_agent(CLERK, &["sh", "-c", "read -r line; echo \"$line\" | tee -a \"$HOME/ledger\""], "")
}
