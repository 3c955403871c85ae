//! AccessToken: what an authorization server says of a caller, as a signed JSON Web Token (RFC 9068).
//!
//! Promises: nothing of a token counts before its signature was verified with a key of its issuer and its
//! issuer, audience and times were checked; a key works only with algorithms of its own kind, and `none` is
//! never accepted. Foreign text is bounded. It does not fetch keys, reads no clock and does not decide what a
//! scope allows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use crate::Timestamp;

#[cfg(test)]
mod tests;

/// Longest token that is read; real ones are one or two kilobytes.
const MAX_TOKEN: usize = 16 * 1024;

/// Most keys of a set; issuers publish two or three.
const MAX_KEYS: usize = 64;

/// How far the clocks of issuer and site may differ, in milliseconds.
const LEEWAY: i64 = 60_000;

/// Why a token does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// It does not have the form of a token accepted here.
    #[error("this access token cannot be read; it must be a signed JSON Web Token")]
    Form,
    /// Another issuer signed it.
    #[error("this token was issued by another authorization server than the one this site trusts")]
    Issuer,
    /// No key of the issuer fits.
    #[error("this token is signed with a key that its issuer does not publish")]
    Key,
    /// The signature does not fit.
    #[error("the signature of this token is not valid")]
    Signature,
    /// It is for another resource.
    #[error(
        "this token was issued for another resource; ask the authorization server for one whose audience is this site"
    )]
    Audience,
    /// It is over.
    #[error("this token has expired; ask the authorization server for a new one")]
    Expired,
    /// It has not begun.
    #[error("this token is not valid yet; check the clocks")]
    Early,
}

/// A token as it was read; nothing of it is proven.
#[derive(Debug, Clone)]
pub struct AccessToken<'a> {
    header: Header,
    claims: Claims,
    signed: &'a str,
    signature: Vec<u8>,
}

#[derive(Debug, Clone, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
struct Claims {
    iss: String,
    #[serde(default)]
    sub: Option<String>,
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default)]
    azp: Option<String>,
    #[serde(default)]
    aud: Audience,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    scp: Option<Audience>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
enum Audience {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn words(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(word) => std::slice::from_ref(word),
            Self::Many(words) => words,
        }
    }
}

/// What a proven token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Who issued it.
    pub issuer: String,
    /// The subject: a person, or the client itself where no person is involved.
    pub subject: String,
    /// What the issuer allows, in the issuer's words.
    pub scopes: Vec<String>,
    /// Until when.
    pub until: Timestamp,
}

/// The keys of an issuer.
#[derive(Debug, Clone, Default)]
pub struct TokenKeys(Vec<TokenKey>);

#[derive(Debug, Clone)]
struct TokenKey {
    id: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl<'a> AccessToken<'a> {
    /// Whether a credential has the form of a token, so that it is not looked for among the site's own keys.
    #[must_use]
    pub fn looks_like(text: &str) -> bool {
        text.starts_with("eyJ") && text.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// Reads a token without believing it.
    ///
    /// # Errors
    /// [`BadToken::Form`].
    pub fn read(text: &'a str) -> Result<Self, BadToken> {
        if text.len() > MAX_TOKEN {
            return Err(BadToken::Form);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(BadToken::Form)?;
        let (header, claims) = signed.split_once('.').ok_or(BadToken::Form)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| BadToken::Form);
        let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| BadToken::Form)?;
        let claims: Claims = serde_json::from_slice(&bytes(claims)?).map_err(|_| BadToken::Form)?;
        if header.crit.is_some() {
            return Err(BadToken::Form);
        }
        Ok(Self { header, claims, signed, signature: bytes(signature)? })
    }

    /// Who claims to have issued it.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.claims.iss
    }

    /// Proves the token and gives what it says.
    ///
    /// # Errors
    /// [`BadToken`] says what is wrong; [`BadToken::Key`] may be mended by newer keys of the issuer.
    pub fn prove(
        &self,
        keys: &TokenKeys,
        issuer: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Grant, BadToken> {
        if self.claims.iss != issuer {
            return Err(BadToken::Issuer);
        }
        self.verify(keys)?;
        if !self.claims.aud.words().iter().any(|word| audiences.iter().any(|own| is_same(own, word))) {
            return Err(BadToken::Audience);
        }
        let now = now.as_millis();
        if now > millis(self.claims.exp).saturating_add(LEEWAY) {
            return Err(BadToken::Expired);
        }
        if self.claims.nbf.is_some_and(|from| now < millis(from).saturating_sub(LEEWAY)) {
            return Err(BadToken::Early);
        }
        let claims = &self.claims;
        let subject = claims.sub.as_ref().or(claims.client_id.as_ref()).or(claims.azp.as_ref());
        let spaced = claims.scope.as_deref().unwrap_or_default().split_ascii_whitespace().map(str::to_owned);
        let listed =
            claims.scp.iter().flat_map(Audience::words).flat_map(|word| word.split_ascii_whitespace());
        Ok(Grant {
            issuer: claims.iss.clone(),
            subject: subject.cloned().ok_or(BadToken::Form)?,
            scopes: spaced.chain(listed.map(str::to_owned)).collect(),
            until: Timestamp::from_millis(millis(claims.exp)),
        })
    }

    fn verify(&self, keys: &TokenKeys) -> Result<(), BadToken> {
        let mut fits = keys.0.iter().filter(|key| key.fits(&self.header)).peekable();
        if fits.peek().is_none() {
            return Err(BadToken::Key);
        }
        let proven = fits.any(|key| key.proves(&self.header.alg, self.signed.as_bytes(), &self.signature));
        if proven { Ok(()) } else { Err(BadToken::Signature) }
    }
}

impl TokenKeys {
    /// Reads a JSON Web Key Set; keys of kinds that are not used here are left out.
    #[must_use]
    pub fn read(set: &Value) -> Self {
        let keys = set["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self(keys.iter().take(MAX_KEYS).filter_map(TokenKey::read).collect())
    }
}

impl TokenKey {
    fn read(jwk: &Value) -> Option<Self> {
        if jwk["use"].as_str().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str()?).ok();
        // An uncompressed point: the byte 4, then both coordinates.
        let point = || Some([vec![4], bytes("x")?, bytes("y")?].concat());
        let kind = match (jwk["kty"].as_str()?, jwk["crv"].as_str()) {
            ("RSA", _) => Kind::Rsa { modulus: bytes("n")?, exponent: bytes("e")? },
            ("EC", Some("P-256")) => Kind::P256(point()?),
            ("EC", Some("P-384")) => Kind::P384(point()?),
            ("OKP", Some("Ed25519")) => Kind::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self { id: jwk["kid"].as_str().map(str::to_owned), kind })
    }

    /// Whether a token may be signed with this key: the kind fits its algorithm, and the names do not differ.
    fn fits(&self, header: &Header) -> bool {
        let named = match (&header.kid, &self.id) {
            (Some(wanted), Some(id)) => wanted == id,
            _ => true,
        };
        let kind = match self.kind {
            Kind::Rsa { .. } => matches!(header.alg.as_str(), "RS256" | "RS384" | "RS512" | "PS256"),
            Kind::P256(_) => header.alg == "ES256",
            Kind::P384(_) => header.alg == "ES384",
            Kind::Ed25519(_) => matches!(header.alg.as_str(), "EdDSA" | "Ed25519"),
        };
        named && kind
    }

    fn proves(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        let proven = match &self.kind {
            Kind::Rsa { modulus, exponent } => {
                let with = match algorithm {
                    "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
                    "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
                    "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(with, signed, signature)
            }
            Kind::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Kind::P384(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point).verify(signed, signature)
            }
            Kind::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, signature),
        };
        proven.is_ok()
    }
}

/// Whether two addresses of a resource are the same, a trailing slash aside.
fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Milliseconds of a time in seconds; a float casts to the nearest number that there is.
#[expect(clippy::cast_possible_truncation, reason = "a float too large saturates, which is what is meant")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}
