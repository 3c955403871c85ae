//! Synchronises two catalogues: one with 100,000 agents, one that is new. Measures processor time, bytes and
//! memory.
//!
//! `cargo run -p agentsite-sim --example large_sync -- CORPUS [AGENTS] [--vectors]`, where CORPUS has a line
//! of JSON with `name` and `text` for each real description. Fewer descriptions than agents are repeated,
//! each time with a number at the end. Vectors are random numbers: they cost the same bytes. It prints a line
//! of JSON, which `tests/python/mesh_results.py` reads from `target/sim/large-sync.jsonl`.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]
#![expect(clippy::unwrap_used, reason = "an example ends when something is missing")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use agentsite_mesh::catalogue::{Identity, Moment, Saved};
use agentsite_mesh::story::{STORY_WORK, SeededRng, Site, at, profile, vectors};
use agentsite_mesh::{Body, Catalogue, Effect, Input, Limits, Message, Record, SiteId, Subject};

/// Agents of one site.
const OF_SITE: usize = 250;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has_vectors = arguments.iter().any(|one| one == "--vectors");
    let count = arguments.get(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let corpus = std::fs::read_to_string(arguments.first().expect("the file of descriptions")).unwrap();
    let described: Vec<(String, String)> = corpus.lines().map(described).collect();

    let begun = processor();
    let records = records(&described, count, has_vectors);
    let (signing, bytes) =
        (processor() - begun, records.iter().map(|record| record.bytes().len()).sum::<usize>());
    let mut limits = Limits { records: 2 * count, work_bits: STORY_WORK, ..Limits::default() };
    (limits.give_burst, limits.queries_per_minute) = (3 * u32::try_from(count).unwrap(), 1_200);

    let memory = resident();
    let begun = processor();
    let mut full = restored(&Site::new(1), &records, limits);
    let (restoring, held) = (processor() - begun, resident() - memory);
    assert!(full.len() >= count, "{} of {count} were restored", full.len());

    let other = Site::new(2);
    let mut fresh = Catalogue::new(Identity::new(other.key.clone(), other.work.nonce).unwrap(), limits);
    let begun = processor();
    let (messages, sent) = synchronise(&mut full, &mut fresh);
    let seconds = processor() - begun;
    assert_eq!(full.fingerprint(), fresh.fingerprint(), "{} and {} records", full.len(), fresh.len());
    println!(
        "{}",
        serde_json::json!({
            "kind": "largeSync", "agents": count, "descriptions": described.len(), "vectors": has_vectors,
            "records": full.len(), "recordBytes": bytes, "listed": fresh.listed().count(),
            "signSeconds": signing, "restoreSeconds": restoring,
            "bytesHeld": held, "syncSeconds": seconds, "syncMessages": messages, "syncBytes": sent,
        })
    );
}

fn described(line: &str) -> (String, String) {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    (text("name"), text("text"))
}

/// The records of so many agents, and the leases of their sites.
fn records(described: &[(String, String)], count: usize, has_vectors: bool) -> Vec<Arc<Record>> {
    let mut records = Vec::with_capacity(count + count / OF_SITE + 1);
    let mut site = Site::new(0);
    for number in 0..count {
        if number % OF_SITE == 0 {
            site = Site::new(1_000 + (number / OF_SITE) as u64);
            records.push(site.lease(1, at(0)));
        }
        let (name, text) = &described[number % described.len()];
        let round = number / described.len();
        let text = if round == 0 { text.clone() } else { format!("{text} ({round})") };
        let mut said = profile(name, &text);
        if has_vectors {
            said = said.with_vectors(vectors(number as u64)).unwrap();
        }
        let subject = Subject::Agent(format!("agent-{number}").parse().unwrap());
        records.push(site.sign(subject, Body::Agent(said), 2, at(0)));
    }
    records
}

/// The catalogue of a site that has these records on disk.
fn restored(site: &Site, records: &[Arc<Record>], limits: Limits) -> Catalogue {
    let identity = Identity::new(site.key.clone(), site.work.nonce).unwrap();
    let saved = Saved { at: at(0), records: records.iter().map(|record| record.bytes().to_vec()).collect() };
    let (catalogue, effects) =
        Catalogue::restore(identity, limits, &saved, Moment::exact(at(1)), &SeededRng::new(1));
    drop(effects);
    catalogue
}

/// Lets two catalogues talk until nothing is said; gives the number of messages and their bytes.
fn synchronise(one: &mut Catalogue, other: &mut Catalogue) -> (usize, usize) {
    let (first, second) = (one.site(), other.site());
    let (begun, rng) = (Instant::now(), SeededRng::new(2));
    let mut waiting: VecDeque<(SiteId, SiteId, Message)> = VecDeque::new();
    let (mut messages, mut bytes) = (0, 0);
    let mut apply = |catalogue: &mut Catalogue, input: Input, waiting: &mut VecDeque<_>| {
        let site = catalogue.site();
        let moment = Moment::exact(at(1).plus(begun.elapsed()));
        for effect in catalogue.apply(input, moment, &rng) {
            if let Effect::Send { peer, message } = effect {
                messages += 1;
                bytes += message.encoded_len();
                waiting.push_back((site, peer, message));
            }
        }
    };
    apply(one, Input::Connected { peer: second }, &mut waiting);
    // Only the new one begins: two sessions at once get in each other's way and end with the next one.
    waiting.clear();
    apply(other, Input::Connected { peer: first }, &mut waiting);
    while let Some((from, to, message)) = waiting.pop_front() {
        // As a driver reads it: the bytes are decoded and signatures are checked.
        let message = Message::decode(&message.encode()).unwrap();
        let receiver = if to == first { &mut *one } else { &mut *other };
        apply(receiver, Input::Received { peer: from, message }, &mut waiting);
    }
    (messages, bytes)
}

/// Seconds of a processor that this process has used: others share the machine.
fn processor() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = status.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4_096
}
