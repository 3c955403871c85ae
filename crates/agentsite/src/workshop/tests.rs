//! What the pages may do with the agents folder, and what they may not: real files in a folder of its own,
//! and a site that only counts how often it was asked to look. The tests of the gateway cover permissions.

use agentsite_protocol::Visibility;
use agentsite_site::World;
use tempfile::TempDir;

use super::*;

struct Story {
    root: TempDir,
    workshop: FolderWorkshop,
    /// How often the site was asked to look.
    looks: Arc<std::sync::atomic::AtomicUsize>,
}

impl Story {
    fn begin() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (looks, mut asked) = ScanRequester::channel();
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = count.clone();
        tokio::spawn(async move {
            while let Some(answer) = asked.next().await {
                counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                answer.done();
            }
        });
        let agents = root.path().join("agents");
        let workshop = FolderWorkshop::new(&agents, root.path().join("trash"), World::system().clock, looks);
        Self { root, workshop, looks: count }
    }

    fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.path().join("agents").join(path)).unwrap()
    }

    fn looked(&self) -> usize {
        self.looks.load(std::sync::atomic::Ordering::SeqCst)
    }
}

fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

fn wanted(agent: &str, template: &str) -> NewAgent {
    NewAgent {
        name: name(agent),
        template: template.into(),
        description: None,
        visibility: None,
        model: None,
    }
}

#[tokio::test]
async fn every_template_makes_an_agent_as_it_was_wished() {
    let story = Story::begin();
    let offered = story.workshop.templates();
    assert!(offered.iter().all(|one| !one.about.is_empty() && !one.example.is_empty()), "{offered:?}");
    for template in &offered {
        let description = "Says \"hi\"\\\u{7f}\t<b>\u{1f600}".to_owned();
        let wish = NewAgent {
            description: Some(description.clone()),
            visibility: Some(Visibility::Peers),
            model: template.model.then(|| "mine:small".into()),
            ..wanted(&format!("my-{}", template.id), &template.id)
        };
        let drafted = story.workshop.draft(&wish).unwrap();
        story.workshop.create(wish).await.unwrap();
        for file in &drafted {
            assert_eq!(story.file(&format!("my-{}/{}", template.id, file.path)), file.text);
        }
        let manifest = Manifest::read(&story.file(&format!("my-{}/agent.toml", template.id))).unwrap();
        assert_eq!((&manifest.description, manifest.visibility), (&description, Visibility::Peers));
        let text = story.file(&format!("my-{}/agent.toml", template.id));
        assert_eq!(text.contains("mine:small"), template.model);
    }
    assert_eq!(story.looked(), offered.len());
}

#[tokio::test]
async fn words_of_a_wish_are_never_taken_for_keys() {
    let story = Story::begin();
    let line = "visibility = \"public\"          # private | peers | public";
    for description in [line, "NAME", "'''", "\"\"\"", "a # b = \"c\""] {
        let wish = NewAgent {
            description: Some(description.into()),
            visibility: Some(Visibility::Private),
            ..wanted("x", "sh")
        };
        let files = story.workshop.draft(&wish).unwrap();
        let manifest = Manifest::read(&files[0].text).unwrap();
        assert_eq!((manifest.description.as_str(), manifest.visibility), (description, Visibility::Private));
    }
}

#[tokio::test]
async fn wishes_that_cannot_be_are_refused_and_nothing_is_written() {
    let story = Story::begin();
    for bad in ["../x", "a/b", "", "A", "x\0y", ".hidden", "-x", &"x".repeat(64)] {
        assert!(bad.parse::<AgentName>().is_err(), "{bad} is not a name, so no request can have it");
    }
    let unknown = story.workshop.create(wanted("x", "cobol")).await.unwrap_err();
    assert!(unknown.to_string().contains("sh, python"), "{unknown}");
    let long = NewAgent { description: Some("x".repeat(5_000)), ..wanted("x", "sh") };
    assert!(matches!(story.workshop.create(long).await, Err(WorkshopError::Bad(_))));
    let lines = NewAgent { description: Some("a\nvisibility = \"public\"".into()), ..wanted("x", "sh") };
    assert!(matches!(story.workshop.create(lines).await, Err(WorkshopError::Bad(_))));
    assert!(!story.root.path().join("agents").exists());

    std::fs::create_dir_all(story.root.path().join("agents/x")).unwrap();
    assert_eq!(story.workshop.create(wanted("x", "sh")).await, Err(WorkshopError::Taken(name("x"))));
    std::os::unix::fs::symlink("/nowhere", story.root.path().join("agents/y")).unwrap();
    assert_eq!(story.workshop.create(wanted("y", "sh")).await, Err(WorkshopError::Taken(name("y"))));
    assert_eq!(story.looked(), 0);
}

#[tokio::test]
async fn an_edit_counts_for_the_text_that_was_read_and_for_a_sound_one_only() {
    let story = Story::begin();
    story.workshop.create(wanted("x", "sh")).await.unwrap();
    let read = story.workshop.manifest(name("x")).await.unwrap();
    let edit = |text: String, revision: &str| story.workshop.write(name("x"), text, revision.to_owned());

    let torn = read.text.replace("visibility =", "visability =");
    let problems = story.workshop.check(&name("x"), &torn);
    assert!(problems[0].line > 1 && problems[0].what.contains("visability"), "{problems:?}");
    assert!(matches!(edit(torn, &read.revision).await, Err(WorkshopError::Bad(_))));
    let renamed = read.text.replace("name = \"x\"", "name = \"y\"");
    assert!(story.workshop.check(&name("x"), &renamed)[0].what.contains("the name stays"));
    assert!(edit("#".repeat(300 << 10), &read.revision).await.is_err(), "larger than a manifest may be");
    assert_eq!(story.file("x/agent.toml"), read.text);

    let better = read.text.replace("Counts the words", "Counts all words");
    let after = edit(better.clone(), &read.revision).await.unwrap();
    assert_eq!((story.file("x/agent.toml"), &after.text), (better.clone(), &better));
    assert_eq!(edit(read.text.clone(), &read.revision).await, Err(WorkshopError::Moved));
    let left: Vec<_> = std::fs::read_dir(story.root.path().join("agents/x")).unwrap().flatten().collect();
    assert!(left.iter().all(|one| !one.file_name().to_string_lossy().starts_with('.')), "{left:?}");
}

#[tokio::test]
async fn agents_go_for_a_while_or_to_the_trash() {
    let story = Story::begin();
    let agents = story.root.path().join("agents");
    story.workshop.create(wanted("x", "sh")).await.unwrap();
    assert!(story.workshop.suspend(name("x")).await.unwrap().suspended);
    assert!(scan::scan(&agents).unwrap().is_empty());
    let suspended = story.workshop.suspended().await.unwrap();
    assert_eq!(suspended[0].name, name("x"));
    assert!(!story.workshop.resume(name("x")).await.unwrap().suspended);
    assert_eq!(scan::scan(&agents).unwrap().len(), 1);
    story.workshop.suspend(name("x")).await.unwrap();
    let trashed = story.workshop.remove(name("x")).await.unwrap();
    assert!(Path::new(&trashed).join("agent.sh").exists() && !agents.join("x").exists());
    for missing in ["x", "nobody"] {
        let error = story.workshop.remove(name(missing)).await.unwrap_err();
        assert_eq!(error, WorkshopError::NoSuchAgent(name(missing)));
    }
}
