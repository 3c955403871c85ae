//! An endpoint elsewhere as a model of the search.
//!
//! Promises: its vectors have length 1 and one model id, `endpoint:MODEL@DIMENSIONS`, so that they are never
//! compared with those of another model. When the endpoint does not answer, that is an error of this text
//! alone. The wire is `client`'s matter.

use agentsite_client::{ClientError, Embeddings};
use agentsite_search::{EmbedError, Embedder, ModelId, Vector};
use futures::future::BoxFuture;

/// An endpoint as an embedder.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Embeddings,
    model: ModelId,
    dimensions: usize,
}

impl Endpoint {
    /// The model at the endpoint, which is asked for its dimensions when they are not known.
    pub(super) async fn open(
        client: Embeddings,
        model: &str,
        dimensions: Option<usize>,
    ) -> Result<Self, EmbedError> {
        let dimensions = match dimensions {
            Some(known) => known,
            None => {
                let vectors =
                    client.embed(&["dimensions".to_owned()]).await.map_err(|error| embed_error(&error))?;
                vectors.first().map(Vec::len).unwrap_or_default()
            }
        };
        let model = ModelId::new(&format!("endpoint:{model}@{dimensions}"));
        Ok(Self { client, model, dimensions })
    }
}

impl Embedder for Endpoint {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move {
            let vectors = self.client.embed(texts).await.map_err(|error| embed_error(&error))?;
            vectors.into_iter().map(|values| self.directed(values)).collect()
        })
    }
}

impl Endpoint {
    /// A vector as a direction of length 1.
    fn directed(&self, mut values: Vec<f32>) -> Result<Vector, EmbedError> {
        if values.len() != self.dimensions {
            let what = format!("{} values instead of {}", values.len(), self.dimensions);
            return Err(EmbedError::Unusable(what));
        }
        // In wide numbers: the squares of large values do not fit narrow ones.
        let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if !length.is_normal() {
            return Err(EmbedError::Unusable("it has no length".into()));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a value of a direction is between -1 and 1")]
        values.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        Ok(Vector { model: self.model.clone(), values: values.into() })
    }
}

fn embed_error(error: &ClientError) -> EmbedError {
    match error {
        ClientError::BadAnswer { .. } => EmbedError::Unusable(error.to_string()),
        _ => EmbedError::Endpoint(error.to_string()),
    }
}
