//! Library: the built-in agent that answers from the documents of a folder.
//!
//! Promises: answers are quotations with their sources, or, with a model, sentences that name the passages they come from. The documents are followed as they change.
//! Starting it costs nothing: they are read in the background, and what an earlier process made of them is kept. It needs no key and no model.
//!
//! It joins `host`, whose Runner it is, and `search`, which finds; it knows nothing else of the site.

mod answer;
mod compose;
mod document;
mod own;
mod passage;
mod read;
mod reading;
mod scan;
mod sentence;
mod shelf;
mod stacks;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{
    AgentLog, Health, Job, LaunchError, LibraryRuntime, Manifest, Reporter, Runner, Runtime, SkillEntry,
    Workshop,
};
use agentsite_protocol::{Artifact, Clock, Outcome, Step};
use agentsite_search::Embedders;
use futures::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use compose::{Composed, Composer};
use reading::Reading;
use scan::Source;
use stacks::Room;

pub(crate) use stacks::Stacks;

/// The skill that gives passages to programs.
const SEARCH: &str = "search_library";

/// Most passages that a program gets.
const MOST: usize = 20;

/// Earlier messages that are looked at, to see what a short question goes on with.
const MEMORY: usize = 6;

/// Documents that a notice names.
const NAMED: usize = 3;

/// How long a stop waits for what is being written to the index; an endpoint that makes vectors may take longer, and what it gives is then made again.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// The demo: a library of agentsite's own documentation.
const DEMO: &str = include_str!("library/demo.toml");

/// What a library can do when its file says nothing of it.
const SKILLS: &str = include_str!("library/skills.toml");

/// The manifest of the library that a site without agents serves.
#[must_use]
pub fn demo_library() -> Manifest {
    Manifest::read(DEMO).expect("the demo is read in a test")
}

/// Gives a library the skills that every library has: the one for programs, and the one for people unless its file declares skills of its own.
pub(crate) fn complete(manifest: &mut Manifest) {
    if !matches!(manifest.runtime, Runtime::Library(_)) {
        return;
    }
    let own = !manifest.skills.is_empty();
    let declared = manifest.skills.iter().any(|skill| skill.id == SEARCH);
    manifest
        .skills
        .extend(skills().into_iter().filter(|skill| if skill.id == SEARCH { !declared } else { !own }));
}

fn skills() -> Vec<SkillEntry> {
    Manifest::read(SKILLS).expect("the skills are read in a test").skills
}

/// Runs a library.
#[derive(Debug)]
struct Library {
    desk: Arc<LibraryDesk>,
    keeper: std::sync::Mutex<Option<JoinHandle<()>>>,
    stop: CancellationToken,
    // Ends the keeper when the agent is dropped without being stopped.
    _stop: DropGuard,
}

/// What answers.
#[derive(Debug)]
struct LibraryDesk {
    reading: Arc<Reading>,
    composer: Option<Composer>,
    log: AgentLog,
}

/// Makes the runner of a library and begins to read.
///
/// # Errors
/// [`LaunchError`] says what is missing.
pub(crate) fn launch(
    library: &LibraryRuntime,
    manifest: &Manifest,
    folder: Option<&Path>,
    workshop: &Workshop,
    (embedders, stacks): (&Embedders, &Stacks),
    log: &AgentLog,
) -> Result<Arc<dyn Runner>, LaunchError> {
    let source = Source::of(library.path.as_deref(), folder.unwrap_or(Path::new(".")));
    let composer = library.talk.then(|| Composer::launch(library, manifest, workshop, log)).transpose()?;
    let (room, clock) = (stacks.room(&manifest.name), workshop.ids.clock().clone());
    Ok(start(source, room, composer, clock, embedders, log))
}

/// A library whose answers are written by this runner in place of a model, for stories.
#[cfg(test)]
pub(crate) fn with_model(
    folder: &Path,
    model: Arc<dyn Runner>,
    clock: Arc<dyn Clock>,
    embedders: &Embedders,
) -> Arc<dyn Runner> {
    let source = Source::of(Some("docs"), folder);
    let log = AgentLog::new(clock.clone());
    start(source, Room::none(), Some(Composer::with(model)), clock, embedders, &log)
}

fn start(
    source: Source,
    room: Room,
    composer: Option<Composer>,
    clock: Arc<dyn Clock>,
    embedders: &Embedders,
    log: &AgentLog,
) -> Arc<dyn Runner> {
    let reading = Arc::new(Reading::new(source, room, embedders.clone(), log.clone(), clock));
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(reading.clone().keep(stop.clone()));
    let desk = Arc::new(LibraryDesk { reading, composer, log: log.clone() });
    Arc::new(Library { desk, keeper: Some(keeper).into(), _stop: stop.clone().drop_guard(), stop })
}

impl Runner for Library {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let desk = self.desk.clone();
        Box::pin(async move {
            let cancel = job.cancel.clone();
            tokio::select! {
                biased;
                () = cancel.cancelled() => Outcome::Canceled(None),
                outcome = desk.answer(job, report) => outcome,
            }
        })
    }

    fn is_pure(&self) -> bool {
        self.desk.composer.is_none()
    }

    fn memory(&self) -> usize {
        MEMORY
    }

    fn health(&self) -> Health {
        self.desk.reading.health()
    }

    fn notice(&self) -> Option<String> {
        let shelf = self.desk.reading.shelf();
        let names: Vec<&str> = shelf.troubles().map(|(file, _)| file).collect();
        let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMED { " and others" } else { "" };
        let documents = if names.len() == 1 { "document" } else { "documents" };
        (!names.is_empty())
            .then(|| format!("{} {documents} cannot be read: {shown}{more}; the log says why", names.len()))
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.stop.cancel();
        let keeper = self.keeper.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let reading = self.desk.reading.clone();
        Box::pin(async move {
            if let Some(keeper) = keeper {
                let _ = keeper.await;
                let _ = tokio::time::timeout(LAST_WRITE, reading.settled()).await;
            }
        })
    }
}

/// A question and in which form its answer is wanted.
enum Request {
    /// In words.
    Words(String),
    /// As passages for a program, this many.
    Passages(String, usize),
}

impl Request {
    /// The request of a message; `None` for data that is no search.
    fn of(job: &Job) -> Option<Self> {
        let mut data = job.message.parts.iter().filter_map(|part| part.data.as_ref());
        if let Some(data) = data.next() {
            let arguments = Some(&data["arguments"]).filter(|_| data["skill"] == SEARCH)?;
            let most = arguments["k"].as_u64().and_then(|most| usize::try_from(most).ok());
            let query = arguments["query"].as_str().unwrap_or_default();
            let most = most.unwrap_or(answer::PASSAGES).clamp(1, MOST);
            return Some(Self::Passages(query.trim().to_owned(), most));
        }
        let earlier: Vec<_> = job.conversation.iter().chain(&job.history).cloned().collect();
        Some(Self::Words(answer::question(&job.message, &earlier)))
    }
}

impl LibraryDesk {
    async fn answer(&self, job: Job, report: Reporter) -> Outcome {
        let Some(request) = Request::of(&job) else {
            let form = serde_json::json!({"skill": SEARCH, "arguments": {"query": "…"}});
            return Outcome::Rejected(job.words(format!("Ask in words, or send the data {form}.")));
        };
        let (question, most) = match &request {
            Request::Words(question) => (question, answer::PASSAGES),
            Request::Passages(question, most) => (question, *most),
        };
        if question.is_empty() {
            return Outcome::InputRequired(job.words("What do you want to know?"));
        }
        let state = self.reading.fresh().await;
        if let Health::Down(why) = self.reading.health() {
            return job.failed(why);
        }
        let picks = match answer::find(&self.reading, question, most).await {
            Ok(picks) => picks,
            Err(error) => return job.failed(error.to_string()),
        };
        let artifacts = match &request {
            Request::Passages(question, _) => vec![answer::data(&self.reading, question, &picks)],
            Request::Words(question) => match self.words(&job, &report, question, &picks).await {
                Some(artifacts) => artifacts,
                None => return Outcome::Canceled(None),
            },
        };
        for artifact in artifacts {
            if report.step(Step::Artifact { artifact, append: false, last_chunk: true }).await.is_err() {
                return Outcome::Canceled(None);
            }
        }
        let unread = format!("{} documents are still being read; ask again for more.", state.unread);
        Outcome::Completed((state.unread > 0).then(|| job.words(unread)))
    }

    /// The answer in words; written by a model when there is one. `None` when the task was ended.
    async fn words(
        &self,
        job: &Job,
        report: &Reporter,
        question: &str,
        picks: &[answer::Pick],
    ) -> Option<Vec<Artifact>> {
        let quoted = || answer::quoted(&self.reading, question, picks);
        let Some(composer) =
            self.composer.as_ref().filter(|composer| composer.is_ready() && !picks.is_empty())
        else {
            return Some(quoted());
        };
        let words = match composer.compose(job, report, question, picks).await {
            Composed::Answer(words) => compose::with_sources(&words, picks),
            Composed::Unanswered => answer::nothing(&self.reading),
            Composed::Canceled => return None,
            Composed::Failed(why) => {
                self.log
                    .push(agentsite_host::LogSource::Site, &format!("answered with quotations alone: {why}"));
                return Some(quoted());
            }
        };
        Some(vec![answer::words_artifact(words, picks), answer::data(&self.reading, question, picks)])
    }
}
