//! Peers that do not follow the protocol.
//!
//! Honest nodes stay within their limits and ban what attacks them.

use agentsite_mesh::story::{Site, at};
use agentsite_mesh::{Batch, Limits, Message, Record, batches};
use agentsite_sim::NodeId;
use agentsite_sim::catalogue::{Command, MeshNode, Setting, World};
use std::sync::Arc;

use super::{minutes, nodes, seconds};

/// A world with some hostile nodes, each connected to every honest one.
fn attacked(setting: Setting) -> World {
    let mut world = World::new(setting);
    for hostile in nodes(setting.nodes..setting.nodes + setting.hostile) {
        nodes(0..setting.nodes).for_each(|node| world.simulation.connect(hostile, node));
    }
    for node in nodes(0..setting.nodes) {
        world.publish(node, "agent", "Does one thing");
    }
    world.simulation.run_for(minutes(2));
    world
}

fn push(records: &[Arc<Record>]) -> Vec<Vec<u8>> {
    batches(records.to_vec()).into_iter().map(|batch| Message::Push(batch).encode()).collect()
}

/// Whether every honest node finds the agents of all others, and nothing else.
fn is_sound(world: &World, honest: usize) -> bool {
    world.honest_nodes().all(|(_, node)| node.catalogue().listed().count() == honest - 1)
}

#[test]
fn forged_malformed_and_oversized_records_poison_nothing_and_end_in_bans() {
    let setting = Setting { hostile: 3, as_bytes: true, audits: true, ..Setting::of(31, 12) };
    let mut world = attacked(setting);
    assert!(is_sound(&world, 12));
    let (victim, mallory) = (world.site(NodeId(0)).clone(), Site::new(900));
    let genuine = victim.agent("agent", u64::MAX >> 12, at(60), "Hijacked");
    let mut forged = genuine.bytes().to_vec();
    forged[..64].copy_from_slice(&mallory.lease(1, at(0)).bytes()[..64]);
    let message = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).unwrap();
        let prefix = [0x80 | u8::try_from(length >> 7).unwrap(), u8::try_from(length & 0x7f).unwrap()];
        [&[1, 0, 1][..], &prefix, bytes].concat()
    };
    let attacks = [
        vec![message(&forged); 2],
        vec![message(&vec![b'x'; 6_000]); 5],
        vec![vec![0xff; 70_000], vec![1, 9], vec![], vec![1, 1, 0x61, 9], vec![2], vec![1, 0, 65]],
    ];
    for (place, messages) in attacks.into_iter().enumerate() {
        world.simulation.command(NodeId(12 + place), Command::Send(messages));
    }
    world.simulation.run_for(minutes(2));
    assert!(is_sound(&world, 12));
    assert_eq!(world.tally().bans, 3 * 12, "every node banned every one of them");
    assert!((world.share_that_finds(NodeId(0), "agent") - 1.0).abs() < f64::EPSILON);
    assert_eq!(world.honest(NodeId(0)).unwrap().tally().proofs, 0);
}

#[test]
fn replayed_and_expired_records_change_nothing() {
    let mut world = attacked(Setting { hostile: 1, as_bytes: true, audits: true, ..Setting::of(32, 12) });
    let owner = NodeId(4);
    let site = world.site(owner).clone();
    let key = agentsite_mesh::RecordKey::agent(site.id, "agent".parse().unwrap());
    let old = world.honest(NodeId(0)).unwrap().catalogue().get(&key).unwrap().clone();
    world.unpublish(owner, "agent");
    world.simulation.run_for(seconds(30));
    let ended = Site::new(901).agent("ghost", 1, at(-3 * 86_400), "Long gone");
    for _ in 0..5 {
        world.simulation.command(NodeId(12), Command::Send(push(&[old.clone(), ended.clone()])));
        world.simulation.run_for(seconds(30));
    }
    assert!(world.share_that_finds(owner, "agent") < f64::EPSILON);
    assert_eq!(world.tally().offences, 0, "a late message is no offence");
    assert!(world.time_to_agree(minutes(5)).is_some());
}

#[test]
fn a_site_that_signs_two_versions_is_found_out_by_everybody() {
    let mut world = attacked(Setting { hostile: 2, as_bytes: true, ..Setting::of(33, 20) });
    let liar = Site::new(902);
    for (place, words) in ["One thing", "Another thing"].into_iter().enumerate() {
        let records = [liar.lease(1, at(100)), liar.agent("two-faced", 7, at(100), words)];
        world.simulation.command(NodeId(20 + place), Command::Send(push(&records)));
    }
    world.simulation.run_for(minutes(3));
    assert!(world.honest_nodes().all(|(_, node)| node.catalogue().proofs().count() == 1));
    assert!(world.time_to_agree(minutes(3)).is_some(), "and everybody keeps the same one");
}

#[test]
fn a_flood_is_contained_and_honest_news_still_spread() {
    let limits = Limits { push_burst: 500, pushes_per_second: 20, ..Setting::of(0, 0).limits };
    let mut world = attacked(Setting { hostile: 1, limits, ..Setting::of(34, 6) });
    let mallory = Site::new(903);
    let records: Vec<Arc<Record>> =
        (0..64).map(|number| mallory.agent(&format!("spam-{number}"), 1, at(100), "Buy")).collect();
    let flood = vec![Message::Push(Batch::of(&records)).encode(); 100];
    for _ in 0..20 {
        world.simulation.command(NodeId(6), Command::Send(flood.clone()));
        world.simulation.run_for(seconds(1));
    }
    world.publish(NodeId(3), "calc", "Adds numbers");
    let came = world.time_to_find(NodeId(3), "calc", 0.99).unwrap();
    assert!(came < seconds(1), "{came:?}");
    assert_eq!(world.tally().bans, 6);
    let MeshNode::Hostile(hostile) = world.simulation.node(NodeId(6)) else { panic!("it is hostile") };
    assert_eq!(hostile.connections(), 0);
}

#[test]
fn a_thousand_sybils_from_four_addresses_do_not_push_honest_sites_out() {
    // Room for 400 records. Honest identities took more work than those made in bulk.
    let limits = Limits { records: 400, records_per_site: 20, ..Setting::of(0, 0).limits };
    let setting = Setting { hostile: 4, limits, work: 12, ..Setting::of(35, 8) };
    let mut world = attacked(setting);
    let sybils: Vec<Site> =
        (10_000..11_100).map(Site::new).filter(|site| site.work.bits < 12).take(1_000).collect();
    for (place, quarter) in sybils.chunks(250).enumerate() {
        for part in quarter.chunks(50) {
            let records: Vec<Arc<Record>> = part
                .iter()
                .flat_map(|site| [site.lease(1, at(120)), site.agent("spam", 2, at(120), "Buy cheap things")])
                .collect();
            world.simulation.command(NodeId(8 + place), Command::Send(push(&records)));
            world.simulation.run_for(seconds(2));
        }
    }
    world.simulation.run_for(seconds(30));
    let honest =
        |world: &World, name: &str| nodes(0..8).all(|node| world.share_that_finds(node, name) > 0.99);
    assert!(honest(&world, "agent"), "nobody was pushed out");
    assert!(world.honest_nodes().all(|(_, node)| node.catalogue().len() == 400), "full, and not fuller");
    for node in nodes(0..8) {
        world.publish(node, "later", "Came after the attack");
    }
    world.simulation.run_for(minutes(2));
    assert!(honest(&world, "later"), "and newcomers find room");
    world.audit();
}
