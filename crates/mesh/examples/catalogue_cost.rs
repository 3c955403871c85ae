//! Measures what the catalogue costs: bytes of records, bytes and time of reconciliation, time of a record.
//!
//! `cargo run --release -p agentsite-mesh --example catalogue_cost` prints the tables of docs/mesh.md.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use std::sync::Arc;
use std::time::Instant;

use agentsite_mesh::catalogue::{Identity, Moment};
use agentsite_mesh::reconcile::{Item, RangeSet, advance, answer, open};
use agentsite_mesh::story::{STORY_WORK, SeededRng, Site, at};
use agentsite_mesh::{Batch, Catalogue, Claim, Input, Limits, Message, Record, RecordId, Work};

fn main() {
    sizes();
    reconciliation();
    one_record();
}

fn sizes() {
    let site = Site::new(1);
    let sentence =
        "Answers questions about invoices, finds overdue ones and drafts reminders in six languages. ";
    println!("bytes on the wire");
    for (what, record) in [
        ("lease", site.lease(1_700_000_000_000, at(0))),
        ("agent, two sentences", site.agent("invoices", 1_700_000_000_000, at(0), &sentence.repeat(2))),
        (
            "agent, longest description",
            site.agent("invoices", 1_700_000_000_000, at(0), &sentence.repeat(20)),
        ),
        ("tombstone", site.tombstone("invoices", 1_700_000_000_000, at(0))),
    ] {
        println!("  {what:<28} {:>6}", record.bytes().len());
    }
}

fn set(numbers: impl Iterator<Item = u64>) -> RangeSet {
    let mut set = RangeSet::default();
    for number in numbers {
        set.insert(Item { at: 1_700_000_000_000 + number * 100, id: RecordId::of(&number.to_be_bytes()) });
    }
    set
}

/// Differences of one side, among the latest items or spread over all.
fn reconciliation() {
    println!(
        "reconciliation: records, differences, where, rounds, bytes both ways, bytes/difference, ms both sides"
    );
    for size in [1_000_u64, 10_000, 100_000] {
        for differences in [0, 10, 100, 1_000].into_iter().filter(|differences| differences * 10 <= size) {
            for recent in [true, false] {
                let every = size / differences.max(1);
                let is_missing = |number: &u64| match recent {
                    _ if differences == 0 => false,
                    true => *number >= size - differences,
                    false => *number % every == every / 2,
                };
                let (full, partial) = (set(0..size), set((0..size).filter(|number| !is_missing(number))));
                let begun = Instant::now();
                let (mut next, mut rounds, mut bytes, mut found) = (Some(open(&partial)), 0, 0, 0);
                while let Some(query) = next {
                    let reply = answer(&full, &query).expect("an honest frame");
                    bytes += query.len() + reply.len();
                    let progress = advance(&partial, &reply).expect("an honest frame");
                    (found, rounds, next) = (found + progress.need.len(), rounds + 1, progress.next);
                }
                assert_eq!(found as u64, differences);
                let millis = begun.elapsed().as_secs_f64() * 1_000.0;
                let place = if recent { "latest" } else { "spread" };
                let each = bytes as u64 / differences.max(1);
                println!(
                    "  {size:>7} {differences:>6} {place:<7} {rounds:>3} {bytes:>8} {each:>6} {millis:>8.2}"
                );
            }
        }
    }
}

fn one_record() {
    const COUNT: u64 = 2_000;
    let sites: Vec<Site> = (0..COUNT).map(Site::new).collect();
    let text = "Answers questions about invoices and finds overdue ones.";
    let per = |what: &str, begun: Instant, count: u64| {
        println!("  {what:<44} {:>9.2} us", begun.elapsed().as_secs_f64() * 1e6 / count as f64);
    };
    println!("time of one record");
    let begun = Instant::now();
    let records: Vec<Arc<Record>> = sites.iter().map(|site| site.agent("invoices", 2, at(0), text)).collect();
    per("draft, sign and check", begun, COUNT);
    let begun = Instant::now();
    let claims: Vec<Claim> =
        records.iter().map(|record| Claim::decode(record.bytes()).expect("our own record")).collect();
    per("decode", begun, COUNT);
    let begun = Instant::now();
    claims.into_iter().for_each(|claim| drop(claim.verify().expect("our own record")));
    per("verify the signature", begun, COUNT);
    let (relay, rng, mine) = (Site::new(1 << 40), SeededRng::new(1), Site::new(1 << 41));
    let identity = Identity::new(mine.key, mine.work.nonce).expect("the key is Ed25519");
    let limits = Limits { work_bits: STORY_WORK, push_burst: 1 << 20, ..Limits::default() };
    let mut catalogue = Catalogue::new(identity, limits);
    let mut apply = |input| drop(catalogue.apply(input, Moment::exact(at(0)), &rng));
    apply(Input::Connected { peer: relay.id });
    let message = |record: &Arc<Record>| {
        let bytes = Message::Push(Batch::of(std::slice::from_ref(record))).encode();
        Input::Received { peer: relay.id, message: Message::decode(&bytes).expect("our own message") }
    };
    for what in ["take in, from bytes to effects", "refuse as known, from bytes"] {
        let inputs: Vec<Input> = records.iter().map(message).collect();
        let begun = Instant::now();
        inputs.into_iter().for_each(&mut apply);
        per(what, begun, COUNT);
    }
    let begun = Instant::now();
    std::hint::black_box(Work::search(&relay.id, 0..100_000));
    per("one hash of work", begun, 100_000);
}
