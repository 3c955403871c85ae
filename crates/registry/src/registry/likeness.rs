//! Likeness: warnings about names that can be taken for those of others.
//!
//! Promises: an entry, or a program that connects, is warned of each name of another owner that looks like
//! its own, and of the agents of the site. It warns and never refuses; what looks alike is told by `shape`.

use std::collections::HashSet;

use agentsite_protocol::Principal;
use agentsite_protocol::listing::{Listing, ListingId};
use agentsite_store::Registration;

use super::{MAX_WARNINGS, Registry, shape};
use crate::error::RegistryError;

/// The name of an agent of the site itself, and what it looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnName {
    /// The name.
    pub name: String,
    /// What it looks like, as [`name_shape`](super::name_shape) tells.
    pub shape: String,
}

impl Registry {
    /// Adds a warning for each entry of another owner whose name can be taken for this one's.
    pub(super) async fn warn_of_like_names(
        &self,
        entry: &mut Registration,
        own: &[OwnName],
    ) -> Result<(), RegistryError> {
        let Listing { owner, id, .. } = &entry.listing;
        let warnings = self.like_names(&entry.shape, owner, Some(id), own).await?;
        entry.listing.warnings.extend(warnings);
        entry.listing.warnings.truncate(MAX_WARNINGS);
        Ok(())
    }

    /// A warning for each entry of another owner, and each agent of the site, whose name can be taken for one
    /// of this shape.
    async fn like_names(
        &self,
        shape: &str,
        owner: &Principal,
        id: Option<&ListingId>,
        own: &[OwnName],
    ) -> Result<Vec<String>, RegistryError> {
        let shapes = shape::alike(shape);
        let mut warnings: Vec<String> = Vec::new();
        // There may be thousands of names on either side.
        let known: HashSet<&str> = shapes.iter().map(String::as_str).collect();
        for OwnName { name, .. } in own.iter().filter(|own| known.contains(own.shape.as_str())) {
            warnings.push(format!("its name looks like that of {name}, an agent of this site"));
        }
        for holder in self.store.name_holders(shapes).await? {
            if holder.owner != *owner && id != Some(&holder.id) {
                warnings.push(format!(
                    "its name looks like that of {}, which belongs to somebody else",
                    holder.id
                ));
            }
        }
        Ok(warnings)
    }

    /// The same warnings about an agent that connects under this name.
    ///
    /// # Errors
    /// [`RegistryError::Store`].
    pub async fn warnings_about(
        &self,
        name: &str,
        owner: &Principal,
        own: &[OwnName],
    ) -> Result<Vec<String>, RegistryError> {
        let mut warnings = self.like_names(&shape::shape(name), owner, None, own).await?;
        warnings.truncate(MAX_WARNINGS);
        Ok(warnings)
    }
}
