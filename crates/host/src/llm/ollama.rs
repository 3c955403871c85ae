//! A running Ollama, found by itself.
//!
//! Promises: looking never takes longer than [`PATIENCE`] and happens at most every [`AGAIN`]; a glance at
//! what is known costs nothing and begins a new look in the background when the knowledge is old. It starts
//! nothing and loads no model.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_egress::Egress;
use agentsite_protocol::{Clock, Timestamp};
use serde::Deserialize;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::server::{IDLE, ModelServer, ServerAddress};
use crate::ModelApi;

/// How long a look may take; a server on the same machine answers within a few milliseconds. Tests share
/// their machine with compilers and wait longer.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 10_000 } else { 300 });

/// How long an observation is valid; people start and stop Ollama manually.
const AGAIN: Duration = Duration::from_secs(30);

/// Most models that are kept of the list.
const MAX_MODELS: usize = 1_000;

/// The place where Ollama may be running.
#[derive(Debug)]
pub(super) struct Ollama {
    base_url: Url,
    egress: Egress,
    clock: Arc<dyn Clock>,
    // A std lock: held for a copy, never across an await.
    seen: Mutex<Observation>,
}

#[derive(Debug, Default)]
struct Observation {
    at: Option<Timestamp>,
    sight: OllamaState,
    /// The probe in progress; dropping it ends it.
    look: Option<AbortOnDropHandle<()>>,
}

/// What is known of Ollama.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum OllamaState {
    /// Not looked up yet.
    #[default]
    Unknown,
    /// It is not there, or has no model.
    Absent,
    /// It is there with these models.
    Running(Arc<[String]>),
}

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

impl Ollama {
    /// A place to look at.
    pub(super) fn new(base_url: Url, egress: &Egress, clock: Arc<dyn Clock>) -> Arc<Self> {
        let egress = egress.trusting(&base_url);
        Arc::new(Self { base_url, egress, clock, seen: Mutex::default() })
    }

    /// What is known now. Old knowledge is renewed in the background.
    pub(super) fn glance(self: &Arc<Self>) -> OllamaState {
        let mut seen = self.lock();
        let busy = seen.look.as_ref().is_some_and(|look| !look.is_finished());
        if !busy
            && !self.is_fresh(&seen)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let place = self.clone();
            let look = runtime.spawn(async move {
                place.look().await;
            });
            seen.look = Some(AbortOnDropHandle::new(look));
        }
        seen.sight.clone()
    }

    /// What is known, after a look if nothing good is known.
    pub(super) async fn find(self: &Arc<Self>) -> OllamaState {
        match self.glance() {
            running @ OllamaState::Running(_) => running,
            _ if self.is_fresh(&self.lock()) => self.lock().sight.clone(),
            _ => self.look().await,
        }
    }

    /// One of its models, as a server.
    pub(super) fn server(&self, model: String) -> ModelServer {
        let address = ServerAddress {
            api: ModelApi::Openai,
            base_url: self.base_url.clone(),
            key: None,
            model,
            remedy: "a local Ollama requires no key; check which program listens there".into(),
        };
        ModelServer::new(address, &self.egress, IDLE)
    }

    async fn look(&self) -> OllamaState {
        let models = tokio::time::timeout(PATIENCE, self.tags()).await.ok().flatten();
        let sight = match models {
            Some(models) if !models.is_empty() => OllamaState::Running(models.into()),
            _ => OllamaState::Absent,
        };
        let mut seen = self.lock();
        seen.at = Some(self.clock.now());
        seen.sight = sight.clone();
        sight
    }

    async fn tags(&self) -> Option<Vec<String>> {
        let url = self.base_url.join("/api/tags").ok()?;
        let answer = self.egress.get(url).timeout(PATIENCE).send().await.ok()?;
        let tags: Tags = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
        Some(tags.models.into_iter().take(MAX_MODELS).map(|tag| tag.name).collect())
    }

    fn is_fresh(&self, seen: &Observation) -> bool {
        seen.at.is_some_and(|at| self.clock.now().since(at) < AGAIN)
    }

    fn lock(&self) -> MutexGuard<'_, Observation> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model to use of those that are there: the wanted one and no other, or the first that can chat when
/// none is wanted.
pub(super) fn pick<'a>(models: &'a [String], wanted: Option<&str>) -> Option<&'a str> {
    // Models that only embed are listed too and cannot chat.
    let chats = |model: &&String| !model.to_lowercase().contains("embed");
    let found = match wanted {
        Some(wanted) => models.iter().find(|model| names(model, wanted)),
        None => models.iter().find(chats).or_else(|| models.first()),
    };
    found.map(String::as_str)
}

fn names(model: &str, wanted: &str) -> bool {
    model == wanted || model.strip_suffix(":latest") == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_model_is_picked_with_or_without_its_tag() {
        let models = ["nomic-embed-text:latest", "qwen3:4b", "llama3.2:latest"].map(String::from);
        assert_eq!(pick(&models, Some("llama3.2")), Some("llama3.2:latest"));
        assert_eq!(pick(&models, Some("qwen3:4b")), Some("qwen3:4b"));
        assert_eq!(pick(&models, Some("gone")), None);
        assert_eq!(pick(&models, None), Some("qwen3:4b"));
        assert_eq!(pick(&models[..1], None), Some("nomic-embed-text:latest"));
        assert_eq!(pick(&[], None), None);
    }
}
