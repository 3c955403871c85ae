//! The resolver that sees only the public internet.
//!
//! Promises: the address that is checked is the address that is connected to, because the HTTP client
//! receives only that one; each new connection is checked anew, so a name that moves into a private network
//! later is refused then. Names are looked up by the system. It does not see numeric addresses in a URL:
//! [`super::Egress`] checks those.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{Network, is_global};
use super::failure::{LeadsInside, NoAddress};

/// Gives the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Asks the system.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// Which addresses of a name may be used.
#[derive(Clone)]
pub(super) enum Filter {
    /// The public internet and these networks.
    Guarded(Arc<[Network]>),
    /// All: the operator allowed the name itself.
    Open,
}

impl Filter {
    fn lets(&self, address: IpAddr) -> bool {
        match self {
            Self::Guarded(networks) => {
                is_global(address) || networks.iter().any(|network| network.contains(address))
            }
            Self::Open => true,
        }
    }
}

/// Looks names up and keeps the addresses that the filter lets through.
pub(super) struct FilteredResolver {
    pub(super) filter: Filter,
    pub(super) lookup: Lookup,
}

impl Resolve for FilteredResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (filter, host) = (self.filter.clone(), name.as_str().to_owned());
        let looking = (self.lookup)(host.clone());
        Box::pin(async move {
            let found = match looking.await {
                Ok(found) if !found.is_empty() => found,
                Ok(_) => return Err(NoAddress { host, reason: "no records".into() }.into()),
                Err(error) => return Err(NoAddress { host, reason: error.to_string() }.into()),
            };
            let first = found[0];
            let mut usable = found.into_iter().filter(move |address| filter.lets(*address)).peekable();
            if usable.peek().is_none() {
                return Err(LeadsInside { host, address: first }.into());
            }
            let addresses: Vec<SocketAddr> = usable.map(|address| SocketAddr::new(address, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
