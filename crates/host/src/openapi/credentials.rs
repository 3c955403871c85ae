//! Credentials: the secrets that an API requires, and which of them go with an operation.
//!
//! Promises: secrets are never printed; they go only where the document's security schemes say, and only what
//! the operator gave. An operation without a known secret is called without one: the API itself reports what
//! is missing.

use std::collections::BTreeMap;
use std::fmt;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::document::Document;

/// Most alternative security requirements of an operation; more are ignored.
const MOST_WAYS: usize = 16;

/// The secrets that the operator gave.
#[derive(Clone, Default)]
pub struct Credentials {
    /// A token that is sent as `Authorization: Bearer`.
    pub token: Option<String>,
    /// Secrets by the names of the document's security schemes.
    pub keys: BTreeMap<String, String>,
}

/// Names only.
impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.keys.keys().collect();
        out.debug_struct("Credentials").field("token", &self.token.is_some()).field("keys", &keys).finish()
    }
}

impl Credentials {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.token.is_none() && self.keys.is_empty()
    }

    fn of(&self, scheme: &Scheme) -> Option<&str> {
        let named = self.keys.get(&scheme.name).map(String::as_str);
        named.or(self.token.as_deref().filter(|_| scheme.place == SecretIn::Bearer))
    }

    /// Puts the secrets of the first way that is open into a request.
    pub(super) fn apply(
        &self,
        ways: &[Vec<Scheme>],
        headers: &mut HeaderMap,
        query: &mut Vec<(String, String)>,
    ) {
        let open = |way: &&Vec<Scheme>| way.iter().all(|scheme| self.of(scheme).is_some());
        let Some(way) = ways.iter().find(open) else {
            // A document that tells nothing of security is called with the token all the same: the operator
            // gave it for this API.
            if let (true, Some(token)) = (ways.is_empty(), &self.token) {
                put(headers, AUTHORIZATION, &format!("Bearer {token}"));
            }
            return;
        };
        for scheme in way {
            let Some(secret) = self.of(scheme) else { continue };
            match &scheme.place {
                SecretIn::Bearer => put(headers, AUTHORIZATION, &format!("Bearer {secret}")),
                SecretIn::Basic => {
                    put(headers, AUTHORIZATION, &format!("Basic {}", super::base64(secret.as_bytes())));
                }
                SecretIn::Header(name) => put(headers, name.clone(), secret),
                SecretIn::Query(name) => query.push((name.clone(), secret.to_owned())),
                SecretIn::Cookie(name) => add_cookie(headers, &format!("{name}={secret}")),
            }
        }
    }
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// Adds to the one header of cookies.
pub(super) fn add_cookie(headers: &mut HeaderMap, cookie: &str) {
    let before = headers.get(http::header::COOKIE).and_then(|value| value.to_str().ok());
    let all = before.map_or_else(|| cookie.to_owned(), |before| format!("{before}; {cookie}"));
    put(headers, http::header::COOKIE, &all);
}

/// A security scheme of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scheme {
    name: String,
    place: SecretIn,
}

/// Where the secret of a scheme goes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SecretIn {
    Bearer,
    Basic,
    Header(HeaderName),
    Query(String),
    Cookie(String),
}

/// The ways in which an operation can be called; each needs all of its schemes.
pub(super) fn ways(document: &Document, operation: &Value) -> Vec<Vec<Scheme>> {
    let wanted = operation.get("security").unwrap_or(&document.root()["security"]);
    let ways = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
    let known = &document.root()["components"]["securitySchemes"];
    let way = |way: &Value| -> Option<Vec<Scheme>> {
        way.as_object()?.keys().map(|name| scheme(name, document.resolve(&known[name])?)).collect()
    };
    ways.iter().take(MOST_WAYS).filter_map(way).collect()
}

fn scheme(name: &str, scheme: &Value) -> Option<Scheme> {
    let parameter = || scheme["name"].as_str().map(str::to_owned);
    let place = match (scheme["type"].as_str()?, scheme["in"].as_str()) {
        ("apiKey", Some("header")) => SecretIn::Header(parameter()?.parse().ok()?),
        ("apiKey", Some("query")) => SecretIn::Query(parameter()?),
        ("apiKey", Some("cookie")) => SecretIn::Cookie(parameter()?),
        ("http", _) if scheme["scheme"].as_str()?.eq_ignore_ascii_case("basic") => SecretIn::Basic,
        ("http" | "oauth2" | "openIdConnect", _) => SecretIn::Bearer,
        _ => return None,
    };
    Some(Scheme { name: name.to_owned(), place })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(credentials: &Credentials, operation: &Value) -> (HeaderMap, Vec<(String, String)>) {
        let text = json!({"openapi": "3.1.0", "components": {"securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "q": {"type": "apiKey", "in": "query", "name": "token"},
            "c": {"type": "apiKey", "in": "cookie", "name": "sid"},
            "basic": {"type": "http", "scheme": "basic"},
            "oauth": {"type": "oauth2", "flows": {}},
            "strange": {"type": "mutualTLS"}
        }}});
        let document = Document::read(text.to_string().as_bytes()).unwrap();
        let (mut headers, mut query) = (HeaderMap::new(), Vec::new());
        credentials.apply(&ways(&document, operation), &mut headers, &mut query);
        (headers, query)
    }

    #[test]
    fn the_first_way_for_which_there_are_secrets_is_taken() {
        let keys = BTreeMap::from([("key".to_owned(), "k1".to_owned()), ("q".to_owned(), "k2".to_owned())]);
        let credentials = Credentials { token: None, keys };
        let (headers, query) =
            sent(&credentials, &json!({"security": [{"oauth": []}, {"key": [], "q": []}]}));
        assert_eq!((headers["x-key"].to_str().unwrap(), query), ("k1", vec![("token".into(), "k2".into())]));
        assert!(headers.get(AUTHORIZATION).is_none());
        let (headers, query) = sent(&credentials, &json!({"security": [{"strange": []}, {}]}));
        assert!(headers.is_empty() && query.is_empty(), "nothing is wanted, so nothing is sent");
    }

    #[test]
    fn a_token_goes_where_bearers_go() {
        let credentials = Credentials { token: Some("t".into()), keys: BTreeMap::new() };
        for security in [json!({"security": [{"oauth": []}]}), json!({})] {
            assert_eq!(sent(&credentials, &security).0[AUTHORIZATION], "Bearer t");
        }
        assert!(sent(&credentials, &json!({"security": [{"key": []}]})).0.is_empty());
        let keys =
            BTreeMap::from([("basic".to_owned(), "ada:pw".to_owned()), ("c".to_owned(), "s".to_owned())]);
        let (headers, _) =
            sent(&Credentials { token: None, keys }, &json!({"security": [{"basic": [], "c": []}]}));
        assert_eq!(
            (&headers[AUTHORIZATION], &headers["cookie"]),
            (&"Basic YWRhOnB3".parse().unwrap(), &"sid=s".parse().unwrap())
        );
    }

    #[test]
    fn secrets_do_not_show_themselves() {
        let keys = BTreeMap::from([("key".to_owned(), "s3cret".to_owned())]);
        assert!(!format!("{:?}", Credentials { token: Some("s3cret".into()), keys }).contains("s3cret"));
    }
}
