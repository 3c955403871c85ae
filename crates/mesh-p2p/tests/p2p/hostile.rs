//! Peers that do not follow the protocol, built of libp2p's own parts.
//!
//! Each story also shows that the victim still serves an honest site.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentsite_mesh::overlay::contract::{Harness as _, PATIENCE};
use agentsite_mesh::story::{Site, at};
use agentsite_mesh::{Message, Overlay as _, OverlayEvent, Verdict, limits};
use futures::{AsyncReadExt as _, AsyncWriteExt as _, StreamExt as _};
use libp2p::gossipsub::{self, IdentTopic, MessageAuthenticity};
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};
use libp2p::{Multiaddr, StreamProtocol, Swarm, SwarmBuilder, noise, tcp, yamux};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::support::{Real, RealNode, Wire, eventually, settings, start};

const SYNC: StreamProtocol = StreamProtocol::new("/agentsite/sync/1");
const LINK: StreamProtocol = StreamProtocol::new("/agentsite/link/1");

#[derive(NetworkBehaviour)]
struct Attack {
    gossip: gossipsub::Behaviour,
    streams: libp2p_stream::Behaviour,
}

/// What the handshake of an open network proves, written down once more: it is part of the wire form.
fn prologue() -> Vec<u8> {
    let mut hash = Sha256::new_with_prefix("agentsite network v1");
    for part in ["agentsite", ""] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().to_vec()
}

/// A peer that does as it likes.
fn attacker(number: u64) -> (Site, Swarm<Attack>) {
    let site = Site::new(number);
    let seed = site.key.to_ed25519_seed().unwrap();
    let keypair = libp2p::identity::Keypair::ed25519_from_bytes(seed).unwrap();
    let security = |keypair: &libp2p::identity::Keypair| {
        noise::Config::new(keypair).map(|config| config.with_prologue(prologue()))
    };
    let swarm = SwarmBuilder::with_existing_identity(keypair)
        .with_tokio()
        .with_tcp(tcp::Config::default(), security, yamux::Config::default)
        .unwrap()
        .with_behaviour(|keypair| {
            let config = gossipsub::ConfigBuilder::default()
                .heartbeat_initial_delay(Duration::from_millis(100))
                .heartbeat_interval(Duration::from_millis(300))
                .build()
                .unwrap();
            let authenticity = MessageAuthenticity::Signed(keypair.clone());
            Attack {
                gossip: gossipsub::Behaviour::new(authenticity, config).unwrap(),
                streams: libp2p_stream::Behaviour::new(),
            }
        })
        .unwrap()
        .with_swarm_config(|config| config.with_idle_connection_timeout(Duration::from_secs(60)))
        .build();
    (site, swarm)
}

/// Connects an attacker with a victim.
async fn attack(victim: &RealNode, number: u64) -> (Site, Swarm<Attack>) {
    let (site, mut swarm) = attacker(number);
    swarm.dial(victim.address.parse::<Multiaddr>().unwrap()).unwrap();
    let connected = async {
        while !matches!(swarm.select_next_some().await, SwarmEvent::ConnectionEstablished { .. }) {}
    };
    timeout(PATIENCE, connected).await.unwrap();
    (site, swarm)
}

/// Waits for an event, driving the attacker meanwhile.
async fn until<T>(
    victim: &mut RealNode,
    swarm: &mut Swarm<Attack>,
    mut wanted: impl FnMut(OverlayEvent) -> Option<T>,
) -> T {
    let found = async {
        loop {
            tokio::select! {
                event = victim.events.next() => {
                    if let Some(value) = wanted(event.expect("the victim lives")) {
                        return value;
                    }
                }
                _ = swarm.select_next_some() => {}
            }
        }
    };
    timeout(PATIENCE, found).await.expect("it happens in time")
}

/// That the victim still serves others.
async fn still_works(victim: &mut RealNode, number: u64) {
    let honest = start(number, settings(Wire::Tcp)).await;
    assert_eq!(honest.overlay.dial(&victim.address).await.unwrap(), victim.id());
    honest.overlay.send(victim.id(), Message::Answer(vec![7])).await.unwrap();
    let came = async {
        loop {
            let event = victim.events.next().await.expect("the victim lives");
            if matches!(&event, OverlayEvent::Received { peer, .. } if *peer == honest.id()) {
                return;
            }
        }
    };
    timeout(PATIENCE, came).await.expect("a message of an honest site arrives");
    honest.overlay.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_and_oversized_frames_are_told_and_harm_nobody() {
    let mut victim = start(300, settings(Wire::Tcp)).await;
    let (site, mut swarm) = attack(&victim, 301).await;
    let peer = swarm.connected_peers().next().copied().unwrap();
    let mut control = swarm.behaviour().streams.new_control();
    let writer = tokio::spawn(async move {
        let mut stream = control.open_stream(peer, SYNC).await.unwrap();
        for _ in 0..3 {
            stream.write_all(&[0, 0, 0, 4, 9, 9, 9, 9]).await.unwrap();
        }
        let too_long = u32::try_from(limits::MAX_MESSAGE + 1).unwrap();
        stream.write_all(&too_long.to_be_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        // The victim gives the stream up.
        let mut byte = [0];
        matches!(stream.read(&mut byte).await, Ok(0) | Err(_))
    });
    for _ in 0..4 {
        let by = until(&mut victim, &mut swarm, |event| match event {
            OverlayEvent::Unreadable { peer } => Some(peer),
            OverlayEvent::Received { .. } => panic!("garbage is no message"),
            _ => None,
        })
        .await;
        assert_eq!(by, site.id);
    }
    let ended = async {
        tokio::select! {
            ended = writer => ended.unwrap(),
            () = async { loop { swarm.select_next_some().await; } } => unreachable!(),
        }
    };
    assert!(timeout(PATIENCE, ended).await.unwrap());
    still_works(&mut victim, 302).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_topics_are_not_kept() {
    let mut victim = start(310, settings(Wire::Tcp)).await;
    let (_, mut swarm) = attack(&victim, 311).await;
    for number in 0..20_000 {
        swarm.behaviour_mut().gossip.subscribe(&IdentTopic::new(format!("topic {number}"))).unwrap();
        if number % 100 == 0 {
            let _ = timeout(Duration::from_millis(5), swarm.select_next_some()).await;
        }
    }
    swarm.behaviour_mut().gossip.subscribe(&IdentTopic::new("/agentsite/records/1/agentsite")).unwrap();
    let drive = async {
        loop {
            swarm.select_next_some().await;
        }
    };
    tokio::select! {
        () = drive => {}
        () = eventually("the one topic is known, or the attacker was cut off", async || {
            let status = victim.overlay.status().await;
            status.topics == 1 || status.peers == 0
        }) => {}
    }
    assert!(victim.overlay.status().await.topics <= 1);
    still_works(&mut victim, 312).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_gossips_rubbish_loses_score_and_is_not_listened_to() {
    let mut victim = start(320, settings(Wire::Tcp)).await;
    let (site, mut swarm) = attack(&victim, 321).await;
    let topic = IdentTopic::new("/agentsite/records/1/agentsite");
    swarm.behaviour_mut().gossip.subscribe(&topic).unwrap();
    let (mut number, mut heard) = (0_u32, 0);
    let mut pulse = tokio::time::interval(Duration::from_millis(50));
    let score = async {
        loop {
            tokio::select! {
                event = victim.events.next() => {
                    heard += usize::from(matches!(event, Some(OverlayEvent::Unreadable { .. })));
                }
                _ = swarm.select_next_some() => {}
                _ = pulse.tick() => {
                    number += 1;
                    let _ = swarm.behaviour_mut().gossip.publish(topic.clone(), number.to_be_bytes().to_vec());
                    let peers = victim.overlay.peers().await;
                    let score = peers.iter().find(|peer| peer.site == site.id).map(|peer| peer.score);
                    if score.is_some_and(|score| score < -40.0) {
                        return score;
                    }
                }
            }
        }
    };
    let score = timeout(PATIENCE, score).await.expect("the score falls");
    assert!(heard <= 5, "two rejected messages are enough, not {heard}: {score:?}");
    still_works(&mut victim, 322).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_floods_gossip_is_banned_for_a_while() {
    let mut victim = start(330, settings(Wire::Tcp)).await;
    let (site, mut swarm) = attack(&victim, 331).await;
    let topic = IdentTopic::new("/agentsite/records/1/agentsite");
    swarm.behaviour_mut().gossip.subscribe(&topic).unwrap();
    let mut number = 0;
    let mut pulse = tokio::time::interval(Duration::from_millis(20));
    let banned = async {
        loop {
            tokio::select! {
                event = victim.events.next() => match event.expect("the victim lives") {
                    OverlayEvent::Gossip { ticket, .. } => victim.overlay.judge(ticket, Verdict::Accept).await,
                    OverlayEvent::Gone { peer } if peer == site.id => return,
                    _ => {}
                },
                event = swarm.select_next_some() => {
                    if matches!(event, SwarmEvent::ConnectionClosed { .. }) {
                        swarm.dial(victim.address.parse::<Multiaddr>().unwrap()).unwrap();
                    }
                }
                _ = pulse.tick() => {
                    for _ in 0..50 {
                        number += 1;
                        let batch = agentsite_mesh::Batch::of(&[site.lease(number, at(0))]);
                        let bytes = Message::Push(batch).encode();
                        let _ = swarm.behaviour_mut().gossip.publish(topic.clone(), bytes);
                    }
                }
            }
        }
    };
    timeout(PATIENCE, banned).await.expect("the flood ends");
    assert_eq!(victim.overlay.status().await.bans, 1);
    // It dials again and again, and is refused.
    let refused = victim.overlay.status().await.refused;
    let drive = async {
        loop {
            if let SwarmEvent::ConnectionClosed { .. } = swarm.select_next_some().await {
                let _ = swarm.dial(victim.address.parse::<Multiaddr>().unwrap());
            }
        }
    };
    tokio::select! {
        () = drive => {}
        () = eventually("it is refused", async || victim.overlay.status().await.refused > refused) => {}
    }
    assert!(victim.overlay.peers().await.is_empty());
    still_works(&mut victim, 332).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_peer_holds_a_limited_number_of_streams() {
    let mut limited = settings(Wire::Tcp);
    limited.limits.streams_per_site = 4;
    let mut victim = start(340, limited).await;
    let (_, mut swarm) = attack(&victim, 341).await;
    let peer = swarm.connected_peers().next().copied().unwrap();
    let mut control = swarm.behaviour().streams.new_control();
    let opener = tokio::spawn(async move {
        let mut streams = Vec::new();
        for _ in 0..20 {
            let mut stream = control.open_stream(peer, LINK).await.unwrap();
            let _ = stream.write_all(b"x").await;
            let _ = stream.flush().await;
            streams.push(stream);
        }
        streams
    });
    let mut held = Vec::new();
    let work = async {
        loop {
            tokio::select! {
                event = victim.events.next() => {
                    if let Some(OverlayEvent::Stream { stream, .. }) = event {
                        held.push(stream);
                    }
                }
                _ = swarm.select_next_some() => {}
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = eventually("the rest is refused", async || {
            victim_refused(&victim.overlay).await == 16
        }) => {}
    }
    assert_eq!(held.len(), 4);
    drop(opener);
}

async fn victim_refused(overlay: &Arc<agentsite_mesh_p2p::P2pOverlay>) -> u64 {
    overlay.status().await.refused_streams
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_banned_site_is_refused_from_every_address() {
    let victim = start(350, settings(Wire::Tcp)).await;
    for wire in [Wire::Tcp, Wire::Quic] {
        let banned = start(351, settings(wire)).await;
        victim.overlay.disconnect(banned.id(), Some(at(1_000_000))).await;
        let _ = banned.overlay.dial(&victim.address).await;
        let refused = victim.overlay.dial(&banned.address).await;
        assert!(matches!(refused, Err(agentsite_mesh::OverlayError::Banned(_))), "{refused:?}");
        assert!(victim.overlay.peers().await.is_empty());
        banned.overlay.stop().await;
    }
    assert!(victim.overlay.status().await.refused >= 1);
}

/// A proxy that lets everything vanish once `hole` is set, and closes nothing.
async fn proxy(to: String, hole: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = tokio::task::JoinSet::new();
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&to).await.unwrap();
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            for (mut from, mut into) in [(near_in, far_out), (far_in, near_out)] {
                let hole = hole.clone();
                open.spawn(async move {
                    let mut buffer = vec![0; 16 << 10];
                    while let Ok(count @ 1..) = from.read(&mut buffer).await {
                        if !hole.load(Ordering::Relaxed) && into.write_all(&buffer[..count]).await.is_err() {
                            break;
                        }
                    }
                    std::future::pending::<()>().await;
                });
            }
        }
    });
    format!("/ip4/127.0.0.1/tcp/{}", address.port())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_vanishes_without_a_word_is_noticed() {
    let mut quick = settings(Wire::Tcp);
    quick.limits.ping_seconds = 1;
    let far = start(360, quick.clone()).await;
    let port = far.address.split('/').nth(4).unwrap().to_owned();
    let hole = Arc::new(AtomicBool::new(false));
    let proxied = proxy(format!("127.0.0.1:{port}"), hole.clone()).await;
    let harness = Real(Wire::Tcp);
    let mut near = start(361, quick).await.into_node();
    assert_eq!(near.overlay.dial(&proxied).await.unwrap(), far.id());
    near.until_connected(&harness, far.id()).await;
    // Only the connection through the proxy: not one that the other side opens.
    far.overlay.disconnect(near.id(), None).await;
    near.until_gone(&harness, far.id()).await;
    near.overlay.dial(&proxied).await.unwrap();
    near.until_connected(&harness, far.id()).await;
    hole.store(true, Ordering::Relaxed);
    near.overlay.send(far.id(), Message::Answer(vec![1])).await.unwrap();
    near.until_gone(&harness, far.id()).await;
    harness.sleep(Duration::ZERO).await;
}
