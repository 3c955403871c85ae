//! Stories of the ranking through its public interface: every filter, the reasons as they are written, and
//! what scores mean.
//!
//! That each part of the ranking makes it better is measured by the example `blends`, on questions that are
//! not part of the repository.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use agentsite_protocol::{Filter, Visibility};
use agentsite_search::{
    Ask, Audience, Embedders, Entry, Facts, FindResults, Finder, FinderSettings, MiniLm, Passage, Static,
};
use serde_json::{Value, json};

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime").block_on(work)
}

fn open(full: bool) -> Finder {
    let full = full.then(|| Arc::new(MiniLm::load()) as _);
    let embedders = Embedders { fast: Arc::new(Static::load()), full };
    Finder::open(FinderSettings { folder: None, embedders }, &|_| {}).expect("an index in memory opens").0
}

fn entry(id: &str, name: &str, text: &str) -> Entry {
    let facts = Facts { visibility: Visibility::Public, ..Facts::default() };
    Entry { id: id.into(), name: name.into(), text: text.into(), facts, ..Entry::default() }
}

fn filled(full: bool, entries: Vec<Entry>) -> Finder {
    let finder = open(full);
    run(finder.put(entries, full)).expect("entries are put");
    finder
}

fn find(finder: &Finder, text: &str) -> FindResults {
    run(finder.find(&Ask::of(text, 10))).expect("a question is answered")
}

#[test]
fn every_filter_lets_through_who_has_it_and_nobody_else() {
    let with = |id: &str, facts: Facts| Entry { facts, ..entry(id, id, "weather") };
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let rich = Facts {
        visibility: Visibility::Public,
        owner: "Ann".into(),
        tags: words(&["Travel", "sky"]),
        protocols: words(&["a2a"]),
        input_modes: words(&["text/plain", "image/png"]),
        output_modes: words(&["application/json"]),
        region: Some("EU".into()),
        price: Some("0.5".parse().unwrap()),
        live: true,
        trust: 0.75,
        since: None,
    };
    let poor = Facts { visibility: Visibility::Public, live: false, trust: 0.25, ..Facts::default() };
    let finder = filled(false, vec![with("rich", rich), with("poor", poor)]);
    let (none, both): (&[&str], &[&str]) = (&[], &["poor", "rich"]);
    for (filter, expected) in [
        (json!({}), both),
        (json!({"tags": ["travel"]}), &["rich"]),
        (json!({"tags": ["sea", "SKY"]}), &["rich"]),
        (json!({"tags": ["trav"]}), none),
        (json!({"protocols": ["A2A"]}), &["rich"]),
        (json!({"protocols": ["mcp"]}), none),
        (json!({"inputModes": ["IMAGE/png"]}), &["rich"]),
        (json!({"inputModes": ["application/json"]}), none),
        (json!({"outputModes": ["application/json"]}), &["rich"]),
        (json!({"outputModes": ["text/plain"]}), none),
        (json!({"regions": ["us", "eu"]}), &["rich"]),
        (json!({"regions": ["us"]}), none),
        (json!({"owners": ["ANN"]}), &["rich"]),
        (json!({"owners": ["ben"]}), none),
        (json!({"live": true}), &["rich"]),
        (json!({"live": false}), both),
        (json!({"maxPrice": 0.5}), both),
        (json!({"maxPrice": 0.4}), &["poor"]),
        (json!({"maxPrice": 0.499_999}), &["poor"]),
        (json!({"maxPrice": {"amount": "0.5", "asset": "credit"}}), both),
        (json!({"maxPrice": {"amount": "100.00", "asset": "USD"}}), &["poor"]),
        (json!({"minTrust": 0.75}), &["rich"]),
        (json!({"minTrust": 0.2}), both),
        (json!({"tags": ["travel"], "owners": ["ann"], "maxPrice": 1.0, "live": true}), &["rich"]),
        (json!({"tags": ["travel"], "owners": ["ben"]}), none),
    ] {
        let parsed: Filter = serde_json::from_value(filter.clone()).unwrap();
        assert_eq!(finder.matching(&parsed, &Audience::public()), expected, "{filter}");
        let found = run(finder.find(&Ask { filter: parsed, ..Ask::of("weather", 10) })).unwrap();
        let ids: BTreeSet<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
        assert_eq!((ids, found.considered), (expected.iter().copied().collect(), expected.len()), "{filter}");
    }
}

#[test]
fn reasons_are_written_as_they_always_were() {
    let mut sky = entry("sky", "skyWatch", "Knows the sky. Tells the weather of any city, a week ahead.");
    let passage = |skill: &str, text: &str| Passage { skill: skill.into(), text: text.into(), example: true };
    sky.passages = vec![passage("Forecast", "Will it rain in Paris tomorrow?")];
    sky.facts.trust = 1.0;
    let finder = filled(true, vec![sky, entry("books", "librarian", "Finds and lends books.")]);
    let mut written = Vec::new();
    for asked in ["rain tomorrow in Paris", "a weather forecast for the week", "borrow a novel"] {
        let mut hits = serde_json::to_value(
            find(&finder, asked)
                .hits
                .iter()
                .map(|hit| json!({"id": hit.id, "score": hit.score, "reason": hit.reason}))
                .collect::<Vec<_>>(),
        )
        .unwrap();
        round(&mut hits);
        written.push(json!({"asked": asked, "hits": hits}));
    }
    let now = serde_json::to_string_pretty(&written).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/reasons.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap();
    assert_eq!(now, held, "run with UPDATE_GOLDEN=1 when the change is meant");
}

/// Cuts numbers to three places.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let rounded = number.as_f64().map(|number| (number * 1000.0).round() / 1000.0);
            *value = json!(rounded);
        }
        Value::Array(all) => all.iter_mut().for_each(round),
        Value::Object(all) => all.values_mut().for_each(round),
        _ => {}
    }
}

#[test]
fn what_fits_scores_above_a_half_and_what_has_nothing_to_do_with_it_far_below() {
    let finder = filled(
        true,
        vec![
            entry("calc", "calc", "Does arithmetic: adds, subtracts, multiplies and divides numbers."),
            entry("clock", "clock", "Tells the present time in any time zone."),
            entry("weather", "weather", "Forecasts the weather for any city."),
            entry("flights", "flights", "Finds cheap flights and books them."),
            entry("contracts", "translator", "Translates contracts between languages."),
        ],
    );
    for (asked, right) in [
        ("add two numbers", "calc"),
        ("what time is it in Tokyo?", "clock"),
        ("what will the weather be in Paris tomorrow", "weather"),
        ("book me a flight to Rome", "flights"),
        ("translate this contract into German", "contracts"),
    ] {
        let found = find(&finder, asked);
        assert_eq!(found.hits[0].id, right, "{asked}");
        assert!(found.hits[0].score > 0.5, "{asked}: {}", found.hits[0].score);
    }
    for asked in ["bake a cake", "asdf qwer zxcv", "repair my bicycle tyre", "knit a sweater", "I feel sad"] {
        let found = find(&finder, asked);
        let best = found.hits.first().map_or(0.0, |hit| hit.score);
        assert!(best < 0.3, "{asked}: {best}");
    }
}
