//! Decentralised identifiers in the two forms that are used here: `did:key`, which is the key itself, and
//! `did:web`, which is a host.
//!
//! Promises: one identifier for one key, and back; what is not exactly the written form of a key we know is
//! refused. A document counts for the `did:web` that it names itself, and only keys that we know are read
//! from it. It does not fetch documents.

use serde_json::Value;

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

/// The `did:web` of the host in an address such as `https://example.org:8443/x`; `None` when there is no
/// host.
#[must_use]
pub fn did_web(base: &str) -> Option<String> {
    let rest = base.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty() && !host.contains('@'))?;
    Some(format!("did:web:{}", host.replace('%', "%25").replace(':', "%3A")))
}

/// Where the document of a `did:web` is: host, with its port if it names one, and path. The fragment that
/// names a key does not matter.
#[must_use]
pub fn did_web_place(did: &str) -> Option<(String, String)> {
    let did = did.split('#').next()?;
    let mut parts = did.strip_prefix("did:web:").filter(|rest| rest.len() <= MAX_DID)?.split(':');
    let host = parts.next()?;
    let (name, port) = match host.split_once("%3A").or_else(|| host.split_once("%3a")) {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let plain = |text: &str, more: &str| {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || more.contains(letter);
        !text.is_empty() && text.chars().all(fits)
    };
    let is_port =
        |port: &str| !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(name, ".-") || port.is_some_and(|port| !is_port(port)) {
        return None;
    }
    let path: Vec<&str> = parts.collect();
    if path.iter().any(|part| !plain(part, "._-") || part.starts_with('.')) {
        return None;
    }
    let path = if path.is_empty() { ".well-known".to_owned() } else { path.join("/") };
    let authority = port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    Some((authority.to_lowercase(), format!("/{path}/did.json")))
}

/// The keys of a `did:web` document by their names; `None` when it is the document of another. Keys of kinds
/// that are not used here are left out.
#[must_use]
pub fn did_web_keys(document: &Value, did: &str) -> Option<Vec<(String, PublicKey)>> {
    let did = did.split('#').next()?;
    if document["id"] != did {
        return None;
    }
    let method = |method: &Value| {
        let id = method["id"].as_str()?;
        // A name may be written without the identity before it.
        let id = if id.starts_with('#') { format!("{did}{id}") } else { id.to_owned() };
        let key = match (&method["publicKeyJwk"], method["publicKeyMultibase"].as_str()) {
            (jwk @ Value::Object(_), _) => PublicKey::from_jwk(jwk).ok()?,
            (_, Some(multibase)) => PublicKey::from_did_key(&format!("did:key:{multibase}")).ok()?,
            _ => return None,
        };
        Some((id, key))
    };
    let methods = document["verificationMethod"].as_array().into_iter().flatten().take(MAX_METHODS);
    Some(methods.filter_map(method).collect())
}

/// Longest identity that is read: a host name and a few words.
const MAX_DID: usize = 512;

/// Most methods of a document that are read; ours have two.
const MAX_METHODS: usize = 32;

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

    #[test]
    fn a_did_web_says_where_its_document_is() {
        let place = |did: &str| did_web_place(did).map(|(host, path)| format!("{host}{path}"));
        assert_eq!(place("did:web:Example.org").unwrap(), "example.org/.well-known/did.json");
        assert_eq!(place("did:web:127.0.0.1%3A4747#k").unwrap(), "127.0.0.1:4747/.well-known/did.json");
        assert_eq!(place("did:web:example.org:user:alice").unwrap(), "example.org/user/alice/did.json");
        let long = format!("did:web:{}", "a".repeat(600));
        for odd in [
            "did:key:z6Mk",
            "did:web:",
            "did:web:a b",
            "did:web:a/b",
            "did:web:a%3Ax",
            "did:web:a%3A",
            "did:web:a:..:b",
            "did:web:a::b",
            "did:web:a%2Fb",
            "did:web:u@a",
            &long,
        ] {
            assert_eq!(place(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_document_names_keys_for_its_own_identity_only() {
        let ed = SigningKey::from_seed(Algorithm::EdDsa, &[7; 32]).unwrap().public();
        let p256 = SigningKey::from_seed(Algorithm::Es256, &[7; 32]).unwrap().public();
        let did = "did:web:example.org";
        let document = serde_json::json!({ "id": did, "verificationMethod": [
            { "id": "did:web:example.org#one", "publicKeyJwk": ed.jwk() },
            { "id": "#two", "publicKeyMultibase": p256.did_key().strip_prefix("did:key:").unwrap() },
            { "id": "#odd", "publicKeyJwk": { "kty": "RSA" } }, { "publicKeyJwk": ed.jwk() }, 1,
        ]});
        let keys = did_web_keys(&document, "did:web:example.org#one").unwrap();
        assert_eq!(keys, [(format!("{did}#one"), ed), (format!("{did}#two"), p256)]);
        assert_eq!(did_web_keys(&document, "did:web:other.example"), None);
        assert_eq!(did_web_keys(&serde_json::json!([]), did), None);
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
            let _ = did_web_place(&format!("did:web:{text}"));
        }
    }
}
