//! Likeness: warnings about names that can be taken for those of others.
//!
//! Promises: an entry, or a program that connects, is warned of each name of another owner that looks like
//! its own, and of the agents of the site. It warns and never refuses; `shape` decides what looks alike.

use agentsite_protocol::listing::{Listing, ListingId};
use agentsite_protocol::{AgentName, Principal};
use agentsite_store::Registration;

use super::{MAX_WARNINGS, Registry, shape};
use crate::error::RegistryError;

/// Finds the agents of the site whose names have one of these shapes, as [`name_shape`](super::name_shape)
/// makes them; given by the site, which keeps its agents by shape, so that a look does not go through all of
/// them.
pub type OwnNames<'a> = &'a (dyn Fn(&[String]) -> Vec<AgentName> + Send + Sync);

impl Registry {
    /// Adds a warning for each entry of another owner whose name can be taken for this one's.
    pub(super) async fn warn_of_like_names(
        &self,
        entry: &mut Registration,
        own: OwnNames<'_>,
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
        own: OwnNames<'_>,
    ) -> Result<Vec<String>, RegistryError> {
        let shapes = shape::alike(shape);
        let told = |name: AgentName| format!("its name looks like that of {name}, an agent of this site");
        let mut warnings: Vec<String> = own(&shapes).into_iter().map(told).collect();
        for holder in self.store.name_holders(shapes).await? {
            if holder.owner != *owner && id != Some(&holder.id) {
                warnings.push(format!(
                    "its name looks like that of {}, which belongs to another owner",
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
        own: OwnNames<'_>,
    ) -> Result<Vec<String>, RegistryError> {
        let mut warnings = self.like_names(&shape::shape(name), owner, None, own).await?;
        warnings.truncate(MAX_WARNINGS);
        Ok(warnings)
    }
}
