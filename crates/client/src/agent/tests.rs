//! Where a program connects, and how long it waits before it does so again.
//!
//! The tests of the gateway cover the conversation itself.

use super::*;

#[test]
fn the_address_of_a_site_is_taken_in_every_form_that_people_write() {
    for (written, asked) in [
        ("http://127.0.0.1:4747", "http://127.0.0.1:4747/ws/agent"),
        ("http://127.0.0.1:4747/", "http://127.0.0.1:4747/ws/agent"),
        ("https://agents.example.org/below/", "https://agents.example.org/below/ws/agent"),
        ("wss://agents.example.org", "https://agents.example.org/ws/agent"),
        ("ws://localhost:1/ws/agent", "http://localhost:1/ws/agent"),
    ] {
        assert_eq!(address(&written.parse().unwrap()).unwrap().as_str(), asked, "{written}");
    }
}

#[test]
fn attempts_become_rarer_up_to_a_limit_and_are_spread() {
    assert_eq!(back_off(0, 0), Duration::from_secs(1));
    assert_eq!(back_off(3, 0), Duration::from_secs(8));
    assert_eq!(back_off(40, 0), BACK_OFF.1);
    for chance in 0..2_000 {
        let wait = back_off(2, chance);
        assert!(wait > Duration::from_secs(2) && wait <= Duration::from_secs(4), "{wait:?}");
    }
}

#[test]
fn only_what_stays_wrong_ends_the_attempts() {
    assert!(AgentError::Refused("the name is taken".into()).is_lasting());
    assert!(!AgentError::Closed("the site is stopping".into()).is_lasting());
    let away = EgressError::NoConnection { origin: "http://x".into(), reason: "refused".into() };
    assert!(!AgentError::from(away).is_lasting());
}
