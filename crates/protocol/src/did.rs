//! Decentralised identifiers in the two forms that are used here: `did:key`, which is the key itself, and `did:web`, which is a host.
//!
//! Promises: one identifier for one key, and back; what is not exactly the written form of a key we know is refused. It does not
//! fetch documents.

use crate::key::{BadKey, PublicKey};

/// What every `did:key` in base58btc begins with.
const DID_KEY: &str = "did:key:z";

/// The letters of base58btc.
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Multicodec of an Ed25519 public key (0xed as a varint).
const ED25519: [u8; 2] = [0xed, 0x01];

/// Multicodec of a P-256 public key (0x1200 as a varint).
const P256: [u8; 2] = [0x80, 0x24];

/// Longest text that is decoded: a P-256 key takes 48 letters, and decoding takes quadratic time.
const MAX_LETTERS: usize = 64;

impl PublicKey {
    /// The key as a `did:key`.
    #[must_use]
    pub fn did_key(&self) -> String {
        let (codec, point) = match self {
            Self::Ed25519(_) => (ED25519, self.point()),
            Self::P256(_) => (P256, self.point()),
        };
        format!("{DID_KEY}{}", base58(&[&codec, point.as_slice()].concat()))
    }

    /// Reads a `did:key`, also with the fragment that names its one key.
    ///
    /// # Errors
    /// [`BadKey`] when it is none, or of a kind of key that is not used here.
    pub fn from_did_key(did: &str) -> Result<Self, BadKey> {
        let (did, fragment) = did.split_once('#').unwrap_or((did, ""));
        let letters = did.strip_prefix(DID_KEY).ok_or(BadKey::Did)?;
        if !fragment.is_empty() && fragment.strip_prefix('z') != Some(letters) {
            return Err(BadKey::Did);
        }
        let bytes = from_base58(letters).ok_or(BadKey::Did)?;
        let (codec, point) = bytes.split_first_chunk().ok_or(BadKey::Did)?;
        match *codec {
            ED25519 => Self::ed25519(point),
            // Only the compressed form, so that one key has one name.
            P256 if point.len() == 33 => Self::p256(point),
            _ => Err(BadKey::Kind),
        }
    }
}

/// The `did:web` of the host in an address such as `https://example.org:8443/x`; `None` when there is no host.
#[must_use]
pub fn did_web(base: &str) -> Option<String> {
    let rest = base.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty() && !host.contains('@'))?;
    Some(format!("did:web:{}", host.replace('%', "%25").replace(':', "%3A")))
}

fn base58(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut digits: Vec<u8> = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = low(carry % 58);
            carry /= 58;
        }
        while carry > 0 {
            digits.push(low(carry % 58));
            carry /= 58;
        }
    }
    let letters = digits.iter().rev().map(|digit| char::from(ALPHABET[usize::from(*digit)]));
    "1".repeat(zeros).chars().chain(letters).collect()
}

fn from_base58(text: &str) -> Option<Vec<u8>> {
    if text.len() > MAX_LETTERS {
        return None;
    }
    let zeros = text.bytes().take_while(|letter| *letter == b'1').count();
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for letter in text.bytes() {
        let mut carry = u32::try_from(ALPHABET.iter().position(|known| *known == letter)?).ok()?;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            *byte = low(carry & 0xff);
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(low(carry & 0xff));
            carry >>= 8;
        }
    }
    bytes.extend(std::iter::repeat_n(0, zeros));
    bytes.reverse();
    Some(bytes)
}

fn low(value: u32) -> u8 {
    u8::try_from(value).expect("a digit fits into a byte")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Algorithm, SigningKey};
    use proptest::prelude::*;

    #[test]
    fn base58_gives_its_known_values() {
        for (bytes, text) in [
            (&b"Hello World!"[..], "2NEpo7TZRRrLZSi2U"),
            (&[0, 0, 0x28, 0x7f, 0xb4, 0xcd][..], "11233QC4"),
            (&[][..], ""),
        ] {
            assert_eq!(base58(bytes), text);
            assert_eq!(from_base58(text).unwrap(), bytes);
        }
        assert_eq!(from_base58("0OIl"), None);
        assert_eq!(from_base58(&"1".repeat(65)), None);
    }

    #[test]
    fn keys_are_read_back_from_their_names() {
        for (algorithm, begins) in [(Algorithm::EdDsa, "did:key:z6Mk"), (Algorithm::Es256, "did:key:zDn")] {
            let key = SigningKey::from_seed(algorithm, &[7; 32]).unwrap().public();
            let did = key.did_key();
            assert!(did.starts_with(begins), "{did}");
            assert_eq!(PublicKey::from_did_key(&did).unwrap(), key);
            let fragment = did.strip_prefix("did:key:").unwrap();
            assert_eq!(PublicKey::from_did_key(&format!("{did}#{fragment}")).unwrap(), key);
            assert!(PublicKey::from_did_key(&format!("{did}#other")).is_err());
            assert!(PublicKey::from_did_key(&did[..did.len() - 1]).is_err());
        }
    }

    #[test]
    fn what_is_no_key_we_know_is_refused() {
        for odd in ["", "did:key:", "did:key:z", "did:web:example.org", "did:key:u6Mk", "did:key:z11111111"] {
            assert!(PublicKey::from_did_key(odd).is_err(), "{odd}");
        }
        // secp256k1, whose codec is 0xe7.
        let other = format!("{DID_KEY}{}", base58(&[&[0xe7, 0x01][..], &[2; 33]].concat()));
        assert!(matches!(PublicKey::from_did_key(&other), Err(BadKey::Kind)));
    }

    #[test]
    fn a_host_is_named_with_its_port_escaped() {
        assert_eq!(did_web("https://example.org").unwrap(), "did:web:example.org");
        assert_eq!(did_web("http://127.0.0.1:4747/a/b").unwrap(), "did:web:127.0.0.1%3A4747");
        assert_eq!(did_web("example.org"), None);
        assert_eq!(did_web("https://"), None);
    }

    proptest! {
        #[test]
        fn bytes_come_back_from_base58(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(from_base58(&base58(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn no_text_makes_the_reader_of_names_panic(text: String) {
            let _ = PublicKey::from_did_key(&format!("{DID_KEY}{text}"));
            let _ = did_web(&text);
        }
    }
}
