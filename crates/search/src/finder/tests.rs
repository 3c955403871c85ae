//! Stories of the finder: what was put is found, in every case.
//!
//! The property compares it with the simplest possible computation over the same entries; the others check
//! single facts.

use std::collections::BTreeMap;
use std::path::Path;

use agentsite_protocol::{Asset, Money, Principal, Timestamp, Visibility};
use futures::future::BoxFuture;
use proptest::prelude::*;

use super::*;
use crate::{Hashed, ModelId, Passage, Vector};

const WORDS: &[&str] = &["weather", "flights", "books", "images", "translate", "maps", "music", "code"];
const TAGS: &[&str] = &["Travel", "media", "DEV"];

/// Another model than [`Hashed`] of the same length, with one number for each word in turn.
#[derive(Debug)]
struct Turned(Hashed, ModelId);

impl Turned {
    fn new(dimensions: usize) -> Self {
        Self(Hashed::new(dimensions), ModelId::new("turned"))
    }
}

impl Embedder for Turned {
    fn model(&self) -> &ModelId {
        &self.1
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move {
            let mut vectors = self.0.embed(texts).await?;
            for vector in &mut vectors {
                vector.model = self.1.clone();
                vector.values.rotate_left(3);
            }
            Ok(vectors)
        })
    }
}

/// An endpoint that is away.
#[derive(Debug)]
struct Away(ModelId);

impl Embedder for Away {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn dimensions(&self) -> usize {
        64
    }

    fn embed<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async { Err(EmbedError::Endpoint("the server does not answer".into())) })
    }
}

fn embedders() -> Embedders {
    Embedders { fast: Arc::new(Hashed::new(64)), full: Some(Arc::new(Turned::new(64))) }
}

fn open(folder: Option<&Path>, embedders: Embedders) -> (Finder, Opened) {
    let settings = FinderSettings { folder: folder.map(Into::into), embedders };
    Finder::open(settings, &|_| {}).unwrap()
}

fn memory() -> Finder {
    open(None, embedders()).0
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn entry(id: &str, name: &str, text: &str) -> Entry {
    let facts = Facts { visibility: Visibility::Public, ..Facts::default() };
    Entry { id: id.into(), name: name.into(), text: text.into(), facts, ..Entry::default() }
}

fn ids(found: &FindResults) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn find(finder: &Finder, text: &str) -> FindResults {
    run(finder.find(&Ask::of(text, 10))).unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<Entry>, bool),
    Revise(String, Facts),
    Remove(String),
    Deepen(usize),
    Reopen,
}

/// Some are priced in another asset than filters ask for.
fn priced_in(price: u8) -> Asset {
    if price == 2 { "USD".parse().unwrap() } else { Asset::CREDIT }
}

fn any_facts() -> impl Strategy<Value = Facts> {
    (0..3u8, 0..3usize, 0..4usize, any::<bool>(), 0..4u8, 0..3u8).prop_map(
        |(sight, tag, owner, live, trust, price)| Facts {
            visibility: [Visibility::Private, Visibility::Peers, Visibility::Public][usize::from(sight)],
            owner: ["", "ann", "ben", "cleo"][owner].into(),
            tags: vec![TAGS[tag].into()],
            protocols: vec![if live { "a2a" } else { "MCP" }.into()],
            region: (tag == 1).then(|| "EU".into()),
            price: (price > 0).then(|| Money::new(u64::from(price) * 1_000_000, priced_in(price))),
            live,
            trust: f64::from(trust) / 4.0,
            ..Facts::default()
        },
    )
}

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(0..WORDS.len(), 0..6)
        .prop_map(|words| words.into_iter().map(|word| WORDS[word]).collect::<Vec<_>>().join(" "))
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (0..8u8, any_text(), any_text(), proptest::collection::vec(any_text(), 0..3), any_facts()).prop_map(
        |(id, name, text, passages, facts)| {
            let passage = |text| Passage { skill: "skill".into(), text, example: false };
            let passages = passages.into_iter().map(passage).collect();
            Entry { id: format!("agent-{id}"), name, text, passages, facts, vectors: None }
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = (0..8u8).prop_map(|id| format!("agent-{id}"));
    prop_oneof![
        5 => (proptest::collection::vec(any_entry(), 1..4), any::<bool>()).prop_map(|(entries, full)| Step::Put(entries, full)),
        2 => (id.clone(), any_facts()).prop_map(|(id, facts)| Step::Revise(id, facts)),
        2 => id.prop_map(Step::Remove),
        1 => (1..4usize).prop_map(Step::Deepen),
        1 => Just(Step::Reopen),
    ]
}

/// What should be there: each entry and whether it has the better vectors.
type Plain = BTreeMap<String, (Entry, bool)>;

fn step(finder: &mut Finder, plain: &mut Plain, folder: &Path, step: Step) {
    match step {
        Step::Put(entries, full) => {
            run(finder.put(entries.clone(), full)).unwrap();
            plain.extend(entries.into_iter().map(|entry| (entry.id.clone(), (entry, full))));
        }
        Step::Revise(id, facts) => {
            finder.revise(vec![(id.clone(), facts.clone())]).unwrap();
            plain.entry(id).and_modify(|(entry, _)| entry.facts = facts);
        }
        Step::Remove(id) => {
            finder.remove(std::slice::from_ref(&id)).unwrap();
            plain.remove(&id);
        }
        Step::Deepen(count) => {
            let shallow = plain.values().filter(|(_, full)| !full).count();
            assert_eq!(run(finder.deepen(count)).unwrap(), shallow.min(count));
            while run(finder.deepen(8)).unwrap() > 0 {}
            plain.values_mut().for_each(|(_, full)| *full = true);
        }
        Step::Reopen => {
            let (again, opened) = open(Some(folder), embedders());
            assert_eq!(opened, Opened { entries: plain.len(), damage: None });
            *finder = again;
        }
    }
}

/// The words of each entry, counted over all entries.
fn reckon_words(plain: &Plain, asked: &str) -> BTreeMap<String, f64> {
    let readings: Vec<Reading> = plain.values().map(|(entry, _)| Reading::of(entry.clone())).collect();
    let mean = readings.iter().map(|reading| f64::from(reading.length)).sum::<f64>() / readings.len() as f64;
    let count = |reading: &Reading, term: u64| {
        reading.terms.iter().find(|(other, _)| *other == term).map_or(0.0, |(_, count)| f64::from(*count))
    };
    let sum = |reading: &Reading| -> f64 {
        let terms = QuestionWords::of(asked).terms;
        terms
            .iter()
            .map(|(term, weight)| {
                let have = readings.iter().filter(|other| count(other, *term) > 0.0).count() as f64;
                let rarity = (1.0 + (readings.len() as f64 - have + 0.5) / (have + 0.5)).ln();
                let held = 1.2 * (0.25 + 0.75 * f64::from(reading.length) / mean.max(1.0));
                let count = count(reading, *term);
                f64::from(*weight) * rarity * count * 2.2 / (count + held)
            })
            .sum()
    };
    readings.iter().map(|reading| (reading.entry.id.clone(), sum(reading))).collect()
}

/// How near the nearest text of an entry is.
fn reckon_meaning(entry: &Entry, full: bool, asked: &str) -> f64 {
    let embedders = embedders();
    let embedder = if full { embedders.full.unwrap() } else { embedders.fast };
    let reading = Reading::of(entry.clone());
    let mut texts = reading.texts();
    texts.extend([reading.title().unwrap_or_default(), asked.to_owned()]);
    let mut vectors = run(embedder.embed(&texts)).unwrap();
    let (query, title) = (vectors.pop().unwrap(), vectors.pop().unwrap());
    if reading.title().is_some() {
        vectors[0].values.iter_mut().zip(&title.values).for_each(|(value, title)| *value += 0.4 * title);
        let length = vectors[0].values.iter().map(|value| value * value).sum::<f32>().sqrt();
        vectors[0].values.iter_mut().for_each(|value| *value /= length);
    }
    let near =
        |vector: &Vector| vector.values.iter().zip(&query.values).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    vectors.iter().map(near).fold(-1.0, f64::max).clamp(0.0, 1.0)
}

/// Compares the finder with the simple computation.
fn compare(finder: &Finder, plain: &Plain, asked: &str, filter: &Filter, audience: &Audience) {
    assert_eq!(finder.len(), plain.len());
    for id in (0..8).map(|id| format!("agent-{id}")) {
        assert_eq!(finder.digest(&id), plain.get(&id).map(|(entry, _)| digest(entry)), "digest of {id}");
    }
    let passing: Vec<&str> = plain
        .values()
        .filter(|(entry, _)| passes(&entry.facts, filter) && audience.admits(&entry.id, &entry.facts))
        .map(|(entry, _)| entry.id.as_str())
        .collect();
    assert_eq!(finder.matching(filter, audience), passing);
    let ask = Ask { filter: filter.clone(), audience: audience.clone(), ..Ask::of(asked, 100) };
    let found = run(finder.find_by(&ask, Blend::Sum)).unwrap();
    assert_eq!((found.considered, found.without), (passing.len(), None));
    let words = reckon_words(plain, asked);
    let best = passing.iter().map(|id| words[*id]).fold(0.0, f64::max);
    for hit in &found.hits {
        let (entry, full) = &plain[&hit.id];
        assert!(passing.contains(&hit.id.as_str()));
        let share = if best > 0.0 { words[&hit.id] / best } else { 0.0 };
        assert!(
            (hit.reason.words - share).abs() < 1e-4,
            "words of {}: {} for {share}",
            hit.id,
            hit.reason.words
        );
        let meaning = reckon_meaning(entry, *full, asked);
        assert!(
            (hit.reason.meaning - meaning).abs() < 0.02,
            "meaning of {}: {} for {meaning}",
            hit.id,
            hit.reason.meaning
        );
    }
    assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score));
    let missing = passing.iter().filter(|id| found.hits.iter().all(|hit| hit.id != **id));
    missing.for_each(|id| {
        assert!(words[*id] <= 0.0 && reckon_meaning(&plain[*id].0, plain[*id].1, asked) < 0.02);
    });
}

/// The filter, said once more as plainly as can be.
fn passes(facts: &Facts, filter: &Filter) -> bool {
    let any = |wanted: &[String], has: &[String]| {
        wanted.is_empty()
            || wanted.iter().any(|wanted| has.iter().any(|has| has.eq_ignore_ascii_case(wanted)))
    };
    any(&filter.tags, &facts.tags)
        && any(&filter.protocols, &facts.protocols)
        && any(&filter.input_modes, &facts.input_modes)
        && any(&filter.output_modes, &facts.output_modes)
        && any(&filter.regions, facts.region.as_slice())
        && any(&filter.owners, std::slice::from_ref(&facts.owner))
        && (!filter.live || facts.live)
        && filter.max_price.is_none_or(|most| facts.price.is_none_or(|price| price <= most))
        && filter.min_trust.is_none_or(|least| facts.trust >= least)
}

fn any_filter() -> impl Strategy<Value = Filter> {
    (0..4usize, 0..3usize, any::<bool>(), 0..4u8, 0..5usize).prop_map(|(tag, price, live, trust, owner)| {
        Filter {
            tags: TAGS.get(tag).map(|tag| tag.to_uppercase()).into_iter().collect(),
            live,
            max_price: (price > 0).then(|| Money::new(price as u64 * 1_000_000 - 500_000, Asset::CREDIT)),
            min_trust: (trust > 1).then(|| f64::from(trust) / 4.0),
            owners: ["Ann", "BEN"].get(owner).map(|owner| (*owner).to_owned()).into_iter().collect(),
            ..Filter::default()
        }
    })
}

fn any_audience() -> impl Strategy<Value = Audience> {
    (0..3usize, 0..3usize, 0..10u8).prop_map(|(sees, owner, also)| Audience {
        sees: [Visibility::Private, Visibility::Peers, Visibility::Public][sees],
        owner: ["key:ann", "key:ben"].get(owner).map(|owner| owner.parse().unwrap()),
        also: vec![format!("agent-{also}")],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_index_agrees_with_the_plainest_reckoning_whatever_happened(
        steps in proptest::collection::vec(any_step(), 1..30),
        asked in any_text(), filter in any_filter(), audience in any_audience(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut finder = open(Some(folder.path()), embedders()).0;
        let mut plain = Plain::new();
        for next in steps {
            step(&mut finder, &mut plain, folder.path(), next);
            compare(&finder, &plain, &asked, &filter, &audience);
        }
        step(&mut finder, &mut plain, folder.path(), Step::Reopen);
        compare(&finder, &plain, &asked, &Filter::default(), &Audience::everything());
    }
}

#[test]
fn an_index_in_memory_answers_like_one_on_disk_and_pages_follow_each_other() {
    let finder = memory();
    let entries =
        (0..25).map(|number| entry(&format!("e{number:02}"), "maps", &"weather ".repeat(number + 1)));
    run(finder.put(entries.collect(), true)).unwrap();
    let whole = run(finder.find(&Ask::of("weather maps", 25))).unwrap();
    assert_eq!((whole.hits.len(), whole.considered), (25, 25));
    for offset in [0, 10, 20, 30] {
        let page = run(finder.find(&Ask { offset, ..Ask::of("weather maps", 10) })).unwrap();
        let expected: Vec<_> = whole.hits.iter().skip(offset).take(10).cloned().collect();
        assert_eq!(page.hits, expected);
    }
    assert!(!finder.is_empty());
}

#[test]
fn a_question_asked_again_has_the_same_answer_until_something_changes() {
    let finder = memory();
    run(finder.put(vec![entry("a", "sky", "weather"), entry("b", "sea", "weather maps")], true)).unwrap();
    let first = find(&finder, "weather");
    assert_eq!((find(&finder, "weather"), first.hits.len()), (first, 2));
    finder.remove(&["a".to_owned()]).unwrap();
    assert_eq!(ids(&find(&finder, "weather")), ["b"]);
    let facts = Facts { visibility: Visibility::Public, trust: 1.0, ..Facts::default() };
    let before = find(&finder, "weather").hits[0].score;
    finder.revise(vec![("b".into(), facts)]).unwrap();
    assert!(find(&finder, "weather").hits[0].score > before);
}

#[test]
fn what_was_shown_is_never_shown_again_once_it_was_replaced() {
    let finder = memory();
    let shown = |finder: &Finder| find(finder, "weather maps").hits[0].reason.passage.clone();
    let texts = [
        "It sings. It draws maps of the weather.",
        "It sings. It draws maps of storms and weather.",
        "It draws weather.",
    ];
    for text in texts {
        run(finder.put(vec![entry("a", "a", text)], false)).unwrap();
        let last = text.rsplit_once(". ").map_or(text, |(_, last)| last);
        for _ in 0..3 {
            assert_eq!(shown(&finder).as_deref(), Some(last));
        }
    }
    run(finder.deepen(10)).unwrap();
    assert_eq!(shown(&finder).as_deref(), Some("It draws weather."));
}

#[test]
fn an_empty_index_and_an_odd_question_give_an_empty_answer() {
    let finder = memory();
    for text in ["", "weather", "\u{0}\u{7}", "'; drop table agents; --", &"x ".repeat(600_000)] {
        assert_eq!(find(&finder, text).hits, []);
    }
    run(finder.put(vec![entry("a", "weather", "forecasts")], false)).unwrap();
    for text in ["'; drop table agents; --", &"weather ".repeat(200_000), "今日の天気", "the of and"] {
        let found = find(&finder, text);
        assert_eq!((found.considered, found.hits.len() <= 1), (1, true));
    }
}

#[test]
fn a_file_cut_at_any_byte_opens_with_what_was_acknowledged_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let finder = open(Some(folder.path()), embedders()).0;
    let mut ends = Vec::new();
    for (id, full) in [("a", false), ("b", true), ("c", false)] {
        run(finder.put(vec![entry(id, "weather", "tells it")], full)).unwrap();
        ends.push(std::fs::metadata(&path).unwrap().len() as usize);
    }
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let expected = ends.iter().filter(|end| **end <= cut).count();
        let (finder, opened) = open(Some(folder.path()), embedders());
        assert_eq!(opened, Opened { entries: expected, damage: None }, "cut at {cut}");
        assert_eq!(find(&finder, "weather").hits.len(), expected);
    }
}

#[test]
fn a_changed_byte_or_another_model_is_damage_and_the_index_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let finder = open(Some(folder.path()), embedders()).0;
    run(finder.put(vec![entry("a", "weather", ""), entry("b", "maps", "")], true)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[40] ^= 4;
    std::fs::write(&path, changed).unwrap();
    let (finder, opened) = open(Some(folder.path()), embedders());
    assert_eq!((opened.entries, finder.len()), (0, 0));
    assert!(opened.damage.unwrap().contains("damaged"));
    assert_eq!(open(Some(folder.path()), embedders()).1, Opened::default(), "the new file is sound");

    std::fs::write(&path, whole).unwrap();
    let other = Embedders { fast: Arc::new(Hashed::new(64)), full: None };
    let (finder, opened) = open(Some(folder.path()), other);
    assert_eq!((opened.entries, finder.len()), (0, 0));
    assert!(opened.damage.unwrap().contains("model"));
}

#[test]
fn a_log_that_is_mostly_dead_is_rewritten_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let finder = open(Some(folder.path()), embedders()).0;
    let text = "weather ".repeat(900);
    let facts = Facts { trust: 0.9, ..Facts::default() };
    run(finder.put(vec![entry("stays", "maps", "paper")], false)).unwrap();
    finder.revise(vec![("stays".into(), facts.clone()), ("nobody".into(), facts.clone())]).unwrap();
    let before = finder.digest("stays");
    let mut largest = 0;
    for round in 0..400 {
        run(finder.put(vec![entry("changes", &format!("round {round}"), &text)], true)).unwrap();
        largest = largest.max(std::fs::metadata(&path).unwrap().len());
    }
    assert!(largest < 1_200_000, "{largest} bytes");
    let (again, opened) = open(Some(folder.path()), embedders());
    assert_eq!((opened.entries, opened.damage, again.digest("stays")), (2, None, before));
    assert_eq!(
        again.matching(&Filter { min_trust: Some(0.8), ..Filter::default() }, &Audience::everything()),
        ["stays"]
    );
    assert_eq!(ids(&find(&again, "paper maps"))[0], "stays");
    assert!(find(&again, "weather").hits[0].reason.passage.as_ref().unwrap().starts_with("weather"));
}

#[test]
fn an_embedder_that_is_away_costs_its_part_of_the_score_and_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let away =
        || Embedders { fast: Arc::new(Away(ModelId::new("away"))), full: Some(Arc::new(Turned::new(64))) };
    let finder = open(Some(folder.path()), away()).0;
    assert!(matches!(run(finder.put(vec![entry("a", "weather", "")], false)), Err(FindError::Embed(_))));
    assert!(finder.is_empty());
    run(finder.put(vec![entry("a", "weather", "rain. and sun.")], true)).unwrap();
    assert_eq!(ids(&find(&finder, "weather")), ["a"]);
    let gone =
        Embedders { fast: Arc::new(Hashed::new(64)), full: Some(Arc::new(Away(ModelId::new("turned")))) };
    let found = find(&open(Some(folder.path()), gone).0, "weather");
    assert_eq!(ids(&found), ["a"], "its words are found");
    assert_eq!((found.hits[0].reason.meaning, found.hits[0].reason.model.as_str()), (0.0, ""));
    assert!(found.without.unwrap().contains("the server does not answer"));
}

#[test]
fn one_owner_does_not_fill_a_page_while_others_fit_nearly_as_well() {
    let owned = |id: String, owner: &str| {
        let mut entry = entry(&id, "weather maps", "rain and sun");
        entry.facts.owner = owner.into();
        entry
    };
    let finder = memory();
    let loud = (0..20).map(|number| owned(format!("a-loud-{number:02}"), "key:loud"));
    let others = (0..9).map(|number| owned(format!("b-other-{number}"), &format!("other {number}")));
    run(finder.put(loud.chain(others).collect(), true)).unwrap();
    let found = find(&finder, "weather maps");
    assert_eq!(ids(&found).iter().filter(|id| id.contains("loud")).count(), OWNER_SHARE);
    let own = Audience { owner: Some("key:loud".parse::<Principal>().unwrap()), ..Audience::everything() };
    let found = run(finder.find(&Ask { audience: own, ..Ask::of("weather maps", 10) })).unwrap();
    assert_eq!(
        ids(&found).iter().filter(|id| id.contains("loud")).count(),
        10,
        "one's own are not held back"
    );
    let filter = Filter { owners: vec!["Key:Loud".into()], ..Filter::default() };
    let found = run(finder.find(&Ask { filter, ..Ask::of("weather maps", 10) })).unwrap();
    assert_eq!(found.hits.len(), 10, "nor those that were asked for");
}

const OWNER_SHARE: usize = 3;

#[test]
fn a_newcomer_gets_the_last_place_of_a_page_when_it_fits_nearly_as_well() {
    let now = Timestamp::from_millis(1_000_000_000_000);
    let since = |mut entry: Entry, days: i64| {
        entry.facts.since = Some(Timestamp::from_millis(now.as_millis() - days * 86_400_000));
        entry
    };
    let known = (0..12).map(|number| since(entry(&format!("k{number:02}"), "weather maps", "rain"), 100));
    let finder = memory();
    run(finder.put(known.collect(), true)).unwrap();
    run(finder.put(vec![since(entry("new", "weather maps", "rain today"), 3)], true)).unwrap();
    let found = run(finder.find(&Ask { now: Some(now), ..Ask::of("weather maps", 10) })).unwrap();
    assert_eq!((found.hits[9].id.as_str(), found.hits[9].reason.newcomer), ("new", true));
    let later = Timestamp::from_millis(now.as_millis() + 20 * 86_400_000);
    let found = run(finder.find(&Ask { now: Some(later), ..Ask::of("weather maps", 10) })).unwrap();
    assert!(found.hits.iter().all(|hit| hit.id != "new" && !hit.reason.newcomer));
}

#[test]
fn trust_moves_a_score_by_less_than_a_tenth() {
    let trusted = |id: &str, trust: f64| {
        let mut entry = entry(id, "weather maps", "rain");
        entry.facts.trust = trust;
        entry
    };
    let finder = memory();
    run(finder.put(vec![trusted("a", 0.0), trusted("b", 0.5), trusted("c", 1.0)], true)).unwrap();
    let found = find(&finder, "rain maps");
    assert_eq!(ids(&found), ["c", "b", "a"]);
    let factors: Vec<f64> = found.hits.iter().map(|hit| hit.reason.trust).collect();
    assert!(factors[0] < 1.09 && (factors[1] - 1.0).abs() < 1e-9 && factors[2] > 0.91);
}

#[test]
fn a_hit_says_why() {
    let mut agent = entry(
        "urn:air:site:agent:sky",
        "skyWatch",
        "Knows the sky. Tells the weather of tomorrow! And more.",
    );
    agent.passages = vec![
        Passage { skill: "Forecast".into(), text: "Will it rain in Paris tomorrow?".into(), example: true },
        Passage { skill: "Stars".into(), text: "Names the stars above you".into(), example: false },
    ];
    let finder = memory();
    run(finder.put(vec![agent, entry("other", "books", "reads")], true)).unwrap();
    let hit = &find(&finder, "please tell me: will it rain in Paris?").hits[0];
    assert_eq!(hit.id, "urn:air:site:agent:sky");
    assert_eq!(hit.reason.skill.as_deref(), Some("Forecast"));
    assert_eq!(hit.reason.passage.as_deref(), Some("Will it rain in Paris tomorrow?"));
    assert_eq!(hit.reason.matched, ["rain", "Paris"]);
    assert_eq!((hit.reason.words, hit.reason.model.as_str(), hit.reason.newcomer), (1.0, "turned", false));
    assert!(hit.reason.meaning > 0.5 && hit.score <= 1.0);
    let hit = &find(&finder, "tells the weather of tomorrow, knows the sky and more").hits[0];
    assert_eq!(
        (hit.reason.skill.as_deref(), hit.reason.passage.as_deref()),
        (None, Some("Tells the weather of tomorrow!"))
    );
}

#[test]
fn saying_a_word_a_thousand_times_does_not_beat_saying_it_well() {
    let finder = memory();
    let stuffed = entry("stuffed", "flights", &"cheap flights ".repeat(1000));
    let honest = entry("honest", "flights", "Finds cheap flights");
    run(finder.put(vec![stuffed, honest, entry("other", "books", "reads books")], true)).unwrap();
    let found = run(finder.find_by(&Ask::of("cheap flights", 3), Blend::Words)).unwrap();
    assert!(found.hits[1].reason.words > 0.7, "{:?}", found.hits);
}

#[test]
fn vectors_of_the_publisher_are_used_when_they_are_of_the_model_and_complete() {
    let passages = vec![Passage { skill: "fly".into(), text: "books flights".into(), example: false }];
    let plain = Entry { passages, ..entry("a", "findFlights", "weather for flights") };
    let full: Arc<dyn Embedder> = Arc::new(Turned::new(64));
    let skill = entry("", "", "books flights");
    let made = run(whole_vectors(&full, vec![plain.clone(), skill])).unwrap();
    let [whole, skill] = made.try_into().map(|made: [_; 2]| made.map(Option::unwrap)).unwrap();
    let vectors = PublishedVectors { model: "turned".into(), whole, passages: vec![skill] };
    let published = Entry { vectors: Some(vectors.clone()), ..plain.clone() };
    // The model is away, so what is deep was not encoded here.
    let away =
        || Embedders { fast: Arc::new(Hashed::new(64)), full: Some(Arc::new(Away(ModelId::new("turned")))) };
    let (given, _) = open(None, away());
    run(given.put(vec![published.clone()], false)).unwrap();
    assert_eq!(given.shallow(), 0);
    assert_eq!(given.digest("a"), Some(digest(&published)));
    assert_ne!(digest(&published), digest(&plain), "an entry whose vectors are no longer used is put again");
    let own = memory();
    run(own.put(vec![plain.clone()], true)).unwrap();
    let received = memory();
    run(received.put(vec![published], false)).unwrap();
    assert_eq!(find(&own, "books").hits, find(&received, "books").hits, "the same as encoded here");
    for bad in [
        PublishedVectors { model: "other".into(), ..vectors.clone() },
        PublishedVectors { whole: vec![1; 63], ..vectors.clone() },
        PublishedVectors { whole: vec![0; 64], ..vectors.clone() },
        PublishedVectors { whole: vec![-128; 64], ..vectors.clone() },
        PublishedVectors { passages: Vec::new(), ..vectors.clone() },
    ] {
        let (finder, _) = open(None, away());
        run(finder.put(vec![Entry { vectors: Some(bad), ..plain.clone() }], false)).unwrap();
        assert_eq!(finder.shallow(), 1, "it waits for the encoder");
    }
    let twice = Entry { passages: [&plain.passages[..], &plain.passages[..]].concat(), ..plain };
    let both = PublishedVectors { passages: vec![vectors.passages[0].clone(); 2], ..vectors };
    run(given.put(vec![Entry { vectors: Some(both), ..twice }], false)).unwrap();
    assert_eq!(given.shallow(), 1, "a passage was left out, so places are not known");
}
