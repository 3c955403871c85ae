//! `agentsite find`: agents are found by what they do, told for people and for programs, and found again
//! after a kill.
//!
//! The tests of `site` cover who may find what.

use crate::site::{TestSite, eventually};

/// An agent with one skill.
fn agent(name: &str, does: &str, example: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"{does}\"\nvisibility = \"public\"\n[[skills]]\nid = \"{name}\"\nname = \"{name}\"\n\
         description = \"{does}\"\ntags = [\"{name}\"]\nexamples = [\"{example}\"]\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
    )
}

fn town() -> TestSite {
    TestSite::new()
        .agent("baker", &agent("baker", "Bakes fresh bread and cakes", "bake a cake for my aunt"))
        .agent("smith", &agent("smith", "Forges tools of iron", "make me a hammer"))
}

#[test]
fn agents_are_found_with_scores_and_reasons() {
    let mut site = town();
    site.start();
    let table = site.run(&["find", "who", "bakes", "fresh", "bread?"]).ok();
    let lines: Vec<String> = table.out().lines().map(ToOwned::to_owned).collect();
    assert!(lines[0].starts_with("SCORE") && lines[1].contains("baker"), "{table:?}");
    let told = site.run(&["find", "who forges tools of iron", "--k", "1", "--json"]).ok().json();
    assert_eq!(told["matches"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["matches"][0]["name"], "smith", "{told}");
    assert!(told["matches"][0]["id"].as_str().unwrap().starts_with("urn:air:"), "{told}");
    let explained = site.run(&["find", "bake a cake", "--k", "1", "--explain"]).ok();
    for part in ["baker", "meaning", "words", "trust", "agent-card.json"] {
        assert!(explained.out().contains(part), "{part}: {explained:?}");
    }
}

/// Below the first the discovery face shows nothing, from the second on kept queries tell: `RELEVANT` in
/// gateway and `MIN_SCORE` in site.
const RELEVANT: f64 = 0.15;
const TOLD: f64 = 0.5;

/// Questions that no agent of the demo site can answer. Measured: 23 of them score below 0.15, the highest
/// 0.276.
const UNRELATED: [&str; 30] = [
    "how do I remove a wine stain from a carpet",
    "who won the football world cup in 1954",
    "knit a scarf with cables",
    "why is the sky blue",
    "the best way to prune an apple tree",
    "what did Caesar write about Gaul",
    "tune a violin by ear",
    "how tall is mount Everest",
    "what is the meaning of life",
    "my knee hurts after running",
    "sing me a lullaby",
    "change the oil of a tractor",
    "who painted the Mona Lisa",
    "how do bees make honey",
    "write a poem about the sea",
    "repair a leaking tap",
    "which wine goes with fish",
    "how deep is the Mariana trench",
    "fold a paper crane",
    "when did the Roman empire fall",
    "train a puppy to sit",
    "what causes earthquakes",
    "learn to juggle three balls",
    "sharpen a kitchen knife",
    "recipe for onion soup",
    "how do I tie a bow tie",
    "feed a sourdough starter",
    "what is dark matter",
    "grow tomatoes on a balcony",
    "polish old silver spoons",
];

#[tokio::test]
async fn with_the_model_inside_related_questions_score_above_the_thresholds_and_most_unrelated_ones_below() {
    let site = TestSite::started();
    let best = async |text: &str| {
        let asked = serde_json::json!({ "text": text, "limit": 1 });
        let answer = site.http.post(format!("{}/api/find", site.url)).json(&asked).send().await.unwrap();
        let mut found: serde_json::Value = answer.json().await.unwrap();
        found["matches"][0].take()
    };
    let score = |found: &serde_json::Value| found["score"].as_f64().unwrap_or_default();
    // Vectors of the fast table are there first and tell unrelated things less well apart. The clock's own
    // are the full ones when its score is.
    let full = async || Some(best("who painted the Mona Lisa").await).filter(|one| score(one) < 0.05);
    eventually("full vectors", full).await;
    for (text, name, measured) in [
        ("what time is it in Tokyo", "clock", 0.898),
        ("add two numbers", "calc", 0.799),
        ("current time in New York", "clock", 0.858),
        ("compute the square root of 2", "calc", 0.850),
        ("repeat what I say", "echo", 0.664),
        ("say it back to me", "echo", 0.620),
        ("how do I install agentsite", "library", 0.817),
    ] {
        let found = best(text).await;
        assert_eq!(found["name"], name, "{text}: {found}");
        assert!(score(&found) > TOLD && (score(&found) - measured).abs() < 0.1, "{text}: {found}");
    }
    // Few words and none of them the agent's own: found, though not told.
    let sum = best("what is 17 times 23").await;
    assert!(sum["name"] == "calc" && score(&sum) > RELEVANT && score(&sum) < TOLD, "{sum}");
    let mut below = 0;
    for text in UNRELATED {
        let found = best(text).await;
        assert!(score(&found) < 0.35, "{text}: {found}");
        below += usize::from(score(&found) < RELEVANT);
    }
    assert!(below >= 20, "{below} of {}", UNRELATED.len());
}

#[test]
fn what_cannot_be_asked_ends_with_a_code_of_its_own() {
    let mut site = town();
    let silent = site.run(&["find", "bread"]);
    assert_eq!(silent.code(), 5, "no site runs: {silent:?}");
    assert!(silent.err().contains("start it with `agentsite`"), "{silent:?}");
    site.start();
    let long = "x ".repeat(5_000);
    let wrong: [&[&str]; 6] = [
        &["find"],
        &["find", "?!"],
        &["find", &long],
        &["find", "bread", "--k", "0"],
        &["find", "bread", "--filter", "colour=red"],
        &["find", "bread", "--filter", "min-trust=7"],
    ];
    for words in wrong {
        let said = site.run(words);
        assert_eq!((said.code(), said.out().as_str()), (2, ""), "{said:?}");
        assert!(!said.err().is_empty());
    }
}

#[tokio::test]
async fn agents_are_found_again_after_a_kill_and_those_that_went_are_not() {
    let mut site = town();
    site.start();
    let first = async |site: &TestSite, text: &str| {
        let told = site.run(&["find", text, "--json"]).json();
        told["matches"][0]["name"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(first(&site, "forges tools of iron").await, "smith");
    site.kill();
    std::fs::remove_dir_all(site.path().join("agents/smith")).unwrap();
    site.write("agents/tailor/agent.toml", &agent("tailor", "Sews coats and hats", "sew me a coat"));
    site.start();
    assert_eq!(first(&site, "bakes fresh bread").await, "baker");
    assert_eq!(first(&site, "sews coats and hats").await, "tailor");
    assert_ne!(first(&site, "forges tools of iron").await, "smith");
    site.write("agents/baker/agent.toml", &agent("baker", "Repairs old clocks", "my clock stands still"));
    eventually("the change is found", async || {
        (first(&site, "repairs old clocks").await == "baker").then_some(())
    })
    .await;
}
