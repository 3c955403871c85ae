//! Network: which network of sites a site is in, and the secret of a private one.
//!
//! Promises: the secret does not show itself in logs. It does not decide which network a site is in: `shared`
//! does.

use std::fmt;

use agentsite_store::Collection;
use serde::{Deserialize, Serialize};

/// Where the network is kept that the site joined by an invite; one record.
pub(crate) const NETWORK: Collection<JoinedNetwork> = Collection::new("mesh_network");

/// The key of that record.
pub(crate) const NETWORK_KEY: &str = "joined";

/// The secret of a private network. It is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NetworkSecret(String);

impl NetworkSecret {
    /// Takes the secret; spaces around it, as files have them, are dropped.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(secret.trim().to_owned())
    }

    /// The secret itself, for the transport and for invites.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NetworkSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("NetworkSecret(…)")
    }
}

/// A network of sites.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JoinedNetwork {
    /// Its name; the public one when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<NetworkSecret>,
}
