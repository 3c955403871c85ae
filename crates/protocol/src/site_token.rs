//! SiteToken: by what a site proves to another site that a call is its own.
//!
//! A short JSON Web Token, signed with the site's Ed25519 key: who calls (`iss`, a `did:key`), whom (`aud`,
//! the `did:key` of the receiver), when (`iat`, `exp`) and a word that is used once (`jti`); where the
//! calling site wants it, for which of its users (`sub`, a pseudonym). The key is the name, so nothing is
//! fetched to check it.
//!
//! Promises: nothing of a token counts before its signature, its audience and its times were checked; one
//! that was made for another site, or for longer than two minutes, is refused. There is one written
//! header, so no other kind of token passes for this one. It does not remember words: the receiver does.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::key::{PublicKey, SigningKey};
use crate::{Algorithm, Pseudonym, Timestamp};

/// The header of every such token, written once: no algorithm to choose, and a type that no other token has.
const HEADER: &str = r#"{"alg":"EdDSA","typ":"agentsite-call+jwt"}"#;

/// Longest token that is read; those that are made have about 350 bytes.
const MAX_TOKEN: usize = 1_024;

/// Longest word that is used once, in letters; those that are made have 32.
const MAX_WORD: usize = 64;

/// Longest time between the making of a token and its end: a call begins within seconds.
const MAX_LIFETIME: Duration = Duration::from_secs(120);

/// How far the clocks of two sites may differ.
pub const SITE_TOKEN_LEEWAY: Duration = Duration::from_secs(60);

/// How long a token holds that is made here.
const LIFETIME: Duration = Duration::from_secs(60);

/// Why a token of a site does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSiteToken {
    /// It does not have the form.
    #[error("the token of the calling site cannot be read")]
    Form,
    /// The site that it names did not sign it.
    #[error("the token of the calling site was not signed by it")]
    Signature,
    /// It is for another site.
    #[error("the token of the calling site was made for another site")]
    Audience,
    /// Its time is over, or has not come.
    #[error("the token of the calling site is not valid at this time; make a new one, and check the clocks")]
    Time,
    /// It was shown before.
    #[error("the token of the calling site was used before; each call needs a new one")]
    Replayed,
}

/// What a proven token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteToken {
    /// The calling site, as its `did:key`.
    pub site: String,
    /// When it was made.
    pub issued_at: Timestamp,
    /// Until when it holds.
    pub expires_at: Timestamp,
    /// The word that is used once.
    pub word: String,
    /// The user of that site for whom it calls, if it says so.
    pub user: Option<Pseudonym>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    iss: String,
    aud: String,
    iat: i64,
    exp: i64,
    jti: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
}

impl SiteToken {
    /// Makes a token for one call to the site `audience`; `word` must not have been used before.
    #[must_use]
    pub fn sign(key: &SigningKey, audience: &str, word: &[u8; 16], now: Timestamp) -> String {
        Self::sign_for(None, key, audience, word, now)
    }

    /// The same for one user of the calling site.
    #[must_use]
    pub fn sign_for(
        user: Option<Pseudonym>,
        key: &SigningKey,
        audience: &str,
        word: &[u8; 16],
        now: Timestamp,
    ) -> String {
        let seconds = |at: Timestamp| at.as_millis().div_euclid(1_000);
        let claims = Claims {
            iss: key.public().did_key(),
            aud: audience.into(),
            iat: seconds(now),
            exp: seconds(now.plus(LIFETIME)),
            jti: word.iter().map(|byte| format!("{byte:02x}")).collect(),
            sub: user.map(|user| user.to_string()),
        };
        let claims = serde_json::to_vec(&claims).expect("texts and numbers have a JSON form");
        let signed = format!("{}.{}", header(), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Whether a credential is meant as such a token.
    #[must_use]
    pub fn looks_like(text: &str) -> bool {
        text.strip_prefix(&header()).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Reads a token and proves it for the site `audience`.
    ///
    /// # Errors
    /// [`BadSiteToken`], never [`BadSiteToken::Replayed`]: the receiver remembers words.
    pub fn prove(text: &str, audience: &str, now: Timestamp) -> Result<Self, BadSiteToken> {
        if text.len() > MAX_TOKEN || !Self::looks_like(text) {
            return Err(BadSiteToken::Form);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(BadSiteToken::Form)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| BadSiteToken::Form);
        let claims = claims_of(signed)?;
        let key = PublicKey::from_did_key(&claims.iss).map_err(|_| BadSiteToken::Form)?;
        // One written form of a site: a fragment, or another algorithm, would be another name for it.
        if key.algorithm() != Algorithm::EdDsa || key.did_key() != claims.iss || claims.jti.len() > MAX_WORD {
            return Err(BadSiteToken::Form);
        }
        if !key.verifies(signed.as_bytes(), &bytes(signature)?) {
            return Err(BadSiteToken::Signature);
        }
        if claims.aud != audience {
            return Err(BadSiteToken::Audience);
        }
        let user = claims.sub.as_deref().map(str::parse).transpose().map_err(|_| BadSiteToken::Form)?;
        let token = Self {
            user,
            site: claims.iss,
            issued_at: at_second(claims.iat),
            expires_at: at_second(claims.exp),
            word: claims.jti,
        };
        if token.holds_at(now) { Ok(token) } else { Err(BadSiteToken::Time) }
    }

    /// The user that a token names, on a connection whose other end is proven to be `site`: nothing else of
    /// the token is looked at, because everything on such a connection is that site's own word.
    #[must_use]
    pub fn user_named_by(site: &str, text: &str) -> Option<Pseudonym> {
        let (signed, _) = text.rsplit_once('.').filter(|_| text.len() <= MAX_TOKEN)?;
        let claims = claims_of(signed).ok().filter(|claims| claims.iss == site)?;
        claims.sub?.parse().ok()
    }

    fn holds_at(&self, now: Timestamp) -> bool {
        let (issued, ends) = (self.issued_at, self.expires_at);
        issued <= ends
            && ends.since(issued) <= MAX_LIFETIME
            && issued <= now.plus(SITE_TOKEN_LEEWAY)
            && now <= ends.plus(SITE_TOKEN_LEEWAY)
    }
}

/// The claims of a token without its signature.
fn claims_of(signed: &str) -> Result<Claims, BadSiteToken> {
    let (_, claims) = signed.split_once('.').ok_or(BadSiteToken::Form)?;
    let bytes = URL_SAFE_NO_PAD.decode(claims).map_err(|_| BadSiteToken::Form)?;
    serde_json::from_slice(&bytes).map_err(|_| BadSiteToken::Form)
}

fn header() -> String {
    URL_SAFE_NO_PAD.encode(HEADER)
}

fn at_second(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(Algorithm::EdDsa, &[seed; 32]).unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(1_790_000_000_000)
    }

    #[test]
    fn a_token_proves_its_site_to_one_other_site_for_a_minute() {
        let (site, other) = (key(1), key(2).public().did_key());
        let token = SiteToken::sign(&site, &other, &[7; 16], now());
        assert!(SiteToken::looks_like(&token) && token.len() < MAX_TOKEN);
        let proven = SiteToken::prove(&token, &other, now()).unwrap();
        assert_eq!((proven.site, proven.word.len()), (site.public().did_key(), 32));
        let third = key(3).public().did_key();
        assert_eq!(SiteToken::prove(&token, &third, now()), Err(BadSiteToken::Audience));
        let late = now().plus(LIFETIME + SITE_TOKEN_LEEWAY + Duration::from_secs(1));
        assert_eq!(SiteToken::prove(&token, &other, late), Err(BadSiteToken::Time));
        let early = now().minus(SITE_TOKEN_LEEWAY + Duration::from_secs(1));
        assert_eq!(SiteToken::prove(&token, &other, early), Err(BadSiteToken::Time));
    }

    #[test]
    fn a_token_of_which_one_letter_changed_is_refused() {
        let other = key(2).public().did_key();
        let token = SiteToken::sign(&key(1), &other, &[7; 16], now());
        for place in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last letter of base64 has bits that no byte holds; every other change is seen.
            let proven = SiteToken::prove(&changed, &other, now());
            assert!(proven.is_err() || place + 1 == token.len(), "{place}");
        }
    }

    #[test]
    fn a_token_in_the_name_of_another_site_or_of_long_life_is_refused() {
        let (liar, victim, to) = (key(1), key(9).public().did_key(), key(2).public().did_key());
        let forged = |iss: &str, lifetime: i64| {
            let from = now().as_millis() / 1_000;
            let (iss, aud, jti) = (iss.into(), to.clone(), "a".into());
            let claims = Claims { iss, aud, iat: from, exp: from + lifetime, jti, sub: None };
            let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).unwrap());
            let signed = format!("{}.{claims}", header());
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(liar.sign(signed.as_bytes())))
        };
        assert_eq!(SiteToken::prove(&forged(&victim, 60), &to, now()), Err(BadSiteToken::Signature));
        let own = liar.public().did_key();
        assert!(SiteToken::prove(&forged(&own, 60), &to, now()).is_ok());
        assert_eq!(SiteToken::prove(&forged(&own, 3_600), &to, now()), Err(BadSiteToken::Time));
        let fragment = format!("{own}#x");
        assert_eq!(SiteToken::prove(&forged(&fragment, 60), &to, now()), Err(BadSiteToken::Form));
    }

    #[test]
    fn a_token_names_a_user_of_its_site_where_the_site_wants_it() {
        let (site, other) = (key(1), key(2).public().did_key());
        let user = Pseudonym::of(&[5; 32], "key:k1", &other);
        let token = SiteToken::sign_for(Some(user), &site, &other, &[7; 16], now());
        assert!(token.len() < MAX_TOKEN);
        assert_eq!(SiteToken::prove(&token, &other, now()).unwrap().user, Some(user));
        let did = site.public().did_key();
        assert_eq!(SiteToken::user_named_by(&did, &token), Some(user));
        assert_eq!(SiteToken::user_named_by(&other, &token), None, "it is not that site's word");
        let plain = SiteToken::sign(&site, &other, &[7; 16], now());
        assert_eq!(SiteToken::prove(&plain, &other, now()).unwrap().user, None);
        assert_eq!(SiteToken::user_named_by(&did, &plain), None);
    }

    #[test]
    fn other_tokens_are_not_tokens_of_sites() {
        for text in ["", "eyJhbGciOiJub25lIn0.e30.", "as_key_0123", &"x".repeat(5_000)] {
            assert!(!SiteToken::looks_like(text));
            assert_eq!(SiteToken::prove(text, "did:key:z", now()), Err(BadSiteToken::Form));
        }
    }
}
