//! Version: which revision of MCP a request speaks, and so in which era it is answered.
//!
//! Promises: a pure decision on the headers and the message. A request with `_meta` of the stateless
//! revisions, or with their version in its header, is one of them; `initialize` and everything with a session
//! is of the sessions. It does not look sessions up.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use serde_json::json;

use super::params::{Meta, VERSION_KEY, wrong};
use crate::failure::{Era, Failure, Fault};
use crate::jsonrpc::string;

/// The header that names the version.
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The header that names the session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The stateless revisions that are spoken, newest first.
pub(super) const STATELESS: [&str; 1] = ["2026-07-28"];

/// Methods that only the stateless revisions have.
const STATELESS_ONLY: [&str; 5] =
    ["server/discover", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"];

/// Most characters of a foreign version that an error repeats.
const EXCERPT: usize = 60;

/// A revision with sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
}

impl Revision {
    const ALL: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// Its date, which is its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// The revision of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// What is spoken with a client that wants this revision: the same where it is known, else the newest.
    pub(super) fn agreed(wanted: &str) -> Self {
        Self::named(wanted).unwrap_or(Self::V2025_11_25)
    }

    /// Whether its clients understand an event without data, which tells them where to resume.
    pub(super) fn has_priming(self) -> bool {
        self >= Self::V2025_11_25
    }
}

/// The one value of a header; two count as none, because it is unclear which is meant.
pub(super) fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Failure> {
    let mut all = headers.get_all(name).iter();
    let Some(first) = all.next() else { return Ok(None) };
    let one = if all.next().is_some() { None } else { first.to_str().ok() };
    one.map(|value| Some(value.trim())).ok_or_else(|| {
        Failure::new(Fault::HeaderMismatch, format!("send `{name}` once, in visible ASCII characters"))
    })
}

/// The era of a request.
pub(super) fn era(headers: &HeaderMap, method: &str, meta: Option<&Meta<'_>>) -> Era {
    let named = headers.get(VERSION).and_then(|value| value.to_str().ok()).map(str::trim);
    let modern = meta.is_some_and(|meta| meta.version.is_some())
        || named.is_some_and(|name| Revision::named(name).is_none());
    let session = headers.contains_key(SESSION) || method == "initialize";
    if modern || !session && named.is_none() && STATELESS_ONLY.contains(&method) {
        Era::Stateless
    } else {
        Era::Sessions
    }
}

/// Refuses a stateless request whose header and `_meta` do not agree on a version that is spoken. A method
/// that is not known needs no `_meta` to be told so.
pub(super) fn check(headers: &HeaderMap, meta: Option<&Meta<'_>>, known: bool) -> Result<(), Failure> {
    let named = header(headers, &VERSION)?;
    let Some(raw) = meta.and_then(|meta| meta.version) else {
        return match named {
            Some(name) if !STATELESS.contains(&name) => Err(unsupported(name)),
            _ if !known => Ok(()),
            _ => Err(wrong(format!("`_meta` must say `{VERSION_KEY}` with every request"))),
        };
    };
    let version = string(raw.get()).unwrap_or(Cow::Borrowed(""));
    let Some(named) = named else {
        let sentence =
            format!("send the header MCP-Protocol-Version with the version of `_meta`, {}", STATELESS[0]);
        return Err(Failure::new(Fault::HeaderMismatch, sentence));
    };
    if named != version {
        let sentence =
            "the header MCP-Protocol-Version and the version in `_meta` differ; send the same in both";
        return Err(Failure::new(Fault::HeaderMismatch, sentence));
    }
    if STATELESS.contains(&named) { Ok(()) } else { Err(unsupported(named)) }
}

fn unsupported(version: &str) -> Failure {
    let short: String = version.chars().take(EXCERPT).collect();
    let hint =
        if Revision::named(version).is_some() { "; for this version begin with `initialize`" } else { "" };
    let sentence = format!("version {short} is not spoken here; use {}{hint}", STATELESS.join(" or "));
    Failure::new(Fault::ProtocolVersion, sentence).data(json!({ "supported": STATELESS, "requested": short }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).clone(), http::HeaderValue::from_static(value))).collect()
    }

    fn meta(version: Option<&'static str>) -> Meta<'static> {
        let mut meta = Meta::default();
        meta.version = version.map(|json| serde_json::from_str(json).unwrap());
        meta
    }

    #[test]
    fn the_era_is_told_by_how_a_client_opens() {
        let modern = meta(Some(r#""2026-07-28""#));
        let none = headers(&[]);
        assert_eq!(era(&none, "initialize", None), Era::Sessions);
        assert_eq!(era(&none, "initialize", Some(&modern)), Era::Stateless);
        assert_eq!(era(&none, "tools/list", None), Era::Sessions);
        assert_eq!(era(&none, "server/discover", None), Era::Stateless);
        assert_eq!(era(&headers(&[(&VERSION, "2025-06-18")]), "tools/list", None), Era::Sessions);
        assert_eq!(era(&headers(&[(&VERSION, "2026-07-28")]), "tools/list", None), Era::Stateless);
        assert_eq!(era(&headers(&[(&VERSION, "2027-01-01")]), "tools/list", None), Era::Stateless);
        assert_eq!(era(&headers(&[(&SESSION, "x")]), "tools/list", None), Era::Sessions);
    }

    #[test]
    fn header_and_meta_must_agree_on_a_version_that_is_spoken() {
        let fault = |header: Option<&'static str>, version: Option<&'static str>| {
            let headers = header.map_or_else(HeaderMap::new, |value| headers(&[(&VERSION, value)]));
            check(&headers, Some(&meta(version)), true).err().map(|failure| failure.fault)
        };
        assert_eq!(fault(Some("2026-07-28"), Some(r#""2026-07-28""#)), None);
        assert_eq!(fault(Some("2026-07-28"), Some(r#""v999""#)), Some(Fault::HeaderMismatch));
        assert_eq!(fault(None, Some(r#""2026-07-28""#)), Some(Fault::HeaderMismatch));
        assert_eq!(fault(Some("v999"), Some(r#""v999""#)), Some(Fault::ProtocolVersion));
        assert_eq!(fault(Some("2025-11-25"), Some(r#""2025-11-25""#)), Some(Fault::ProtocolVersion));
        assert_eq!(fault(Some("2026-07-28"), None), Some(Fault::BadParams));
        assert_eq!(fault(Some("v999"), None), Some(Fault::ProtocolVersion));
    }
}
