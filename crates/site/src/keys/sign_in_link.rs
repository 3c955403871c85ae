//! One-time links by which an admin signs a browser in.
//!
//! Promises: a link works once, for a short while, in every process of the site and after a restart. Making
//! one writes nothing: it carries its own end under a code of the site, and only its use is recorded, in the
//! transaction that begins the session. It does not begin sessions: see `sessions`.

use std::time::Duration;

use agentsite_protocol::Timestamp;
use agentsite_store::{Collection, RecordChange, StoreError};
use ring::hmac;

use super::hex;

/// How long a link works.
const LIFE: Duration = Duration::from_secs(15 * 60);

/// The links that were used, by their random part, until they end.
pub(super) const USED: Collection<()> = Collection::new("used-sign-in-links");

/// Bytes of the random part: no two links are the same.
const RANDOM: usize = 16;

/// Bytes of a link: the random part, the end in milliseconds, the code of both.
const LENGTH: usize = RANDOM + 8 + 32;

/// Makes and reads the links of a site.
#[derive(Debug)]
pub(super) struct SignInLinks(hmac::Key);

/// A link that is right and has not ended; it may have been used.
pub(super) struct SignInLink {
    id: String,
    end: Timestamp,
}

impl SignInLinks {
    /// The links under a key that all processes of the site share.
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    /// A new link, as it stands in an address.
    pub(super) fn make(&self, random: [u8; RANDOM], now: Timestamp) -> String {
        let end = now.plus(LIFE).as_millis().to_be_bytes();
        let bytes = [&random[..], &end].concat();
        hex(&[&bytes, hmac::sign(&self.0, &bytes).as_ref()].concat())
    }

    /// Reads a link; `None` when it is not one of this site or has ended.
    pub(super) fn read(&self, text: &str, now: Timestamp) -> Option<SignInLink> {
        let bytes = unhex(text)?;
        let (content, code) = bytes.split_at_checked(RANDOM + 8)?;
        hmac::verify(&self.0, content, code).ok()?;
        let (random, end) = content.split_at(RANDOM);
        let end = Timestamp::from_millis(i64::from_be_bytes(end.try_into().ok()?));
        (end > now).then(|| SignInLink { id: hex(random), end })
    }
}

impl SignInLink {
    /// The edit that uses the link up; its change is refused when the link was used before.
    pub(super) fn used(&self) -> Result<RecordChange, StoreError> {
        Ok(USED.put(&self.id, None, 0, &())?.ending(self.end))
    }
}

/// Reads the hexadecimal digits of a link.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.len() != 2 * LENGTH {
        return None;
    }
    let digit = |at: usize| char::from(digits[at]).to_digit(16).and_then(|value| u8::try_from(value).ok());
    (0..LENGTH).map(|at| Some(digit(2 * at)? << 4 | digit(2 * at + 1)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_link_is_read_until_its_end_by_every_process_of_the_site() {
        let (one, other) = (SignInLinks::new([1; 32]), SignInLinks::new([1; 32]));
        let link = one.make([7; RANDOM], at(1_000));
        let end = 1_000 + 15 * 60_000;
        assert!(other.read(&link, at(1_000)).is_some());
        assert!(other.read(&link, at(end - 1)).is_some());
        assert!(other.read(&link, at(end)).is_none());
        assert!(SignInLinks::new([2; 32]).read(&link, at(1_000)).is_none(), "of another site");
    }

    #[test]
    fn a_changed_link_is_refused() {
        let links = SignInLinks::new([1; 32]);
        let link = links.make([7; RANDOM], at(1_000));
        for place in 0..link.len() {
            let mut changed = link.clone().into_bytes();
            changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
            assert!(links.read(&String::from_utf8(changed).unwrap(), at(1_000)).is_none(), "digit {place}");
        }
        for text in ["", "00", &link[1..], &format!("{link}0"), &"é".repeat(LENGTH)] {
            assert!(links.read(text, at(1_000)).is_none(), "{text}");
        }
    }
}
