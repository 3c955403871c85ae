//! Embeddings: vectors of texts from an endpoint of the OpenAI style.
//!
//! Promises: one vector for each text, in order, all finite and of one length, or an error; an answer is
//! bounded in size and time. An endpoint that fails again and again is paused for a while, so that not
//! every question waits for it. It does not know what the vectors are for.

mod section;

use std::time::Duration;

use agentsite_egress::{Circuits, Egress};
use http::Method;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{ClientError, Token};

pub use section::EmbeddingsSection;

/// Texts of one request; endpoints take a few hundred, and small ones answer sooner.
const BATCH: usize = 32;

/// How long one text may take: a caller waits for the answer to a question.
const QUESTION_TIME: Duration = Duration::from_secs(3);

/// How long several texts may take: no caller waits, and a small machine needs its time.
const BATCH_TIME: Duration = Duration::from_secs(60);

/// Largest number of values of a vector; the largest models have a quarter of it.
pub const MAX_DIMENSIONS: usize = 16_384;

/// Largest answer for one text: every value of the longest vector written with all its digits.
const MAX_ANSWER: usize = MAX_DIMENSIONS * 32;

/// Longest text that is sent, in bytes; models read a few hundred words.
const MAX_TEXT: usize = 8 * 1024;

/// Longest piece of an endpoint's own words that is repeated.
const EXCERPT: usize = 200;

/// An endpoint that gives vectors.
#[derive(Debug, Clone)]
pub struct Embeddings {
    egress: Egress,
    circuits: Circuits,
    url: Url,
    model: String,
    key: Option<Token>,
    dimensions: Option<usize>,
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// The endpoint below this address, such as `https://api.example.org/v1`, which itself may always be
    /// asked; `dimensions` are wanted of it and checked.
    #[must_use]
    pub fn new(
        egress: &Egress,
        circuits: &Circuits,
        url: &Url,
        model: &str,
        key: Option<Token>,
        dimensions: Option<usize>,
    ) -> Self {
        let mut url = url.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with("/embeddings") {
            url.set_path(&format!("{path}/embeddings"));
        }
        let (egress, circuits, model) = (egress.trusting(&url), circuits.clone(), model.to_owned());
        Self { egress, circuits, url, model, key, dimensions }
    }

    /// One vector for each text.
    ///
    /// # Errors
    /// [`ClientError::BadAnswer`] when the answer is not what was asked for, or why there was none.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ClientError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let permit = self.circuits.enter(self.url.as_str())?;
            let answered = self.ask(batch).await;
            ClientError::report(answered.as_ref().err(), permit);
            vectors.extend(answered?);
        }
        let length = self.dimensions.or_else(|| vectors.first().map(Vec::len)).unwrap_or_default();
        if vectors.iter().any(|vector: &Vec<f32>| vector.len() != length) {
            return Err(self.bad(format!("its vectors do not have {length} values each")));
        }
        Ok(vectors)
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ClientError> {
        let input = texts.iter().map(|text| &text[..text.floor_char_boundary(MAX_TEXT)]).collect();
        let asked = EmbeddingRequest {
            model: &self.model,
            input,
            encoding_format: "float",
            dimensions: self.dimensions,
        };
        let time = if texts.len() == 1 { QUESTION_TIME } else { BATCH_TIME };
        let mut request = self.egress.request(Method::POST, self.url.clone()).json(&asked)?;
        request = request.timeout(time).limit(MAX_ANSWER.saturating_mul(texts.len()));
        if let Some(key) = &self.key {
            request = request.bearer(key.secret());
        }
        let answer = request.send().await?;
        let (status, bytes) = (answer.status(), answer.bytes().await?);
        if !status.is_success() {
            let said: String = String::from_utf8_lossy(&bytes).chars().take(EXCERPT).collect();
            let message = format!("{} answered {status}: {said}", self.host());
            return Err(ClientError::Status { status: status.as_u16(), code: None, message });
        }
        let answered: EmbeddingResponse =
            serde_json::from_slice(&bytes).map_err(|error| self.bad(error.to_string()))?;
        self.in_order(answered.data, texts.len())
    }

    /// The vectors in the order of the texts.
    fn in_order(&self, data: Vec<Embedded>, wanted: usize) -> Result<Vec<Vec<f32>>, ClientError> {
        if data.len() != wanted {
            return Err(self.bad(format!("it returned {} vectors for {wanted} texts", data.len())));
        }
        let mut places: Vec<Option<Vec<f32>>> = vec![None; wanted];
        for (at, one) in data.into_iter().enumerate() {
            let finite = one.embedding.iter().all(|value| value.is_finite());
            let some = one.embedding.iter().any(|value| *value != 0.0);
            if !finite || !some || one.embedding.len() > MAX_DIMENSIONS {
                return Err(self.bad(
                    "a vector is empty, contains values that are not numbers, or has too \
                                     many"
                        .into(),
                ));
            }
            match places.get_mut(one.index.unwrap_or(at)) {
                Some(place @ None) => *place = Some(one.embedding),
                _ => return Err(self.bad("the indexes of its vectors do not match the texts".into())),
            }
        }
        Ok(places.into_iter().flatten().collect())
    }

    fn host(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    fn bad(&self, what: String) -> ClientError {
        ClientError::BadAnswer { from: self.host(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_protocol::Rng;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Never;

    impl Rng for Never {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(0);
        }
    }

    fn endpoint(url: &str) -> Embeddings {
        let circuits = Circuits::new(Arc::new(Never));
        Embeddings::new(&Egress::default(), &circuits, &url.parse().unwrap(), "m", None, None)
    }

    fn read(data: &str, wanted: usize) -> Result<Vec<Vec<f32>>, ClientError> {
        let answered: EmbeddingResponse = serde_json::from_str(&format!(r#"{{"data":{data}}}"#)).unwrap();
        endpoint("https://example.org/v1").in_order(answered.data, wanted)
    }

    #[test]
    fn the_address_may_be_written_with_or_without_its_last_step() {
        for url in ["https://a.b/v1", "https://a.b/v1/", "https://a.b/v1/embeddings"] {
            assert_eq!(endpoint(url).url.as_str(), "https://a.b/v1/embeddings");
        }
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let data = r#"[{"index":1,"embedding":[2.0]},{"index":0,"embedding":[1.0]}]"#;
        assert_eq!(read(data, 2).unwrap(), [[1.0], [2.0]]);
        assert_eq!(read(r#"[{"embedding":[3.0]}]"#, 1).unwrap(), [[3.0]]);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for (data, wanted) in [
            (r#"[{"embedding":[1.0]}]"#, 2),
            (r#"[{"embedding":[]}]"#, 1),
            (r#"[{"embedding":[0.0,0.0]}]"#, 1),
            (r#"[{"index":7,"embedding":[1.0]}]"#, 1),
            (r#"[{"index":0,"embedding":[1.0]},{"index":0,"embedding":[1.0]}]"#, 2),
        ] {
            assert!(matches!(read(data, wanted), Err(ClientError::BadAnswer { .. })), "{data}");
        }
    }
}
