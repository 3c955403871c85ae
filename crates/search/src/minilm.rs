//! MiniLm: the meaning of a sentence, by all-MiniLM-L6-v2 inside the binary.
//!
//! Promises: no file, no network, no key. Texts are encoded on threads for blocking work, never on the workers that answer requests, and on no
//! more of them at once than the machine has cores; long batches are cut, so that a question does not wait for a whole import. The vectors of
//! recent single texts are kept. Texts are read to 256 tokens, as the model's own configuration says. A site that never encodes never touches the weights.

mod encoder;
mod recent;
mod weights;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use futures::future::{BoxFuture, try_join_all};
use tokio::sync::Semaphore;

use self::encoder::Encoder;
use self::recent::Recent;
use crate::simd::Lanes;
use crate::wordpiece::WordPiece;
use crate::{EmbedError, Embedder, ModelId, Vector};

/// Tokens that one piece of work may hold, so that it takes some tens of milliseconds and its numbers stay near the processor.
const TOKENS_AT_ONCE: usize = 256;

/// The encoder as an embedder.
#[derive(Debug)]
pub struct MiniLm {
    model: ModelId,
    encoder: Arc<LazyLock<Encoder>>,
    /// One permit for each core.
    cores: Semaphore,
    /// Held for a look or an insertion, never across an await.
    recent: Mutex<Recent>,
}

impl MiniLm {
    /// Takes the embedded model into use. With the first text it reads its factors and norms (half a megabyte); the rest is left where it lies.
    #[must_use]
    pub fn load() -> Self {
        let encoder: LazyLock<Encoder> = LazyLock::new(|| Encoder::new(Lanes::best()));
        let model = ModelId::new(&format!("all-minilm-l6-v2-int8@{}", weights::digest()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { model, encoder: Arc::new(encoder), cores: Semaphore::new(cores), recent: Mutex::default() }
    }

    /// Encodes on the calling thread.
    #[must_use]
    pub fn encode(&self, texts: &[String]) -> Vec<Vector> {
        let works = works(texts);
        works.iter().flat_map(|work| self.encoder.encode(work)).map(|values| self.vector(values)).collect()
    }

    fn vector(&self, values: Box<[f32]>) -> Vector {
        Vector { model: self.model.clone(), values }
    }

    async fn elsewhere(&self, work: Vec<Vec<u32>>) -> Result<Vec<Box<[f32]>>, EmbedError> {
        let _core = self.cores.acquire().await.map_err(|_| stopped())?;
        let encoder = Arc::clone(&self.encoder);
        tokio::task::spawn_blocking(move || encoder.encode(&work)).await.map_err(|_| stopped())
    }

    async fn all(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        let known = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let [text] = texts
            && let Some(values) = known().get(text)
        {
            return Ok(vec![self.vector(values)]);
        }
        let done = try_join_all(works(texts).into_iter().map(|work| self.elsewhere(work))).await?;
        let vectors: Vec<Vector> = done.into_iter().flatten().map(|values| self.vector(values)).collect();
        if let ([text], [vector]) = (texts, vectors.as_slice()) {
            known().put(text, &vector.values);
        }
        Ok(vectors)
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        weights::WIDTH
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(self.all(texts))
    }
}

/// The tokens of all texts, cut into pieces of work.
fn works(texts: &[String]) -> Vec<Vec<Vec<u32>>> {
    let mut works: Vec<Vec<Vec<u32>>> = Vec::new();
    let mut held = TOKENS_AT_ONCE;
    for text in texts {
        let tokens = WordPiece::ours().tokens(text, weights::MOST_TOKENS);
        if held + tokens.len() > TOKENS_AT_ONCE {
            works.push(Vec::new());
            held = 0;
        }
        held += tokens.len();
        works.last_mut().expect("a piece of work was just begun").push(tokens);
    }
    works
}

fn stopped() -> EmbedError {
    EmbedError::Unusable("the program is ending".to_owned())
}

#[cfg(test)]
mod tests;
