//! Token: how a caller carries its place in a list from page to page.
//!
//! Promises: a text without meaning to the caller, bound to the request that it was given for: with another
//! filter or another order it is refused. It grants nothing, for each page is asked for by a caller and shows
//! only what that caller may see.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::bad;
use crate::failure::Failure;

/// Longest token that is read; ours have some hundred letters.
const MAX_TOKEN: usize = 4096;

/// Bytes of the hash by which a token knows its request; it keeps mistakes out, not attackers.
const BOND: usize = 8;

/// What a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bond([u8; BOND]);

impl Bond {
    /// The bond of a request that has these parts.
    pub(super) fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let mut bond = [0; BOND];
        bond.copy_from_slice(&hash.finalize()[..BOND]);
        Self(bond)
    }

    /// Writes a token for this place.
    pub(super) fn token(&self, place: &[String]) -> String {
        let mut bytes = self.0.to_vec();
        bytes.extend(serde_json::to_vec(place).expect("texts are always written"));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a place from a token; none is the beginning.
    pub(super) fn place(&self, token: Option<&str>) -> Result<Option<Vec<String>>, Failure> {
        let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(None) };
        let read = || {
            let bytes = URL_SAFE_NO_PAD.decode(token).ok().filter(|_| token.len() <= MAX_TOKEN)?;
            let (bond, place) = bytes.split_at_checked(BOND)?;
            (bond == self.0).then(|| serde_json::from_slice(place).ok())?
        };
        read()
            .map(Some)
            .ok_or_else(|| bad("pageToken: send the one of the page before, with the same request"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_request_only() {
        let (one, other) = (Bond::of(&["a", "b"]), Bond::of(&["ab", ""]));
        let token = one.token(&["x".into(), "y".into()]);
        assert_eq!(one.place(Some(&token)).unwrap(), Some(vec!["x".into(), "y".into()]));
        assert_eq!(one.place(None).unwrap(), None);
        assert!(other.place(Some(&token)).is_err());
        for bad in ["!", "AAAA", "eyJwYWdlIjogMn0", &"A".repeat(5000)] {
            assert!(one.place(Some(bad)).is_err(), "{bad}");
        }
    }
}
