//! The kernel's account of this process: memory, processor time, open files.
//!
//! Promises: a few short reads below `/proc`; elsewhere than on Linux nothing is reported rather than
//! something wrong. It keeps nothing.

use serde::Serialize;

/// Clock ticks a second in `/proc`; fixed at 100 for programs on every Linux machine.
const TICKS: f64 = 100.0;

/// What the process uses.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: u32,
    /// Bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<i64>,
    /// Processor time since its start, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_seconds: Option<f64>,
    /// Files and sockets that are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open_files: Option<usize>,
}

impl Process {
    /// As it is now.
    pub(crate) fn now() -> Self {
        Self {
            pid: std::process::id(),
            memory: resident_bytes(),
            cpu_seconds: cpu_seconds(),
            open_files: std::fs::read_dir("/proc/self/fd").ok().map(Iterator::count),
        }
    }
}

/// Bytes of memory that the process holds.
pub(crate) fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

/// Seconds of processor time that the process has used.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses and may hold anything; count from its end.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_time_and_files() {
        let process = Process::now();
        assert!(process.memory.is_some_and(|bytes| bytes > 1 << 20));
        assert!(process.cpu_seconds.is_some());
        assert!(process.open_files.is_some_and(|files| files > 2));
    }
}
