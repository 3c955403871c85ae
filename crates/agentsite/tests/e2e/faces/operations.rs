//! Health, readiness and metrics, as a supervisor and a graph see them.
//!
//! Promises that are tested: the texts and the names that others build upon.

use crate::site::{TestSite, exec_agent};

async fn text(site: &TestSite, path: &str) -> (u16, String) {
    let reply = site.http.get(format!("{}{path}", site.url)).send().await.unwrap();
    (reply.status().as_u16(), reply.text().await.unwrap())
}

/// The value of a series.
fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

#[tokio::test]
async fn a_running_site_is_healthy_and_ready() {
    let site = TestSite::started();
    assert_eq!(text(&site, "/healthz").await, (200, "ok\n".into()));
    assert_eq!(text(&site, "/readyz").await, (200, "ready\n".into()));
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let mut site = TestSite::new().agent("broken", &exec_agent("broken", &["false"], ""));
    site.start();
    for _ in 0..3 {
        site.send("echo", "hello").await;
    }
    site.send("broken", "hello").await;
    site.send("nobody", "hello").await;
    let (status, metrics) = text(&site, "/metrics").await;
    assert_eq!(status, 200);
    assert!(metrics.ends_with("# EOF\n"), "the text is whole");
    for series in [
        "agentsite_tasks_live",
        "agentsite_tasks_queued",
        "agentsite_store_queue_length",
        "agentsite_store_commit_changes_count",
        "agentsite_store_commit_seconds_count",
        "agentsite_task_start_delay_seconds_count",
        "agentsite_task_duration_seconds_count",
        "process_resident_memory_bytes",
    ] {
        assert!(value(&metrics, &format!("{series} ")).is_some(), "{series} in\n{metrics}");
    }
    assert_eq!(value(&metrics, "agentsite_task_duration_seconds_count "), Some(4.0), "{metrics}");
    assert_eq!(value(&metrics, "agentsite_tasks_live "), Some(0.0));
    let finished = |state: &str| {
        let lines =
            metrics.lines().filter(|line| line.starts_with("agentsite_tasks") && line.contains(state));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
    };
    assert_eq!((finished("\"completed\""), finished("\"failed\"")), (3.0, 1.0), "{metrics}");
}
