//! Tokens: callers whom an authorization server vouches for (OAuth 2.1, this site as the resource).
//!
//! Promises: only tokens of the one configured issuer count, and only those made for this site. The issuer's
//! keys are fetched through the egress, kept for a while, and asked for again when a token names a new one,
//! but not more often than a stranger may cause. A token is never handed on to an agent, a tool server or a
//! log.
//!
//! It does not issue tokens and keeps no users: that is the authorization server's matter.

mod section;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use agentsite_egress::Egress;
use agentsite_protocol::{
    AccessToken, BadToken, Caller, Ids, Period, Principal, Scope, Timestamp, TokenKeys,
};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use crate::SiteError;

pub use section::OauthSection;

/// How long the issuer's keys are believed without asking again: an hour, so that a key that was withdrawn
/// stops counting.
const KEYS_LIFE: Period = Period::seconds(3600);

/// How often the keys are asked for at most; tokens with invented key names must not make the site a burden
/// to its issuer.
const KEYS_PAUSE: Period = Period::seconds(30);

/// Largest document of an issuer that is read.
const MAX_DOCUMENT: usize = 256 * 1024;

/// How long the issuer may take to answer; a caller waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most holders of tokens that are remembered at once; a site of one machine has fewer callers in the hour
/// that a token lives.
const MAX_HOLDERS: usize = 4_096;

/// Where an issuer describes itself, after its own address: RFC 8414, then OpenID Connect.
const DESCRIPTIONS: [&str; 2] =
    [".well-known/oauth-authorization-server", ".well-known/openid-configuration"];

/// The authorization server that a site trusts.
#[derive(Debug, Clone)]
pub struct TokenIssuer {
    /// Its name and address, as it stands in its tokens.
    pub issuer: Url,
    /// Where its keys are; found through its own description when left out.
    pub jwks_url: Option<Url>,
    /// Accepted audiences of its tokens, in addition to the site's own addresses.
    pub audience: Vec<String>,
    /// What every holder of a token may do, whatever the token says.
    pub grant: Vec<Scope>,
    /// Whether the scope `admin` in a token counts.
    pub admin: bool,
}

/// Recognises callers by the tokens of one issuer.
#[derive(Debug)]
pub(crate) struct Tokens {
    issuer: TokenIssuer,
    egress: Egress,
    ids: Ids,
    /// Held while keys are fetched, so that a hundred callers at once ask the issuer once.
    keys: Mutex<Option<Known>>,
    /// Who came with a token that is still good, and until when. A std lock: held for a look-up or an insert.
    holders: std::sync::Mutex<HashMap<Principal, (Caller, Timestamp)>>,
}

#[derive(Debug, Clone)]
struct Known {
    keys: Arc<TokenKeys>,
    at: Timestamp,
}

impl Tokens {
    pub(crate) fn new(issuer: TokenIssuer, egress: &Egress, ids: Ids) -> Self {
        // The operator named this server, so it may be in the operator's own network.
        let named = [Some(&issuer.issuer), issuer.jwks_url.as_ref()];
        let egress = named.into_iter().flatten().fold(egress.clone(), |egress, url| egress.trusting(url));
        Self { issuer, egress, ids, keys: Mutex::default(), holders: Default::default() }
    }

    /// The authorization server.
    pub(crate) fn issuer(&self) -> &TokenIssuer {
        &self.issuer
    }

    /// Who holds this token, made for one of these addresses of the site.
    pub(crate) async fn caller(&self, token: &str, addresses: &[String]) -> Result<Caller, SiteError> {
        let bad = |wrong: BadToken| SiteError::BadToken(wrong.to_string());
        let read = AccessToken::read(token).map_err(bad)?;
        let issuer = self.issuer_name(read.issuer()).ok_or_else(|| bad(BadToken::Issuer))?;
        let mut audiences = self.issuer.audience.clone();
        audiences.extend_from_slice(addresses);
        let now = self.ids.clock().now();
        let known = self.known(None).await?;
        let grant = match read.prove(&known.keys, &issuer, &audiences, now) {
            Err(BadToken::Key) => {
                let newer = self.known(Some(known.at)).await?;
                read.prove(&newer.keys, &issuer, &audiences, now)
            }
            proven => proven,
        };
        let grant = grant.map_err(bad)?;
        let scopes = self.scopes(&grant.scopes);
        if scopes.is_empty() {
            return Err(SiteError::ScopeNeeded(
                "this token allows nothing here; ask the authorization server for the scope call, or call:AGENT".into(),
            ));
        }
        let caller = Caller::user(&grant, scopes);
        self.remember(&caller, grant.until);
        Ok(caller)
    }

    /// The holder of a token that is still good, for work that goes on after its request. Nothing is known of
    /// those who came before a restart.
    pub(crate) fn holder(&self, owner: &Principal) -> Option<Caller> {
        let now = self.ids.clock().now();
        let holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.get(owner).filter(|(_, until)| *until > now).map(|(caller, _)| caller.clone())
    }

    fn remember(&self, caller: &Caller, until: Timestamp) {
        let now = self.ids.clock().now();
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        if holders.len() >= MAX_HOLDERS {
            holders.retain(|_, (_, until)| *until > now);
        }
        // Where all of them are good still, a newcomer waits: its own requests are answered all the same.
        if holders.len() < MAX_HOLDERS || holders.contains_key(caller.owner()) {
            holders.insert(caller.owner().clone(), (caller.clone(), until));
        }
    }

    /// The issuer as the token writes it, when it is the configured one; a trailing slash makes no other.
    fn issuer_name(&self, claimed: &str) -> Option<String> {
        let same = claimed.trim_end_matches('/') == self.issuer.issuer.as_str().trim_end_matches('/');
        same.then(|| claimed.to_owned())
    }

    fn scopes(&self, words: &[String]) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = words
            .iter()
            .filter_map(|word| word.parse().ok())
            .filter(|scope| *scope != Scope::Admin || self.issuer.admin)
            .collect();
        scopes.extend(self.issuer.grant.iter().cloned());
        scopes
    }

    /// The issuer's keys; newer ones than those of `than`, where it may be asked again already.
    async fn known(&self, than: Option<Timestamp>) -> Result<Known, SiteError> {
        let mut held = self.keys.lock().await;
        let now = self.ids.clock().now();
        if let Some(known) = &*held {
            let age = now.since(known.at);
            let fresh = than.is_none_or(|than| known.at > than) && age < KEYS_LIFE.0;
            if fresh || age < KEYS_PAUSE.0 {
                return Ok(known.clone());
            }
        }
        match self.fetch().await {
            Ok(keys) => {
                let known = Known { keys: Arc::new(keys), at: now };
                *held = Some(known.clone());
                Ok(known)
            }
            Err(why) => {
                tracing::warn!(issuer = %self.issuer.issuer, %why, "the authorization server does not give its keys");
                // Keys that were good an hour ago are better than no callers at all.
                held.clone().ok_or_else(|| {
                    SiteError::BadToken(
                        "the authorization server does not answer now, so no token can be checked; try again later"
                            .into(),
                    )
                })
            }
        }
    }

    async fn fetch(&self) -> Result<TokenKeys, String> {
        let url = match &self.issuer.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        Ok(TokenKeys::read(&self.document(url).await?))
    }

    /// Where the issuer says that its keys are.
    async fn discover(&self) -> Result<Url, String> {
        let mut why = String::new();
        for place in DESCRIPTIONS {
            for url in descriptions(&self.issuer.issuer, place) {
                match self.document(url).await {
                    Ok(description) => {
                        let keys = description["jwks_uri"].as_str().and_then(|uri| Url::parse(uri).ok());
                        return keys
                            .ok_or_else(|| "its description names no jwks_uri; set oauth.jwks_url".into());
                    }
                    Err(error) => why = error,
                }
            }
        }
        Err(why)
    }

    async fn document(&self, url: Url) -> Result<Value, String> {
        let answer = self.egress.get(url).timeout(PATIENCE).limit(MAX_DOCUMENT).send().await;
        let answer = answer.map_err(|error| error.to_string())?;
        if !answer.status().is_success() {
            return Err(format!("{} answers {}", answer.url(), answer.status()));
        }
        let bytes = answer.bytes().await.map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }
}

/// Addresses of a description: the path of the issuer after the well-known one, then before it.
fn descriptions(issuer: &Url, place: &str) -> Vec<Url> {
    let path = issuer.path().trim_matches('/').to_owned();
    let mut found = Vec::new();
    let mut at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        if !found.contains(&url) {
            found.push(url);
        }
    };
    at(if path.is_empty() { place.to_owned() } else { format!("{place}/{path}") });
    at(if path.is_empty() { place.to_owned() } else { format!("{path}/{place}") });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_with_a_path_is_looked_for_in_both_places() {
        let at = |issuer: &str| {
            let urls = descriptions(&issuer.parse().unwrap(), DESCRIPTIONS[1]);
            urls.iter().map(Url::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            at("https://l.example/realms/a"),
            [
                "https://l.example/.well-known/openid-configuration/realms/a",
                "https://l.example/realms/a/.well-known/openid-configuration"
            ]
        );
        assert_eq!(at("https://l.example"), ["https://l.example/.well-known/openid-configuration"]);
    }
}
