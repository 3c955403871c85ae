//! Agents of other sites: published, listed, changed and taken back.
//!
//! Told on a network in memory; what the catalogue accepts is tested in `mesh`.

use agentsite_protocol::listing::{Proof, Standing};
use agentsite_protocol::{Caller, Visibility};

use super::*;
use crate::Expose;

#[tokio::test(start_paused = true)]
async fn public_agents_of_a_site_are_entries_of_another_and_private_ones_never_leave() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    there.agents.put("diary", Visibility::Private, "Keeps a secret diary");
    there.agents.put("team", Visibility::Peers, "For friends");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    let entry = here.listed().await.remove(0);
    assert_eq!(entry.owner.peer_did(), Some(there.id.to_string().as_str()));
    assert_eq!((entry.proof, entry.standing, entry.local), (Proof::Signature, Standing::Active, false));
    assert!(entry.seen_at.is_some() && entry.lease_until > entry.seen_at);
    let shared: SharedStore = Arc::new(here.store.clone());
    for record in crate::kept::RECORDS.all(&shared).await.unwrap() {
        assert!(!record.key.contains("diary") && !record.key.contains("team"), "{}", record.key);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_an_unpublish_and_a_change_of_visibility_are_seen() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    there.agents.put("echo", Visibility::Public, "Repeats");
    here.add(&there).await;
    here.lists(&["calc", "echo"]).await;
    there.agents.put("calc", Visibility::Public, "Multiplies numbers");
    until("the new words arrive", || async {
        here.listed().await.iter().any(|one| one.description == "Multiplies numbers")
    })
    .await;
    there.agents.remove("echo");
    here.lists(&["calc"]).await;
    there.agents.put("calc", Visibility::Private, "Multiplies numbers");
    here.lists(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn the_operator_says_which_agents_are_exposed() {
    let world = World::new();
    let some = MeshSettings { agents: vec!["calc".parse().unwrap()], ..MeshSettings::default() };
    let none = MeshSettings { expose: Expose::None, ..MeshSettings::default() };
    let (here, some, none) =
        (world.site(1).await, world.site_with(2, some).await, world.site_with(3, none).await);
    for site in [&some, &none] {
        site.agents.put("calc", Visibility::Public, "Adds numbers");
        site.agents.put("echo", Visibility::Public, "Repeats");
        here.add(site).await;
    }
    here.lists(&["calc"]).await;
    let shared: SharedStore = Arc::new(here.store.clone());
    let sites = crate::sites::all(&shared).await.unwrap();
    assert_eq!(
        sites.keys().collect::<Vec<_>>(),
        [&some.id],
        "the other one says nothing, not even its title"
    );
}

#[tokio::test(start_paused = true)]
async fn a_site_that_stops_in_order_takes_its_agents_along() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    there.stop().await;
    here.lists(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_site_that_dies_is_gone_when_its_lease_ends() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    world.transport.open.cut(here.id, there.id);
    until("the connection is gone", || async { here.view().await.peers.iter().all(|peer| !peer.connected) })
        .await;
    assert_eq!(here.names().await, ["calc"], "it may come back");
    // tidy: waits because the time is virtual
    tokio::time::sleep(agentsite_mesh::limits::LEASE_LIFETIME + agentsite_mesh::limits::CLOCK_SLACK).await;
    here.lists(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_listed_is_there_after_a_crash_and_what_ended_meanwhile_is_not() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    let here = here.crash(&world, 1).await;
    assert_eq!(here.names().await, ["calc"]);
    assert_eq!(here.view().await.listed, 1, "restored, not heard again");
    let store = here.store.clone();
    here.stop().await;
    there.stop().await;
    // tidy: waits because the time is virtual
    tokio::time::sleep(Duration::from_secs(3 * 24 * 60 * 60)).await;
    let here = Node::start(&world, 1, MeshSettings::default(), store.reopen()).await;
    here.lists(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_an_admin_suspended_stays_so() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    let id = here.listed().await[0].id.clone();
    here.peers.0.registry.suspend(&Caller::admin(), &id).await.unwrap();
    there.agents.put("calc", Visibility::Public, "Adds more numbers");
    until("the new words arrive", || async {
        here.listed().await.iter().any(|one| one.description == "Adds more numbers")
    })
    .await;
    assert_eq!(here.listed().await[0].standing, Standing::Suspended);
}

/// Whether the only entry of a site answers, and whether that was checked.
async fn answers(node: &Node) -> Option<bool> {
    let entry = node.listed().await.into_iter().next()?;
    entry.checked_at.map(|_| entry.live)
}

#[tokio::test(start_paused = true)]
async fn a_killed_site_is_not_reachable_within_seconds_and_returns_by_itself() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    until("it answers", || async { answers(&here).await == Some(true) }).await;
    let begun = Instant::now();
    world.transport.open.cut(here.id, there.id);
    until("it does not answer", || async { answers(&here).await == Some(false) }).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(here.names().await, ["calc"], "it stays listed: its lease holds");
    let peers = here.view().await.peers;
    assert!(peers.iter().any(|peer| peer.live == Some(false) && peer.seen_at.is_some()), "{peers:?}");
    world.transport.open.heal(here.id, there.id);
    until("it answers again", || async { answers(&here).await == Some(true) }).await;
}

#[tokio::test(start_paused = true)]
async fn that_another_site_lost_it_says_nothing_here() {
    let world = World::new();
    let (here, lost, there) = (world.site(1).await, world.site(2).await, world.site(3).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    lost.add(&there).await;
    here.add(&lost).await;
    for site in [&here, &lost] {
        site.lists(&["calc"]).await;
    }
    world.transport.open.cut(lost.id, there.id);
    until("one of them lost it", || async { answers(&lost).await == Some(false) }).await;
    assert_eq!(answers(&here).await, Some(true), "the other one has not");
    assert_eq!(lost.names().await, ["calc"], "and a lost link is not a death");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_record_does_not_make_a_lost_site_answer() {
    let world = World::new();
    let (here, between, there) = (world.site(1).await, world.site(2).await, world.site(3).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.add(&between).await;
    between.add(&there).await;
    here.lists(&["calc"]).await;
    world.transport.open.cut(here.id, there.id);
    until("it does not answer", || async { answers(&here).await == Some(false) }).await;
    there.agents.put("calc", Visibility::Public, "Adds more numbers");
    until("the record comes another way", || async {
        here.listed().await.iter().any(|one| one.description == "Adds more numbers")
    })
    .await;
    assert_eq!(answers(&here).await, Some(false));
}
