//! What a library costs while nobody asks, and what it keeps over a restart.
//!
//! The embedders of these stories keep a list of what they were given; how well they compare does not matter
//! here.

use std::path::PathBuf;
use std::sync::Mutex;

use agentsite_search::{EmbedError, Embedder, Embedders, Hashed, ModelId, Vector};
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::*;

/// An embedder that remembers what it read.
#[derive(Debug)]
struct Remembering {
    inner: Hashed,
    seen: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
}

impl Remembering {
    fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { inner: Hashed::new(places), seen: Mutex::default(), count: watch::Sender::default() })
    }

    /// How many texts it read that hold these words.
    fn read(&self, words: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|text| text.contains(words)).count()
    }

    /// Waits until it has read texts with all of these words.
    async fn has_read(&self, all: &[&str]) {
        let all_read = |_: &usize| all.iter().all(|words| self.read(words) > 0);
        self.count.subscribe().wait_for(all_read).await.unwrap();
    }
}

impl Embedder for Remembering {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        self.seen.lock().unwrap().extend_from_slice(texts);
        self.count.send_modify(|count| *count += texts.len());
        self.inner.embed(texts)
    }
}

/// A site that keeps the indexes of its libraries in this folder.
async fn site(libraries: &Path, fast: &Arc<Remembering>, full: Option<&Arc<Remembering>>) -> Story {
    let full = full.map(|full| full.clone() as Arc<dyn Embedder>);
    let mut settings = SiteSettings { libraries: Some(libraries.to_owned()), ..SiteSettings::default() };
    settings.search.embedders = Embedders { fast: fast.clone(), full };
    Story::with(settings).await
}

/// A folder of documents and one for indexes.
struct Place {
    folder: tempfile::TempDir,
    libraries: PathBuf,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        let place = Self { libraries: folder.path().join("libraries"), folder };
        files.iter().for_each(|(file, text)| place.write(file, text));
        place
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.folder.path().join("docs").join(file), text).unwrap();
    }

    async fn shelf(self, fast: &Arc<Remembering>, full: Option<&Arc<Remembering>>) -> (Shelf, PathBuf) {
        let Self { folder, libraries } = self;
        let story = site(&libraries, fast, full).await;
        let shelf = Shelf { story, folder, agent: "handbook".parse().unwrap() };
        shelf.install().await;
        (shelf, libraries)
    }
}

const WARRANTY: &str = "Keep the receipt, since nobody";

#[tokio::test]
async fn a_restart_encodes_only_what_changed() {
    let place =
        Place::with(&[("guide.md", GUIDE), ("notes.txt", "The garden is watered on Mondays. Bring a can.")]);
    let (fast, full) = (Remembering::new(64), Remembering::new(32));
    let (shelf, libraries) = place.shelf(&fast, Some(&full)).await;
    assert!(!sources(&shelf.ask("how long does the warranty last").await).is_empty());
    // Whole passages, not the sentences that are compared with the question.
    full.has_read(&["two years. Keep", "month. Never", "on Mondays. Bring"]).await;
    shelf.story.site.stop().await;

    let (fast, full) = (Remembering::new(64), Remembering::new(32));
    let Shelf { folder, .. } = shelf;
    let place = Place { folder, libraries };
    place.write("guide.md", &GUIDE.replace("vinegar", "lemon juice"));
    let (shelf, _) = place.shelf(&fast, Some(&full)).await;
    assert_eq!(
        sources(&shelf.ask("how often is the drum wiped with lemon juice").await)[0],
        "docs/guide.md › Guide › Cleaning (line 11)"
    );
    assert_eq!(sources(&shelf.ask("how often is the drum wiped with vinegar").await).len(), 1);
    assert!(!sources(&shelf.ask("how long does the warranty last").await).is_empty());
    let whole =
        |seen: &Remembering| seen.read("two years. Keep the receipt") + seen.read("on Mondays. Bring");
    assert_eq!((whole(&fast), whole(&full)), (0, 0), "{:?}", fast.seen);
    assert!(fast.read("drum with lemon juice every month. Never") > 0);
}

#[tokio::test]
async fn an_index_that_does_not_fit_is_made_anew() {
    let place = Place::with(&[("guide.md", GUIDE)]);
    let libraries = place.libraries.clone();
    let (shelf, _) = place.shelf(&Remembering::new(64), None).await;
    assert!(!sources(&shelf.ask("how long does the warranty last").await).is_empty());
    shelf.story.site.stop().await;
    let file = std::fs::read_dir(libraries.join("handbook")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "no index at all, whatever it says at its beginning").unwrap();
    let fast = Remembering::new(64);
    let (shelf, _) = Place { folder: shelf.folder, libraries }.shelf(&fast, None).await;
    assert!(!sources(&shelf.ask("how long does the warranty last").await).is_empty());
    assert!(fast.read(WARRANTY) > 0 && shelf.log().contains("the index is rebuilt"), "{}", shelf.log());
}

#[tokio::test]
async fn the_next_version_of_a_library_takes_its_index_over() {
    let fast = Remembering::new(64);
    let (shelf, libraries) = Place::with(&[("guide.md", GUIDE)]).shelf(&fast, None).await;
    assert!(!sources(&shelf.ask("how long does the warranty last").await).is_empty());
    let before = fast.read("two years. Keep the receipt");
    let manifest = Manifest::read(LIBRARY).unwrap();
    shelf.story.site.agents().reinstall(manifest, Some(shelf.folder.path().to_owned())).await.unwrap();
    assert!(!sources(&shelf.ask("how long does the warranty last").await).is_empty());
    assert_eq!(fast.read("two years. Keep the receipt"), before);
    assert!(libraries.join("handbook").exists());
}

#[tokio::test]
async fn an_index_goes_with_its_agent() {
    let fast = Remembering::new(64);
    let (shelf, libraries) = Place::with(&[("guide.md", GUIDE)]).shelf(&fast, None).await;
    shelf.ask("how long does the warranty last").await;
    assert!(libraries.join("handbook").exists());
    assert!(shelf.story.site.agents().uninstall(&shelf.agent).await);
    assert!(!libraries.join("handbook").exists());
    std::fs::create_dir(libraries.join("gone")).unwrap();
    shelf.install().await;
    shelf.ask("how long does the warranty last").await;
    shelf.story.site.start().await.unwrap();
    let left: Vec<_> =
        std::fs::read_dir(&libraries).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["handbook"], "what went while the site was stopped is removed at the start");
    let other =
        "name = \"handbook\"\ndescription = \"Echo\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    shelf.story.site.agents().install(Manifest::read(other).unwrap(), None).await.unwrap();
    assert!(!libraries.join("handbook").exists());
}

#[tokio::test]
async fn the_documentation_is_not_touched_before_somebody_asks() {
    let place = Place::with(&[]);
    let (fast, full) = (Remembering::new(2_048), Remembering::new(2_048));
    let story = site(&place.libraries, &fast, Some(&full)).await;
    story.site.agents().install(agentsite_library::demo_library(), None).await.unwrap();
    let agent: AgentName = "library".parse().unwrap();
    assert_eq!(story.site.agents().get(&Caller::local(), &agent).unwrap().health, Health::Ready.word());
    tokio::task::yield_now().await;
    assert!(!place.libraries.exists());
    assert_eq!((fast.read(""), full.read("")), (0, 0));
    let answer = story.ask(&agent, "How do I revoke a key?").await;
    assert!(
        sources(&answer).iter().any(|source| source.starts_with("docs/cli.md")),
        "{:?}",
        sources(&answer)
    );
    full.has_read(&["default", "receiver", "Ollama"]).await;
}
