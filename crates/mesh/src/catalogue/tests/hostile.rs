//! What becomes of everything else: refused, bounded, and counted against the peer that sent it.
//!
//! Whatever they send, invariants and limits hold.

use super::*;
use crate::limits::MAX_MESSAGE;
use crate::story::at;

fn connected() -> (Story, Site, Site) {
    let (mut story, mallory, alice) = (Story::new(1), Site::new(2), Site::new(3));
    story.connect(&mallory);
    (story, mallory, alice)
}

/// The record with the signature of another one.
fn forged(record: &Record, other: &Record) -> Candidate {
    let bytes = [&other.bytes()[..64], &record.bytes()[64..]].concat();
    Candidate::Raw(bytes.into())
}

fn push(story: &mut Story, peer: &Site, records: Vec<Candidate>) -> Vec<Effect> {
    let batch = Batch { records, oversized: 0 };
    story.apply(Input::Received { peer: peer.id, message: Message::Push(batch) })
}

#[test]
fn a_forged_record_is_refused_and_two_of_them_are_a_ban() {
    let (mut story, mallory, alice) = connected();
    let genuine = alice.agent("calc", 1, at(0), "Adds");
    let fake = || forged(&genuine, &mallory.lease(1, at(0)));
    let effects = push(&mut story, &mallory, vec![fake()]);
    assert_eq!(offences(&effects), [Offence::Forged]);
    assert!(story.catalogue.is_empty());
    let effects = push(&mut story, &mallory, vec![fake()]);
    assert!(is_disconnected(&effects));
    assert!(push(&mut story, &mallory, vec![candidate(&genuine)]).is_empty(), "a banned peer is not heard");
    assert!(is_disconnected(&story.connect(&mallory)), "nor when it comes again");
    story.pass(3_600);
    assert!(!is_disconnected(&story.connect(&mallory)), "an hour later it may try again");
}

#[test]
fn a_forged_copy_does_not_keep_out_the_genuine_record() {
    let (mut story, mallory, alice) = connected();
    let genuine = alice.agent("calc", 1, at(0), "Adds");
    push(&mut story, &mallory, vec![forged(&genuine, &mallory.lease(1, at(0)))]);
    story.connect(&alice);
    story.push(&alice, std::slice::from_ref(&genuine));
    assert!(story.holds(&genuine));
}

#[test]
fn records_of_other_times_are_refused_and_nobody_is_blamed() {
    let (mut story, mallory, alice) = connected();
    let hours = |hours: i64| at(hours * 3_600);
    let early = alice.lease(1, hours(3));
    let late = alice.lease(1, hours(-3));
    let effects = story.push(&mallory, &[early.clone(), late]);
    assert!(story.catalogue.is_empty() && offences(&effects).is_empty());
    story.pass(3 * 3_600 - 60);
    story.push(&mallory, &[early]);
    assert_eq!(story.catalogue.len(), 1, "its time has come, within the slack");
}

#[test]
fn an_identity_without_work_is_refused() {
    let (mut story, mallory) = (Story::with(1, Limits { work_bits: 12, ..limits() }), Site::with_work(2, 0));
    story.connect(&mallory);
    assert!(mallory.work.bits < 12);
    let effects = story.push(&mallory, &[mallory.lease(1, at(0))]);
    assert_eq!(offences(&effects), [Offence::TooLittleWork]);
}

#[test]
fn five_unreadable_messages_are_a_ban() {
    let (mut story, mallory, _) = connected();
    for count in 1..=5 {
        let effects = story.apply(Input::Unreadable { peer: mallory.id });
        assert_eq!(is_disconnected(&effects), count == 5);
    }
}

#[test]
fn an_offence_now_and_then_is_forgiven() {
    let (mut story, mallory, _) = connected();
    for _ in 0..50 {
        let effects = story.apply(Input::Unreadable { peer: mallory.id });
        assert!(!is_disconnected(&effects));
        story.pass(11 * 60);
    }
}

#[test]
fn one_site_has_at_most_its_share_whatever_it_signs() {
    let mut story = Story::with(1, Limits { records_per_site: 8, ..limits() });
    let mallory = Site::new(2);
    story.connect(&mallory);
    let name = |number: u64| format!("agent-{number:03}");
    for number in (0..100).rev() {
        story.push(&mallory, &[mallory.agent(&name(number), number + 1, at(0), "One more")]);
        assert!(story.catalogue.len() <= 8);
    }
    let kept: Vec<String> = story.catalogue.records().map(|record| record.key().to_string()).collect();
    assert!(
        kept[0].starts_with("agent-000@") && kept[7].starts_with("agent-007@"),
        "the first by name: {kept:?}"
    );
}

#[test]
fn identities_with_little_work_make_room_for_those_with_more() {
    let limits = Limits { records: 50, ..limits() };
    let mut story = Story::with(1, limits);
    let honest: Vec<Site> = (100..110).map(|number| Site::with_work(number, 12)).collect();
    let relay = Site::new(2);
    story.connect(&relay);
    let sybils: Vec<Site> = (1_000..1_200).map(Site::new).filter(|site| site.work.bits < 12).collect();
    for sybil in &sybils {
        story.push(&relay, &[sybil.lease(1, at(0)), sybil.agent("spam", 2, at(0), "Buy")]);
    }
    assert_eq!(story.catalogue.len(), 50, "full of them");
    for site in &honest {
        story.push(&relay, &[site.lease(1, at(0)), site.agent("calc", 2, at(0), "Adds")]);
    }
    for sybil in &sybils {
        story.push(&relay, &[sybil.agent("more", 3, at(0), "Buy")]);
    }
    assert!(honest.iter().all(|site| story.lists(site, "calc")));
    assert_eq!(story.catalogue.len(), 50);
}

#[test]
fn our_own_records_stay_however_full_it_is() {
    let mut story = Story::with(1, Limits { records: 5, ..limits() });
    story.apply(Input::Publish {
        name: "mine".parse().unwrap(),
        profile: crate::story::profile("mine", "Ours"),
    });
    let relay = Site::new(2);
    story.connect(&relay);
    for number in 100..120 {
        let site = Site::with_work(number, 8);
        story.push(&relay, &[site.lease(1, at(0))]);
    }
    let mine = RecordKey::agent(story.site.id, "mine".parse().unwrap());
    assert!(story.catalogue.get(&mine).is_some() && story.catalogue.len() == 5);
}

#[test]
fn a_flood_is_dropped_counted_and_ends_with_a_ban() {
    let mut story = Story::with(1, Limits { push_burst: 100, pushes_per_second: 1, ..limits() });
    let mallory = Site::new(2);
    story.connect(&mallory);
    let records: Vec<Arc<Record>> =
        (0..64).map(|number| mallory.agent(&format!("agent-{number}"), 1, at(0), "One more")).collect();
    let mut banned_after = None;
    for sent in 1..2_000 {
        let effects = push(&mut story, &mallory, records.iter().map(candidate).collect());
        if is_disconnected(&effects) {
            banned_after = Some(sent * 64);
            break;
        }
    }
    assert!((100_000..102_000).contains(&banned_after.unwrap()), "{banned_after:?}");
    assert_eq!(story.catalogue.len(), 64);
}

#[test]
fn a_site_that_changes_all_the_time_is_slowed_down_for_everybody() {
    let limits = Limits { change_burst: 10, changes_per_minute: 6, ..limits() };
    let (mut story, mallory) = (Story::with(1, limits), Site::new(2));
    story.connect(&mallory);
    let mut handed_on = 0;
    for seq in 1..=100 {
        handed_on += forwarded(&story.push(&mallory, &[mallory.agent("calc", seq, at(0), "Again")]));
    }
    assert_eq!(handed_on, 11, "the first one, and the burst");
    story.pass(60);
    handed_on = (101..=120)
        .map(|seq| forwarded(&story.push(&mallory, &[mallory.agent("calc", seq, at(0), "Again")])))
        .sum();
    assert_eq!(handed_on, 6);
}

#[test]
fn frames_that_make_no_sense_are_counted() {
    let (mut story, mallory, _) = connected();
    let query = Message::Query(vec![0x61, 9, 9, 9]);
    let effects = story.apply(Input::Received { peer: mallory.id, message: query });
    assert_eq!(offences(&effects), [Offence::Unreadable]);
    let answer = Message::Answer(vec![7]);
    let effects = story.apply(Input::Received { peer: mallory.id, message: answer });
    assert_eq!(offences(&effects), [Offence::Unreadable], "we asked when it came");
}

#[test]
fn the_answer_to_a_question_for_everything_fits_its_messages() {
    let (mut story, mallory, alice) = connected();
    let long = "long ".repeat(190);
    let records: Vec<Arc<Record>> =
        (0..60).map(|number| alice.agent(&format!("agent-{number}"), number + 1, at(0), &long)).collect();
    story.push(&mallory, &records);
    let ids = records.iter().map(|record| record.id()).collect();
    let effects = story.apply(Input::Received { peer: mallory.id, message: Message::Want(ids) });
    let sizes: Vec<usize> = effects
        .iter()
        .filter_map(|effect| {
            if let Effect::Send { message, .. } = effect { Some(message.encoded_len()) } else { None }
        })
        .collect();
    assert!(sizes.len() >= 2 && sizes.iter().all(|size| *size <= MAX_MESSAGE), "{sizes:?}");
}

#[test]
fn there_are_at_most_so_many_peers() {
    let mut story = Story::with(1, Limits { peers: 3, ..limits() });
    for number in 2..10 {
        let effects = story.connect(&Site::new(number));
        assert_eq!(is_disconnected(&effects), number > 4);
    }
    let own = story.site.clone();
    assert!(is_disconnected(&story.connect(&own)), "not with ourselves");
}

#[test]
fn a_record_that_was_shown_to_one_site_alone_is_not_passed_on() {
    let (mut story, mallory, alice) = connected();
    let draft = crate::Draft {
        subject: crate::Subject::Agent("team".parse().unwrap()),
        body: crate::Body::Agent(crate::story::profile("team", "For friends")),
        seq: 1,
        issued_at: at(0),
        lifetime: crate::limits::LEASE_LIFETIME,
        work: alice.work.nonce,
        to: Some(mallory.id),
    };
    let record = Arc::new(Record::sign(&alice.key, draft).unwrap());
    let effects = push(&mut story, &mallory, vec![candidate(&record)]);
    assert_eq!(offences(&effects), [Offence::Leaked]);
    assert!(story.catalogue.is_empty());
}
