//! Invite: a link by which another site joins the network of this one.
//!
//! Promises: one line that can be sent by any messenger: who invites, where it is reached, which network, and
//! its secret if it has one. The holder of the link of a private network can connect to it: it is as secret
//! as the key. Foreign text is bounded. It does not connect.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use agentsite_mesh::SiteId;

/// How such links begin.
const SCHEME: &str = "agentsite://join/";

/// Longest link that is read: eight addresses, a title and a secret take a third of it.
const MAX_LINK: usize = 8_192;

/// Most addresses that are taken from a link.
const MAX_ADDRESSES: usize = 16;

/// The version of the form.
const VERSION: u32 = 1;

/// A link that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not an invite; copy the whole line that `agentsite peer invite` printed, agentsite://join/…"
)]
pub struct BadInvite;

/// What an invite says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invite {
    /// The version of the form.
    v: u32,
    /// The site that invites, as its DID.
    pub site: String,
    /// What that site calls itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Where it is reached.
    pub addresses: Vec<String>,
    /// The name of the network; the public one when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The secret of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The secret is not shown.
impl std::fmt::Debug for Invite {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Invite({} at {:?})", self.site, self.addresses)
    }
}

impl Invite {
    /// An invite of this site.
    #[must_use]
    pub fn new(
        site: &SiteId,
        title: &str,
        addresses: Vec<String>,
        network: (Option<String>, Option<String>),
    ) -> Self {
        let (network, key) = network;
        Self { v: VERSION, site: site.to_string(), title: title.into(), addresses, network, key }
    }

    /// The link.
    #[must_use]
    pub fn link(&self) -> String {
        let written = serde_json::to_vec(self).expect("texts have a JSON form");
        format!("{SCHEME}{}", URL_SAFE_NO_PAD.encode(written))
    }

    /// Reads a link.
    ///
    /// # Errors
    /// [`BadInvite`].
    pub fn read(link: &str) -> Result<Self, BadInvite> {
        let link = link.trim();
        let body = link.strip_prefix(SCHEME).filter(|_| link.len() <= MAX_LINK).ok_or(BadInvite)?;
        let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| BadInvite)?;
        let invite: Self = serde_json::from_slice(&bytes).map_err(|_| BadInvite)?;
        let is_sound = invite.v == VERSION
            && invite.site.parse::<SiteId>().is_ok()
            && !invite.addresses.is_empty()
            && invite.addresses.len() <= MAX_ADDRESSES
            && invite.key.as_ref().is_none_or(|key| !key.is_empty());
        if is_sound { Ok(invite) } else { Err(BadInvite) }
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::{Algorithm, SigningKey};

    use super::*;

    #[test]
    fn an_invite_survives_the_way_through_a_messenger() {
        let key = SigningKey::from_seed(Algorithm::EdDsa, &[4; 32]).unwrap();
        let site = SiteId::of(&key.public()).unwrap();
        let network = (Some("team".to_owned()), Some("sixteen letters!".to_owned()));
        let invite = Invite::new(&site, "Anna's site", vec!["192.0.2.1:4101".into()], network);
        assert_eq!(Invite::read(&format!("  {}\n", invite.link())).unwrap(), invite);
        assert!(!format!("{invite:?}").contains("sixteen"), "the secret is not shown");
    }

    #[test]
    fn what_is_not_an_invite_is_refused() {
        let encoded = |json: &str| format!("{SCHEME}{}", URL_SAFE_NO_PAD.encode(json));
        let did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        for link in [
            String::new(),
            "https://example.org/join".into(),
            format!("{SCHEME}%%%"),
            encoded("{}"),
            encoded(&format!(r#"{{"v":2,"site":"{did}","addresses":["a"]}}"#)),
            encoded(&format!(r#"{{"v":1,"site":"{did}","addresses":[]}}"#)),
            encoded(r#"{"v":1,"site":"did:web:x","addresses":["a"]}"#),
            format!("{SCHEME}{}", "A".repeat(MAX_LINK)),
        ] {
            assert_eq!(Invite::read(&link), Err(BadInvite), "{link}");
        }
    }
}
