//! The processes of a site, as admins see them: what each holds and where it differs from the others.
//!
//! Promises: pure; a difference is named once, at the process that differs from the first one with the same
//! agent. It decides nothing about the differences.

use std::collections::BTreeMap;
use std::time::Duration;

use agentsite_protocol::{AgentName, Timestamp};
use agentsite_store::{ProcessId, ProcessView};
use agentsite_tasks::{CheckReport, CheckVerdict, ProcessReport};
use serde::Serialize;

/// A process that serves the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessStatus {
    /// Its number, larger for each that joins.
    pub id: ProcessId,
    /// What people call it.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// Whether it is the one that answers.
    pub this: bool,
    /// Since when it serves the site.
    pub joined_at: Timestamp,
    /// When it last renewed its lease.
    pub renewed_at: Timestamp,
    /// How many tasks it runs or has queued.
    pub tasks: u64,
    /// The work for the whole site that it does.
    pub leases: Vec<String>,
    /// How many agents it runs from its folder.
    pub agents: usize,
    /// The agents whose programs are connected to it.
    pub connected: Vec<AgentName>,
    /// Where it differs from the other processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
}

impl ProcessStatus {
    /// All processes, with their differences.
    pub(super) fn all(living: &[(ProcessReport, ProcessView)], own: Option<ProcessId>) -> Vec<Self> {
        let of = |(report, view): &(ProcessReport, ProcessView)| Self {
            id: view.id,
            name: view.info.name.clone(),
            version: view.info.version.clone(),
            this: own == Some(view.id),
            joined_at: view.joined_at,
            renewed_at: view.renewed_at,
            tasks: view.tasks,
            leases: view.leases.clone(),
            agents: report.agents.len(),
            connected: report.connected.clone(),
            differences: differences(living, report, view),
        };
        living.iter().map(of).collect()
    }
}

/// How far the clock of a process may be from the database's before it is named: from there on the doctor
/// warns, too.
pub(super) const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);

/// By how many seconds a clock is ahead of the database's; none as long as it is near enough.
pub(super) fn clock_ahead(own: Timestamp, store: Option<Timestamp>) -> Option<i64> {
    let ahead = own.as_millis().saturating_sub(store?.as_millis());
    (u128::from(ahead.unsigned_abs()) >= CLOCK_TOLERANCE.as_millis()).then_some(ahead / 1_000)
}

fn clock_difference(ahead: i64) -> String {
    let (seconds, way) = (ahead.unsigned_abs(), if ahead < 0 { "behind" } else { "ahead of" });
    format!("its clock is {seconds} s {way} the clock of the database; synchronise it")
}

/// What the doctor says of the clocks of all processes.
pub(super) fn clock_check(living: &[(ProcessView, ProcessReport)]) -> CheckReport {
    let wrong: Vec<String> = living
        .iter()
        .filter_map(|(view, report)| {
            let ahead = report.clock_ahead?;
            Some(format!("process {} ({}): {}", view.id, view.info.name, clock_difference(ahead)))
        })
        .collect();
    let (verdict, words) = if wrong.is_empty() {
        (CheckVerdict::Ok, "the clocks of all processes agree with the database".to_owned())
    } else {
        (CheckVerdict::Warn, wrong.join("; "))
    };
    CheckReport { name: "clocks of processes", verdict, words }
}

fn differences(
    living: &[(ProcessReport, ProcessView)],
    report: &ProcessReport,
    view: &ProcessView,
) -> Vec<String> {
    let mut found: Vec<String> = report.clock_ahead.map(clock_difference).into_iter().collect();
    let Some((first_report, first)) = living.first().filter(|(_, first)| first.id != view.id) else {
        return found;
    };
    if first.info.version != view.info.version {
        found.push(format!(
            "its program is {}, that of process {} is {}",
            view.info.version, first.id, first.info.version
        ));
    }
    if first_report.settings != report.settings {
        found.push(format!("its configuration is not that of process {}", first.id));
    }
    let mut known: BTreeMap<&AgentName, (&String, ProcessId)> = BTreeMap::new();
    for (other, at) in living.iter().take_while(|(_, at)| at.id != view.id) {
        for (name, hash) in &other.agents {
            known.entry(name).or_insert((hash, at.id));
        }
    }
    for (name, (hash, at)) in &known {
        match report.agents.get(*name) {
            Some(own) if own == *hash => {}
            Some(_) => found.push(format!("the files of {name} are not those of process {at}")),
            None => found.push(format!("it does not have the agent {name}, process {at} has it")),
        }
    }
    found.extend(
        report
            .agents
            .keys()
            .filter(|name| !known.contains_key(name))
            .map(|name| format!("it has the agent {name}, process {} does not", first.id)),
    );
    found
}

#[cfg(test)]
mod tests {
    use agentsite_store::ProcessInfo;

    use super::*;

    fn process(id: u64, agents: &[(&str, &str)]) -> (ProcessReport, ProcessView) {
        let at = Timestamp::from_millis(0);
        let agents = agents.iter().map(|(name, hash)| (name.parse().unwrap(), (*hash).to_owned())).collect();
        let report = ProcessReport { agents, ..ProcessReport::default() };
        let info = ProcessInfo { name: format!("p{id}"), version: "1".into() };
        let view = ProcessView {
            id: ProcessId::new(id),
            info,
            report: String::new(),
            joined_at: at,
            renewed_at: at,
            until: at,
            leases: Vec::new(),
            tasks: 0,
        };
        (report, view)
    }

    #[test]
    fn a_clock_that_is_off_is_named_at_its_process() {
        let (now, store) = (Timestamp::from_millis(1_000_000), |millis| Some(Timestamp::from_millis(millis)));
        assert_eq!(clock_ahead(now, None), None);
        assert_eq!(clock_ahead(now, store(1_004_999)), None);
        assert_eq!(clock_ahead(now, store(1_300_000)), Some(-300));
        let mut two = [process(1, &[]), process(2, &[])];
        let check = |two: &[(ProcessReport, ProcessView)]| {
            let views: Vec<_> = two.iter().map(|(report, view)| (view.clone(), report.clone())).collect();
            clock_check(&views)
        };
        assert_eq!(check(&two).verdict, CheckVerdict::Ok);
        two[0].0.clock_ahead = Some(300);
        let words = "its clock is 300 s ahead of the clock of the database; synchronise it";
        assert_eq!(ProcessStatus::all(&two, None)[0].differences, [words]);
        assert!(ProcessStatus::all(&two, None)[1].differences.is_empty());
        assert_eq!(check(&two).words, format!("process 1 (p1): {words}"));
    }

    #[test]
    fn a_difference_is_named_at_the_process_that_differs() {
        let same = [process(1, &[("a", "x")]), process(2, &[("a", "x")])];
        assert!(ProcessStatus::all(&same, None).iter().all(|one| one.differences.is_empty()));
        let mut other = [process(1, &[("a", "x"), ("b", "y")]), process(2, &[("a", "z"), ("c", "y")])];
        other[1].1.info.version = "2".into();
        let all = ProcessStatus::all(&other, Some(ProcessId::new(2)));
        assert!(all[0].differences.is_empty() && all[1].this);
        assert_eq!(
            all[1].differences,
            [
                "its program is 2, that of process 1 is 1",
                "the files of a are not those of process 1",
                "it does not have the agent b, process 1 has it",
                "it has the agent c, process 1 does not"
            ]
        );
    }
}
