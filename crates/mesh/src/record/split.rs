//! SplitProfile: what a record says of the split of a cell.
//!
//! Promises: two centroids of one model and one length. Two records with the same content have the same
//! digest, also when different sites signed them: they support one split. Who may sign, and which of
//! several splits counts, is decided in [`crate::cells`].

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cell_id::CellId;
use crate::vectors::{AgentVectors, BadVector, VectorCodes};

/// What is hashed before a split, so that other hashes are not digests of one.
const DIGEST_DOMAIN: &[u8] = b"agentsite split v1\0";

/// The two centroids that a cell is split by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SplitProfile {
    model: String,
    dimensions: usize,
    centroids: [VectorCodes; 2],
}

impl SplitProfile {
    /// A split by these centroids.
    ///
    /// # Errors
    /// [`BadVector`] when they are not of one length, or the model has no usable name.
    pub fn new(model: &str, centroids: [VectorCodes; 2]) -> Result<Self, BadVector> {
        let dimensions = centroids[0].codes().len();
        Self { model: model.into(), dimensions, centroids }.check()
    }

    /// Checks the bounds.
    pub(super) fn check(self) -> Result<Self, BadVector> {
        let vectors = AgentVectors::new(&self.model, self.centroids.to_vec())?;
        if vectors.dimensions() == self.dimensions { Ok(self) } else { Err(BadVector::Length) }
    }

    /// The model whose vectors are split.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The centres of side 0 and side 1.
    #[must_use]
    pub const fn centroids(&self) -> &[VectorCodes; 2] {
        &self.centroids
    }

    /// What two records about the same split of a cell have in common.
    #[must_use]
    pub fn digest(&self, cell: CellId) -> [u8; 32] {
        let mut hash = Sha256::new_with_prefix(DIGEST_DOMAIN);
        hash.update(format!("{cell} {} ", self.model));
        for centroid in &self.centroids {
            hash.update(centroid.codes().iter().map(|code| code.cast_unsigned()).collect::<Vec<u8>>());
        }
        hash.finalize().into()
    }
}
