//! `agentsite find`: agents are found by what they do, told for people and for programs, and found again after a kill.
//!
//! Who may find what is told in the stories of `site`.

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
