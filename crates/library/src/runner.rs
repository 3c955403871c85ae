//! The runner of a library: takes a question from a task, finds passages, and answers with them.
//!
//! Promises: a program gets passages as data, a person gets quotations, or sentences of the model with their
//! sources. A run that is cancelled stops at once; stopping the agent waits only for what is being written to
//! the index.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{AgentLog, Health, Job, LogSource, Reporter, Runner};
use agentsite_protocol::{Artifact, Clock, Outcome, Step};
use agentsite_search::Embedders;
use futures::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::SEARCH;
use crate::answer;
use crate::compose::{self, Composed, Composer};
use crate::folders::IndexFolder;
use crate::reading::Reading;
use crate::scan::Source;

/// Most passages that a program gets.
const MOST: usize = 20;

/// Earlier messages that are considered, to see what a short question continues.
const MEMORY: usize = 6;

/// Documents that a notice names.
const NAMED: usize = 3;

/// How long a stop waits for what is being written to the index. An endpoint that makes vectors may take
/// longer; what it would have given is made again at the next start.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// Runs a library.
#[derive(Debug)]
struct Library {
    answerer: Arc<Answerer>,
    keeper: std::sync::Mutex<Option<JoinHandle<()>>>,
    stop: CancellationToken,
    // Ends the keeper when the agent is dropped without being stopped.
    _stop: DropGuard,
}

/// What answers.
#[derive(Debug)]
struct Answerer {
    reading: Arc<Reading>,
    composer: Option<Composer>,
    log: AgentLog,
}

/// Starts a library over a source of documents and begins to read.
pub(super) fn start(
    source: Source,
    folder: IndexFolder,
    composer: Option<Composer>,
    clock: Arc<dyn Clock>,
    embedders: &Embedders,
    log: &AgentLog,
) -> Arc<dyn Runner> {
    let reading = Arc::new(Reading::new(source, folder, embedders.clone(), log.clone(), clock));
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(reading.clone().keep(stop.clone()));
    let answerer = Arc::new(Answerer { reading, composer, log: log.clone() });
    Arc::new(Library { answerer, keeper: Some(keeper).into(), _stop: stop.clone().drop_guard(), stop })
}

impl Runner for Library {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let answerer = self.answerer.clone();
        Box::pin(async move {
            let cancel = job.cancel.clone();
            tokio::select! {
                biased;
                () = cancel.cancelled() => Outcome::Canceled(None),
                outcome = answerer.answer(job, report) => outcome,
            }
        })
    }

    fn is_pure(&self) -> bool {
        self.answerer.composer.is_none()
    }

    fn memory(&self) -> usize {
        MEMORY
    }

    fn health(&self) -> Health {
        self.answerer.reading.health()
    }

    fn notice(&self) -> Option<String> {
        let shelf = self.answerer.reading.shelf();
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
        let reading = self.answerer.reading.clone();
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
    /// As text.
    Words(String),
    /// As passages for a program, this many.
    Passages(String, usize),
}

impl Request {
    /// The request of a message; `None` for data that is not a search.
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

impl Answerer {
    async fn answer(&self, job: Job, report: Reporter) -> Outcome {
        let Some(request) = Request::of(&job) else {
            let form = serde_json::json!({"skill": SEARCH, "arguments": {"query": "…"}});
            return Outcome::Rejected(job.words(format!("Ask a question as text, or send the data {form}.")));
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

    /// The answer as text; written by a model when there is one. `None` when the task was ended.
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
                self.log.push(LogSource::Site, &format!("answered with quotations only: {why}"));
                return Some(quoted());
            }
        };
        Some(vec![answer::words_artifact(words, picks), answer::data(&self.reading, question, picks)])
    }
}
