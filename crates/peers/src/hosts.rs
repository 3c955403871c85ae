//! Hosts: the name by which a site is addressed where a URL is needed.
//!
//! Promises: one host for one site and back. The key is written in base32 in small letters, because hosts
//! have no capital ones; 52 letters fit a label of 63. The domain is one that DNS never has (RFC 9476), so
//! such a host never leads to a machine by mistake.

use agentsite_egress::LINK_DOMAIN;
use agentsite_mesh::SiteId;

/// The letters of base32 (RFC 4648, section 6), in small form.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Letters of a key.
const LENGTH: usize = 52;

/// The host of a site.
#[must_use]
pub fn link_host(site: &SiteId) -> String {
    let mut label = String::with_capacity(LENGTH);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in site.as_bytes() {
        bits = (bits << 8 | u32::from(*byte)) & 0xfff;
        held += 8;
        while held >= 5 {
            held -= 5;
            label.push(letter(bits >> held));
        }
    }
    if held > 0 {
        label.push(letter(bits << (5 - held)));
    }
    format!("{label}.{LINK_DOMAIN}")
}

fn letter(bits: u32) -> char {
    char::from(LETTERS[(bits & 31) as usize])
}

/// The site that a host names.
#[must_use]
pub fn site_of_host(host: &str) -> Option<SiteId> {
    let label = host.strip_suffix(LINK_DOMAIN)?.strip_suffix('.')?;
    if label.len() != LENGTH {
        return None;
    }
    let (mut bytes, mut at) = ([0_u8; 32], 0);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in label.bytes() {
        let value = LETTERS.iter().position(|letter| *letter == byte)?;
        bits = (bits << 5 | u32::try_from(value).ok()?) & 0xfff;
        held += 5;
        if held >= 8 {
            held -= 8;
            *bytes.get_mut(at)? = u8::try_from(bits >> held & 0xff).ok()?;
            at += 1;
        }
    }
    let site = SiteId::from_bytes(bytes);
    // The last letter has bits that no key has: there is one host for one site.
    (link_host(&site) == host && site.key().is_ok()).then_some(site)
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::{Algorithm, SigningKey};

    use super::*;

    #[test]
    fn a_host_names_one_site_and_every_site_has_one() {
        for seed in 1..40 {
            let key = SigningKey::from_seed(Algorithm::EdDsa, &[seed; 32]).unwrap();
            let site = SiteId::of(&key.public()).unwrap();
            let host = link_host(&site);
            assert!(host.split('.').next().is_some_and(|label| label.len() == LENGTH), "{host}");
            assert_eq!(site_of_host(&host), Some(site));
            assert!(
                url::Url::parse(&format!("http://{host}/a2a")).is_ok_and(|url| url.host_str() == Some(&host))
            );
            let mut other = host.clone().into_bytes();
            other[LENGTH - 1] = if other[LENGTH - 1] == b'b' { b'c' } else { b'b' };
            assert_eq!(site_of_host(std::str::from_utf8(&other).unwrap()), None, "spare bits");
        }
    }

    #[test]
    fn other_names_name_no_site() {
        for host in [
            "",
            "agentsite.alt",
            "abc.agentsite.alt",
            "example.org",
            &format!("{}.agentsite.alt", "A".repeat(52)),
        ] {
            assert_eq!(site_of_host(host), None, "{host}");
        }
    }
}
