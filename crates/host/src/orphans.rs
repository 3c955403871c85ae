//! Orphans: processes of agents that outlived a site which was killed.
//!
//! Promises: everything that an agent of this site started and that still runs is ended before the site
//! starts agents again; processes of others are never touched. Recognised by a variable that every program of
//! an agent inherits. An agent's own process dies with the site by itself (see `sandbox`); this is for what
//! that process had started.
//!
//! Only to be called by the one process that holds the site's data, before it starts an agent.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// The variable by which programs of a site are recognised; its value names the site.
pub const SITE_MARK: &str = "AGENTSITE_SITE";

/// Ends all processes that bear the mark of this site; gives how many there were.
#[must_use]
pub fn end_orphans(site: &str) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let own = std::process::id().to_string();
    let ids = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    ids.filter(|id| *id != own && bears(id, site) && end(id)).count()
}

fn bears(id: &str, site: &str) -> bool {
    // What belongs to another user, or is gone already, cannot be read and is none of ours.
    let Ok(variables) = std::fs::read(Path::new("/proc").join(id).join("environ")) else { return false };
    let mark = format!("{SITE_MARK}={site}");
    variables.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

fn end(id: &str) -> bool {
    let process = id.parse().ok().and_then(Pid::from_raw);
    process.is_some_and(|process| kill_process(process, Signal::KILL).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn only_processes_with_the_mark_of_the_site_are_ended() {
        let start = |mark: &str| Command::new("sleep").arg("1000").env(SITE_MARK, mark).spawn().unwrap();
        let site = format!("orphans-{}", std::process::id());
        let (mut ours, mut theirs) = (start(&site), start(&format!("{site}-2")));
        // A new process shows its variables once the program runs.
        while !bears(&ours.id().to_string(), &site) {
            std::thread::yield_now();
        }
        assert_eq!(end_orphans(&site), 1);
        assert_eq!(ours.wait().unwrap().signal(), Some(9));
        assert!(theirs.try_wait().unwrap().is_none());
        theirs.kill().unwrap();
        theirs.wait().unwrap();
    }
}
