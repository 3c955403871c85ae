//! Authority: the one host that a request names.
//!
//! Promises: a request that names no host where it must, two hosts, or something that is not a host is
//! refused before anything else looks at it, so that no two parts of the way (a proxy, a cache, a check of
//! ours) can take it for requests to different sites. Follows RFC 9112 section 3.2 and RFC 9113 section
//! 8.3.1. Whether the host is this site's own is `caller`'s matter.

use http::{HeaderMap, Uri, Version, header};

use crate::failure::{Failure, Fault};

/// Longest name of a host with its port: a name has at most 253 characters.
const MAX_HOST: usize = 261;

/// What is wrong with the host of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrongHost {
    /// There is none.
    Missing,
    /// There are two, in the header or in header and target.
    Several,
    /// It is not written as one.
    Malformed,
}

impl From<WrongHost> for Failure {
    fn from(wrong: WrongHost) -> Self {
        let sentence = match wrong {
            WrongHost::Missing => "the request has no Host header; send exactly one",
            WrongHost::Several => {
                "the request names more than one host; send exactly one Host header, the same as in the target"
            }
            WrongHost::Malformed => {
                "the Host header is not a host; send a name or an address, with a port if it needs one"
            }
        };
        Self::new(Fault::BadRequest, sentence)
    }
}

/// Checks the host of a request.
pub(crate) fn check(version: Version, target: &Uri, headers: &HeaderMap) -> Result<(), WrongHost> {
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next();
    if named.next().is_some() {
        return Err(WrongHost::Several);
    }
    let host = host.map(|value| value.to_str().map_err(|_| WrongHost::Malformed)).transpose()?;
    let target = target.authority().map(http::uri::Authority::as_str);
    for written in [host, target].into_iter().flatten() {
        if !is_host(written) {
            return Err(if written.is_empty() { WrongHost::Missing } else { WrongHost::Malformed });
        }
    }
    match (host, target) {
        (Some(host), Some(target)) if !host.eq_ignore_ascii_case(target) => Err(WrongHost::Several),
        (None, _) if version == Version::HTTP_11 => Err(WrongHost::Missing),
        _ => Ok(()),
    }
}

/// Whether this is a host with an optional port, and nothing else: no user, no list, no path, no space.
fn is_host(text: &str) -> bool {
    let host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_~%!$&'()*+;=:[]".contains(&byte);
    if text.is_empty() || text.len() > MAX_HOST || !text.bytes().all(host_byte) {
        return false;
    }
    let port = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if !address.is_empty() && !port.contains(['[', ']']) => port,
            _ => return false,
        },
        None if text.contains(['[', ']']) || text.starts_with(':') => return false,
        None => text.find(':').map_or("", |place| &text[place..]),
    };
    port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(version: Version, target: &str, hosts: &[&str]) -> Result<(), WrongHost> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        check(version, &target.parse().unwrap(), &headers)
    }

    #[test]
    fn exactly_one_host_is_taken() {
        let one = |hosts: &[&str]| checked(Version::HTTP_11, "/", hosts);
        for good in
            ["localhost", "localhost:4747", "a.example", "[::1]:80", "[::1]", "127.0.0.1:1", "a_b.example:"]
        {
            assert_eq!(one(&[good]), Ok(()), "{good}");
        }
        assert_eq!(one(&[]), Err(WrongHost::Missing));
        assert_eq!(one(&[""]), Err(WrongHost::Missing));
        assert_eq!(one(&["a.example", "b.example"]), Err(WrongHost::Several));
        assert_eq!(one(&["a.example", "a.example"]), Err(WrongHost::Several), "the same one twice, too");
        for bad in [
            "a.example, b.example",
            "user@a.example",
            "a.example/x",
            "a b",
            "[::1",
            "::1",
            "a:b",
            ":80",
            "a:80:90",
        ] {
            assert_eq!(one(&[bad]), Err(WrongHost::Malformed), "{bad}");
        }
    }

    #[test]
    fn header_and_target_name_the_same_host() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            assert_eq!(checked(version, "http://a.example/x", &["A.example"]), Ok(()));
            assert_eq!(checked(version, "http://a.example/x", &["b.example"]), Err(WrongHost::Several));
        }
        assert_eq!(checked(Version::HTTP_2, "http://a.example/x", &[]), Ok(()));
        assert_eq!(checked(Version::HTTP_11, "http://a.example/x", &[]), Err(WrongHost::Missing));
    }

    #[test]
    fn older_clients_need_not_name_one() {
        assert_eq!(checked(Version::HTTP_10, "/", &[]), Ok(()));
        assert_eq!(checked(Version::HTTP_10, "/", &["a", "b"]), Err(WrongHost::Several));
    }
}
