//! Properties of admission: whatever is opened, proven and closed, the promises of `connections` hold.
//!
//! Sequences are random; what is open is counted a second time, in the simplest way, and compared.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const DIVISION: Division = Division { total: 24, reserve: 8, per_address: 6, per_owner: 5 };

fn source(last: u8) -> ConnectionSource {
    ConnectionSource::Direct(std::net::IpAddr::from([192, 0, 2, last]).into())
}

fn proxy() -> ConnectionSource {
    ConnectionSource::Proxy(std::net::IpAddr::from([10, 0, 0, 1]).into())
}

fn owner(number: u8) -> Principal {
    format!("key:{number}").parse().unwrap()
}

/// A connection in a test: what it does is part of its handle.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Handle {
    id: ConnectionId,
    working: bool,
    since: u64,
}

fn standing(handle: &Handle) -> ConnectionActivity {
    ConnectionActivity { working: handle.working, since: Duration::from_secs(handle.since) }
}

fn waiting(id: ConnectionId, since: u64) -> Handle {
    Handle { id, working: false, since }
}

#[derive(Debug, Clone)]
enum Step {
    Open { source: ConnectionSource, working: bool, since: u64 },
    Prove { which: usize, owner: Option<u8> },
    Close { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let from = prop_oneof![6 => (0..9_u8).prop_map(source), 1 => Just(proxy())];
    prop_oneof![
        5 => (from, prop::bool::weighted(0.2), 0..50_u64)
            .prop_map(|(source, working, since)| Step::Open { source, working, since }),
        2 => (0..64_usize, prop::option::of(0..3_u8)).prop_map(|(which, owner)| Step::Prove { which, owner }),
        1 => (0..64_usize).prop_map(|which| Step::Close { which }),
    ]
}

proptest! {
    #[test]
    fn no_sequence_passes_a_limit_and_no_proven_connection_is_ended(steps in prop::collection::vec(step(), 0..300)) {
        let mut table = Connections::new(DIVISION);
        // What is open, with its source and whether it is proven.
        let mut open: HashMap<ConnectionId, (ConnectionSource, bool)> = HashMap::new();
        for (number, step) in steps.into_iter().enumerate() {
            let id = number as ConnectionId;
            let mut ids: Vec<ConnectionId> = open.keys().copied().collect();
            ids.sort_unstable();
            match step {
                Step::Open { source, working, since } => {
                    match table.admit(id, source, Handle { id, working, since }, standing) {
                        Admission::Open => drop(open.insert(id, (source, false))),
                        Admission::Instead(ended) => {
                            let (_, proven) = open.remove(&ended.id).expect("only what is open is ended");
                            prop_assert!(!proven && !ended.working);
                            open.insert(id, (source, false));
                        }
                        Admission::Refused => {}
                    }
                }
                Step::Prove { which, owner: number } if !ids.is_empty() => {
                    let id = ids[which % ids.len()];
                    if table.prove(id, number.map(owner).as_ref()) {
                        open.get_mut(&id).unwrap().1 = true;
                    }
                }
                Step::Close { which } if !ids.is_empty() => {
                    let id = ids[which % ids.len()];
                    open.remove(&id);
                    prop_assert!(table.close(id).is_some());
                }
                _ => {}
            }
            prop_assert_eq!(table.open.len(), open.len());
            prop_assert!(open.len() <= DIVISION.total);
            let mut by_source: HashMap<ConnectionSource, usize> = HashMap::new();
            for (source, _) in open.values().filter(|(_, proven)| !proven) {
                *by_source.entry(*source).or_default() += 1;
            }
            for (source, count) in &by_source {
                prop_assert!(*count <= table.limit(*source));
                prop_assert_eq!(*count, table.count(*source));
            }
            prop_assert!(table.direct <= DIVISION.public());
            prop_assert!(table.owners.values().all(|held| *held <= DIVISION.per_owner));
        }
    }

    #[test]
    fn a_flood_of_waiting_connections_never_keeps_anybody_out(addresses in prop::collection::vec(0..=200_u8, 0..300)) {
        let mut table = Connections::new(DIVISION);
        for (id, last) in addresses.iter().enumerate() {
            let _ = table.admit(id as ConnectionId, source(*last), waiting(id as ConnectionId, id as u64), standing);
        }
        let honest = 10_000;
        prop_assert_ne!(table.admit(honest, source(250), waiting(honest, 0), standing), Admission::Refused);
        prop_assert!(table.prove(honest, Some(&owner(1))));
    }
}

#[test]
fn an_address_that_has_used_its_share_loses_its_own_slowest_connection() {
    let mut table = Connections::new(DIVISION);
    assert_eq!(table.admit(100, source(2), waiting(100, 99), standing), Admission::Open);
    for id in 0..6 {
        assert_eq!(table.admit(id, source(1), waiting(id, 10 - id), standing), Admission::Open);
    }
    assert_eq!(table.admit(7, source(1), waiting(7, 0), standing), Admission::Instead(waiting(0, 10)));
    assert_eq!(table.admit(8, source(1), waiting(8, 0), standing), Admission::Instead(waiting(1, 9)));
    assert_eq!(table.count(source(2)), 1);
}

#[test]
fn a_full_site_ends_one_of_the_address_that_has_most() {
    let mut table = Connections::new(DIVISION);
    let mut id = 0;
    for (last, count) in [(1, 6), (2, 5), (3, 5)] {
        for _ in 0..count {
            id += 1;
            assert_eq!(table.admit(id, source(last), waiting(id, id), standing), Admission::Open);
        }
    }
    assert_eq!(table.admit(99, source(4), waiting(99, 0), standing), Admission::Instead(waiting(6, 6)));
    assert_eq!(table.count(source(1)), 5);
}

#[test]
fn authenticated_callers_get_in_when_the_public_part_is_full_of_work() {
    let mut table = Connections::new(DIVISION);
    let busy = |id| Handle { id, working: true, since: 1 };
    for id in 0..16_u8 {
        let id = ConnectionId::from(id);
        assert_eq!(table.admit(id, source(id as u8), busy(id), standing), Admission::Open);
    }
    assert_eq!(
        table.admit(50, source(50), waiting(50, 0), standing),
        Admission::Refused,
        "all of it is at work"
    );
    table.close(3);
    for id in 60..65 {
        assert_eq!(table.admit(id, source(60), waiting(id, 0), standing), Admission::Open);
        assert!(table.prove(id, Some(&owner(1))), "it leaves the public part");
    }
    assert_eq!(table.admit(70, source(60), waiting(70, 0), standing), Admission::Open);
    assert!(!table.prove(70, Some(&owner(1))), "one owner has a share, too");
}

#[test]
fn a_proxy_has_a_larger_share_and_is_not_ended_for_others() {
    let mut table = Connections::new(DIVISION);
    for id in 0..8 {
        assert_eq!(table.admit(id, proxy(), waiting(id, 50), standing), Admission::Open);
    }
    assert_eq!(table.admit(8, proxy(), waiting(8, 0), standing), Admission::Instead(waiting(0, 50)));
    for id in 100..300 {
        let from = source((id % 40) as u8);
        if let Admission::Instead(ended) = table.admit(id, from, waiting(id, 1), standing) {
            assert!(ended.id >= 100, "{ended:?}");
        }
    }
    assert_eq!(table.count(proxy()), 8);
}
