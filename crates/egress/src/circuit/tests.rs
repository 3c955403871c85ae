//! What holds of a circuit in every history.
//!
//! Time and chance are numbers of the test; the property at the end plays any order of events.

use proptest::prelude::*;

use super::*;

const fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn opened(circuit: &mut Circuit, now: Duration) -> Duration {
    loop {
        if let Transition::Opened(rest) = circuit.failed(now, 1.0) {
            return rest;
        }
    }
}

#[test]
fn three_failures_in_a_row_open_it_and_an_answer_between_does_not() {
    let mut circuit = Circuit::default();
    assert_eq!(
        (circuit.failed(at(0), 1.0), circuit.failed(at(0), 1.0)),
        (Transition::None, Transition::None)
    );
    assert_eq!(circuit.answered(), Transition::None);
    assert_eq!(
        (circuit.failed(at(0), 1.0), circuit.failed(at(0), 1.0)),
        (Transition::None, Transition::None)
    );
    assert_eq!(circuit.failed(at(0), 1.0), Transition::Opened(FIRST_REST));
    assert_eq!(circuit.enter(at(400)), Err(at(600)));
    assert_eq!(circuit.resting(at(400)), Some(at(600)));
}

#[test]
fn after_the_rest_one_trial_decides() {
    let mut circuit = Circuit::default();
    opened(&mut circuit, at(0));
    assert_eq!(circuit.enter(at(1_000)), Ok(()));
    assert!(circuit.enter(at(1_001)).is_err(), "one at a time");
    assert_eq!(circuit.answered(), Transition::Closed);
    assert_eq!(circuit.enter(at(1_002)), Ok(()));
}

#[test]
fn failed_trials_make_the_rest_longer_up_to_a_minute() {
    let mut circuit = Circuit::default();
    let mut now = at(0);
    let mut rests = vec![opened(&mut circuit, now)];
    for _ in 0..8 {
        now += *rests.last().unwrap();
        circuit.enter(now).unwrap();
        rests.push(opened(&mut circuit, now));
    }
    let seconds: Vec<u64> = rests.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn a_trial_that_nobody_ended_does_not_close_the_door_for_ever() {
    let mut circuit = Circuit::default();
    opened(&mut circuit, at(0));
    circuit.enter(at(1_000)).unwrap();
    assert!(circuit.enter(at(1_000) + TRIAL_TIME - at(1)).is_err());
    assert_eq!(circuit.enter(at(1_000) + TRIAL_TIME), Ok(()));
    circuit.abandoned(at(32_000));
    assert_eq!(circuit.enter(at(32_000)), Ok(()));
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Enter,
    Answered,
    Failed(f64),
    Abandoned,
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Enter),
        Just(Event::Answered),
        (-1.0..2.0).prop_map(Event::Failed),
        Just(Event::Abandoned),
        (0_u64..100_000).prop_map(Event::Wait),
    ]
}

proptest! {
    #[test]
    fn it_never_rests_longer_than_allowed_and_always_lets_somebody_try(events in prop::collection::vec(event(), 0..200)) {
        let (mut circuit, mut now) = (Circuit::default(), at(0));
        for event in events {
            match event {
                Event::Wait(millis) => now += at(millis),
                Event::Enter => {
                    if let Err(rest) = circuit.enter(now) {
                        prop_assert!(rest <= LONGEST_REST && rest > Duration::ZERO);
                    }
                }
                Event::Answered => {
                    circuit.answered();
                    prop_assert_eq!(circuit, Circuit::default());
                }
                Event::Failed(chance) => {
                    if let Transition::Opened(rest) = circuit.failed(now, chance) {
                        prop_assert!(rest >= FIRST_REST / 2 && rest <= LONGEST_REST);
                        prop_assert!(circuit.enter(now).is_err());
                    }
                }
                Event::Abandoned => circuit.abandoned(now),
            }
        }
        prop_assert!(circuit.clone().enter(now + LONGEST_REST).is_ok());
    }
}
