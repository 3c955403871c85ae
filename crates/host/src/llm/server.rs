//! ModelServer: a model behind HTTP, in either wire form.
//!
//! Promises: keeps the contract of the Model seam for any input from the server; the silence it bears is
//! bounded, and so is what it reads. Besides the public internet, only the one configured address is
//! reachable. It does not retry: the caller knows better whether the answer is still wanted.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use agentsite_egress::{Egress, EgressAnswer, EgressError, EgressRequest};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::unfold;
use serde_json::Value;
use url::Url;

use super::draft::Draft;
use super::fault::{Complaint, Flaw, ModelServerInfo};
use super::model::{ChatRequest, Model, ModelError, ModelEvent, ModelStream};
use super::wire::{self, Frames, MAX_STREAM, StreamError};
use super::{anthropic, openai};
use crate::ModelApi;
use crate::models::Secret;

/// The longest silence of a model server. A model on a slow processor reads a long prompt before it says
/// anything; the number is a guess with space to spare, not a measurement.
pub(super) const IDLE: Duration = Duration::from_secs(120);

/// How a model server is reached.
#[derive(Debug, Clone)]
pub(super) struct ServerAddress {
    /// Its wire form.
    pub(super) api: ModelApi,
    /// Where it is.
    pub(super) base_url: Url,
    /// The key it requires.
    pub(super) key: Option<Secret>,
    /// The requested model.
    pub(super) model: String,
    /// What to do when the key is refused.
    pub(super) remedy: String,
}

/// A model behind HTTP.
#[derive(Clone)]
pub(super) struct ModelServer {
    address: ServerAddress,
    place: ModelServerInfo,
    egress: Egress,
    idle: Duration,
}

/// The address without its key.
impl fmt::Debug for ModelServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ModelServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ModelServer {
    /// A model server that may be silent for `idle`. Its host and port are allowed even when they are
    /// private.
    pub(super) fn new(address: ServerAddress, egress: &Egress, idle: Duration) -> Self {
        let egress = egress.trusting(&address.base_url);
        let host = address.base_url.host_str().unwrap_or_default();
        let port = address.base_url.port_or_known_default().unwrap_or_default();
        let place = ModelServerInfo {
            name: format!("{host}:{port}"),
            model: address.model.clone(),
            remedy: address.remedy.clone(),
            key: address.key.clone(),
        };
        Self { address, place, egress, idle }
    }

    async fn ask(&self, request: ChatRequest) -> Result<ModelStream, ModelError> {
        let answer = self.send(&request).await?;
        if !answer.status().is_success() {
            return Err(self.refusal(answer).await);
        }
        let reading = Reading {
            place: self.place.clone(),
            idle: self.idle,
            take: match self.address.api {
                ModelApi::Openai => openai::take,
                ModelApi::Anthropic => anthropic::take,
            },
            reads: request.estimated_tokens(),
            frames: wire::frames(answer, self.idle),
            draft: Draft::default(),
            ready: VecDeque::new(),
            understood: false,
            ended: false,
        };
        Ok(unfold(reading, |mut reading| async move { reading.next().await.map(|event| (event, reading)) })
            .boxed())
    }

    async fn send(&self, request: &ChatRequest) -> Result<EgressAnswer, ModelError> {
        let ServerAddress { api, base_url, model, .. } = &self.address;
        let (url, body) = match api {
            ModelApi::Openai => (openai::address(base_url), openai::body(request, model, base_url)),
            ModelApi::Anthropic => (anthropic::address(base_url), anthropic::body(request, model)),
        };
        let post = self.request(url, &body).map_err(|error| self.unreachable(&error))?;
        post.send().await.map_err(|error| self.unreachable(&error))
    }

    fn request(&self, url: Url, body: &Value) -> Result<EgressRequest, EgressError> {
        let post = self.egress.post(url).json(body)?.timeout(self.idle).limit(MAX_STREAM);
        let unusable =
            |name: &str| EgressError::Settings(format!("the {name} holds characters that cannot be sent"));
        match (self.address.api, &self.address.key) {
            (ModelApi::Openai, None) => Ok(post),
            (ModelApi::Openai, Some(key)) => Ok(post.bearer(key.expose())),
            (ModelApi::Anthropic, key) => {
                let name = "anthropic-version".parse().map_err(|_| unusable("header"))?;
                let version = anthropic::VERSION.parse().map_err(|_| unusable("version"))?;
                let post = post.header(name, version);
                let Some(key) = key else { return Ok(post) };
                let value = key.expose().parse().map_err(|_| unusable("key"))?;
                Ok(post.header("x-api-key".parse().map_err(|_| unusable("header"))?, value))
            }
        }
    }

    async fn refusal(&self, answer: EgressAnswer) -> ModelError {
        let status = answer.status().as_u16();
        let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = after.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
        let body = wire::complaint(answer, self.idle).await;
        self.place.judge(&Flaw::Complaint(Complaint::read(status, after, &body)))
    }

    fn unreachable(&self, error: &EgressError) -> ModelError {
        let place = self.place.name.clone();
        match error {
            EgressError::TimedOut { after, .. } => ModelError::TimedOut { place, after: *after },
            other => ModelError::Unreachable { place, why: self.place.excerpt(&other.to_string()) },
        }
    }
}

impl Model for ModelServer {
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// An answer that is being read.
struct Reading {
    place: ModelServerInfo,
    idle: Duration,
    take: fn(&mut Draft, &str) -> Result<Option<String>, Flaw>,
    /// About how many tokens the model read, should the server not count.
    reads: u64,
    frames: Frames,
    draft: Draft,
    ready: VecDeque<ModelEvent>,
    /// Whether any event made sense.
    understood: bool,
    ended: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.ended {
                return None;
            }
            let frame = self.frames.next().await;
            if let Err(error) = self.take(frame) {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }

    fn take(&mut self, frame: Option<Result<String, StreamError>>) -> Result<(), ModelError> {
        let place = self.place.name.clone();
        match frame {
            Some(Ok(data)) => {
                let text = (self.take)(&mut self.draft, &data).map_err(|flaw| self.place.judge(&flaw))?;
                self.understood = true;
                self.ready.extend(text.map(ModelEvent::Text));
                if self.draft.done {
                    self.finish();
                }
            }
            // Everything that matters has come; how the connection ends does not.
            _ if self.draft.end.is_some() => self.finish(),
            None if !self.understood => return Err(self.place.bad_answer("no event stream")),
            None | Some(Err(StreamError::Cut)) => return Err(ModelError::CutOff { place }),
            Some(Err(StreamError::Silent)) => return Err(ModelError::TimedOut { place, after: self.idle }),
            Some(Err(StreamError::Garbage(why))) => return Err(self.place.bad_answer(&why)),
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.ready.extend(self.draft.finish(self.reads));
        self.ended = true;
    }
}
