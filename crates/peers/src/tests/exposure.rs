//! Exposure: what leaves a site, and to whom.
//!
//! Every byte that is sent on the network in memory is read.

use agentsite_protocol::Principal;
use agentsite_registry::sees;

use super::*;

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Connects all sites with each other, without adding them as peers.
fn connect(world: &World, sites: &[&Node]) {
    for (number, one) in sites.iter().enumerate() {
        sites[..number].iter().for_each(|other| world.transport.open.connect(one.id, other.id));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_private_leaves_and_what_is_for_peers_goes_to_them_alone() {
    let world = World::new();
    world.transport.open.remember_sent();
    let (owner, friend) = (world.site(1).await, world.site(2).await);
    let (named, stranger) = (world.site(3).await, world.site(4).await);
    owner.agents.put("calc", Visibility::Public, "Adds numbers");
    owner.agents.put("ledger", Visibility::Peers, "Knows the turnover");
    owner.agents.put("planner", Visibility::Peers, "Knows the appointments");
    owner.agents.put("diary", Visibility::Private, "Confesses everything");
    owner.agents.open_to.lock().unwrap().push((named.id.to_string(), "planner".parse().unwrap()));
    owner.agents.open_to.lock().unwrap().push((named.id.to_string(), "diary".parse().unwrap()));
    connect(&world, &[&owner, &friend, &named, &stranger]);
    owner.add(&friend).await;
    friend.lists(&["calc", "ledger", "planner"]).await;
    named.lists(&["calc", "planner"]).await;
    stranger.lists(&["calc"]).await;
    owner.agents.put("diary", Visibility::Private, "Confesses still more");
    owner.agents.put("planner", Visibility::Peers, "Knows the holidays");
    until("the change arrives", || async {
        named.listed().await.iter().any(|one| one.description == "Knows the holidays")
    })
    .await;
    // Comparisons of records, follow-ups and renewals happen meanwhile.
    // tidy: waits because the time is virtual
    tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    friend.lists(&["calc", "ledger", "planner"]).await;
    stranger.lists(&["calc"]).await;
    let sent = world.transport.open.sent();
    assert!(sent.len() > 50 && sent.iter().any(|(_, _, bytes)| contains(bytes, "Adds numbers")));
    for (from, to, bytes) in &sent {
        let says = |text: &str| contains(bytes, text);
        assert!(!says("diary") && !says("Confesses"), "{from} to {to}");
        assert!(!says("turnover") || (*from, *to) == (owner.id, friend.id), "{from} to {to}");
        let may_know = *from == owner.id && (*to == friend.id || *to == named.id);
        assert!(!says("planner") && !says("holidays") || may_know, "{from} to {to}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_is_taken_back_with_the_agent_the_right_or_the_site() {
    let world = World::new();
    let (owner, friend) = (world.site(1).await, world.site(2).await);
    owner.agents.put("ledger", Visibility::Peers, "Knows the turnover");
    owner.agents.put("planner", Visibility::Peers, "Knows the appointments");
    owner.add(&friend).await;
    friend.lists(&["ledger", "planner"]).await;
    owner.agents.remove("planner");
    friend.lists(&["ledger"]).await;
    owner.agents.put("ledger", Visibility::Public, "Knows the turnover");
    until("everybody may know it", || async {
        friend.listed().await.iter().all(|one| one.visibility == Visibility::Public)
    })
    .await;
    owner.agents.put("ledger", Visibility::Peers, "Knows the turnover");
    until("peers alone may know it", || async {
        let listed = friend.listed().await;
        listed.len() == 1 && listed[0].visibility == Visibility::Peers
    })
    .await;
    owner.agents.put("ledger", Visibility::Private, "Knows the turnover");
    friend.lists(&[]).await;
    owner.agents.put("ledger", Visibility::Peers, "Knows the turnover");
    friend.lists(&["ledger"]).await;
    world.transport.open.cut(owner.id, friend.id);
    // tidy: waits because the time is virtual
    tokio::time::sleep(agentsite_mesh::limits::LEASE_LIFETIME + agentsite_mesh::limits::CLOCK_SLACK).await;
    friend.lists(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn other_sites_do_not_see_what_was_shown_to_this_one() {
    let world = World::new();
    let (owner, friend) = (world.site(1).await, world.site(2).await);
    owner.agents.put("ledger", Visibility::Peers, "Knows the turnover");
    owner.add(&friend).await;
    friend.lists(&["ledger"]).await;
    let entry = friend.listed().await.remove(0);
    let third = Principal::peer("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK").unwrap();
    assert!(sees(&Caller::admin(), &entry));
    assert!(!sees(&Caller::peer(third, true, Vec::new()), &entry));
    assert!(!sees(&Caller::anonymous(std::net::Ipv4Addr::LOCALHOST.into()), &entry));
}

#[tokio::test(start_paused = true)]
async fn a_record_for_another_site_is_refused_and_its_sender_loses_points() {
    let world = World::new();
    let (here, mallory) = (world.site(1).await, Keys::new(2));
    let (overlay, _events) = world.transport.open.join(mallory.id);
    overlay.dial(&here.address()).await.unwrap();
    let work = agentsite_mesh::Work::at_least(&mallory.id, 16).nonce;
    let now = world.clock.now();
    let record = |to| {
        let draft = agentsite_mesh::Draft {
            subject: agentsite_mesh::Subject::Agent("calc".parse().unwrap()),
            body: agentsite_mesh::Body::Agent(agentsite_mesh::story::profile("calc", "Adds")),
            seq: 1,
            issued_at: now,
            lifetime: agentsite_mesh::limits::LEASE_LIFETIME,
            work,
            to: Some(to),
        };
        Arc::new(agentsite_mesh::Record::sign(&mallory.key, draft).unwrap())
    };
    let batch = |to| agentsite_mesh::Batch::of(&[record(to)]);
    let confide = |to| agentsite_mesh::Message::Confide { batch: batch(to), left: 0 };
    overlay.send(here.id, confide(Keys::new(3).id)).await.unwrap();
    overlay.send(here.id, agentsite_mesh::Message::Push(batch(here.id))).await.unwrap();
    overlay.send(here.id, confide(here.id)).await.unwrap();
    here.lists(&["calc"]).await;
    assert_eq!(here.listed().await[0].visibility, Visibility::Peers);
    for _ in 0..2 {
        overlay.send(here.id, agentsite_mesh::Message::Push(batch(here.id))).await.unwrap();
    }
    until("it is banned", || async {
        here.view().await.peers.iter().any(|peer| peer.banned_until.is_some())
    })
    .await;
    here.lists(&[]).await;
}
