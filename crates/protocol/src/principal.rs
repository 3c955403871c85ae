//! Principal: who acts and who owns, in one written form.
//!
//! Promises: there is one parser for the written forms; a value always has a known kind. The text is kept
//! exactly as it was stored, because rows are found and sealed by it. A principal says who, never what they
//! may do: that is [`crate::Caller`].

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{AgentName, Grant, KeyId, Pseudonym};

/// How admins are written.
const ADMIN: &str = "admin";

/// How sites before version 0.1 wrote an admin who called from the site's own machine.
const FORMER_ADMIN: &str = "local";

/// How the site itself is written, for what it does unasked.
const SITE: &str = "site";

/// What the written form of another site begins with.
const PEER: &str = "site:did:";

/// What divides a site from its user. No DID has it.
const USER: char = '/';

/// What the written form of a caller without a key begins with.
const ANONYMOUS: &str = "anon:";

/// Longest written form: a DID of a long host name fits.
const MAX_PRINCIPAL: usize = 512;

/// What kind of principal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrincipalKind {
    /// An admin of the site, written `admin`.
    Admin,
    /// The holder of an API key, written `key:ID`.
    Key,
    /// The holder of a token of an authorization server, written `user:NAME.DIGEST`.
    User,
    /// A browser that signed in without a key, written `session:ID`.
    Session,
    /// An agent of this site that acts on its own account, written `agent:NAME`.
    Agent,
    /// This site itself, written `site`.
    Site,
    /// Another site, written `site:DID`, or one user of it, written `site:DID/PSEUDONYM`.
    Peer,
    /// A caller without a key, written `anon:ADDRESS` or `anon:ADDRESS/DIGEST`.
    Anonymous,
}

/// Who acts, or who owns something.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Principal {
    text: Arc<str>,
    kind: PrincipalKind,
}

/// A text that names no principal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` does not name a principal. Valid forms: admin, key:ID, user:NAME, session:ID, agent:NAME, site, site:DID, site:DID/PSEUDONYM, anon:ADDRESS."
)]
pub struct UnknownPrincipal(pub String);

impl Principal {
    fn new(kind: PrincipalKind, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), kind }
    }

    /// The admins of the site: all of them are one owner.
    #[must_use]
    pub fn admin() -> Self {
        Self::new(PrincipalKind::Admin, ADMIN)
    }

    /// This site itself.
    #[must_use]
    pub fn site() -> Self {
        Self::new(PrincipalKind::Site, SITE)
    }

    /// The holder of an API key.
    #[must_use]
    pub fn key(id: &KeyId) -> Self {
        Self::new(PrincipalKind::Key, format!("key:{id}"))
    }

    /// An agent of this site.
    #[must_use]
    pub fn agent(name: &AgentName) -> Self {
        Self::new(PrincipalKind::Agent, format!("agent:{name}"))
    }

    /// Another site, by its DID.
    ///
    /// # Errors
    /// [`UnknownPrincipal`] when the text is not a DID, or too long for one.
    pub fn peer(did: &str) -> Result<Self, UnknownPrincipal> {
        format!("{SITE}:{did}").parse()
    }

    /// One user of another site, as that site calls it here.
    ///
    /// # Errors
    /// As [`Self::peer`].
    pub fn peer_user(did: &str, user: &Pseudonym) -> Result<Self, UnknownPrincipal> {
        format!("{SITE}:{did}{USER}{user}").parse()
    }

    /// The DID of the other site that this is, or whose user this is.
    #[must_use]
    pub fn peer_did(&self) -> Option<&str> {
        if self.kind == PrincipalKind::Peer { self.account().strip_prefix("site:") } else { None }
    }

    /// As whom requests are counted: a user of another site as that site, which can make as many users as it
    /// likes; everybody else as itself.
    #[must_use]
    pub fn counted(&self) -> Self {
        if self.kind == PrincipalKind::Peer { Self::new(self.kind, self.account()) } else { self.clone() }
    }

    /// The holder of a token: readable, and still one for each issuer and subject.
    #[must_use]
    pub fn user(grant: &Grant) -> Self {
        let digest = hex(&[grant.issuer.as_bytes(), &[0], grant.subject.as_bytes()]);
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_@.".contains(*letter);
        let name: String = grant.subject.chars().filter(is_plain).take(40).collect();
        Self::new(PrincipalKind::User, format!("user:{name}.{digest}"))
    }

    /// A caller without a key at this network address; of an IPv6 address only the /64 counts.
    #[must_use]
    pub fn anonymous(address: IpAddr) -> Self {
        let place = match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_string(),
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::")
            }
        };
        Self::new(PrincipalKind::Anonymous, format!("{ANONYMOUS}{place}"))
    }

    /// The owner of what this anonymous caller opens in one conversation. The conversation's id is digested,
    /// because an owner is written into lists and logs.
    #[must_use]
    pub fn within(&self, context: &str) -> Self {
        Self::new(self.kind, format!("{}/{}", self.account(), hex(&[context.as_bytes()])))
    }

    /// What kind it is.
    #[must_use]
    pub fn kind(&self) -> PrincipalKind {
        self.kind
    }

    /// Whether this is a caller without a key.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.kind == PrincipalKind::Anonymous
    }

    /// Whether this is an admin, also as older sites wrote it.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.kind == PrincipalKind::Admin
    }

    /// The id of the key whose holder this is.
    #[must_use]
    pub fn key_id(&self) -> Option<KeyId> {
        if self.kind == PrincipalKind::Key { self.text.strip_prefix("key:")?.parse().ok() } else { None }
    }

    /// Whether both are the same principal, also when one was written by an older site.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self == other || self.is_admin() && other.is_admin()
    }

    /// Every form in which this principal may have been stored, the present one first.
    pub fn stored_forms(&self) -> impl Iterator<Item = &str> {
        let former = self.is_admin().then_some(if &*self.text == ADMIN { FORMER_ADMIN } else { ADMIN });
        std::iter::once(self.as_str()).chain(former)
    }

    /// The written form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The account that storage and deliveries of this principal count on: itself, or the network address of
    /// a caller without a key, ignoring what follows the address, or the site of a user of another site.
    #[must_use]
    pub fn account(&self) -> &str {
        account_of(&self.text)
    }
}

/// The account of a principal's written form: see [`Principal::account`].
#[must_use]
pub fn account_of(principal: &str) -> &str {
    if let Some(did) = principal.strip_prefix(PEER) {
        let end = did.find(USER).unwrap_or(did.len());
        return &principal[..PEER.len() + end];
    }
    let Some(place) = principal.strip_prefix(ANONYMOUS) else { return principal };
    let is_address = |letter: char| letter.is_ascii_hexdigit() || letter == '.' || letter == ':';
    let end = place.find(|letter| !is_address(letter)).unwrap_or(place.len());
    &principal[..ANONYMOUS.len() + end]
}

/// Sixteen bytes of a digest, in hexadecimal.
fn hex(parts: &[&[u8]]) -> String {
    let digest = parts.iter().fold(Sha256::new(), Sha256::chain_update);
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether what follows a DID, if anything does, is a pseudonym.
fn has_plain_user(did: &str) -> bool {
    did.split_once(USER).is_none_or(|(_, user)| user.parse::<Pseudonym>().is_ok())
}

impl FromStr for Principal {
    type Err = UnknownPrincipal;

    fn from_str(text: &str) -> Result<Self, UnknownPrincipal> {
        let unknown = || UnknownPrincipal(text.chars().take(80).collect());
        if text.len() > MAX_PRINCIPAL || text.contains(char::is_control) {
            return Err(unknown());
        }
        let kind = match text.split_once(':') {
            None if text == ADMIN || text == FORMER_ADMIN => PrincipalKind::Admin,
            None if text == SITE => PrincipalKind::Site,
            Some(("key", id)) if id.parse::<KeyId>().is_ok() => PrincipalKind::Key,
            Some(("user", name)) if !name.is_empty() => PrincipalKind::User,
            Some(("session", id)) if !id.is_empty() => PrincipalKind::Session,
            Some(("agent", name)) if name.parse::<AgentName>().is_ok() => PrincipalKind::Agent,
            Some(("site", did)) if did.starts_with("did:") && has_plain_user(did) => PrincipalKind::Peer,
            Some(("anon", place)) if !place.is_empty() => PrincipalKind::Anonymous,
            _ => return Err(unknown()),
        };
        Ok(Self::new(kind, text))
    }
}

impl TryFrom<String> for Principal {
    type Error = UnknownPrincipal;

    fn try_from(text: String) -> Result<Self, UnknownPrincipal> {
        text.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.text.as_ref().into()
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Principal {}

impl PartialOrd for Principal {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Principal {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Principal {
        text.parse().unwrap()
    }

    fn grant(issuer: &str, subject: &str) -> Grant {
        let until = crate::Timestamp::from_millis(0);
        Grant { issuer: issuer.into(), subject: subject.into(), scopes: Vec::new(), until }
    }

    #[test]
    fn every_written_form_is_read_as_its_kind_and_written_back() {
        let known = [
            ("admin", PrincipalKind::Admin),
            ("local", PrincipalKind::Admin),
            ("key:k1", PrincipalKind::Key),
            ("user:anna.0123", PrincipalKind::User),
            ("session:s1", PrincipalKind::Session),
            ("agent:calc", PrincipalKind::Agent),
            ("site", PrincipalKind::Site),
            ("site:did:web:example.org", PrincipalKind::Peer),
            ("anon:192.0.2.1", PrincipalKind::Anonymous),
            ("anon:2001:db8:0:0::/0123", PrincipalKind::Anonymous),
        ];
        for (text, kind) in known {
            let principal = read(text);
            assert_eq!((principal.kind(), principal.as_str()), (kind, text));
            assert_eq!(serde_json::to_string(&principal).unwrap(), format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Principal>(&format!("{text:?}")).unwrap(), principal);
        }
    }

    #[test]
    fn what_names_nobody_is_refused() {
        let long = format!("user:{}", "a".repeat(MAX_PRINCIPAL));
        for text in [
            "",
            "root",
            "Admin",
            "key:",
            "key",
            "agent:No Name",
            "site:example.org",
            "anon:",
            "user:a\n",
            &long,
        ] {
            assert!(text.parse::<Principal>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_made_is_what_is_read() {
        let grant = grant("https://issuer.example", "anna");
        let made = [
            Principal::admin(),
            Principal::site(),
            Principal::key(&"k1".parse().unwrap()),
            Principal::agent(&"calc".parse().unwrap()),
            Principal::user(&grant),
            Principal::anonymous("192.0.2.1".parse().unwrap()),
            Principal::anonymous("2001:db8::1".parse().unwrap()).within("a"),
            Principal::peer("did:key:z6Mk").unwrap(),
        ];
        for principal in made {
            let again = read(principal.as_str());
            assert_eq!((again.kind(), &again), (principal.kind(), &principal));
        }
    }

    #[test]
    fn another_site_is_known_by_its_did() {
        let peer = Principal::peer("did:web:example.org").unwrap();
        assert_eq!((peer.kind(), peer.peer_did()), (PrincipalKind::Peer, Some("did:web:example.org")));
        assert_eq!(Principal::site().peer_did(), None);
        let user =
            Principal::peer_user("did:key:z6Mk", &Pseudonym::of(&[1; 32], "key:k", "did:key:zB")).unwrap();
        assert_eq!((user.kind(), user.peer_did()), (PrincipalKind::Peer, Some("did:key:z6Mk")));
        let site = Principal::peer("did:key:z6Mk").unwrap();
        assert_eq!((user.account(), user.counted()), (site.as_str(), site.clone()));
        assert_eq!((site.counted(), read(user.as_str())), (site, user));
        assert!("site:did:key:z6Mk/anna".parse::<Principal>().is_err());
        assert!(Principal::peer("example.org").is_err() && Principal::peer("").is_err());
    }

    #[test]
    fn an_admin_is_one_principal_in_both_forms() {
        let (now, before) = (Principal::admin(), read("local"));
        assert!(now.is(&before) && now != before && before.is_admin());
        assert_eq!(now.stored_forms().collect::<Vec<_>>(), ["admin", "local"]);
        assert_eq!(read("key:a").stored_forms().collect::<Vec<_>>(), ["key:a"]);
    }

    #[test]
    fn two_subjects_of_one_name_are_two_users() {
        let of = |issuer, subject| Principal::user(&grant(issuer, subject));
        assert_ne!(of("https://a.example", "anna"), of("https://b.example", "anna"));
        assert_ne!(of("https://a.example", "an na"), of("https://a.example", "anna"));
        assert!(of("https://a.example", "anna").as_str().starts_with("user:anna."));
    }
}
