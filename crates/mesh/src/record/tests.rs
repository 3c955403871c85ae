//! Records: what may be said, who may say it, and how it is written.
//!
//! The exact bytes are in `tests/golden/records.txt`.

use agentsite_protocol::{Algorithm, SIGNATURE_BYTES, SigningKey, Visibility};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::golden;
use crate::story::{Site, at, card, profile, vectors};
use crate::vectors::{AgentVectors, BadVector, PROTOCOL_MODEL, VectorCodes};

fn written(record: &Record) -> String {
    let (signature, payload) = record.bytes().split_at(SIGNATURE_BYTES);
    let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}\n{signature}\n", std::str::from_utf8(payload).unwrap())
}

fn one_of_each() -> Vec<Arc<Record>> {
    let site = Site::new(1);
    let about = SiteProfile {
        title: "Example".into(),
        url: Some("https://agents.example.org".into()),
        addresses: vec!["/ip4/192.0.2.1/tcp/4748".into()],
    };
    vec![
        site.lease(7, at(0)),
        site.sign(Subject::Site, Body::Site(about), 8, at(0)),
        site.agent("calc", 9, at(0), "Adds numbers"),
        site.tombstone("calc", 10, at(5)),
        with_vectors(&site),
        split(&site),
        confided(&site),
    ]
}

/// A record for one other site.
fn confided(site: &Site) -> Arc<Record> {
    let draft = Draft {
        subject: Subject::Agent("team".parse().unwrap()),
        body: Body::Agent(profile("team", "For friends")),
        seq: 13,
        issued_at: at(0),
        lifetime: crate::limits::LEASE_LIFETIME,
        work: site.work.nonce,
        to: Some(Site::new(2).id),
    };
    Arc::new(Record::sign(&site.key, draft).unwrap())
}

#[test]
fn a_record_for_one_site_names_it_and_ends_like_a_lease() {
    let site = Site::new(1);
    let record = confided(&site);
    assert_eq!(record.to(), Some(Site::new(2).id));
    assert_eq!(site.lease(1, at(0)).to(), None);
    let late = json!(record.issued_at().plus(crate::limits::MAX_LIFETIME));
    assert!(matches!(
        altered(&record, &site, |payload| payload["expiresAt"] = late),
        Err(BadRecord::Form(_))
    ));
    let nobody = altered(&record, &site, |payload| payload["to"] = json!("nobody"));
    assert!(matches!(nobody, Err(BadRecord::Form(_))));
    let private = AgentProfile::for_peer(&card("diary", "Secret"), Visibility::Private, None);
    assert_eq!(private.unwrap_err(), BadProfile::NotPublic(Visibility::Private));
}

fn with_vectors(site: &Site) -> Arc<Record> {
    let profile = profile("calc", "Adds numbers").with_vectors(vectors(1)).unwrap();
    site.sign(Subject::Agent("calc".parse().unwrap()), Body::Agent(profile), 11, at(0))
}

fn split(site: &Site) -> Arc<Record> {
    let centroids: Vec<VectorCodes> = vectors(2).iter().cloned().collect();
    let split = SplitProfile::new(PROTOCOL_MODEL, centroids.try_into().unwrap()).unwrap();
    site.sign(Subject::Split("r01".parse().unwrap()), Body::Split(split), 12, at(0))
}

/// The payload of a record, changed, and signed again by its site.
fn altered(record: &Record, site: &Site, change: impl FnOnce(&mut Value)) -> Result<Claim, BadRecord> {
    let mut payload: Value = serde_json::from_slice(&record.bytes()[SIGNATURE_BYTES..]).unwrap();
    change(&mut payload);
    let payload = agentsite_protocol::canonical_json(&payload).unwrap();
    let signature = site.key.sign_statement(DOMAIN, &payload);
    Claim::decode(&[&signature[..], &payload].concat())
}

#[test]
fn the_wire_form_of_every_kind_is_the_committed_one() {
    let text: String = one_of_each().iter().map(|record| written(record)).collect();
    golden::check("records.txt", &text);
}

#[test]
fn every_kind_is_read_as_it_was_signed() {
    for record in one_of_each() {
        let read = Claim::decode(record.bytes()).unwrap().verify().unwrap();
        assert_eq!(read, *record);
        assert_eq!(read.body(), record.body());
        assert_eq!(read.is_removed(), record.body() == Body::Removed);
    }
}

#[test]
fn a_record_of_another_site_cannot_be_signed_with_our_key() {
    let (alice, mallory) = (Site::new(1), Site::new(2));
    let record = alice.agent("calc", 1, at(0), "Adds numbers");
    let forged = altered(&record, &mallory, |_| {}).unwrap();
    assert_eq!(forged.site(), alice.id);
    assert_eq!(forged.verify().unwrap_err(), BadRecord::Signature);
}

#[test]
fn a_signature_for_something_else_is_none_of_a_record() {
    let site = Site::new(1);
    let record = site.lease(1, at(0));
    let payload = &record.bytes()[SIGNATURE_BYTES..];
    let other = site.key.sign_statement("agentsite receipt v1", payload);
    let claim = Claim::decode(&[&other[..], payload].concat()).unwrap();
    assert_eq!(claim.verify().unwrap_err(), BadRecord::Signature);
}

#[test]
fn only_the_canonical_form_is_read() {
    let record = Site::new(1).lease(1, at(0));
    let spaced = String::from_utf8(record.bytes()[SIGNATURE_BYTES..].to_vec()).unwrap().replace(':', ": ");
    let bytes = [&record.bytes()[..SIGNATURE_BYTES], spaced.as_bytes()].concat();
    assert_eq!(Claim::decode(&bytes).unwrap_err(), BadRecord::NotCanonical);
}

#[test]
fn members_of_later_versions_are_kept_and_passed_on() {
    let site = Site::new(1);
    let record = site.agent("calc", 1, at(0), "Adds numbers");
    let newer = altered(&record, &site, |payload| payload["agent"]["prices"] = json!(["1"])).unwrap();
    let newer = newer.verify().unwrap();
    assert!(std::str::from_utf8(&newer.bytes()[SIGNATURE_BYTES..]).unwrap().contains("prices"));
    assert_eq!(newer.body(), record.body());
    assert_ne!(newer.id(), record.id());
}

#[test]
fn rules_of_the_form_are_kept() {
    let site = Site::new(1);
    let agent = site.agent("calc", 1, at(0), "Adds numbers");
    let lease = site.lease(1, at(0));
    type Change = fn(&mut Value);
    let changes: [(&Record, Change); 15] = [
        (&lease, |p| p["issuedAt"] = json!("2023-11-14T23:13:20.000+01:00")),
        (&agent, |p| p["v"] = json!(2)),
        (&agent, |p| p["kind"] = json!("room")),
        (&agent, |p| p["kind"] = json!("lease")),
        (&agent, |p| p["seq"] = json!(0)),
        (&agent, |p| p["seq"] = json!(-1)),
        (&agent, |p| p["name"] = json!("No Name")),
        (&agent, |p| p["site"] = json!("did:web:example.org")),
        (&agent, |p| p["expiresAt"] = p["issuedAt"].clone()),
        (&agent, |p| p["expiresAt"] = json!("2024-11-14T22:13:20.000Z")),
        (&agent, |p| p["agent"] = Value::Null),
        (&agent, |p| p["removed"] = json!(true)),
        (&agent, |p| p["agent"]["description"] = json!("x".repeat(1_001))),
        (&agent, |p| p["agent"]["url"] = json!("https://user:secret@example.org")),
        (&lease, |p| p["expiresAt"] = json!("2023-11-14T22:33:20.001Z")),
    ];
    for (number, (record, change)) in changes.into_iter().enumerate() {
        assert!(altered(record, &site, change).is_err(), "change {number}");
    }
    assert!(altered(&lease, &site, |p| p["expiresAt"] = json!("2023-11-14T22:33:20.000Z")).is_ok());
}

#[test]
fn sizes_and_nesting_are_bounded() {
    let site = Site::new(1);
    let lease = site.lease(1, at(0));
    let stuffed = |length: usize| altered(&lease, &site, |p| p["later"] = json!("x".repeat(length)));
    assert!(stuffed(200).is_ok());
    assert!(matches!(stuffed(600).unwrap_err(), BadRecord::Size(_)), "a lease is small");
    assert!(matches!(stuffed(9_000).unwrap_err(), BadRecord::Size(_)));
    let deep = (0..12).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(altered(&lease, &site, |p| p["later"] = deep).unwrap_err(), BadRecord::Json(_)));
    let agent = site.agent("calc", 1, at(0), "Adds numbers");
    let wide: Vec<u8> = vec![0; 1_500];
    assert!(matches!(altered(&agent, &site, |p| p["later"] = json!(wide)).unwrap_err(), BadRecord::Json(_)));
    for bytes in [&[][..], &[0; 64], &[0; 65]] {
        assert!(Claim::decode(bytes).is_err());
    }
}

#[test]
fn a_p256_key_signs_no_records() {
    let key = SigningKey::from_seed(Algorithm::Es256, &[7; 32]).unwrap();
    let draft = Draft {
        subject: Subject::Lease,
        body: Body::Lease,
        seq: 1,
        issued_at: at(0),
        lifetime: crate::limits::LEASE_LIFETIME,
        work: 0,
        to: None,
    };
    assert!(matches!(Record::sign(&key, draft).unwrap_err(), BadRecord::Form(_)));
}

#[test]
fn only_public_agents_get_a_profile() {
    for visibility in [Visibility::Private, Visibility::Peers] {
        let refused = AgentProfile::of(&card("calc", "Adds"), visibility, None).unwrap_err();
        assert_eq!(refused, BadProfile::NotPublic(visibility));
    }
    assert!(AgentProfile::of(&card("calc", "Adds"), Visibility::Public, None).is_ok());
}

#[test]
fn a_profile_holds_nothing_that_was_not_chosen() {
    let mut secret = card("calc", "Adds");
    secret.extra.insert("securitySchemes".into(), json!({ "apiKey": "TOP-SECRET" }));
    secret.skills[0].extra.insert("internal".into(), json!("TOP-SECRET"));
    secret.skills[0].examples = vec!["TOP-SECRET".into()];
    secret.supported_interfaces = vec![agentsite_protocol::AgentInterface {
        url: "http://10.0.0.1/TOP-SECRET".into(),
        protocol_binding: "JSONRPC".into(),
        protocol_version: "1.0".into(),
        tenant: None,
    }];
    let profile = AgentProfile::of(&secret, Visibility::Public, Some("https://example.org/calc")).unwrap();
    assert!(!serde_json::to_string(&profile).unwrap().contains("TOP-SECRET"));
    for url in ["ftp://x", "https://", "https://u:p@h/", "https://h/?token=1", "https://h/#x", "file:///etc"]
    {
        let refused = AgentProfile::of(&card("calc", "Adds"), Visibility::Public, Some(url));
        assert_eq!(refused.unwrap_err(), BadProfile::Address, "{url}");
    }
}

#[test]
fn long_cards_are_cut_to_what_a_record_holds() {
    let mut long = card(&"n".repeat(500), &"ü\u{7}".repeat(5_000));
    long.skills = vec![long.skills[0].clone(); 100];
    let profile = AgentProfile::of(&long, Visibility::Public, None).unwrap();
    assert_eq!((profile.title().chars().count(), profile.description().chars().count()), (120, 1_000));
    assert!((1..16).contains(&profile.skills().len()), "as many skills as fit");
    let faces = AgentProfile::of(&card("n", &"\u{1f600}".repeat(5_000)), Visibility::Public, None).unwrap();
    assert!(faces.description().chars().count() >= 500);
    let record = Site::new(1).sign(Subject::Agent("calc".parse().unwrap()), Body::Agent(profile), 1, at(0));
    assert!(record.bytes().len() < 4_096);
}

#[test]
fn vectors_are_read_as_they_were_signed_and_only_in_one_form() {
    let site = Site::new(1);
    let record = with_vectors(&site);
    let Body::Agent(agent) = record.body() else { panic!("an agent") };
    assert_eq!(agent.vectors(), Some(&vectors(1)));
    assert!(agent.vectors().unwrap().is_of_protocol());
    type Change = fn(&mut Value);
    let changes: [Change; 7] = [
        |v| v["agent"] = json!("AAAA"),
        |v| v["agent"] = json!(format!("{}=", v["agent"].as_str().unwrap())),
        |v| v["agent"] = json!("gIGB"),
        |v| v["dimensions"] = json!(383),
        |v| v["model"] = json!("a model"),
        |v| v["skills"] = json!([v["agent"], v["agent"]]),
        |v| v["skills"] = json!(["AQ"]),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let changed = altered(&record, &site, |payload| change(&mut payload["agent"]["vectors"]));
        assert!(changed.is_err(), "change {number}");
    }
    let other = altered(&record, &site, |payload| payload["agent"]["vectors"]["model"] = json!("other"));
    assert!(other.is_ok(), "agents may have vectors of other models");
}

#[test]
fn a_split_names_its_cell_and_has_two_centroids_of_one_length() {
    let site = Site::new(1);
    let record = split(&site);
    assert_eq!(record.subject(), &Subject::Split("r01".parse().unwrap()));
    type Change = fn(&mut Value);
    let changes: [Change; 6] = [
        |p| p["cell"] = json!("01"),
        |p| p["cell"] = Value::Null,
        |p| p["name"] = json!("calc"),
        |p| p["split"]["centroids"] = json!([p["split"]["centroids"][0]]),
        |p| p["split"]["centroids"][1] = json!("AQ"),
        |p| p["split"]["dimensions"] = json!(1),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert!(altered(&record, &site, change).is_err(), "change {number}");
    }
}

#[test]
fn vectors_that_do_not_fit_are_left_out_from_the_last_on() {
    let one = VectorCodes::of(&[1.0; 384]).unwrap();
    let vectors = |count| AgentVectors::new("model", vec![one.clone(); count]).unwrap();
    let mut card = card("calc", "Adds");
    card.skills = vec![card.skills[0].clone(); 16];
    let profile = AgentProfile::of(&card, Visibility::Public, None).unwrap();
    assert_eq!(profile.texts().len(), 17);
    let short = profile.clone().with_vectors(vectors(17)).unwrap();
    assert_eq!(short.skills().len(), 16, "the texts stay");
    assert!((2..6).contains(&short.vectors().unwrap().iter().count()));
    let refused = profile.with_vectors(vectors(18)).unwrap_err();
    assert_eq!(refused, BadProfile::Vectors(BadVector::Count));
    card.description = "long ".repeat(200);
    card.skills.iter_mut().for_each(|skill| skill.description = "long ".repeat(60));
    let full = AgentProfile::of(&card, Visibility::Public, None).unwrap();
    let before = full.skills().len();
    let full = full.with_vectors(vectors(1)).unwrap();
    assert!(full.skills().len() < before && full.vectors().is_some(), "the agent's own is always in");
    let record = Site::new(1).sign(Subject::Agent("calc".parse().unwrap()), Body::Agent(full), 1, at(0));
    assert!(record.bytes().len() < 4_096 + 64);
}

#[test]
fn the_later_version_wins_and_two_with_one_number_contradict() {
    let site = Site::new(1);
    let one = site.agent("calc", 1, at(0), "one");
    let two = site.agent("calc", 2, at(0), "two");
    let other = site.agent("calc", 2, at(0), "another");
    assert!(two.supersedes(&one) && !one.supersedes(&two) && !one.supersedes(&one));
    assert!(two.contradicts(&other) && !two.contradicts(&two) && !two.contradicts(&one));
    assert_ne!(two.supersedes(&other), other.supersedes(&two), "everybody keeps the same one");
    assert!(!two.contradicts(&site.agent("echo", 2, at(0), "two")));
    assert_eq!(profile("a", "b"), profile("a", "b"));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Claim::decode(&bytes);
    }

    #[test]
    fn a_flipped_bit_never_verifies(place in 0_usize..600, bit in 0_u8..8) {
        let record = Site::new(1).agent("calc", 1, at(0), "Adds numbers");
        let mut bytes = record.bytes().to_vec();
        let place = place % bytes.len();
        bytes[place] ^= 1 << bit;
        prop_assert!(Claim::decode(&bytes).and_then(Claim::verify).is_err());
    }
}
