//! A real endpoint of embeddings as the model of the search: llama.cpp's own server with a small model.
//!
//! The model is not made for embeddings, so nothing here depends on its similarities. It is slow, so the site
//! has one agent of few words and nothing else to give vectors to. The tests of `client` cover how its
//! answers are checked.

use super::program::Program;
use crate::site::{TestSite, eventually, exec_agent, python};

#[tokio::test]
async fn an_endpoint_gives_the_vectors_and_its_end_ends_no_search() {
    let python = python();
    let model = Program::start_with(&python, "small_llm.py", &["--embeddings"]).await;
    let mut site = TestSite::trusting().agent("hours", &exec_agent("hours", &["cat"], ""));
    let config =
        format!("demos = false\n[search]\nembeddings = {{ url = {:?}, model = \"small\" }}\n", model.url);
    site.write("agentsite.toml", &config);
    site.start();
    let find = |question: &str| site.run(&["find", question, "--json"]).json();
    let told = eventually("the agents have vectors of the endpoint", async || {
        let told = find("what time is it in Tokyo?");
        let model = told["matches"][0]["reason"]["model"].as_str().unwrap_or_default();
        model.contains("endpoint:small@576").then_some(told)
    })
    .await;
    assert!(told.get("without").is_none(), "{told}");
    drop(model);
    // Another question, because what was answered once is remembered with its vectors; it has a word of the
    // agent, because words are all that is left to compare.
    let told = find("the hours of Osaka");
    assert!(!told["matches"].as_array().unwrap().is_empty(), "{told}");
    assert!(told["without"].as_str().unwrap().contains("endpoint"), "{told}");
}
