//! Pseudonym: by what one receiving site tells the users of a calling site apart, and two receivers cannot
//! link them.
//!
//! It is HMAC-SHA-256 (RFC 2104) of receiver and user under a secret of the calling site, cut to 16 bytes:
//! the same for one user at one receiver, and unrelated at another one.
//!
//! Promises: without the secret nothing about the user can be found out of it. There is one written form, 32
//! hexadecimal digits in small letters. It proves nothing: the token that carries it does.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// The block of SHA-256, in bytes, which HMAC fills with the key.
const BLOCK: usize = 64;

/// The user of a calling site, as one receiver knows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pseudonym([u8; 16]);

/// A text that is not the written form of a pseudonym.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a pseudonym has 32 hexadecimal digits in small letters")]
pub struct BadPseudonym;

impl Pseudonym {
    /// The pseudonym of a user at a receiving site, by a secret that only the calling site has.
    #[must_use]
    pub fn of(secret: &[u8; 32], user: &str, receiver: &str) -> Self {
        let mut key = [0_u8; BLOCK];
        key[..secret.len()].copy_from_slice(secret);
        let padded = |pad: u8| Sha256::new_with_prefix(key.map(|byte| byte ^ pad));
        // The receiver is a DID, which has no zero byte: no other pair gives the same text.
        let inner = padded(0x36).chain_update(receiver).chain_update([0]).chain_update(user).finalize();
        let outer = padded(0x5c).chain_update(inner).finalize();
        Self(outer[..16].try_into().expect("a digest has 32 bytes"))
    }
}

impl fmt::Display for Pseudonym {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Pseudonym {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pseudonym({self})")
    }
}

impl FromStr for Pseudonym {
    type Err = BadPseudonym;

    fn from_str(text: &str) -> Result<Self, BadPseudonym> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(BadPseudonym);
        }
        let mut bytes = [0_u8; 16];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| BadPseudonym)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_hmac_that_other_programs_compute() {
        // python3 -c "import hmac; print(hmac.new(bytes([7])*32, b'did:key:zB\0key:k1',
        // 'sha256').hexdigest()[:32])"
        let made = Pseudonym::of(&[7; 32], "key:k1", "did:key:zB");
        assert_eq!(made.to_string(), "246b787c942d75cfaa60e89b813a9886");
        assert_eq!(made.to_string().parse(), Ok(made));
    }

    #[test]
    fn it_differs_by_user_receiver_and_secret() {
        let made = [
            Pseudonym::of(&[7; 32], "key:k1", "did:key:zB"),
            Pseudonym::of(&[7; 32], "key:k2", "did:key:zB"),
            Pseudonym::of(&[7; 32], "key:k1", "did:key:zC"),
            Pseudonym::of(&[8; 32], "key:k1", "did:key:zB"),
        ];
        for (place, one) in made.iter().enumerate() {
            assert!(!made[place + 1..].contains(one));
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in
            ["", "0", &"0".repeat(31), &"0".repeat(33), &"A".repeat(32), &"g".repeat(32), &"é".repeat(16)]
        {
            assert_eq!(text.parse::<Pseudonym>(), Err(BadPseudonym), "{text}");
        }
    }
}
