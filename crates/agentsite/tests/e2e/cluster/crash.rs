//! Three processes behind a balancer under load, while processes are killed and frozen and the database is
//! restarted.
//!
//! Promises that are tested: every task that was acknowledged is there, with dense events and the answer to
//! its own message; the same message sent again is the same task; a stream that was cut resumes elsewhere and
//! is whole. How long recoveries took is printed, not judged: that depends on the machine.
//!
//! `AGENTSITE_CRASH_MINUTES` makes it long (`cargo xtask crash --cluster`): a kill every three seconds, and
//! the lease that sites have. `AGENTSITE_CRASH_SEED` repeats the messages of a run.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::balanced::caddy;
use super::server::Server;
use super::streams::{self, Watching};
use super::{journal_is_whole, process, started};
use crate::crash::audit::{Audit, state};
use crate::crash::dice::{Dice, fresh_seed};
use crate::crash::load::{Load, Send};
use crate::crash::{agents, number};
use crate::proxy::Proxy;
use crate::site::{TestSite, eventually};

/// Clients that send at the same time.
const CLIENTS: usize = 6;

/// Acknowledgements between two blows of the short form.
const ACKNOWLEDGED: usize = 40;

/// Time between two blows of the long form.
const PACE: Duration = Duration::from_secs(3);

/// The lease of a site without a setting; the long form measures with it.
const USUAL_LEASE: &str = "2s";

/// What happens to the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Kill,
    Freeze,
    RestartDatabase,
}

/// The blows of the short form.
const SHORT: [Blow; 6] =
    [Blow::Kill, Blow::Freeze, Blow::Kill, Blow::RestartDatabase, Blow::Kill, Blow::Kill];

/// How long recoveries took.
#[derive(Debug, Default)]
struct Recoveries {
    /// From a kill or a freeze until a task of that process was taken up by another.
    processes: Vec<Duration>,
    /// From the moment the database takes connections again to the next acknowledgement.
    database: Vec<Duration>,
}

/// The site under blows.
struct Story {
    server: Server,
    processes: Vec<TestSite>,
    balancer: Proxy,
    load: Load,
    recoveries: Recoveries,
}

#[tokio::test(flavor = "multi_thread")]
async fn blows_to_processes_and_database_lose_and_double_nothing() {
    let minutes = number("AGENTSITE_CRASH_MINUTES");
    let seed = number("AGENTSITE_CRASH_SEED").unwrap_or_else(fresh_seed);
    println!("AGENTSITE_CRASH_SEED={seed}");
    let mut story = Story::begin(seed, minutes.is_some()).await;
    let watching = Watching::begin(&story.load, &story.processes[0].http, &story.balancer.url);
    let blows = match minutes {
        None => {
            for (number, blow) in SHORT.into_iter().enumerate() {
                story.load.wait_for(ACKNOWLEDGED).await;
                story.strike(number, blow).await;
            }
            SHORT.len()
        }
        Some(minutes) => story.strike_for(Duration::from_secs(60 * minutes)).await,
    };
    story.load.wait_for(ACKNOWLEDGED).await;
    story.load.finish().await;
    let streams = watching.end().await;
    story.judge().await;
    println!("{blows} blows, {streams}");
}

impl Story {
    async fn begin(seed: u64, long: bool) -> Self {
        let server = Server::start();
        let mark = format!("cluster-{seed}-{}", std::process::id());
        let processes: Vec<TestSite> = ["one", "two", "three"]
            .map(|name| {
                let mut site = agents(process(&server, name), &mark).agent("steps", &streams::agent());
                if long {
                    let lease = "AGENTSITE_CLUSTER_LEASE";
                    site = site.without(lease).variable(lease, USUAL_LEASE);
                }
                started(site)
            })
            .into();
        let balancer = caddy(&processes).await;
        let load = Load::begin_balanced(&mut Dice::new(seed), CLIENTS, &processes[0].http);
        load.open(&balancer.url);
        Self { server, processes, balancer, load, recoveries: Recoveries::default() }
    }

    /// Strikes every three seconds; gives how often.
    async fn strike_for(&mut self, time: Duration) -> usize {
        let (end, mut pace, mut number) = (Instant::now() + time, tokio::time::interval(PACE), 0);
        let (mut restarted, half) = (false, end - time / 2);
        while Instant::now() < end {
            pace.tick().await;
            let blow = if !restarted && Instant::now() > half {
                restarted = true;
                Blow::RestartDatabase
            } else if number % 10 == 5 {
                Blow::Freeze
            } else {
                Blow::Kill
            };
            self.strike(number, blow).await;
            number += 1;
            if number.is_multiple_of(10) {
                println!("{number} blows, {}; {}", self.load.counts(), self.recoveries.shown());
            }
        }
        number
    }

    async fn strike(&mut self, number: usize, blow: Blow) {
        let victim = number % self.processes.len();
        let witness = (victim + 1) % self.processes.len();
        if blow == Blow::RestartDatabase {
            tokio::task::block_in_place(|| self.server.restart());
            let begun = Instant::now();
            self.load.wait_for(1).await;
            self.recoveries.database.push(begun.elapsed());
            return;
        }
        // A task that runs in the victim and in no other process: when it is taken up, all are.
        let send = Send::new("linger", "sleep", true);
        let held = eventually("the victim takes a task", async || {
            self.load.try_send(&self.processes[victim], &send).await
        })
        .await;
        self.until(witness, &held, "TASK_STATE_WORKING").await;
        let begun = Instant::now();
        match blow {
            Blow::Freeze => self.processes[victim].signal("STOP"),
            _ => self.processes[victim].kill(),
        }
        // It may be tried only once, so that the one who takes it up says so.
        self.until(witness, &held, "TASK_STATE_FAILED").await;
        self.recoveries.processes.push(begun.elapsed());
        if blow == Blow::Freeze {
            self.processes[victim].signal("CONT");
        } else {
            let port = self.processes[victim].url.rsplit(':').next().unwrap().to_owned();
            tokio::task::block_in_place(|| self.processes[victim].start_at(&format!("127.0.0.1:{port}")));
        }
        let count = self.processes.len();
        eventually("all processes are back", async || {
            let status = self.ask(witness, "/api/status").await?;
            (status["processes"].as_array()?.len() == count).then_some(())
        })
        .await;
    }

    /// Waits until a task is in this state, as one process sees it.
    async fn until(&self, witness: usize, task: &str, wanted: &str) {
        eventually(&format!("{task} is {wanted}"), async || {
            let task = self.ask(witness, &format!("/api/tasks/{task}")).await?;
            (state(&task) == wanted).then_some(())
        })
        .await;
    }

    /// Asks one process; none when it has no answer now.
    async fn ask(&self, process: usize, path: &str) -> Option<Value> {
        let site = &self.processes[process];
        let answer = site.http.get(format!("{}{path}", site.url)).send().await.ok()?;
        if answer.status().is_success() { answer.json().await.ok() } else { None }
    }

    /// Looks at everything through one process.
    async fn judge(&self) {
        let (site, acknowledged) = (&self.processes[1], self.load.acknowledged());
        let mut audit = Audit::default();
        audit.look_at_what_is_new(site, &acknowledged).await;
        audit.look_at_everything(site, &acknowledged).await;
        println!("{}, {}", self.load.counts(), audit.counts());
        println!(
            "{}; longest time without an acknowledgement {:.1} s",
            self.recoveries.shown(),
            self.load.longest_pause().as_secs_f64()
        );
        audit.verdict();
        journal_is_whole(site);
    }
}

impl Recoveries {
    fn shown(&self) -> String {
        let shown = |all: &[Duration]| {
            let mut seconds: Vec<f64> = all.iter().map(Duration::as_secs_f64).collect();
            seconds.sort_by(f64::total_cmp);
            let at = |place: usize| seconds.get(place).copied().unwrap_or(0.0);
            format!("{:.1} s (longest {:.1} s)", at(seconds.len() / 2), at(seconds.len().saturating_sub(1)))
        };
        format!(
            "taken up after the end of a process: {}; first acknowledgement after the database is back: {}",
            shown(&self.processes),
            shown(&self.database)
        )
    }
}
