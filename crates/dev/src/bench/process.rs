//! The processes that are measured: started, watched through `/proc`, ended.
//!
//! Promises: a child never outlives the bench; its figures are the kernel's. Linux only, like the figures.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::BenchError;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

/// Longest wait for a child to answer.
const START: Duration = Duration::from_secs(20);

/// How often a starting child is asked; finer than the figure that is printed.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// How long a started site is watched at a time, and how much of a core it may use meanwhile to count as
/// resting.
const WATCH: Duration = Duration::from_millis(500);
const AT_REST: f64 = 0.05;

/// Longest wait for a started site to rest: what it prepares in the background ends long before.
const UNREST: Duration = Duration::from_secs(120);

/// Clock ticks of `/proc/PID/stat` in a second, fixed by the kernel's interface.
const TICKS: f64 = 100.0;

/// Another process of this program.
#[derive(Debug)]
pub(super) struct Child {
    child: tokio::process::Child,
    pub(super) address: SocketAddr,
}

/// What the kernel knows about a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub(super) cpu_seconds: f64,
    pub(super) resident_mib: f64,
}

/// What a site says about itself at `/metrics`.
#[derive(Debug)]
pub(super) struct Metrics(String);

impl Child {
    /// A site in the folder, ready to answer.
    pub(super) async fn start_site(folder: &Path) -> Result<Self, BenchError> {
        Self::start_process(folder, "data", &[]).await
    }

    /// A process of a site, with a data folder of its own and these variables in its environment.
    pub(super) async fn start_process(
        folder: &Path,
        data: &str,
        variables: &[(&str, &str)],
    ) -> Result<Self, BenchError> {
        let address = free_address()?;
        let mut command = this_program()?;
        command.arg("serve").arg("--listen").arg(address.to_string());
        command.arg("--data").arg(folder.join(data)).arg("--agents").arg(folder.join("agents"));
        // What is measured is never the database of the person who measures.
        command.env_remove("AGENTSITE_STORE").env_remove("AGENTSITE_STORE_FILE");
        command.envs(variables.iter().copied());
        // The load shows no credential, so that the figures stay comparable; only this machine reaches the
        // site, while it is measured.
        command.arg("--anonymous").arg("admin");
        let log = folder.join(format!("{data}.log"));
        let file = std::fs::File::create(&log).map_err(|error| BenchError::file("write", &log, &error))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let child =
            command.spawn().map_err(|error| BenchError::error(format!("cannot start the site: {error}")))?;
        let began = Instant::now();
        while get(address, "/readyz").await.is_none_or(|answer| !answer.starts_with("HTTP/1.1 200")) {
            if began.elapsed() > START {
                let words = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(BenchError::error(format!("the site did not start: {words}")));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(Self { child, address })
    }

    /// The bare server.
    pub(super) async fn start_bare() -> Result<Self, BenchError> {
        let mut command = this_program()?;
        command.arg("bench-bare").stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed =
            |error: std::io::Error| BenchError::error(format!("cannot start the bare server: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let out = child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).await.map_err(failed)?;
        let address =
            line.trim().parse().map_err(|_| BenchError::error("the bare server printed no address"))?;
        Ok(Self { child, address })
    }

    /// What the kernel knows about it now.
    pub(super) fn figures(&self) -> Result<Figures, BenchError> {
        let pid = self.child.id().ok_or_else(|| BenchError::error("a measured process has ended"))?;
        let read = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            std::fs::read_to_string(&path).map_err(|error| BenchError::file("read", Path::new(&path), &error))
        };
        let stat = Stat::read(&read("stat")?);
        let status = read("status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = resident.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
        Ok(Figures { cpu_seconds: stat.own, resident_mib: kib / 1024.0 })
    }

    /// Waits until it is idle, so that only the requested work is measured.
    pub(super) async fn rest(&self) -> Result<(), BenchError> {
        let began = Instant::now();
        let mut before = self.figures()?.cpu_seconds;
        while began.elapsed() < UNREST {
            tokio::time::sleep(WATCH).await;
            let now = self.figures()?.cpu_seconds;
            if now - before <= AT_REST * WATCH.as_secs_f64() {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// What the site says about itself now.
    pub(super) async fn metrics(&self) -> Result<Metrics, BenchError> {
        get(self.address, "/metrics")
            .await
            .map(Metrics)
            .ok_or_else(|| BenchError::error("the site serves no metrics"))
    }
}

impl Metrics {
    /// Mean of a histogram since `before`.
    pub(super) fn mean_since(&self, before: &Self, name: &str) -> f64 {
        let more =
            |what: &str| self.value(&format!("{name}_{what}")) - before.value(&format!("{name}_{what}"));
        let count = more("count");
        if count > 0.0 { more("sum") / count } else { 0.0 }
    }

    /// Upper bound of the bucket of the median since `before`.
    pub(super) fn median_since(&self, before: &Self, name: &str) -> f64 {
        let half = (self.value(&format!("{name}_count")) - before.value(&format!("{name}_count"))) / 2.0;
        let prefix = format!("{name}_bucket{{le=\"");
        let bounds = self.0.lines().filter_map(|line| line.strip_prefix(&prefix)?.split_once('"'));
        for (bound, _) in bounds {
            let row = format!("{prefix}{bound}\"}}");
            if self.value(&row) - before.value(&row) >= half {
                return bound.parse().unwrap_or(f64::INFINITY);
            }
        }
        f64::INFINITY
    }

    fn value(&self, name: &str) -> f64 {
        let line =
            self.0.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
    }
}

/// The times in `/proc/PID/stat`, in seconds.
#[derive(Debug, Clone, Copy)]
struct Stat {
    parent: u32,
    own: f64,
    /// Of children that have ended.
    ended: f64,
}

impl Stat {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        let parent = fields.get(1).and_then(|field| field.parse().ok()).unwrap_or(0);
        Self { parent, own: (ticks(11) + ticks(12)) / TICKS, ended: (ticks(13) + ticks(14)) / TICKS }
    }
}

/// Processor time of a process and all its children, those that have ended included, in seconds.
pub(super) fn family_cpu(pid: u32) -> f64 {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = all.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((number, Stat::read(&line)))
    });
    stats
        .map(|(number, stat)| match number == pid {
            true => stat.own + stat.ended,
            false if stat.parent == pid => stat.own,
            false => 0.0,
        })
        .sum()
}

pub(super) fn this_program() -> Result<Command, BenchError> {
    let path = std::env::current_exe()
        .map_err(|error| BenchError::error(format!("cannot find this program: {error}")))?;
    let mut command = Command::new(path);
    command.kill_on_drop(true);
    Ok(command)
}

fn free_address() -> Result<SocketAddr, BenchError> {
    let failed = |error: std::io::Error| BenchError::error(format!("no free port: {error}"));
    std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).map_err(failed)
}

/// A GET without a client library, so that none of our code is between the figure and the server.
async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "x_sum 1\nx_count 2\nx_bucket{le=\"0.1\"} 1\nx_bucket{le=\"1.0\"} 2\nx_bucket{le=\"+Inf\"} 2\n";
    const AFTER: &str =
        "x_sum 7\nx_count 6\nx_bucket{le=\"0.1\"} 2\nx_bucket{le=\"1.0\"} 6\nx_bucket{le=\"+Inf\"} 6\n";

    #[test]
    fn the_times_of_a_process_are_read_whatever_its_name_is() {
        let stat = Stat::read("7 (a) (b c) S 3 7 7 0 -1 4194304 1 2 3 4 150 50 1000 200 20 0 1 0");
        assert_eq!((stat.parent, stat.own, stat.ended), (3, 2.0, 12.0));
        assert!(family_cpu(std::process::id()) >= 0.0);
    }

    #[test]
    fn figures_are_of_what_came_between() {
        let (before, after) = (Metrics(BEFORE.into()), Metrics(AFTER.into()));
        assert!((after.mean_since(&before, "x") - 1.5).abs() < 1e-9);
        assert!((after.median_since(&before, "x") - 1.0).abs() < 1e-9);
    }
}
