//! Version: which A2A a request is written in.
//!
//! Promises: the header `A2A-Version`, else the query parameter of that name; patch numbers do not count. A
//! request that names none is taken as what it plainly is: a method of 0.3 has a slash in its name and one of
//! 1.0 has not, and only 1.0 has addresses for operations (decision 0008). It translates nothing.

use agentsite_protocol::legacy;
use http::HeaderName;
use http::request::Parts;

use crate::failure::{Failure, Fault};

/// The header that names it.
const HEADER: HeaderName = HeaderName::from_static("a2a-version");

/// The version that is spoken everywhere.
const CURRENT: &str = "1.0";

/// The version that is spoken by JSON-RPC besides.
const OLD: &str = "0.3";

/// Most characters of a foreign version that a sentence repeats.
const EXCERPT: usize = 20;

/// What a request says of its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Nothing.
    Unsaid,
    /// A2A 0.3.
    Old,
    /// A2A 1.0.
    Current,
}

impl Version {
    /// The version that a request names.
    pub(super) fn asked(parts: &Parts) -> Result<Self, Failure> {
        let header = parts.headers.get(HEADER).map(|value| value.to_str().unwrap_or("?"));
        let asked = header.or_else(|| {
            let query = parts.uri.query().unwrap_or_default();
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| name.eq_ignore_ascii_case("a2a-version")).map(|(_, version)| version)
        });
        match asked.map(str::trim) {
            None | Some("") => Ok(Self::Unsaid),
            Some(version) if is_current(version) => Ok(Self::Current),
            Some(version) if legacy::is_legacy_version(version) => Ok(Self::Old),
            Some(version) => Err(not_spoken(version, &format!("send A2A-Version: {CURRENT}"))),
        }
    }

    /// Whether a JSON-RPC request for this method is one of 0.3.
    pub(super) fn is_old_for(self, method: &str) -> bool {
        match self {
            Self::Old => true,
            Self::Current => false,
            Self::Unsaid => method.contains('/'),
        }
    }

    /// Refuses 0.3 where only 1.0 is spoken.
    pub(super) fn check_current(self) -> Result<(), Failure> {
        match self {
            Self::Old => {
                let advice = format!(
                    "in this binding; send A2A-Version: {CURRENT} with a request of {CURRENT}, or use JSON-RPC"
                );
                Err(not_spoken(OLD, &advice))
            }
            Self::Unsaid | Self::Current => Ok(()),
        }
    }
}

fn is_current(version: &str) -> bool {
    let patch = version.strip_prefix(CURRENT).map(|rest| if rest.is_empty() { ".0" } else { rest });
    let patch = patch.and_then(|rest| rest.strip_prefix('.'));
    version == "1" || patch.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn not_spoken(version: &str, advice: &str) -> Failure {
    let short: String = version.chars().take(EXCERPT).collect();
    let sentence = format!("A2A version `{short}` is not spoken here; {advice}");
    Failure::new(Fault::Version, sentence).fact("supportedVersions", CURRENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(header: Option<&str>, query: &str) -> Option<Version> {
        let mut request = http::Request::get(format!("/a2a/echo{query}"));
        if let Some(header) = header {
            request = request.header("A2A-Version", header);
        }
        Version::asked(&request.body(()).unwrap().into_parts().0).ok()
    }

    #[test]
    fn a_version_is_read_without_its_patch() {
        for (written, version) in [
            ("1.0", Some(Version::Current)),
            ("1", Some(Version::Current)),
            ("1.0.7", Some(Version::Current)),
            ("0.3", Some(Version::Old)),
            ("0.3.0", Some(Version::Old)),
            (" ", Some(Version::Unsaid)),
            ("1.1", None),
            ("1.00", None),
            ("0.2", None),
            ("99.0", None),
        ] {
            assert_eq!(asked(Some(written), ""), version, "{written}");
            assert_eq!(asked(None, &format!("?a=b&A2A-Version={}", written.trim())), version, "{written}");
        }
        assert_eq!(asked(None, ""), Some(Version::Unsaid));
        assert_eq!(asked(Some("1.0"), "?A2A-Version=9"), Some(Version::Current), "the header comes first");
    }

    #[test]
    fn a_method_tells_the_version_that_nobody_named() {
        assert!(Version::Unsaid.is_old_for("message/send") && !Version::Unsaid.is_old_for("SendMessage"));
        assert!(Version::Old.is_old_for("SendMessage") && !Version::Current.is_old_for("message/send"));
    }
}
