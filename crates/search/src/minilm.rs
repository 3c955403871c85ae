//! MiniLm: the meaning of a sentence, by all-MiniLM-L6-v2 inside the binary.
//!
//! Promises: no file, no network, no key. Texts are encoded on threads for blocking work, never on the
//! workers that answer requests, and on no more of them at once than the machine has cores; long batches are
//! cut, so that a question does not wait for a whole import. The vectors of recent single texts are kept, and
//! those of the built-in agents' texts are carried ([`Known`]). Texts are read to 256 tokens, as the model's
//! own configuration says. A site that encodes nothing else does not touch the weights.

mod encoder;
mod known;
mod recent;
mod weights;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::future::{BoxFuture, try_join_all};
use tokio::sync::Semaphore;

use self::encoder::Encoder;
use self::known::Known;
use self::recent::Recent;
use crate::simd::Lanes;
use crate::wordpiece::WordPiece;
use crate::{EmbedError, Embedder, ModelId, Vector};

/// Tokens that one piece of work may hold, so that it takes some tens of milliseconds and its numbers stay
/// near the processor.
const TOKENS_AT_ONCE: usize = 256;

/// The encoder as an embedder.
#[derive(Debug)]
pub struct MiniLm {
    model: ModelId,
    /// Made with the first text that has to be encoded.
    encoder: Arc<OnceLock<Encoder>>,
    known: Known,
    /// One permit for each core.
    cores: Semaphore,
    /// Held for a look or an insertion, never across an await.
    recent: Mutex<Recent>,
}

impl MiniLm {
    /// Takes the embedded model into use. With the first text it reads its factors and norms (half a
    /// megabyte); the rest is left where it lies.
    #[must_use]
    pub fn load() -> Self {
        let model = ModelId::new(&format!("all-minilm-l6-v2-int8@{}", weights::digest()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let known = Known::carried(model.as_str());
        Self { model, encoder: Arc::default(), known, cores: Semaphore::new(cores), recent: Mutex::default() }
    }

    /// Whether some text was encoded, so that the weights were touched.
    #[must_use]
    pub fn has_encoded(&self) -> bool {
        self.encoder.get().is_some()
    }

    /// The file of vectors that the program carries, made anew for these texts.
    #[doc(hidden)]
    #[must_use]
    pub fn known_file(&self, mut texts: Vec<String>) -> Vec<u8> {
        texts.sort_unstable();
        texts.dedup();
        let vectors = self.encode(&texts);
        let pairs: Vec<(&str, &[f32])> =
            texts.iter().map(String::as_str).zip(vectors.iter().map(|vector| &*vector.values)).collect();
        known::write(self.model.as_str(), &pairs)
    }

    /// Encodes on the calling thread.
    #[must_use]
    pub fn encode(&self, texts: &[String]) -> Vec<Vector> {
        let works = works(texts);
        let encoder = encoder(&self.encoder);
        works.iter().flat_map(|work| encoder.encode(work)).map(|values| self.vector(values)).collect()
    }

    fn vector(&self, values: Box<[f32]>) -> Vector {
        Vector { model: self.model.clone(), values }
    }

    async fn elsewhere(&self, work: Vec<Vec<u32>>) -> Result<Vec<Box<[f32]>>, EmbedError> {
        let _core = self.cores.acquire().await.map_err(|_| stopped())?;
        let made = Arc::clone(&self.encoder);
        tokio::task::spawn_blocking(move || encoder(&made).encode(&work)).await.map_err(|_| stopped())
    }

    async fn all(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        if let [text] = texts
            && let Some(values) = self.recent().get(text)
        {
            return Ok(vec![self.vector(values)]);
        }
        let known: Vec<Option<Box<[f32]>>> = texts.iter().map(|text| self.known.get(text)).collect();
        let new: Vec<&String> =
            texts.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(text, _)| text).collect();
        let done = try_join_all(works(&new).into_iter().map(|work| self.elsewhere(work))).await?;
        let mut done = done.into_iter().flatten();
        let vectors = known.into_iter().filter_map(|known| known.or_else(|| done.next()));
        let vectors: Vec<Vector> = vectors.map(|values| self.vector(values)).collect();
        if let ([text], [vector], [_]) = (texts, vectors.as_slice(), new.as_slice()) {
            self.recent().put(text, &vector.values);
        }
        Ok(vectors)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn knows(&self, text: &str) -> bool {
        self.known.has(text)
    }
}

/// The encoder, made when it is first needed.
fn encoder(made: &OnceLock<Encoder>) -> &Encoder {
    made.get_or_init(|| Encoder::new(Lanes::best()))
}

/// The tokens of all texts, cut into pieces of work.
fn works<T: AsRef<str>>(texts: &[T]) -> Vec<Vec<Vec<u32>>> {
    let mut works: Vec<Vec<Vec<u32>>> = Vec::new();
    let mut held = TOKENS_AT_ONCE;
    for text in texts {
        let tokens = WordPiece::ours().tokens(text.as_ref(), weights::MOST_TOKENS);
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
