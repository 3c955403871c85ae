//! An upgrade of the site without a pause: one process after the other, while the schema of the next version
//! is already there.
//!
//! The next version is the step that its program would take, made by hand: it only adds. What programs of two
//! versions do to one database is tested in the store; here it is the real binary, behind a balancer.

use super::balanced::caddy;
use super::server::Server;
use super::{process, started};
use crate::crash::agents;
use crate::crash::audit::Audit;
use crate::crash::dice::{Dice, fresh_seed};
use crate::crash::load::Load;
use crate::site::{TestSite, eventually};

/// What the next version adds; it says that the present one may go on.
const NEXT: &str = "BEGIN; SET search_path TO agentsite;
    ALTER TABLE tasks ADD COLUMN next_version text NOT NULL DEFAULT ''; CREATE TABLE next_version (id bigint PRIMARY KEY);
    ALTER TABLE records ADD COLUMN next_version bigint; ALTER TABLE processes ADD COLUMN next_version bigint;
    UPDATE schema_version SET version = version + 1; COMMIT";

/// What the version after that removes; the present one may not open the result.
const AFTER: &str =
    "UPDATE agentsite.schema_version SET version = version + 1, oldest_compatible = version + 1";

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_replaced_one_by_one_on_the_schema_of_the_next_version() {
    let server = Server::start();
    let mark = format!("upgrade-{}", std::process::id());
    let mut processes: Vec<TestSite> =
        ["one", "two", "three"].map(|name| started(agents(process(&server, name), &mark))).into();
    let balancer = caddy(&processes).await;
    let mut load = Load::begin_balanced(&mut Dice::new(fresh_seed()), 6, &processes[0].http);
    load.open(&balancer.url);
    load.wait_for(30).await;
    server.sql(NEXT);
    for site in &mut processes {
        load.wait_for(30).await;
        let port = site.url.rsplit(':').next().unwrap().to_owned();
        tokio::task::block_in_place(|| {
            assert!(site.stop().success(), "{}", site.log());
            site.start_at(&format!("127.0.0.1:{port}"));
        });
    }
    load.wait_for(30).await;
    load.finish().await;
    let acknowledged = load.acknowledged();
    let mut audit = Audit::default();
    audit.look_at_what_is_new(&processes[0], &acknowledged).await;
    audit.look_at_everything(&processes[0], &acknowledged).await;
    println!(
        "{}, {}, longest time without an acknowledgement {:.1} s",
        load.counts(),
        audit.counts(),
        load.longest_pause().as_secs_f64()
    );
    audit.verdict();

    server.sql(AFTER);
    let stopped = tokio::task::block_in_place(|| processes[2].stop());
    assert!(stopped.success());
    let tried = processes[2].serve_command().output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr);
    assert!(!tried.status.success() && said.contains("later version"), "an old program is told: {said}");
    let still = eventually("those that run go on", async || {
        let reply = processes[0].send("echo", "still here").await;
        reply["result"].is_object().then_some(reply)
    });
    still.await;
}
