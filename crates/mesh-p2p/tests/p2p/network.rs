//! Networks of several real sites: gossip, look-ups, relays, private networks, start and stop.
//!
//! All sites are in this process and on the loopback interface.

use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::story::at;
use agentsite_mesh::{Candidate, Message, Overlay, OverlayError, OverlayEvent, RecordId, Verdict};
use agentsite_mesh_p2p::{NetworkKey, P2pOverlay, P2pSettings};
use futures::{AsyncReadExt as _, AsyncWriteExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::support::{PATIENCE, RealNode, Wire, eventually, settings, start};

/// A site that accepts all gossip and says which records came when.
fn accept_all(
    node: RealNode,
    heard: mpsc::Sender<(usize, RecordId, Instant)>,
    number: usize,
) -> Arc<P2pOverlay> {
    let RealNode { overlay, mut events, .. } = node;
    let judge = Arc::downgrade(&overlay);
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            if let OverlayEvent::Gossip { message: Message::Push(batch), ticket, .. } = event {
                let Some(overlay) = judge.upgrade() else { return };
                overlay.judge(ticket, Verdict::Accept).await;
                for id in batch.records.iter().map(Candidate::id) {
                    let _ = heard.send((number, id, Instant::now())).await;
                }
            }
        }
    });
    overlay
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_of_twenty_sites_publishes_reaches_all() {
    const SITES: usize = 20;
    let (sender, mut heard) = mpsc::channel(10_000);
    let seed = start(200, settings(Wire::Tcp)).await;
    let (publisher, address) = (seed.site.clone(), seed.address.clone());
    let mut overlays = vec![accept_all(seed, sender.clone(), 0)];
    for number in 1..SITES {
        let wire = if number % 2 == 0 { Wire::Tcp } else { Wire::Quic };
        let mut settings = settings(wire);
        settings.listen.push(Wire::Tcp.listen());
        settings.seeds = vec![address.clone()];
        let node = start(200 + number as u64, settings).await;
        overlays.push(accept_all(node, sender.clone(), number));
    }
    eventually("every site has neighbours", async || {
        let mut neighbours = Vec::new();
        for overlay in &overlays {
            neighbours.push(overlay.status().await.neighbours);
        }
        neighbours.iter().all(|count| *count >= 3)
    })
    .await;
    let before: u64 = total_received(&overlays).await;
    let (mut records, mut latencies) = (0, Vec::new());
    for round in 1..=10 {
        let record = publisher.lease(round, at(0));
        let begun = Instant::now();
        overlays[0].publish(record.clone(), None).await.unwrap();
        let mut missing: Vec<usize> = (1..SITES).collect();
        while !missing.is_empty() {
            let next = timeout(PATIENCE, heard.recv()).await;
            let Ok(Some((number, id, when))) = next else { panic!("not reached: {missing:?}") };
            if id == record.id() {
                missing.retain(|one| *one != number);
                latencies.push(when - begun);
            }
        }
        records += 1;
    }
    latencies.sort();
    let bytes = (total_received(&overlays).await - before) / (records * (SITES as u64 - 1));
    println!(
        "20 sites, 10 records: half of the sites after {:?}, all after {:?}; {bytes} bytes received per record and site",
        latencies[latencies.len() / 2],
        latencies.last().unwrap(),
    );
    for overlay in overlays {
        overlay.stop().await;
    }
}

async fn total_received(overlays: &[Arc<P2pOverlay>]) -> u64 {
    let mut total = 0;
    for overlay in overlays {
        total += overlay.status().await.bytes.0;
    }
    total
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_is_not_connected_is_found_by_the_dht() {
    let hub = start(230, settings(Wire::Tcp)).await;
    let with_seed = || P2pSettings { seeds: vec![hub.address.clone()], ..settings(Wire::Tcp) };
    let caller = start(231, with_seed()).await;
    let mut called = start(232, with_seed()).await;
    eventually("the hub knows the way", async || hub.overlay.status().await.routes == 2).await;
    caller.overlay.disconnect(called.id(), None).await;
    let mut near = timeout(PATIENCE, caller.overlay.open(called.id())).await.unwrap().unwrap();
    near.write_all(b"hello").await.unwrap();
    near.flush().await.unwrap();
    let read = async {
        loop {
            if let Some(OverlayEvent::Stream { peer, mut stream }) = called.events.next().await {
                let mut five = [0; 5];
                stream.read_exact(&mut five).await.unwrap();
                return (peer, five);
            }
        }
    };
    assert_eq!(timeout(PATIENCE, read).await.unwrap(), (caller.id(), *b"hello"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_carries_a_call_to_a_site_that_does_not_listen() {
    let relay = start(240, P2pSettings { relay_server: true, ..settings(Wire::Tcp) }).await;
    let seeds = vec![relay.address.clone()];
    // Another site confirms the address of the relay, which the relay hands out with its places.
    let caller = start(241, P2pSettings { seeds: seeds.clone(), ..settings(Wire::Tcp) }).await;
    let mut hidden = start(242, P2pSettings { seeds, listen: Vec::new(), ..settings(Wire::Tcp) }).await;
    eventually("the hidden site has an address", async || {
        hidden.overlay.addresses().await.iter().any(|address| address.contains("p2p-circuit"))
    })
    .await;
    let address =
        hidden.overlay.addresses().await.into_iter().find(|one| one.contains("p2p-circuit")).unwrap();
    caller.overlay.disconnect(hidden.id(), None).await;
    eventually("they are not connected", async || {
        !caller.overlay.peers().await.iter().any(|peer| peer.site == hidden.id())
    })
    .await;
    assert_eq!(caller.overlay.dial(&address).await.unwrap(), hidden.id());
    let status = caller.overlay.peers().await.into_iter().find(|peer| peer.site == hidden.id()).unwrap();
    assert!(status.is_relayed, "{status:?}");
    let mut near = timeout(PATIENCE, caller.overlay.open(hidden.id())).await.unwrap().unwrap();
    near.write_all(b"hello").await.unwrap();
    near.flush().await.unwrap();
    let came = async { while !matches!(hidden.events.next().await, Some(OverlayEvent::Stream { .. })) {} };
    timeout(PATIENCE, came).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sites_without_the_network_key_stay_out() {
    for wire in [Wire::Tcp, Wire::Quic] {
        let with =
            |key: Option<&str>| P2pSettings { network_key: key.map(NetworkKey::new), ..settings(wire) };
        let inside = start(250, with(Some("the right secret of this network"))).await;
        for (number, key) in [(251, None), (252, Some("a wrong secret of this network"))] {
            let outside = start(number, with(key)).await;
            let dialed = outside.overlay.dial(&inside.address).await;
            assert!(matches!(dialed, Err(OverlayError::Unreachable { .. })), "{wire:?} {dialed:?}");
            assert!(outside.overlay.peers().await.is_empty());
        }
        let other_name =
            P2pSettings { network: "other".into(), ..with(Some("the right secret of this network")) };
        let outside = start(253, other_name).await;
        assert!(outside.overlay.dial(&inside.address).await.is_err());
        assert!(inside.overlay.peers().await.is_empty());
        eventually("they were counted", async || inside.overlay.status().await.refused >= 3).await;
        let member = start(254, with(Some("the right secret of this network"))).await;
        assert_eq!(member.overlay.dial(&inside.address).await.unwrap(), inside.id());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_cannot_work_says_why() {
    let site = agentsite_mesh::story::Site::new(260);
    let attempt = async |settings: P2pSettings| {
        let started = P2pOverlay::start(settings, &site.key, super::support::clock()).await;
        started.map(drop).unwrap_err().to_string()
    };
    let short = P2pSettings { network_key: Some(NetworkKey::new("short")), ..settings(Wire::Tcp) };
    assert!(attempt(short).await.contains("fewer than 16"));
    let nowhere = P2pSettings { listen: vec!["nowhere".into()], ..settings(Wire::Tcp) };
    assert!(attempt(nowhere).await.contains("nowhere is not an address"));
    let seed = P2pSettings { seeds: vec!["/tcp/1".into()], ..settings(Wire::Tcp) };
    assert!(attempt(seed).await.contains("/tcp/1 is not an address"));
    let first = start(261, settings(Wire::Tcp)).await;
    let taken = first.address.split("/p2p/").next().unwrap().to_owned();
    let again = P2pSettings { listen: vec![taken.clone()], ..settings(Wire::Tcp) };
    let why = attempt(again).await;
    assert!(why.contains("cannot listen on") && why.contains(&taken), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_nobody_chose_gives_way_to_another() {
    for wire in [Wire::Tcp, Wire::Quic] {
        let first = start(262, settings(wire)).await;
        let taken = first.address.split("/p2p/").next().unwrap().to_owned();
        let usual = P2pSettings { listen: vec![taken.clone()], other_port_if_used: true, ..settings(wire) };
        let second = start(263, usual).await;
        assert!(!second.address.starts_with(&format!("{taken}/")), "{} and {taken}", second.address);
        assert_eq!(first.overlay.dial(&second.address).await.unwrap(), second.id());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invite_names_private_addresses_and_nobody_else_learns_them() {
    let closed = || P2pSettings { allow_private_addresses: false, ..settings(Wire::Tcp) };
    let (host, guest) = (start(264, closed()).await, start(265, closed()).await);
    assert!(host.overlay.addresses().await.is_empty(), "what is told to everybody");
    let invite = host.overlay.invite_addresses().await;
    assert!(!invite.is_empty() && invite.iter().all(|address| address.contains("127.0.0.1")), "{invite:?}");
    assert_eq!(guest.overlay.dial(&invite[0]).await.unwrap(), host.id(), "an admin handed it over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_behind() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for wire in [Wire::Tcp, Wire::Quic] {
        let one = start(270, settings(wire)).await;
        let other = start(271, settings(wire)).await;
        one.overlay.dial(&other.address).await.unwrap();
        let stream = timeout(PATIENCE, one.overlay.open(other.id())).await.unwrap().unwrap();
        one.overlay.send(other.id(), Message::Answer(vec![1])).await.unwrap();
        one.overlay.stop().await;
        drop((one, other, stream));
        eventually("all tasks have ended", async || tasks() <= before).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sites_learn_under_which_addresses_others_reach_them() {
    let one = start(280, settings(Wire::Tcp)).await;
    let mut other =
        start(281, P2pSettings { seeds: vec![one.address.clone()], ..settings(Wire::Quic) }).await;
    let told = async {
        loop {
            if let Some(OverlayEvent::Addresses(addresses)) = other.events.next().await {
                return addresses;
            }
        }
    };
    let addresses = timeout(PATIENCE, told).await.unwrap();
    assert!(addresses.iter().any(|address| address.contains("/quic-v1/p2p/12D3KooW")), "{addresses:?}");
    eventually("a peer measured the time", async || {
        other
            .overlay
            .peers()
            .await
            .first()
            .is_some_and(|peer| peer.latency.is_some_and(|time| time > Duration::ZERO))
    })
    .await;
    let peers = other.overlay.peers().await;
    assert!(peers[0].bytes.0 > 0 && peers[0].bytes.1 > 0, "{peers:?}");
}
