//! What the search of a site is made of: where its index lies, and which models make its vectors.
//!
//! Promises: the one place where the models are chosen. An endpoint that cannot be used at the start is
//! logged, and the site works without it.

mod endpoint;

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_client::{Embeddings, Token};
use agentsite_egress::{Circuits, Egress};
use agentsite_search::{Embedder, Embedders, FinderSettings, MiniLm, Static};

use crate::config::Config;
use crate::instance::DataFolder;
use endpoint::Endpoint;

/// The search of a site.
pub(super) async fn settings(
    config: &Config,
    variables: &BTreeMap<String, String>,
    data: &DataFolder,
    egress: &Egress,
    circuits: &Circuits,
) -> FinderSettings {
    let full: Option<Arc<dyn Embedder>> = match endpoint(config, variables, egress, circuits) {
        None => Some(Arc::new(MiniLm::load())),
        Some((client, dimensions)) => opened(client, config, dimensions).await,
    };
    let embedders = Embedders { fast: Arc::new(Static::load()), full };
    FinderSettings { folder: Some(data.index()), embedders }
}

/// The endpoint that the configuration names; its address was checked when it was read.
fn endpoint(
    config: &Config,
    variables: &BTreeMap<String, String>,
    egress: &Egress,
    circuits: &Circuits,
) -> Option<(Embeddings, Option<usize>)> {
    let section = &config.search.embeddings;
    let url = section.url.as_ref()?.parse().ok()?;
    let key = section.key_env.as_ref().and_then(|name| {
        let key = variables.get(name);
        if key.is_none() {
            tracing::warn!("search.embeddings.key_env: the variable {name} is not set");
        }
        key.map(|key| Token::new(key))
    });
    let model = section.model.as_deref().unwrap_or_default();
    Some((Embeddings::new(egress, circuits, &url, model, key, section.dimensions), section.dimensions))
}

async fn opened(client: Embeddings, config: &Config, dimensions: Option<usize>) -> Option<Arc<dyn Embedder>> {
    let model = config.search.embeddings.model.as_deref().unwrap_or_default();
    match Endpoint::open(client, model, dimensions).await {
        Ok(endpoint) => Some(Arc::new(endpoint)),
        Err(error) => {
            tracing::warn!(
                "{error}; agents are found without it until the site is restarted, unless search.embeddings.dimensions is named"
            );
            None
        }
    }
}
