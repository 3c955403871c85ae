//! Checks of the PostgreSQL database of a site that several processes serve.
//!
//! Promises: what is wrong is named with what to do. Opening the database makes its tables when they are
//! missing, as the next start would; nothing else is changed.

use std::collections::BTreeMap;
use std::time::Duration;

use agentsite_site::World;
use agentsite_store::Upkeep;
use agentsite_store_pg::{PG_SCHEMA_VERSION, PgReport, PgSettings, PgStore};

use super::{Check, Verdict};
use crate::config::{Config, shown_store};
use crate::sitekey::SiteKey;

/// A question that takes longer than this makes every task slow: each needs a few, one after the other.
const SLOW: Duration = Duration::from_millis(10);

/// By how much the clocks may differ: deadlines and expiry dates of keys are judged by each process.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(5);

/// Connections that a process has besides those that read: one writes, one listens.
const OTHER_CONNECTIONS: u64 = 2;

/// Looks at the database server.
pub(super) async fn of_server(
    config: &Config,
    variables: &BTreeMap<String, String>,
    url: String,
) -> Vec<Check> {
    let key = match SiteKey::find(config, variables) {
        Ok(Some(key)) => key,
        Ok(None) => {
            let what = "there is no data key on this machine yet; give all processes the same one with key_file or AGENTSITE_DATA_KEY";
            return vec![Check::warn("database", what)];
        }
        Err(error) => return vec![Check::fail("database", error.to_string())],
    };
    let place = shown_store(&url);
    let store = match PgStore::open(PgSettings { readers: 1, ..PgSettings::new(url, key) }).await {
        Ok(store) => store,
        Err(error) => return vec![Check::fail("database", format!("{place}: {error}"))],
    };
    let (report, now) = (store.check().await, World::system().clock.now());
    let stats = store.stats().await;
    if let Err(error) = store.close().await {
        tracing::debug!(%error, "The database was not closed in order.");
    }
    let tasks = match stats {
        Ok(stats) => stats.tasks,
        Err(error) => return vec![Check::fail("database", error.to_string())],
    };
    match report {
        Ok(report) => {
            let apart = now.since(report.server_time).max(report.server_time.since(now));
            let mut checks = vec![Check::ok(
                "database",
                format!("PostgreSQL {}, schema {PG_SCHEMA_VERSION}, {tasks} tasks", report.version),
            )];
            checks.extend(judge(&report, apart, config.cluster.connections as u64));
            checks
        }
        Err(error) => vec![Check::fail("database", error.to_string())],
    }
}

/// What is good or wrong about a server that answers.
fn judge(report: &PgReport, apart: Duration, readers: u64) -> Vec<Check> {
    let check = |name: &str, good: bool, bad: Verdict, words: String| {
        Check::new(name, if good { Verdict::Ok } else { bad }, words)
    };
    let (needed, free) =
        (readers + OTHER_CONNECTIONS, report.most_connections.saturating_sub(report.used_connections));
    let latency = format!("{:.1} ms for a question and its answer", report.latency.as_secs_f64() * 1e3);
    let advice =
        |good: bool, words: String, what: &str| if good { words } else { format!("{words}; {what}") };
    let near = report.latency <= SLOW;
    let agree = apart <= CLOCK_DIFFERENCE;
    let enough = free >= needed;
    let mut checks = vec![
        check(
            "database latency",
            near,
            Verdict::Warn,
            advice(near, latency, "run the processes nearer to it"),
        ),
        check(
            "database clock",
            agree,
            Verdict::Warn,
            advice(agree, format!("differs by {} ms", apart.as_millis()), "set the clocks by a time server"),
        ),
        check(
            "database connections",
            enough,
            Verdict::Fail,
            advice(
                enough,
                format!("{free} of {} are free, a process needs {needed}", report.most_connections),
                "raise max_connections of the server, or lower cluster.connections",
            ),
        ),
    ];
    if report.read_only {
        let what = "the server takes no changes: connect to the primary, not to a replica";
        checks.push(Check::fail("database writes", what));
    }
    if !report.may_create {
        let what = format!("the user may not create tables in the schema {}: grant it CREATE", report.schema);
        checks.push(Check::fail("database rights", what));
    }
    if !report.durable {
        let what =
            "fsync or full_page_writes is off: a crash of the server loses acknowledged work; turn both on";
        checks.push(Check::warn("database durability", what));
    }
    checks
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Timestamp;

    use super::*;

    fn report() -> PgReport {
        PgReport {
            version: "15.1".into(),
            latency: Duration::from_micros(200),
            server_time: Timestamp::from_millis(0),
            may_create: true,
            read_only: false,
            durable: true,
            most_connections: 97,
            used_connections: 10,
            schema: "agentsite".into(),
        }
    }

    #[test]
    fn a_good_server_has_only_good_checks() {
        let checks = judge(&report(), Duration::ZERO, 4);
        assert!(checks.iter().all(|check| check.verdict == Verdict::Ok), "{checks:?}");
    }

    #[test]
    fn each_shortcoming_is_named_with_what_to_do() {
        let bad = PgReport {
            latency: Duration::from_millis(40),
            may_create: false,
            read_only: true,
            durable: false,
            used_connections: 95,
            ..report()
        };
        let checks = judge(&bad, Duration::from_secs(300), 4);
        let words = |name: &str| {
            let check = checks.iter().find(|check| check.name == name).unwrap();
            assert_ne!(check.verdict, Verdict::Ok, "{name}");
            check.words.as_str()
        };
        assert!(words("database latency").contains("nearer"));
        assert!(words("database clock").contains("300000 ms"));
        assert!(words("database connections").contains("2 of 97 are free, a process needs 6"));
        assert!(words("database writes").contains("primary"));
        assert!(words("database rights").contains("GRANT") || words("database rights").contains("grant"));
        assert!(words("database durability").contains("fsync"));
    }
}
