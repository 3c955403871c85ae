//! Properties of the division: whatever callers do, the promises of `shares` hold.
//!
//! Sequences are random; what is held is counted a second time, in the simplest way, and compared.

use std::collections::HashMap;

use agentsite_protocol::Scope;
use proptest::prelude::*;

use super::*;

const DIVISION: Division = Division { total: 20, reserve: 5, per_address: 4, per_owner: 8 };

fn address(last: u8) -> Holder {
    Holder::Address(IpAddr::from([192, 0, 2, last]).into())
}

fn owner(name: u8) -> Holder {
    Holder::Owner(format!("key:{name}").parse().unwrap())
}

fn holder() -> impl Strategy<Value = Holder> {
    prop_oneof![(0..8_u8).prop_map(address), (0..4_u8).prop_map(owner), Just(Holder::Operator)]
}

/// What a caller does: takes so much, or gives back one of its shares.
#[derive(Debug, Clone)]
enum Step {
    Take(Holder, usize),
    Drop(usize),
    Grow(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (holder(), 1..4_usize).prop_map(|(holder, wanted)| Step::Take(holder, wanted)),
        1 => (0..64_usize).prop_map(Step::Drop),
        1 => (0..64_usize, 1..6_usize).prop_map(|(which, wanted)| Step::Grow(which, wanted)),
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_callers_passes_a_limit(steps in prop::collection::vec(step(), 0..200)) {
        let shares = Shares::new(DIVISION);
        let mut held: Vec<Share> = Vec::new();
        for step in steps {
            match step {
                Step::Take(holder, wanted) => held.extend(shares.take(&holder, wanted)),
                Step::Drop(which) if !held.is_empty() => drop(held.swap_remove(which % held.len())),
                Step::Grow(which, wanted) if !held.is_empty() => {
                    let which = which % held.len();
                    let _ = held[which].grow_to(wanted);
                }
                _ => {}
            }
            let mut sums: HashMap<Holder, usize> = HashMap::new();
            held.iter().for_each(|share| *sums.entry(share.holder.clone()).or_default() += share.held);
            let all: usize = sums.values().sum();
            let public: usize =
                sums.iter().filter(|(holder, _)| matches!(holder, Holder::Address(_))).map(|(_, sum)| sum).sum();
            prop_assert_eq!(shares.in_use(), all, "what is counted is what is held");
            prop_assert!(all <= DIVISION.total && public <= DIVISION.total - DIVISION.reserve);
            for (holder, sum) in &sums {
                match holder {
                    Holder::Address(_) => prop_assert!(*sum <= DIVISION.per_address),
                    Holder::Owner(_) => prop_assert!(*sum <= DIVISION.per_owner),
                    Holder::Operator => {}
                }
            }
        }
        held.clear();
        prop_assert_eq!(shares.in_use(), 0);
        prop_assert!(shares.held.iter().all(|table| table.lock().unwrap().is_empty()), "nobody is remembered");
    }

    #[test]
    fn strangers_alone_never_keep_an_authenticated_caller_out(takes in prop::collection::vec(0..=255_u8, 0..300)) {
        let shares = Shares::new(DIVISION);
        let _held: Vec<Share> = takes.iter().filter_map(|last| shares.take(&address(*last), 1).ok()).collect();
        let reserve: Vec<Share> =
            (0..DIVISION.reserve).map(|_| shares.take(&owner(1), 1).expect("the reserve is there")).collect();
        prop_assert_eq!(reserve.len(), DIVISION.reserve);
    }
}

#[test]
fn the_refusal_says_whose_share_is_used_up() {
    let shares = Shares::new(DIVISION);
    let _four: Vec<Share> = (0..4).map(|_| shares.take(&address(1), 1).unwrap()).collect();
    assert_eq!(shares.take(&address(1), 1).unwrap_err(), Full::Own);
    let _rest: Vec<Share> = (2..13).map(|last| shares.take(&address(last), 1).unwrap()).collect();
    assert_eq!(shares.take(&address(99), 1).unwrap_err(), Full::All);
    let _owner: Vec<Share> = (0..5).map(|_| shares.take(&owner(1), 1).unwrap()).collect();
    assert_eq!(shares.take(&owner(2), 1).unwrap_err(), Full::All);
}

#[test]
fn threads_that_take_at_once_do_not_pass_the_limit() {
    let shares = Shares::new(Division { total: 50, reserve: 0, per_address: 50, per_owner: 50 });
    let held: usize = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..4_u8)
            .map(|number| {
                let shares = &shares;
                scope.spawn(move || {
                    (0..100).filter_map(|_| shares.take(&owner(number), 1).ok()).collect::<Vec<_>>()
                })
            })
            .collect();
        let all: Vec<Vec<Share>> = takers.into_iter().map(|taker| taker.join().unwrap()).collect();
        all.iter().map(Vec::len).sum()
    });
    assert!(held <= 50, "{held}");
    assert_eq!(shares.in_use(), 0);
}

#[test]
fn addresses_of_one_network_count_as_one() {
    let of = |text: &str| Neighbourhood::from(text.parse::<IpAddr>().unwrap());
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1:2:3"));
    assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
}

#[test]
fn callers_hold_by_address_by_key_or_as_operators() {
    let here: IpAddr = [192, 0, 2, 1].into();
    assert_eq!(Holder::of(&Caller::anonymous(here), here), address(1));
    assert_eq!(Holder::of(&Caller::admin(), here), Holder::Operator);
    let key = Caller::key(&"k".parse().unwrap(), [Scope::Call]);
    assert_eq!(Holder::of(&key, here), Holder::Owner(key.owner().clone()));
}
