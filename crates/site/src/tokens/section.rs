//! The section `[oauth]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors. It reads no file and does not check the
//! addresses: the binary does, so that an error names the place in the file.

use agentsite_protocol::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::TokenIssuer;

/// The authorization server whose tokens callers may show instead of a key (OAuth 2.1).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OauthSection {
    /// Name and address of the server, as its tokens write it, such as
    /// `https://login.example.org/realms/agents`. Its tokens must be made for the site's own address (set
    /// public_url), or for a name in oauth.audience.
    pub issuer: Option<String>,
    /// Where the server's keys are. Found through the server's own description when left out.
    pub jwks_url: Option<String>,
    /// Accepted audiences of tokens, in addition to the site's own addresses.
    pub audience: Vec<String>,
    /// Scopes of every caller with a token: call, call:AGENT. Otherwise the token's own scopes count.
    #[schemars(with = "Vec<String>")]
    pub grant: Vec<Scope>,
    /// Whether the scope admin in a token counts.
    pub admin: bool,
}

impl OauthSection {
    /// The server that the section names; `None` when it names none, or one whose address is not a URL.
    #[must_use]
    pub fn token_issuer(&self) -> Option<TokenIssuer> {
        let url = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Url>().ok());
        Some(TokenIssuer {
            issuer: url(&self.issuer)?,
            jwks_url: url(&self.jwks_url),
            audience: self.audience.clone(),
            grant: self.grant.clone(),
            admin: self.admin,
        })
    }
}
