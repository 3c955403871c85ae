//! How a delivery and its receiver are named: by an id that receivers see, and by an origin that holds
//! nothing secret.
//!
//! Promises: pure.

use sha2::{Digest, Sha256};

/// The id of a delivery: the same for one event and one receiver, whenever it is attempted and by whichever
/// process.
pub(super) fn delivery_id(of: &[u8], config: &str, seq: u64) -> String {
    let mut hash = Sha256::new();
    hash.update(of);
    hash.update(seq.to_be_bytes());
    hash.update(config.as_bytes());
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Scheme, host and port of an address: all that anybody but its owner and its receiver may see of it.
pub(super) fn origin(url: &str) -> String {
    url::Url::parse(url)
        .map_or_else(|_| "an address that cannot be read".into(), |url| url.origin().ascii_serialization())
}
