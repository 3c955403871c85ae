//! A library among the agents of a site: what it answers, what it follows, what it withstands.
//!
//! The stories use the embedder that compares words alone; what is asked is said in the words of the
//! documents.

mod at_rest;

use std::path::Path;

use agentsite_host::Health;
use agentsite_protocol::{Part, Usage};
use serde_json::{Value, json};

use super::*;
use agentsite_library::{demo_library, with_model};

const LIBRARY: &str = r#"
name = "handbook"
description = "Knows the handbook"
visibility = "public"
[runtime]
kind = "builtin"
builtin = "library"
path = "docs"
talk = false
"#;

/// A folder with a library over its `docs`.
struct Shelf {
    story: Story,
    folder: tempfile::TempDir,
    agent: AgentName,
}

impl Shelf {
    async fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        let shelf = Self { story: Story::begin().await, folder, agent: "handbook".parse().unwrap() };
        files.iter().for_each(|(file, text)| shelf.write(file, text));
        shelf.install().await;
        shelf
    }

    async fn install(&self) {
        let manifest = Manifest::read(LIBRARY).unwrap();
        self.story.site.agents().install(manifest, Some(self.folder.path().to_owned())).await.unwrap();
    }

    fn docs(&self) -> std::path::PathBuf {
        self.folder.path().join("docs")
    }

    fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.docs().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    async fn ask(&self, text: &str) -> Task {
        // Later than the last look, so that what has changed is seen.
        self.story.clock.advance(2_000);
        self.story.ask(&self.agent, text).await
    }

    fn log(&self) -> String {
        let lines = self.story.site.agents().log(&Caller::local(), &self.agent, 100).unwrap();
        lines.into_iter().map(|line| line.text + "\n").collect()
    }
}

fn data(task: &Task) -> &Value {
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    parts.filter_map(|part| part.data.as_ref()).next_back().unwrap()
}

fn sources(task: &Task) -> Vec<String> {
    let passages = data(task)["passages"].as_array().unwrap();
    passages.iter().map(|passage| passage["source"].as_str().unwrap().to_owned()).collect()
}

const GUIDE: &str = "# Guide

Welcome to the machine.

## Warranty

The warranty of the machine lasts two years. Keep the receipt, since nobody can look it up for you.

## Cleaning

Wipe the drum with vinegar every month. Never use chlorine on the seals.
";

#[tokio::test]
async fn a_question_is_answered_with_the_passage_and_where_it_stands() {
    let shelf = Shelf::with(&[("guide.md", GUIDE), ("notes.txt", "The garden is watered on Mondays.")]).await;
    let task = shelf.ask("How long does the warranty last?").await;
    assert_eq!(state(&task), TaskState::Completed);
    let words = task.artifacts[0].plain_text();
    assert!(words.starts_with("**The warranty of the machine lasts two years.**"), "{words}");
    assert!(words.contains("[1] docs/guide.md › Guide › Warranty (line 7)"), "{words}");
    let first = &data(&task)["passages"][0];
    assert_eq!((&first["file"], &first["line"]), (&json!("docs/guide.md"), &json!(7)));
    assert!(
        first["score"].as_f64().unwrap() > 0.3 && first["text"].as_str().unwrap().contains("receipt"),
        "{first}"
    );
    assert_eq!(data(&task)["documents"], 2);
    assert_eq!(task.artifacts[0].parts[0].extra["metadata"]["sources"][0]["line"], 7);
    assert_eq!(sources(&shelf.ask("when is the garden watered").await)[0], "docs/notes.txt (line 1)");
}

#[tokio::test]
async fn what_is_not_in_the_documents_is_said_and_what_is_there_is_named() {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    let task = shelf.ask("Who won the chess championship in Reykjavik?").await;
    assert_eq!(state(&task), TaskState::Completed);
    assert!(task.artifacts[0].plain_text().contains("found nothing about this. I have read: docs/guide.md."));
    assert!(sources(&task).is_empty());
    assert_eq!(state(&shelf.ask("  ").await), TaskState::InputRequired);
}

#[tokio::test]
async fn a_short_question_goes_on_with_the_one_before() {
    let shelf = Shelf::with(&[
        ("guide.md", GUIDE),
        ("car.md", "# Car\n\nThe receipt of the car lies in the drawer."),
    ])
    .await;
    let first = shelf.ask("what about the warranty of the machine").await;
    shelf.story.clock.advance(2_000);
    let mut message = shelf.story.says("and the receipt?");
    message.context_id = Some(first.head.context.clone());
    let Sent::Task(watch) = shelf.story.try_send(&Caller::local(), &shelf.agent, message).await.unwrap()
    else {
        panic!("it answers with tasks")
    };
    assert!(sources(&watch.settled().await)[0].contains("Warranty"));
}

#[tokio::test]
async fn files_that_are_added_changed_renamed_and_removed_count_for_the_next_question() {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    let question = "how often is the drum wiped with vinegar";
    assert_eq!(sources(&shelf.ask(question).await)[0], "docs/guide.md › Guide › Cleaning (line 11)");
    shelf.write("guide.md", "# Guide\n\n## Cleaning\n\nThe drum is wiped with vinegar every single week.\n");
    let task = shelf.ask(question).await;
    assert!(
        task.artifacts[0].plain_text().contains("every single week"),
        "{}",
        task.artifacts[0].plain_text()
    );
    assert_eq!(sources(&task)[0], "docs/guide.md › Guide › Cleaning (line 5)");
    assert!(
        sources(&shelf.ask("how long does the warranty last").await).is_empty(),
        "it is gone from the file"
    );
    std::fs::rename(shelf.docs().join("guide.md"), shelf.docs().join("manual.md")).unwrap();
    assert_eq!(sources(&shelf.ask(question).await), ["docs/manual.md › Guide › Cleaning (line 5)"]);
    shelf.write("deep/down/more.html", "<h1>Seals</h1><p>Seals of the door never touch chlorine.</p>");
    assert_eq!(
        sources(&shelf.ask("chlorine on the seals").await),
        ["docs/deep/down/more.html › Seals (line 1)"]
    );
    std::fs::remove_file(shelf.docs().join("manual.md")).unwrap();
    assert!(sources(&shelf.ask(question).await).is_empty());
}

#[tokio::test]
async fn hostile_files_are_named_in_the_log_and_take_nothing_else_down() {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    std::fs::File::create(shelf.docs().join("vast.md")).unwrap().set_len(1 << 30).unwrap();
    shelf.write("binary.md", b"\x7fELF\0\0\0\x01");
    shelf.write("broken.pdf", "%PDF-1.7\nnothing that follows is a PDF");
    shelf.write("nested.html", "<div>".repeat(20_000));
    shelf.write("latin.txt", b"Die Gr\xfc\xdfe des K\xf6nigs");
    shelf.write(".hidden.md", "# Hidden\n\nThe hidden treasure lies here.");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), "The hidden treasure is a secret.").unwrap();
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, shelf.docs().join(name)).unwrap();
    link(&shelf.docs(), "loop");
    link(Path::new("self.md"), "self.md");
    link(outside.path(), "outside");
    link(&outside.path().join("secret.md"), "secret.md");
    link(&shelf.docs().join("guide.md"), "again.md");
    shelf.install().await;
    let task = shelf.ask("how long does the warranty last").await;
    assert_eq!(sources(&task).len(), 1, "what is reached twice is read once: {:?}", sources(&task));
    assert!(sources(&shelf.ask("where is the hidden treasure, the secret").await).is_empty());
    assert_eq!(sources(&shelf.ask("Grüße des Königs").await), ["docs/latin.txt (line 1)"]);
    let view = shelf.story.site.agents().get(&Caller::local(), &shelf.agent).unwrap();
    assert_eq!(view.health, Health::Ready.word());
    let notice = view.notice.unwrap();
    assert!(
        notice.starts_with("3 documents cannot be read: docs/binary.md, docs/broken.pdf, docs/vast.md"),
        "{notice}"
    );
    let log = shelf.log();
    for line in [
        "docs/vast.md has",
        "docs/binary.md is not text",
        "docs/broken.pdf cannot be read",
        "outside: leads out of the folder",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    shelf.write("binary.md", "# Sound\n\nThe binary file was mended with care.");
    assert_eq!(sources(&shelf.ask("who mended the binary file").await), ["docs/binary.md › Sound (line 3)"]);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_said_with_what_to_do_and_found_when_it_comes() {
    let shelf = Shelf::with(&[]).await;
    assert!(
        shelf.ask("anything at all here").await.artifacts[0].plain_text().contains("There are no documents")
    );
    std::fs::remove_dir(shelf.docs()).unwrap();
    let task = shelf.ask("how long does the warranty last").await;
    assert_eq!(state(&task), TaskState::Failed);
    assert!(
        last_words(&task).contains("make the folder, or correct `path` in agent.toml"),
        "{}",
        last_words(&task)
    );
    assert_eq!(shelf.story.site.agents().get(&Caller::local(), &shelf.agent).unwrap().health, "down");
    shelf.write("guide.md", GUIDE);
    // The reason is looked at after the folder is.
    assert_eq!(state(&shelf.ask("how long does the warranty last").await), TaskState::Completed);
}

#[tokio::test]
async fn programs_search_with_arguments_and_get_data() {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    let view = shelf.story.site.agents().get(&Caller::local(), &shelf.agent).unwrap();
    let skills: Vec<&str> = view.skills.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(skills, ["ask", "search_library"]);
    let arguments = json!({"query": "machine warranty receipt", "k": 1});
    let mut message = shelf.story.says("");
    message.parts = vec![Part::data(json!({"skill": "search_library", "arguments": arguments}))];
    let Sent::Task(watch) = shelf.story.try_send(&Caller::local(), &shelf.agent, message).await.unwrap()
    else {
        panic!("it answers with tasks")
    };
    let task = watch.settled().await;
    assert_eq!((task.artifacts.len(), sources(&task).len()), (1, 1));
    assert_eq!(data(&task)["passages"][0]["heading"], json!(["Guide", "Warranty"]));
}

#[tokio::test]
async fn after_a_crash_it_reads_and_answers_again() {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    let question = "how long does the warranty last";
    let before = shelf.ask(question).await.artifacts;
    let Shelf { story, folder, agent } = shelf;
    let shelf = Shelf { story: story.crash().await, folder, agent };
    shelf.install().await;
    assert_eq!(shelf.ask(question).await.artifacts, before);
}

async fn with_answer(model: ScriptedRunner) -> (Task, Arc<ScriptedRunner>) {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    let model = Arc::new(model);
    let embedders = SiteSettings::default().search.embedders;
    let runner = with_model(shelf.folder.path(), model.clone(), shelf.story.clock.clone(), &embedders);
    shelf.story.site.agents().install_runner(Manifest::read(LIBRARY).unwrap(), runner);
    (shelf.ask("how long does the warranty last").await, model)
}

#[tokio::test]
async fn a_model_writes_the_answer_from_passages_that_are_marked_as_data() {
    let used = Usage { input_tokens: 7, ..Usage::default() };
    let (task, model) =
        with_answer(ScriptedRunner::new().chunk("Two ").used(used).chunk("years [1], for ever [8].")).await;
    let words = task.artifacts[0].plain_text();
    assert_eq!(words, "Two years [1], for ever .\n\n[1] docs/guide.md › Guide › Warranty (line 7)");
    assert_eq!(sources(&task)[0], "docs/guide.md › Guide › Warranty (line 7)");
    let asked = model.jobs()[0].message.plain_text();
    assert!(
        asked.starts_with("<passage 1 ") && asked.ends_with("Question: how long does the warranty last"),
        "{asked}"
    );
    let mark = asked.split([' ', '>']).nth(2).unwrap();
    assert!(mark.len() > 8 && asked.contains(&format!("</passage 1 {mark}>")), "{asked}");
    assert_eq!(task.usage.input_tokens, 7);
}

#[tokio::test]
async fn a_model_that_fails_or_names_no_source_gives_way_to_quotations() {
    for model in [
        ScriptedRunner::new().chunk("For ever, trust me."),
        ScriptedRunner::new().fail("the model server cannot be reached"),
        ScriptedRunner::new().in_health(Health::Needs("a model".into())),
    ] {
        let (task, _) = with_answer(model).await;
        let words = task.artifacts[0].plain_text();
        assert_eq!(state(&task), TaskState::Completed);
        assert!(words.starts_with("**The warranty of the machine lasts two years.**"), "{words}");
    }
    let (task, _) = with_answer(ScriptedRunner::new().chunk("NOT IN THE DOCUMENTS")).await;
    assert!(task.artifacts[0].plain_text().starts_with("I found nothing about this."));
}

#[tokio::test]
async fn a_model_that_is_too_slow_gives_way_to_quotations_before_the_deadline() {
    let shelf = Shelf::with(&[("guide.md", GUIDE)]).await;
    // It never says a word; only its cancellation ends it.
    let model = Arc::new(ScriptedRunner::new().hold());
    let embedders = SiteSettings::default().search.embedders;
    let runner = with_model(shelf.folder.path(), model.clone(), shelf.story.clock.clone(), &embedders);
    shelf.story.site.agents().install_runner(Manifest::read(LIBRARY).unwrap(), runner);
    // The documents are read before the clock is virtual.
    let warm = shelf.story.says("");
    let mut warm = agentsite_protocol::Message { parts: Vec::new(), ..warm };
    warm.parts = vec![Part::data(json!({"skill": "search_library", "arguments": {"query": "warranty"}}))];
    let Ok(Sent::Task(watch)) = shelf.story.try_send(&Caller::local(), &shelf.agent, warm).await else {
        panic!("it answers with tasks")
    };
    watch.settled().await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let task = shelf.ask("how long does the warranty last").await;
    assert_eq!(state(&task), TaskState::Completed, "{}", last_words(&task));
    assert!(task.artifacts[0].plain_text().starts_with("**The warranty of the machine lasts two years.**"));
    let took = began.elapsed().as_secs();
    assert!((50..60).contains(&took), "{took}");
    model.idle().await;
}

/// Questions about agentsite, and the page that answers them.
const QUESTIONS: [(&str, &str); 22] = [
    ("How do I name a receiver of push notifications?", "docs/push.md"),
    ("How is the signature of a delivered push verified?", "docs/push.md"),
    ("How many receivers can a task have?", "docs/push.md"),
    ("Which file does agentsite connect write for Cursor?", "docs/connect.md"),
    ("How does Claude Desktop reach the agents of a site?", "docs/connect.md"),
    ("What does the exit code 10 of an exec command mean?", "docs/agents.md"),
    ("How do I host a program that speaks the Agent Client Protocol?", "docs/agents.md"),
    ("How are the tools of a server pinned in tools.lock?", "docs/agents.md"),
    ("Can I use an OpenAPI document as an agent?", "docs/agents.md"),
    ("How do I set a budget of tokens per day?", "docs/agents.md"),
    ("Use the OpenAI SDK with base_url of a site", "docs/openai.md"),
    ("What does previous_response_id do?", "docs/openai.md"),
    ("What is the time to live of a task extension?", "docs/extensions.md"),
    ("How does a credential reach a running task?", "docs/extensions.md"),
    ("Which revisions of MCP does a site speak on one endpoint?", "docs/mcp.md"),
    ("How long are finished tasks kept, retention?", "docs/configuration.md"),
    ("Which egress addresses are allowed?", "docs/configuration.md"),
    ("How do I restore a backup?", "README.md"),
    ("How do I revoke a key?", "docs/keys.md"),
    ("how do I make a key?", "docs/keys.md"),
    ("Which scopes can a key have?", "docs/keys.md"),
    ("Which PDF and HTML files does the library read?", "docs/library.md"),
];

#[tokio::test]
async fn questions_about_agentsite_are_answered_from_the_page_that_answers_them() {
    let story = Story::begin().await;
    story.site.agents().install(demo_library(), None).await.unwrap();
    let agent = "library".parse().unwrap();
    let mut missed = Vec::new();
    for (question, page) in QUESTIONS {
        let task = story.ask(&agent, question).await;
        let passages = data(&task)["passages"].as_array().unwrap().clone();
        if !passages.iter().take(3).any(|passage| passage["file"] == page) {
            missed.push((question, sources(&task)));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
