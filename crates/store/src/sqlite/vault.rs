//! What the store's key is used for: encrypting secrets in rows, and authenticating rows and files.
//!
//! Promises: a sealed value opens only in the place that it was sealed for. The nonce is made from the place
//! and the value (a synthetic nonce), so that no source of randomness is needed and the same value in the
//! same place gives the same bytes. It does no IO.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac::{self, HMAC_SHA256};
use rusqlite::types::ValueRef;

use crate::StoreKey;

/// Bytes by which a sealed value is longer: the nonce and the tag. Storage is counted without them.
pub const SEAL: usize = NONCE_LEN + 16;

/// Bytes of a row's code that are kept beside it.
pub(super) const MAC: usize = 16;

/// The keys for single purposes.
pub struct Vault {
    aead: LessSafeKey,
    nonces: hmac::Key,
    rows: hmac::Key,
    salts: hmac::Key,
    records: hmac::Key,
    /// The key itself, for a backup that carries it.
    pub(super) key: StoreKey,
}

/// Shows nothing: a key must not reach a log.
impl std::fmt::Debug for Vault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Vault")
    }
}

impl Vault {
    /// The keys that follow from the store's key.
    #[must_use]
    pub fn new(key: &StoreKey) -> Self {
        let root = hmac::Key::new(HMAC_SHA256, key.bytes());
        let derive = |purpose: &str| hmac::sign(&root, purpose.as_bytes());
        let made = |purpose: &str| hmac::Key::new(HMAC_SHA256, derive(purpose).as_ref());
        let aead = UnboundKey::new(&CHACHA20_POLY1305, derive("store values v1").as_ref());
        Self {
            aead: LessSafeKey::new(aead.expect("the key has the length of the algorithm")),
            nonces: made("store nonces v1"),
            rows: made("store rows v1"),
            salts: made("store salts v1"),
            records: made("store records v1"),
            key: key.clone(),
        }
    }

    /// Encrypts a value for one place, such as a table and a key.
    #[must_use]
    pub fn seal(&self, place: &[&[u8]], value: &[u8]) -> Vec<u8> {
        let place = joined(place);
        let mut nonce = hmac::Context::with_key(&self.nonces);
        nonce.update(&place);
        nonce.update(value);
        let nonce: [u8; NONCE_LEN] = first(nonce.sign().as_ref());
        let mut sealed = value.to_vec();
        self.aead
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut sealed)
            .expect("values are shorter than the algorithm's limit");
        sealed.splice(0..0, nonce);
        sealed
    }

    /// Decrypts a value; `None` when it was sealed with another key, for another place, or changed.
    #[must_use]
    pub fn unseal(&self, place: &[&[u8]], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut rest = rest.to_vec();
        let length = self.aead.open_in_place(nonce, Aad::from(joined(place)), &mut rest).ok()?.len();
        rest.truncate(length);
        Some(rest)
    }

    /// The code of a row: the first half is kept beside the row, the second goes into the sum of its table,
    /// which is not shown.
    pub(super) fn row<'a>(
        &self,
        source: u8,
        values: impl Iterator<Item = ValueRef<'a>>,
    ) -> ([u8; MAC], u128) {
        let mut code = hmac::Context::with_key(&self.rows);
        code.update(&[source]);
        for value in values {
            add_value(&mut code, value);
        }
        let code = code.sign();
        let (kept, summed) = code.as_ref().split_at(MAC);
        (first(kept), u128::from_le_bytes(first(summed)))
    }

    /// The salt of a journal line: unknown without the key, so that the digest of a removed text tells
    /// nothing about it.
    #[must_use]
    pub fn salt(&self, previous: &[u8; 32]) -> [u8; 16] {
        first(hmac::sign(&self.salts, previous).as_ref())
    }

    /// The code of a small file beside the database.
    pub(super) fn record(&self, bytes: &[u8]) -> [u8; 16] {
        first(hmac::sign(&self.records, bytes).as_ref())
    }
}

fn add_value(code: &mut hmac::Context, value: ValueRef<'_>) {
    // A tag and a length before each value, so that no two rows run together to the same bytes.
    let mut tagged = |tag: u8, bytes: &[u8]| {
        code.update(&[tag]);
        code.update(&(bytes.len() as u64).to_le_bytes());
        code.update(bytes);
    };
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Integer(number) => tagged(1, &number.to_le_bytes()),
        ValueRef::Real(number) => tagged(2, &number.to_le_bytes()),
        ValueRef::Text(text) => tagged(3, text),
        ValueRef::Blob(bytes) => tagged(4, bytes),
    }
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        all.extend((part.len() as u64).to_le_bytes());
        all.extend(*part);
    }
    all
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| bytes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_opens_only_in_its_place_and_with_its_key() {
        let vault = Vault::new(&StoreKey::new([7; 32]));
        let sealed = vault.seal(&[b"settings", b"identity"], b"seed");
        assert_eq!(sealed.len(), b"seed".len() + SEAL);
        assert!(!sealed.windows(4).any(|part| part == b"seed"));
        assert_eq!(vault.unseal(&[b"settings", b"identity"], &sealed).as_deref(), Some(&b"seed"[..]));
        assert_eq!(vault.unseal(&[b"settings", b"secret"], &sealed), None);
        assert_eq!(vault.unseal(&[b"settingsid", b"entity"], &sealed), None);
        assert_eq!(Vault::new(&StoreKey::new([8; 32])).unseal(&[b"settings", b"identity"], &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(vault.unseal(&[b"settings", b"identity"], &changed), None, "byte {at}");
        }
    }

    #[test]
    fn the_code_of_a_row_tells_apart_what_runs_together() {
        let vault = Vault::new(&StoreKey::new([7; 32]));
        let code = |values: &[ValueRef<'_>]| vault.row(1, values.iter().copied());
        assert_ne!(
            code(&[ValueRef::Text(b"a"), ValueRef::Text(b"bc")]),
            code(&[ValueRef::Text(b"ab"), ValueRef::Text(b"c")])
        );
        assert_ne!(code(&[ValueRef::Text(b"1")]), code(&[ValueRef::Blob(b"1")]));
        assert_ne!(code(&[ValueRef::Null]), code(&[ValueRef::Text(b"")]));
    }
}
